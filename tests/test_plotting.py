"""Displays: what is drawn, by artists and data; no pixels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import sfit
from sfit.exceptions import ArgumentError, ModelError

plt = pytest.importorskip("matplotlib.pyplot")

from matplotlib.colors import to_rgb, to_rgba  # noqa: E402

from sfit.plotting import (  # noqa: E402
    BetaCurveDisplay,
    DeltaDisplay,
    ImportanceDisplay,
    InteractionDisplay,
    PartsDisplay,
    SignificanceBetaDisplay,
)
from sfit.plotting._style import BLUE, GREY, ORANGE, PURPLE, short  # noqa: E402


@pytest.fixture(autouse=True)
def _closed():
    """Every test starts and ends without figures."""
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    return sfit.simulate.interactions(10_000, random_state=0)


@pytest.fixture(scope="module")
def first(rows):
    return sfit.feature_significance(sfit.simulate.interactions_mean, *rows)


@pytest.fixture(scope="module")
def second(rows):
    return sfit.feature_significance(
        sfit.simulate.interactions_mean, *rows, max_order=2, beta=(0.01, 0.001)
    )


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 300))
    weights = np.r_[np.linspace(2, 1, 30), np.zeros(270)]
    return sfit.feature_significance(lambda z: z @ weights, X, X @ weights, beta=0)


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


@pytest.fixture(scope="module")
def permuted(rows):
    return sfit.feature_significance(
        sfit.simulate.interactions_mean,
        *(part[:2_000] for part in rows),
        test="permutation",
        loss="squared_error",
        max_order=2,
        random_state=0,
    )


# --- importance -----------------------------------------------------------------------------


def test_importance_draws_medians_and_intervals(first):
    """Points are the statistics, lines the intervals, from the strongest to the weakest."""
    display = ImportanceDisplay.from_result(first)
    [tests] = display.shown
    assert [test.term for test in tests[:2]] == [("X1",), ("X3",)]
    assert [t.statistic for t in tests[2:]] == sorted(
        (t.statistic for t in tests[2:]), reverse=True
    )
    np.testing.assert_allclose(
        display.points_[0].get_offsets(), [(t.statistic, y) for y, t in enumerate(tests)]
    )
    drawn = [segment[:, 0] for segment in display.intervals_[0].get_segments()]
    np.testing.assert_allclose(drawn, [(t.ci_low, t.ci_high) for t in tests])
    assert labels(display.ax_.yaxis) == [t.term[0] for t in tests]
    assert display.zeros_[0].get_xdata()[0] == 0


def test_significant_ones_are_in_colour_and_filled(first):
    """Not by colour alone: what is not significant is open."""
    display = ImportanceDisplay.from_result(first)
    points = display.points_[0]
    for test, edge, face in zip(
        display.shown[0], points.get_edgecolors(), points.get_facecolors(), strict=True
    ):
        assert tuple(edge) == to_rgba(BLUE if test.significant else GREY)
        assert (face[3] > 0) == test.significant


def test_orders_have_axes_scales_and_marks_of_their_own(second):
    """Statistics of different orders must not be compared: they share no axis."""
    display = ImportanceDisplay.from_result(second)
    one, two = display.axes_
    assert one.get_xlim() != two.get_xlim()
    assert one.get_title(loc="left") == "Order 1: each feature alone"
    assert "a | b: a added to b" in two.get_title(loc="left")
    assert labels(two.yaxis)[:2] == ["X4 + X5", "X2 | X1"]
    assert tuple(display.points_[1].get_edgecolors()[0]) == to_rgba(ORANGE)
    circle, square = (points.get_paths()[0].vertices for points in display.points_)
    assert len(circle) != len(square)


def test_axes_of_the_user_are_used_and_nothing_is_shown(first, second, monkeypatch):
    """`ax` is drawn on; pyplot's show is never called."""
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("show was called"))
    figure, (left, right) = plt.subplots(1, 2)
    display = ImportanceDisplay.from_result(first, ax=left)
    assert (display.ax_, display.figure_, display.axes_) == (left, figure, [left])
    inside = ImportanceDisplay.from_result(second, ax=right)
    assert inside.ax_ is right
    assert right.child_axes == inside.axes_
    assert len(plt.get_fignums()) == 1


def test_many_features_show_the_top_and_count_the_rest(wide):
    """300 features: 25 rows, and a sentence about the other 275."""
    display = ImportanceDisplay.from_result(wide)
    assert len(display.points_[0].get_offsets()) == 25
    found = len(wide.selected) - sum(test.significant for test in display.shown[0])
    expected = f"275 more sets are not shown, {found or 'none'} of them significant."
    assert expected in display.ax_.get_xlabel()
    few = ImportanceDisplay.from_result(wide, max_sets=3)
    assert len(labels(few.ax_.yaxis)) == 3
    assert "297 more sets are not shown" in few.ax_.get_xlabel()
    everything = ImportanceDisplay.from_result(wide, max_sets=300)
    assert "more" not in everything.ax_.get_xlabel()


def test_labels_do_not_overlap(wide, second):
    """Names of rows, and the titles and labels of orders, each have room of their own."""
    for result in (wide, second):
        display = ImportanceDisplay.from_result(result)
        display.figure_.canvas.draw()
        boxes = [
            text.get_window_extent()
            for ax in display.axes_
            for text in (*ax.get_yticklabels(), ax.xaxis.label, ax._left_title)
        ]
        inside = display.figure_.bbox
        for number, box in enumerate(boxes):
            assert inside.x0 - 1 <= box.x0 and box.x1 <= inside.x1 + 1
            assert inside.y0 - 1 <= box.y0 and box.y1 <= inside.y1 + 1
            for other in boxes[number + 1 :]:
                assert not (box.overlaps(other) and box.shrunk(0.9, 0.9).overlaps(other))


def test_infinite_intervals_reach_the_edge():
    """Five rows have no finite interval at 5 %: the line spans the axes."""
    X = np.arange(10.0).reshape(5, 2)
    with pytest.warns(sfit.exceptions.SFITWarning, match="too few"):
        result = sfit.feature_significance(lambda z: z[:, 0], X, X[:, 0] + 10)
    display = ImportanceDisplay.from_result(result)
    low, high = display.ax_.get_xlim()
    for segment in display.intervals_[0].get_segments():
        np.testing.assert_allclose(segment[:, 0], [low, high])


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "all"])
def test_bad_numbers_of_sets(first, bad):
    """Refused with the argument's name."""
    with pytest.raises(ArgumentError, match="max_sets"):
        ImportanceDisplay.from_result(first, max_sets=bad)
    with pytest.raises(ArgumentError, match="max_sets"):
        SignificanceBetaDisplay.from_result(first, max_sets=bad)


def test_names_are_text_whatever_is_in_them():
    r"""Dollars are no formula, control characters do not reach the figure, long names are cut."""
    names = [r"$\frac{", "a\x00b\nc", "\u202eabc", "x" * 200, "_{^"]
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 5)), columns=names)
    result = sfit.feature_significance(
        lambda z: z.to_numpy().sum(axis=1), X, X.to_numpy().sum(axis=1), max_order=2
    )
    display = result.plot()
    display.figure_.canvas.draw()
    shown = set(labels(display.axes_[0].yaxis))
    assert {r"$\frac{", r"a\x00b\nc", r"\u202eabc", "_{^"} <= shown
    assert max(map(len, shown)) <= 26
    matrix = InteractionDisplay.from_result(result)
    matrix.figure_.canvas.draw()
    assert short("x" * 200).count("x") == 24


def test_given_and_rest_name_their_base(rows):
    """A base that all sets share is told once, in the title."""
    model = sfit.simulate.interactions_mean
    given = sfit.feature_significance(model, *rows, given=["X1"]).plot()
    assert given.axes_[0].get_title(loc="left") == "Order 1: each feature, over X1"
    rest = sfit.feature_significance(model, *rows, given="rest").plot()
    assert rest.axes_[0].get_title(loc="left") == "Order 1: each feature, over all the others"


def test_pairs_over_one_of_their_own_are_not_over_the_others():
    """Of three features, a pair and a base of one fill all places without being all of them."""
    X = np.random.default_rng(0).normal(size=(5_000, 3))

    def model(z):
        return 4 * z[:, 0] + 4 * z[:, 1] + 0.3 * z[:, 2]

    display = sfit.feature_significance(
        model, X, model(X), max_order=2, beta=(0.01, 0.001), reference=0
    ).plot()
    assert display.axes_[1].get_title(loc="left") == "Order 2: pairs   (a | b: a added to b)"


# --- the permutation test ---------------------------------------------------------------------


def test_rises_are_drawn_with_their_intervals(permuted):
    """The same picture, with the rise as estimate and words of its own."""
    display = permuted.plot()
    for tests, points, intervals in zip(
        display.shown, display.points_, display.intervals_, strict=True
    ):
        np.testing.assert_allclose(points.get_offsets(), [(t.rise, y) for y, t in enumerate(tests)])
        drawn = [segment[:, 0] for segment in intervals.get_segments()]
        np.testing.assert_allclose(drawn, [(t.ci_low, t.ci_high) for t in tests])
    assert [test.term for test in display.shown[0][:2]] == [("X3",), ("X1",)]
    label = " ".join(display.axes_[0].get_xlabel().split())
    assert label == (
        "rise of the mean loss when predictions come from other rows, with asymptotic interval"
    )


def test_pairs_of_a_permutation_test(permuted):
    """Its own numbers, its own title."""
    display = InteractionDisplay.from_result(permuted)
    assert display.ax_.get_title(loc="left") == "Pairs: rise of the mean loss"
    found = {test.term: place for place, test in display.shown.items() if test.significant}
    assert set(found) == {("X1", "X2"), ("X4", "X5")}
    for place in found.values():
        assert display.numbers_[place].get_text() == f"{display.shown[place].rise:.2g}"


def test_parts_of_a_permutation_test(rows):
    """Rises side by side."""
    X, y = (part[:1_000] for part in rows)
    parts = sfit.feature_significance(
        sfit.simulate.interactions_mean,
        X,
        y,
        test="permutation",
        by=X["X6"] > 0,
        loss="squared_error",
        random_state=0,
    )
    display = parts.plot()
    assert set(display.features[:2]) == {"X1", "X3"}
    drawn = [points.get_offsets()[:, 0].tolist() for points in display.points_]
    assert drawn == [[t.rise for t in tests] for _, tests in display.drawn()]
    label = " ".join(display.axes_[0].get_xlabel().split())
    assert label.startswith("rise of the mean loss when predictions come from other rows")


@pytest.mark.parametrize("display", [BetaCurveDisplay, SignificanceBetaDisplay])
def test_plots_of_beta_refuse_a_permutation_test(permuted, display):
    """It has no beta: the error names the argument, its test and the remedy."""
    with pytest.raises(ArgumentError) as caught:
        display.from_result(permuted)
    for words in ("result", "permutation test", "result.plot()", "test='sign'"):
        assert words in str(caught.value)


# --- beta -----------------------------------------------------------------------------------


def test_significance_against_beta(second):
    """Lines end at beta_max; the betas used are marked; the others are counted."""
    display = SignificanceBetaDisplay.from_result(second)
    table = second.table.dropna(subset="beta_max").sort_values(
        "beta_max", ascending=False, kind="stable"
    )
    assert [test.term for test in display.shown] == list(table["term"])
    left = display.ax_.get_xlim()[0]
    for line, point, beta in zip(display.lines_, display.points_, table["beta_max"], strict=True):
        np.testing.assert_allclose(line.get_xdata(), [left, max(beta, left)])
        assert point.get_xdata()[0] == max(beta, left)
    assert [line.get_xdata()[0] for line in display.betas_] == [0.001, 0.01]
    never = second.table["beta_max"].isna().sum()
    assert f"{never} sets are not significant at any beta." in display.ax_.get_xlabel()
    assert display.ax_.get_xscale() == "log"


def test_lines_that_are_all_points_at_the_edge():
    """Nothing to draw to scale, and no complaint of matplotlib's."""
    X = np.linspace(1, 2, 50)[:, None]
    y = X[:, 0] * (1 + 1e-8)
    result = sfit.feature_significance(lambda z: 1e-7 * (z[:, 0] - 1), X, y, beta=0, reference=1.0)
    assert 0 < result.tests[0].beta_max < 1e-6
    display = SignificanceBetaDisplay.from_result(result)
    assert display.ax_.get_xlim() == (1e-6, 1.0)
    assert list(display.lines_[0].get_xdata()) == [1e-6, 1e-6]


def test_lines_keep_the_level_of_the_run(rows, first):
    """Sets that another alpha makes significant have no line; the words say at which level."""
    X, y = rows
    strict = sfit.feature_significance(
        sfit.simulate.interactions_mean, X[:900], y[:900], alpha=1e-200
    )
    assert strict.at(alpha=0.05).selected == first.selected
    words = SignificanceBetaDisplay.from_result(strict.at(alpha=0.05)).ax_.get_xlabel()
    assert "7 sets are not significant at alpha = 1e-200 at any beta." in words
    assert "Lines end where sets stop being significant at alpha = 1e-200." in words
    same = SignificanceBetaDisplay.from_result(first.at(correction="holm")).ax_.get_xlabel()
    assert "4 sets are not significant at any beta." in same and "alpha" not in same


def test_nothing_significant_at_any_beta():
    """An empty picture still says what it is."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    result = sfit.feature_significance(lambda z: 0 * z[:, 0], X, X[:, 0])
    display = SignificanceBetaDisplay.from_result(result)
    assert display.lines_ == []
    assert "3 sets are not significant at any beta." in display.ax_.get_xlabel()
    assert len(result.plot().points_[0].get_offsets()) == 3


def test_beta_curve_of_a_result(rows, first):
    """A result with beta="auto" has the curve it was chosen on; another says what to do."""
    X, y = rows
    model = LinearRegression().fit(X, y)
    result = sfit.feature_significance(model, X, y, beta="auto", random_state=0)
    display = BetaCurveDisplay.from_result(result)
    assert display.choice_.get_xdata()[0] == result.beta_choice.beta
    with pytest.raises(ArgumentError, match="beta='auto'"):
        BetaCurveDisplay.from_result(first)


# --- pairs ----------------------------------------------------------------------------------


def test_pairs_as_a_matrix(second):
    """One cell per tested pair, with its statistic; significant ones blue, filled and bold."""
    display = InteractionDisplay.from_result(second)
    pairs = second.table[second.table["order"] == 2]
    assert len(display.shown) == len(pairs) == len(display.cells_.get_facecolors())
    assert display.scores_ is None
    for (place, test), color in zip(
        display.shown.items(), display.cells_.get_facecolors(), strict=True
    ):
        row, column = place
        assert {display.features[row], display.features[column]} == set(test.term)
        number = display.numbers_[place]
        assert number.get_position() == (column, row)
        assert float(number.get_text().replace("−", "-")) == pytest.approx(test.statistic, rel=0.06)
        assert (number.get_fontweight() == "bold") == test.significant
        assert tuple(color[:3]) == to_rgb(BLUE if test.significant else GREY)


def test_pairs_beside_the_inside_of_a_network(rows):
    """|W|^T |W| of the first layer, below the diagonal, denser where larger."""
    X, y = rows
    net = MLPRegressor(hidden_layer_sizes=(8,), max_iter=300, tol=1e-2, random_state=0)
    net.fit(X[:2000], y[:2000])
    result = sfit.feature_significance(net, X, y, max_order=2)
    display = InteractionDisplay.from_result(result, model=net)
    weights = np.abs(net.coefs_[0])
    scores = weights @ weights.T
    expected = [scores[row, column] for row in range(7) for column in range(row)]
    opacity = display.scores_.get_facecolors()[:, 3]
    np.testing.assert_array_equal(np.argsort(opacity), np.argsort(expected))
    ties = [text.get_text() for text in display.axes_[1].texts]
    np.testing.assert_allclose([float(t) for t in ties], expected / np.max(expected), atol=0.006)


def test_the_inside_of_a_pipeline_needs_rows(rows):
    """Encoded columns are added up by the feature they come from."""
    X, y = rows
    X = X[["X1", "X3"]].assign(colour=np.resize(["red", "green", "blue"], len(X)))
    encode = ColumnTransformer(
        [("dummies", OneHotEncoder(), ["colour"]), ("scaled", StandardScaler(), ["X1", "X3"])]
    )
    net = MLPRegressor(hidden_layer_sizes=(4,), max_iter=300, tol=1e-2, random_state=0)
    model = make_pipeline(encode, net).fit(X[:2000], y[:2000])
    result = sfit.feature_significance(model, X, y, max_order=2, exhaustive=True)
    with pytest.raises(ArgumentError, match="Pipeline: pass X and y"):
        InteractionDisplay.from_result(result, model=model)
    display = InteractionDisplay.from_result(result, model=model, X=X, y=y)
    weights = np.abs(model[-1].coefs_[0])
    by_column = weights @ weights.T
    np.testing.assert_allclose(display.scores[0, 1], by_column[3, 4])
    np.testing.assert_allclose(display.scores[0, 2], by_column[3, :3].sum())


def test_models_without_an_inside(second, rows):
    """A plain function, or another model than the one tested, is refused with the remedy."""
    with pytest.raises(ModelError, match="leave it out"):
        InteractionDisplay.from_result(second, model=sfit.simulate.interactions_mean)
    other = LinearRegression().fit(rows[0].to_numpy()[:, :3], rows[1])
    with pytest.raises(ArgumentError, match="pass the X, y and groups"):
        InteractionDisplay.from_result(second, model=other)
    with pytest.raises(ArgumentError, match=r"shape \(7, 7\)"):
        InteractionDisplay(second, scores=np.eye(3))


def test_pairs_need_pairs_and_count_what_is_left(first):
    """First order has no pairs; of many features the significant pairs are kept."""
    with pytest.raises(ArgumentError, match="max_order=2"):
        InteractionDisplay.from_result(first)
    with pytest.raises(ArgumentError, match="at least 2"):
        InteractionDisplay(first, max_features=1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    y = 3 * X[:, 20] * X[:, 25]
    result = sfit.feature_significance(
        lambda z: 3 * z[:, 20] * z[:, 25], X, y, max_order=2, reference=0
    )
    display = InteractionDisplay.from_result(result)
    assert {"x20", "x25"} <= set(display.features)
    assert len(display.features) <= 12
    hidden = 435 - len(display.shown)
    assert f"{hidden} more sets are not shown, none of them" in display.axes_[0].get_xlabel()


# --- parts ----------------------------------------------------------------------------------


def test_parts_side_by_side(rows):
    """One axes per part on one scale, with one list of names at the left."""
    X, y = rows
    by = np.where(X["X6"] > 0, "above $0", "below $0")
    parts = sfit.feature_significance(sfit.simulate.interactions_mean, X, y, by=by)
    display = parts.plot()
    assert [ax.get_title(loc="left") for ax in display.axes_] == [
        "part = above $0",
        "part = below $0",
    ]
    assert len({ax.get_xlim() for ax in display.axes_}) == 1
    assert labels(display.axes_[0].yaxis) == display.features
    assert set(labels(display.axes_[1].yaxis)) == {""}
    for (_, result), points in zip(parts.parts, display.points_, strict=True):
        by_name = result.table.set_index(result.table["term"].str[0])["statistic"]
        np.testing.assert_allclose(points.get_offsets()[:, 0], by_name[display.features])
    display.figure_.canvas.draw()


def test_many_parts_and_features_are_counted():
    """12 parts, 40 features: eight parts and 25 features are drawn, the rest is told."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1_200, 40))
    parts = sfit.feature_significance(
        lambda z: z[:, 0], X, X[:, 0], by=np.resize(np.arange(12), 1_200)
    )
    display = PartsDisplay.from_result(parts)
    assert (len(display.axes_), len(display.features)) == (8, 25)
    assert display.features[0] == "x0"
    note = display.axes_[0].get_xlabel()
    assert "15 more features are not shown, none of them significant." in note
    assert "4 more parts are not shown." in note


# --- delta ----------------------------------------------------------------------------------


def test_delta_agrees_with_the_test(rows, first):
    """The median of all deltas is the statistic, and the bins partition the rows."""
    X, y = rows
    display = DeltaDisplay.from_model(sfit.simulate.interactions_mean, X, y, "X1")
    assert first.tests[0].term == ("X1",)
    assert np.median(display.delta) == first.tests[0].statistic
    assert display.bins["n"].sum() == len(X)
    np.testing.assert_allclose(display.line_.get_ydata(), display.bins["median"])
    assert (display.bins["ci_low"] <= display.bins["median"]).all()
    assert (display.bins["median"] <= display.bins["ci_high"]).all()
    # X1 acts through its distance from the mean: most at the ends, least in the middle.
    medians = display.bins["median"].to_numpy()
    assert min(medians[0], medians[-1]) > 3 * abs(medians[len(medians) // 2])
    assert len(display.points_.get_offsets()) == 2_000


def test_delta_of_categories_and_of_missing_values():
    """Categories in order of frequency, missing as one of them; numbers without one are told."""
    rng = np.random.default_rng(2)
    n = 3_000
    X = pd.DataFrame({"x": rng.normal(size=n), "c": rng.choice(["a", "b"], n, p=[0.3, 0.7])})
    X.loc[:99, "c"] = None
    X.loc[:49, "x"] = np.nan

    def model(frame):
        return frame["x"].fillna(0).to_numpy() + 2.0 * (frame["c"] == "a").to_numpy()

    y = model(X)
    display = DeltaDisplay.from_model(model, X, y, "c")
    assert list(display.bins["value"]) == ["b", "a", "missing"]
    assert labels(display.ax_.xaxis) == ["b", "a", "missing"]
    assert display.points_ is None
    numeric = DeltaDisplay.from_model(model, X, y, "x")
    assert numeric.bins["n"].sum() == n - 50
    assert "50 rows have no value." in numeric.ax_.get_xlabel()


def test_delta_of_a_pipeline_is_drawn_in_the_users_units(rows):
    """The horizontal axis has the original values, not the scaled ones; few values are bins."""
    X, y = rows
    X = X[["X1", "X3"]].assign(X1=X["X1"] * 1_000, flag=np.resize([0, 1, 5], len(X)))
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    display = DeltaDisplay.from_model(model, X, y, "X1")
    assert display.values.std() > 900
    flag = DeltaDisplay.from_model(model, X, y, "flag")
    assert list(flag.bins["value"]) == [0, 1, 5]
    unnamed = DeltaDisplay.from_model(model, X.to_numpy(), y, 2)
    assert list(unnamed.bins["value"]) == [0, 1, 5]


def test_delta_of_a_column_by_its_number():
    """A number counts the columns of X, whichever of them are tested, shown always or unused."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(900), rng.normal(size=(900, 2))])
    X[:, 2] = 10 * X[:, 2] + 100
    y = X[:, 0] + 4 * X[:, 1]

    def model(z):
        return z[:, 0] + 4 * z[:, 1]

    display = DeltaDisplay.from_model(model, X, y, 1, always_on=[0])
    assert display.name == "x1"
    np.testing.assert_array_equal(display.values, X[:, 1])
    with pytest.raises(ArgumentError, match="feature names 'x0'"):
        DeltaDisplay.from_model(model, X, y, 0, always_on=[0])
    for number in (1, 2):
        some = DeltaDisplay.from_model(lambda z: z[:, 0], X, y, number, features=[1, 2])
        assert some.name == f"x{number}"
        np.testing.assert_array_equal(some.values, X[:, number])
    with pytest.raises(ArgumentError, match="feature names 'x0'"):
        DeltaDisplay.from_model(lambda z: z[:, 0], X, y, 0, features=[1, 2])
    fitted = LinearRegression().fit(pd.DataFrame(X, columns=["one", "a", "b"]), y)
    for feature in ("a", 1):
        named = DeltaDisplay.from_model(fitted, X, y, feature, always_on=["one"])
        assert named.name == "a"
        np.testing.assert_array_equal(named.values, X[:, 1])


def test_delta_of_a_classifier_by_row():
    """Losses that are counted by cell elsewhere are taken row by row here."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, size=(900, 2)).astype(float)
    y = (X[:, 0] > 0).astype(int)

    def probability(z):
        return np.clip(z[:, 0] / 2, 0.1, 0.9)

    model = sfit.models.function_model(probability, task="classification")
    display = DeltaDisplay.from_model(model, X, y, "x0", beta=0)
    result = sfit.feature_significance(model, X, y, beta=0)
    assert np.median(display.delta) == result.table["statistic"][0]
    assert (display.delta > 0).sum() == result.table["n_positive"][0]


def test_bad_questions_about_delta(rows):
    """A feature that is not there, a beta out of range, values that do not fit."""
    model = sfit.simulate.interactions_mean
    with pytest.raises(ArgumentError, match="feature names 'nope'"):
        DeltaDisplay.from_model(model, *rows, "nope")
    with pytest.raises(ArgumentError, match="beta"):
        DeltaDisplay.from_model(model, *rows, "X1", beta=2)
    with pytest.raises(ArgumentError, match="one entry per row"):
        DeltaDisplay("x", [1.0, 2.0], [1.0])


# --- colours --------------------------------------------------------------------------------

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


def linear(color):
    rgb = np.asarray(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIELAB of linear RGB."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    t = to_xyz @ np.clip(rgb, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_colours_are_told_apart_by_every_reader(vision):
    """At least 20 in CIELAB between any two, also as colour-blind readers see them."""
    seen = [lab(np.asarray(VISION[vision]) @ linear(c)) for c in (BLUE, ORANGE, PURPLE, GREY)]
    for number, one in enumerate(seen):
        for other in seen[number + 1 :]:
            assert np.linalg.norm(one - other) > 20


@pytest.mark.parametrize("color", [BLUE, ORANGE, PURPLE, GREY])
def test_colours_stand_out_from_light_and_dark(color):
    """Contrast of 3 (WCAG, graphics) to white and to a near black."""
    luminance = linear(color) @ [0.2126, 0.7152, 0.0722]
    dark = linear("#14171b") @ [0.2126, 0.7152, 0.0722]
    assert 1.05 / (luminance + 0.05) >= 3
    assert (luminance + 0.05) / (dark + 0.05) >= 3


def test_text_follows_the_style(first):
    """In a dark style names and frames are light: nothing neutral has a colour of its own."""
    with plt.style.context("dark_background"):
        display = ImportanceDisplay.from_result(first)
        assert display.ax_.get_yticklabels()[0].get_color() == "white"
        assert to_rgb(display.ax_.spines["bottom"].get_edgecolor()) == (1, 1, 1)
        assert display.ax_.xaxis.label.get_color() == "white"
