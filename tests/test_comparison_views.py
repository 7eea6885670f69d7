"""Comparisons as pictures, pages, Markdown and in notebooks."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfit
from sfit.compare import Grid
from sfit.exceptions import ArgumentError

plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("jinja2", reason="the extra sfit[report] is not installed")

from hostile import HOSTILE, hostile_comparisons  # noqa: E402
from matplotlib.colors import to_rgba  # noqa: E402
from test_report import Page  # noqa: E402

from sfit.plotting import ModelsDisplay, RanksDisplay  # noqa: E402
from sfit.plotting._style import BLUE, GREY, ORANGE  # noqa: E402
from sfit.report._comparison import _table, number_in  # noqa: E402


@pytest.fixture(autouse=True)
def _closed():
    """Every test starts and ends without figures."""
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def ranks():
    X, y = sfit.simulate.interactions(3_000, random_state=0)
    return sfit.compare_features(sfit.simulate.interactions_mean, X, y, random_state=0)


@pytest.fixture(scope="module")
def models():
    """Three models of three columns, each without another column."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(800, 3)), columns=["a", "b", "c"])
    y = 2 * X["a"] + X["b"] + 0.5 * X["c"] + rng.normal(size=800)

    def linear(names, weights):
        return lambda frame: np.asarray(frame[names], dtype=float) @ np.array(weights)

    fitted = {
        "champion": linear(["a", "b"], [1.0, 1.0]),
        "challenger": linear(["a", "c"], [2.0, 0.5]),
        "third": linear(["a", "b", "c"], [2.0, 1.0, 0.5]),
    }
    features = {"champion": ["a", "b"], "challenger": ["a", "c"], "third": ["a", "b", "c"]}
    return sfit.compare_models(fitted, X, y, features=features, random_state=0)


@pytest.fixture(scope="module")
def months():
    """The use of X3 grows from month to month."""
    X, y = sfit.simulate.interactions(3_000, random_state=0)
    month = np.arange(3_000) // 1_000

    def model(frame):
        return sfit.simulate.interactions_mean(frame) + 3 * frame["X3"]

    return sfit.compare_parts(
        model, X, y + 3 * month * X["X3"], by=month, trend=True, random_state=0
    )


@pytest.fixture(scope="module")
def hostile():
    return hostile_comparisons()


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def ends(lines):
    return [tuple(segment[:, 0]) for segment in lines.get_segments()]


# --- ranks ------------------------------------------------------------------------------------


def test_gains_and_ranks_are_drawn_in_the_same_rows(ranks):
    """The largest gain on top; a bar over the possible ranks; certain ranks filled."""
    display = ranks.plot()
    gains, places = display.axes_
    np.testing.assert_allclose(
        display.points_.get_offsets(), [(one.gain, y) for y, one in enumerate(ranks.features)]
    )
    assert ends(display.intervals_) == [(one.ci_low, one.ci_high) for one in ranks.features]
    np.testing.assert_allclose(
        display.ranks_.get_offsets(), [(one.rank, y) for y, one in enumerate(ranks.features)]
    )
    assert ends(display.bars_) == [(one.rank_low, one.rank_high) for one in ranks.features]
    certain = [one.rank_low == one.rank_high for one in ranks.features]
    assert 0 < sum(certain) < len(certain)
    for is_certain, edge, face in zip(
        certain, display.ranks_.get_edgecolors(), display.ranks_.get_facecolors(), strict=False
    ):
        assert tuple(edge) == to_rgba(BLUE if is_certain else GREY)
        assert (face[3] > 0) == is_certain
    assert labels(gains.yaxis) == [one.feature for one in ranks.features]
    assert gains.get_ylim() == places.get_ylim()
    assert gains.get_ylim()[0] > gains.get_ylim()[1]
    assert list(places.get_xticks()) == list(range(1, 8))


def test_many_features_show_the_top_and_count_the_rest(ranks):
    """The first are drawn; the sentence counts certain ranks among the others."""
    display = RanksDisplay.from_result(ranks, max_features=2)
    assert [one.rank for one in display.shown] == [1, 2]
    n = sum(one.rank_low == one.rank_high for one in ranks.features[2:]) or "none"
    expected = f"5 more features are not shown, {n} of them with a certain rank."
    assert expected in display.axes_[0].get_xlabel()
    for bad in (0, -1, 2.5, "all"):
        with pytest.raises(ArgumentError, match="max_features"):
            RanksDisplay(ranks, bad)


def test_a_single_feature_has_a_certain_rank(ranks):
    """One row, one tick."""
    one = replace(ranks.features[0], rank=1, rank_low=1, rank_high=1)
    display = replace(ranks, features=(one,), pairs=()).plot()
    assert list(display.axes_[1].get_xticks()) == [1]
    display.figure_.canvas.draw()


# --- models -----------------------------------------------------------------------------------


def test_gains_in_two_models_beside_their_difference(models):
    """Both gains and the difference of every feature, in the order of the table."""
    display = models.plot(model="third")
    shown = models.gains_of("third")
    assert display.shown == shown
    assert ends(display.links_) == [(one.gain_first, one.gain_second) for one in shown]
    np.testing.assert_allclose(
        display.points_.get_offsets(), [(one.difference, y) for y, one in enumerate(shown)]
    )
    assert ends(display.intervals_) == [(one.ci_low, one.ci_high) for one in shown]
    for one, edge in zip(shown, display.points_.get_edgecolors(), strict=False):
        color = ORANGE if one.difference > 0 else BLUE
        assert tuple(edge) == to_rgba(color if one.significant else GREY)
    assert labels(display.axes_[0].yaxis) == [one.feature for one in shown]
    assert [text.get_text() for text in display.legend_.get_texts()] == ["champion", "third"]
    title = display.ax_.get_title(loc="left")
    assert title.startswith(f"Mean loss: champion {display.whole.loss_first:.4g}, third ")
    assert "third is better (p = " in title


def test_features_that_a_model_lacks_have_a_cross(models):
    """At zero, in the row of the feature; the gain itself is not drawn."""
    display = ModelsDisplay.from_result(models)
    assert display.whole.second == "challenger"
    row = {one.feature: y for y, one in enumerate(display.shown)}
    lacking = [[tuple(place) for place in cross.get_offsets()] for cross in display.crosses_]
    assert lacking == [[(0.0, row["c"])], [(0.0, row["b"])]]
    have = [{y for _, y in gains.get_offsets()} for gains in display.gains_]
    assert have == [{row["a"], row["b"]}, {row["a"], row["c"]}]
    assert "A cross marks" in display.axes_[0].get_xlabel()
    whole = models.plot(model="third")
    assert not len(whole.crosses_[1].get_offsets())


def test_models_that_do_not_differ_are_called_so(models):
    """The title has the same verdict as the record."""
    same = replace(models.models[0], significant=False, p_adjusted=0.4)
    display = replace(models, models=(same, models.models[1])).plot()
    assert "no significant difference (p = 0.4)" in display.ax_.get_title(loc="left")


def test_a_model_to_draw_must_be_one_of_the_others(models):
    """Not the first, and not an unknown one."""
    for bad in ("champion", "nobody"):
        with pytest.raises(ArgumentError, match=r"model must be one of those compared with"):
            models.plot(model=bad)
    with pytest.raises(ArgumentError, match="max_features"):
        ModelsDisplay(models, max_features=0)
    display = ModelsDisplay(models, max_features=1).plot()
    assert "2 more features are not shown" in display.axes_[0].get_xlabel()


@pytest.mark.parametrize("name", ["ranks", "models"])
def test_axes_of_the_user_are_used_and_nothing_is_shown(request, name, monkeypatch):
    """`ax` is drawn on, with axes inside; pyplot's show is never called."""
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("show was called"))
    figure, (left, right) = plt.subplots(1, 2)
    display = request.getfixturevalue(name).plot(ax=right)
    assert (display.ax_, display.figure_) == (right, figure)
    assert right.child_axes == display.axes_
    assert not left.child_axes and len(plt.get_fignums()) == 1


def test_odd_names_are_text(hostile):
    """A dollar sign starts no formula, and an underscore hides no model from the legend."""
    display = hostile["models"].plot(model="_not, hidden")
    assert display.legend_.get_texts()[1].get_text() == "_not, hidden"
    display.figure_.canvas.draw()
    ranks = hostile["features"].plot()
    assert r"$\frac{" in labels(ranks.axes_[0].yaxis)
    ranks.figure_.canvas.draw()


def test_intervals_without_an_end_reach_the_edge(models):
    """Infinite ends and missing numbers do not break the picture."""
    first = replace(models.features[0], ci_low=-math.inf, ci_high=math.inf)
    second = replace(models.features[1], difference=math.nan, ci_low=math.nan, ci_high=math.nan)
    display = replace(models, features=(first, second, *models.features[2:])).plot()
    assert all(map(math.isfinite, display.axes_[1].get_xlim()))
    display.figure_.canvas.draw()


@pytest.mark.parametrize("name", ["ranks", "models", "months"])
def test_tooltips_cover_what_is_drawn(request, name):
    """One over each row or point, inside its axes, with the numbers of that row."""
    result = request.getfixturevalue(name)
    [display] = [one.plot() for one in result.displays()[:1]]
    tips = display.tooltips()
    n_drawn = {"ranks": 2 * 7, "models": 2 * 3, "months": 7 * 3}[name]
    assert len(tips) == n_drawn
    for tip in tips:
        low, high = (
            tip.axes.transAxes.inverted().transform(tip.transform.transform(corner))
            for corner in (tip.corner, (tip.corner[0] + 1, tip.corner[1] + 1))
        )
        middle = (low + high) / 2
        assert np.all((middle > 0) & (middle < 1))
        assert "mean gain" in tip.text and "nan" not in tip.text


# --- the page ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ranks", "models", "months"])
def test_the_page_says_it_all(request, name, tmp_path):
    """Findings, every row of every table, terms, settings, caveats, pictures and the method."""
    result = request.getfixturevalue(name)
    result = replace(result, caveats=("one caveat that <b>nobody</b> expects",))
    path = tmp_path / "page.html"
    html = result.to_html(path)
    assert path.read_text(encoding="utf-8") == html + "\n"
    page = Page(html)
    assert page.open == []
    for grid in result.grids():
        wanted = [grid.title, *grid.head, grid.note, *(cell for row in grid.rows for cell in row)]
        assert not [text for text in wanted if text not in page.text]
    said = [result.title, *result.findings(), type(result).METHOD]
    said += [text for pair in (*result.reading(), *result.facts()) for text in pair]
    assert not [text for text in said if text not in page.text]
    assert "One caveat that <b>nobody</b> expects" in page.text
    assert (
        html.count("<figure>") == len(result.displays()) == len(getattr(result, "names", "xx")) - 1
    )
    n_marked = sum(sum(grid.marked) for grid in result.grids())
    assert html.count('<tr class="yes">') == n_marked > 0
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(set(ids)) == len(ids)
    again = type(result).from_json(result.to_json())
    assert again.to_html() == html


def test_hostile_names_are_only_ever_text(hostile):
    """Markup, formulas, quotes, control characters: shown, never obeyed."""
    for result in hostile.values():
        html = result.to_html()
        page = Page(html)
        assert page.open == []
        assert len(page.all("script")) == len(page.all("style")) == 1
        assert not page.all("img") and not page.all("iframe")
        for _, attrs in page.elements:
            assert "src" not in attrs and "style" not in attrs
            assert not [name for name in attrs if name.startswith("on")]
        assert HOSTILE[0] in page.text and HOSTILE[1] in page.text
        for text in (html, result.to_markdown(), result._repr_html_(), result.summary()):
            text.encode("utf-8")
            assert not [sign for sign in "\x00\u202e" if sign in text]


def test_numbers_of_cells_are_read_back():
    """What a cell shows, as a spreadsheet reads it; other text is no number."""
    read = {"−0.0084": "-0.0084", "1,808": "1808", "< 1e-300": "1e-300", "2.4e−05": "2.4e-05",
            "–": "", "−∞": "-inf", "1e+16": "1e+16", "7": "7"}  # fmt: skip
    for text, value in read.items():
        assert number_in(text) == value
        assert value == "" or math.isfinite(float(value)) or value == "-inf"
    for text in ("1 to 2", "=1+1", "a", "1.2.3", "nan", "0x10", "٣٣.a"):
        assert number_in(text) is None, text


def test_columns_of_text_are_not_numbers():
    """One cell that is not a number makes the column text; keys are safe in CSV."""
    grid = Grid(
        "t",
        ("Name", 'Gain in "a, b"', "Ranks", "=x"),
        (("a", "1.5", "1 to 2", "3"), ("b", "–", "3", "4")),
        (True, False),
        mark="certain",
    )
    table = _table(grid, 1)
    kinds = [column["kind"] for column in table["columns"]]
    assert kinds == ["head", "number", "name", "number", "verdict"]
    keys = [column["key"] for column in table["columns"]]
    assert keys == ["name", "gain_in_a_b", "ranks", "x", "certain"]
    assert table["notes"] == [
        "1 more rows are not in this table, none of them certain: to_json writes all rows."
    ]


def test_markdown_has_the_tables(ranks, models, months):
    """One line per row of each table."""
    for result in (ranks, models, months):
        text = result.to_markdown()
        lines = [line for line in text.splitlines() if line.startswith("|")]
        assert len(lines) == sum(len(grid.rows) + 2 for grid in result.grids())
        for grid in result.grids():
            assert f"## {grid.title}" in text


def test_the_notebook_shows_findings_tables_and_plot(ranks, models, months):
    """Without a style or script, in the notebook's own colours."""
    for result in (ranks, models, months):
        html = result._repr_html_()
        assert html.count("<table>") == len(result.grids())
        assert html.count("<svg ") == len(result.displays())
        assert "<style" not in html and "<script" not in html and "currentColor" in html
        assert Page(html).open == []


def test_long_tables_are_cut_and_counted(ranks):
    """A page lists at most 600 rows; a notebook 40 of each table; both count the others."""
    many = replace(ranks, pairs=ranks.pairs * 40)
    page = Page(many.to_html())
    heads, stages = 3, len(many.run["stages"])
    assert len(page.all("tr")) == 7 + 300 + heads + stages
    assert "540 more rows are not in this table" in page.text
    assert "... and 800 more" in Page(many._repr_html_()).text
