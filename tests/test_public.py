"""The public list and the names of arguments."""

import inspect
import re

import pytest

import sfit

PUBLIC = [
    "Audit",
    "Average",
    "BetaChoice",
    "FeatureComparison",
    "GateTest",
    "MeanTest",
    "ModelComparison",
    "PartComparison",
    "PartitionedResult",
    "PermutationTest",
    "SFITResult",
    "SFITSelector",
    "SignTest",
    "audit",
    "choose_beta",
    "compare_features",
    "compare_models",
    "compare_parts",
    "cross_significance",
    "exceptions",
    "feature_significance",
    "loco_significance",
    "models",
    "power",
    "rows_needed",
    "show_versions",
    "simulate",
]

ARGUMENTS = {
    sfit.feature_significance: (
        "model X y test features loss alpha beta max_order correction alpha_by_order reference "
        "groups always_on given by clusters row_order sample_weight partners n_partners "
        "exhaustive strict interaction fast n_jobs "
        "progress checkpoint checkpoint_key random_state"
    ),
    sfit.choose_beta: (
        "model X y alpha n_models grid max_beta random_model features loss reference groups "
        "always_on fast n_jobs progress checkpoint checkpoint_key random_state"
    ),
    sfit.loco_significance: (
        "estimator X_train y_train X_test y_test features loss alpha correction test groups "
        "n_jobs progress checkpoint checkpoint_key"
    ),
    sfit.cross_significance: (
        "estimator X y n_folds shuffle test features loss alpha beta correction reference groups "
        "n_jobs progress checkpoint checkpoint_key random_state"
    ),
    sfit.compare_models: (
        "models X y features loss alpha correction reference groups always_on given clusters "
        "fast n_jobs progress checkpoint checkpoint_key random_state"
    ),
    sfit.compare_features: (
        "model X y features loss alpha reference groups always_on given clusters fast n_jobs "
        "progress checkpoint checkpoint_key random_state"
    ),
    sfit.compare_parts: (
        "model X y by trend features loss alpha correction reference groups always_on given "
        "clusters fast n_jobs progress checkpoint checkpoint_key random_state"
    ),
    sfit.audit: (
        "model X y train by clusters row_order protected expected title purpose model_name "
        "data_name period author features loss alpha groups always_on n_background budget n_jobs "
        "progress checkpoint checkpoint_key random_state"
    ),
    sfit.SignTest: "interval ties validation validation_fraction random_model",
    sfit.PermutationTest: "n_permutations statistic",
    sfit.MeanTest: "n_flips",
    sfit.Average: "data n_rows",
    sfit.power: "n probability alpha correlation cluster_size icc",
    sfit.rows_needed: "probability alpha power correlation cluster_size icc",
    sfit.show_versions: "",
    sfit.models.function_model: "f task classes",
    sfit.models.torch_model: "module output classes",
    sfit.simulate.interactions: "n noise random_state",
    sfit.simulate.interactions_mean: "X",
    sfit.simulate.correlated: "n correlation noise_variance random_state",
    sfit.SFITResult.at: "self alpha correction",
    sfit.SFITResult.plot: "self ax",
    sfit.SFITResult.to_html: "self path",
    sfit.SFITResult.to_markdown: "self path",
    sfit.SFITResult.to_excel: "self path",
    sfit.SFITResult.to_docx: "self path",
    sfit.SFITResult.to_latex: "self path table",
    sfit.SFITResult.log_mlflow: "self prefix",
    sfit.SFITResult.tables: "self",
    sfit.SFITResult.to_json: "self path",
    sfit.SFITResult.from_json: "source",
}


def test_the_public_list():
    """Names are added and removed on purpose only."""
    assert sorted(sfit.__all__) == sorted(PUBLIC)
    for name in PUBLIC:
        assert hasattr(sfit, name)


@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda function: function.__qualname__)
def test_the_names_of_arguments(function):
    """Every argument by name, in its place."""
    assert list(inspect.signature(function).parameters) == ARGUMENTS[function].split()


@pytest.mark.parametrize(
    ("function", "positional"),
    [
        (sfit.feature_significance, ["model", "X", "y"]),
        (sfit.choose_beta, ["model", "X", "y"]),
        (sfit.compare_models, ["models", "X", "y"]),
        (sfit.compare_features, ["model", "X", "y"]),
        (sfit.compare_parts, ["model", "X", "y"]),
        (sfit.cross_significance, ["estimator", "X", "y"]),
        (sfit.loco_significance, ["estimator", "X_train", "y_train", "X_test", "y_test"]),
    ],
)
def test_options_are_given_by_name(function, positional):
    """Only the model and the rows are positional."""
    parameters = inspect.signature(function).parameters.values()
    assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == positional


def test_defaults_of_the_test():
    """The defaults that DESIGN.md fixes."""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(sfit.feature_significance).parameters.items()
    }
    expected = {
        "features": None,
        "loss": "auto",
        "alpha": 0.05,
        "beta": None,
        "max_order": 1,
        "correction": None,
        "alpha_by_order": None,
        "test": "sign",
        "reference": "mean",
        "groups": None,
        "always_on": (),
        "given": (),
        "by": None,
        "clusters": None,
        "row_order": None,
        "partners": "auto",
        "n_partners": None,
        "exhaustive": False,
        "strict": False,
        "fast": True,
        "n_jobs": None,
        "progress": False,
        "random_state": None,
    }
    assert {name: defaults.get(name, "missing") for name in expected} == expected


def test_every_public_thing_is_documented():
    """A docstring for all of them; parameters and an example for every function."""
    for name in PUBLIC:
        assert inspect.getdoc(getattr(sfit, name))
    for function in ARGUMENTS:
        if function.__qualname__.startswith(("SFITResult", "Reported")):
            continue
        text = inspect.getdoc(function)
        assert ">>>" in text, function.__qualname__
        for argument in ARGUMENTS[function].split():
            assert re.search(rf"^.*\b{argument}\b", text, re.MULTILINE), (function, argument)


def test_sample_weight_is_refused_with_a_reason():
    """Every row counts once: a sentence says so."""
    with pytest.raises(sfit.exceptions.ArgumentError, match="each row counts once"):
        sfit.feature_significance(lambda z: z[:, 0], [[1.0]], [1.0], sample_weight=[1.0])


def test_every_exception_is_of_one_tree():
    """All derive from SFITError, most also from ValueError."""
    for name in sfit.exceptions.__all__:
        kind = getattr(sfit.exceptions, name)
        assert issubclass(kind, UserWarning if name == "SFITWarning" else sfit.exceptions.SFITError)
    for name in ("ArgumentError", "DataError", "ModelError", "BetaError"):
        assert issubclass(getattr(sfit.exceptions, name), ValueError)
    assert issubclass(sfit.exceptions.MissingDependencyError, ImportError)
