"""``python -m sfit.studies STUDY [--fast] [--out folder]``, or ``STUDY --render folder``."""

from __future__ import annotations

import argparse
import sys

from sfit.exceptions import SFITError
from sfit.studies import NAMES, render, run


def main(arguments: list[str] | None = None) -> int:
    """Run a study and print its page."""
    parser = argparse.ArgumentParser(
        prog="python -m sfit.studies", description="Reproduce a study of the SFIT paper."
    )
    parser.add_argument("study", choices=NAMES)
    parser.add_argument("--fast", action="store_true", help="a rough version in seconds")
    parser.add_argument("--out", help="folder for the page, its figures and all numbers")
    parser.add_argument(
        "--render",
        metavar="FOLDER",
        help="write page and figures again from the numbers in a folder",
    )
    options = parser.parse_args(arguments)
    try:
        if options.render is not None:
            report = render(options.study, options.render)
        else:
            report = run(options.study, fast=options.fast, out=options.out)
    except SFITError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(report)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
