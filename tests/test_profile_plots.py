"""Ribbons and response curves: pictures of profiles."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import sfit
from sfit._profiled import profiles
from sfit.exceptions import ArgumentError

plt = pytest.importorskip("matplotlib.pyplot")

import matplotlib  # noqa: E402
from matplotlib.colors import to_rgba  # noqa: E402

from sfit.plotting import ResponseDisplay, RibbonsDisplay  # noqa: E402
from sfit.plotting._style import BLUE, ORANGE  # noqa: E402

LONG = "a_name_that_is_much_too_long_for_any_axis_of_a_picture_$x_1$"


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def model(frame):
    colour = frame["colour"].map({f"c{k}": k / 4 for k in range(25)}).astype(float).fillna(5.0)
    income = frame[LONG].fillna(2.0)
    return (colour + np.abs(income) + frame["dummy"]).to_numpy()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    n = 2000
    X = pd.DataFrame(
        {
            "colour": rng.choice([f"c{k}" for k in range(25)], n, p=np.arange(1, 26) / 325),
            LONG: np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "dummy": rng.integers(0, 2, n).astype(float),
            "flat": rng.normal(size=n),
        }
    )
    X.loc[:49, "colour"] = None
    return X, model(X) + rng.normal(size=n)


@pytest.fixture(scope="module")
def made(rows):
    reference = {"colour": "c3", LONG: 0.0, "dummy": 0.0, "flat": 0.0}
    return {one.feature: one for one in profiles(model, *rows, reference=reference)}


def texts(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_ribbons_draw_every_feature_by_gain(made):
    display = RibbonsDisplay.from_profiles(list(made.values()))
    gains = [one.mean_gain for one in display.shown]
    assert gains == sorted(gains, reverse=True) and len(display.shown) == 4
    better, worse = display.bands_
    for k, profile in enumerate(display.shown):
        assert better[k].get_width() == pytest.approx(profile.n_better / profile.n)
        assert worse[k].get_x() == pytest.approx(1 - profile.n_worse / profile.n)
    assert to_rgba(better[0].get_facecolor(), 1) == to_rgba(BLUE)
    assert to_rgba(worse[0].get_facecolor(), 1) == to_rgba(ORANGE)
    assert display.counts_[[one.feature for one in display.shown].index("flat")] == "no row changes"
    # Heights are square roots on one scale: the largest gain of all fills its ribbon.
    best = max(profile.ribbon[0] for profile in display.shown)
    worst = max(-profile.ribbon[-1] for profile in display.shown)
    for row, (profile, area) in enumerate(zip(display.shown, display.better_, strict=True)):
        [path] = area.get_paths()
        top = row + 0.4 - path.vertices[:, 1].min()
        assert top == pytest.approx(0.8 * (max(profile.ribbon[0], 0) / max(best, worst)) ** 0.5)


def test_ribbons_count_what_they_leave_out(made):
    display = RibbonsDisplay.from_profiles(list(made.values()), max_features=2)
    assert "2 more features are not shown." in display.ax_.get_xlabel()
    assert len(display.tooltips()) == 2
    assert display.height < RibbonsDisplay(list(made.values())).height
    for bad in (0, 1.5, "all"):
        with pytest.raises(ArgumentError, match="max_features"):
            RibbonsDisplay(list(made.values()), bad)
    with pytest.raises(ArgumentError, match="profiles"):
        RibbonsDisplay([])


def test_ribbons_say_what_is_interpolated(made):
    n = sum(not one.exact for one in made.values())
    assert 0 < n < 4
    assert f"{n} of 4 features are interpolated" in RibbonsDisplay(list(made.values())).caption
    exact = [one for one in made.values() if one.exact]
    assert "interpolated" not in RibbonsDisplay(exact).caption
    long = next(tip for tip in RibbonsDisplay([made[LONG]]).plot().tooltips())
    assert long.text.startswith(LONG) and "interpolated between 64 values" in long.text


def test_ribbons_of_one_row_and_of_huge_gains(made):
    profile = made["dummy"]
    one = replace(profile, n=1, ribbon=(2.0,), n_better=1, n_worse=0)
    huge = replace(profile, feature="huge", ribbon=(1e308, 0.0, -1e308))
    display = RibbonsDisplay.from_profiles([one, huge])
    assert sorted(display.counts_)[0] == "100 % better, 0 % worse"
    display.figure_.canvas.draw()


def test_a_response_shows_the_restricted_function(made):
    profile = made[LONG]
    display = ResponseDisplay.from_profile(profile)
    [line], [base] = display.lines_, display.base_
    x, response = line.get_data()
    assert response == pytest.approx(np.interp(x, profile.values, profile.responses[0]))
    assert set(base.get_ydata()) == set(profile.base) and base.get_linestyle() == "--"
    [missing] = display.missing_
    assert missing.get_ydata()[0] == profile.missing_response[0] == pytest.approx(2.75)  # with c3
    assert missing.get_xdata()[0] > profile.edges[-1]
    assert texts(display.axes_[-1].xaxis)[-1] == "(missing)"
    assert sum(bar.get_height() for bar in display.rows_) == sum(profile.counts)
    shown = display.points_.get_offsets()[:, 1].tolist()
    assert shown == pytest.approx([*profile.bin_gain, profile.missing_gain[0]])
    assert "Interpolated between 64 values." in display.axes_[-1].get_xlabel()
    assert "Interpolated between 64 values." in display.caption
    assert all(tip.text.startswith(LONG) for tip in display.tooltips())
    # Every response and base lies within the picture.
    low, high = display.axes_[0].get_ylim()
    assert low < min(response.min(), *profile.base) and high > response.max()


def test_a_response_of_a_dummy_marks_both_values(made):
    display = ResponseDisplay.from_profile(made["dummy"])
    assert made["dummy"].exact and display.missing_ == []
    assert texts(display.axes_[-1].xaxis) == ["0", "1"]
    assert display.lines_[0].get_marker() == "o"
    assert [bar.get_height() for bar in display.rows_] == list(made["dummy"].counts)


def test_a_response_of_categories_counts_the_rarer_ones(made):
    profile = made["colour"]
    display = ResponseDisplay.from_profile(profile)
    names = texts(display.axes_[0].yaxis)
    assert names == [*profile.labels[:20], "(missing)"]
    assert list(display.lines_[0].get_xdata()) == list(profile.responses[0][:20])
    assert display.missing_[0].get_xdata()[0] == pytest.approx(5.0)
    n = sum(profile.counts[20:])
    assert f"{n:,} rows of rarer categories not shown." in display.axes_[0].get_xlabel()
    assert [bar.get_width() for bar in display.rows_] == [*profile.counts[:20], 50]
    assert display.points_.get_offsets()[:, 0].tolist() == pytest.approx(
        [*profile.bin_gain[:20], profile.missing_gain[0]]
    )
    tips = display.tooltips()
    assert len(tips) == 3 * 21 and tips[0].text.startswith(f"colour: {profile.labels[0]}\n")


def test_a_flat_response_lies_on_its_base(made):
    display = ResponseDisplay.from_profile(made["flat"])
    assert set(display.lines_[0].get_ydata()) == set(made["flat"].base)
    low, high = display.axes_[0].get_ylim()
    assert low < made["flat"].base[0] < high


def test_a_response_without_gains(made):
    for profile in made.values():
        display = ResponseDisplay.from_profile(profile, gains=False)
        assert len(display.axes_) == 2 and display.points_ is None
        assert "gain" not in display.caption.lower()


def test_intervals_of_few_rows_do_not_flatten_the_gains(made):
    profile = made["dummy"]
    low, high = (-np.inf, profile.bin_low[1]), (np.inf, profile.bin_high[1])
    wide = replace(profile, bin_n=(1, profile.bin_n[1]), bin_low=low, bin_high=high)
    display = ResponseDisplay.from_profile(wide)
    bottom, top = display.axes_[2].get_ylim()
    assert top - bottom < 4 * (max(profile.bin_high) - min(profile.bin_low))


def test_several_classes_differ_by_more_than_colour():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=900), [-1, 0, 1, 2])
    linear = pytest.importorskip("sklearn.linear_model")
    display = ResponseDisplay.from_model(linear.LogisticRegression().fit(X, y), X, y, 0)
    assert len(display.lines_) == 4 and "4 of 5 classes are shown." in display.caption
    assert len({line.get_linestyle() for line in display.lines_}) > 1
    dashes = {str(line._dash_pattern) for line in display.lines_}
    assert len(dashes) == 4
    legend = display.axes_[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == list(display.profile.outputs)


def test_a_group_has_a_ribbon_but_no_response(rows):
    X, y = rows
    arguments = {"groups": {"both": ["dummy", "flat"]}, "reference": "mode"}
    display = RibbonsDisplay.from_model(model, X, y, **arguments)
    assert "both" in [one.feature for one in display.shown]
    with pytest.raises(ArgumentError, match="'both' has no response curve"):
        ResponseDisplay.from_model(model, X, y, "both", **arguments)


def test_displays_draw_on_given_axes_and_change_no_settings(made):
    before = dict(matplotlib.rcParams)
    figure, axes = plt.subplots(1, 2)
    RibbonsDisplay.from_profiles(list(made.values()), ax=axes[0])
    display = ResponseDisplay.from_profile(made["colour"], ax=axes[1])
    assert display.figure_ is figure and dict(matplotlib.rcParams) == before
    figure.canvas.draw()
    for draw in (RibbonsDisplay([made["flat"]]), ResponseDisplay(made["flat"])):
        with pytest.raises(ArgumentError, match="ax must be"):
            draw.plot(ax=3)


def test_pages_show_profiles(made):
    pytest.importorskip("jinja2", reason="the extra sfit[report] is not installed")
    from sfit.report._figures import figures_of_comparison

    displays = [RibbonsDisplay(list(made.values())), *map(ResponseDisplay, made.values())]
    pictures = figures_of_comparison(SimpleNamespace(displays=lambda: displays), "profile")
    assert len(pictures) == 5
    for picture, display in zip(pictures, displays, strict=True):
        assert picture.title == display.title and picture.caption == display.caption
        assert "style=" not in picture.svg and "<title>" in picture.svg
    assert LONG in pictures[0].svg  # in full, in a tooltip


def test_from_model_passes_its_arguments_on(rows):
    X, y = rows
    X = X.drop(columns="colour")

    def simple(frame):
        return (np.abs(frame[LONG].fillna(2.0)) + frame["dummy"]).to_numpy()

    average = sfit.Average(X, n_rows=20)
    arguments = {"reference": average, "loss": "squared_error", "random_state": 4}
    [wanted] = profiles(simple, X, y, [LONG], fast=False, **arguments)
    display = ResponseDisplay.from_model(simple, X, y, LONG, fast=False, **arguments)
    assert display.profile == wanted and wanted.exact
    ribbons = RibbonsDisplay.from_model(simple, X, y, fast=False, **arguments)
    assert wanted in ribbons.shown
