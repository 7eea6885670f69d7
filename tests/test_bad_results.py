"""Stored results that `to_json` did not write, and bad arguments of the methods of a result."""

import json

import numpy as np
import pytest
from bad_input import BAD_LEVELS, CLASS, N, Recorder, X, Y, assert_refused

import sfit
from sfit._document import sealed
from sfit.exceptions import ArgumentError, DataError, SFITError


@pytest.fixture(scope="module")
def result():
    return sfit.feature_significance(Recorder(), X, Y)


@pytest.mark.parametrize("value", [v for v in BAD_LEVELS.values() if v is not None], ids=repr)
def test_at_refuses_a_level(result, value):
    """`at` checks the level as the test itself does."""
    assert_refused(lambda: result.at(alpha=value), ArgumentError, ["alpha", "between 0 and 1"])


@pytest.mark.parametrize("value", ["x", 3, [], True, np.array(["holm", "x"])], ids=repr)
def test_at_refuses_a_correction(result, value):
    """`at` names the corrections there are."""
    assert_refused(lambda: result.at(correction=value), ArgumentError, ["correction", "'holm'"])


def changed(document, **changes):
    """The document with other parts, and the checksum of these: forged, not damaged."""
    return json.dumps(sealed({**document, **changes}))


def altered(document, **changes):
    """The document with other fields in its first test."""
    first, *others = document["result"]["tests"]
    return changed(
        document, result={**document["result"], "tests": [{**first, **changes}, *others]}
    )


BROKEN = {
    "not-json": lambda d: "{nonsense",
    "truncated": lambda d: json.dumps(d)[:300],
    "empty-object": lambda d: "{}",
    "list": lambda d: "[1]",
    "kind": lambda d: changed(d, kind="PartitionedResult"),
    "version": lambda d: changed(d, schema_version=99),
    "no-result": lambda d: json.dumps(sealed({k: v for k, v in d.items() if k != "result"})),
    "no-run": lambda d: json.dumps(sealed({k: v for k, v in d.items() if k != "run"})),
    "no-checksum": lambda d: json.dumps({k: v for k, v in d.items() if k != "checksum"}),
    "another-checksum": lambda d: json.dumps({**d, "checksum": "0" * 32}),
    "edited": lambda d: json.dumps({**d, "result": {**d["result"], "caveats": ["mine"]}}),
    "result-null": lambda d: changed(d, result=None),
    "tests-text": lambda d: changed(d, result={**d["result"], "tests": "abc"}),
    "tests-fields": lambda d: changed(d, result={**d["result"], "tests": [{"a": 1}]}),
    "settings-empty": lambda d: changed(d, result={**d["result"], "settings": {}}),
    "names-number": lambda d: changed(d, result={**d["result"], "feature_names": 3}),
    "tests-count-text": lambda d: altered(d, n_positive="<b>"),
    "tests-count-broken": lambda d: altered(d, n=1.5),
    "tests-term-number": lambda d: altered(d, term=[3]),
    "tests-term-text": lambda d: altered(d, term="abc"),
    "tests-p-null": lambda d: altered(d, p_value=None),
    "tests-flag-number": lambda d: altered(d, significant=1),
    "names-nested": lambda d: changed(d, result={**d["result"], "feature_names": [["a"]]}),
    "caveats-number": lambda d: changed(d, result={**d["result"], "caveats": [1]}),
    "settings-alpha": lambda d: changed(
        d, result={**d["result"], "settings": {**d["result"]["settings"], "alpha": "<b>"}}
    ),
    "nothing": lambda d: "",
    "none": lambda d: None,
    "number": lambda d: 3,
    "null-byte": lambda d: "a\0b",
    "no-file": lambda d: "no-such-file.json",
    "long-text": lambda d: "x" * 5_000,
    "deep": lambda d: '{"a":' * 100_000,
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_from_json_refuses(result, broken):
    """A document that to_json did not write is refused."""
    source = broken(json.loads(result.to_json()))
    with pytest.raises(SFITError):
        sfit.SFITResult.from_json(source)


def with_settings(document, **changes):
    """The document with other settings."""
    result = document["result"]
    return changed(document, result={**result, "settings": {**result["settings"], **changes}})


def with_names(document, *names):
    """The document with other names of features."""
    return changed(document, result={**document["result"], "feature_names": names})


HUGE = 10**400
FORGED = {
    "alpha-huge": (lambda d: with_settings(d, alpha=HUGE), "alpha", "1000"),
    "alpha-zero": (lambda d: with_settings(d, alpha=0), "alpha", "0.0"),
    "beta-empty": (lambda d: with_settings(d, beta=[]), "beta", "()"),
    "beta-above-one": (lambda d: with_settings(d, beta=[1.5]), "beta", "1.5"),
    "correction-unknown": (lambda d: with_settings(d, correction="x"), "correction", "'x'"),
    "max-order": (lambda d: with_settings(d, max_order=0), "max_order", "0"),
    "statistic-huge": (lambda d: altered(d, statistic=HUGE), "statistic", "1000"),
    "p-huge": (lambda d: altered(d, p_value=HUGE), "p_value", "1000"),
    "p-negative": (lambda d: altered(d, p_value=-0.5), "p_value", "-0.5"),
    "p-above-one": (lambda d: altered(d, p_adjusted=1.5), "p_adjusted", "1.5"),
    "p-nan": (lambda d: altered(d, p_value="nan"), "p_value", "nan"),
    "n-huge": (lambda d: altered(d, n=HUGE), "n must", "1000"),
    "n-zero": (lambda d: altered(d, n=0), "n contradicts", "0"),
    "n-positive-negative": (lambda d: altered(d, n_positive=-5), "n_positive", "-5"),
    "n-positive-above-n": (lambda d: altered(d, n_positive=N + 1), "n_positive", str(N + 1)),
    "order-huge": (lambda d: altered(d, order=10**9), "order", "1000000000"),
    "term-empty": (lambda d: altered(d, term=[]), "term", "()"),
    "term-twice": (lambda d: altered(d, term=["x0", "x0"]), "term", "('x0', 'x0')"),
    "term-unknown": (lambda d: altered(d, term=["z"]), "term", "'z'"),
    "base-unknown": (lambda d: altered(d, base=["z"]), "base", "'z'"),
    "names-dropped": (lambda d: with_names(d, "x1", "x2"), "term", "'x0'"),
    "names-twice": (lambda d: with_names(d, "x0", "x1", "x2", "x2"), "feature_names", "'x2'"),
    "tests-empty": (lambda d: changed(d, result={**d["result"], "tests": []}), "tests", "()"),
}


@pytest.mark.parametrize(("forge", "field", "value"), FORGED.values(), ids=FORGED)
def test_from_json_refuses_what_no_test_can_find(result, forge, field, value):
    """Fields of the right type with impossible values are refused by name."""
    source = forge(json.loads(result.to_json()))
    words = ["written by to_json", field, value]
    assert_refused(lambda: sfit.SFITResult.from_json(source), DataError, words)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("parts",), []),
        (("parts", 0, "part"), [1]),
        (("parts", 0, "tests", 0, "n"), HUGE),
        (("by",), 3),
    ],
    ids=["no-parts", "label-list", "n-huge", "by-number"],
)
def test_from_json_refuses_parts(where, value):
    """The parts of a partitioned result are checked in the same way."""
    document = json.loads(sfit.feature_significance(Recorder(), X, Y, by=CLASS).to_json())
    place = document["result"]
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    words = ["written by to_json", str(where[-1]).removesuffix("s")]
    source = changed(document)
    assert_refused(lambda: sfit.PartitionedResult.from_json(source), DataError, words)


@pytest.mark.parametrize(
    "numbers",
    [
        {"statistic": 1e308, "ci_low": -1e308, "ci_high": 1e308},
        {"statistic": "nan", "ci_low": "-inf", "ci_high": "inf"},
        {"beta_max": "inf"},
        {"beta_max": 1e308},
        {"n": 10**15},
    ],
    ids=["huge", "none", "beta-infinite", "beta-huge", "many-rows"],
)
def test_extreme_numbers_are_shown(result, numbers):
    """Summary, plot and report work for every value that a test can produce."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    document = json.loads(result.to_json())
    document["run"]["seconds"] = HUGE
    extreme = sfit.SFITResult.from_json(altered(document, **numbers))
    assert "x0" in extreme.summary()
    assert "<html" in extreme.to_html()


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"[]"], ids=["binary", "empty", "list"])
def test_from_json_refuses_a_file(tmp_path, content):
    """Files with other content are refused, and so are folders."""
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(SFITError):
        sfit.SFITResult.from_json(tmp_path / "file")
    with pytest.raises(SFITError):
        sfit.SFITResult.from_json(tmp_path)


@pytest.mark.parametrize("write", ["to_json", "to_markdown", "to_html"])
@pytest.mark.parametrize("path", ["no-such-folder/x", 3, "a\0b", ["x"]], ids=repr)
def test_writing_refuses_a_path(result, write, path):
    """The error names the path that cannot be written."""
    if write != "to_json":
        pytest.importorskip("jinja2")
        pytest.importorskip("matplotlib")
    words = ["path", repr(path), "folder that exists"]
    assert_refused(lambda: getattr(result, write)(path), ArgumentError, words)
