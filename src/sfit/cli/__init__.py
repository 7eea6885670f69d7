"""The program `sfit`: the library on files, from a terminal.

`_app` and `_compare` have the commands, `model_files` reads models, `_data` reads rows, `_labels`
matches class labels, `_show` prints.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from typing import Any

from sfit.cli._text import say
from sfit.exceptions import BetaError, SFITError

__all__ = ["main"]


def main() -> None:
    """Run the program `sfit` with the arguments of the process, and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; return 0, or 2 for bad input after one line with the remedy."""
    try:
        import typer

        from sfit.cli._app import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("rich", "typer"):
            raise
        return _complain('the command line needs typer and rich: pip install "sfit[cli]".')
    debug = "--debug" in arguments
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            code = app(arguments, prog_name="sfit", standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except typer.TyperException as error:
        message = error.format_message().rstrip(". ")
        end = "" if message.endswith("?") else "."
        return _complain(f"{message}{end} See: {_help_command(error)}")
    except BrokenPipeError:
        # The reader has gone (`sfit ... | head`), and Python's last flush would fail as well.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (KeyboardInterrupt, typer.Abort):
        return _complain("stopped.", 130)
    except Exception as error:
        if debug:
            traceback.print_exc()
        if isinstance(error, SFITError | OSError):
            message = without_beta(str(error)) if isinstance(error, BetaError) else str(error)
            return _complain(with_option(message, arguments))
        hint = "" if debug else " Add --debug to see where, and please report it."
        return _complain(f"unexpected {type(error).__name__}: {error}.{hint}", 1)


OPTIONS = {
    "n_jobs": "jobs",
    "max_order": "order",
    "random_state": "seed",
    "n_models": "models",
    "groups": "group",
}
"""Options that are called otherwise than the library's argument."""


def with_option(message: str, arguments: list[str]) -> str:
    """A message that begins with an option of the command line, not with the library's argument."""
    named = re.match(r"(\w+)(?:\['(.*?)'\])?", message)
    if named is None:
        return message
    name, member = named.groups()
    option = f"--{OPTIONS.get(name, name).replace('_', '-')}"
    if not any(word == option or word.startswith(f"{option}=") for word in arguments):
        return message
    return f"{option}{'' if member is None else f' {member}'}{message[named.end() :]}"


def without_beta(message: str) -> str:
    """The message that no beta suffices, with the program's remedy instead of the library's."""
    facts, _, _ = message.partition("Raise max_beta")
    return (
        f"{facts.replace('max_beta=', '--max-beta ')}Raise --max-beta of 'sfit beta' and test with "
        "the beta that it prints, or pass a number as --beta; or use more rows."
    )


def _help_command(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'sfit'} --help"


def _complain(message: str, code: int = 2) -> int:
    say(message, "Error")
    return code


def _warn(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning on one line; skip those meant for developers."""
    if not issubclass(category, DeprecationWarning | FutureWarning | PendingDeprecationWarning):
        say(message, "Warning")
