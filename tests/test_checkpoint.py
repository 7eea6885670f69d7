"""A checkpoint continues a run to the same bits, and refuses any other."""

import json
import os
import sqlite3
import subprocess
import sys
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from tiles import set_tiles

import sfit
from sfit._effects import EffectTally
from sfit._select import Counted, Window
from sfit._tally import NO_EFFECTS, Tally, pack, unpack
from sfit.exceptions import ArgumentError, CheckpointError

NAMES = ["a", "b", "c"]


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Ten tiles instead of one."""
    set_tiles(monkeypatch, 300)


@pytest.fixture(scope="module")
def frame():
    """Three features and a target."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(3_000, 3)), columns=NAMES)
    return rows.assign(y=rows.a + rows.b * rows.c + rng.normal(size=3_000))


@pytest.fixture(scope="module")
def model(frame):
    """Boosting on the features."""
    return HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(frame[NAMES], frame.y)


def content(result):
    return json.loads(result.to_json())["result"]


class Breaks:
    """A model that fails after so many rows, and counts them."""

    def __init__(self, model, rows_left=np.inf):
        self.model, self.rows_left, self.asked = model, rows_left, 0

    def __call__(self, rows):
        self.asked += len(rows)
        if self.asked > self.rows_left:
            raise RuntimeError("power cut")
        return self.model.predict(rows)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_run_that_failed_goes_on_where_it_stopped(frame, model, tmp_path, share):
    """The bits of an undisturbed run, for fewer rows; a third run asks the model next to nothing."""
    options = {"max_order": 2, "checkpoint_key": "1", "features": NAMES}
    whole = Breaks(model)
    expected = sfit.feature_significance(whole, frame, "y", max_order=2, features=NAMES)
    file = tmp_path / "run.sqlite"
    with pytest.raises(sfit.exceptions.ModelError, match="power cut"):
        sfit.feature_significance(
            Breaks(model, share * whole.asked), frame, "y", checkpoint=file, **options
        )
    second = Breaks(model)
    found = sfit.feature_significance(second, frame, "y", checkpoint=file, **options)
    assert content(found) == content(expected)
    assert second.asked < whole.asked
    third = Breaks(model)
    assert content(
        sfit.feature_significance(third, frame, "y", checkpoint=file, **options)
    ) == content(expected)
    assert third.asked < 0.2 * whole.asked


def test_a_run_goes_on_with_another_number_of_workers(tmp_path, monkeypatch):
    """They read in other rounds, so that brackets miss for other questions."""
    pytest.importorskip("pyarrow")
    set_tiles(monkeypatch, 50)
    monkeypatch.setattr("sfit._sign_test.FIRST_MARGIN", 0.3)
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(rng.normal(size=(2_000, 6)), columns=list("abcdef"))
    y = rows @ [1, 0.5, 0.3, 0.2, 0, 0] + rng.normal(size=2_000)
    model = LinearRegression().fit(rows, y)
    file = tmp_path / "rows.parquet"
    rows.assign(y=y).sort_values("a", key=np.abs).to_parquet(file, row_group_size=50)
    expected = content(sfit.feature_significance(model, file, "y"))
    for n_jobs in (1, 3):
        kept = {"checkpoint": tmp_path / "run.sqlite", "n_jobs": n_jobs}
        assert content(sfit.feature_significance(model, file, "y", **kept)) == expected


@pytest.mark.parametrize("seed", [None, 7])
def test_random_models_are_kept_with_their_seed(frame, model, tmp_path, seed):
    """Without a seed the one that was drawn first stays."""
    options = {"alpha": 0.4, "n_models": 4, "checkpoint": tmp_path / "beta.sqlite"}
    first = sfit.choose_beta(model, frame, "y", random_state=seed, **options)
    assert sfit.choose_beta(model, frame, "y", random_state=seed, **options) == first
    auto = {"beta": "auto", "alpha": 0.4, "checkpoint": tmp_path / "auto.sqlite"}
    first = sfit.feature_significance(model, frame, "y", random_state=seed, **auto)
    again = sfit.feature_significance(model, frame, "y", random_state=seed, **auto)
    assert content(again) == content(first)


class Counting(LinearRegression):
    """Counts its fits, and fails when there are too many."""

    fits = 0
    most = 99

    def fit(self, X, y):
        """Fit, unless the power is cut."""
        Counting.fits += 1
        if Counting.fits > Counting.most:
            raise RuntimeError("power cut")
        return super().fit(X, y)


def halves(frame):
    """Rows to fit on and rows to test on."""
    return frame[NAMES][:1500], frame.y[:1500], frame[NAMES][1500:], frame.y[1500:]


def loco_cut_short(estimator, frame, file, most):
    """Run until the power is cut, after so many fits; count those of the next run from zero."""
    Counting.fits, Counting.most = 0, most
    try:
        with pytest.raises(sfit.exceptions.ModelError, match="power cut"):
            sfit.loco_significance(
                estimator, *halves(frame), checkpoint=file, checkpoint_key="counting"
            )
    finally:
        Counting.fits, Counting.most = 0, 99


@pytest.mark.parametrize("finished", [0, 1, 2])
def test_refits_are_not_repeated(frame, tmp_path, finished):
    """LOCO keeps what each refit predicts; only those that are missing are done."""
    expected = sfit.loco_significance(Counting(), *halves(frame))
    file = tmp_path / "loco.sqlite"
    loco_cut_short(Counting(), frame, file, 1 + finished)
    kept = {"checkpoint": file, "checkpoint_key": "counting"}
    again = sfit.loco_significance(Counting(), *halves(frame), **kept)
    assert content(again) == content(expected)
    assert Counting.fits == 1 + 3 - finished  # the full model, and the refits that were missing


class Moody(Counting):
    """Another model at each fit: what it predicts depends on how many fits this process has done."""

    def fit(self, X, y):
        """Fit, and be in another mood."""
        super().fit(X, y)
        self.coef_ = self.coef_ * (1 + self.shift + Counting.fits / 100)
        return self

    shift = 0.0


STORED = "SELECT * FROM finished WHERE stage = 'LOCO' ORDER BY tile, task"


def test_an_estimator_without_a_seed_is_never_compared_with_two_full_models(
    frame, tmp_path, monkeypatch
):
    """What was finished stays, the full model among it, whatever the next run fits in its place."""
    file = tmp_path / "loco.sqlite"
    loco_cut_short(Moody(), frame, file, 3)
    with sqlite3.connect(file) as inside:
        before = inside.execute(STORED).fetchall()
    monkeypatch.setattr(Moody, "shift", 5.0)
    kept = {"checkpoint": file, "checkpoint_key": "counting"}
    again = sfit.loco_significance(Moody(), *halves(frame), **kept)
    with sqlite3.connect(file) as inside:
        after = inside.execute(STORED).fetchall()
    assert set(before) < set(after)
    stored = {task: [] for task in (-1, 0, 1, 2)}
    for _, _, task, data, _ in after:
        stored[task].append(np.load(BytesIO(data), allow_pickle=False))
    whole, *refits = (np.concatenate(stored[task]) for task in (-1, 0, 1, 2))
    y = frame.y[1500:].to_numpy()
    for refit, positive in zip(refits, again.table["n_positive"], strict=True):
        assert (np.abs(y - refit) > np.abs(y - whole)).sum() == positive


def test_refits_serve_every_level_and_loss(frame, tmp_path):
    """What was kept are predictions: another level, interval or loss needs no fit."""
    file = tmp_path / "loco.sqlite"
    kept = {"checkpoint": file, "checkpoint_key": "counting"}
    sfit.loco_significance(Counting(), *halves(frame), **kept)
    asymptotic = {"test": sfit.SignTest(interval="asymptotic")}
    for options in ({"alpha": 0.2}, asymptotic, {"loss": "squared_error"}):
        expected = sfit.loco_significance(Counting(), *halves(frame), **options)
        Counting.fits = 0
        found = sfit.loco_significance(Counting(), *halves(frame), **kept, **options)
        assert content(found) == content(expected)
        assert Counting.fits == 1


def test_other_refits_are_refused_with_what_differs(frame, tmp_path):
    """Other parameters, rows or groups; and what cannot be known again needs a key."""
    file = tmp_path / "loco.sqlite"
    X, y, X_test, y_test = halves(frame)
    sfit.loco_significance(LinearRegression(), X, y, X_test, y_test, checkpoint=file)
    plain = LinearRegression()
    for call, word in (
        ((LinearRegression(positive=True), X, y, X_test, y_test), "the model was"),
        ((plain, X, y + 1, X_test, y_test), "the training rows"),
        ((plain, X, y, X_test, y_test + 1), "the test rows"),
        ((plain, X, y, X_test + 1.0, y_test), "the test rows"),
    ):
        with pytest.raises(CheckpointError, match=word):
            sfit.loco_significance(*call, checkpoint=file)
    with pytest.raises(CheckpointError, match="the features"):
        sfit.loco_significance(
            plain, X, y, X_test, y_test, checkpoint=file, groups={"ab": ["a", "b"]}
        )
    other = make_pipeline(FunctionTransformer(lambda rows: rows), LinearRegression())
    with pytest.raises(ArgumentError, match="checkpoint_key"):
        sfit.loco_significance(other, X, y, X_test, y_test, checkpoint=file)


def test_another_run_is_refused_with_what_differs(frame, model, tmp_path):
    """Other settings, other rows, another model, each by name."""
    file = tmp_path / "run.sqlite"

    def run(model=model, rows=frame, **options):
        return sfit.feature_significance(model, rows, "y", checkpoint=file, **options)

    run(max_order=2)
    other = HistGradientBoostingRegressor(max_iter=11, random_state=0).fit(frame[NAMES], frame.y)
    changed = frame.assign(a=frame.a.where(frame.index != 2_999, 0.0))
    for call, word in (
        (lambda: run(max_order=1), "max_order was 2 and is 1"),
        (lambda: run(max_order=2, alpha=0.1), "alpha was 0.05 and is 0.1"),
        (lambda: run(max_order=2, reference=0.0), "the reference values"),
        (lambda: run(max_order=2, rows=changed), "the rows"),
        (lambda: run(max_order=2, model=other), "the model"),
        (lambda: run(max_order=2, groups={"ab": ["a", "b"]}), "the features"),
        (lambda: run(max_order=2, by=frame.a > 0), "by was False and is True"),
    ):
        with pytest.raises(CheckpointError, match="belongs to another run") as caught:
            call()
        assert word in str(caught.value)


def test_another_target_in_the_same_files_is_another_run(frame, model, tmp_path):
    """Which columns are what belongs to the rows."""
    pytest.importorskip("pyarrow")
    frame.assign(other=-frame.y).to_parquet(tmp_path / "rows.parquet")
    options = {"checkpoint": tmp_path / "run.sqlite"}
    sfit.feature_significance(model, tmp_path / "rows.parquet", "y", **options)
    with pytest.raises(CheckpointError, match="the rows"):
        sfit.feature_significance(model, tmp_path / "rows.parquet", "other", **options)


def test_a_key_answers_for_a_model_that_cannot_be_hashed(frame, tmp_path):
    """A pipeline with a lambda cannot be pickled; with a key it can be resumed."""
    pipe = make_pipeline(FunctionTransformer(lambda rows: rows), LinearRegression())
    pipe.fit(frame[NAMES], frame.y)
    options = {"checkpoint": tmp_path / "run.sqlite"}
    with pytest.raises(ArgumentError, match="checkpoint_key"):
        sfit.feature_significance(pipe, frame, "y", **options)
    first = sfit.feature_significance(pipe, frame, "y", checkpoint_key="1", **options)
    again = sfit.feature_significance(pipe, frame, "y", checkpoint_key="1", **options)
    assert content(again) == content(first)


def test_functions_need_a_key(frame, tmp_path):
    """What cannot be told from another run's is not guessed."""
    file = tmp_path / "run.sqlite"

    def function(rows):
        return np.asarray(rows["a"])

    options = {"features": NAMES, "checkpoint": file}
    with pytest.raises(ArgumentError, match="checkpoint_key"):
        sfit.feature_significance(function, frame, "y", **options)
    linear = LinearRegression().fit(frame[NAMES], frame.y)
    with pytest.raises(ArgumentError, match=r"loss is a function.*checkpoint_key"):
        sfit.feature_significance(linear, frame, "y", loss=lambda y, p: abs(y - p), **options)
    sfit.feature_significance(function, frame, "y", checkpoint_key="v1", **options)
    with pytest.raises(CheckpointError, match="checkpoint_key was v1 and is v2"):
        sfit.feature_significance(function, frame, "y", checkpoint_key="v2", **options)
    with pytest.raises(ArgumentError, match="path of a file"):
        sfit.feature_significance(linear, frame, "y", features=NAMES, checkpoint=3)


@pytest.mark.parametrize(
    "damage",
    ["text", "cut", "zeros", "other", "blob", "folder"],
)
def test_a_damaged_file_is_an_error_and_never_an_answer(frame, model, tmp_path, damage):
    """No checkpoint, half a checkpoint, a checkpoint with a wrong byte: told, with the remedy."""
    file = tmp_path / "run.sqlite"
    sfit.feature_significance(model, frame, "y", checkpoint=file)
    data = file.read_bytes()
    if damage == "text":
        file.write_text("no database at all, but long enough to look at" * 100)
    elif damage == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "zeros":
        file.write_bytes(data[:100] + bytes(len(data) - 100))
    elif damage == "other":
        file.unlink()
        with sqlite3.connect(file) as other:
            other.execute("CREATE TABLE mine (x)")
    elif damage == "blob":
        with sqlite3.connect(file) as inside:
            inside.execute("UPDATE finished SET data = zeroblob(length(data)) WHERE tile = 3")
    else:
        file.unlink()
        file.mkdir()
    with pytest.raises(CheckpointError, match=r"run\.sqlite"):
        sfit.feature_significance(model, frame, "y", checkpoint=file)


SWAPPED = """
    UPDATE finished SET tile = -1 WHERE stage LIKE 'order 1%' AND tile = 3;
    UPDATE finished SET tile = 3 WHERE stage LIKE 'order 1%' AND tile = 4;
    UPDATE finished SET tile = 4 WHERE tile = -1;
"""
MOVED = """
    DELETE FROM finished WHERE stage LIKE 'order 1%' AND tile = 3;
    UPDATE finished SET tile = 3 WHERE stage LIKE 'order 1%' AND tile = 4;
"""


@pytest.mark.parametrize("change", [SWAPPED, MOVED], ids=["swapped", "moved"])
def test_an_entry_under_another_key_is_refused(frame, model, tmp_path, change):
    """Each is whole, and right elsewhere."""
    file = tmp_path / "run.sqlite"
    sfit.feature_significance(model, frame, "y", checkpoint=file)
    with sqlite3.connect(file) as inside:
        inside.executescript(change)
    with pytest.raises(CheckpointError, match="digest of an entry does not match"):
        sfit.feature_significance(model, frame, "y", checkpoint=file)


def test_an_entry_of_another_run_is_refused(frame, model, tmp_path):
    """Under the same key, in a file that is otherwise of this run."""
    files = [tmp_path / "one.sqlite", tmp_path / "two.sqlite"]
    for file, alpha in zip(files, (0.05, 0.2), strict=True):
        sfit.feature_significance(model, frame, "y", alpha=alpha, checkpoint=file)
    with sqlite3.connect(files[0]) as inside:
        inside.execute("ATTACH ? AS other", (str(files[1]),))
        inside.execute(
            "UPDATE finished SET (data, digest) = (SELECT data, digest FROM other.finished AS o "
            "WHERE o.tile = finished.tile AND o.stage LIKE 'order 1%') WHERE stage LIKE 'order 1%'"
        )
    with pytest.raises(CheckpointError, match="digest of an entry does not match"):
        sfit.feature_significance(model, frame, "y", checkpoint=files[0])


def test_a_changed_description_is_damage_and_a_lost_one_is_written_again(frame, model, tmp_path):
    """What was finished is bound to the run whether the file says so or not."""
    file = tmp_path / "run.sqlite"
    expected = content(sfit.feature_significance(model, frame, "y", checkpoint=file))
    with sqlite3.connect(file) as inside:
        inside.execute("DELETE FROM about")
    assert content(sfit.feature_significance(model, frame, "y", checkpoint=file)) == expected
    with sqlite3.connect(file) as inside:
        inside.execute("DELETE FROM about")
    with pytest.raises(CheckpointError, match="does not match"):
        sfit.feature_significance(model, frame, "y", alpha=0.1, checkpoint=file)
    file.unlink()
    sfit.feature_significance(model, frame, "y", checkpoint=file)
    with sqlite3.connect(file) as inside:
        inside.execute("UPDATE about SET is_ = '0.1' WHERE what = 'alpha'")
    with pytest.raises(CheckpointError, match="the stored description of the run was altered"):
        sfit.feature_significance(model, frame, "y", alpha=0.1, checkpoint=file)


def test_a_lost_seed_is_never_replaced_under_old_tallies(frame, model, tmp_path):
    """Random models of two seeds are not put together."""
    options = {"alpha": 0.4, "n_models": 4, "checkpoint": tmp_path / "beta.sqlite"}
    first = sfit.choose_beta(model, frame, "y", **options)
    with sqlite3.connect(options["checkpoint"]) as inside:
        inside.execute("DELETE FROM finished WHERE stage = 'seed'")
    with pytest.raises(CheckpointError, match="does not match"):
        sfit.choose_beta(model, frame, "y", **options)
    with sqlite3.connect(options["checkpoint"]) as inside:
        inside.execute("DELETE FROM finished")
    again = sfit.choose_beta(model, frame, "y", **options)
    assert again.seed != first.seed
    plain = {"alpha": 0.4, "n_models": 4, "random_state": again.seed}
    assert sfit.choose_beta(model, frame, "y", **plain) == again


@pytest.mark.parametrize(
    "lost",
    [
        "DELETE FROM finished WHERE task IN (-1, 1) AND tile = 4",
        "DELETE FROM finished WHERE task IN (-1, 1) AND tile = 0",
        "DELETE FROM finished WHERE task IN (-1, 1) AND stage = 'LOCO, all tiles'",
    ],
    ids=["last tile", "first tile", "digest"],
)
def test_refits_that_are_not_whole_are_done_again(frame, tmp_path, lost):
    """Predictions of some tiles are no refit."""
    options = {"checkpoint": tmp_path / "loco.sqlite", "checkpoint_key": "counting"}
    expected = sfit.loco_significance(Counting(), *halves(frame), **options)
    with sqlite3.connect(options["checkpoint"]) as inside:
        inside.execute(lost)
    Counting.fits = 0
    again = sfit.loco_significance(Counting(), *halves(frame), **options)
    assert content(again) == content(expected)
    assert Counting.fits == 2


@pytest.mark.parametrize("size", [-1, 1, 2**62])
def test_forged_sizes_are_refused(size):
    """Whatever the bytes say, no more is read than there is."""
    one = Counted(Window(0.0, 1.0), 0, np.zeros(3), None)
    data = bytearray(pack([Tally(1, 1, 1, 1, one, one, NO_EFFECTS)]))
    assert len(unpack(bytes(data), 1)) == 1
    data[8 * 11 : 8 * 12] = np.array([size], dtype="<i8").tobytes()
    for n_tallies in (1, 2):
        with pytest.raises(ValueError, match=r"numbers|tallies|buffer"):
            unpack(bytes(data), n_tallies)


def test_a_model_that_changed_under_its_key(frame, tmp_path):
    """By what it predicts, on whole rows and on masked ones; rounding is no change."""
    options = {"features": NAMES, "checkpoint_key": "1", "checkpoint": tmp_path / "run.sqlite"}

    def run(function):
        return sfit.feature_significance(function, frame, "y", reference=0.0, **options)

    first = run(lambda rows: np.asarray(rows["a"]))
    assert content(run(lambda rows: np.asarray(rows["a"]) * (1 + 2**-51))) == content(first)
    for other in (
        lambda rows: np.asarray(rows["a"]) + 1e-9,
        lambda rows: np.asarray(rows["b"]),
        # Only where b is hidden.
        lambda rows: np.asarray(rows["a"]) * np.where(np.asarray(rows["b"]) == 0, 2, 1),
    ):
        with pytest.raises(CheckpointError, match=r"the model predicts differently now, by up to"):
            run(other)


@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
def test_noise_from_call_to_call_is_no_other_model(frame, tmp_path):
    """A run of such a model goes on."""
    rng = np.random.default_rng(0)
    options = {"features": NAMES, "checkpoint_key": "1", "checkpoint": tmp_path / "run.sqlite"}

    def noisy(rows):
        return np.asarray(rows["a"]) + 1e-4 * rng.uniform(size=len(rows))

    first = sfit.feature_significance(noisy, frame, "y", **options)
    assert content(sfit.feature_significance(noisy, frame, "y", **options)) == content(first)
    with pytest.raises(CheckpointError, match="predicts differently"):
        sfit.feature_significance(lambda rows: noisy(rows) + 0.1, frame, "y", **options)


def test_random_models_that_changed_under_their_key(frame, model, tmp_path):
    """Tallies of two kinds of random models are not put together."""
    options = {"alpha": 0.4, "n_models": 3, "max_beta": 1.0, "random_state": 0}
    options |= {"checkpoint": tmp_path / "beta.sqlite", "checkpoint_key": "1"}

    def drawn(scale):
        return lambda rng: HistGradientBoostingRegressor(max_iter=3, random_state=0).fit(
            frame[NAMES], scale * rng.permutation(frame.y)
        )

    first = sfit.choose_beta(model, frame, "y", random_model=drawn(1.0), **options)
    assert sfit.choose_beta(model, frame, "y", random_model=drawn(1.0), **options) == first
    with pytest.raises(CheckpointError, match="random model 1 predicts differently"):
        sfit.choose_beta(model, frame, "y", random_model=drawn(2.0), **options)


class Scaled(LinearRegression):
    """An estimator whose code changes while its name and parameters stay."""

    factor = 1.0

    def fit(self, X, y):
        """Fit to something else."""
        return super().fit(X, self.factor * np.asarray(y))


def test_an_estimator_that_changed_under_its_key(frame, tmp_path, monkeypatch):
    """Refits of the old one are not compared with those of the new one."""
    options = {"checkpoint": tmp_path / "loco.sqlite"}
    with pytest.raises(ArgumentError, match="cannot see the code of class Scaled"):
        sfit.loco_significance(Scaled(), *halves(frame), **options)
    sfit.loco_significance(Scaled(), *halves(frame), checkpoint_key="1", **options)
    monkeypatch.setattr(Scaled, "factor", 2.0)
    with pytest.raises(CheckpointError, match="the estimator fitted on all columns predicts"):
        sfit.loco_significance(Scaled(), *halves(frame), checkpoint_key="1", **options)


FULL_DISK = """
import resource, signal, sys
import numpy as np, pandas as pd
import sfit
from sfit.sample import prepare
prepare.__kwdefaults__["tile_rows"] = 300
rng = np.random.default_rng(0)
rows = pd.DataFrame(rng.normal(size=(30_000, 3)), columns=list("abc"))
rows["y"] = rows.a + rows.b * rows.c + rng.normal(size=30_000)
from sklearn.linear_model import LinearRegression
model = LinearRegression().fit(rows[["a", "b", "c"]], rows.y)
if sys.argv[2] != "0":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    result = sfit.feature_significance(model, rows, "y", checkpoint=sys.argv[1], max_order=2)
except sfit.exceptions.CheckpointError as error:
    print(error)
    sys.exit(3)
print(result.to_json().split('"run"')[0])
"""


def test_a_full_disk_stops_cleanly_and_the_run_goes_on_afterwards(tmp_path):
    """A limit on the size of files stands for the disk; what was finished is kept."""
    pytest.importorskip("resource")

    # The coverage of the process could not be written either.
    environment = {name: value for name, value in os.environ.items() if "COV" not in name}

    def run(name, limit):
        file = tmp_path / name
        code = [sys.executable, "-W", "ignore", "-c", FULL_DISK, str(file), str(limit)]
        return subprocess.run(
            code, env=environment, capture_output=True, text=True, check=False, timeout=300
        )

    expected = run("whole.sqlite", 0)
    assert expected.returncode == 0, expected.stderr
    size = (tmp_path / "whole.sqlite").stat().st_size
    full = run("full.sqlite", size // 2)
    assert full.returncode == 3, full.stderr
    assert "free disk space" in full.stdout
    assert "Traceback" not in full.stderr
    again = run("full.sqlite", 0)
    assert again.returncode == 0, again.stderr
    assert again.stdout == expected.stdout


COUNTED = st.builds(
    lambda low, high, below, values, weighed: Counted(
        Window(low, high),
        below,
        np.array(values, dtype=float),
        np.arange(1, len(values) + 1) if weighed else None,
    ),
    st.floats(allow_nan=False),
    st.floats(allow_nan=False),
    st.integers(0, 2**62),
    st.lists(st.floats(allow_nan=False), max_size=5),
    st.booleans(),
)
COUNT = st.integers(0, 2**62)


EFFECTS = st.builds(
    lambda counts, sums: EffectTally(*counts, np.array(sums, dtype=float).reshape(-1, 2)),
    st.tuples(COUNT, COUNT, COUNT, COUNT),
    st.lists(st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)), max_size=3),
)


@given(
    st.lists(st.builds(Tally, COUNT, COUNT, COUNT, COUNT, COUNTED, COUNTED, EFFECTS), max_size=4)
)
def test_what_is_packed_comes_out(tallies):
    """Every number, infinities among them, to the bit."""
    found = unpack(pack(tallies), len(tallies)) if tallies else []
    assert len(found) == len(tallies)
    for a, b in zip(found, tallies, strict=True):
        assert a[:4] == b[:4]
        assert a.effects[:4] == b.effects[:4]
        np.testing.assert_array_equal(a.effects.sums, b.effects.sums)
        for x, y in zip(a[4:6], b[4:6], strict=True):
            assert (x.window, x.below) == (y.window, y.below)
            np.testing.assert_array_equal(x.values, y.values)
            assert (x.counts is None) == (y.counts is None)
            if x.counts is not None:
                np.testing.assert_array_equal(x.counts, y.counts)


def test_a_folder_that_is_not_there(tmp_path):
    """The remedy is to create it, not to free disk space."""
    X, y = sfit.simulate.interactions(100, random_state=0)
    model = LinearRegression().fit(X, y)
    with pytest.raises(CheckpointError, match=r"the folder .*nowhere' does not exist"):
        sfit.feature_significance(model, X, y, checkpoint=tmp_path / "nowhere" / "run.sqlite")
