"""Where tree libraries split columns of zeros and ones, and how frozen ones are reported."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)

import sfit
from sfit.exceptions import SFITWarning
from sfit.models import as_view

RARER = "as the value that fewer rows have"


def lightgbm(X, y):
    library = pytest.importorskip("lightgbm")
    return library.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1).fit(X, y)


def xgboost(X, y):
    library = pytest.importorskip("xgboost")
    return library.XGBRegressor(n_estimators=20, n_jobs=1).fit(X, y)


def catboost(X, y):
    library = pytest.importorskip("catboost")
    model = library.CatBoostRegressor(iterations=20, verbose=False, allow_writing_files=False)
    return model.fit(X, y)


def histogram(X, y):
    return HistGradientBoostingRegressor(max_iter=20).fit(X, y)


def boosting(X, y):
    return GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)


def forest(X, y):
    return RandomForestRegressor(10, random_state=0).fit(X, y)


def rows(share, n=2_000):
    """A number, and a column of zeros and ones with this share of ones."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=n), rng.uniform(size=n) < share])
    return X, X[:, 0] + 2 * X[:, 1] + 0.1 * rng.normal(size=n)


LIBRARIES = (lightgbm, xgboost, catboost, histogram, boosting, forest)


@pytest.mark.parametrize("library", LIBRARIES)
def test_where_a_dummy_is_split(library):
    """As the page about models says: next to 0, at 1, or halfway."""
    X, y = rows(0.1)
    trees = as_view(library(X, y)).structure
    splits = (trees.feature == 1) & (trees.left >= 0)
    expected = {lightgbm: 1e-35, xgboost: 1.0}.get(library, 0.5)
    assert splits.any()
    np.testing.assert_allclose(trees.threshold[splits], expected, rtol=1e-6)


@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_lone_dummy_read_as_its_rarer_value_is_reported(library, share):
    """LightGBM reads every mean as 1, XGBoost as 0; what the model itself predicts confirms it."""
    X, y = rows(share)
    model = library(X, y)
    # A row frozen at the mean is predicted like one with 0, or like one with 1.
    frozen, zero, one = (model.predict(np.array([[0.0, v]]))[0] for v in (X[:, 1].mean(), 0, 1))
    rarer, common = (one, zero) if share < 0.5 else (zero, one)
    assert frozen in (rarer, common)
    assert rarer != common
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SFITWarning)
        sfit.feature_significance(model, X, y)
    reported = [str(one.message) for one in caught if RARER in str(one.message)]
    assert bool(reported) == (frozen == rarer)
    assert all("x1" in text and "x0" not in text for text in reported)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SFITWarning)
        sfit.feature_significance(model, X, y, reference="median")
        sfit.feature_significance(model, X, y, always_on=[1])
