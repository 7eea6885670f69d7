"""`sfit audit`, as its users run it: in a process of its own, on files."""

import json
import re
import shlex

import pandas as pd
import pytest
from models.saved import missing, rows, save

import sfit

pytest.importorskip("typer")
pytest.importorskip("rich")

from test_cli import FEATURES, assert_refused, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Held-out and training rows."""
    path = tmp_path_factory.mktemp("audits")
    data = rows()
    data[:300].to_csv(path / "train.csv", index=False)
    data[300:].to_csv(path / "rows.csv", index=False)
    return path


@pytest.fixture(scope="module")
def saved(folder):
    """Model files by format."""

    def get(name):
        if missing(name):
            pytest.skip(f"needs {', '.join(missing(name))}")
        return save(name, folder)

    return get


def held_out(folder, name):
    return pd.read_csv(folder / name)


@pytest.mark.parametrize("name", ["skops", "onnx", "json", "txt", "cbm", "joblib"])
def test_the_audit_is_pythons(folder, saved, name):
    file, model, target, options = saved(name)
    out = folder / f"{name}-audit.json"
    ended = run(
        *("audit", file, "rows.csv", "--target", target, "--train", "train.csv", *options),
        *("--seed", "3", "--json", out),
        cwd=folder,
    )
    assert ended.returncode == 0, ended.stderr
    audit = sfit.Audit.from_json(out)
    expected = sfit.audit(
        model,
        held_out(folder, "rows.csv"),
        target,
        train=held_out(folder, "train.csv"),
        features=FEATURES if "--features" in options else None,
        random_state=3,
    )
    assert audit.related == expected.related
    assert audit.explained == expected.explained
    assert audit.performance == expected.performance
    assert audit.model.name == file.name
    assert audit.data.name == "rows.csv"
    assert audit.data.fingerprint == expected.data.fingerprint
    assert ended.stdout == audit.summary() + "\n"


def test_all_options_and_the_command_that_repeats_them(folder, saved):
    """The page names a command; that command makes the same audit."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    file, *_ = saved("joblib")
    ended = run(
        *("audit", file.name, "rows.csv", "-t", "label", "--allow-pickle", "--train", "train.csv"),
        *("--by", "part", "--protected", "part,c", "--expect", "a=+", "--expect", "b=-"),
        *("--budget", "60", "--title", "A 'title'; <b>", "--author", "-A. Validator"),
        *("--purpose", "Loans", "--period", "2025", "--group", "bc=b,c", "--alpha", "0.1"),
        *("--features", "a,b,c", "--report", "page.html", "--json", "audit.json"),
        cwd=folder,
    )
    # A negative direction is expected of b, which is part of a group.
    assert_refused(ended, "expected", "'b'")
    ended = run(
        *("audit", file.name, "rows.csv", "-t", "label", "--allow-pickle", "--train", "train.csv"),
        *("--by", "part", "--protected", "part,c", "--expect", "a=+", "--expect", "bc=-"),
        *("--budget", "60", "--title", "A 'title'; <b>", "--author", "-A. Validator"),
        *("--purpose", "Loans", "--period", "2025", "--group", "bc=b,c", "--alpha", "0.1"),
        *("--features", "a,b,c", "--report", "page.html", "--json", "audit.json"),
        cwd=folder,
    )
    assert ended.returncode == 0, ended.stderr
    first = sfit.Audit.from_json(folder / "audit.json")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<b>" not in page.partition("<title>")[2].partition("</title>")[0]
    assert first.settings.author == "-A. Validator"
    assert first.settings.alpha == 0.1
    program, command, *arguments = shlex.split(first.settings.reproduce)
    assert (program, command) == ("sfit", "audit")
    again = run("audit", *arguments, "--json", "again.json", cwd=folder)
    assert again.returncode == 0, again.stderr
    second = sfit.Audit.from_json(folder / "again.json")
    assert second.settings.reproduce == first.settings.reproduce
    assert second.related == first.related
    assert second.by_group == first.by_group
    assert second.outcomes == first.outcomes


def test_a_stored_audit_becomes_a_document(folder, saved):
    pytest.importorskip("docx")
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    file, *_ = saved("joblib")
    ended = run(
        *("audit", file, "rows.csv", "-t", "label", "--allow-pickle", "--json", "stored.json"),
        *("--features", "a,b,c"),
        cwd=folder,
    )
    assert ended.returncode == 0, ended.stderr
    for name in ("stored.docx", "stored.html"):
        made = run("report", "stored.json", "--out", name, cwd=folder)
        assert made.returncode == 0, made.stderr
        assert (folder / name).stat().st_size > 10_000
    broken = (folder / "stored.json").read_text(encoding="utf-8").replace('"Audit"', '"Other"')
    (folder / "broken.json").write_text(broken, encoding="utf-8")
    assert_refused(run("report", "broken.json", "--out", "x.html", cwd=folder), "'Other'")


def test_parquet_is_csv(folder, saved):
    pytest.importorskip("pyarrow")
    file, *_ = saved("joblib")
    for name in ("rows", "train"):
        held_out(folder, f"{name}.csv").to_parquet(folder / f"{name}.parquet")
    found = []
    for kind in ("csv", "parquet"):
        ended = run(
            *("audit", file, f"rows.{kind}", "-t", "label", "--allow-pickle", "--seed", "1"),
            *("--train", f"train.{kind}", "--features", "a,b,c", "--json", f"{kind}.json"),
            cwd=folder,
        )
        assert ended.returncode == 0, ended.stderr
        found.append(sfit.Audit.from_json(folder / f"{kind}.json"))
    assert found[0].related == found[1].related
    assert found[0].checks == found[1].checks


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--budget", "soon"), ["budget", "soon"]),
        (("--expect", "a"), ["--expect", "NAME=+"]),
        (("--expect", "a=up"), ["--expect", "a=up"]),
        (("--expect", "z=+"), ["expected", "'z'"]),
        (("--protected", "z"), ["protected", "'z'"]),
        (("--by", "z"), ["by", "'z'"]),
        (("--train", "nowhere.csv"), ["nowhere.csv"]),
        (("--alpha", "2"), ["alpha"]),
        (("--loss", "los"), ["loss"]),
        (("--report", "no/page.html"), ["no/page.html"]),
        (("--json", "."), ["folder"]),
        (("--clusters", "z"), ["clusters", "'z'"]),
    ],
)
def test_wrong_options_are_refused(folder, saved, options, words):
    file, *_ = saved("joblib")
    ended = run(
        *("audit", file, "rows.csv", "-t", "label", "--allow-pickle", "--features", "a,b,c"),
        *options,
        cwd=folder,
    )
    assert_refused(ended, *words)


def test_an_audit_resumes_from_its_checkpoint(folder, saved):
    file, *_ = saved("joblib")
    command = (
        *("audit", file, "rows.csv", "-t", "label", "--allow-pickle", "--features", "a,b,c"),
        *("--checkpoint", "audit.sqlite", "--json"),
    )
    for name in ("one.json", "two.json"):
        ended = run(*command, name, cwd=folder)
        assert ended.returncode == 0, ended.stderr
    one, two = (sfit.Audit.from_json(folder / name) for name in ("one.json", "two.json"))
    # The seed was drawn by the first run.
    assert one == two
    assert re.search(r"--seed \d+", one.settings.reproduce)
    assert_refused(run(*command, "x.json", "--by", "part", cwd=folder), "another run")
    assert json.loads((folder / "one.json").read_text(encoding="utf-8"))["kind"] == "Audit"
