import copy
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sfit
from models.networks import X, assert_picklable, assert_random_copies, assert_structure
from sfit.exceptions import ArgumentError, MissingDependencyError, ModelError
from sfit.models import as_view, torch_model
from sfit.models._network import BATCH_ROWS

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # Tiny models, and a machine that others share.
nn = torch.nn


def own_prediction(module, rows=X, dtype=torch.float32):
    module = copy.deepcopy(module).eval()
    with torch.no_grad():
        return module(torch.tensor(rows, dtype=dtype)).numpy()


def full_network(*ending):
    """Everything that folds: normalisation first, after a layer and after an activation."""
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.BatchNorm1d(4),
        nn.Linear(4, 8),
        nn.BatchNorm1d(8),
        nn.ReLU(),
        nn.Sequential(
            nn.BatchNorm1d(8, affine=False), nn.Dropout(0.5), nn.Linear(8, 6, bias=False)
        ),
        nn.LeakyReLU(0.2),
        nn.Linear(6, 3),
        *ending,
    )
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm1d):
            layer.running_mean.normal_()
            layer.running_var.uniform_(0.5, 2)
            if layer.affine:
                nn.init.normal_(layer.weight)
                nn.init.normal_(layer.bias)
    return module.train()


class Pair(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.linear = nn.Linear(4, 1)
        self.kind = kind

    def forward(self, rows):
        return self.kind([self.linear(rows), self.linear(rows)])


class Skip(nn.Module):
    """No chain: tied weights, a parameter of its own, layers with initialisers of their own."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.norm, self.mix = nn.LayerNorm(4), nn.Bilinear(4, 4, 2)
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, rows):
        z = rows + self.norm(torch.tanh(self.second(self.first(rows)) * self.scale))
        return self.mix(z, rows)


def test_predictions_of_a_module_in_training_mode_are_its_own_in_evaluation():
    module = full_network()
    view = as_view(module)
    assert view.task == "regression"
    assert_allclose(view.predict(X), own_prediction(module), rtol=1e-6)
    assert view.predict(X).dtype == np.float32


def test_the_module_and_the_global_generators_are_left_alone():
    module = full_network(nn.Softmax(dim=1))
    module[4].eval()
    module(torch.tensor(X, dtype=torch.float32)).sum().backward()
    state = copy.deepcopy(module.state_dict())
    modes = [layer.training for layer in module.modules()]
    gradients = [parameter.grad.clone() for parameter in module.parameters()]
    generators = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    view = as_view(module)
    view.predict(X)
    view.randomize(np.random.default_rng(0)).predict(X)
    with pytest.raises(RuntimeError):
        view.predict(X[:, :2])
    assert [layer.training for layer in module.modules()] == modes
    assert all(torch.equal(value, state[name]) for name, value in module.state_dict().items())
    for parameter, gradient in zip(module.parameters(), gradients, strict=True):
        assert torch.equal(parameter.grad, gradient)
        assert parameter.requires_grad
    assert torch.equal(torch.get_rng_state(), generators[0])
    assert random.getstate() == generators[1]
    assert_array_equal(np.random.get_state()[1], generators[2])  # noqa: NPY002


def test_training_on_does_not_move_the_view():
    module = full_network()
    view = as_view(module)
    before = view.predict(X)
    with torch.no_grad():
        module[1].weight.zero_()
    assert_array_equal(view.predict(X), before)


@pytest.mark.parametrize("ending", [(), (nn.Softmax(dim=1),), (nn.LogSoftmax(dim=-1),)])
def test_structure_random_copies_and_pickles(ending):
    view = as_view(full_network(*ending))
    assert view.task == ("classification" if ending else "regression")
    assert len(view.structure.layers) == 3
    assert view.structure.layers[1][2] == "leaky_relu:0.2"
    assert view.structure.output == ("softmax" if ending else "identity")
    assert view.structure.dtype == np.float32
    assert_structure(view)
    assert_random_copies(view)
    assert_picklable(view)


@pytest.mark.parametrize("activation", [nn.Tanh, nn.Sigmoid, nn.SiLU, nn.Softplus, nn.Identity])
def test_activations_by_name(activation):
    assert_structure(as_view(nn.Sequential(nn.Linear(4, 5), activation(), nn.Linear(5, 1))))


def test_normalisation_twice_in_a_row_folds():
    module = nn.Sequential(nn.BatchNorm1d(4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    for layer in module[:2]:
        layer.running_mean.normal_()
        nn.init.normal_(layer.weight)
    assert_structure(as_view(module))


def test_probabilities_that_the_module_makes_itself():
    closed = nn.Sequential(nn.Linear(4, 3), nn.Hardsigmoid())
    assert torch_model(closed, output="probabilities").structure is None
    linear = torch_model(nn.Linear(4, 3), output="probabilities")
    assert linear.structure.output == "identity"
    assert torch_model(nn.Linear(4, 1), output="probabilities").structure is None


def test_whole_numbers_become_floats():
    class Rounded(nn.Module):
        def forward(self, rows):
            return rows[:, 0].round().long()

    assert_array_equal(as_view(Rounded()).predict(X), X[:, 0].round())
    assert as_view(Rounded()).predict(X).dtype == np.float64


def test_a_layer_that_runs_twice_counts_twice():
    relu = nn.ReLU()
    module = nn.Sequential(nn.Linear(4, 5), relu, nn.Linear(5, 5), relu, nn.Linear(5, 1))
    assert [name for *_, name in as_view(module).structure.layers] == ["relu", "relu", "identity"]
    assert_structure(as_view(module))


def test_one_sigmoid_is_the_second_of_two_classes():
    module = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1), nn.Sigmoid())
    view = as_view(module)
    p = own_prediction(module)[:, 0]
    assert view.task == "classification"
    assert_allclose(view.predict(X), np.column_stack([1 - p, p]), rtol=1e-6)
    assert view.structure.output == "sigmoid"
    assert_structure(view)


def test_several_sigmoids_are_no_distribution():
    view = as_view(nn.Sequential(nn.Linear(4, 3), nn.Sigmoid()))
    assert view.task == "regression"
    assert_structure(view)


def test_a_bare_linear_end_under_a_classification_loss_names_the_wrapper():
    view = as_view(nn.Linear(4, 3), loss="log_loss")
    assert view.task == "classification"
    assert 'torch_model(module, output="logits")' in view.remedy
    assert as_view(nn.Linear(4, 3), loss="squared_error").task == "regression"


@pytest.mark.parametrize("units", [1, 3])
def test_logits(units):
    module = nn.Linear(4, units)
    view = torch_model(module, output="logits", classes=[f"c{i}" for i in range(max(units, 2))])
    z = own_prediction(module).astype(float)
    z = np.column_stack([np.zeros(len(z)), z]) if units == 1 else z
    odds = np.exp(z)
    assert_allclose(view.predict(X), odds / odds.sum(axis=1, keepdims=True), rtol=1e-5)
    assert view.structure.output == ("sigmoid" if units == 1 else "softmax")
    assert view.classes[1] == "c1"
    assert_structure(view)
    assert_picklable(view)


def test_large_logits_keep_small_probabilities():
    module = nn.Linear(1, 1, bias=False)
    nn.init.ones_(module.weight)
    p = torch_model(module, output="logits").predict(np.array([[60.0], [-60.0], [1e4]]))
    assert np.isfinite(p).all()
    assert_allclose(p[:2, [0, 1]].min(axis=1), np.exp(-60), rtol=1e-4)


def test_logits_and_probabilities_without_a_column():
    flat = nn.Sequential(nn.Linear(4, 1), nn.Flatten(0))
    z = own_prediction(flat)
    p = 1 / (1 + np.exp(-z))
    both = np.column_stack([1 - p, p])
    assert_allclose(torch_model(flat, output="logits").predict(X), both, rtol=1e-5)
    closed = nn.Sequential(flat, nn.Sigmoid())
    assert_allclose(torch_model(closed, output="probabilities").predict(X), both, rtol=1e-5)
    assert torch_model(closed, output="probabilities").structure is None
    assert_allclose(torch_model(flat, output="values").predict(X), z, rtol=1e-6)


def test_values_of_a_sigmoid_are_a_regression():
    view = torch_model(nn.Sequential(nn.Linear(4, 1), nn.Sigmoid()), output="values")
    assert view.task == "regression"
    assert view.structure.output == "identity"
    assert view.structure.layers[-1][2] == "logistic"
    assert_structure(view)


def test_double_precision():
    module = full_network().double()
    view = as_view(module)
    assert view.predict(X).dtype == np.float64
    assert_array_equal(view.predict(X), own_prediction(module, dtype=torch.float64))
    assert_structure(view, rtol=1e-12)


def test_half_precision_gives_single_precision_and_no_structure():
    module = full_network().bfloat16()
    with torch.no_grad():
        own = copy.deepcopy(module).eval()(torch.tensor(X, dtype=torch.bfloat16)).float().numpy()
    assert_array_equal(as_view(module).predict(X), own)
    assert as_view(module).structure is None


def test_any_other_module():
    torch.manual_seed(0)
    module = Skip()
    view = as_view(module)
    assert view.structure is None
    assert_allclose(view.predict(X), own_prediction(module), rtol=1e-6)
    assert_random_copies(view)
    copied = view.randomize(np.random.default_rng(0)).module
    assert copied.first.weight is copied.second.weight
    assert torch.equal(copied.norm.weight, torch.ones(4))


def test_random_copies_follow_glorot_with_zero_biases():
    view = as_view(nn.Sequential(nn.Linear(4, 500), nn.BatchNorm1d(500), nn.Linear(500, 300)))
    view.module[1].running_mean.fill_(3.0)
    first, norm, last = view.randomize(np.random.default_rng(0)).module
    assert float(last.weight.std()) == pytest.approx(np.sqrt(2 / 800), rel=0.02)
    assert not first.bias.any()
    assert not norm.running_mean.any()


def test_layers_that_cannot_start_by_themselves_are_refused():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4, 1))

        def reset_parameters(self, scale):
            nn.init.normal_(self.weight, std=scale)

        def forward(self, rows):
            return rows @ self.weight

    with pytest.raises(ModelError, match=r"of Own failed .*'scale'.*random_model="):
        sfit.choose_beta(Own(), X, X[:, 0])


def test_parametrised_weights_are_drawn_too():
    torch.manual_seed(0)
    module = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 5)), nn.Linear(5, 1))
    view = as_view(module)
    assert view.structure is None
    assert_allclose(view.predict(X), own_prediction(module)[:, 0], rtol=1e-6)
    assert_random_copies(view)


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.BatchNorm1d(4)),
        nn.Sequential(nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1)),
        nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Tanh(), nn.Linear(4, 1)),
        nn.Sequential(nn.ReLU(), nn.Linear(4, 1)),
        nn.Sequential(nn.Linear(4, 4), nn.Softmax(dim=1), nn.Linear(4, 1)),
        nn.Sequential(nn.Linear(4, 4), nn.ELU(alpha=0.5), nn.Linear(4, 1)),
        nn.Sequential(nn.Linear(4, 4), nn.PReLU(), nn.Linear(4, 1)),
    ],
)
def test_chains_that_do_not_fold_have_no_structure(module):
    view = as_view(module)
    assert view.structure is None
    assert_allclose(np.squeeze(own_prediction(module)), view.predict(X), rtol=1e-6)


def test_a_hook_is_not_overlooked():
    module = nn.Sequential(nn.Linear(4, 1))
    module[0].register_forward_hook(_double)
    view = as_view(module)
    assert view.structure is None
    assert_allclose(view.predict(X), own_prediction(module)[:, 0], rtol=1e-6)


def _double(layer, rows, returned):
    return 2 * returned


@pytest.mark.parametrize("kind", [list, tuple, lambda pair: dict(enumerate(pair))])
def test_outputs_that_are_no_tensors_are_refused(kind):
    with pytest.raises(ModelError, match=r"function_model"):
        as_view(Pair(kind)).predict(X)


def test_shapes_that_are_no_predictions_are_refused():
    with pytest.raises(ModelError, match=r"shape \(200, 2, 2\)"):
        as_view(nn.Sequential(nn.Linear(4, 4), nn.Unflatten(1, (2, 2)))).predict(X)
    with pytest.raises(ModelError, match="one prediction per row"):
        as_view(nn.Sequential(nn.Linear(4, 2), nn.Flatten(0))).predict(X)


def test_modules_that_cannot_be_used_are_refused():
    with pytest.raises(ModelError, match="lazy"):
        as_view(nn.Sequential(nn.LazyLinear(3)))
    with pytest.raises(ModelError, match="running statistics"):
        as_view(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, track_running_stats=False)))
    grown = nn.Linear(4, 1)
    grown.extra = grown.weight * 2
    with pytest.raises(ModelError, match="cannot be copied"):
        as_view(grown)
    with pytest.raises(ModelError, match="random_model"):
        as_view(nn.Softmax(dim=1)).randomize(np.random.default_rng(0))


def test_modules_without_parameters_run_in_single_precision():
    view = as_view(nn.Softmax(dim=1))
    assert view.predict(X).dtype == np.float32
    assert view.structure is None
    assert as_view(nn.Sequential()).structure is None


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
def test_scripts_and_compiled_modules():
    module = full_network()
    script = as_view(torch.jit.trace(module.eval(), torch.zeros(2, 4)))
    assert script.threads_only
    assert_allclose(script.predict(X), own_prediction(module), rtol=1e-5)
    assert_random_copies(script)
    compiled = as_view(torch.compile(module, backend="eager"))
    assert compiled.structure is not None
    assert_array_equal(compiled.predict(X), own_prediction(module))


def test_batches_threads_and_odd_rows():
    module = full_network()
    view = as_view(module)
    many = np.random.default_rng(1).normal(size=(BATCH_ROWS + 5, 4))
    assert_allclose(view.predict(many), own_prediction(module, many), rtol=1e-4, atol=1e-6)
    with ThreadPoolExecutor(2) as pool:
        for prediction in pool.map(view.predict, [X] * 8):
            assert_array_equal(prediction, view.predict(X))
    backwards = X[::-1]
    backwards.flags.writeable = False
    assert_array_equal(view.predict(backwards), view.predict(X[::-1].copy()))
    assert view.predict(X[:0]).shape == (0, 3)
    with pytest.raises(ModelError, match="accepts numbers only"):
        view.predict(np.array([["a", 1, 2, 3]], dtype=object))


def test_arguments_of_the_wrapper():
    with pytest.raises(ArgumentError, match=r"torch\.nn\.Module"):
        torch_model(lambda rows: rows)
    with pytest.raises(ArgumentError, match="output must be"):
        torch_model(nn.Linear(4, 1), output="scores")
    with pytest.raises(ArgumentError, match="leave them out"):
        torch_model(nn.Linear(4, 1), classes=["a", "b"])
    with pytest.raises(ArgumentError, match="distinct"):
        torch_model(nn.Linear(4, 2), output="logits", classes=["a", "a"])


def test_missing_library(monkeypatch):
    for name in ("torch", "skorch", "keras"):  # Nor what stands on it.
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match=r'pip install "sfit\[torch\]"'):
        torch_model(object())
    assert as_view(lambda rows: rows[:, 0]).task == "regression"
