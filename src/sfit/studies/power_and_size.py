"""The permutation test beside the sign test and its peers: power, and size on nasty nulls (ours)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import rankdata

from sfit._array import Array
from sfit.studies import _power_size_fits as fits
from sfit.studies._jobs import Job, JobLog
from sfit.studies._power_size_page import STATISTICS, Found, Rates, Result, figures, page
from sfit.studies._power_size_settings import (
    FITS,
    NULLS,
    POWER,
    REGRESSIONS,
    LinearModel,
    Null,
    Sample,
    Setting,
)
from sfit.studies._power_size_tests import FITTED, SIMULATED, Task, Test, available, permutation

__all__ = ["FAST", "FULL", "TITLE", "Result", "Settings", "figures", "page", "study"]

N_PERMUTATIONS = 499
"""In simulations: as exact as more of them, in a fourth of the time of the default."""

TITLE = "Power and size: the permutation test beside the sign test"


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen."""

    power_repeats: dict[int, int] = field(default_factory=lambda: {200: 50, 400: 200, 2_000: 50})
    """Data sets of the settings of power, by their rows; effects shrink with the root of these."""
    regression_rows: int = 400
    """Training rows, and as many test rows, of the fitted functions."""
    regression_repeats: int = 100
    null_repeats: dict[int, int] = field(default_factory=lambda: {200: 100, 2_000: 100})
    """Data sets by their rows, with ten null columns each."""
    fit_rows: int = 400
    fit_repeats: int = 24
    splits: dict[str, int] = field(
        default_factory=lambda: dict(zip(fits.DATA, (10, 10, 10, 4, 20), strict=True))
    )
    """Of the real data sets."""
    loss_rows: int = 400
    """The loss is a slow statistic: it is left out of simulations of more rows."""
    stacked: int = 25
    """Repetitions in one call, told apart by `by`."""
    n_jobs: int = 2
    seed: int = 0


FULL = Settings()
FAST = Settings(
    power_repeats={200: 4},
    regression_rows=100,
    regression_repeats=4,
    null_repeats={200: 3},
    fit_rows=100,
    fit_repeats=1,
    splits={"diabetes, forest": 1},
    n_jobs=1,
)


RESUMES = True
"""Whether finished jobs are stored, and a stopped run goes on."""


def study(settings: Settings, log: JobLog) -> Result:
    """Every part of the study; each repetition has a seed, so the number of workers changes nothing."""
    seed, known, fitted = settings.seed, available(SIMULATED), available(FITTED)
    reasons = {name: fits.unavailable(name) for name in settings.splits}
    usable = tuple(name for name, reason in reasons.items() if reason is None)
    skipped = [f"{name}: {reason}" for name, reason in reasons.items() if reason is not None]
    models = fits.installed(tuple(fits.MODELS))
    skipped += [f"{name}: LightGBM is not installed" for name in fits.MODELS if name not in models]
    if "permutation importance" not in fitted:
        skipped.append("permutation importance: hidimstat is not installed")
    power = _simulated(log, settings, POWER, (seed, 1), settings.power_repeats, known)
    nulls = _simulated(log, settings, NULLS, (seed, 2), settings.null_repeats, known)
    regressions, sizes = _regressions(log, settings)
    classes = {name: _classes(log, settings, name, fitted) for name in models}
    real = tuple(_real(log, settings, name, fitted) for name in usable)
    return Result(
        power,
        nulls,
        regressions,
        sizes,
        classes,
        real,
        tuple(skipped),
        settings.regression_rows,
        settings.fit_rows,
    )


def _rates(decisions: Sequence[Mapping[str, Array]]) -> Rates:
    """Shares of all decisions, by test."""
    joined = {name: np.concatenate([one[name] for one in decisions]) for name in decisions[0]}
    n_tests = next(iter(joined.values())).size
    return Rates(n_tests, {name: float(every.mean()) for name, every in joined.items()})


# --- known functions --------------------------------------------------------------------


def _simulated(
    log: JobLog,
    settings: Settings,
    cells: Mapping[str, Setting] | Mapping[str, Null],
    key: tuple[int, int],
    repeats: Mapping[int, int],
    tests: Mapping[str, Test],
) -> dict[str, dict[int, Rates]]:
    """Every setting at every number of rows: how often each test rejects."""

    def of_rows(n: int) -> dict[str, Test]:
        slow = {"permutation, loss"} if n > settings.loss_rows else set()
        return {name: test for name, test in tests.items() if name not in slow}

    stacks = [
        (name, n, size, [*key, place, n, batch])
        for place, name in enumerate(cells)
        for n, total in repeats.items()
        for batch, size in enumerate(_stacks(total, settings.stacked))
    ]
    jobs = [
        Job(_key(name, seed), _decide_sample, (cells[name], n, size, seed, of_rows(n)))
        for name, n, size, seed in stacks
    ]
    answers = log.run(jobs, settings.n_jobs)
    of_cell: dict[tuple[str, int], list[dict[str, Array]]] = {}
    for (name, n, *_), answer in zip(stacks, answers, strict=True):
        of_cell.setdefault((name, n), []).append(answer)
    return {name: {n: _rates(of_cell[name, n]) for n in repeats} for name in cells}


def _key(name: str, seed: Sequence[int]) -> str:
    """The name of a job: its setting and its seed, which no other job has."""
    return f"{name}, seed {'-'.join(map(str, seed))}"


def _stacks(repeats: int, stacked: int) -> list[int]:
    """Sizes of the stacks in which the repetitions are tested."""
    return [min(stacked, repeats - start) for start in range(0, repeats, stacked)]


def _decide_sample(
    cell: Setting | Null, n: int, repetitions: int, seed: list[int], tests: Mapping[str, Test]
) -> dict[str, Array]:
    """Decisions about the tested columns of one stack of repetitions."""
    sample = cell.draw(n, repetitions, np.random.default_rng(seed))
    task = _task(sample, seed[-1])
    return {name: test(task)[:, : sample.n_tested] for name, test in tests.items()}


def _task(sample: Sample, seed: int) -> Task:
    return Task(
        sample.model,
        sample.X,
        sample.y,
        sample.loss,
        sample.reference,
        seed,
        repetition=sample.repetition,
        n_permutations=N_PERMUTATIONS,
    )


# --- statistics for regression ----------------------------------------------------------


def _regressions(
    log: JobLog, settings: Settings
) -> tuple[dict[str, dict[str, Rates]], dict[str, dict[str, Rates]]]:
    """Power and size of five statistics, by setting and fitted function."""
    batches = _stacks(settings.regression_repeats, settings.stacked)
    n = settings.regression_rows
    seeds = [
        (name, size, [settings.seed, 3, place, batch])
        for place, name in enumerate(REGRESSIONS)
        for batch, size in enumerate(batches)
    ]
    jobs = [
        Job(_key(name, seed), _decide_regression, (name, n, size, seed))
        for name, size, seed in seeds
    ]
    answers = log.run(jobs, settings.n_jobs)
    power: dict[str, dict[str, Rates]] = {}
    size: dict[str, dict[str, Rates]] = {}
    for place, name in enumerate(REGRESSIONS):
        mine = answers[place * len(batches) : (place + 1) * len(batches)]
        # Columns: each fitted function of the feature, then of a feature that is independent of y.
        for column, (kind, into) in enumerate(
            (kind, into) for into in (power, size) for kind in FITS
        ):
            one = [{key: every[:, column] for key, every in answer.items()} for answer in mine]
            into.setdefault(name, {})[kind] = _rates(one)
    return power, size


def _decide_regression(name: str, n: int, repetitions: int, seed: list[int]) -> dict[str, Array]:
    """Whether each statistic rejects, for both fitted functions of a true and of a null feature."""
    rng = np.random.default_rng(seed)
    predictions, outcomes = [], []
    for _ in range(repetitions):
        x, y = REGRESSIONS[name].draw(2 * n, rng)
        features = (x, REGRESSIONS[name].shape(rng, 2 * n))
        fitted = [fit(one[:n], y[:n])(one[n:]) for one in features for fit in FITS.values()]
        predictions.append(np.column_stack(fitted))
        outcomes.append(y[n:])
    return {
        statistic: _decide_predictions(of_g(predictions), of_y(outcomes), loss, test, seed)
        for statistic, (of_g, of_y, loss, test) in _STATISTICS.items()
    }


def _decide_predictions(
    predictions: Array, outcomes: Array, loss: str, test: Test, seed: list[int]
) -> Array:
    """Test given predictions: columns of a model that adds up its columns, all frozen at 0."""
    repetitions, n, columns = predictions.shape
    model = LinearModel((1.0,) * columns)
    rows, y = predictions.reshape(-1, columns), outcomes.ravel()
    sample = Sample(
        model, rows, y, np.repeat(np.arange(repetitions), n), loss, (0.0,) * columns, columns
    )
    return test(_task(sample, seed[-1]))


def _as_they_are(values: Sequence[Array]) -> Array:
    return np.stack(values)


def _ranked(values: Sequence[Array]) -> Array:
    """Ranks within each repetition, column by column."""
    return np.stack([rankdata(one, axis=0) for one in values])


_Transform = Callable[[Sequence[Array]], Array]
# By name: what is done to predictions and to outcomes, the loss, and the test.
_STATISTICS: dict[str, tuple[_Transform, _Transform, str, Test]] = dict(
    zip(
        STATISTICS,
        (
            (_as_they_are, _as_they_are, "absolute_error", permutation("loss")),
            (_as_they_are, _as_they_are, "squared_error", permutation("loss")),
            (_as_they_are, _ranked, "squared_error", permutation("loss")),
            (_ranked, _ranked, "squared_error", permutation("loss")),
            (_as_they_are, _as_they_are, "squared_error", permutation("auto")),
        ),
        strict=True,
    )
)


# --- fitted models ----------------------------------------------------------------------


def _classes(
    log: JobLog, settings: Settings, model: str, tests: Mapping[str, Test]
) -> dict[str, Rates]:
    """One class of models: how often each test finds each feature, and noise."""
    seeds = range(settings.seed, settings.seed + settings.fit_repeats)
    jobs = [
        Job(_key(model, [seed]), _decide_fit, (model, settings.fit_rows, seed, tests))
        for seed in seeds
    ]
    answers = log.run(jobs, settings.n_jobs)
    n_true = len(fits.TRUE)
    columns = {name: slice(place, place + 1) for place, name in enumerate(fits.TRUE)}
    columns["noise"] = slice(n_true, None)
    return {
        name: _rates([{key: every[:, at] for key, every in one.items()} for one in answers])
        for name, at in columns.items()
    }


def _decide_fit(model: str, n: int, seed: int, tests: Mapping[str, Test]) -> dict[str, Array]:
    task = fits.fitted(model, n, n, seed)
    return {name: test(task) for name, test in tests.items()}


def _real(log: JobLog, settings: Settings, name: str, tests: Mapping[str, Test]) -> Found:
    """One data set: true features and noise columns found per split."""
    seeds = range(settings.seed, settings.seed + settings.splits[name])
    jobs = [Job(_key(name, [seed]), _decide_split, (name, seed, tests)) for seed in seeds]
    answers = log.run(jobs, settings.n_jobs)
    true = {key: tuple(int(one[key][:, : -fits.N_ADDED].sum()) for one in answers) for key in tests}
    noise = {
        key: tuple(int(one[key][:, -fits.N_ADDED :].sum()) for one in answers) for key in tests
    }
    n_features = next(iter(answers[0].values())).shape[1] - fits.N_ADDED
    return Found(name, n_features, true, noise)


def _decide_split(name: str, seed: int, tests: Mapping[str, Test]) -> dict[str, Array]:
    task = fits.split(name, seed)
    return {key: test(task) for key, test in tests.items()}
