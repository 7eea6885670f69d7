"""The pictures of a result: coin, rise and build-up. What is drawn, by artists and data."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from named_results import N_ROWS, made, permutation, settings, sign

import sfit
from sfit._binomial import critical_count
from sfit.exceptions import ArgumentError

plt = pytest.importorskip("matplotlib.pyplot")

from matplotlib.colors import to_rgb, to_rgba  # noqa: E402

from sfit.plotting import (  # noqa: E402
    BuildUpDisplay,
    CoinDisplay,
    ImportanceDisplay,
    RiseDisplay,
)
from sfit.plotting._build_up import LossStep  # noqa: E402
from sfit.plotting._coin import rows_of  # noqa: E402
from sfit.plotting._root_scale import root, root_ticks, square  # noqa: E402
from sfit.plotting._style import BLUE, GREY, ORANGE  # noqa: E402

MODEL = sfit.simulate.interactions_mean


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    return sfit.simulate.interactions(4_000, random_state=0)


@pytest.fixture(scope="module")
def first(rows):
    return sfit.feature_significance(MODEL, *rows)


@pytest.fixture(scope="module")
def second(rows):
    return sfit.feature_significance(MODEL, *rows, max_order=2, beta=(0.01, 0.001))


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def offsets(points):
    return np.asarray(points.get_offsets()).tolist()


# --- the coin plot ----------------------------------------------------------------------------


def test_the_sign_test_is_drawn_as_coins(second):
    """Points at the shares, stems from 50 %, counts at the right; each order on its own axes."""
    display = second.plot()
    assert isinstance(display, CoinDisplay)
    assert len(display.axes_) == len(display.bar_axes_) == len(display.points_) == 2
    for tests, points, stems, counts in zip(
        display.shown, display.points_, display.stems_, display.counts_, strict=True
    ):
        shares = [test.n_positive / test.n for test in tests]
        assert offsets(points) == [[share, row] for row, share in enumerate(shares)]
        ends = [segment[:, 0].tolist() for segment in stems.get_segments()]
        assert ends == [[0.5, share] for share in shares]
        assert counts == [f"{test.n_positive:,} of {test.n:,}" for test in tests]
        found = [test.significant for test in tests]
        assert found == sorted(found, reverse=True)
    assert labels(display.axes_[1].yaxis)[:2] == ["X2 | X1", "X4 + X5"]
    assert [line.get_xdata()[0] for line in display.coins_] == [0.5, 0.5]
    words = display.axes_[0].get_xlabel().split()
    assert " ".join(words) == (
        "share of rows predicted better by more than 1 % when the model sees the set"
    )


def test_the_grey_area_ends_at_the_critical_count(first):
    """Significant sets are those whose point is not inside it."""
    display = CoinDisplay.from_result(first)
    [tests], [grey] = display.shown, display.grey_
    for test, bar in zip(tests, grey, strict=True):
        assert bar.get_x() == 0
        assert bar.get_width() == critical_count(test.n, 0.05) / test.n
        assert test.significant == (test.n_positive / test.n >= bar.get_width())


@given(st.integers(0, 60), st.integers(1, 60), st.sampled_from([0.001, 0.05, 0.3]))
def test_a_point_lies_beyond_the_grey_exactly_if_it_is_significant(n_positive, n, alpha):
    """Also where no count is significant: then everything is grey."""
    n_positive = min(n_positive, n)
    result = made(["a"], alpha=alpha, correction="holm")
    test = replace(result.tests[0], n=n, n_positive=n_positive, n_better=n_positive, n_worse=0)
    p = float(sfit._binomial.p_value(n_positive, n))
    test = replace(test, p_value=p, p_adjusted=min(1, 3 * p), significant=3 * p < alpha)
    display = CoinDisplay(replace(result, tests=(test,))).plot()
    [bar] = display.grey_[0]
    beyond = critical_count(n, alpha) <= n and n_positive / n >= bar.get_width()
    coloured = tuple(display.points_[0].get_edgecolors()[0]) == to_rgba(BLUE)
    assert coloured == beyond == (p < alpha)
    plt.close("all")


def test_sets_that_lost_significance_are_triangles(first):
    """Filled: significant. Coloured and hollow, another shape: lost to the correction."""
    tests = [
        sign(("a",), 0.9),
        sign(("b",), 0.55, p_value=0.01, p_adjusted=0.2),
        sign(("c",), 0.4),
    ]
    result = replace(made(["a", "b", "c"], correction="holm"), tests=tuple(tests))
    display = CoinDisplay.from_result(result)
    [points] = display.points_
    corners = [len(path.vertices) for path in points.get_paths()]
    assert corners[0] == corners[2] != corners[1]
    assert [tuple(color) for color in points.get_edgecolors()] == [
        to_rgba(color) for color in (BLUE, BLUE, GREY)
    ]
    assert [face[3] > 0 for face in points.get_facecolors()] == [True, False, False]
    note = "△ significant only without the correction"
    assert note in display.axes_[0].get_xlabel()
    assert "verdicts are corrected" in display.caption
    lost = [tip.text for tip in display.tooltips() if "without the correction" in tip.text]
    assert len(lost) == 1 and lost[0].startswith("b\n")
    plain = CoinDisplay.from_result(first)
    assert note not in plain.axes_[0].get_xlabel() and "corrected" not in plain.caption
    for other in (ImportanceDisplay.from_result(result), _risen(correction="holm")):
        assert note in other.axes_[0].get_xlabel()
        assert "the intervals drawn are not" in other.caption


def _risen(**others):
    tests = [permutation(("a",), 0.9), permutation(("b",), 0.55, p_value=0.01, p_adjusted=0.2)]
    result = made(["a", "b"], "permutation test", **others)
    return RiseDisplay.from_result(replace(result, tests=tuple(tests)))


def test_the_bars_split_all_rows(rows, first):
    """Better, within beta, unchanged and worse add up to the rows; the counts are exact."""
    X, y = rows
    for test in first.tests:
        counts = rows_of(test, first.settings)
        assert sum(counts) == len(X) and min(counts) >= 0
        hidden = np.tile(X.mean().to_numpy(), (len(X), 1))
        base = np.abs(y - MODEL(hidden))
        hidden[:, X.columns.get_loc(test.term[0])] = X[test.term[0]]
        full = np.abs(y - MODEL(hidden))
        better = ((base - full) / base > 0.01).sum()
        assert counts.better == better
        assert counts.within_beta == (full < base).sum() - better
        assert counts.worse == (full > base).sum()
    display = CoinDisplay.from_result(first)
    [bars] = display.bars_
    drawn = np.array([[bar.get_width() for bar in of_kind] for of_kind in bars.values()])
    np.testing.assert_allclose(drawn.sum(axis=0), 1)
    np.testing.assert_allclose(
        drawn.T, [np.array(rows_of(t, first.settings)) / len(X) for t in display.shown[0]]
    )
    kinds = [text.get_text() for text in display.legend_.get_texts()]
    assert kinds == ["better", "better, within beta", "unchanged", "worse"]
    fillings = {(bar[0].get_hatch(), bar[0].get_facecolor()[3] > 0) for bar in bars.values()}
    assert len(fillings) == 4  # told apart without colour


def test_clusters_are_the_units(rows):
    """The shares count clusters, the bars rows; the words say so."""
    X, y = rows
    result = sfit.feature_significance(MODEL, X, y, clusters=np.arange(len(X)) // 20)
    display = result.plot()
    assert display.axes_[0].get_xlabel().startswith("share of clusters predicted better")
    assert display.counts_[0][0].endswith(" of 200")
    assert "clusters of rows; the bars count rows" in display.caption
    for test in result.tests:
        counts = rows_of(test, result.settings)
        assert sum(counts) == len(X) and counts.better == test.n_better
    assert "clusters improve" in display.tooltips()[0].text


def test_dropped_ties_are_unchanged_rows():
    """The share is that of moved rows; the bar has all of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) * (rng.random((500, 1)) < 0.5)
    result = sfit.feature_significance(
        lambda z: z[:, 0], X, X[:, 0], test=sfit.SignTest(ties="drop"), reference=0.0, beta=0
    )
    used, ignored = result.tests
    assert 200 < used.n < 300 and ignored.n == 0
    display = result.plot()
    assert display.counts_[0] == [f"{used.n} of {used.n}", "0 of 0"]
    assert rows_of(used, result.settings) == (used.n, 0, 500 - used.n, 0)
    assert rows_of(ignored, result.settings) == (0, 0, 500, 0)
    assert "of those whose prediction moves" in display.caption


def test_refits_are_told_as_refits(rows):
    """LOCO hides nothing: the model is fitted without the feature."""
    from sklearn.linear_model import LinearRegression

    X, y = rows
    result = sfit.loco_significance(LinearRegression(), X[:600], y[:600], X[600:900], y[600:900])
    assert "when the model was fitted with the feature" in result.plot().caption


def test_a_chain_of_folds_counts_its_tested_rows(rows):
    from sklearn.linear_model import LinearRegression

    X, y = (part[:1_000] for part in rows)
    result = sfit.cross_significance(LinearRegression(), X, y, test="sign", random_state=0)
    display = result.plot()
    for test in result.tests:
        assert sum(rows_of(test, result.settings)) == test.n < 1_000
    assert display.counts_[0][0].endswith(f" of {result.tests[0].n:,}")


def test_many_sets_are_counted():
    """300 features: 25 rows; the rest in a sentence."""
    names = [f"customer_credit_bureau_{number}_amount" for number in range(300)]
    result = replace(made(names), tests=made(names).tests[:300])
    display = CoinDisplay.from_result(result)
    assert len(display.shown[0]) == 25 and len(display.hidden[0]) == 275
    words = " ".join(display.axes_[0].get_xlabel().split())
    assert re.search(r"275 more sets are not shown, \d+ of them significant\.", words)
    assert "Every name begins with “customer_credit_bureau_”" in words
    assert labels(display.axes_[0].yaxis)[0] == "…0_amount"


def test_the_coin_plot_needs_a_sign_test():
    """The error names the argument, the test and the remedy."""
    with pytest.raises(ArgumentError, match=r"result .* permutation test.*test='sign'"):
        CoinDisplay(made(["a"], "permutation test"))
    with pytest.raises(ArgumentError, match="max_sets"):
        CoinDisplay(made(["a"]), max_sets=0)


# --- the rise plot ----------------------------------------------------------------------------


def risen(rises, **others):
    """A permutation test with these rises; the largest ones are significant."""
    names = [f"x{place}" for place in range(len(rises))]
    tests = [
        permutation((name,), 0.9, rise=rise, ci_low=0.8 * rise, ci_high=1.2 * rise, **others)
        for name, rise in zip(names, rises, strict=True)
    ]
    return replace(made(names, "permutation test"), tests=tuple(tests))


@pytest.mark.parametrize(
    ("rises", "scaled"),
    [
        ([8.0, 1.0, 1.0], False),
        ([8.1, 1.0, 1.0], True),
        ([8.1, 1.0], False),
        ([100.0], False),
        ([100.0, 1.0, 0.5, 0.1, 0.0], True),
    ],
)
def test_a_dominant_rise_gets_a_square_root_scale(rises, scaled):
    """More than 8 medians of the significant rises; the label says so."""
    display = risen(rises).plot()
    assert isinstance(display, RiseDisplay)
    assert ("square-root scale" in display.ax_.get_xlabel()) == scaled
    assert (display.ax_.get_xscale() == "function") == scaled
    np.testing.assert_allclose([x for x, _ in offsets(display.points_[0])], rises)
    low, high = display.ax_.get_xlim()
    assert low <= 0 and high >= 1.2 * max(rises)
    display.figure_.canvas.draw()


def test_insignificant_rises_do_not_choose_the_scale():
    display = risen([100.0, 1.0, 1.0], significant=False, p_value=0.5).plot()
    assert display.ax_.get_xscale() == "linear"


def test_infinite_and_negative_ends_on_a_square_root_scale():
    tests = list(risen([100.0, 1.0, 1.0]).tests)
    tests[1] = replace(tests[1], ci_low=-np.inf, ci_high=np.inf)
    tests[2] = replace(tests[2], rise=-1.0, ci_low=-4.0, ci_high=1.0)
    display = replace(risen([100.0, 1.0, 1.0]), tests=tuple(tests)).plot()
    low, high = display.ax_.get_xlim()
    assert -10 < low < -4 and 120 < high < 200
    assert {0.0} < set(display.ax_.get_xticks())
    display.figure_.canvas.draw()


@given(st.floats(-1e6, 1e6))
def test_the_square_root_scale_can_be_inverted(value):
    np.testing.assert_allclose(square(root(np.array([value]))), [value], atol=1e-300)


@given(st.floats(-1e3, -1e-3), st.floats(1e-3, 1e6))
def test_ticks_lie_inside_and_rise(low, high):
    ticks = root_ticks(low, high)
    assert ticks == sorted(set(ticks)) and 0.0 in ticks
    assert -(low**2) * (1 + 1e-9) <= ticks[0] and ticks[-1] <= high**2 * (1 + 1e-9)


def test_the_mean_test_is_drawn_as_rises():
    display = made(["a", "b"], "mean test").plot()
    assert isinstance(display, RiseDisplay)
    assert display.axes_[0].get_xlabel().startswith("mean reduction of the loss")


def test_the_rise_plot_needs_a_mean_loss():
    with pytest.raises(ArgumentError, match=r"result .* sign test.*CoinDisplay"):
        RiseDisplay(made(["a"]))


# --- the build-up -----------------------------------------------------------------------------


def test_the_build_up_of_a_result(second):
    """From everything hidden, by order, to the full model; the last step is hatched."""
    display = BuildUpDisplay.from_result(second)
    one, two = second.gates
    losses = [second.tests[0].loss_base, one.loss_found, two.loss_found, two.loss_full]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in display.bars_]
    np.testing.assert_allclose(ends, list(pairwise(losses)))
    assert [bar.get_hatch() for bar in display.bars_] == [None, None, "/////"]
    assert labels(display.ax_.yaxis) == [
        "everything hidden",
        "X1 + X3",
        "X2 + X4 + X5",
        "not attributed",
        "the full model",
    ]
    assert [point.get_xdata()[0] for point in display.points_] == [losses[0], losses[-1]]
    assert "absolute_error" in display.ax_.get_xlabel()
    total = losses[0] - losses[-1]
    share = (losses[0] - losses[1]) / total
    assert f"({share:.0%}".replace("%", " %") in display.texts_[1].get_text()


def test_a_step_that_raises_the_loss_is_orange():
    """And points to the right; a step of the rest may rise too."""
    steps = [
        LossStep("hidden", ("g",), 2.0),
        LossStep("found", ("a",), 1.0),
        LossStep("found", ("b", "c"), 1.5),
        LossStep("all", (), 1.6),
    ]
    display = BuildUpDisplay(steps, "log_loss").plot()
    colors = [to_rgb(bar.get_edgecolor()) for bar in display.bars_]
    assert colors == [to_rgb(BLUE), to_rgb(ORANGE), to_rgb(ORANGE)]
    assert labels(display.ax_.yaxis)[:3] == ["only g", "a", "b + c"]
    assert [text.get_text() for text in display.texts_] == [
        "2", "−1 (250 %)", "+0.5 (−125 %)", "+0.1 (−25 %)", "1.6"
    ]  # fmt: skip
    markers = [line.get_marker() for line in display.ax_.lines]
    assert markers.count(">") == 2 and markers.count("<") == 1
    assert "raises the loss" in display.caption
    assert "the axis does not begin at 0" in display.ax_.get_xlabel()


def test_nothing_found_is_all_not_attributed():
    steps = [LossStep("hidden", (), 2.0), LossStep("all", (), 2.0)]
    display = BuildUpDisplay(steps, "log_loss").plot()
    assert labels(display.ax_.yaxis) == ["everything hidden", "not attributed", "the full model"]
    low, high = display.ax_.get_xlim()
    assert 1.9 < low < 2 < high < 2.1  # a tiny change would look tiny


@pytest.mark.parametrize("n", [11, 12, 13, 40])
def test_steps_beyond_twelve_are_merged(n):
    found = [LossStep("found", (f"x{k}",), 2 - k / 40) for k in range(n)]
    steps = [LossStep("hidden", (), 2.1), *found, LossStep("all", (), 0.5)]
    display = BuildUpDisplay(steps, "log_loss").plot()
    shown = labels(display.ax_.yaxis)[1:-2]
    assert len(shown) == min(n, 12)
    if n > 12:
        assert shown[-1] == f"{n - 11} more sets"
        last = display.bars_[-2]
        assert last.get_x() + last.get_width() == pytest.approx(found[-1].loss)
        assert any(f"x{n - 1}" in tip.text for tip in display.tooltips())


def test_results_without_gates_have_no_build_up():
    with pytest.raises(ArgumentError, match=r"result must have gates.*test='sign'"):
        BuildUpDisplay.from_result(made(["a", "b"], "permutation test"))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "begin with"),
        ([LossStep("all", (), 1.0)], "begin with"),
        ([LossStep("hidden", (), 1.0), LossStep("found", ("a",), 1.0)], "end with"),
        ([LossStep("hidden", (), np.nan), LossStep("all", (), 1.0)], "finite"),
    ],
)
def test_bad_steps(steps, message):
    with pytest.raises(ArgumentError, match=f"steps must.*{message}"):
        BuildUpDisplay(steps, "log_loss")


# --- all of them ------------------------------------------------------------------------------

PICTURES = {
    "coin": lambda names: CoinDisplay(made(names, correction="holm")),
    "rise": lambda names: RiseDisplay(made(names, "permutation test")),
    "build-up": lambda names: BuildUpDisplay.from_result(made(names)),
}
LONG = "total_outstanding_balance_of_all_revolving_accounts_at_month_end_"


def legend(axes):
    """The texts of a legend."""
    found = axes.get_legend()
    return (found.get_title(), *found.get_texts()) if found else ()


@pytest.mark.parametrize("n", [7, 40, 300])
@pytest.mark.parametrize("name", PICTURES)
def test_texts_do_not_overlap(name, n):
    """With few, many and very many features, with long names: all text is inside the figure."""
    names = [f"{LONG}{chr(97 + k % 26)}{k}" for k in range(n)]
    display = PICTURES[name](names)
    plt.close("all")
    display.plot().figure_.canvas.draw()
    every = [axes for outer in display.figure_.axes for axes in (outer, *outer.child_axes)]
    boxes = [
        text.get_window_extent()
        for axes in every
        if axes.axison
        for text in (*axes.get_yticklabels(), axes.xaxis.label, axes._left_title, *legend(axes))
        if text.get_text()
    ]
    inside = display.figure_.bbox
    for place, box in enumerate(boxes):
        assert inside.x0 - 1 <= box.x0 and box.x1 <= inside.x1 + 1
        assert inside.y0 - 1 <= box.y0 and box.y1 <= inside.y1 + 1
        assert not any(box.shrunk(0.9, 0.9).overlaps(other) for other in boxes[place + 1 :])


@pytest.mark.parametrize("name", PICTURES)
def test_text_follows_the_style(name):
    """In a dark style, names and numbers are light."""
    with plt.style.context("dark_background"):
        display = PICTURES[name](["a", "b", "c"])
        display = display if hasattr(display, "ax_") else display.plot()
        axes = getattr(display, "axes_", [display.ax_])[0]
        assert axes.get_yticklabels()[0].get_color() == "white"
        assert axes.xaxis.label.get_color() == "white"
        assert all(text.get_color() == "white" for text in getattr(display, "texts_", ()))


@pytest.mark.parametrize("name", PICTURES)
def test_axes_of_the_user_are_used_and_nothing_is_shown(name, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("show was called"))
    display = PICTURES[name](["a", "b"])
    plt.close("all")
    figure, (left, right) = plt.subplots(1, 2)
    before = plt.rcParams.copy()
    assert display.plot(ax=right) is display
    assert (display.ax_, display.figure_) == (right, figure)
    assert not left.child_axes and len(plt.get_fignums()) == 1
    assert plt.rcParams == before


def test_settings_of_made_results_are_complete():
    """The made results are results: they survive JSON."""
    for test in ("sign test", "permutation test", "mean test"):
        result = made(["a", "b", "c"], test)
        assert sfit.SFITResult.from_json(result.to_json()) == result
    assert settings().n_rows == N_ROWS
