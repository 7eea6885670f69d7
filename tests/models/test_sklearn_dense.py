import warnings

import numpy as np
import pytest
from sklearn import linear_model as lm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from models.walk import assert_view, forward
from sfit.exceptions import ModelError
from sfit.models import as_view

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
SCORE = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * RNG.normal(size=200)
Y = 10 + SCORE
TWO = np.where(SCORE > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(SCORE, [-1, 1])]
SEVERAL = np.column_stack([Y, -Y, X[:, 3]])


def name(case):
    return f"{len(np.unique(case))} values" if isinstance(case, np.ndarray) else repr(case)


def fit(model, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


REGRESSORS = [
    (lm.LinearRegression(), Y),
    (lm.LinearRegression(fit_intercept=False), Y),
    (lm.LinearRegression(), SEVERAL),
    (lm.Ridge(), SEVERAL),
    (lm.RidgeCV(), Y),
    (lm.Lasso(alpha=0.1), Y),
    (lm.ElasticNet(alpha=0.1), Y),
    (lm.MultiTaskLasso(alpha=0.1), SEVERAL),
    (lm.LassoLars(alpha=0.1), Y),
    (lm.SGDRegressor(average=True, random_state=0), Y),
    (lm.HuberRegressor(), Y),
    (lm.BayesianRidge(), Y),
    (lm.ARDRegression(), Y),
    (lm.QuantileRegressor(), Y),
    (lm.TheilSenRegressor(random_state=0, max_subpopulation=50), Y),
    (lm.PoissonRegressor(), np.abs(Y)),
    (lm.GammaRegressor(), np.abs(Y) + 1),
    (lm.TweedieRegressor(power=0), Y),
    (lm.TweedieRegressor(power=1.5), np.abs(Y)),
    (LinearSVR(random_state=0), Y),
    (MLPRegressor(hidden_layer_sizes=(8, 5), random_state=0, max_iter=30), Y),
    (
        MLPRegressor(hidden_layer_sizes=(8,), activation="tanh", random_state=0, max_iter=30),
        SEVERAL,
    ),
    (MLPRegressor(hidden_layer_sizes=(8,), activation="logistic", random_state=0, max_iter=30), Y),
    (MLPRegressor(hidden_layer_sizes=(), activation="identity", random_state=0, max_iter=30), Y),
    (MLPRegressor(loss="poisson", hidden_layer_sizes=(8,), random_state=0, max_iter=30), Y**2),
]

CLASSIFIERS = [
    (lm.LogisticRegression(), TWO),
    (lm.LogisticRegression(solver="liblinear"), TWO),
    (lm.LogisticRegression(), THREE),
    (lm.SGDClassifier(loss="log_loss", random_state=0), TWO),
    (LinearDiscriminantAnalysis(), TWO),
    (LinearDiscriminantAnalysis(), THREE),
    (MLPClassifier(hidden_layer_sizes=(8,), random_state=0, max_iter=30), TWO),
    (
        MLPClassifier(hidden_layer_sizes=(8, 5), activation="tanh", random_state=0, max_iter=30),
        THREE,
    ),
]


@pytest.mark.parametrize(("model", "y"), REGRESSORS, ids=name)
def test_regressors(model, y):
    model = fit(model, y)
    view = as_view(model)
    assert (view.task, view.classes) == ("regression", None)
    assert_view(view, X, lambda: model.predict(X))
    np.testing.assert_allclose(forward(view.structure, X), model.predict(X), rtol=1e-10)


@pytest.mark.parametrize(("model", "y"), CLASSIFIERS, ids=name)
def test_classifiers(model, y):
    model = fit(model, y)
    view = as_view(model)
    assert view.task == "classification"
    assert view.classes.tolist() == sorted(set(y))
    assert_view(view, X, lambda: model.predict_proba(X))
    np.testing.assert_allclose(
        forward(view.structure, X), model.predict_proba(X), rtol=1e-10, atol=1e-14
    )


def test_weights_are_glorot_normal_and_biases_zero():
    wide = np.random.default_rng(1).normal(size=(30, 4000))
    linear = lm.Ridge().fit(wide, np.column_stack([wide[:, 0], wide[:, 1]]))
    copied = as_view(linear).randomize(np.random.default_rng(0)).model
    assert copied.coef_.shape == (2, 4000)
    assert copied.coef_.std() == pytest.approx(np.sqrt(2 / 4002), rel=0.03)
    assert np.all(copied.intercept_ == 0)
    network = fit(MLPRegressor(hidden_layer_sizes=(300, 100), random_state=0, max_iter=2), Y)
    copied = as_view(network).randomize(np.random.default_rng(0)).model
    assert [w.shape for w in copied.coefs_] == [w.shape for w in network.coefs_]
    assert copied.coefs_[1].std() == pytest.approx(np.sqrt(2 / 400), rel=0.03)
    assert all(np.all(biases == 0) for biases in copied.intercepts_)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (lm.SGDClassifier(loss="modified_huber", random_state=0), TWO),
        (lm.SGDClassifier(loss="log_loss", random_state=0), THREE),
    ],
)
def test_no_structure_where_probabilities_are_neither_sigmoid_nor_softmax(model, y):
    view = as_view(fit(model, y))
    assert view.structure is None
    assert_view(view, X, lambda: model.predict_proba(X))


@pytest.mark.parametrize("model", [LinearSVC(), lm.RidgeClassifier(), lm.Perceptron()])
def test_labels_only(model):
    model = fit(model, THREE)
    view = as_view(model, "zero_one")
    assert view.structure is None
    assert_view(view, X, lambda: (model.predict(X)[:, None] == model.classes_).astype(float))


@pytest.mark.parametrize("model", [SVR(kernel="linear"), lm.RANSACRegressor(random_state=0)])
def test_models_that_are_linear_by_other_means_are_left_alone(model):
    view = as_view(fit(model, Y))
    assert view.structure is None
    with pytest.raises(ModelError, match="random_model"):
        view.randomize(np.random.default_rng(0))


def test_a_subclass_that_predicts_in_its_own_way_has_no_structure():
    class Clipped(lm.Ridge):
        def predict(self, X):
            return np.clip(super().predict(X), 0, 1)

    view = as_view(fit(Clipped(), Y))
    assert view.structure is None
    with pytest.raises(ModelError, match="random_model"):
        view.randomize(np.random.default_rng(0))


def test_sparse_coefficients_are_left_alone():
    model = fit(lm.SGDClassifier(loss="log_loss", random_state=0), TWO).sparsify()
    assert as_view(model).structure is None


def test_several_labels_at_once_have_no_structure():
    model = fit(
        MLPClassifier(hidden_layer_sizes=(4,), max_iter=2),
        np.column_stack([SCORE > 0, SCORE > 1]).astype(int),
    )
    assert as_view(model).structure is None


def test_kernel_machines_give_probabilities_and_no_structure():
    model = SVC(kernel="linear").fit(X, TWO)
    assert as_view(model, "zero_one").structure is None
