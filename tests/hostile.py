"""Names that try to be more than names; shared by the tests of the report and of the browser."""

from functools import partial

import numpy as np
import pandas as pd

import sfit
from sfit.compare import Comparison

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></script><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    r"$\frac{",
    '=HYPERLINK("http://127.0.0.1/x")',
    "@SUM(1)",
    '\u202eturned\x00 round\n,"quoted"',
    "javascript:alert(1)//名前" + "long " * 30,
    "|a|b|*_`",
]


def hostile_result() -> sfit.SFITResult:
    """A test of such features, up to pairs."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, len(HOSTILE))), columns=HOSTILE)
    weights = np.linspace(2, 0.1, len(HOSTILE))

    def model(frame):
        return np.asarray(frame) @ weights

    y = model(X) + rng.normal(size=400)
    result = sfit.feature_significance(model, X, y, max_order=2, exhaustive=True)
    assert isinstance(result, sfit.SFITResult)
    return result


def hostile_comparisons() -> dict[str, Comparison]:
    """Comparisons of models, features and parts with such names."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, len(HOSTILE))), columns=HOSTILE)
    weights = np.linspace(2, 0.1, len(HOSTILE))

    def model(frame, scale):
        return np.asarray(frame) @ (weights * scale)

    y = model(X, 1) + rng.normal(size=400)
    names = [*HOSTILE[:2], "_not, hidden"]
    models = {name: partial(model, scale=1 - place / 4) for place, name in enumerate(names)}
    return {
        "models": sfit.compare_models(models, X, y, random_state=0),
        "features": sfit.compare_features(models[names[0]], X, y, random_state=0),
        "months": sfit.compare_parts(
            models[names[0]], X, y, by=np.resize(HOSTILE, 400), trend=True, random_state=0
        ),
    }
