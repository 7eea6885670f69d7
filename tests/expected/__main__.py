"""Run the cases: `python -m expected --record`, in the folder `tests`."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from expected.cases import GROUPS, Case, content_of

RESULTS = Path(__file__).with_name("results")


def main() -> None:
    """Write models, the results that are expected, or results to compare with others."""
    parser = argparse.ArgumentParser(prog="python -m expected", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--models", action="store_true", help="fit and save the models again")
    what.add_argument("--record", action="store_true", help="write the results that are expected")
    what.add_argument("--to", type=Path, metavar="FOLDER", help="write the results somewhere else")
    options = parser.parse_args()
    if options.models:
        from expected.train import save_all

        save_all()
        return
    for name, group in GROUPS.items():
        if missing := group.missing():
            sys.exit(f"the cases {name!r} need {', '.join(missing)}: nothing more is written.")
        started = time.perf_counter()
        answer = content_of if options.record else _content_or_error
        found = {title: answer(case) for title, case in group.cases.items()}
        _write(RESULTS if options.record else options.to, name, found)
        seconds = time.perf_counter() - started
        print(f"{name}: {len(found)} cases, {seconds:.1f} s", flush=True)


def _content_or_error(case: Case) -> Any:
    """One case that fails must not hide the others."""
    try:
        return content_of(case)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _write(folder: Path, name: str, results: dict[str, Any]) -> None:
    """One line per case: changes can be read."""
    folder.mkdir(exist_ok=True)
    lines = [
        f"{json.dumps(title)}: {json.dumps(result, separators=(',', ':'))}"
        for title, result in results.items()
    ]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (folder / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
