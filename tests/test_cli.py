"""The program `sfit`, as its users run it: in a process of its own, on files."""

import gzip
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from models.saved import NEEDS, missing, rows, save

import sfit
from sfit.exceptions import ArgumentError, DataError, ModelError
from sfit.models import function_model

pytest.importorskip("typer")
pytest.importorskip("rich")

from sfit.cli import with_option
from sfit.cli._labels import match_labels

ANSI = re.compile(r"\x1b\[[0-9;]*m")
FEATURES = ["a", "b", "c"]

# Wherever a process runs, it runs the package under test.
SOURCE = str(Path(sfit.__file__).parents[1])


def environment(**changes):
    """The environment without what would change the output."""
    loud = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "PYTHONWARNINGS")
    kept = {key: value for key, value in os.environ.items() if key not in loud}
    return {**kept, "PYTHONPATH": SOURCE, **changes}


def run(*arguments, cwd=None, **changes):
    """What the program printed, and its exit code."""
    return subprocess.run(
        [sys.executable, "-m", "sfit", *map(str, arguments)],
        cwd=cwd,
        env=environment(**changes),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def assert_refused(ended, *words):
    """Exit code 2, one line that says what to do, no traceback, nothing on the output."""
    assert ended.returncode == 2, ended
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    assert ended.stderr.startswith("Error: ")
    assert "Traceback" not in ended.stderr
    for word in words:
        assert word in ended.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The rows in all kinds of files."""
    path = tmp_path_factory.mktemp("cli")
    data = rows()
    data.to_csv(path / "rows.csv", index=False)
    with gzip.open(path / "rows.csv.gz", "wt") as file:
        data.to_csv(file, index=False)
    data[:300].to_csv(path / "train.csv", index=False)
    return path


@pytest.fixture(scope="module")
def saved(folder):
    """Model files by format, written when first asked for."""
    known = {}

    def get(name):
        if missing(name):
            pytest.skip(f"needs {', '.join(missing(name))}")
        if name not in known:
            known[name] = save(name, folder)
        return known[name]

    return get


@pytest.fixture(scope="module")
def joblib_file(saved):
    """The file that needs no optional library."""
    return saved("joblib").file


def content(result):
    """The part of a result that is equal for equal runs."""
    return json.loads(result.to_json())["result"]


# --- the same answer as from Python ---------------------------------------------------------


@pytest.mark.parametrize("name", NEEDS)
def test_the_answer_is_pythons(folder, saved, name):
    """For every format: exit code 0, Python's summary on the output, and Python's result in JSON."""
    file, model, target, options = saved(name)
    out = folder / f"{name}-result.json"
    ended = run("test", file, "rows.csv", "-t", target, *options, "--json", out, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == f"Wrote {out}.\n"
    features = FEATURES if "--features" in options else None
    expected = sfit.feature_significance(model, rows(), target, features=features)
    stored = sfit.SFITResult.from_json(out)
    if name == "pt2":  # the same network, computed by another program
        assert stored.significant == expected.significant
        assert stored.table["statistic"].tolist() == pytest.approx(
            expected.table["statistic"].tolist(), rel=1e-4, abs=1e-6
        )
    else:
        assert content(stored) == content(expected)
        assert ended.stdout == expected.summary() + "\n"


def test_every_option(folder, saved):
    """Options reach the library, each in its place; rows come compressed, the reference from a file."""
    file, model, *_ = saved("joblib")
    out = folder / "options.json"
    ended = run(
        *("test", file, "rows.csv.gz", "--target", "label", "--allow-pickle", "--json", out),
        *("--loss", "brier", "--alpha", "0.1", "--beta", "0.02,0.001", "--order", "2"),
        *("--correction", "fdr_by", "--by", "part", "--group", "ab=a,b", "--partners", "1"),
        *("--reference", "train.csv", "--jobs", "1", "--seed", "3", "--features", "c,b,a"),
        cwd=folder,
    )
    assert ended.returncode == 0, ended.stderr
    expected = sfit.feature_significance(
        model,
        rows(),
        "label",
        loss="brier",
        alpha=0.1,
        beta=(0.02, 0.001),
        max_order=2,
        correction="fdr_by",
        by="part",
        groups={"ab": ["a", "b"]},
        n_partners=1,
        reference=rows()[:300],
    )
    assert content(sfit.PartitionedResult.from_json(out)) == content(expected)
    assert ended.stdout == expected.summary() + "\n"


@pytest.mark.parametrize(("text", "levels"), [("auto", "auto"), ("0.04,0.01", (0.04, 0.01))])
def test_errors_over_all_orders(folder, saved, text, levels):
    """The levels of the orders, or the split by default."""
    file, model, *_ = saved("joblib")
    out = folder / "levels.json"
    ended = run(
        *("test", file, "rows.csv.gz", "--target", "label", "--allow-pickle", "--json", out),
        *("--order", "2", "--alpha-by-order", text, "--reference", "0"),
        *("--features", "a,b,c"),
        cwd=folder,
    )
    assert ended.returncode == 0, ended.stderr
    expected = sfit.feature_significance(
        model, rows(), "label", features=["a", "b", "c"], max_order=2, alpha_by_order=levels,
        reference=0.0,
    )  # fmt: skip
    assert content(sfit.SFITResult.from_json(out)) == content(expected)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_averaged_reference(folder, saved, kind):
    """Rows are drawn from a file with the seed of the program."""
    file, model, *_ = saved("joblib")
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        pd.read_csv(folder / "train.csv").to_parquet(folder / "train.parquet")
    out = folder / "average.json"
    options = ("-t", "label", "--allow-pickle", "--seed", "5", "--json", out)
    ended = run(
        *("test", file, "rows.csv", *options, "--reference", f"average:train.{kind}"), cwd=folder
    )
    assert ended.returncode == 0, ended.stderr
    average = sfit.Average(rows()[:300])
    expected = sfit.feature_significance(model, rows(), "label", reference=average, random_state=5)
    assert content(sfit.SFITResult.from_json(out)) == content(expected)
    assert ended.stdout == expected.summary() + "\n"
    ended = run("test", file, "rows.csv", *options, "--reference", "average:no.csv", cwd=folder)
    assert_refused(ended, "no.csv")


def test_a_permutation_test(folder, saved):
    """The test and its options reach the library; a stored result becomes a report."""
    file, model, *_ = saved("joblib")
    out, page = folder / "permuted.json", folder / "permuted.html"
    ended = run(
        *("test", file, "rows.csv", "-t", "label", "--allow-pickle", "--test", "permutation"),
        *("--n-permutations", "499", "--statistic", "loss", "--seed", "3"),
        *("--reference", "average:train.csv", "--json", out),
        cwd=folder,
    )
    assert ended.returncode == 0, ended.stderr
    expected = sfit.feature_significance(
        model,
        rows(),
        "label",
        test=sfit.PermutationTest(n_permutations=499, statistic="loss"),
        reference=sfit.Average(rows()[:300]),
        random_state=3,
    )
    assert content(sfit.SFITResult.from_json(out)) == content(expected)
    assert ended.stdout == expected.summary() + "\n"
    assert "Smallest p: 0.002 (resolution)" in ended.stdout
    assert run("report", out, "--out", page, cwd=folder).returncode == 0
    assert "By how many standard deviations" in page.read_text(encoding="utf-8")


def test_a_report_is_written_as_its_ending_says(tmp_path):
    """The program writes what the method of the result writes."""
    pytest.importorskip("docx")
    pytest.importorskip("openpyxl")
    X, y = sfit.simulate.interactions(300, random_state=0)
    result = sfit.feature_significance(sfit.simulate.interactions_mean, X, y)
    result.to_json(tmp_path / "result.json")
    writers = {
        "html": result.to_html,
        "md": result.to_markdown,
        "docx": result.to_docx,
        "XLSX": result.to_excel,
        "tex": result.to_latex,
    }
    for ending, write in writers.items():
        write(tmp_path / f"expected.{ending}")
        ended = run("report", "result.json", "--out", f"out.{ending}", cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        out, expected = (tmp_path / f"{name}.{ending}" for name in ("out", "expected"))
        assert out.read_bytes() == expected.read_bytes()


def test_a_permutation_test_over_given_features(folder, saved):
    """Strata of a discrete column, and the refusal of the rest."""
    file, model, *_ = saved("joblib")
    frame = rows()
    name = next(name for name in frame.columns if name != "label")
    frame[name] = [row % 3 for row in range(len(frame))]
    frame.to_csv(folder / "strata.csv", index=False)
    out = folder / "given.json"
    command = ("test", file, "strata.csv", "-t", "label", "--allow-pickle", "--test", "permutation")
    ended = run(*command, "--given", name, "--seed", "3", "--json", out, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    expected = sfit.feature_significance(
        model, frame, "label", test="permutation", given=[name], random_state=3
    )
    assert content(sfit.SFITResult.from_json(out)) == content(expected)
    assert {test.base for test in expected.tests} == {(name,)}
    assert_refused(run(*command, "--given", "rest", cwd=folder), "given='rest'", "Shah and Peters")


@pytest.mark.parametrize("test", ["sign", "permutation"])
def test_clusters(folder, saved, test):
    """A column names the clusters; it is no feature of the model."""
    file, model, *_ = saved("joblib")
    frame = rows().assign(who=lambda frame: [f"c{row % 40}" for row in range(len(frame))])
    frame.to_csv(folder / "clusters.csv", index=False)
    out = folder / f"clusters {test}.json"
    command = ("test", file, "clusters.csv", "-t", "label", "--allow-pickle", "--test", test)
    ended = run(*command, "--clusters", "who", "--seed", "3", "--json", out, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    expected = sfit.feature_significance(
        model, frame, "label", test=test, clusters="who", random_state=3
    )
    assert content(sfit.SFITResult.from_json(out)) == content(expected)
    assert "Clusters:   40" in ended.stdout


def test_time(folder, saved):
    """Only for the permutation test."""
    file, model, *_ = saved("joblib")
    out = folder / "time.json"
    command = ("test", file, "rows.csv", "-t", "label", "--allow-pickle", "--row-order", "time")
    ended = run(*command, "--test", "permutation", "--seed", "3", "--json", out, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    expected = sfit.feature_significance(
        model, rows(), "label", test="permutation", row_order="time", random_state=3
    )
    assert content(sfit.SFITResult.from_json(out)) == content(expected)
    assert "Row order:  time" in ended.stdout
    assert_refused(run(*command, cwd=folder), "--row-order='time'", "test='permutation'")


def test_ties_that_are_dropped(folder, saved):
    """An option of the sign test."""
    file, model, *_ = saved("joblib")
    out = folder / "dropped.json"
    options = ("--ties", "drop", "--json", out, "--allow-pickle")
    ended = run("test", file, "rows.csv", "-t", "label", *options, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    expected = sfit.feature_significance(model, rows(), "label", test=sfit.SignTest(ties="drop"))
    assert content(sfit.SFITResult.from_json(out)) == content(expected)


def test_beta_auto_and_the_beta_command(folder, saved):
    """Both choose what Python chooses with the same seed."""
    file, model, *_ = saved("joblib")
    options = ("-t", "label", "--allow-pickle", "--seed", "5", "--reference", "median")
    options += ("--alpha", "0.4", "--loss", "brier")
    out = folder / "auto.json"
    ended = run("test", file, "rows.csv", *options, "--beta", "auto", "--json", out, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    asked = {"reference": "median", "alpha": 0.4, "loss": "brier"}
    expected = sfit.feature_significance(
        model, rows(), "label", beta="auto", random_state=5, **asked
    )
    assert content(sfit.SFITResult.from_json(out)) == content(expected)
    ended = run("beta", file, "rows.csv", *options, "--models", "2", "--max-beta", "1", cwd=folder)
    choice = sfit.choose_beta(
        model, rows(), "label", random_state=5, n_models=2, max_beta=1.0, **asked
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(
        f"beta = {choice.beta:.4g}: {choice.rate(choice.beta):.3f} of 6 "
    )


def test_parquet(folder, joblib_file, monkeypatch):
    """A file, a folder and a glob hold the same rows; content decides, not the name."""
    pytest.importorskip("pyarrow")
    from sfit.cli._data import read_rows

    data = rows()
    data.to_parquet(folder / "rows.data")
    (folder / "parts").mkdir()
    for number in range(3):
        data[200 * number : 200 * (number + 1)].to_parquet(folder / f"parts/{number}.parquet")
    monkeypatch.chdir(folder)
    for source in ("rows.data", "parts", "parts/*.parquet", "rows.csv", "rows.csv.gz"):
        pd.testing.assert_frame_equal(read_rows(source), data)
    ended = run("test", joblib_file, "parts/*.parquet", "-t", "label", "--allow-pickle")
    assert ended.returncode == 0, ended.stderr
    assert "Rows:       600 " in ended.stdout


def test_a_checkpoint_and_another_run(folder, joblib_file):
    """Rows of Parquet are read tile by tile; the same command goes on, another one is refused."""
    pytest.importorskip("pyarrow")
    rows().to_parquet(folder / "kept.parquet")
    command = ("test", joblib_file, "kept.parquet", "-t", "label", "--allow-pickle")
    plain = run(*command, cwd=folder)
    kept = [run(*command, "--checkpoint", "run.sqlite", cwd=folder) for _ in range(2)]
    assert [ended.stdout for ended in kept] == [plain.stdout] * 2, kept[0].stderr
    other = run(*command, "--checkpoint", "run.sqlite", "--alpha", "0.1", cwd=folder)
    assert_refused(other, "another run", "alpha was 0.05 and is 0.1")


def test_reproduce(tmp_path):
    """A small study prints its page and writes it; an unknown one is refused with the names."""
    pytest.importorskip("matplotlib")
    ended = run("reproduce", "correlation", "--fast", "--out", "paper", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "0.503" in ended.stdout
    assert (tmp_path / "paper" / "correlation.md").is_file()
    assert_refused(run("reproduce", "nothing", cwd=tmp_path), "simulation", "'nothing'")


def test_trust(folder):
    """A type of the user's own is listed, refused, and loaded with --trust."""
    skops = pytest.importorskip("skops.io")
    from models.foreign import Shifted

    data = rows()
    skops.dump(Shifted().fit(data[FEATURES], data["value"]), folder / "own.skops")
    command = ("test", "own.skops", "rows.csv", "-t", "value", "--features", "a,b,c")
    here = {"PYTHONPATH": os.pathsep.join([SOURCE, str(Path(__file__).parent)])}
    assert_refused(run(*command, cwd=folder, **here), "--trust models.foreign.Shifted")
    ended = run(*command, "--trust", "models.foreign.Shifted", cwd=folder, **here)
    assert ended.returncode == 0, ended.stderr
    assert "None of 3 features significantly improves the typical row." in ended.stdout


# --- labels -----------------------------------------------------------------------------------


def test_labels_that_the_file_does_not_hold(folder, saved):
    """A bare booster knows numbers only: the error gives the option, which then works."""
    file, *_ = saved("txt")
    ended = run("test", file, "rows.csv", "-t", "label", cwd=folder)
    assert_refused(ended, "--classes", "no,yes")


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (["no", "yes", "perhaps"], "names 3 classes, but the model has 2"),
        (["no", "no"], "two or more classes"),
        (["yes"], "two or more classes"),
    ],
)
def test_wrong_classes(classes, words):
    """They must fit the model (in this process, as the next ones)."""
    view = function_model(len, task="classification", classes=[0, 1])
    with pytest.raises(ArgumentError, match=words):
        match_labels(view, rows(), "label", classes)


def test_classes_are_for_classification():
    """A model of regression has none."""
    with pytest.raises(ArgumentError, match="is for classification"):
        match_labels(function_model(len), rows(), "value", ["no", "yes"])


def test_labels_that_look_like_numbers():
    """A model fitted on the text "0" and "1" meets a CSV file that can only hold numbers."""
    view = function_model(len, task="classification", classes=["0", "1"])
    data = rows().assign(label=[0, 1] * 300)
    found, changed = match_labels(view, data, "label", None)
    assert found is view
    assert changed["label"].tolist() == ["0", "1"] * 300
    assert data["label"].tolist() == [0, 1] * 300


def test_labels_that_fit_stay():
    """Numbers for numbers, truth values for truth values."""
    for classes, labels in (([0, 1], [0, 1]), ([False, True], [True, False])):
        view = function_model(len, task="classification", classes=classes)
        data = rows().assign(label=labels * 300)
        assert match_labels(view, data, "label", None)[1] is data


TEST = ("test", "m.skops", "d.csv", "-t", "y")
PERMUTE = (*TEST, "--test", "permutation")


# --- what can go wrong -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["test", "m.skops", "d.csv"], ["--target", "sfit test --help"]),
        (["test", "m.skops"], ["DATA", "sfit test --help"]),
        (["test", "m.skops", "d.csv", "-t", "y", "--ordr", "2"], ["--ordr", "--order"]),
        (["test", "m.skops", "d.csv", "-t", "y", "--alpha", "x"], ["--alpha", "valid number"]),
        (["test", "m.skops", "d.csv", "-t", "y", "--beta", "low"], ["--beta", "'low'", "auto"]),
        (["test", "m.skops", "d.csv", "-t", "y", "--group", "a,b"], ["--group", "NAME=COLUMN"]),
        (["test", "m.skops", "d.csv", "-t", "y", "--partners", "no"], ["--partners", "auto, all"]),
        (["test", "m.skops", "d.csv", "-t", "y", "--report", "x/r.html"], ["folder", "'x/r.html'"]),
        (["test", "m.skops", "d.csv", "-t", "y", "--json", "."], ["is a folder"]),
        ([*TEST, "--test", "t"], ["--test", "sign, permutation or mean", "'t'"]),
        ([*TEST, "--n-flips", "9"], ["--n-flips 9", "--test mean", "omit"]),
        ([*TEST, "--test", "mean", "--beta", "0"], ["--beta 0", "--test sign", "omit"]),
        ([*TEST, "--test", "mean", "--n-flips", "0"], ["--n-flips", "at least 1", "'0'"]),
        ([*PERMUTE, "--beta", "0.1"], ["--beta 0.1", "--test sign", "omit"]),
        ([*PERMUTE, "--ties", "drop"], ["--ties drop", "--test sign"]),
        ([*TEST, "--n-permutations", "9"], ["--n-permutations 9", "--test permutation"]),
        ([*TEST, "--statistic", "loss"], ["--statistic loss", "--test permutation"]),
        ([*PERMUTE, "--n-permutations", "few"], ["--n-permutations", "auto", "'few'"]),
        ([*PERMUTE, "--n-permutations", "0"], ["--n-permutations", "at least 1", "'0'"]),
        ([*PERMUTE, "--statistic", "rank"], ["--statistic", "auto or loss", "'rank'"]),
        ([*TEST, "--ties", "half"], ["--ties", "keep or drop", "'half'"]),
        ([*TEST, "--alpha-by-order", "half"], ["--alpha-by-order", "auto", "'half'"]),
        (["tset"], ["'tset'", "test"]),
        (["report", "absent.json"], ["there is no file 'absent.json'"]),
        (
            ["report", "absent.json", "--out", "a.pdf"],
            ["--out", ".docx", ".xlsx or .tex", "'a.pdf'"],
        ),
        (["power", "--rows", "0"], ["--rows", "got 0"]),
        (["power"], ["--rows"]),
        (["power", "--rows", "9", "--test", "t"], ["--test", "sign or permutation", "'t'"]),
        (["power", "--rows", "9", "--icc", "2"], ["icc", "got 2"]),
    ],
)
def test_wrong_arguments(tmp_path, arguments, words):
    """One line with the argument and the remedy, before any file is read."""
    assert_refused(run(*arguments, cwd=tmp_path), *words)


def test_wrong_model_files(folder, joblib_file):
    """Files that are missing, empty, or can run a program."""
    (folder / "empty.skops").touch()
    sprung = folder / "sprung"
    (folder / "trap.skops").write_bytes(pickle.dumps(Trap(sprung)))
    for model, words in (
        ("absent.skops", "there is no model file 'absent.skops'"),
        ("empty.skops", "'empty.skops' is empty"),
        (joblib_file, "can run any program on loading"),
        ("trap.skops", "add --allow-pickle"),
    ):
        assert_refused(run("test", model, "rows.csv", "-t", "label", cwd=folder), words)
    assert not sprung.exists()


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("absent.csv", "there is no data file 'absent.csv'"),
        ("absent/*.parquet", "no file matches 'absent/*.parquet'"),
        ("empty.csv", "'empty.csv' cannot be read as CSV"),
        ("binary.csv", "'binary.csv' cannot be read as CSV"),
        ("cut.csv.gz", "'cut.csv.gz' cannot be read as CSV"),
        ("cut.parquet", "'cut.parquet' cannot be read as Parquet"),
        ("bare", "there is no Parquet file in 'bare'"),
    ],
)
def test_wrong_data_files(folder, monkeypatch, data, words):
    """What can be said about rows that cannot be read (in this process: the reader is the point)."""
    from sfit.cli._data import read_rows

    if "parquet" in data or data == "bare":
        pytest.importorskip("pyarrow")
    (folder / "bare").mkdir(exist_ok=True)
    (folder / "empty.csv").touch()
    (folder / "binary.csv").write_bytes(bytes(range(255, 0, -1)))
    (folder / "cut.csv.gz").write_bytes((folder / "rows.csv.gz").read_bytes()[:2000])
    (folder / "cut.parquet").write_bytes(b"PAR1" + bytes(100))
    monkeypatch.chdir(folder)
    with pytest.raises(DataError, match=re.escape(words)):
        read_rows(data)


def test_text_in_a_column_of_numbers(folder, joblib_file, tmp_path):
    """The column, the row and the cell, whatever the model says about them."""
    data = pd.read_csv(folder / "rows.csv").astype({"b": object})
    data.loc[17, "b"] = "n/k"
    data.to_csv(tmp_path / "wrong.csv", index=False)
    ended = run("test", joblib_file, tmp_path / "wrong.csv", "-t", "label", "--allow-pickle")
    assert_refused(ended, "column 'b' of", "wrong.csv", "row 17", "'n/k'", "599 cells")


@pytest.mark.parametrize(
    ("message", "arguments", "expected"),
    [
        ("max_beta must lie", ["--max-beta", "5"], "--max-beta must lie"),
        ("max_order must be", ["--order=0"], "--order must be"),
        ("groups['a b'] names 'q'", ["--group", "a b=q"], "--group a b names 'q'"),
        ("alpha must lie", ["-t", "y"], "alpha must lie"),
        ("...", [], "..."),
    ],
)
def test_errors_name_the_option(message, arguments, expected):
    assert with_option(message, arguments) == expected


def test_no_beta_suffices(folder, joblib_file):
    """The remedy names options of the program, not arguments of Python."""
    options = ("-t", "label", "--allow-pickle", "--seed", "5", "--models", "2")
    ended = run("beta", joblib_file, "rows.csv", *options, "--max-beta", "1e-9", cwd=folder)
    assert_refused(ended, "no beta up to --max-beta 1e-09", "Raise --max-beta of 'sfit beta'")
    assert "max_beta" not in ended.stderr
    assert "sfit.choose_beta" not in ended.stderr


def test_categories_of_a_lightgbm_file_come_back(tmp_path):
    """Trained on pandas categories, saved as text, tested on the words of a CSV file."""
    lightgbm = pytest.importorskip("lightgbm")
    data = rows()[["a", "b"]]
    word = pd.Series(["p", "q", "r", "s"]).take([i % 4 for i in range(len(data))])
    data = data.assign(k=pd.Categorical(word.to_numpy()))
    y = data["a"] + 3.0 * data["k"].isin(["q", "s"])
    model = lightgbm.LGBMRegressor(n_estimators=20, n_jobs=1, verbose=-1).fit(data, y)
    model.booster_.save_model(tmp_path / "model.txt")
    data.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    options = ("-t", "y", "--reference", "mode", "--json", tmp_path / "out.json")
    ended = run("test", tmp_path / "model.txt", tmp_path / "rows.csv", *options)
    assert ended.returncode == 0, ended.stderr
    expected = sfit.feature_significance(model, data, y, reference="mode")
    assert sfit.SFITResult.from_json(tmp_path / "out.json").table.equals(expected.table)
    assert expected.tests[2].share_moved == 0.5


def test_a_question_needs_no_full_stop():
    assert_refused(run("tset"), "Did you mean 'test'? See: sfit --help")


def test_wrong_data(folder, joblib_file):
    """Through the whole program: rows that are not there, a target that is not in them."""
    options = ("--allow-pickle", "--debug")
    command = ("test", joblib_file, "absent.csv", "-t", "label", "--allow-pickle")
    assert_refused(run(*command, cwd=folder), "there is no data file 'absent.csv'")
    command = ("test", joblib_file, "rows.csv", "-t", "lable", *options)
    ended = run(*command, cwd=folder)
    assert ended.returncode == 2
    assert "Traceback" in ended.stderr
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("Error: --target names 'lable'") and "label" in last


# --- what is printed ---------------------------------------------------------------------------


def on_a_terminal(*arguments, cwd, columns, **changes):
    """What the program writes to a terminal of so many columns."""
    fcntl, pty, termios = map(pytest.importorskip, ("fcntl", "pty", "termios"))
    import struct

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    program = subprocess.Popen(
        [sys.executable, "-m", "sfit", *map(str, arguments)],
        cwd=cwd,
        env=environment(TERM="xterm-256color", **changes),
        stdin=follower,
        stdout=follower,
        stderr=subprocess.DEVNULL,
    )
    os.close(follower)
    written = b""
    try:
        while chunk := os.read(leader, 65_536):
            written += chunk
    except OSError:  # Linux's way to say that the other end is closed
        pass
    os.close(leader)
    assert program.wait() == 0
    return written.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def hostile(folder):
    """A result whose feature names try to command the terminal."""
    data = rows().rename(columns={"a": "[red]a[/red]", "b": "b\n\x1b[2J\x07", "c": "c" * 200})
    path = folder / "hostile.csv"
    data.to_csv(path, index=False)
    import joblib
    from sklearn.linear_model import LinearRegression

    names = list(data.columns[:3])
    joblib.dump(LinearRegression().fit(data[names], data["value"]), folder / "hostile.joblib")
    return (
        "test",
        "hostile.joblib",
        "hostile.csv",
        "-t",
        "value",
        "--allow-pickle",
        "--by",
        "part",
    )


def test_a_wide_terminal(folder, hostile):
    """Colours, stars and bars; names are shown, not obeyed."""
    shown = on_a_terminal(*hostile, cwd=folder, columns=140)
    assert ANSI.search(shown)
    assert "\x1b[2J" not in shown and "\x07" not in shown
    text = ANSI.sub("", shown)
    assert "[red]a[/red]" in text and r"b\n\x1b[2J\x07" in text
    assert "part = east" in text and "part = west" in text
    [line] = [line for line in text.splitlines() if line.startswith("[red]a")][:1]
    assert "***" in line and "●" in line and "│" in line
    assert max(map(len, text.splitlines())) <= 140


def test_a_narrow_terminal_without_colours(folder, hostile):
    """The table gives up columns, not its findings; NO_COLOR is heard."""
    shown = on_a_terminal(*hostile, cwd=folder, columns=50, NO_COLOR="1")
    colours = re.compile(r"\x1b\[[0-9;]*3[0-9][0-9;]*m")
    assert not colours.search(shown)
    text = ANSI.sub("", shown)
    assert max(map(len, text.splitlines())) <= 50
    assert "***" in text and "p-value" in text and "median" in text


def test_a_permutation_test_on_a_terminal(folder, hostile):
    """Its own columns, which a narrow terminal drops first; bars show the rise."""
    command = (*hostile, "--test", "permutation", "--seed", "0")
    wide = ANSI.sub("", on_a_terminal(*command, cwd=folder, columns=200))
    [head] = {tuple(line.split()) for line in wide.splitlines() if line.startswith("set ")}
    assert head == ("set", "rise", "interval", "p-value", "z", "moved")
    assert "Smallest p: 0.0005 (resolution)" in wide and "●" in wide
    assert "significantly related to the outcome" in wide
    narrow = ANSI.sub("", on_a_terminal(*command, cwd=folder, columns=50))
    [head] = {tuple(line.split()) for line in narrow.splitlines() if line.startswith("set ")}
    assert head == ("set", "rise", "p-value")
    assert max(map(len, narrow.splitlines())) <= 50


def test_a_pipe(folder, hostile):
    """Plain text without a single escape; nothing but the result on the output."""
    ended = run(*hostile, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    assert "\x1b" not in ended.stdout + ended.stderr
    assert ended.stdout.startswith("part = east (309 rows)\n")
    assert ended.stderr == ""


def test_a_pipe_of_another_encoding(folder, joblib_file):
    """Names that the terminal cannot write are written as escapes."""
    data = rows().rename(columns={"part": "größe"})
    data.to_csv(folder / "words.csv", index=False)
    command = ("test", joblib_file, "words.csv", "-t", "label", "--allow-pickle", "--by", "größe")
    ended = run(*command, cwd=folder, PYTHONIOENCODING="ascii")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(r"gr\xf6\xdfe = east")


def test_a_reader_that_goes_away(folder):
    """`sfit ... | head` ends quietly."""
    program = subprocess.Popen(
        [sys.executable, "-m", "sfit", "power", "--rows", "100"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    program.stdout.close()
    assert program.stderr.read() == b""
    program.stderr.close()
    assert program.wait() == 1


def test_help_fits_a_screen():
    """At 80 columns and 48 lines, with every option of the issue and examples."""
    ended = run("test", "--help")
    assert ended.returncode == 0
    lines = ended.stdout.splitlines()
    assert len(lines) <= 48 and max(map(len, lines)) <= 84
    assert "Examples:" in ended.stdout
    for option in (
        *("target", "loss", "alpha", "beta", "order", "by", "group", "reference", "partners"),
        *("correction", "alpha-by-order", "report", "json", "jobs", "trust", "allow-pickle"),
        *("debug", "test", "ties", "n-permutations", "statistic", "seed", "clusters", "given"),
        *("row-order", "n-flips"),
    ):
        assert f"--{option}" in ended.stdout


def test_examples_of_the_help_are_valid(tmp_path, monkeypatch):
    """Each example is a command that the program understands: it misses nothing but the files."""
    from sfit.cli._app import app

    lines = run("test", "--help").stdout.splitlines()
    examples = [line.split() for line in lines if line.strip().startswith("sfit test")]
    assert len(examples) >= 3
    monkeypatch.chdir(tmp_path)
    for example in examples:
        with pytest.raises(ModelError, match="there is no model file"):
            app([word.strip("'") for word in example[1:]], standalone_mode=False)


def test_version_and_help():
    """Quick answers, which load neither SciPy nor scikit-learn."""
    assert run("--version").stdout == f"sfit {sfit.__version__}\n"
    for arguments in ([], ["--help"]):
        ended = run(*arguments)
        assert ended.returncode == 0
        for command in ("test", "demo", "report", "power", "beta", "reproduce"):
            assert re.search(rf"^  {command} ", ended.stdout, re.MULTILINE)
    script = (
        "import sys, sfit.cli; code = sfit.cli.run(['test', '--help']);"
        "sys.exit(any(name in sys.modules for name in ('scipy', 'sklearn', 'pandas')))"
    )
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode
        == 0
    )


def test_shell_completion():
    """Commands and options are completed by the program itself."""
    ended = run(_SFIT_COMPLETE="complete_bash", COMP_WORDS="sfit po", COMP_CWORD="1")
    assert ended.stdout.split() == ["power"]
    ended = run(_SFIT_COMPLETE="complete_bash", COMP_WORDS="sfit test --allow", COMP_CWORD="2")
    assert ended.stdout.split() == ["--allow-pickle"]


def test_power():
    """What the library says, in a table."""
    ended = run("power", "--rows", "5000", "--alpha", "0.01")
    assert ended.returncode == 0
    line = next(line for line in ended.stdout.splitlines() if "52.0%" in line)
    assert f"{sfit.power(5000, 0.52, 0.01):.3f}" in line
    assert f"{sfit.rows_needed(0.52, 0.01):,}" in line


def test_power_of_a_permutation_test_with_clusters():
    """By correlation, with the rows of a cluster."""
    ended = run(
        *("power", "--rows", "900", "--test", "permutation", "--cluster-size", "4", "--icc", "0.5")
    )
    assert ended.returncode == 0
    line = next(line for line in ended.stdout.splitlines() if line.split()[:1] == ["0.1"])
    plan = {"correlation": 0.1, "cluster_size": 4, "icc": 0.5}
    assert line.split() == [
        "0.1",
        f"{sfit.power(900, **plan):.3f}",
        f"{sfit.rows_needed(**plan):,}",
    ]
    assert "normal approximation" in ended.stdout


def test_demo():
    """It finds what the paper's process has, and nothing else."""
    ended = run("demo")
    assert ended.returncode == 0, ended.stderr
    found = "5 of 7 features significantly improve the typical row, alone or in a set"
    assert f"{found}: X1, X2, X3, X4 and X5." in " ".join(ended.stdout.split())


def test_report(folder, saved):
    """From a stored result, and along with a test: a page each."""
    file, model, *_ = saved("joblib")
    for name, by in (("one", None), ("parts", "part")):
        result = sfit.feature_significance(model, rows(), "label", by=by)
        result.to_json(folder / f"{name}.json")
        ended = run("report", f"{name}.json", cwd=folder)
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr == f"Wrote {name}.html.\n"
        assert "<html" in (folder / f"{name}.html").read_text(encoding="utf-8")
    options = ("-t", "label", "--allow-pickle", "--report", "both.html")
    ended = run("test", file, "rows.csv", *options, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    assert "<html" in (folder / "both.html").read_text(encoding="utf-8")


def test_report_of_something_else(folder):
    """Any other JSON is refused."""
    (folder / "other.json").write_text("{}")
    assert_refused(run("report", "other.json", cwd=folder), "SFITResult")


def test_without_its_libraries():
    """Where typer is missing, the program names the extra."""
    script = "import sys; sys.modules['typer'] = None; from sfit.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert 'pip install "sfit[cli]"' in ended.stderr


def test_the_script_is_declared():
    """The wheel installs the program under its name."""
    import tomllib

    project = Path(__file__).parent.parent / "pyproject.toml"
    scripts = tomllib.loads(project.read_text())["project"]["scripts"]
    assert scripts == {"sfit": "sfit.cli:main"}
