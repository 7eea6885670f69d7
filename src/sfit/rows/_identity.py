"""Check that a file, or a folder of files, has not changed since it was opened.

A run reads its files several times. Replacing a file in between would mix old and new rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from sfit.exceptions import DataError

REMEDY = "Run again, and do not change the files before the run has ended."


@dataclass(frozen=True)
class FileIdentity:
    """Size, time and footer of a file. Not its inode: mounted cloud folders renumber files."""

    size: int | None
    mtime_ns: int | None
    """None if the filesystem has no modification times."""
    footer: str
    """A digest of the end of the file, where Parquet stores ranges and offsets of all columns."""


def identify(filesystem: Any, path: str) -> FileIdentity:
    """The present identity of a file."""
    with filesystem.open_input_file(path) as file:
        footer = _footer(file)
    info = filesystem.get_file_info(path)
    return FileIdentity(info.size, info.mtime_ns, footer)


def check_stamp(filesystem: Any, path: str, opened: FileIdentity) -> None:
    """Refuse a file whose size or time has changed, which costs almost nothing to check."""
    info = filesystem.get_file_info(path)
    if info.size is None:
        raise DataError(f"X changed during the run: the file {path!r} is gone. {REMEDY}")
    if (info.size, info.mtime_ns) != (opened.size, opened.mtime_ns):
        raise _changed(path)


def check_footer(file: Any, path: str, opened: FileIdentity) -> None:
    """Refuse an open file whose footer has changed, even at the same time: clocks are coarse."""
    at = file.tell()
    footer = _footer(file)
    file.seek(at)
    if footer != opened.footer:
        raise _changed(path)


def _changed(path: str) -> DataError:
    return DataError(
        f"X changed during the run: the file {path!r} is not the one that was opened. {REMEDY}"
    )


def _footer(file: Any) -> str:
    """A digest of the footer; the last bytes of a file hold its length."""
    size = file.size()
    file.seek(max(0, size - 8))
    end = file.read(8)
    length = min(int.from_bytes(end[:4], "little"), max(0, size - 8))
    file.seek(size - len(end) - length)
    return blake2b(file.read(length) + end, digest_size=16).hexdigest()


@dataclass(frozen=True)
class Listing:
    """The files that a folder or a pattern matched when it was opened."""

    path: str
    files: frozenset[str]
    look: Callable[[str], Any]
    """Returns a data set of all files now at the path."""

    @classmethod
    def of(cls, path: str, files: Sequence[str], look: Callable[[str], Any]) -> Listing:
        """List files by absolute path: a worker may run in another folder."""
        path = path if "://" in path else os.path.abspath(path)
        return cls(path, _names(path, files), look)

    def check(self) -> None:
        """Refuse a listing with new or missing files."""
        try:
            present = _names(self.path, self.look(self.path).files)
        except (OSError, ValueError) as error:
            raise DataError(
                f"X changed during the run: {self.path!r} cannot be listed again: {error}. {REMEDY}"
            ) from error
        for names, what in ((present - self.files, "new"), (self.files - present, "gone")):
            if names:
                examples = ", ".join(map(repr, sorted(map(os.path.basename, names))[:4]))
                raise DataError(
                    f"X changed during the run: {len(names)} file(s) of {self.path!r} are {what}, "
                    f"such as {examples}. {REMEDY}"
                )


def _names(path: str, files: Sequence[str]) -> frozenset[str]:
    return frozenset(files if "://" in path else map(os.path.abspath, files))
