"""skops files made to crash, or never to end: arrays that compiled code would follow anywhere.

A model is fitted and spoilt in Python, which is harmless as long as nobody predicts with it, or the
archive is changed after it was written. `HOSTILE` has, by name: how to make the file, what has to be told when
it is refused, and further options of the command.
"""

import io
import json
import warnings
import zipfile

import numpy as np
from made_files import bomb, rezipped
from models.saved import rows


def data():
    table = rows()
    return table[["a", "b", "c"]], table["label"], table["value"]


def dumped(model):
    import skops.io

    return skops.io.dumps(model)


# --- trees ----------------------------------------------------------------------------------


def tree(model=None, member=lambda model: model, **changes):
    """A tree model, of which one tree has other nodes: `field=(node, value)`."""
    from sklearn.tree import DecisionTreeClassifier

    X, label, _ = data()
    model = (DecisionTreeClassifier(max_depth=4) if model is None else model).fit(X, label)
    inside = member(model).tree_
    state = inside.__getstate__()
    state["nodes"] = state["nodes"].copy()
    for field, (node, value) in changes.items():
        state["nodes"][field][node] = value
    inside.__setstate__(state)
    return model


def histogram(trusting=False, **changes):
    """Histogram boosting, of which the first tree has other nodes; a category is column a."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, label, _ = data()
    X = X.assign(a=X["a"].round().abs()) if trusting else X
    chosen = [0] if trusting else None
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=chosen).fit(X, label)
    nodes = model._predictors[0][0].nodes
    for field, (node, value) in changes.items():
        place = np.flatnonzero(nodes["is_categorical"])[0] if node is None else node
        nodes[field][place] = value
    return model


# --- other models ---------------------------------------------------------------------------


def neighbours(algorithm="kd_tree", **changes):
    """An index of neighbours with another state: `place=change(value)`."""
    from sklearn.neighbors import KNeighborsClassifier

    X, label, _ = data()
    model = KNeighborsClassifier(algorithm=algorithm).fit(X, label)
    state = [
        np.array(one) if isinstance(one, np.ndarray) else one for one in model._tree.__getstate__()
    ]
    for name, change in changes.items():
        place = {"data": 0, "index": 1, "nodes": 2, "bounds": 3, "n_nodes": 6, "metric": 11}[name]
        state[place] = change(state[place])
    model._tree.__setstate__(tuple(state))
    return model


def at(field, node, value):
    """A change of one number of an array."""

    def change(array):
        array = array.copy()
        (array if field is None else array[field])[node] = value
        return array

    return change


def vectors(kind="SVC", **changes):
    """A support vector machine with other attributes."""
    from sklearn import svm

    X, label, value = data()
    model = getattr(svm, kind)().fit(X, label if kind == "SVC" else value)
    for name, change in changes.items():
        setattr(model, name, change(getattr(model, name)) if callable(change) else change)
    return model


def sparse(n=10**9):
    """A linear model whose sparse weights are those of a column far away."""
    from sklearn.linear_model import LogisticRegression

    X, label, _ = data()
    model = LogisticRegression().fit(X, label).sparsify()
    model.coef_.indices[0] = n
    return model


# --- boosters and archives ------------------------------------------------------------------


def lightgbm(change):
    """A LightGBM model inside, with its text changed."""
    from lightgbm import LGBMClassifier

    X, label, _ = data()
    good = dumped(LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1).fit(X, label))

    def rewritten(content):
        schema = json.loads(content)
        for node in nodes_of(schema):
            text = node.get("content")
            if isinstance(text, str) and text.startswith('"tree'):
                old = json.loads(text)
                new = change(old)
                assert new != old
                node["content"] = json.dumps(new)
        return json.dumps(schema)

    return rezipped(good, {"schema.json": rewritten})


def xgboost(change):
    """An XGBoost model inside, with its bytes changed."""
    from xgboost import XGBClassifier

    X, label, _ = data()
    good = dumped(XGBClassifier(n_estimators=3).fit(X, label == "yes"))
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".bin")]
    return rezipped(good, {name: change})


def xgboost_child(content):
    """The first child of the first tree, which is a number of four bytes behind its name."""
    place = content.index(b"left_children") + len(b"left_children")
    start = content.index(b"$l#", place) + 3
    start += 1 + {b"U": 1, b"i": 1, b"I": 2, b"l": 4, b"L": 8}[content[start : start + 1]]
    return content[:start] + (2**24).to_bytes(4, "big") + content[start + 4 :]


def nodes_of(schema):
    left = [schema]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
            left.extend(node.values())
        elif isinstance(node, list):
            left.extend(node)


def array_changed(change, keep=lambda array: True):
    """A tree whose stored arrays are others."""
    good = dumped(tree())

    def rewritten(content):
        array = np.load(io.BytesIO(content))
        if not keep(array):
            return content
        file = io.BytesIO()
        np.save(file, change(array))
        return file.getvalue()

    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
    return rezipped(good, dict.fromkeys(names, rewritten))


def schema_changed(change):
    return rezipped(dumped(tree()), {"schema.json": change})


def unknown_loader(content):
    schema = json.loads(content)
    schema["__loader__"] = "NoSuchNode"
    return json.dumps(schema)


def inside_itself(content):
    """Every attribute of the model is the model."""
    schema = json.loads(content)
    for value in schema["content"]["content"].values():
        value.clear()
        value.update(
            {
                "__loader__": "CachedNode",
                "__id__": schema["__id__"],
                "__module__": "builtins",
                "__class__": "dict",
            }
        )
    return json.dumps(schema)


def packed_twice():
    """Zeros inside an archive inside the archive: 6 GB from 6 MB."""
    import struct
    import zlib

    good = dumped(sparse(0))
    header = io.BytesIO()
    n_blocks = 400
    size = n_blocks * 2**24
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (size // 8,)}
    )
    head = header.getvalue()
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH) + bomb(n_blocks)

    def rewritten(content):
        inner = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(inner, "w") as new:
            for name in old.namelist():
                if name != "data.npy":
                    new.writestr(name, old.read(name))
        content, name = inner.getvalue(), b"data.npy"
        end = content.rindex(b"PK\x05\x06")
        entries, length, start = struct.unpack("<HLL", content[end + 10 : end + 20])
        about = struct.pack(
            "<HHHHHLLLHH", 20, 0, 8, 0, 33, 0, len(packed), 0xFFFFFFFF, len(name), 20
        )
        extra = struct.pack("<HHQQ", 1, 16, size + len(head), len(packed))
        local = b"PK\x03\x04" + about + name + extra + packed
        central = b"PK\x01\x02\x14\x00" + about + struct.pack("<HHHLL", 0, 0, 0, 0, start) + name
        directory = content[start : start + length] + central + extra
        counts = (entries + 1, entries + 1, len(directory), start + len(local), 0)
        return (
            content[:start] + local + directory + b"PK\x05\x06" + struct.pack("<4xHHLLH", *counts)
        )

    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".npz")]
    return rezipped(good, {name: rewritten})


def forest():
    from sklearn.ensemble import RandomForestClassifier

    return tree(
        RandomForestClassifier(n_estimators=3, max_depth=3),
        lambda model: model.estimators_[1],
        right_child=(0, 10**6),
    )


def calibrated_pipeline():
    """The tree stands behind a scaler, inside a calibration, inside a pipeline."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    inner = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3))
    model = make_pipeline(StandardScaler(), CalibratedClassifierCV(inner, ensemble=False, cv=2))
    return tree(
        model,
        lambda model: model[-1].calibrated_classifiers_[0].estimator[-1],
        left_child=(0, 0),
    )


TRUSTED = ("--trust", "functools.partial", "--trust", "sklearn.utils.validation.check_array")
CHILD, CIRCLE, COLUMN = "child that is not there", "two parents", "column that is not there"
SETS = "categories that are not there"
INDEX = "an index of neighbours has nodes that are not there"
VECTORS = "support vectors are not as many as the model says"


def far_circle():
    """The last split below the second node leads back to it."""
    inside = tree().tree_
    below = np.arange(inside.node_count) < inside.children_right[0]
    last = int(np.flatnonzero(below & (inside.children_left >= 0))[-1])
    assert last > 1
    return tree(left_child=(last, 1), right_child=(last, 1))


MODELS = {
    "child": (lambda: tree(left_child=(0, 2**40)), CHILD),
    "child below zero": (lambda: tree(right_child=(0, -7)), CHILD),
    "itself": (lambda: tree(left_child=(1, 1)), CIRCLE),
    "circle": (far_circle, CIRCLE),
    "root": (lambda: tree(left_child=(1, 0)), CHILD),
    "column": (lambda: tree(feature=(0, 2**20)), COLUMN),
    "column below zero": (lambda: tree(feature=(0, -3)), COLUMN),
    "forest": (forest, CHILD),
    "pipeline": (calibrated_pipeline, CHILD),
    "histogram child": (lambda: histogram(left=(0, 2**31)), CHILD),
    "histogram circle": (lambda: histogram(left=(1, 1)), CIRCLE),
    "histogram column": (lambda: histogram(feature_idx=(0, 2**30)), COLUMN),
    "histogram categories": (
        lambda: histogram(True, bitset_idx=(None, 2**30)),
        SETS,
        *TRUSTED,
    ),
    "neighbours index": (lambda: neighbours(index=at(None, 0, 2**40)), INDEX),
    "neighbours node": (lambda: neighbours(nodes=at("idx_end", 0, 2**40)), INDEX),
    "neighbours inner": (lambda: neighbours(nodes=at("is_leaf", -1, 0)), INDEX),
    "neighbours count": (lambda: neighbours(n_nodes=lambda _: 10**6), INDEX),
    "ball tree": (lambda: neighbours("ball_tree", bounds=lambda a: a[:, :1].copy()), INDEX),
    "vectors": (
        lambda: vectors(_n_support=lambda n: (n + np.array([-(10**6), 10**6])).astype(np.int32)),
        VECTORS,
    ),
    "vectors weights": (lambda: vectors(_dual_coef_=lambda a: a[:, :1].copy()), VECTORS),
    "vectors kind": (lambda: vectors("SVR", _impl="c_svc"), VECTORS, "-t", "value"),
    "sparse": (sparse, "indices must be <"),
}
"""Refused by a look at their arrays, in this process or another."""

FILES = {
    "types of arrays": (
        lambda: array_changed(lambda a: a.astype("f4"), lambda a: a.dtype.names is None),
        "damaged",
    ),
    "shape of values": (
        lambda: array_changed(lambda a: a[:, :, :1].copy(), lambda a: a.ndim == 3),
        "damaged",
    ),
    "number of classes": (
        lambda: array_changed(lambda a: a * 0 + 10**6, lambda a: a.dtype.kind == "i"),
        "damaged",
    ),
    "lightgbm parameters": (
        lambda: lightgbm(lambda text: text.replace("[max_bin: 255]", "[max_bin 255]")),
        "its parameters is damaged",
    ),
    "lightgbm cut": (lambda: lightgbm(lambda text: text[: len(text) // 2]), "damaged"),
    "lightgbm child": (
        lambda: lightgbm(lambda text: text.replace("\nleft_child=1 ", "\nleft_child=9 ")),
        "damaged",
    ),
    "xgboost cut": (lambda: xgboost(lambda content: content[: len(content) // 2]), "damaged"),
    "xgboost child": (lambda: xgboost(xgboost_child), "damaged"),
    "deep schema": (lambda: schema_changed(lambda _: '{"content":' * 100_000), "damaged"),
    "unknown loader": (lambda: schema_changed(unknown_loader), "damaged"),
    "inside itself": (lambda: schema_changed(inside_itself), "damaged"),
    "packed twice": (packed_twice, "damaged"),
}
"""Refused by their library, which may crash or take any memory: in another process only."""


def made(make):
    """The bytes of a case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = make()
        return found if isinstance(found, bytes) else dumped(found)


HOSTILE = {
    name: (lambda _, make=make: made(make), *rest)
    for name, (make, *rest) in {**MODELS, **FILES}.items()
}
