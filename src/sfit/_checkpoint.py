"""Finished work in one SQLite file, from which an interrupted run resumes.

The file holds the identity of the run (a description of model, data and settings) and the packed
tallies of finished tiles. Each entry carries a digest of the identity, its key and its data, so an
entry that was damaged, moved to another key or written by another run is never used. The file holds
no pickles: reading it executes no code.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from sfit.exceptions import CheckpointError

FORMAT = "3"

FORMAT_ROW, DIGEST_ROW = "format of the checkpoint", "digest of these rows"
"""Rows of the table `about` that describe the table itself."""

UNWRITABLE = {"CANTOPEN", "FULL", "IOERR", "PERM", "READONLY", "BUSY", "LOCKED", "NOLFS"}
"""SQLite errors that mean the file is intact, but cannot be read or written."""

DAMAGED = (sqlite3.Error, ValueError, TypeError, LookupError, OverflowError, MemoryError)
"""Exceptions that reading a damaged file may raise."""

Value = TypeVar("Value")


class Checkpoint:
    """An open checkpoint file; entries are durable once `commit` returns."""

    def __init__(self, path: Any, about: Mapping[str, str]):
        self.path = Path(path)
        self.drawn: dict[str, int] = {}
        about = {FORMAT_ROW: FORMAT, **about}
        self.identity = _digest(about)
        try:
            self.file = sqlite3.connect(self.path, isolation_level="DEFERRED")
        except sqlite3.Error as error:
            raise self._explained(error) from error
        except ValueError as error:  # a null byte, or a lone surrogate
            raise CheckpointError(
                f"checkpoint {str(self.path)!r} is not a valid file name ({error}): choose another."
            ) from error
        try:
            with self._reading():
                self._open(about)
        except BaseException:
            self.file.close()
            raise

    def _open(self, about: Mapping[str, str]) -> None:
        # Damaged text may be invalid in any encoding, so read bytes.
        self.file.text_factory = bytes
        # Write-ahead logging: a power cut loses at most the last commits, never the file.
        self.file.execute("PRAGMA journal_mode = WAL")
        tables = {name for (name,) in self.file.execute("SELECT name FROM sqlite_master")}
        if tables and not {b"about", b"finished"} <= tables:
            raise CheckpointError(
                f"checkpoint {str(self.path)!r} is another kind of database, or is damaged: "
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
            raise self._damaged("the stored description of the run was altered")
        differ = [what for what in {**stored, **about} if stored.get(what) != about.get(what)]
        if differ:
            changes = "; ".join(
                f"{what} was {_short(stored.get(what))} and is {_short(about.get(what))}"
                for what in differ
            )
            raise CheckpointError(
                f"checkpoint {str(self.path)!r} belongs to another run: {changes}. Choose another "
                "file, or delete this one to start over."
            )

    def get(
        self, stage: str, tile: int, task: int, decode: Callable[[bytes], Value]
    ) -> Value | None:
        """A finished entry, decoded from its bytes; None if there is none."""
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
        """Make all entries put so far durable."""
        with self._reading():
            self.file.commit()

    def first_drawn(self, name: str, value: int) -> int:
        """The number drawn when the run first started; `value` if it starts now.

        It becomes part of the run's identity: if the number is lost, entries computed with it must
        not be combined with those of another.
        """
        if name not in self.drawn:
            drawn = self.get(name, 0, 0, int)
            if drawn is None:
                drawn = value
                self.put(name, 0, 0, str(value).encode())
                self.commit()
            self.identity = _digest({"identity": self.identity.hex(), name: str(drawn)})
            self.drawn[name] = drawn
        return self.drawn[name]

    def close(self) -> None:
        """Close the file; entries not committed are lost."""
        self.file.close()

    def _seal(self, stage: str, tile: int, task: int, data: bytes) -> bytes:
        """A digest of an entry, valid only for this run and this key."""
        digest = blake2b(
            json.dumps([stage, tile, task]).encode(), key=self.identity, digest_size=16
        )
        digest.update(data)
        return digest.digest()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn the exceptions of a damaged or unwritable file into errors with a remedy."""
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
            "free disk space, or choose a writable file. Finished work is kept; run the same call "
            "again to resume."
            if folder.is_dir()
            else f"the folder {str(folder)!r} does not exist."
        )
        return CheckpointError(
            f"checkpoint {str(self.path)!r} cannot be written or read ({error}): {remedy}"
        )

    def _damaged(self, what: str) -> CheckpointError:
        return CheckpointError(
            f"checkpoint {str(self.path)!r} is damaged, or not a checkpoint ({what}): delete it "
            "to start over."
        )


def drawn_before(path: Any, name: str) -> int | None:
    """The number that `first_drawn` stored in a file, if any, before the file is opened.

    It is not verified: `first_drawn` does that later, and opening the file reports any damage.
    """
    if not isinstance(path, str | PathLike):
        return None
    try:
        if not Path(path).is_file():
            return None
        with closing(
            sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        ) as file:
            row = file.execute("SELECT data FROM finished WHERE stage = ?", (name,)).fetchone()
            return None if row is None else int(row[0])
    except (*DAMAGED, OSError):
        return None


def _digest(about: Mapping[str, str]) -> bytes:
    """A digest of everything that identifies a run."""
    return blake2b(json.dumps(sorted(about.items())).encode(), digest_size=32).digest()


def _text(stored: Any) -> str:
    """Stored text; the digest detects damage to it."""
    return stored.decode(errors="replace") if isinstance(stored, bytes) else repr(stored)


def _short(text: str | None) -> str:
    if text is None:
        return "missing"
    return text if len(text) <= 60 else text[:57] + "..."
