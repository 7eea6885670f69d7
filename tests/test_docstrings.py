"""Every public name says what it does, in numpydoc's form, with an example; doctests run them."""

import dataclasses
import inspect
import re

import pytest

import sfit
from sfit import plotting, studies

validate = pytest.importorskip("numpydoc.validate").validate

MODULES = (sfit, sfit.models, sfit.simulate, sfit.exceptions, plotting, studies)
# Not asked for: an extended summary, "See Also", and our own way with blank lines and quotes.
IGNORED = {"ES01", "SA01", "GL01", "GL02", "GL03"}
# What has a formula, and a place in the paper.
FORMULAS = [
    "feature_significance", "choose_beta", "loco_significance", "power", "rows_needed",
    "SFITResult", "PartitionedResult", "GateTest", "BetaChoice", "SFITSelector",
    "simulate.interactions", "simulate.interactions_mean", "simulate.correlated",
]  # fmt: skip


# Calls, tests and results stand beside others; a reader should find these from each page.
RELATED = [
    name for name in sfit.__all__ if callable(getattr(sfit, name)) and name != "show_versions"
]


def public():
    """Every public function and class, by its full name."""
    return {
        f"{module.__name__}.{name}": getattr(module, name)
        for module in MODULES
        for name in module.__all__
        if callable(getattr(module, name))
    }


def members():
    """What users call on public classes: methods and properties that are our own."""
    return [
        f"{name}.{member}"
        for name, thing in public().items()
        if inspect.isclass(thing)
        for member, value in vars(thing).items()
        if not member.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, property | classmethod))
    ]


def faults(name, ignored):
    return [text for code, text in validate(name)["errors"] if code not in ignored]


def test_the_public_names_are_found():
    names = public()
    assert {"sfit.feature_significance", "sfit.plotting.DeltaDisplay"} <= names.keys()
    assert "sfit.SFITResult.at" in members()


@pytest.mark.parametrize("name", public())
def test_a_public_name_is_documented(name):
    thing = public()[name]
    results = dataclasses.is_dataclass(thing)
    # Users read the fields of results and do not pass them: they are attributes, checked below.
    assert faults(name, IGNORED | {"PR01"} if results else IGNORED) == []
    if results:
        text = inspect.getdoc(thing)
        for field in dataclasses.fields(thing):
            assert re.search(rf"^[\w, ]*\b{field.name}\b[\w, ]* : ", text, re.MULTILINE), field.name


@pytest.mark.parametrize("name", members())
def test_a_member_is_documented(name):
    # The example of a class shows its methods.
    assert faults(name, IGNORED | {"EX01"}) == []


@pytest.mark.parametrize("name", FORMULAS)
def test_the_formula_and_its_place_in_the_paper(name):
    text = inspect.getdoc(public()[f"sfit.{name}"])
    notes = text.split("Notes\n-----\n")[1]
    assert ":math:" in notes or ".. math::" in notes
    assert re.search(r"[Ss]ection \d|Algorithm \d|Table \d", text)


@pytest.mark.parametrize("name", RELATED)
def test_the_page_of_a_call_or_result_points_to_others(name):
    assert "SA01" not in [code for code, _ in validate(f"sfit.{name}")["errors"]]


def test_every_parameter_is_listed_once_by_purpose():
    text = inspect.getdoc(sfit.feature_significance)
    _, listed = text.split("The parameters by purpose:\n")
    named = re.findall(r"`(\w+)`", listed.split("Parameters\n----------\n")[0])
    assert sorted(named) == sorted(
        set(inspect.signature(sfit.feature_significance).parameters) - {"model", "X", "y"}
    )


def test_the_api_page_lists_every_public_name(request):
    page = request.config.rootpath / "docs" / "api.md"
    if not page.exists():
        pytest.skip("there is no docs folder beside the tests")
    listed = {f"sfit.{name}" for name in re.findall(r"^   ([\w.]+)$", page.read_text(), re.M)}
    assert listed == public().keys()
