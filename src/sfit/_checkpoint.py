"""Finished work in one SQLite file, so that a run that was killed can go on where it stopped.

The file holds what the run is about (a description of model, data and settings) and the packed
tallies of finished tiles, each with a checksum. It holds no pickles: reading it executes nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from sfit._versions import version_of
from sfit.exceptions import ArgumentError, CheckpointError
from sfit.rows import hash_table

if TYPE_CHECKING:
    from sfit.problem import Problem

FORMAT = "2"


class Checkpoint:
    """An open checkpoint file; `put` is final once `commit` returns."""

    def __init__(self, path: Any, about: Mapping[str, str]):
        self.path = Path(path)
        about = {"format of the checkpoint": FORMAT, **about}
        try:
            with self._explained():
                self.file = sqlite3.connect(self.path, isolation_level="DEFERRED")
        except CheckpointError:
            raise
        except ValueError as error:  # a null byte, or half a character
            raise CheckpointError(
                f"checkpoint {str(self.path)!r} is no name that a file can have ({error}): choose "
                "another."
            ) from error
        try:
            self._open(about)
        except BaseException:
            self.file.close()
            raise

    def _open(self, about: Mapping[str, str]) -> None:
        with self._explained():
            # Write-ahead logging: a power cut loses at most the last commits, never the file.
            self.file.execute("PRAGMA journal_mode = WAL")
            known = {name for (name,) in self.file.execute("SELECT name FROM sqlite_master")}
            if known and not {"about", "finished"} <= known:
                raise CheckpointError(
                    f"checkpoint {str(self.path)!r} is a database of something else: choose "
                    "another file."
                )
            self.file.execute("CREATE TABLE IF NOT EXISTS about (what TEXT PRIMARY KEY, is_ TEXT)")
            self.file.execute(
                "CREATE TABLE IF NOT EXISTS finished (stage TEXT, tile INTEGER, task INTEGER, "
                "data BLOB, checksum INTEGER, PRIMARY KEY (stage, tile, task))"
            )
            stored = dict(self.file.execute("SELECT what, is_ FROM about").fetchall())
            if not stored:
                self.file.executemany("INSERT INTO about VALUES (?, ?)", about.items())
                self.file.commit()
                return
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

    def get(self, stage: str, tile: int, task: int) -> bytes | None:
        """What was finished, if it was."""
        with self._explained():
            row = self.file.execute(
                "SELECT data, checksum FROM finished WHERE stage = ? AND tile = ? AND task = ?",
                (stage, tile, task),
            ).fetchone()
        if row is None:
            return None
        data, checksum = row
        if not isinstance(data, bytes) or crc32(data) != checksum:
            raise self._damaged("a checksum does not match")
        return data

    def put(self, stage: str, tile: int, task: int, data: bytes) -> None:
        """Add a piece of finished work."""
        with self._explained():
            self.file.execute(
                "INSERT OR REPLACE INTO finished VALUES (?, ?, ?, ?, ?)",
                (stage, tile, task, data, crc32(data)),
            )

    def commit(self) -> None:
        """Make what was put safe."""
        with self._explained():
            self.file.commit()

    def first_drawn(self, name: str, value: int) -> int:
        """The number that was drawn when the run began; `value`, where it begins now."""
        known = self.get(name, 0, 0)
        if known is not None:
            return int(known)
        self.put(name, 0, 0, str(value).encode())
        self.commit()
        return value

    def close(self) -> None:
        """Close the file; what was not committed is lost."""
        self.file.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite says into what the user can do."""
        try:
            yield
        except sqlite3.OperationalError as error:
            folder = Path(self.path).absolute().parent
            remedy = (
                "make room, or choose a file that can be written. What was finished before is "
                "kept; run again to go on from there."
                if folder.is_dir()
                else f"there is no folder {str(folder)!r}."
            )
            raise CheckpointError(
                f"checkpoint {str(self.path)!r} cannot be written or read ({error}): {remedy}"
            ) from error
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, what: str) -> CheckpointError:
        return CheckpointError(
            f"checkpoint {str(self.path)!r} is damaged, or no checkpoint ({what}): delete it to "
            "start anew."
        )


@contextmanager
def opened(
    path: Any,
    key: str | None,
    asked: Mapping[str, Any],
    model: Callable[[], str | None],
    data: Callable[[], Mapping[str, str]],
) -> Iterator[Checkpoint | None]:
    """The checkpoint of a run, closed in the end; None where there is no path.

    `model` gives the text by which a later run knows the model again, and `data` what it must know
    of the rows: neither is asked for nothing.
    """
    if key is not None and not isinstance(key, str):
        # str(key) of an object may be another in the next run.
        raise ArgumentError(f"checkpoint_key must be a text, or None; got {key!r}.")
    if path is None:
        yield None
        return
    if not isinstance(path, str | PathLike):
        raise ArgumentError(f"checkpoint must be the path of a file; got {path!r}.")
    about = {argument: _told(value, argument, key) for argument, value in asked.items()}
    # Whoever gives a key answers for the model.
    known = model() if key is None else "told by checkpoint_key"
    if known is None:
        raise ArgumentError(
            "checkpoint: this model has no fingerprint by which a later run could know it again; "
            "pass checkpoint_key='...', a text that you change whenever the model changes."
        )
    about |= {
        "the model": known,
        "checkpoint_key": str(key),
        **data(),
        "the version of sfit": version_of("sfit"),
    }
    checkpoint = Checkpoint(path, about)
    try:
        yield checkpoint
    finally:
        checkpoint.close()


def opened_for(
    path: Any,
    key: str | None,
    asked: Mapping[str, Any],
    problem: Problem,
    validation: Problem | None = None,
) -> AbstractContextManager[Checkpoint | None]:
    """The checkpoint of a run that tests a fitted model."""

    def data() -> dict[str, str]:
        reference = blake2b(digest_size=16)
        hash_table(reference, problem.features.reference)
        return {
            "the rows": problem.rows.fingerprint(),
            "the features": repr((problem.features.names, problem.features.columns)),
            "the reference values": reference.hexdigest(),
            "the validation rows": "none" if validation is None else validation.rows.fingerprint(),
        }

    return opened(path, key, asked, problem.view.fingerprint, data)


def _told(value: Any, argument: str, key: str | None) -> str:
    """An argument as text; what cannot be told from another needs the user's own key."""
    if not callable(value):
        return repr(value)
    if key is None:
        raise ArgumentError(
            f"checkpoint: {argument} is a function, which a later run could not tell from another; "
            "pass checkpoint_key='...', a text that you change whenever the function changes."
        )
    return "a function"


def _short(text: str | None) -> str:
    if text is None:
        return "not there"
    return text if len(text) <= 60 else text[:57] + "..."
