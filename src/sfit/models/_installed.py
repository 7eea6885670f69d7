"""Code that a later run can assume unchanged: that of installed, unmodified distributions.

The user's code (a script, a notebook, a test, an editable install) may change between two runs
under the same names. A file that pip installed is listed in its distribution's RECORD with its
hash: the code is identified by this hash and by the name and version of the distribution.
"""

from __future__ import annotations

import sys
from base64 import urlsafe_b64encode
from functools import cache
from hashlib import sha256
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path
from types import FunctionType
from typing import Any


def found_by_name(module: str, name: str) -> Any:
    """The object that a module holds under a qualified name; None if there is none."""
    value: Any = sys.modules.get(module)
    for step in name.split("."):
        value = getattr(value, step, None)
    return value


def source_of(module: str) -> str | None:
    """The distribution that installed a loaded module, and the module's hash; else None."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return "python"
    if top == "sfit":
        # Every checkpoint stores its version.
        return "sfit"
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None) or getattr(sys.modules.get(top), "__file__", None)
    return None if file is None else _owner(top, Path(file))


@cache
def _owner(top: str, file: Path) -> str | None:
    for name in _distributions().get(top, ()):
        owner = distribution(name)
        recorded = _recorded_hash(owner, file)
        if recorded and recorded == _hash(file):
            return f"{owner.name}=={owner.version} {recorded}"
    return None


@cache
def _distributions() -> Any:
    return packages_distributions()


def _recorded_hash(owner: Distribution, file: Path) -> str:
    """The recorded hash of a file that a distribution installed; "" if it did not install it."""
    root = Path(str(owner.locate_file("")))
    if not file.is_relative_to(root):
        return ""
    # An editable install has no RECORD, or its RECORD does not list the sources.
    listed = f"\n{file.relative_to(root).as_posix()},sha256="
    _, _, entry = ("\n" + (owner.read_text("RECORD") or "")).partition(listed)
    return entry.partition(",")[0]


def _hash(file: Path) -> str:
    return urlsafe_b64encode(sha256(file.read_bytes()).digest()).decode().rstrip("=")


def patched_method(kind: type) -> str | None:
    """A method of a class or of one of its bases that the user's code has replaced."""
    for owner in kind.__mro__:
        for name, value in vars(owner).items():
            for function in _functions(value):
                home = str(function.__globals__.get("__name__"))
                if not home.startswith("namedtuple_") and source_of(home) is None:
                    return f"method {name} of class {owner.__qualname__}, defined in {home}"
    return None


def _functions(value: Any) -> list[FunctionType]:
    """The functions behind an entry of a class."""
    if isinstance(value, property):
        held = [value.fget, value.fset]
    else:
        held = [getattr(value, "__func__", value)]
    return [one for one in held if isinstance(one, FunctionType)]
