"""Command-line options as arguments of the library; bad options are refused before any work."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sfit.exceptions import ArgumentError, ModelError, SFITError

AVERAGE = "average:"
"""Begins a reference that averages over rows of a file, instead of freezing at their means."""

OPTIONS_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "sign": {"beta": (), "ties": ("keep", "drop")},
    "permutation": {"n-permutations": (), "statistic": ("auto", "loss")},
}
"""The options that only one test has, with their values; empty: any."""


def names(text: str | None) -> list[str] | None:
    """Names separated by commas."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def betas(text: str) -> Any:
    """A number, one number per order, or the word "auto"."""
    if text == "auto":
        return text
    try:
        values = [float(value) for value in text.split(",")]
    except ValueError:
        raise ArgumentError(
            f"--beta must be a number, numbers separated by commas (one per order), or auto; got "
            f"{text!r}."
        ) from None
    return values if len(values) > 1 else values[0]


def levels(text: str) -> Any:
    """One level per order, or the word "auto"."""
    if text == "auto":
        return text
    try:
        return [float(value) for value in text.split(",")]
    except ValueError:
        raise ArgumentError(
            "--alpha-by-order must be auto, or levels separated by commas (one per order); got "
            f"{text!r}."
        ) from None


def check_test(
    test: str,
    beta: str | None = None,
    ties: str | None = None,
    n_permutations: str | None = None,
    statistic: str | None = None,
) -> dict[str, Any]:
    """The options of a test object; refuse those of another test."""
    given = {"beta": beta, "ties": ties, "n-permutations": n_permutations, "statistic": statistic}
    if test not in OPTIONS_OF:
        raise ArgumentError(f"--test must be {' or '.join(OPTIONS_OF)}; got {test!r}.")
    for owner, options in OPTIONS_OF.items():
        for name, choices in options.items():
            value = given[name]
            if value is None:
                continue
            if owner != test:
                raise ArgumentError(
                    f"--{name} {value} belongs to --test {owner}, but the test is {test}: omit "
                    f"--{name}, or use --test {owner}."
                )
            if choices and value not in choices:
                raise ArgumentError(f"--{name} must be {' or '.join(choices)}; got {value!r}.")
    if n_permutations is not None:
        _check_permutations(n_permutations)
    return {
        name.replace("-", "_"): int(value) if value.isdecimal() else value
        for name, value in given.items()
        if value is not None and name != "beta"
    }


def _check_permutations(n: str) -> None:
    if n != "auto" and (not n.isdecimal() or int(n) < 1):
        raise ArgumentError(
            f"--n-permutations must be auto, or a whole number of at least 1; got {n!r}."
        )


def make_test(test: str, options: dict[str, Any]) -> Any:
    """The test object."""
    # Imported late: a misspelt option must not wait for pandas and SciPy.
    from sfit import PermutationTest, SignTest

    return SignTest(**options) if test == "sign" else PermutationTest(**options)


def groups(texts: Sequence[str]) -> dict[str, list[str]] | None:
    """Groups of columns, each written as NAME=A,B."""
    columns: dict[str, list[str]] = {}
    for text in texts:
        name, equals, members = text.partition("=")
        if not equals or not name or not names(members):
            raise ArgumentError(f"--group must look like NAME=COLUMN,COLUMN; got {text!r}.")
        if name in columns:
            raise ArgumentError(f"--group names {name!r} twice; list its columns once.")
        columns[name] = names(members) or []
    return columns or None


def partners(text: str) -> dict[str, Any]:
    """Which partners to try, or how many of the first."""
    if text.isdecimal():
        return {"n_partners": int(text)}
    if text not in ("auto", "all"):
        raise ArgumentError(f"--partners must be auto, all, or a whole number; got {text!r}.")
    return {"partners": text}


def reference(text: str) -> Any:
    """A word, a number, or a file of rows (the training set, ideally), perhaps to be averaged."""
    # Imported late: a misspelt option must not wait for pandas and SciPy.
    from sfit.sample._reference import NAMED_REFERENCES

    if text in NAMED_REFERENCES:
        return text
    from sfit.cli._data import is_parquet, read_rows

    if text.startswith(AVERAGE):
        from sfit import Average

        source = text.removeprefix(AVERAGE)
        return Average(source if is_parquet(source) else read_rows(source))
    try:
        return float(text)
    except ValueError:
        return read_rows(text)


def check_writable(*paths: Path | None) -> None:
    """Refuse to start if the result could not be written."""
    for path in paths:
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            what = "is a folder" if path.is_dir() else "lies in a folder that does not exist"
            raise ArgumentError(f"{str(path)!r} {what}: name another file to write.")


def digest(model: str) -> str | None:
    """The digest of a model file, which identifies it in a checkpoint."""
    path = Path(model)
    return blake2b(path.read_bytes(), digest_size=16).hexdigest() if path.is_file() else None


def load(
    model: str,
    data: str,
    target: str,
    *,
    classes: str | None,
    loss: str,
    trust: Sequence[str],
    allow_pickle: bool,
) -> tuple[Any, Any]:
    """The model and the rows, with the same names for the classes."""
    from sfit.cli.model_files import load_model

    loaded = load_model(model, trust=trust, allow_pickle=allow_pickle)
    from sfit._losses import check_loss
    from sfit.cli._data import is_parquet, read_head, read_rows
    from sfit.cli._labels import labels_match, match_labels
    from sfit.models import as_view

    check_loss(loss)
    try:
        view = as_view(loaded, loss)
    except SFITError:
        raise
    except Exception as error:
        raise ModelError(
            f"{model!r} was read, but its model cannot be used ({type(error).__name__}: {error}): "
            "save the model again."
        ) from error
    stored = is_parquet(data)
    rows = read_head(data) if stored else read_rows(data)
    if target not in rows.columns:
        columns = ", ".join(map(str, rows.columns[:8])) + (", ..." if rows.shape[1] > 8 else "")
        raise ArgumentError(
            f"--target names {target!r}, but the columns of {data!r} are {columns}."
        )
    if stored and classes is None and labels_match(view, rows[target]):
        # The library reads the files tile by tile, whatever their size.
        return view, data
    rows = read_rows(data) if stored else rows
    return match_labels(view, rows, target, names(classes))
