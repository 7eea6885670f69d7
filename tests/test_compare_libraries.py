"""Comparisons of the saved models of every library: the gains are those of the test itself."""

from importlib.util import find_spec

import numpy as np
import pytest
from expected import data, saved

import sfit

LIBRARIES = {
    "linear": ("sklearn", lambda: saved.linear("value")),
    "forest": ("skops", lambda: saved.skops("forest")),
    "boosting": ("skops", lambda: saved.skops("boosting")),
    "mlp": ("skops", lambda: saved.skops("mlp")),
    "svr": ("skops", lambda: saved.skops("svr")),
    "pipeline": ("skops", lambda: saved.skops("pipeline_mlp")),
    "lightgbm": ("lightgbm", lambda: saved.lightgbm("value")),
    "xgboost": ("xgboost", lambda: saved.xgboost("value")),
    "catboost": ("catboost", lambda: saved.catboost("value")),
    "onnx": ("onnxruntime", lambda: saved.onnx("network")),
    "skorch": ("skorch", lambda: saved.skorch("value")),
    "torch": ("torch", lambda: saved.torch_chain("value")),
    "keras": ("keras", lambda: saved.keras("value")),
}


def model_of(name):
    library, load = LIBRARIES[name]
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    return load()


@pytest.mark.parametrize("name", LIBRARIES)
def test_gains_are_those_of_the_test(name):
    model = model_of(name)
    X, y = data.numbers()
    options = {"reference": 0.0, "features": data.NUMBERS}
    tested = sfit.feature_significance(model, X, y, **options).table.set_index("term")["gain"]
    ranks = sfit.compare_features(model, X, y, random_state=0, **options)
    for one in ranks.features:
        assert one.gain == pytest.approx(tested[(one.feature,)], rel=1e-8, abs=1e-9)
    parts = sfit.compare_parts(model, X, y, by=np.arange(len(y)) % 3, random_state=0, **options)
    for one in parts.features:
        assert one.gain == pytest.approx(tested[(one.feature,)], rel=1e-8, abs=1e-9)
    both = sfit.compare_models(
        {"line": saved.linear("value"), "other": model}, X, y, random_state=0, **options
    )
    for one in both.features:
        assert one.gain_second == pytest.approx(tested[(one.feature,)], rel=1e-8, abs=1e-9)
    slow = sfit.compare_models(
        {"line": saved.linear("value"), "other": model}, X, y, random_state=0, fast=False, **options
    )
    for here, there in zip(both.features, slow.features, strict=True):
        assert here.difference == pytest.approx(there.difference, rel=1e-5, abs=1e-7)
        assert here.significant == there.significant


def test_models_that_encode_categories_in_their_own_ways():
    """A booster with categories against one that saw numbers only: the union of the columns."""
    for library in ("lightgbm", "catboost"):
        if find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    X, y = data.categories()
    models = {"lightgbm": saved.lightgbm("mixed"), "catboost": saved.catboost("mixed")}
    found = sfit.compare_models(models, X, y, reference="mode", random_state=0)
    assert [one.feature for one in found.features] == data.MIXED
    assert all(one.missing_in is None for one in found.features)
    again = sfit.compare_models(models, X, y, reference="mode", random_state=0, n_jobs=2)
    assert again == found
