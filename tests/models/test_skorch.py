import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from models.networks import X, assert_picklable, assert_random_copies, assert_structure
from sfit.exceptions import ModelError
from sfit.models import as_view

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")
torch.set_num_threads(1)  # Tiny models, and a machine that others share.
nn = torch.nn
ROWS = X.astype(np.float32)
THREE = np.digitize(X[:, 0], [-0.5, 0.5]).astype(np.int64)
TWO = (X[:, 0] > 0).astype(np.float32)
TARGET = X[:, [0]].astype(np.float32)


def module(outputs, *ending):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 6),
        nn.BatchNorm1d(6),
        nn.ReLU(),
        nn.Dropout(0.4),
        nn.Linear(6, outputs),
        *ending,
    )


def fitted(kind, network, y, **settings):
    net = kind(network, max_epochs=3, verbose=0, train_split=None, lr=0.1, **settings)
    return net.fit(ROWS, y)


def classifier(criterion=nn.CrossEntropyLoss, ending=(), **settings):
    network = module(3, *ending)
    return fitted(skorch.NeuralNetClassifier, network, THREE, criterion=criterion, **settings)


def binary(criterion=nn.BCEWithLogitsLoss, ending=()):
    network = module(1, *ending)
    return fitted(skorch.NeuralNetBinaryClassifier, network, TWO, criterion=criterion)


def regressor(**settings):
    return fitted(skorch.NeuralNetRegressor, module(1), TARGET, **settings)


def twice(values):
    return torch.softmax(2 * values, dim=-1)


class Doubled(skorch.NeuralNetRegressor):
    def infer(self, x, **fit_params):
        return 2 * super().infer(x, **fit_params)


class WithExtra(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = module(1)

    def forward(self, rows):
        values = self.network(rows)
        return values, rows


class FirstOnly(skorch.NeuralNetRegressor):
    def get_loss(self, y_pred, y_true, *args, **kwargs):
        return super().get_loss(y_pred[0], y_true, *args, **kwargs)


@pytest.mark.parametrize(
    ("make", "criterion", "ending", "output"),
    [
        (classifier, nn.CrossEntropyLoss, (), "softmax"),
        (classifier, nn.NLLLoss, (nn.Softmax(dim=1),), "softmax"),
        (binary, nn.BCEWithLogitsLoss, (), "sigmoid"),
        (binary, nn.BCELoss, (nn.Sigmoid(),), "sigmoid"),
    ],
)
def test_classifiers(make, criterion, ending, output):
    net = make(criterion, ending)
    own = net.predict_proba(ROWS)
    view = as_view(net)
    assert view.task == "classification"
    assert view.classes.tolist() == net.classes_.tolist()
    assert_allclose(view.predict(X), own, rtol=1e-5)
    assert view.structure.output == output
    assert_structure(view)
    assert_random_copies(view)
    assert_picklable(view)


def test_regressor():
    net = regressor()
    view = as_view(net)
    assert view.task == "regression"
    assert view.classes is None
    assert_allclose(view.predict(X), net.predict(ROWS)[:, 0], rtol=1e-5, atol=1e-6)
    assert_structure(view)
    assert_random_copies(view)
    assert_picklable(view)


def test_the_net_and_the_global_generator_are_left_alone():
    net = classifier()
    net.module_.train()
    net.module_[1].eval()
    state = copy.deepcopy(net.module_.state_dict())
    modes = [layer.training for layer in net.module_.modules()]
    generator = torch.get_rng_state()
    view = as_view(net)
    view.predict(X)
    view.randomize(np.random.default_rng(0)).predict(X)
    assert torch.equal(torch.get_rng_state(), generator)
    assert [layer.training for layer in net.module_.modules()] == modes
    assert all(torch.equal(value, state[name]) for name, value in net.module_.state_dict().items())


def test_a_nonlinearity_of_the_users_own():
    net = classifier(predict_nonlinearity=twice)
    view = as_view(net)
    assert_allclose(view.predict(X), net.predict_proba(ROWS), rtol=1e-5)
    assert view.structure is None
    assert_random_copies(view)
    assert_picklable(view)


def test_of_several_outputs_the_first_counts():
    net = fitted(FirstOnly, WithExtra(), TARGET)
    view = as_view(net)
    assert_allclose(view.predict(X), net.predict(ROWS)[:, 0], rtol=1e-5, atol=1e-6)
    assert view.structure is None


def test_a_net_with_a_way_of_its_own_is_asked_itself():
    net = fitted(Doubled, module(1), TARGET)
    net.module_.train()
    view = as_view(net)
    prediction = view.predict(X)
    assert net.module_.training
    assert_allclose(prediction, net.predict(ROWS)[:, 0], rtol=1e-5, atol=1e-6)
    with pytest.raises(ModelError, match="random_model"):
        view.randomize(np.random.default_rng(0))


def test_a_plain_net_goes_by_the_loss():
    net = skorch.NeuralNet(module(3), criterion=nn.CrossEntropyLoss, verbose=0, train_split=None)
    net.set_params(max_epochs=1).fit(ROWS, THREE)
    assert as_view(net, loss="log_loss").task == "classification"
    assert as_view(net).task == "regression"
    assert_allclose(as_view(net, "log_loss").predict(X), net.predict_proba(ROWS), rtol=1e-5)


def test_behind_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), regressor())
    pipeline.steps[0][1].fit(ROWS)
    view = as_view(pipeline)
    assert view.structure is not None
    own = pipeline.predict(ROWS)[:, 0]
    assert_allclose(view.predict(view.encode(X)), own, rtol=1e-4, atol=1e-5)


def test_an_unfitted_net_is_refused():
    with pytest.raises(ModelError, match="not fitted"):
        as_view(skorch.NeuralNetRegressor(module(1)))
