"""Awkward names in an audit: no two labels alike, full names at hand, and text of 80 columns."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from name_sets import N_SETS, name_set

import sfit
from sfit._audit._records import BuildUpStep
from sfit._labels import columns, look
from sfit._text import printable

SETS = [
    pytest.param(number, marks=[] if number % 11 == 0 else [pytest.mark.long])
    for number in range(N_SETS)
]
"""All sets of names; 28 of them, of every kind, in every run: there are 8 kinds, in turn."""

WEIGHTS = np.array([0.0, 0.8, -0.6, 0.5])


def model(rows):
    """Uses three of every four columns, whatever these are called."""
    values = np.asarray(rows, dtype=float)
    return values @ np.resize(WEIGHTS, values.shape[1])


@cache
def audited(number):
    """An audit of columns with these names."""
    # A stored frame holds no surrogates, so neither does an audit.
    names = list(dict.fromkeys(name.replace("\ud800", "") for name in name_set(number)))
    rng = np.random.default_rng(number)
    X = pd.DataFrame(rng.normal(size=(300, len(names))), columns=names)
    y = model(X) + rng.normal(size=300)
    return sfit.audit(
        model,
        X[100:],
        y[100:],
        train=X[:100],
        expected={names[0]: "+"},
        title="審査 " * 30,
        purpose=names[-1],
        model_name=names[0] or "m",
        data_name="x" * 200,
        n_background=2,
        random_state=0,
    )


@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
@pytest.mark.parametrize("number", SETS)
def test_the_summary(number):
    """It fits 80 columns as displayed, and no two features have the same label."""
    audit = audited(number)
    lines = audit.summary().splitlines()
    assert max(map(columns, lines)) <= 80
    assert all(printable(line) == line.replace("\xa0", " ") for line in lines)
    start = next(place for place, line in enumerate(lines) if line.startswith("Features: ")) + 2
    n = len(audit.related.tests)
    rows = lines[start : start + min(n, 30)]
    # A name ends 26 columns from the left; behind it are numbers.
    seen = []
    for row in rows:
        # Marks that combine with the last character take no column.
        end = max(place for place in range(len(row) + 1) if columns(row[:place]) == 26)
        seen.append(look(row[:end]))
        assert re.match(r" +[-\d–.e]+ +[\d.e<-]+ ", row[end:])
    assert len(set(seen)) == len(rows)
    assert "" not in seen


@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
@pytest.mark.parametrize("number", SETS)
def test_the_pictures(number):
    """Labels on the axis of names are unique; tooltips hold the full names of what is drawn."""
    plt = pytest.importorskip("matplotlib.pyplot")
    from sfit.plotting import BuildUpDisplay, CoinDisplay, RibbonsDisplay, RiseDisplay

    audit = audited(number)
    names = audit.related.feature_names
    steps = (
        *audit.build_up[:1],
        *(BuildUpStep("found", (name,), 2.0 - 0.01 * k) for k, name in enumerate(names[:8])),
        *audit.build_up[-1:],
    )
    displays = {
        "rise": RiseDisplay(audit.related, 12),
        "coin": CoinDisplay(audit.typical, 12),
        "build-up": BuildUpDisplay(steps, audit.settings.loss),
        "all rises": RiseDisplay(audit.related, 40),
    }
    if audit.profiles:
        displays["ribbons"] = RibbonsDisplay(audit.profiles)
    try:
        for kind, display in displays.items():
            display.plot()
            outer = display.figure_.axes
            every = [axes for one in outer for axes in (one, *one.child_axes)]
            for axes in every:
                if axes.yaxis.get_ticks_position() != "right":
                    ticks = [tick.get_text() for tick in axes.get_yticklabels() if tick.get_text()]
                    assert len(set(map(look, ticks))) == len(ticks), (kind, ticks)
            tips = [tip.text for tip in display.tooltips()]
            drawn = [name for name in names if any(printable(name) in tip for tip in tips)]
            assert len(drawn) >= min(len(names), 8 if kind != "ribbons" else len(audit.profiles))
    finally:
        plt.close("all")


@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
@pytest.mark.parametrize("number", SETS[::4])
def test_tables_hold_full_names(number):
    """In the frames, on the page and in Markdown."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2", reason="the extra sfit[report] is not installed")
    from page_tree import tree_of

    from sfit.report._document_page import as_document_page

    audit = audited(number)
    names = audit.related.feature_names
    assert sorted(audit.tables()["features"]["feature"]) == sorted(names)
    document = audit.document()
    [section] = [one for one in document.sections if one.key == "all-features"]
    table = replace(section, blocks=section.blocks[:1])
    page = tree_of(as_document_page(replace(document, sections=(table,))))
    heads = ["".join(cell.children) for cell in page.one("tbody").all("th", "name")]
    assert sorted(heads) == sorted(map(printable, names))
