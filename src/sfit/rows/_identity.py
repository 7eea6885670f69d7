"""Whether a file, or a folder of files, is still the one that was opened.

A run reads its files several times: one that is replaced in between would give a mixture of both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from sfit.exceptions import DataError

REMEDY = "Run again, and leave the files alone until the run has ended."


@dataclass(frozen=True)
class FileIdentity:
    """What a file is known by. Not its inode: mounted cloud folders number their files anew."""

    size: int | None
    mtime_ns: int | None
    """None where the filesystem knows no times."""
    footer: str
    """A digest of the end of the file, where Parquet keeps ranges and places of all columns."""


def identify(filesystem: Any, path: str) -> FileIdentity:
    """What a file is known by now."""
    with filesystem.open_input_file(path) as file:
        footer = _footer(file)
    info = filesystem.get_file_info(path)
    return FileIdentity(info.size, info.mtime_ns, footer)


def check_stamp(filesystem: Any, path: str, known: FileIdentity) -> None:
    """Refuse a file of another size or time: that costs next to nothing."""
    info = filesystem.get_file_info(path)
    if info.size is None:
        raise DataError(f"X changed during the run: the file {path!r} is gone. {REMEDY}")
    if (info.size, info.mtime_ns) != (known.size, known.mtime_ns):
        raise _changed(path)


def check_footer(file: Any, path: str, known: FileIdentity) -> None:
    """Refuse an open file with another end, whatever its time: clocks tick slowly."""
    at = file.tell()
    found = _footer(file)
    file.seek(at)
    if found != known.footer:
        raise _changed(path)


def _changed(path: str) -> DataError:
    return DataError(
        f"X changed during the run: the file {path!r} is not the one that was opened. {REMEDY}"
    )


def _footer(file: Any) -> str:
    """The last bytes say how long the footer is."""
    size = file.size()
    file.seek(max(0, size - 8))
    end = file.read(8)
    length = min(int.from_bytes(end[:4], "little"), max(0, size - 8))
    file.seek(size - len(end) - length)
    return blake2b(file.read(length) + end, digest_size=16).hexdigest()


@dataclass(frozen=True)
class Listing:
    """The files that a folder or a pattern stood for when it was opened."""

    path: str
    files: frozenset[str]
    look: Callable[[str], Any]
    """From the path to a data set of all files that are there now."""

    @classmethod
    def of(cls, path: str, files: Sequence[str], look: Callable[[str], Any]) -> Listing:
        """Files as they were found; a worker may stand in another folder."""
        path = path if "://" in path else os.path.abspath(path)
        return cls(path, _names(path, files), look)

    def check(self) -> None:
        """Refuse files that are new, or gone."""
        try:
            found = _names(self.path, self.look(self.path).files)
        except (OSError, ValueError) as error:
            raise DataError(
                f"X changed during the run: {self.path!r} cannot be listed again: {error}. {REMEDY}"
            ) from error
        for names, what in ((found - self.files, "new"), (self.files - found, "gone")):
            if names:
                some = ", ".join(map(repr, sorted(map(os.path.basename, names))[:4]))
                raise DataError(
                    f"X changed during the run: {len(names)} file(s) of {self.path!r} are {what}, "
                    f"such as {some}. {REMEDY}"
                )


def _names(path: str, files: Sequence[str]) -> frozenset[str]:
    return frozenset(files if "://" in path else map(os.path.abspath, files))
