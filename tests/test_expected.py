"""Saved models give the results that were recorded (`python -m expected --record`)."""

import json
from functools import cache

import pytest
from expected.__main__ import RESULTS
from expected.cases import GROUPS, content_of
from expected.content import TEXTS, differences, new_fields
from expected.saved import FOLDER


@cache
def recorded(group):
    return json.loads((RESULTS / f"{group}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("group", "title"), [(name, title) for name in GROUPS for title in GROUPS[name].cases]
)
def test_a_case_gives_the_recorded_result(group, title):
    """Counts, decisions and names exactly, floats but for rounding; new fields do not count."""
    if missing := GROUPS[group].missing():
        pytest.skip(f"{', '.join(missing)} not installed")
    found = content_of(GROUPS[group].cases[title])
    assert not list(differences(recorded(group)[title], found, GROUPS[group].tolerance))


@pytest.mark.parametrize("group", GROUPS)
def test_every_recorded_result_has_its_case(group):
    assert set(recorded(group)) == set(GROUPS[group].cases)


def changed(value, path, change):
    """A copy of a result with one number changed."""
    copied = json.loads(json.dumps(value))
    *way, last = path
    inner = copied
    for step in way:
        inner = inner[step]
    inner[last] = change(inner[last])
    return copied


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (("tests", 0, "n_positive"), lambda count: count + 1),
        (("tests", 0, "n_positive"), float),
        (("tests", 0, "statistic"), lambda value: value * (1 + 1e-11)),
        (("tests", 0, "ci_low"), lambda value: value + 2e-12),
        (("tests", 0, "p_value"), lambda value: value * (1 + 1e-11)),
        (("gates", 0, "p_value"), lambda value: value * (1 + 1e-11)),
        (("tests", 0, "significant"), lambda value: not value),
        (("tests", 0, "term"), lambda names: [*names, "e"]),
        (("tests", 0, "beta_max"), lambda _: "nan"),
        (("gates", 0, "is_open"), int),
        (("settings", "beta"), lambda betas: betas[:-1]),
    ],
)
def test_a_small_change_of_a_result_is_seen(path, change):
    result = recorded("functions")["function, order 2"]
    assert list(differences(result, changed(result, path, change), 1e-12))


def test_rounding_and_new_fields_are_no_change():
    result = recorded("functions")["function, order 2"]
    rounded = changed(result, ("tests", 0, "statistic"), lambda value: value * (1 + 1e-14))
    assert not list(differences(result, rounded, 1e-12))
    assert list(differences(result, rounded))
    larger = changed(result, ("settings",), lambda settings: {**settings, "clusters": None})
    assert not list(differences(result, larger))
    assert list(new_fields(result, larger)) == [".settings.clusters"]
    [missing] = differences(larger, result)
    assert missing == ".settings.clusters is missing"


def test_what_is_recorded_holds_numbers_and_no_sentences():
    """Texts may be reworded; a result without its texts has all else."""
    result = content_of(GROUPS["functions"].cases["function, order 2"])
    assert set(result) == {"feature_names", "settings", "tests", "gates", "beta_choice"}
    assert not TEXTS & set(result["settings"])


def test_the_folder_stays_small():
    sizes = [file.stat().st_size for folder in (FOLDER, RESULTS) for file in folder.iterdir()]
    assert max(sizes) < 200_000
    assert sum(sizes) < 1_500_000
