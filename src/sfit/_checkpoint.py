"""Finished work in one SQLite file, to continue a killed run where it stopped.

The file holds the identity of the run (a description of model, data and settings) and the packed
tallies of finished tiles. Each entry carries a digest of the identity, of its own key and of its
data: an entry that was damaged, moved to another key or written by another run is never used. The
file holds no pickles: reading it executes nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from sfit.exceptions import CheckpointError

FORMAT = "3"

FORMAT_ROW, DIGEST_ROW = "format of the checkpoint", "digest of these rows"
"""Rows of the table `about` that describe the table itself."""

UNWRITABLE = {"CANTOPEN", "FULL", "IOERR", "PERM", "READONLY", "BUSY", "LOCKED", "NOLFS"}
"""What SQLite reports where the file is in order, but cannot be read or written."""

DAMAGED = (sqlite3.Error, ValueError, TypeError, LookupError, OverflowError, MemoryError)
"""What reading a damaged file may raise."""

Value = TypeVar("Value")


class Checkpoint:
    """An open checkpoint file; `put` is final once `commit` returns."""

    def __init__(self, path: Any, about: Mapping[str, str]):
        self.path = Path(path)
        about = {FORMAT_ROW: FORMAT, **about}
        self.identity = _digest(about)
        try:
            self.file = sqlite3.connect(self.path, isolation_level="DEFERRED")
        except sqlite3.Error as error:
            raise self._explained(error) from error
        except ValueError as error:  # a null byte, or half a character
            raise CheckpointError(
                f"checkpoint {str(self.path)!r} is no name that a file can have ({error}): choose "
                "another."
            ) from error
        try:
            with self._reading():
                self._open(about)
        except BaseException:
            self.file.close()
            raise

    def _open(self, about: Mapping[str, str]) -> None:
        # Damaged text need not be text in any encoding.
        self.file.text_factory = bytes
        # Write-ahead logging: a power cut loses at most the last commits, never the file.
        self.file.execute("PRAGMA journal_mode = WAL")
        known = {name for (name,) in self.file.execute("SELECT name FROM sqlite_master")}
        if known and not {b"about", b"finished"} <= known:
            raise CheckpointError(
                f"checkpoint {str(self.path)!r} is a database of something else, or is damaged: "
                "choose another file."
            )
        self.file.execute("CREATE TABLE IF NOT EXISTS about (what TEXT PRIMARY KEY, is_ TEXT)")
        self.file.execute(
            "CREATE TABLE IF NOT EXISTS finished (stage TEXT, tile INTEGER, task INTEGER, "
            "data BLOB, digest BLOB, PRIMARY KEY (stage, tile, task))"
        )
        stored = {
            _text(what): _text(is_)
            for what, is_ in self.file.execute("SELECT what, is_ FROM about")
        }
        if not stored:
            rows = {**about, DIGEST_ROW: self.identity.hex()}
            self.file.executemany("INSERT INTO about VALUES (?, ?)", rows.items())
            self.file.commit()
            return
        digest = stored.pop(DIGEST_ROW, None)
        if stored.get(FORMAT_ROW) == FORMAT and digest != _digest(stored).hex():
            raise self._damaged("the description of its run has changed")
        differ = [what for what in {**stored, **about} if stored.get(what) != about.get(what)]
        if differ:
            told = "; ".join(
                f"{what} was {_short(stored.get(what))} and is {_short(about.get(what))}"
                for what in differ
            )
            raise CheckpointError(
                f"checkpoint {str(self.path)!r} is of another run: {told}. Choose another file, or "
                "delete this one to start anew."
            )

    def get(
        self, stage: str, tile: int, task: int, decode: Callable[[bytes], Value]
    ) -> Value | None:
        """What was finished, if it was, decoded from its bytes."""
        with self._reading():
            row = self.file.execute(
                "SELECT data, digest FROM finished WHERE stage = ? AND tile = ? AND task = ?",
                (stage, tile, task),
            ).fetchone()
            if row is None:
                return None
            data, digest = row
            if not isinstance(data, bytes) or digest != self._seal(stage, tile, task, data):
                raise ValueError("the digest of an entry does not match")
            return decode(data)

    def put(self, stage: str, tile: int, task: int, data: bytes) -> None:
        """Add a piece of finished work."""
        with self._reading():
            self.file.execute(
                "INSERT OR REPLACE INTO finished VALUES (?, ?, ?, ?, ?)",
                (stage, tile, task, data, self._seal(stage, tile, task, data)),
            )

    def commit(self) -> None:
        """Make what was put safe."""
        with self._reading():
            self.file.commit()

    def first_drawn(self, name: str, value: int) -> int:
        """The number that was drawn when the run began; `value`, where it begins now.

        It becomes a part of the run's identity: where it was lost, what was computed with it must
        not be continued with another.
        """
        known = self.get(name, 0, 0, int)
        if known is None:
            known = value
            self.put(name, 0, 0, str(value).encode())
            self.commit()
        self.identity = _digest({"identity": self.identity.hex(), name: str(known)})
        return known

    def close(self) -> None:
        """Close the file; what was not committed is lost."""
        self.file.close()

    def _seal(self, stage: str, tile: int, task: int, data: bytes) -> bytes:
        """A digest of an entry that holds for this run and this key only."""
        digest = blake2b(
            json.dumps([stage, tile, task]).encode(), key=self.identity, digest_size=16
        )
        digest.update(data)
        return digest.digest()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn whatever a damaged or unwritable file raises into what the user can do."""
        try:
            yield
        except CheckpointError:
            raise
        except DAMAGED as error:
            raise self._explained(error) from error

    def _explained(self, error: BaseException) -> CheckpointError:
        code = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").partition("_")[0]
        if code not in UNWRITABLE:
            return self._damaged(str(error))
        folder = Path(self.path).absolute().parent
        remedy = (
            "make room, or choose a file that can be written. What was finished before is "
            "kept; run again to go on from there."
            if folder.is_dir()
            else f"there is no folder {str(folder)!r}."
        )
        return CheckpointError(
            f"checkpoint {str(self.path)!r} cannot be written or read ({error}): {remedy}"
        )

    def _damaged(self, what: str) -> CheckpointError:
        return CheckpointError(
            f"checkpoint {str(self.path)!r} is damaged, or no checkpoint ({what}): delete it to "
            "start anew."
        )


def _digest(about: Mapping[str, str]) -> bytes:
    """A digest of everything that a run is known by."""
    return blake2b(json.dumps(sorted(about.items())).encode(), digest_size=32).digest()


def _text(stored: Any) -> str:
    """A text of the file; damage to it shows in the digest."""
    return stored.decode(errors="replace") if isinstance(stored, bytes) else repr(stored)


def _short(text: str | None) -> str:
    if text is None:
        return "not there"
    return text if len(text) <= 60 else text[:57] + "..."
