"""The audit as a whole: it agrees with the tests that it is made of, and with a naive build-up."""

import re
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import sfit
from sfit._audit._build_up import explained_share, steps_of
from sfit._audit._pairs import partners_of
from sfit._audit._request import check_budget
from sfit.exceptions import ArgumentError, CheckpointError, DataError, SFITError


@pytest.fixture(scope="module")
def credit_like():
    """A classification problem with a rare feature, noise, groups and a protected attribute."""
    rng = np.random.default_rng(0)
    n = 3_000
    X = pd.DataFrame(
        {
            "income": rng.normal(size=n),
            "late": rng.poisson(0.4, n),
            "age": rng.integers(20, 70, n),
            "noise": rng.normal(size=n),
            "sex": rng.integers(0, 2, n),
        }
    )
    X["limit"] = X["income"] + 0.1 * rng.normal(size=n)
    logit = -1.2 - X["income"] + 0.9 * X["late"] + 0.4 * X["sex"]
    y = pd.Series(rng.random(n) < 1 / (1 + np.exp(-logit)), name="default").astype(int)
    model = HistGradientBoostingClassifier(max_iter=40, random_state=0).fit(X[:1500], y[:1500])
    return model, X[1500:].reset_index(drop=True), y[1500:].reset_index(drop=True), X[:1500]


@pytest.fixture(scope="module")
def audited(credit_like):
    model, X, y, train = credit_like
    return sfit.audit(
        model,
        X,
        y,
        train=train,
        by="sex",
        protected=["sex"],
        expected={"late": "+", "income": "+", "noise": "-"},
        title="Default of loans",
        purpose="Decide on loans.",
        author="A. Validator",
        random_state=7,
    )


def test_the_tests_of_an_audit_are_those_of_the_public_call(credit_like, audited):
    model, X, y, train = credit_like
    options = {
        "reference": sfit.Average(train, n_rows=50),
        "correction": "fdr_by",
        "random_state": 7,
    }
    related = sfit.feature_significance(model, X, y, test="permutation", **options)
    assert audited.related == related
    typical = sfit.feature_significance(model, X, y, **options)
    assert typical.gates
    pd.testing.assert_frame_equal(audited.typical.table, typical.table)
    assert not audited.typical.gates
    parts = sfit.feature_significance(model, X, y, test="permutation", by="sex", **options)
    assert audited.by_group == parts
    assert {"income", "late"} <= set(audited.selected)
    assert "noise" not in audited.selected


def naive_losses(model, X, y, background, revealed):
    """The mean log loss with some columns revealed, row by row and background row by row."""
    losses = []
    for row, outcome in zip(X.itertuples(index=False), y, strict=True):
        mixed = background.copy()
        for name in revealed:
            mixed[name] = getattr(row, name)
        probability = model.predict_proba(mixed)[:, 1].mean()
        losses.append(-np.log(probability if outcome else 1 - probability))
    return float(np.mean(losses))


def test_the_build_up_agrees_with_a_naive_loop(credit_like):
    model, X, y, train = credit_like
    X, y, background = X[:300], y[:300], train[:12].reset_index(drop=True)
    audit = sfit.audit(model, X, y, train=background, random_state=0)
    steps = audit.build_up
    assert [step.kind for step in steps] == ["hidden", *["found"] * (len(steps) - 2), "all"]
    assert len(steps) > 3
    revealed = []
    for step in steps[:-1]:
        revealed += step.features
        assert step.loss == pytest.approx(naive_losses(model, X, y, background, revealed), rel=1e-9)
    chosen = model.predict_proba(X)[np.arange(len(y)), y]
    assert steps[-1].loss == pytest.approx(-np.log(chosen).mean(), rel=1e-9)
    explained = audit.explained
    assert sorted(revealed) == sorted(audit.selected)
    share = (steps[0].loss - steps[-2].loss) / (steps[0].loss - steps[-1].loss)
    assert explained.share == pytest.approx(share, rel=1e-9)
    assert explained.ci_low < explained.share < explained.ci_high


def test_the_interval_of_the_explained_share_covers_it():
    """Over random data sets; the tolerance is three standard errors of a binomial share."""
    rng, repeats, truth, covered = np.random.default_rng(0), 400, 0.6, 0
    for _ in range(repeats):
        gain = rng.exponential(size=400)
        hidden = 2 + rng.normal(scale=0.3, size=400)
        found = hidden - truth * gain + rng.normal(scale=0.2, size=400)
        losses = np.column_stack([hidden, found, hidden - gain])
        _, low, high = explained_share(losses, None, 0.05, 0)
        covered += low < truth < high
    assert abs(covered / repeats - 0.95) < 3 * (0.95 * 0.05 / repeats) ** 0.5 + 0.01


def test_a_model_that_gains_nothing_has_no_share():
    X, y = sfit.simulate.interactions(300, random_state=0)
    audit = sfit.audit(lambda rows: np.zeros(len(rows)), X, y, train=X, random_state=0)
    assert audit.selected == ()
    assert np.isnan(audit.explained.share)
    assert "no gain to explain" in audit.summary()


def test_the_last_step_takes_all_that_are_left():
    assert steps_of([3, 1]) == [(3,), (1,)]
    assert steps_of(range(8)) == [(j,) for j in range(8)]
    assert steps_of(range(12)) == [*((j,) for j in range(7)), (7, 8, 9, 10, 11)]
    assert steps_of([]) == []
    assert partners_of([(0, 2), (0, 1)], "abc") == {"a": ["c", "b"]}


def test_an_audit_survives_json(audited, tmp_path):
    again = sfit.Audit.from_json(audited.to_json(tmp_path / "audit.json"))
    assert again == audited
    assert again.to_json() == audited.to_json()
    assert again.fingerprint == audited.fingerprint
    assert sfit.Audit.from_json(tmp_path / "audit.json").steps == audited.steps
    damaged = audited.to_json().replace('"Decide on loans."', '"Decide on anything."')
    with pytest.raises(DataError, match="checksum"):
        sfit.Audit.from_json(damaged)
    assert audited != replace(audited, caveats=("another",))


def test_an_audit_repeats_itself(credit_like, audited):
    model, X, y, train = credit_like
    again = sfit.audit(
        model,
        X,
        y,
        train=train,
        by="sex",
        protected=["sex"],
        expected={"late": "+", "income": "+", "noise": "-"},
        title="Default of loans",
        purpose="Decide on loans.",
        author="A. Validator",
        random_state=7,
        n_jobs=2,
    )
    assert again == audited


def test_the_seed_is_drawn_and_shown(credit_like):
    model, X, y, train = credit_like
    audit = sfit.audit(model, X[:200], y[:200], train=train)
    assert f"random_state={audit.settings.seed}" in audit.settings.reproduce


def test_directions_and_risks(audited):
    from sfit._audit._findings import directions, findings, limitations, risks

    found = {one.feature: one for one in directions(audited)}
    assert found["late"].agrees
    assert found["income"].observed in ("falling", "mixed")
    assert found["income"].agrees is False
    # Nothing is said about the direction of a feature that is not significant.
    assert found["noise"].agrees is None
    texts = risks(audited)
    assert any("response to income was expected to rise" in text for text in texts)
    assert not any("response to noise" in text for text in texts)
    alone = [text for text in texts if text.startswith("Revealed alone")]
    harmful = [test.term[0] for test in audited.related.tests if test.gain < 0]
    assert bool(alone) == bool(harmful)
    assert all(name in alone[0] for name in harmful)
    assert any("not a reason-code engine" in text for text in limitations(audited))
    first, second, third = findings(audited)
    assert "1,500 held-out rows" in first or "1,500 rows stated as held out" in first
    assert "AUC" in first
    assert "income" in second
    share = audited.explained.share
    all_of_it = share > 0.995
    assert ("account for all" if all_of_it else "is not attributed") in third
    assert all_of_it or f"{100 * share:.0f}" in third


def test_what_is_correlated_is_said(audited):
    [group] = audited.correlated
    assert set(group.features) == {"income", "limit"}


def test_protected_attributes_may_be_unknown_to_the_model(credit_like):
    model, X, y, train = credit_like
    region = np.where(X["income"] > 0, "north", "south")
    audit = sfit.audit(model, X, y, train=train, protected={"region": region}, random_state=0)
    assert {one.label for one in audit.outcomes} == {"north", "south"}
    assert audit.proxies[0].feature in ("income", "limit")
    assert audit.proxies[0].association > 0.5
    assert any("Possible proxies of region" in text for text in [audit.summary()])


@pytest.mark.parametrize(
    ("make", "columns"),
    [
        (lambda X: X, None),
        (lambda X: X.to_numpy(), None),
        (lambda X: X.assign(extra=1.0), ["X1", "X2", "X3", "X4", "X5", "X6", "X7"]),
    ],
)
def test_rows_of_any_kind(make, columns):
    X, y = sfit.simulate.interactions(1_200, random_state=0)
    model = LinearRegression().fit(X[:600].to_numpy(), y[:600])
    predict = lambda rows: model.predict(np.asarray(rows))  # noqa: E731
    audit = sfit.audit(
        predict,
        make(X[600:]),
        np.asarray(y[600:]),
        train=make(X[:600]),
        features=columns,
        random_state=0,
    )
    first = audit.related.feature_names[0]
    assert audit.selected[0] == first
    assert {metric.name for metric in audit.performance} == {"R2", "MAE", "RMSE"}
    assert audit.profile(first).direction == "rising"


def test_a_column_of_x_may_be_the_target(credit_like):
    model, X, y, train = credit_like
    audit = sfit.audit(model, X.assign(default=y), "default", train=train, random_state=0)
    assert audit.data.target == "default"
    assert audit.related.feature_names == tuple(X.columns)
    assert audit == sfit.audit(model, X, y, train=train, random_state=0)


def test_several_classes():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    order = np.random.default_rng(0).permutation(len(X))
    X, names = X.iloc[order].reset_index(drop=True), names[order]
    model = LogisticRegression(max_iter=1_000).fit(X[:75], names[:75])
    audit = sfit.audit(model, X[75:], names[75:], train=X[:75], by="class", random_state=0)
    assert "petal length (cm)" in audit.selected
    assert audit.model.classes == ("setosa", "versicolor", "virginica")
    assert set(audit.by_group) == set(names)


def test_clusters_are_the_units(credit_like):
    model, X, y, train = credit_like
    labels = np.arange(len(X)) // 5
    audit = sfit.audit(model, X, y, train=train, clusters=labels, budget=60, random_state=0)
    assert audit.settings.n_clusters == 300
    assert audit.related.settings.n_clusters == 300
    assert audit.explained.n_improved <= 300


def test_without_training_rows_nothing_is_called_exact(credit_like):
    model, X, y, _ = credit_like
    audit = sfit.audit(model, X, y, random_state=0)
    assert audit.settings.reference_origin == "test rows"
    assert any("test rows" in text for text in audit.caveats)
    assert {test.guarantee for test in audit.related.tests} == {"asymptotic"}
    assert not any("exact in finite samples" in text for text in [audit.to_json()])


# --- the budget ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (90, "90 seconds"),
        (1, "1 second"),
        ("60 passes", "60 passes"),
        ("1 pass", "1 pass"),
        ("2.5 s", "2.5 seconds"),
        ("30", "30 seconds"),
    ],
)
def test_budgets(value, text):
    assert str(check_budget(value, "budget")) == text


@pytest.mark.parametrize("value", [0, -1, "soon", "60 laps", "passes", np.inf, np.nan, [3], ""])
def test_bad_budgets_are_refused(value):
    with pytest.raises(ArgumentError, match="budget must be a number of seconds"):
        check_budget(value, "budget")


def test_progress_says_how_long_it_will_take(credit_like, capsys):
    model, X, y, train = credit_like
    sfit.audit(model, X[:200], y[:200], train=train, progress=True, random_state=0)
    shown = capsys.readouterr()
    assert re.search(r"audit: about \d\S* s in all", shown.err)
    assert "audit: typical rows, about" in shown.err
    assert not shown.out
    sfit.audit(model, X[:200], y[:200], train=train, budget=77, progress=True, random_state=0)
    assert "audit: about 77 s in all" in capsys.readouterr().err


class Slow:
    """A model whose time is proportional to the rows that it predicts."""

    def __init__(self, seconds_per_row):
        self.seconds_per_row = seconds_per_row
        self.n_predicted = 0

    def __call__(self, rows):
        self.n_predicted += len(rows)
        time.sleep(self.seconds_per_row * len(rows))
        return rows[:, 0] + rows[:, 1] * rows[:, 2]


@pytest.fixture(scope="module")
def products():
    X = np.random.default_rng(0).normal(size=(2_400, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 1] + 0.1 * X[:, 3]
    return X[:2_000], y[:2_000], X[2_000:]


def test_a_budget_is_kept(products):
    """The model's share of the time, which a busy machine cannot stretch: it sleeps."""
    X, y, train = products
    for budget in (3.0, 6.0):
        model = Slow(1e-5)
        audit = sfit.audit(model, X, y, train=train, budget=budget, random_state=0)
        assert 0.2 * budget < model.seconds_per_row * model.n_predicted < 1.2 * budget
        assert all(step.reason for step in audit.steps if step.status != "done")


def test_a_small_budget_leaves_out_what_is_least_useful(products):
    X, y, train = products
    audit = sfit.audit(Slow(1e-5), X, y, train=train, budget="5 passes", random_state=0)
    status = {step.name: step.status for step in audit.steps}
    assert status["performance"] == status["related features"] == "done"
    assert status["interactions"] == status["build-up"] == "left out"
    assert audit.settings.n_background == 10
    assert audit.explained is None
    assert "budget" in audit.summary()
    sfit.Audit.from_json(audit.to_json())


def test_pairs_are_tested_only_within_a_budget():
    X, y = sfit.simulate.interactions(3_000, random_state=0)
    mean = sfit.simulate.interactions_mean
    without = sfit.audit(mean, X[1000:], y[1000:], train=X[:1000], random_state=0)
    assert without.interactions is None
    within = sfit.audit(mean, X[1000:], y[1000:], train=X[:1000], budget=60, random_state=0)
    assert {test.order for test in within.interactions.tests} == {1, 2}
    assert without.related == within.related


# --- resuming -----------------------------------------------------------------------------


class Breaks(Slow):
    """Fails once, after so many rows."""

    def __init__(self, most):
        super().__init__(0.0)
        self.most = most

    def __call__(self, rows):
        if self.n_predicted > self.most:
            self.most = np.inf
            raise KeyboardInterrupt
        return super().__call__(rows)


def test_an_interrupted_audit_resumes(products, tmp_path):
    X, y, train = products
    options = {"train": train, "checkpoint_key": "v1", "random_state": None}
    whole = Breaks(np.inf)
    sfit.audit(whole, X, y, train=train, random_state=0)
    model = Breaks(0.8 * whole.n_predicted)
    path = tmp_path / "audit.sqlite"
    with pytest.raises(KeyboardInterrupt):
        sfit.audit(model, X, y, checkpoint=path, **options)
    model.n_predicted = 0
    resumed = sfit.audit(model, X, y, checkpoint=path, **options)
    assert model.n_predicted < 0.6 * whole.n_predicted
    # The seed was drawn by the first run and stored.
    assert resumed == sfit.audit(whole, X, y, train=train, random_state=resumed.settings.seed)
    # A third run finds everything done; no checkpoint of a single test is left behind.
    model.n_predicted = 0
    assert sfit.audit(model, X, y, checkpoint=path, **options) == resumed
    assert model.n_predicted < 0.2 * whole.n_predicted
    assert [one.name for one in tmp_path.iterdir() if one.suffix == ".sqlite"] == ["audit.sqlite"]
    assert not [one for one in tmp_path.iterdir() if "-related" in one.name]
    with pytest.raises(CheckpointError, match="another run"):
        sfit.audit(model, X, y, checkpoint=path, **{**options, "alpha": 0.01})
    with pytest.raises(CheckpointError, match="another run"):
        sfit.audit(model, X, y, checkpoint=path, **options, protected={"a": X[:, 0] > 0})


# --- bad arguments ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protected": ["sect"]}, r"protected.*sect"),
        ({"protected": 3}, "protected must hold names of columns"),
        ({"protected": {"sex": [1, 2]}}, r"protected\['sex'\] and X must have the same number"),
        ({"expected": {"incom": "+"}}, "expected.*incom"),
        ({"expected": {"income": "up"}}, r"expected\['income'\] must be one of"),
        ({"expected": "+"}, "expected must map features"),
        ({"title": 3}, "title must be text"),
        ({"budget": "soon"}, "budget must be"),
        ({"n_background": 0}, "n_background must be a whole number"),
        ({"alpha": 2}, "alpha must lie strictly"),
        ({"by": "sect"}, "by.*sect"),
        ({"loss": "los"}, "loss"),
        ({"train": "nowhere.parquet"}, "train|nowhere"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(credit_like, options, message):
    _, X, y, train = credit_like
    calls = []

    def model(rows):
        calls.append(len(rows))
        return np.zeros((len(rows), 2))

    with pytest.raises(SFITError, match=message):
        sfit.audit(model, X, y, **{"train": train, "loss": "log_loss", **options})
    assert not calls


def test_files_are_refused_with_the_remedy(tmp_path):
    pytest.importorskip("pyarrow")
    X, y = sfit.simulate.interactions(100, random_state=0)
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ArgumentError, match=r"X must be rows in memory.*pandas.read_parquet"):
        sfit.audit(sfit.simulate.interactions_mean, tmp_path / "rows.parquet", "y")


# --- text and tables ----------------------------------------------------------------------


def test_the_summary_fits_80_columns(audited):
    text = audited.summary()
    assert max(map(len, text.splitlines())) <= 80
    for feature in audited.related.feature_names:
        assert re.search(rf"^  {feature}\b", text, re.MULTILINE)
    for caveat in audited.caveats:
        assert " ".join(caveat.split()) in " ".join(text.split())
    assert str(audited) == text


def test_tables_hold_every_feature(audited):
    tables = audited.tables()
    assert set(tables["features"]["feature"]) == set(audited.related.feature_names)
    assert list(tables["features"]["significant"]) == sorted(
        tables["features"]["significant"], reverse=True
    )
    assert len(tables["performance"]) == len(audited.performance)
    assert "model" in tables
    metrics = audited.metrics()
    assert metrics["n_significant"] == len(audited.selected)
    assert metrics["AUC_all"] == audited.performance[0].value
