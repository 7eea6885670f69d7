"""The paper's tables and figures, one file per study, each with one command.

``python -m sfit.studies simulation --out folder`` trains, tests, draws, and writes a page with the
paper's numbers beside ours. The pages of full runs are in ``docs/paper/``.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

from sfit._for_studies import check_choice, check_flag
from sfit.exceptions import DataError
from sfit.studies import _page, _record
from sfit.studies._jobs import JobLog

__all__ = ["NAMES", "Report", "render", "run"]

NAMES = (
    "simulation",
    "loco",
    "power",
    "correlation",
    "credit",
    "calibration",
    "peers",
    "power-and-size",
    "dependence",
    "comparisons",
)


@dataclass(frozen=True)
class Report:
    """The result of a study; `str` gives its page.

    Attributes
    ----------
    study : str
        Name of the study.
    settings, result : frozen dataclasses
        The settings of the run, and its numbers.
    page : str
        The page, in Markdown.
    seconds : float
        Duration of the run.

    Examples
    --------
    >>> from sfit import studies
    >>> report = studies.run("correlation", fast=True)
    >>> print(str(report).splitlines()[0])
    # Section 1: two correlated features
    """

    study: str
    settings: Any
    result: Any
    page: str
    seconds: float

    def __str__(self) -> str:
        return self.page


def run(name: str, *, fast: bool = False, out: str | PathLike[str] | None = None) -> Report:
    """Run a study of the paper.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    fast : bool, default=False
        Take seconds instead of minutes, with fewer rows and smaller models. The numbers are then
        only a rough version of the paper's.
    out : path, optional
        Folder for the page (Markdown), its figures (PNG) and all numbers (JSON). Nothing is written
        by default. `power-and-size`, `dependence` and `comparisons` also store each finished job
        there: the same command goes on where a stopped run ended, and writes the page again if all
        jobs are finished.

    Returns
    -------
    Report
        With `.result` and `.page`.

    Examples
    --------
    >>> from sfit import studies
    >>> report = studies.run("correlation", fast=True)
    >>> report.result.sfit[0] == (1.0, 1.0)  # section 1: SFIT never misses
    True
    """
    check_choice(name, "name", NAMES)
    check_flag(fast, "fast")
    module = _module(name)
    settings = module.FAST if fast else module.FULL
    commit, started = _record.commit(), time.perf_counter()
    command = f"python -m sfit.studies {name}{' --fast' if fast else ''}"
    if getattr(module, "RESUMES", False):
        log = _job_log(name, settings, commit, None if out is None else Path(out))
        result = module.study(settings, log)
        seconds, commit = log.seconds, " and ".join(log.commits) or None
    else:
        result = module.study(settings)
        seconds = time.perf_counter() - started
    run = _record.provenance(command, seconds, commit)
    record = _record.record(name, settings, result, run)
    return _report(record, None if out is None else Path(out))


def render(name: str, folder: str | PathLike[str]) -> Report:
    """Write the page and the figures of a study again, from the numbers of an earlier run.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    folder : path
        Folder that `run` wrote to. Its page and figures are replaced; the numbers are kept.

    Returns
    -------
    Report
        The same report as that of the run.

    Examples
    --------
    >>> import tempfile
    >>> from sfit import studies
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = studies.run("correlation", fast=True, out=folder)
    ...     studies.render("correlation", folder).page == report.page
    True
    """
    check_choice(name, "name", NAMES)
    path = Path(folder) / f"{name}.json"
    if not path.is_file():
        raise DataError(f"there is no {path.name} in {str(folder)!r}: run the study first.")
    return _report(json.loads(path.read_text(encoding="utf-8")), Path(folder))


def _job_log(name: str, settings: Any, commit: str | None, folder: Path | None) -> JobLog:
    """The finished jobs of a study, stored beside its page."""
    versions = _record.provenance("", 0.0, None)["versions"]
    identity = {"study": name, "settings": _record.storable(asdict(settings)), "versions": versions}
    return JobLog(None if folder is None else folder / f"{name}.jobs.jsonl", identity, commit)


def _module(name: str) -> ModuleType:
    """The file of a study; a hyphen in its name is an underscore there."""
    return import_module(f"sfit.studies.{name.replace('-', '_')}")


def _report(record: dict[str, Any], folder: Path | None) -> Report:
    """The report of a record; its files are written if a folder is given."""
    module = _module(record["study"])
    settings, result = (
        _record.restored(kind, record[part])
        for kind, part in ((module.Settings, "settings"), (module.Result, "result"))
    )
    page = _page.headed(module.TITLE, module.page(result), record["run"])
    if folder is not None:
        _page.write(folder, record, page, module.figures(result))
    return Report(record["study"], settings, result, page, record["run"]["seconds"])
