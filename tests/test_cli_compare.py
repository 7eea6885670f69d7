"""`sfit compare`, as its users run it: the answers of the library, on files."""

import json
import pickle
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from models.saved import rows
from sklearn.linear_model import LinearRegression, LogisticRegression

import sfit
import sfit.cli
from sfit.exceptions import ArgumentError

pytest.importorskip("typer")
pytest.importorskip("rich")

from test_cli import ANSI, Trap, assert_refused, content, on_a_terminal

from sfit.cli._compare import names_of

OPTIONS = ("--allow-pickle", "--seed", "0")


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """The program in this process, in the folder: what it printed, and its exit code."""
    monkeypatch.chdir(folder)

    def call(*arguments):
        capsys.readouterr()
        code = sfit.cli.run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=printed.out, stderr=printed.err)

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows, and models with different columns."""
    path = tmp_path_factory.mktemp("compare")
    data = rows()
    data["month"] = np.arange(len(data)) // 200
    data["number"] = (data["label"] == "yes").astype(int)
    data.to_csv(path / "rows.csv", index=False)
    data[:300].to_csv(path / "train.csv", index=False)
    joblib.dump(LinearRegression().fit(data[["a", "c"]], data["value"]), path / "old.joblib")
    joblib.dump(LinearRegression().fit(data[["a", "b"]], data["value"]), path / "new.joblib")
    for name in ("label", "number"):
        model = LogisticRegression().fit(data[["a", "b", "c"]], data[name])
        joblib.dump(model, path / f"{name}.joblib")
    return path


def table(folder):
    return pd.read_csv(folder / "rows.csv")


def model_in(folder, name):
    return joblib.load(folder / f"{name}.joblib")


def compared(run, folder, *arguments, out):
    """Run a comparison; return what it printed, and what it stored."""
    ended = run("compare", *arguments, *OPTIONS, "--json", out)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.endswith(f"Wrote {out}.\n")
    return ended.stdout, json.loads((folder / out).read_text())


# --- the answers of the library -----------------------------------------------------------------


def test_two_models(run, folder):
    """Models with different columns; the names are those of the files, or those asked for."""
    stdout, stored = compared(
        run,
        folder,
        *("models", "old.joblib", "new.joblib", "rows.csv", "-t", "value"),
        *("--reference", "train.csv", "--alpha", "0.1", "--correction", "none"),
        *("--loss", "squared_error"),
        out="models.json",
    )
    models = {"old": model_in(folder, "old"), "new": model_in(folder, "new")}
    asked = {"reference": table(folder)[:300], "alpha": 0.1, "loss": "squared_error"}
    expected = sfit.compare_models(
        models, table(folder), "value", correction=None, random_state=0, **asked
    )
    assert stored["result"] == content(expected)
    assert stdout == expected.summary() + "\n"
    _, stored = compared(
        run,
        folder,
        *("models", "old.joblib", "new.joblib", "rows.csv", "-t", "value"),
        *("--names", "champion, challenger"),
        out="named.json",
    )
    assert stored["result"]["names"] == ["champion", "challenger"]
    assert stored["result"]["settings"]["correction"] == "holm"


@pytest.mark.filterwarnings("always::sfit.exceptions.SFITWarning")
def test_features(run, folder):
    """Every option that comparisons share reaches the library."""
    stdout, stored = compared(
        run,
        folder,
        *("features", "label.joblib", "rows.csv", "-t", "label", "--features", "a,b,c"),
        *("--group", "both=a,b", "--clusters", "month", "--loss", "brier", "--alpha", "0.2"),
        *("--reference", "median", "--jobs", "2"),
        out="features.json",
    )
    with pytest.warns(sfit.exceptions.SFITWarning, match="clusters are few"):
        expected = sfit.compare_features(
            model_in(folder, "label"),
            table(folder),
            "label",
            features=["a", "b", "c"],
            groups={"both": ["a", "b"]},
            clusters="month",
            loss="brier",
            alpha=0.2,
            reference="median",
            random_state=0,
        )
    assert stored["result"] == content(expected)
    assert stdout == expected.summary() + "\n"


@pytest.mark.parametrize("given", ["rest", "c"])
def test_features_over_given_ones(run, folder, given):
    """Some features, or all the others."""
    _, stored = compared(
        run,
        folder,
        *("features", "label.joblib", "rows.csv", "-t", "label", "--features", "a,b,c"),
        *("--given", given),
        out="given.json",
    )
    assert stored["result"]["settings"]["given"] == [given]


def test_parts(run, folder):
    """Parts in their order, with a trend."""
    stdout, stored = compared(
        run,
        folder,
        *("parts", "new.joblib", "rows.csv", "-t", "value", "--by", "month", "--trend"),
        *("--correction", "bonferroni"),
        out="parts.json",
    )
    expected = sfit.compare_parts(
        model_in(folder, "new"),
        table(folder),
        "value",
        by="month",
        trend=True,
        correction="bonferroni",
        random_state=0,
    )
    assert stored["result"] == content(expected)
    assert len(stored["result"]["trends"]) == 2
    assert stdout == expected.summary() + "\n"


def test_parquet_and_checkpoints(run, folder):
    """Rows are read tile by tile; the same command goes on, another model is refused."""
    pytest.importorskip("pyarrow")
    table(folder).to_parquet(folder / "kept.parquet")
    command = ("compare", "models", "old.joblib", "new.joblib", "kept.parquet", "-t", "value")
    plain = run(*command, *OPTIONS)
    assert plain.returncode == 0, plain.stderr
    command = (*command, *OPTIONS, "--checkpoint", "run.sqlite")
    kept = [run(*command) for _ in range(2)]
    assert [ended.stdout for ended in kept] == [plain.stdout] * 2, kept[0].stderr
    swapped = (*command[:2], "new.joblib", "old.joblib", *command[4:], "--names", "old,new")
    assert_refused(run(*swapped), "another run")
    assert_refused(run(*command, "--alpha", "0.1"), "another run", "alpha was 0.05 and is 0.1")


@pytest.mark.parametrize("kind", ["models", "features", "parts"])
def test_reports(run, folder, kind):
    """Along with a comparison, and from its JSON: the same page."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    files = ("old.joblib", "new.joblib") if kind == "models" else ("old.joblib",)
    own = ("--by", "part") if kind == "parts" else ()
    written = ("--json", f"{kind}-r.json", "--report", f"{kind}-r.html")
    ended = run(*("compare", kind, *files, "rows.csv", "-t", "value", *own, *OPTIONS, *written))
    assert ended.returncode == 0, ended.stderr
    page = (folder / f"{kind}-r.html").read_text(encoding="utf-8")
    assert "<html" in page and "<svg " in page
    ended = run("report", f"{kind}-r.json", "--out", "again.html")
    assert ended.returncode == 0, ended.stderr
    assert (folder / "again.html").read_text(encoding="utf-8") == page


def test_labels_of_two_models(run, folder):
    """Text and numbers do not mix, whichever comes first; names for both models help."""
    for files in (("label.joblib", "number.joblib"), ("number.joblib", "label.joblib")):
        for target in ("label", "number"):
            command = ("compare", "models", *files, "rows.csv", "-t", target, *OPTIONS)
            command += ("--features", "a,b,c")
            refused = run(*command)
            assert_refused(refused, "--classes")
    named = run(*command[:6], "label", *command[7:], "--classes", "no,yes")
    assert named.returncode == 0, named.stderr
    assert "do not differ significantly" in named.stdout


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["models", "a.skops", "b.skops", "rows.csv"], ["--target", "sfit compare models --help"]),
        (["models", "a.skops", "rows.csv", "-t", "y"], ["DATA"]),
        (["models", "a.skops", "b.skops", "d.csv", "-t", "y", "--names", "a"], ["--names", "'a'"]),
        (["models", "a.skops", "a.skops", "d.csv", "-t", "y"], ["the same file", "a.skops"]),
        (["features", "a.skops", "d.csv", "-t", "y", "--group", "x"], ["--group", "'x'"]),
        (["parts", "a.skops", "d.csv", "-t", "y"], ["--by"]),
        (["features", "a.skops", "d.csv", "-t", "y", "--json", "no/x.json"], ["no/x.json"]),
        (["everything"], ["everything", "sfit compare --help"]),
        (["features", "a.skops", "d.csv", "-t", "y"], ["there is no model file", "a.skops"]),
    ],
)
def test_wrong_arguments(run, arguments, words):
    """Refused in one line, before any work."""
    assert_refused(run("compare", *arguments), *words)


def test_errors_of_the_library_are_one_line(run, folder):
    """They name the argument and, where there are two models, the model."""
    command = ("compare", "models", "old.joblib", "new.joblib", "rows.csv", "-t")
    assert_refused(run(*command, "nothing", *OPTIONS), "--target", "nothing")
    assert_refused(run(*command, "value", "--correction", "other", *OPTIONS), "correction", "other")
    refused = run(*command, "value", "--features", "a,b", *OPTIONS)
    assert_refused(refused, "model 'old'")


def test_loading_runs_nothing_unless_allowed(run, folder):
    """A pickle is refused in either place, and not opened."""
    dump = pytest.importorskip("skops.io").dump
    dump(model_in(folder, "old"), folder / "old.skops")
    sprung = folder / "sprung"
    (folder / "trap.skops").write_bytes(pickle.dumps(Trap(sprung)))
    for files in (("trap.skops", "old.skops"), ("old.skops", "trap.skops")):
        ended = run("compare", "models", *files, "rows.csv", "-t", "value")
        assert_refused(ended, "trap.skops", "--allow-pickle")
    assert_refused(
        run("compare", "features", "trap.skops", "rows.csv", "-t", "value"), "--allow-pickle"
    )
    assert not sprung.exists()


def test_names_of_models():
    """As asked, as the files, or with their folders."""
    assert names_of(None, ("a/x.skops", "b/y.onnx")) == ["x", "y"]
    assert names_of(None, ("a/x.skops", "b/x.skops")) == ["a/x.skops", "b/x.skops"]
    assert names_of(" old ,new", ("x", "y")) == ["old", "new"]
    for bad in ("", "a", "a,a", "a,b,c", "a,"):
        with pytest.raises(ArgumentError, match="--names must be two different names"):
            names_of(bad, ("x", "y"))


# --- the terminal -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(folder):
    """Features whose names try to command the terminal."""
    data = rows().rename(columns={"a": "[red]a[/red]", "b": "b\n\x1b[2J\x07", "c": "c" * 200})
    data.to_csv(folder / "hostile.csv", index=False)
    names = list(data.columns[:3])
    joblib.dump(LinearRegression().fit(data[names], data["value"]), folder / "hostile.joblib")
    joblib.dump(LinearRegression().fit(data[names[:1]], data["value"]), folder / "one.joblib")
    names = f"[bold]{'champion' * 9},chal\x1b[2Jlenger"
    files = ("hostile.joblib", "one.joblib", "hostile.csv")
    return ("compare", "models", *files, "-t", "value", "--names", names, *OPTIONS)


@pytest.mark.parametrize("columns", [50, 80, 120, 200])
def test_tables_fit_the_terminal(folder, hostile, columns):
    """No line is too long, no number is cut or wrapped, and names are not obeyed."""
    shown = on_a_terminal(*hostile, cwd=folder, columns=columns)
    assert "\x1b[2J" not in shown and "\x07" not in shown
    text = ANSI.sub("", shown)
    lines = text.splitlines()
    assert max(map(len, lines)) <= columns
    result = sfit.compare_models(
        {"x": model_in(folder, "hostile"), "y": model_in(folder, "one")},
        pd.read_csv(folder / "hostile.csv"),
        "value",
        random_state=0,
    )
    head, *grids = result.grids()
    assert [line for line in lines if line.startswith("*")]
    for grid in (head, *grids):
        at = grid.head.index("Difference")
        for row, marked in zip(grid.rows, grid.marked, strict=True):
            [line] = [line for line in lines if row[at] in line.split()][:1]
            assert line.startswith("*") == marked
            assert row[grid.head.index("p")] in line.split()
            assert row[-1] in line.split() or columns < 200
            assert row[-1] not in line.split() or columns > 50


def test_the_other_comparisons_on_a_terminal(folder):
    """Possible ranks and the parts stay, whatever is dropped."""
    files = ("label.joblib", "rows.csv", "-t", "label", "--features", "a,b,c", *OPTIONS)
    text = ANSI.sub("", on_a_terminal("compare", "features", *files, cwd=folder, columns=50))
    assert "Possible" in text and "certain" in text
    assert max(map(len, text.splitlines())) <= 50
    by = ("--by", "month", "--trend")
    text = ANSI.sub("", on_a_terminal("compare", "parts", *files, *by, cwd=folder, columns=50))
    assert "Trend over the parts" in text and "Each part and the rest" in text
    assert max(map(len, text.splitlines())) <= 50


def test_help_fits_a_screen_and_its_examples_are_valid(run, tmp_path, monkeypatch):
    """At 80 columns; each example misses nothing but the files."""
    from sfit.cli._app import app
    from sfit.exceptions import ModelError

    monkeypatch.chdir(tmp_path)
    assert "compare" in run("--help").stdout
    *_, models, features, parts = run("compare", "--help").stdout.splitlines()
    for line, kind in ((models, "models"), (features, "features"), (parts, "parts")):
        assert line.startswith(f"  {kind} ") and line.endswith(".") and "..." not in line
    for kind in ("models", "features", "parts"):
        ended = run("compare", kind, "--help")
        lines = ended.stdout.splitlines()
        assert ended.returncode == 0 and len(lines) <= 40 and max(map(len, lines)) <= 96
        examples = [line.split() for line in lines if line.strip().startswith("sfit compare")]
        assert len(examples) == 2
        for example in examples:
            with pytest.raises(ModelError, match="there is no model file"):
                app([word.strip("'") for word in example[1:]], standalone_mode=False)
