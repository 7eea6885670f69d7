"""`reference=Average(...)`: hidden features are averaged out over background rows.

The slow implementation in `reference/` sees row numbers instead of values. Its model looks the values
up, once for each background row, and averages the predictions in exact arithmetic.
"""

import math
import sqlite3
import warnings
from dataclasses import dataclass, replace

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from reference import slow
from sklearn import base
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from tiles import set_tiles

import sfit
from sfit._contrast import Contrast, Reveal
from sfit.exceptions import ArgumentError, CheckpointError, DataError
from sfit.models._sklearn import SklearnView
from sfit.plotting import DeltaDisplay
from sfit.restrict import Computed, _direct, _trees
from sfit.restrict._cells import Cells, SparseCells
from sfit.restrict._mean_polyline import make_mean_polylines
from sfit.restrict._prediction import averaged
from sfit.rows import every_tile
from sfit.sample import prepare

N, K = 260, 7


@dataclass(frozen=True)
class Problem:
    """A fitted model with held-out rows and background rows."""

    model: object
    X: object
    y: np.ndarray
    background: object
    exact: bool = False
    """Whether fast and slow routes agree to the bit: trees."""

    def test(self, **options):
        options = {"max_order": 2, "beta": (0.01, 0.001), "partners": "all"} | options
        average = options.pop("reference", sfit.Average(self.background, n_rows=10**6))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return sfit.feature_significance(
                self.model, self.X, self.y, reference=average, **options
            )


def is_classifier(model):
    """Of scikit-learn or anything else."""
    return isinstance(model, base.BaseEstimator) and base.is_classifier(model)


def same(one, other):
    """The same numbers, whatever the settings say of the reference."""
    return replace(one, settings=other.settings) == other


def numbers(seed, n=N, width=5):
    """Rows with an interaction, a dummy and a column of few values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    X[:, 3] = rng.integers(0, 2, size=n)
    X[:, 4] = X[:, 4].round(1)
    return X, 2 * X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] + 0.3 * rng.normal(size=n)


def words(seed, n=N):
    """The same in a frame, with words and categories."""
    X, y = numbers(seed, n)
    rng = np.random.default_rng(seed + 100)
    frame = pd.DataFrame(X, columns=list("abcde")).drop(columns="c")
    city = rng.choice(["bonn", "paris", "rome", "vienna"], size=n)
    frame["city"] = city
    frame["kind"] = pd.Categorical(rng.choice(list("xyz"), size=n), categories=list("xyz"))
    y = y + (city == "rome") * frame["a"] + 2 * (city == "paris") + (frame["kind"] == "z")
    return frame, y.to_numpy()


def problem(model, *, classes=0, make=numbers, exact=False, fit=None):
    """A model fitted on other rows than it is tested on."""
    train, target = make(0, 1_500)
    X, y = make(1)
    if classes:
        cuts = np.quantile(target, np.arange(1, classes) / classes)
        target, y = np.digitize(target, cuts), np.digitize(y, cuts)
    model = model.fit(train, target) if fit is None else fit(model, train, target)
    return Problem(model, X, y, train[:K], exact)


def lightgbm(classes=0):
    """LightGBM, with a categorical column."""
    library = pytest.importorskip("lightgbm")

    def make(seed, n=N):
        frame, y = words(seed, n)
        return frame.drop(columns="city"), y

    kind = library.LGBMClassifier if classes else library.LGBMRegressor
    model = kind(n_estimators=15, num_leaves=12, verbose=-1, n_jobs=1)
    return problem(model, classes=classes, make=make, exact=True)


def xgboost():
    """XGBoost, in single precision."""
    library = pytest.importorskip("xgboost")
    return problem(library.XGBRegressor(n_estimators=15, max_depth=4, n_jobs=1), exact=True)


def catboost():
    """CatBoost, with words."""
    library = pytest.importorskip("catboost")
    model = library.CatBoostRegressor(
        iterations=15,
        depth=4,
        verbose=0,
        thread_count=1,
        allow_writing_files=False,
        cat_features=["city", "kind"],
    )
    return problem(model, make=words, exact=True)


def torch():
    """A network in single precision."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    X, y = numbers(0, 500)
    steps = torch.optim.Adam(module.parameters(), 0.05)
    for _ in range(100):
        steps.zero_grad()
        loss = ((module(torch.tensor(X, dtype=torch.float32))[:, 0] - torch.tensor(y)) ** 2).mean()
        loss.backward()
        steps.step()
    return problem(module, fit=lambda module, *_: module.eval())


def pipeline(last, exact=False):
    """Words become dummies inside the model."""
    encoder = make_column_transformer(
        (OneHotEncoder(), ["city", "kind"]), (StandardScaler(), ["a", "b"]), remainder="passthrough"
    )
    return problem(make_pipeline(encoder, last), make=words, exact=exact)


def product(Z):
    """A function that nothing is known about."""
    Z = np.asarray(Z, dtype=float)
    return np.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2]


def pair(Z):
    """Two outputs."""
    Z = np.asarray(Z, dtype=float)
    return np.column_stack([Z[:, 0] - Z[:, 3], Z[:, 1] * Z[:, 2]])


def two_outputs():
    """A function of two outputs, whose predictions cancel."""
    whole = problem(pair, fit=lambda model, *_: model)
    noise = np.random.default_rng(0).normal(size=(N, 2))
    return replace(whole, y=pair(whole.X) + 0.3 * noise)


hidden = {"hidden_layer_sizes": (9, 6), "max_iter": 60, "random_state": 0}
PROBLEMS = {
    "tree": lambda: problem(DecisionTreeRegressor(max_depth=6), exact=True),
    "forest": lambda: problem(RandomForestRegressor(9, random_state=0), exact=True),
    "extra trees": lambda: problem(
        ExtraTreesClassifier(9, max_depth=7, random_state=0), classes=3, exact=True
    ),
    "gradient": lambda: problem(GradientBoostingRegressor(n_estimators=15), exact=True),
    "histogram": lambda: problem(
        HistGradientBoostingClassifier(max_iter=10), classes=3, exact=True
    ),
    "lightgbm": lightgbm,
    "lightgbm of classes": lambda: lightgbm(3),
    "xgboost": xgboost,
    "catboost": catboost,
    "least squares": lambda: problem(LinearRegression()),
    "logistic": lambda: problem(LogisticRegression(), classes=2),
    "multinomial": lambda: problem(LogisticRegression(), classes=3),
    "network": lambda: problem(MLPRegressor(**hidden)),
    "network of classes": lambda: problem(MLPClassifier(**hidden), classes=3),
    "smooth network": lambda: problem(MLPRegressor(activation="tanh", **hidden)),
    "torch": torch,
    "encoder, linear": lambda: pipeline(LinearRegression()),
    "encoder, trees": lambda: pipeline(
        GradientBoostingRegressor(n_estimators=15, random_state=0), True
    ),
    "function": lambda: problem(product, fit=lambda model, *_: model),
    "two outputs": two_outputs,
}


@pytest.fixture(scope="module", params=PROBLEMS)
def known(request):
    """One of the problems; few networks are trained to the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PROBLEMS[request.param]()


def predicted(model, rows):
    """The model's own predictions."""
    if type(model).__module__.startswith("torch"):
        import torch

        with torch.no_grad():
            return model(torch.tensor(np.asarray(rows), dtype=torch.float32)).numpy()[:, 0]
    if not hasattr(model, "predict"):
        return model(rows)
    return model.predict_proba(rows) if is_classifier(model) else model.predict(rows)


def exact_mean(values):
    """In exact arithmetic; of equal numbers, that number."""
    return values[0] if len(set(values)) == 1 else math.fsum(values) / len(values)


def naively(problem):
    """The slow implementation's arguments: row numbers, and a model that averages over them."""
    whole, background = (
        pd.DataFrame(rows) if isinstance(rows, np.ndarray) else rows.reset_index(drop=True)
        for rows in (problem.X, problem.background)
    )
    n, width = whole.shape
    is_array = isinstance(problem.X, np.ndarray)
    seen = {}

    def average(codes):
        revealed = tuple(np.flatnonzero(codes[0] >= 0))
        if revealed not in seen:
            seen[revealed] = mean_over_background(revealed)
        return seen[revealed]

    def mean_over_background(revealed):
        of_rows = []
        for k in range(len(background)):
            columns = [
                whole.iloc[:, c]
                if c in revealed
                else background.iloc[[k] * n, c].reset_index(drop=True)
                for c in range(width)
            ]
            rows = pd.concat(columns, axis=1)
            of_rows.append(predicted(problem.model, rows.to_numpy() if is_array else rows))
        stacked = np.stack([p.reshape(n, -1) for p in of_rows])
        outs = range(stacked.shape[2])
        means = [[exact_mean(stacked[:, row, out].tolist()) for out in outs] for row in range(n)]
        return np.array(means).astype(of_rows[0].dtype)

    codes = np.tile(np.arange(n)[:, None], (1, width))
    return average, codes, np.full(width, -1), [[c] for c in range(width)]


LOSSES = {"regression": "absolute_error", "classification": "log_loss"}


def compare(result, problem, **options):
    """Count for count, and all numbers up to rounding."""
    predict, codes, reference, columns = naively(problem)
    kind = "classification" if is_classifier(problem.model) else "regression"
    sample = predicted(problem.model, problem.X[:1])
    options = {"max_order": 2, "beta": (0.01, 0.001)} | options
    everything = [f"x{j}" for j in range(5)] if isinstance(problem.X, np.ndarray) else [*problem.X]
    names = options.pop("names", everything)
    expected = slow.sfit(
        predict,
        codes,
        problem.y,
        loss=options.pop("loss", LOSSES[kind]),
        reference=reference,
        columns=options.pop("columns", columns),
        unit=float(np.finfo(sample.dtype).eps),
        **options,
    )
    of_term = {tuple(names[j] for j in row["term"]): row for row in expected["tests"]}
    assert {test.term for test in result.tests} == set(of_term)
    single = sample.dtype == np.float32
    for test in result.tests:
        row = of_term[test.term]
        assert test.n_positive == row["n_positive"], test.term
        assert test.p_value == pytest.approx(row["p_value"], rel=1e-12)
        assert test.significant == row["significant"]
        for number in ("statistic", "ci_low", "ci_high", "beta_max"):
            assert getattr(test, number) == pytest.approx(
                row[number],
                rel=1e-4 if single else 1e-9,
                abs=1e-6 if single else 1e-11,
                nan_ok=True,
            )
    assert [gate.n_positive for gate in result.gates] == [
        g["n_positive"] for g in expected["gates"]
    ]


def test_a_loop_over_rows_and_background_rows_gives_the_same(known):
    """Orders 1 and 2 and their gates, by the fast routes and by the model itself."""
    fast, slow_ = known.test(), known.test(fast=False)
    compare(fast, known)
    compare(slow_, known)
    if known.exact:
        assert fast == slow_
    assert fast.settings.reference == f"average of {K} rows of the given data"
    assert fast.settings.seed is None


def test_one_background_row_is_a_frozen_point(known):
    """Bit for bit, by every route."""
    first = known.background[:1]
    row = first[0].tolist() if isinstance(first, np.ndarray) else dict(first.iloc[0])
    for fast in (True, False):
        frozen = known.test(reference=row, fast=fast)
        average = known.test(reference=sfit.Average(first), fast=fast)
        assert same(average, frozen)


def test_the_base_is_the_mean_prediction(known):
    """With nothing revealed; and with everything revealed, the model's own prediction."""
    whole = prepare(known.model, known.X, known.y, reference=sfit.Average(known.background))
    predictions = whole.evaluation().predictions
    first = whole.rows.first
    base = predictions.one(first, Reveal(frozenset()))
    assert base.is_constant
    mean = predicted(known.model, known.background).mean(axis=0)
    np.testing.assert_allclose(base.values[0], mean, rtol=1e-6, atol=1e-12)
    full = predictions.one(first, Reveal(whole.features.everything)).by_row()
    np.testing.assert_allclose(full, predicted(known.model, known.X), rtol=1e-6, atol=1e-12)
    assert len(full) == N


# ------------------------------------------------------------------------------ every option


@pytest.fixture(scope="module")
def boosted():
    """Trees on numbers."""
    return problem(GradientBoostingRegressor(n_estimators=10, random_state=0), exact=True)


@pytest.mark.parametrize(
    ("options", "slow_options"),
    [
        (
            {"groups": {"both": ["x1", "x2"]}},
            {"columns": [[0], [1, 2], [3], [4]], "names": ["x0", "both", "x3", "x4"]},
        ),
        ({"given": ["x1"]}, {"given": [1]}),
        ({"given": "rest", "max_order": 1, "beta": 0.0}, {"given": "rest", "beta": 0.0}),
        (
            {"always_on": ["x3"]},
            {
                "always_on": [3],
                "columns": [[0], [1], [2], [4]],
                "names": ["x0", "x1", "x2", "x4"],
            },
        ),
        ({"loss": "squared_error", "strict": True}, {"loss": "squared_error", "strict": True}),
        ({"max_order": 3, "beta": (0.1, 0.01, 0.0)}, {"max_order": 3, "beta": (0.1, 0.01, 0.0)}),
        ({"correction": "holm", "exhaustive": True}, {"correction": "holm", "exhaustive": True}),
    ],
)
def test_every_option_agrees_with_the_loop(boosted, options, slow_options):
    """What is revealed besides the tested features, and how sets are decided."""
    fast = boosted.test(**options)
    assert fast == boosted.test(fast=False, **options)
    compare(fast, boosted, **slow_options)


def test_parts_have_the_same_background(boosted):
    """One test for each part, which is the test of its rows alone."""
    part = np.arange(N) % 2
    by_part = boosted.test(by=part)
    for label in (0, 1):
        rows = replace(boosted, X=boosted.X[part == label], y=boosted.y[part == label])
        assert same(by_part[label], rows.test())


def test_beta_is_chosen_with_the_same_background(boosted):
    """By copies of the model, and by the user's own random models; with validation rows, too."""
    average = sfit.Average(numbers(0, 1_500)[0], n_rows=5)
    choice = sfit.choose_beta(
        boosted.model, boosted.X, boosted.y, reference=average, random_state=4
    )
    again = sfit.choose_beta(
        boosted.model, boosted.X, boosted.y, reference=average, random_state=4, fast=False
    )
    assert choice == again
    validation = sfit.SignTest(validation=numbers(2))
    chosen = boosted.test(reference=average, beta="auto", test=validation, random_state=4)
    alone = sfit.choose_beta(boosted.model, *numbers(2), reference=average, random_state=4)
    assert chosen.beta_choice == alone
    assert chosen.settings.seed == 4

    def other(rng):
        weights = rng.normal(size=5)
        return lambda Z: Z @ weights

    drawn = sfit.choose_beta(
        boosted.model,
        boosted.X,
        boosted.y,
        reference=average,
        random_model=other,
        max_beta=1.0,
        random_state=4,
    )
    assert drawn.n_models == 20


def test_the_permutation_test_averages_the_same_predictions(boosted):
    """To the bit for trees; the seed serves the draw of rows and the permutations."""
    average = sfit.Average(numbers(0, 1_500)[0], n_rows=9)
    options = {"test": "permutation", "max_order": 1, "beta": None, "random_state": 6}
    fast = boosted.test(reference=average, **options)
    assert fast == boosted.test(reference=average, fast=False, **options)
    assert fast.settings.seed == 6
    assert fast.settings.averaged
    assert "x0" in fast.selected


def test_a_selector(boosted):
    """The reference passes through scikit-learn's clone."""
    X, y = numbers(5, 1_000)
    selector = sfit.SFITSelector(
        GradientBoostingRegressor(n_estimators=10, random_state=0),
        reference=sfit.Average(X, n_rows=10),
        random_state=3,
    )
    selector.fit(X, y)
    assert selector.result_.settings.reference == "average of 10 rows of the given data"
    assert "Average(n_rows=10)" in repr(selector)


def test_a_display(boosted):
    """The differences of the rows are those of the test."""
    pytest.importorskip("matplotlib")
    average = sfit.Average(numbers(0, 1_500)[0], n_rows=5)
    result = boosted.test(reference=average, random_state=3, max_order=1, beta=0.01)
    display = DeltaDisplay.from_model(
        boosted.model, boosted.X, boosted.y, "x0", reference=average, random_state=3
    )
    assert np.count_nonzero(display.delta > 0) == result.tests[0].n_positive


# ------------------------------------------------------------------- storage, workers, resumption


def stored(problem):
    """The rows with their target, as one frame."""
    frame = problem.X if hasattr(problem.X, "columns") else pd.DataFrame(problem.X).add_prefix("x")
    return frame.assign(y=problem.y)


STORED = {
    "trees": lambda: problem(GradientBoostingRegressor(n_estimators=10, random_state=0)),
    "network": lambda: problem(MLPClassifier(**hidden), classes=3),
    "function": lambda: problem(product, fit=lambda model, *_: model),
    "lightgbm": lightgbm,
    "catboost": catboost,
    "encoder": lambda: pipeline(LinearRegression()),
}


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("name", STORED)
def test_memory_files_and_workers_give_the_same_bits(name, tmp_path, monkeypatch):
    """Several tiles, held in memory, read from files, in threads and in processes."""
    pytest.importorskip("pyarrow")
    set_tiles(monkeypatch, 64)
    known = STORED[name]()
    rows = stored(known)
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=90)
    whole = known.background
    whole = pd.DataFrame(whole).add_prefix("x") if isinstance(whole, np.ndarray) else whole
    large = pd.concat([whole, rows.drop(columns="y")], ignore_index=True)
    large.to_parquet(tmp_path / "train.parquet", row_group_size=50)
    options = {"max_order": 2, "random_state": 5}
    held = sfit.feature_significance(
        known.model, rows, "y", reference=sfit.Average(large, n_rows=9), **options
    )
    average = sfit.Average(tmp_path / "train.parquet", n_rows=9)
    for X in (rows, tmp_path / "rows.parquet", [rows[:100], rows[100:]]):
        assert sfit.feature_significance(known.model, X, "y", reference=average, **options) == held
    assert held == sfit.feature_significance(
        known.model, rows, "y", reference=average, n_jobs=2, **options
    )


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("name", ["trees", "network"])
def test_other_processes_give_the_same_bits(name):
    """Tables and polylines travel instead of the model, and of the base at order 2 the model."""
    known = STORED[name]()
    held = known.test()
    with joblib.parallel_config("loky"):
        assert known.test(n_jobs=2) == held


def test_an_interrupted_run_draws_the_same_rows_again(boosted, tmp_path):
    """Without a seed, the one that was drawn is stored in the checkpoint."""
    average = sfit.Average(numbers(0, 1_500)[0], n_rows=5)
    path = tmp_path / "run.sqlite"
    once = boosted.test(reference=average, checkpoint=path)
    with sqlite3.connect(path) as file:
        file.execute("DELETE FROM finished WHERE stage LIKE 'order 2%'")
    again = boosted.test(reference=average, checkpoint=path)
    assert again == once
    assert again.settings.seed is not None
    assert boosted.test(reference=average, random_state=once.settings.seed) == once
    with pytest.raises(CheckpointError, match="random_state was None and is 8"):
        boosted.test(reference=average, checkpoint=path, random_state=8)
    with pytest.raises(CheckpointError, match="the reference values was"):
        boosted.test(reference=sfit.Average(boosted.X, n_rows=5), checkpoint=path)


def test_a_lost_seed_is_another_run(boosted, tmp_path):
    """Other rows would be drawn: the file is refused, and nothing is mixed."""
    average = sfit.Average(numbers(0, 1_500)[0], n_rows=5)
    path = tmp_path / "run.sqlite"
    boosted.test(reference=average, checkpoint=path)
    with sqlite3.connect(path) as file:
        file.execute("DELETE FROM finished WHERE stage = 'seed'")
    with pytest.raises(CheckpointError, match="the reference values was"):
        boosted.test(reference=average, checkpoint=path)
    with sqlite3.connect(path) as file:
        file.execute("INSERT INTO finished VALUES ('seed', 0, 0, 'none', NULL)")
    with pytest.raises(CheckpointError):
        boosted.test(reference=average, checkpoint=path)


# ----------------------------------------------------------------------------- which rows


def test_the_rows_are_drawn_with_the_seed(boosted):
    """The same again for the same seed, others for another, and the drawn seed is recorded."""
    average = sfit.Average(numbers(0, 1_500)[0], n_rows=20)
    one, again, other = (boosted.test(reference=average, random_state=s) for s in (1, 1, 2))
    assert one == again
    assert not same(one, other)
    assert one.settings.seed == 1
    drawn = boosted.test(reference=average)
    assert boosted.test(reference=average, random_state=drawn.settings.seed) == drawn
    assert str(drawn.settings.seed) in drawn.summary()
    assert sfit.SFITResult.from_json(drawn.to_json()) == drawn


def test_any_kind_of_data_gives_the_same_rows(boosted, tmp_path):
    """An array, a sparse matrix, frames with the columns in another order, a file."""
    train = numbers(0, 1_500)[0]
    X = pd.DataFrame(boosted.X).add_prefix("x")
    frame = pd.DataFrame(train).add_prefix("x")
    turned = frame[["x4", "x1", "x0", "x3", "x2"]].assign(other="word")
    expected = boosted.test(reference=sfit.Average(train, n_rows=15), random_state=0)
    named = replace(boosted, X=X)
    kinds = [sp.csr_matrix(train), frame, turned, [turned[:500], turned[500:]]]
    polars = pytest.importorskip("polars")
    kinds.append(polars.from_pandas(turned))
    pytest.importorskip("pyarrow")
    turned.to_parquet(tmp_path / "train.parquet", row_group_size=400)
    kinds += [tmp_path / "train.parquet", str(tmp_path / "*.parquet")]
    for data in kinds:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X has feature names")
            result = sfit.feature_significance(
                boosted.model,
                named.X,
                named.y,
                reference=sfit.Average(data, n_rows=15),
                max_order=2,
                beta=(0.01, 0.001),
                partners="all",
                random_state=0,
            )
        assert same(result, expected)


def test_missing_background_values_take_the_models_own_way():
    """Also where the rows under test miss nothing."""

    def make(seed, n=N):
        X, y = numbers(seed, n)
        X[np.random.default_rng(seed).random(X.shape) < (0.1 if n > N else 0)] = np.nan
        return X, y

    known = problem(HistGradientBoostingRegressor(max_iter=10), make=make, exact=True)
    train = make(0, 1_500)[0]
    known = replace(known, background=train[np.isnan(train).any(axis=1)][:K])
    fast = known.test()
    assert fast == known.test(fast=False)
    compare(fast, known)


def test_words_that_only_the_background_has():
    """A dummy of the encoder that is 0 in all rows under test belongs to its feature nevertheless."""
    known = pipeline(LinearRegression())
    kept = (known.X["city"] != "paris").to_numpy()
    known = replace(known, X=known.X[kept].reset_index(drop=True), y=known.y[kept])
    train = words(0, 1_500)[0]
    paris = pd.concat([train[train["city"] == "paris"][:3], train[train["city"] == "rome"][:4]])
    known = replace(known, background=paris)
    assert not (known.X["city"] == "paris").any()
    result = known.test()
    compare(result, known)
    assert result.settings.space == "encoded"


def people(seed, n=300):
    """Columns of many types."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "flag": rng.random(n) < 0.4,
            "city": rng.choice(["bonn", "paris", "rome"], size=n),
            "born": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, n), "D"),
            "count": rng.integers(0, 5, size=n),
        }
    )
    return frame, rng.normal(size=n)


def score(Z):
    """A function of all these types, in any kind of frame."""
    Z = Z if isinstance(Z, pd.DataFrame) else Z.to_pandas()
    days = pd.to_datetime(Z["born"]).dt.day.to_numpy()
    city = (Z["city"].astype(str) == "paris").to_numpy()
    return Z["size"].to_numpy(float) + 2 * city * Z["flag"].to_numpy(float) + days / 99


@pytest.mark.parametrize("kind", ["pandas", "nullable", "category", "polars", "enum", "pyarrow"])
def test_columns_of_any_type_take_values_that_the_rows_lack(kind):
    """Words, categories and dates of the background need not occur in the rows under test."""
    (train, _), (X, y) = people(0), people(1)
    train = train[train["city"] != "rome"][:K].reset_index(drop=True)
    kept = (X["city"] != "paris").to_numpy()
    X, y = X[kept].reset_index(drop=True), y[kept]
    assert not set(train["born"]) <= set(X["born"])
    known = Problem(score, X, y, train)
    expected = known.test()
    compare(expected, known)

    def converted(frame):
        if kind == "nullable":
            return frame.convert_dtypes()
        if kind == "category":
            cities = pd.CategoricalDtype(["bonn", "paris", "rome"])
            return frame.astype({"city": cities})
        if kind == "pandas":
            return frame
        polars = pytest.importorskip("polars")
        frame = polars.from_pandas(frame)
        if kind == "enum":
            return frame.with_columns(city=polars.col("city").cast(polars.Categorical))
        return frame if kind == "polars" else frame.to_arrow()

    assert same(replace(known, X=converted(X), background=converted(train)).test(), expected)


def test_a_category_that_the_rows_cannot_hold():
    """The remedy is in the message."""
    (train, _), (X, y) = people(0), people(1)
    X["city"] = pd.Categorical(X["city"].replace("paris", "rome"))
    with pytest.raises(DataError, match="one of its categories in X; got 'paris'"):
        sfit.feature_significance(score, X, y, reference=sfit.Average(train))


def test_sparse_rows():
    """A sparse matrix under test, a sparse background, and the same of both dense."""
    X = sp.random(400, 30, density=0.2, format="csr", random_state=0)
    y = 5 * X[:, 0].toarray()[:, 0] + np.random.default_rng(0).normal(size=400)
    for model in (LinearRegression().fit(X, y), DecisionTreeRegressor(max_depth=3).fit(X, y)):
        dense = sfit.feature_significance(
            model, X.toarray(), y, reference=sfit.Average(X[:50].toarray())
        )
        assert sfit.feature_significance(model, X, y, reference=sfit.Average(X[:50])) == dense


def test_a_head_that_mixes_columns_is_masked_before_it():
    """The background goes through the preprocessing once for each row."""
    from sklearn.decomposition import PCA

    known = problem(make_pipeline(PCA(3), LinearRegression()))
    result = known.test()
    compare(result, known)
    assert result.settings.space == "original"


# ------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("n_rows", [0, -1, 1.5, True, None, "all", 10**7])
def test_a_number_of_rows_that_makes_no_sense(n_rows):
    with pytest.raises(ArgumentError, match="n_rows must be"):
        sfit.Average(np.zeros((2, 2)), n_rows=n_rows)


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (np.zeros((0, 5)), DataError, "Average.*no rows"),
        (np.zeros((3, 4)), ArgumentError, "Average.*have 4 columns, but the model uses 5"),
        (pd.DataFrame({"x0": [1.0]}), ArgumentError, "Average.*lacks the columns .'x1', 'x2'"),
        (np.zeros(5), DataError, "Average.*two dimensions"),
        (np.full((3, 5), np.inf), ArgumentError, "column 'x0' must be finite; got inf"),
        (iter([pd.DataFrame()]), ArgumentError, "Average.*read only once"),
        ("no/such/file.parquet", ArgumentError, "Average.*matches no file"),
        (3, DataError, "Average.*got int"),
        (pd.DataFrame([["a"] * 5]).add_prefix("x"), ArgumentError, "must be a number; got 'a'"),
    ],
)
def test_data_that_cannot_be_averaged(boosted, data, error, text):
    """Each error names the argument, before the model predicts anything."""
    if isinstance(data, str):
        pytest.importorskip("pyarrow")
    asked = []

    def model(Z):
        asked.append(len(Z))
        return Z[:, 0]

    with pytest.raises(error, match=text):
        sfit.feature_significance(model, boosted.X, boosted.y, reference=sfit.Average(data))
    assert not asked


def test_names_in_another_order_are_asked_for(boosted):
    """Data without names, though the model has another order than the frame."""
    X = pd.DataFrame(boosted.X).add_prefix("x")
    model = GradientBoostingRegressor(n_estimators=2).fit(X, boosted.y)
    with pytest.raises(ArgumentError, match="reference has values without names"):
        sfit.feature_significance(
            model, X[["x1", "x0", "x2", "x3", "x4"]], boosted.y, reference=sfit.Average(boosted.X)
        )


def test_a_prediction_that_is_not_finite_names_its_row(boosted):
    """With one background row only."""

    def model(Z):
        return np.where((Z[:, 0] > 2) & (Z[:, 1] == 7), np.nan, Z[:, 0])

    background = boosted.background.copy()
    background[3, 1] = 7
    row = np.flatnonzero(boosted.X[:, 0] > 2)[0]
    with pytest.raises(sfit.exceptions.ModelError, match=f"row {row} is not finite with ..x0"):
        sfit.feature_significance(model, boosted.X, boosted.y, reference=sfit.Average(background))


# ------------------------------------------------------------------------- arithmetic and cost


@given(
    st.lists(
        st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=3, max_size=3),
        min_size=1,
        max_size=40,
    )
)
def test_the_mean_is_correct_to_the_last_digit_or_two(rows):
    """However large the numbers that cancel in it."""
    values = np.array(rows)
    mean = averaged(values)
    for column in range(3):
        exact = math.fsum(values[:, column].tolist()) / len(values)
        lost = 1e-29 * np.abs(values[:, column]).sum()
        assert abs(mean[column] - exact) <= 4e-16 * abs(exact) + lost
    single = values.astype(np.float32)
    assert averaged(single).dtype == np.float32
    np.testing.assert_array_equal(averaged(single[:1]), single[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_mean_of_equal_numbers_is_that_number(dtype):
    """Rounding twice, in K v and in its Kth part, could change the last bit."""
    values = np.random.default_rng(0).normal(size=(100, 2)).astype(dtype)
    for k in (2, 3, 7, 49, 100):
        np.testing.assert_array_equal(averaged([values] * k), values)


def test_the_sign_of_zero_stays():
    one = np.array([[-0.0, 0.0]])
    np.testing.assert_array_equal(np.signbit(averaged(one)), [True, False])


def test_an_ignored_feature_never_moves_a_row():
    """Predictions of both signs that nearly cancel, in single precision and in batches of any size."""
    rng = np.random.default_rng(0)
    weights = (1e4 * rng.normal(size=(6, 40))).astype(np.float32)
    weights[5] = 0

    def model(Z):
        hidden = np.tanh(np.asarray(Z, dtype=np.float32) @ weights / 1e4)
        return 1e3 * (hidden @ weights[0]) / np.float32(1e4)

    X = rng.normal(size=(3_000, 6))
    y = model(X) + rng.normal(size=3_000)
    result = sfit.feature_significance(
        model, X, y, reference=sfit.Average(X[:50]), beta=0.0, fast=False
    )
    assert result.tests[5].n_positive == 0
    assert result.tests[0].n_positive > 0


def test_dummies_of_the_background_are_zeros_and_ones():
    """LightGBM reads means as 1, and sfit warns; in background rows there are none."""
    library = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, size=3_000)
    X = np.column_stack([kind == k for k in range(4)]).astype(float)
    y = kind + 0.1 * rng.normal(size=3_000)
    model = library.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1).fit(X, y)
    with pytest.warns(sfit.exceptions.SFITWarning, match="frozen dummies as 1"):
        sfit.feature_significance(model, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sfit.feature_significance(model, X, y, reference=sfit.Average(X[:50]))


def test_a_constant_feature_is_compared_with_every_background_row():
    X, y = numbers(0)
    X[:, 0] = 1.0
    background = X[:3].copy()
    options = {"reference": sfit.Average(background)}
    text = " ".join(sfit.feature_significance(product, X, y, **options).caveats)
    assert "constant over these rows, so never significant: 'x0'" in text
    background[2, 0] = 0.0
    text = " ".join(sfit.feature_significance(product, X, y, **options).caveats)
    assert "not at their reference" in text


@pytest.fixture
def counted(monkeypatch):
    """The number of rows in each call of a scikit-learn model."""
    asked = []

    def counting(view, Z, predict=SklearnView._predict):
        asked.append(len(Z))
        return predict(view, Z)

    monkeypatch.setattr(SklearnView, "_predict", counting)
    return asked


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor(max_iter=20),
        RandomForestRegressor(10, max_depth=6, random_state=0),
        LinearRegression(),
        PoissonRegressor(),
        MLPRegressor(**hidden),
        LogisticRegression(),
        MLPClassifier(**hidden),
    ],
)
def test_predictions_do_not_grow_with_the_rows(model, counted):
    """Ten times as many rows cost a tree or a network nothing at order 1, verification included."""
    X, y = numbers(0, 22_000)
    y = y > 0 if is_classifier(model) else np.abs(y) if isinstance(model, PoissonRegressor) else y
    model.fit(X[:2_000], y[:2_000])
    average, asked = sfit.Average(X[:2_000], n_rows=30), []
    for n in (2_000, 20_000):
        sample = prepare(model, X[2_000 : 2_000 + n], y[2_000 : 2_000 + n], reference=average)
        nothing = Reveal(frozenset())
        sides = [Reveal(frozenset({feature})) for feature in range(5)]
        contrasts = [Contrast(side.shown, nothing, side) for side in sides]
        evaluation = sample.evaluation()
        counted.clear()
        route, arithmetic = evaluation.prepare(contrasts, pytest.fail, tabulate=False)
        assert route in ("cells", "polyline")
        computed = [
            Computed(side, kind) for c, kind in arithmetic.items() for side in (c.base, c.full)
        ]
        for tile in every_tile(sample.rows):
            made = evaluation.predictions.on(tile, computed)
            assert all(len(made[side].by_row()) == len(tile) for side in computed)
        asked.append(sum(counted))
    assert asked[1] == asked[0]
    assert asked[0] < 2_000 * 30


def test_calls_stay_within_the_memory_budget(boosted, counted, monkeypatch):
    """Never all rows with all background rows at once; the predictions stay the same."""
    expected = boosted.test(fast=False, max_order=1, beta=0.0)
    assert max(counted) == N * K
    monkeypatch.setattr(_direct, "CALL_ROWS", 100)
    counted.clear()
    assert boosted.test(fast=False, max_order=1, beta=0.0) == expected
    assert max(counted) <= _direct.STACK_ROWS  # sides with few rows, one call together
    monkeypatch.setattr(_direct, "CALL_ROWS", 3)
    monkeypatch.setattr(_direct, "STACK_ROWS", 2)
    counted.clear()
    assert boosted.test(fast=False, max_order=1, beta=0.0) == expected


def test_tables_of_many_cells():
    """All of them, or those in which rows lie; in batches of any size."""
    known = problem(RandomForestRegressor(20, random_state=0), exact=True)
    whole = prepare(known.model, known.X, known.y, reference=sfit.Average(known.background))
    view, features = whole.view, whole.features
    sides = [Reveal(frozenset(term)) for term in ([0], [3], [0, 3], [0, 1])]
    made = _trees.make_cells(view, view.structure, features, sides, N, 10**9)
    kinds = [type(made.get(side)) for side in sides]
    assert kinds[1] is Cells
    assert SparseCells in kinds
    directly = _direct.predict_directly(view, features, whole.rows.first, sides, _direct.Memory())
    for side in made:
        np.testing.assert_array_equal(
            made[side](whole.rows.first).by_row(), directly[side].by_row()
        )
    assert not _trees.make_cells(view, view.structure, features, sides[3:], N, 100)


def test_cells_in_small_batches(boosted, monkeypatch):
    expected = boosted.test()
    monkeypatch.setattr(_trees, "PREDICTED_AT_ONCE", 10)
    monkeypatch.setattr("sfit.restrict._cells.CALL_ROWS", 7)
    assert boosted.test() == expected


def test_a_polyline_of_all_background_rows_is_the_mean_of_theirs():
    """Between all knots, at them and beyond the background."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = problem(MLPRegressor(**hidden))
    view = sfit.models.as_view(known.model)
    [base, lines] = make_mean_polylines(
        view.structure, known.background, range(5), [(-4.0, 4.0)] * 5, np.dtype(float)
    )
    mean = known.model.predict(known.background).mean()
    np.testing.assert_allclose(base.values, mean, rtol=1e-12)
    for column, line in enumerate(lines):
        x = np.linspace(-4, 4, 501)
        rows = known.background.repeat(501, axis=0)
        rows[:, column] = np.tile(x, K)
        expected = known.model.predict(rows).reshape(K, 501).mean(axis=0)
        np.testing.assert_allclose(line.along(x), expected, rtol=1e-9, atol=1e-11)
        assert len(line.lookup.edges) > 5
