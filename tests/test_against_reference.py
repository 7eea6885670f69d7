"""The library agrees with the slow implementation in `reference/`, count for count."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import slow
from tiles import set_tiles

import sfit

CLASSIFICATION = ("log_loss", "brier", "zero_one", "hinge")
POSITIVE = ("poisson", "gamma", "tweedie:1.3")  # at 1.5, g and 1 / g tie at y = 1
REGRESSION = ("absolute_error", "squared_error", "pinball:0.75", "huber:0.5", "crps")


@dataclass(frozen=True)
class Polynomial:
    """A model of any number of outputs that treats each row for itself, term by term."""

    linear: np.ndarray
    products: np.ndarray
    kind: str

    def __call__(self, rows):
        x = np.asarray(rows, dtype=float)
        outputs = []
        for output in range(self.linear.shape[0]):
            total = np.full(len(x), 0.25 * (output + 1))
            for j in range(x.shape[1]):
                total = total + self.linear[output, j] * x[:, j]
                for k in range(j):
                    total = total + self.products[output, j, k] * x[:, j] * x[:, k]
            outputs.append(total)
        if self.kind == "regression":
            return outputs[0] if len(outputs) == 1 else np.column_stack(outputs)
        if self.kind == "scores":
            return np.column_stack(outputs)
        if self.kind == "positive":
            return np.exp(np.clip(outputs[0], -3, 3))
        scores = [np.exp(np.clip(score, -4, 4)) for score in outputs]
        total = scores[0]
        for score in scores[1:]:
            total = total + score
        return np.column_stack([score / total for score in scores])


@st.composite
def problems(draw):
    """A model, rows and settings; values on a coarse grid make ties and zero losses common."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    width = draw(st.integers(2, 5))
    loss = draw(st.sampled_from([*REGRESSION, *POSITIVE, *CLASSIFICATION]))
    values = draw(st.sampled_from(["binary", "coarse", "normal"]))
    # Many rows on few values: there, cells and classes are counted instead of rows.
    n = draw(st.integers(100, 300) if values == "binary" else st.integers(6, 80))
    X = {
        "binary": lambda: rng.integers(0, 2, size=(n, width)).astype(float),
        "coarse": lambda: rng.integers(-2, 3, size=(n, width)) / 2,
        "normal": lambda: rng.normal(size=(n, width)),
    }[values]()
    outputs = 1
    if loss in CLASSIFICATION:
        kind, outputs = "classification", draw(st.integers(2, 3))
    elif loss in POSITIVE:
        kind = "positive"
    else:
        kind, outputs = "regression", 2 if loss == "crps" else draw(st.integers(1, 2))
    scale = draw(st.sampled_from([1.0, 3.0]))
    linear = scale * rng.integers(-2, 3, size=(outputs, width)) / 2
    products = scale * rng.integers(-1, 2, size=(outputs, width, width))
    model = Polynomial(linear, products, kind)
    fitted = model(X)
    if loss == "hinge":
        model = replace(model, kind="scores")
    if kind == "classification":
        y = np.array([rng.choice(outputs, p=row) for row in fitted])
    elif kind == "positive":
        y = rng.poisson(fitted) + (0.5 if loss == "gamma" else 0.0)
    else:
        fitted = fitted[:, 0] if loss == "crps" else fitted
        y = fitted + draw(st.sampled_from([0.0, 0.5])) * rng.integers(-1, 2, size=fitted.shape)

    columns, labels = [], []
    always_on = [0] if draw(st.booleans()) and width > 2 else []
    free = [c for c in range(width) if c not in always_on]
    if draw(st.booleans()) and len(free) > 2:
        columns, labels = (
            [free[:2], *([c] for c in free[2:])],
            ["group", *(f"c{c}" for c in free[2:])],
        )
    else:
        columns, labels = [[c] for c in free], [f"c{c}" for c in free]
    max_order = draw(st.integers(1, 3))
    given_ = draw(st.sampled_from([(), "rest", (len(columns) - 1,)]))
    if given_ == "rest":
        max_order = 1
    if len(columns) == 1:
        given_ = ()
    partners = None
    if draw(st.booleans()):
        partners = [
            [int(k) for k in rng.permutation(len(columns)) if k != j][: draw(st.integers(0, 3))]
            for j in range(len(columns))
        ]
    betas = st.sampled_from([0.0, 1e-3, 1e-2, 0.1, 0.5])
    options = {
        "alpha": draw(st.sampled_from([0.05, 0.2, 0.5])),
        "beta": draw(betas) if draw(st.booleans()) else [draw(betas) for _ in range(max_order)],
        "max_order": max_order,
        "correction": draw(st.sampled_from([None, "fdr_by", "fdr_bh", "holm", "bonferroni"])),
        "interval": draw(st.sampled_from(["exact", "asymptotic"])),
        "exhaustive": draw(st.booleans()),
        "strict": draw(st.booleans()),
        "n_partners": draw(st.sampled_from([None, 1, 2])),
    }
    if options["correction"] is None and draw(st.booleans()):
        shares = [draw(st.integers(1, 9)) for _ in range(max_order)]
        options["alpha_by_order"] = [options["alpha"] * one / sum(shares) for one in shares]
    reference = rng.integers(-1, 2, size=width) / 2
    return model, X, y, loss, kind, columns, labels, always_on, given_, partners, reference, options


def run_both(problem):
    model, X, y, loss, kind, columns, labels, always_on, given_, partners, reference, options = (
        problem
    )
    expected = slow.sfit(
        model, X, y, loss=loss, reference=reference, columns=columns, always_on=always_on,
        given=given_, partners=partners, **options,
    )  # fmt: skip
    view = model
    if kind == "classification":
        classes = np.arange(model.linear.shape[0])
        view = sfit.models.function_model(model, task="classification", classes=classes)
    asked = {**options}
    asked["test"] = sfit.SignTest(interval=asked.pop("interval"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sfit.exceptions.SFITWarning)
        result = sfit.feature_significance(
            view,
            pd.DataFrame(X, columns=[f"c{c}" for c in range(X.shape[1])]),
            y,
            loss=loss,
            reference=reference,
            groups={"group": [f"c{c}" for c in columns[0]]} if "group" in labels else None,
            always_on=[f"c{c}" for c in always_on],
            given=given_ if given_ == "rest" else [labels[j] for j in given_],
            partners="all"
            if partners is None
            else {labels[j]: [labels[k] for k in ks] for j, ks in enumerate(partners)},
            **asked,
        )
    return expected, result, labels, given_


@settings(max_examples=120)
@given(problems())
def test_every_number_agrees(problem):
    """Counts, p-values, intervals and sets, at orders 1 to 3, for all losses and options."""
    assert_agreement(problem)


@pytest.mark.long
@settings(max_examples=3_000)
@given(problems())
def test_every_number_agrees_on_many_more_problems(problem):
    """The same, for as long as there is time."""
    assert_agreement(problem)


def assert_agreement(problem):
    """Compare everything that both implementations say."""
    expected, result, labels, given_ = run_both(problem)
    fixed = () if given_ == "rest" else given_
    assert len(result.tests) == len(expected["tests"])
    for test, slow_test in zip(result.tests, expected["tests"], strict=True):
        assert test.order == slow_test["order"]
        assert test.term == tuple(labels[j] for j in slow_test["term"])
        assert test.base == tuple(labels[j] for j in sorted({*slow_test["base"], *fixed}))
        assert test.n_positive == slow_test["n_positive"]
        assert test.n == slow_test["n"]
        assert test.beta == slow_test["beta"]
        assert test.significant == slow_test["significant"]
        # The dual of the test, always, with ties: strictly, not up to rounding.
        assert (test.p_value < result.settings.alpha) == (test.ci_lower > 0)
        for name in ("statistic", "ci_low", "ci_high", "ci_lower", "beta_max"):
            got, want = getattr(test, name), slow_test[name]
            assert got == pytest.approx(want, rel=1e-9, abs=1e-12, nan_ok=True), name
        for name in ("p_value", "p_adjusted"):
            assert getattr(test, name) == pytest.approx(slow_test[name], rel=1e-11), name
    assert len(result.gates) == len(expected["gates"])
    for gate, slow_gate in zip(result.gates, expected["gates"], strict=True):
        assert gate.after_order == slow_gate["after_order"]
        assert gate.found == tuple(labels[j] for j in slow_gate["found"])
        assert (gate.n_positive, gate.n) == (slow_gate["n_positive"], slow_gate["n"])
        assert gate.p_value == pytest.approx(slow_gate["p_value"], rel=1e-11)
        assert gate.is_open == slow_gate["open"]
    found = {row.feature: row.order for row in result.features.itertuples() if row.order}
    assert found == {labels[j]: order for j, order in expected["found"].items()}
    assert result.remainder == expected["remainder"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problem=problems())
def test_tiles_do_not_change_the_answer(problem, monkeypatch):
    """With tiles of 16 rows, brackets and merging give every bit that one tile gives."""
    whole = run_both(problem)[1]
    set_tiles(monkeypatch, 16)
    # A caveat about the reference looks at rows of the first tile.
    assert replace(run_both(problem)[1], caveats=whole.caveats) == whole


def test_brackets_that_miss_are_asked_again(monkeypatch):
    """Rows sorted by outcome: the first tile knows nothing of the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 2))
    y = X[:, 0] + rng.normal(size=3_000)
    order = np.argsort(np.abs(y))
    whole = sfit.feature_significance(lambda rows: 0.9 * rows[:, 0], X[order], y[order], beta=0.0)
    set_tiles(monkeypatch, 100)
    tiled = sfit.feature_significance(lambda rows: 0.9 * rows[:, 0], X[order], y[order], beta=0.0)
    assert tiled == whole
