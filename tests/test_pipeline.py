"""Pipelines are tested on the user's own columns, masked where masking is right and cheapest."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import sfit
from sfit.rows import as_table
from sfit.sample._provenance import NO_ORIGIN, Provenance

CITIES = np.array(["lima", "oslo", "rome"])


def houses(n=1_500, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "area": rng.gamma(9, 12, size=n),
            "city": rng.choice(CITIES, p=[0.25, 0.45, 0.3], size=n),
            "age": rng.integers(0, 90, size=n).astype(float),
            "noise": rng.normal(50, 7, size=n),
        }
    )
    effect = X["city"].map({"lima": -60.0, "oslo": 80.0, "rome": 0.0})
    y = 3 * X["area"] + effect - X["age"] + rng.normal(scale=20, size=n)
    return X, y.to_numpy()


def encoder(**options):
    return make_column_transformer(
        (OneHotEncoder(**options), ["city"]), (StandardScaler(), ["area", "age", "noise"])
    )


@pytest.fixture(scope="module")
def fitted():
    """A pipeline of one-hot encoding and scaling, and held-out rows."""
    X, y = houses()
    return make_pipeline(encoder(), Ridge()).fit(X[:700], y[:700]), X[700:], y[700:]


def origins(pipeline, X):
    provenance = Provenance(pipeline[:-1].transform)
    provenance.add(as_table(X), as_table(pipeline[:-1].transform(X)))
    return provenance.traced


def by_hand(tail, Z, y, reference, columns, beta=0.01, given=()):
    """n_positive and median of each feature, masking encoded rows in a loop."""
    frozen = np.repeat(np.asarray(reference, dtype=float)[None, :], len(Z), axis=0)
    base = np.abs(y - tail.predict(frozen))
    found = {}
    for name, own in columns.items():
        shown = frozen.copy()
        shown[:, own] = Z[:, own]
        full = np.abs(y - tail.predict(shown))
        delta = (1 - beta) * base - full
        found[name] = int(np.count_nonzero(delta > 1e-9)), float(np.median(delta))
    return found


def assert_by_hand(result, expected):
    for test in result.tests:
        n_positive, median = expected[test.term[0]]
        assert test.n_positive == n_positive
        assert test.statistic == pytest.approx(median, rel=1e-9, abs=1e-9)


COLUMNS = {"area": [3], "city": [0, 1, 2], "age": [4], "noise": [5]}


def test_one_hot_and_scaled_columns_are_masked_behind_the_encoder(fitted):
    """Features are the user's columns; the dummies of a category are one of them."""
    pipeline, X, y = fitted
    result = sfit.feature_significance(pipeline, X, y)
    assert result.settings.space == "encoded"
    assert result.feature_names == ("area", "city", "age", "noise")
    Z = pipeline[:-1].transform(X)
    assert_by_hand(result, by_hand(pipeline[-1], Z, y, Z.mean(axis=0), COLUMNS))
    assert result.significant == {1: [("area",), ("city",)]}


@pytest.mark.parametrize("options", [{"sparse_output": True}, {"drop": "first"}])
def test_sparse_and_dropped_dummies(options):
    """Sparse encodings and a dropped first category are masked alike."""
    X, y = houses()
    pipeline = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(**options), ["city"]),
            (StandardScaler(), ["area", "age", "noise"]),
            sparse_threshold=1.0,
        ),
        LinearRegression(),
    ).fit(X, y)
    Z = pipeline[:-1].transform(X)
    Z = Z.toarray() if hasattr(Z, "toarray") else Z
    k = 2 if "drop" in options else 3
    columns = {"area": [k], "city": list(range(k)), "age": [k + 1], "noise": [k + 2]}
    result = sfit.feature_significance(pipeline, X, y)
    assert result.settings.space == "encoded"
    assert_by_hand(result, by_hand(pipeline[-1], Z, y, Z.mean(axis=0), columns))


def test_a_category_that_occurs_once_is_still_found():
    """One row in 5,000 with a category of its own: its dummy belongs to the city."""
    X, y = houses(5_000)
    X.loc[3_333, "city"] = "quito"
    pipeline = make_pipeline(encoder(), Ridge()).fit(X, y)
    result = sfit.feature_significance(pipeline, X, y)
    assert result.settings.space == "encoded"
    Z = pipeline[:-1].transform(X)
    columns = {"area": [4], "city": [0, 1, 2, 3], "age": [5], "noise": [6]}
    assert_by_hand(result, by_hand(pipeline[-1], Z, y, Z.mean(axis=0), columns))
    assert origins(pipeline, X) == (1, 1, 1, 1, 0, 2, 3)


def test_a_category_that_no_held_out_row_has():
    """Its dummy never moves: it has no origin, and stays where it is."""
    X, y = houses()
    pipeline = make_pipeline(encoder(), Ridge()).fit(X, y)
    rows = X["city"] != "lima"
    assert origins(pipeline, X[rows]) == (NO_ORIGIN, 1, 1, 0, 2, 3)
    result = sfit.feature_significance(pipeline, X[rows], y[rows])
    Z = pipeline[:-1].transform(X[rows])
    columns = {"area": [3], "city": [1, 2], "age": [4], "noise": [5]}
    assert_by_hand(result, by_hand(pipeline[-1], Z, y[rows], Z.mean(axis=0), columns))


def test_scaling_changes_nothing():
    """A scaled pipeline finds what the same model on unscaled columns finds."""
    X, y = houses()
    numeric = X[["area", "age", "noise"]]
    pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit(numeric, y)
    scaler, linear = pipeline[0], pipeline[1]
    scaled = sfit.feature_significance(pipeline, numeric, y, max_order=2)
    plain = sfit.feature_significance(
        lambda rows: linear.intercept_ + ((rows - scaler.mean_) / scaler.scale_) @ linear.coef_,
        numeric,
        y,
        max_order=2,
    )
    assert scaled.settings.space == "encoded"
    assert plain.settings.space == "original"
    assert [t.n_positive for t in scaled.tests] == [t.n_positive for t in plain.tests]
    np.testing.assert_allclose(scaled.table["statistic"], plain.table["statistic"], rtol=1e-6)


WHOLE = {
    "products": lambda: PolynomialFeatures(2),
    "rotation": lambda: make_pipeline(StandardScaler(), PCA(2)),
    "neighbours": lambda: KNNImputer(),
    "ratio": lambda: FunctionTransformer(lambda Z: np.column_stack([Z, Z[:, 0] / (1 + Z[:, 1])])),
    "norm": lambda: FunctionTransformer(lambda Z: Z / np.linalg.norm(Z, axis=1, keepdims=True)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_encoders_that_mix_columns_run_as_a_whole(name):
    """Encoded columns with several origins: the user's columns are masked, all of it runs."""
    X, y = houses()
    numeric = X[["area", "age", "noise"]].to_numpy().copy()
    if name == "neighbours":
        numeric[np.random.default_rng(1).uniform(size=numeric.shape) < 0.05] = np.nan
    pipeline = make_pipeline(WHOLE[name](), StandardScaler(), Ridge()).fit(numeric, y)
    result = sfit.feature_significance(pipeline, numeric, y, beta=0.0)
    assert result.settings.space == "original"
    columns = {"x0": [0], "x1": [1], "x2": [2]}
    expected = by_hand(pipeline, numeric, y, np.nanmean(numeric, axis=0), columns, beta=0.0)
    assert_by_hand(result, expected)


def test_a_product_that_is_rarely_seen_is_found_out():
    """The product of two rare dummies moves with both: not masked behind the encoder."""
    rng = np.random.default_rng(2)
    X = (rng.uniform(size=(4_000, 3)) < [0.01, 0.012, 0.5]).astype(float)
    X[2_000, :2] = 1
    y = X[:, 2] + rng.normal(size=4_000)
    product = FunctionTransformer(lambda Z: np.column_stack([Z, Z[:, 0] * Z[:, 1]]))
    pipeline = make_pipeline(product, Ridge()).fit(X, y)
    assert sfit.feature_significance(pipeline, X, y).settings.space == "original"


def test_a_category_that_the_probed_rows_lack_is_found_out():
    """Words that alternate row by row: those probed all hold the same, a mixture tells."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"size": rng.normal(size=511), "word": ["a", "b"] * 255 + ["a"]})
    X.loc[[0, 2], "size"] = [-9.0, 9.0]  # the rows of extremes are probed as well
    y = rng.normal(size=511)
    encode = FunctionTransformer(
        lambda rows: np.column_stack([rows["size"] + (rows["word"] == "b"), rows["size"] ** 2])
    )
    pipeline = make_pipeline(encode, Ridge()).fit(X, y)
    assert sfit.feature_significance(pipeline, X, y).settings.space == "original"


def test_imputing_each_column_by_itself_is_masked_behind_it():
    """A simple imputer has one origin per column; missing values are values."""
    X, y = houses()
    numeric = X[["area", "age"]].to_numpy().copy()
    numeric[np.random.default_rng(1).uniform(size=numeric.shape) < 0.1] = np.nan
    pipeline = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), Ridge())
    pipeline.fit(numeric, y)
    result = sfit.feature_significance(pipeline, numeric, y)
    assert result.settings.space == "encoded"
    Z = pipeline[:-1].transform(numeric)
    columns = {"x0": [0, 2], "x1": [1, 3]}
    assert_by_hand(result, by_hand(pipeline[-1], Z, y, Z.mean(axis=0), columns))


def test_two_encodings_of_one_column_belong_together():
    """A feature union of a column with its logarithm: both are the column's."""
    X, y = houses()
    numeric = X[["area", "age"]].to_numpy()
    union = FeatureUnion([("as is", StandardScaler()), ("log", FunctionTransformer(np.log1p))])
    pipeline = make_pipeline(union, LinearRegression()).fit(numeric, y)
    result = sfit.feature_significance(pipeline, numeric, y)
    assert result.settings.space == "encoded"
    Z = pipeline[:-1].transform(numeric)
    columns = {"x0": [0, 2], "x1": [1, 3]}
    assert_by_hand(result, by_hand(pipeline[-1], Z, y, Z.mean(axis=0), columns))


def test_columns_that_the_pipeline_drops_are_never_significant():
    """They are tested like the others, and nothing can be found of them."""
    X, y = houses()
    pipeline = make_pipeline(
        ColumnTransformer([("numbers", StandardScaler(), ["area", "age"])]), Ridge()
    ).fit(X, y)
    result = sfit.feature_significance(pipeline, X, y)
    assert result.feature_names == ("area", "city", "age", "noise")
    assert {t.term[0] for t in result.tests if t.n_positive == 0} >= {"city", "noise"}


def test_a_grid_search_is_its_best_pipeline(fitted):
    """The search and its best estimator give the same result."""
    pipeline, X, y = fitted
    search = GridSearchCV(pipeline, {"ridge__alpha": [0.1, 10.0]}, cv=2).fit(X, y)
    result = sfit.feature_significance(search, X, y)
    assert result.settings.space == "encoded"
    assert result == sfit.feature_significance(search.best_estimator_, X, y)


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_between_the_steps(fitted, output, kind):
    """set_output and the user's kind of frame do not matter."""
    if "polars" in (output, kind):
        pytest.importorskip("polars")
    pipeline, X, y = fitted
    expected = sfit.feature_significance(pipeline, X, y)
    again = make_pipeline(encoder(sparse_output=False), Ridge()).set_output(transform=output)
    training = houses()[0][:700]
    again.fit(training, houses()[1][:700])
    rows = X if kind == "pandas" else pytest.importorskip("polars").DataFrame(X)
    got = sfit.feature_significance(again, rows, y)
    assert got.settings.space == "encoded"
    assert [t.n_positive for t in got.tests] == [t.n_positive for t in expected.tests]


def test_classifiers_and_strings():
    """A classifier with string labels behind string columns, by class as well."""
    X, y = houses()
    label = np.where(y > np.median(y), "dear", "cheap")
    pipeline = make_pipeline(encoder(), LogisticRegression()).fit(X[:700], label[:700])
    result = sfit.feature_significance(pipeline, X[700:], label[700:], by="class")
    assert list(result) == ["cheap", "dear"]
    assert result["dear"].settings.space == "encoded"
    assert ("area",) in result["dear"].significant[1]


# ------------------------------------------------------------------------------------ references


def references(X):
    """References in original units, and the row of originals that they stand for."""
    numbers = ["area", "age", "noise"]
    means = X[numbers].mean()
    row = {"area": 150.0, "city": "oslo", "age": 10.0, "noise": 40.0}
    return {
        "row": ([row[name] for name in X.columns], row),
        "mapping": (row, row),
        "partial": ({"city": "oslo", "age": 10.0}, {**means, "city": "oslo", "age": 10.0}),
    }


@pytest.mark.parametrize("kind", ["row", "mapping", "partial"])
@pytest.mark.parametrize("output", ["default", "pandas"])
def test_values_given_are_in_original_units(kind, output):
    """They are encoded as a row of the data would be."""
    X, y = houses()
    pipeline = make_pipeline(encoder(sparse_output=False), Ridge()).set_output(transform=output)
    pipeline.fit(X, y)
    reference, row = references(X)[kind]
    result = sfit.feature_significance(pipeline, X, y, reference=reference)
    assert result.settings.space == "encoded"
    Z = np.asarray(pipeline[:-1].transform(X))
    frozen = np.asarray(pipeline[:-1].transform(pd.DataFrame([row])[list(X.columns)]))[0]
    expected = by_hand(Unnamed(pipeline[-1]), Z, y, frozen, COLUMNS)
    assert_by_hand(result, expected)


class Unnamed:
    """A linear model asked without names."""

    def __init__(self, linear):
        self.linear = linear

    def predict(self, Z):
        return Z @ self.linear.coef_ + self.linear.intercept_


@pytest.mark.parametrize("frames", [True, False])
def test_a_number_in_original_units_behind_a_scaler(frames):
    """reference=0 means 0 of the user's units: not the scaler's mean, whatever the shapes."""
    X, y = houses()
    numeric = X[["area", "age", "noise"]]
    rows = numeric if frames else numeric.to_numpy()
    for output in ("default", "pandas"):
        pipeline = make_pipeline(StandardScaler(), LinearRegression()).set_output(transform=output)
        pipeline.fit(rows, y)
        linear = Unnamed(pipeline[-1])
        Z = np.asarray(pipeline[:-1].transform(rows))
        frozen = (np.zeros(3) - pipeline[0].mean_) / pipeline[0].scale_
        names = ["area", "age", "noise"] if frames else ["x0", "x1", "x2"]
        columns = {name: [j] for j, name in enumerate(names)}
        result = sfit.feature_significance(pipeline, rows, y, reference=0)
        assert_by_hand(result, by_hand(linear, Z, y, frozen, columns))


def test_original_units_where_names_survive_the_encoder():
    """Scaled numbers beside categories, in a frame with the user's own names."""
    X, y = houses()
    X["city"] = X["city"].astype("category")
    head = make_column_transformer(
        (StandardScaler(), ["area", "age", "noise"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipeline = make_pipeline(
        head, HistGradientBoostingRegressor(max_iter=30, categorical_features="from_dtype")
    ).fit(X, y)
    row = {"area": 150.0, "city": "oslo", "age": 10.0, "noise": 40.0}
    result = sfit.feature_significance(pipeline, X, y, reference=row)
    frozen = X.assign(area=150.0, age=10.0, noise=40.0)
    frozen["city"] = pd.Categorical(["oslo"] * len(X), categories=X["city"].cat.categories)
    base = np.abs(y - pipeline.predict(frozen))
    for test in result.tests:
        shown = frozen.copy()
        shown[test.term[0]] = X[test.term[0]]
        full = np.abs(y - pipeline.predict(shown))
        assert test.n_positive == np.count_nonzero(0.99 * base > full)


def test_a_data_set_as_reference_is_encoded_before_its_means_are_taken():
    """The training set behind the encoder: shares of categories, means of scaled numbers."""
    X, y = houses()
    pipeline = make_pipeline(encoder(), Ridge()).fit(X[:700], y[:700])
    for training in (X[:700], X[:700][["noise", "city", "area", "age"]]):
        result = sfit.feature_significance(pipeline, X[700:], y[700:], reference=training)
        Z = pipeline[:-1].transform(X)
        frozen = Z[:700].mean(axis=0)
        assert_by_hand(result, by_hand(pipeline[-1], Z[700:], y[700:], frozen, COLUMNS))
        assert result.settings.reference_origin == "given"


def test_references_where_the_whole_pipeline_runs():
    """Original units are the masked ones: a number, a row, a mapping, a data set."""
    X, y = houses()
    numeric = X[["area", "age", "noise"]]
    pipeline = make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge()).fit(numeric, y)
    rows, means = numeric.to_numpy(), numeric.mean()
    columns = {"area": [0], "age": [1], "noise": [2]}

    class Framed:
        def predict(self, Z):
            return pipeline.predict(pd.DataFrame(Z, columns=numeric.columns))

    for reference, row in (
        (30.0, [30.0] * 3),
        ([100.0, 5.0, 50.0], [100.0, 5.0, 50.0]),
        ({"age": 5.0}, [means["area"], 5.0, means["noise"]]),
        (numeric[:100], numeric[:100].mean()),
    ):
        result = sfit.feature_significance(pipeline, numeric, y, reference=reference)
        assert result.settings.space == "original"
        assert_by_hand(result, by_hand(Framed(), rows, y, row, columns))


def test_strings_where_the_whole_pipeline_runs():
    """Columns of words are frozen at their mode when originals are masked."""
    X, y = houses()
    pipeline = make_pipeline(
        make_column_transformer(
            (OrdinalEncoder(), make_column_selector(dtype_exclude="number")),
            remainder="passthrough",
        ),
        PolynomialFeatures(2),
        RandomForestRegressor(n_estimators=10, max_depth=5, random_state=0),
    ).fit(X, y)
    result = sfit.feature_significance(pipeline, X, y)
    assert result.settings.space == "original"
    frozen = X.assign(area=X["area"].mean(), age=X["age"].mean(), noise=X["noise"].mean())
    base = np.abs(y - pipeline.predict(frozen.assign(city="oslo")))
    full = np.abs(y - pipeline.predict(frozen))
    assert result.tests[1].n_positive == np.count_nonzero(0.99 * base > full)


def test_always_on_and_groups_name_the_users_columns(fitted):
    """Both speak of originals, whatever they are encoded to."""
    pipeline, X, y = fitted
    Z = pipeline[:-1].transform(X)
    result = sfit.feature_significance(
        pipeline, X, y, always_on=["area"], groups={"place": ["city", "noise"]}
    )
    assert result.feature_names == ("place", "age")
    frozen = np.repeat(Z.mean(axis=0)[None, :], len(Z), axis=0)
    frozen[:, 3] = Z[:, 3]
    base = np.abs(y - pipeline[-1].predict(frozen))
    frozen[:, [0, 1, 2, 5]] = Z[:, [0, 1, 2, 5]]
    full = np.abs(y - pipeline[-1].predict(frozen))
    assert result.tests[0].n_positive == np.count_nonzero(0.99 * base > full)


def test_a_column_that_is_dropped_on_the_way_is_not_called_constant():
    X, y = houses()
    pipeline = make_pipeline(
        make_column_transformer(("passthrough", ["area", "age"]), remainder="drop"),
        RandomForestRegressor(n_estimators=5, random_state=0),
    ).fit(X, y)
    result = sfit.feature_significance(pipeline, X, y, reference=X)
    assert "dropped before the model, so never significant: 'city', 'noise'." in result.caveats
    assert not [text for text in result.caveats if text.startswith("constant")]
    assert not set(result.selected) & {"city", "noise"}
