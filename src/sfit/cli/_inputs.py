"""Command-line options as arguments of the library; bad options are refused before any work."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sfit.exceptions import ArgumentError, DataError, ModelError, SFITError

AVERAGE = "average:"
"""Begins a reference that averages over rows of a file, instead of freezing at their means."""

WHOLE = ("auto", "a whole number of at least 1")
"""The values of an option that counts random draws."""

OPTIONS_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "sign": {"beta": (), "ties": ("keep", "drop")},
    "permutation": {"n-permutations": WHOLE, "statistic": ("auto", "loss")},
    "mean": {"n-flips": WHOLE},
}
"""The options that only one test has, with their values; empty: any. The tests are those of TESTS.
"""

WRITERS = {
    ".html": "to_html",
    ".md": "to_markdown",
    ".docx": "to_docx",
    ".xlsx": "to_excel",
    ".tex": "to_latex",
}
"""The files of a report, and the methods of results that write them."""


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


def check_name(test: str, tests: Sequence[str] = tuple(OPTIONS_OF)) -> None:
    """Refuse a test that is not one of these."""
    if test not in tests:
        *first, last = tests
        raise ArgumentError(f"--test must be {', '.join(first)} or {last}; got {test!r}.")


def check_test(test: str, **options: str | None) -> dict[str, Any]:
    """The options of a test object; refuse those of another test."""
    check_name(test)
    owners = {name: owner for owner, names in OPTIONS_OF.items() for name in names}
    given = {name.replace("_", "-"): text for name, text in options.items() if text is not None}
    for name, text in given.items():
        if owners[name] != test:
            raise ArgumentError(
                f"--{name} {text} belongs to --test {owners[name]}, but the test is {test}: omit "
                f"--{name}, or use --test {owners[name]}."
            )
        choices = OPTIONS_OF[test][name]
        is_whole = choices is WHOLE and text.isdecimal() and int(text) > 0
        if choices and text not in choices and not is_whole:
            raise ArgumentError(f"--{name} must be {' or '.join(choices)}; got {text!r}.")
    return {
        name.replace("-", "_"): int(text) if text.isdecimal() else text
        for name, text in given.items()
        if name != "beta"
    }


def make_test(test: str, options: dict[str, Any]) -> Any:
    """The test object."""
    # Imported late: a misspelt option must not wait for pandas and SciPy.
    from sfit._request import TESTS

    return TESTS[test](**options)


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


def writer(path: Path) -> str:
    """The method of results that writes a file of this ending."""
    ending = path.suffix.lower()
    if ending not in WRITERS:
        *first, last = WRITERS
        raise ArgumentError(
            f"--out must end in {', '.join(first)} or {last}, which chooses what is written; got "
            f"{str(path)!r}."
        )
    return WRITERS[ending]


def check_writable(*paths: Path | None) -> None:
    """Refuse to start if the result could not be written."""
    for path in paths:
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            what = "is a folder" if path.is_dir() else "lies in a folder that does not exist"
            raise ArgumentError(f"{str(path)!r} {what}: name another file to write.")


def given(text: str | None) -> Sequence[str] | str:
    """Names of features, or the word "rest"."""
    return "rest" if text == "rest" else names(text) or ()


def correction(text: str) -> str | None:
    """The name of a correction, or the word "none"."""
    return None if text == "none" else text


def checkpoint_key(checkpoint: Path | None, *models: str) -> str | None:
    """The digest of the model files, which identifies them in a checkpoint."""
    paths = [Path(model) for model in models]
    if checkpoint is None or not all(path.is_file() for path in paths):
        return None
    digests = [blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in paths]
    return " ".join(digests)


def stored_result(path: Path) -> Any:
    """A result of any kind, as `to_json` wrote it."""
    from sfit import Audit, FeatureComparison, ModelComparison, PartComparison, SFITResult
    from sfit._partitioned import PartitionedResult

    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}.")
    # The kind of the result stands at the beginning of the file.
    with path.open("rb") as file:
        head = file.read(200).decode(errors="replace")
    kinds: tuple[Any, ...] = (
        Audit,
        PartitionedResult,
        ModelComparison,
        FeatureComparison,
        PartComparison,
    )
    found = [kind for kind in kinds if f'"{kind.__name__}"' in head]
    return (found[0] if found else SFITResult).from_json(path)


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
    [view], rows = load_all(
        [model], data, target, classes=classes, loss=loss, trust=trust, allow_pickle=allow_pickle
    )
    return view, rows


def load_all(
    models: Sequence[str],
    data: str,
    target: str,
    *,
    classes: str | None,
    loss: str,
    trust: Sequence[str],
    allow_pickle: bool,
) -> tuple[list[Any], Any]:
    """Several models and their rows, with the same names for the classes."""
    views = [_view(model, loss, trust, allow_pickle) for model in models]
    from sfit.cli._data import is_parquet, read_head, read_rows
    from sfit.cli._labels import labels_match, match_labels

    stored = is_parquet(data)
    rows = read_head(data) if stored else read_rows(data)
    if target not in rows.columns:
        columns = ", ".join(map(str, rows.columns[:8])) + (", ..." if rows.shape[1] > 8 else "")
        raise ArgumentError(
            f"--target names {target!r}, but the columns of {data!r} are {columns}."
        )
    if stored and classes is None and all(labels_match(view, rows[target]) for view in views):
        # The library reads the files tile by tile, whatever their size.
        return views, data
    rows = read_rows(data) if stored else rows
    for place, view in enumerate(views):
        views[place], rows = match_labels(view, rows, target, names(classes))
    for view in views:  # labels that a later model turned into text must suit the others as well
        match_labels(view, rows, target, None)
    return views, rows


def _view(model: str, loss: str, trust: Sequence[str], allow_pickle: bool) -> Any:
    """The model of a file, as the library sees it."""
    from sfit.cli.model_files import load_model

    loaded = load_model(model, trust=trust, allow_pickle=allow_pickle)
    from sfit._losses import check_loss
    from sfit.models import as_view

    check_loss(loss)
    try:
        return as_view(loaded, loss)
    except SFITError:
        raise
    except Exception as error:
        raise ModelError(
            f"{model!r} was read, but its model cannot be used ({type(error).__name__}: {error}): "
            "save the model again."
        ) from error
