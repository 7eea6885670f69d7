"""skops files with types on sfit's list, or that the user trusts."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from sfit.cli.model_files._libraries import library
from sfit.cli.model_files._lightgbm_text import check_parameters
from sfit.exceptions import ModelError

# Types that skops does not trust by default, but sfit does: classes that hold a model's state, not
# functions, which could be called with any argument. `_checks` checks their arrays. scipy.stats is
# excluded, because its distributions execute text; so are splines that no scikit-learn model holds.
OUR_TYPES = (
    "catboost.core.CatBoost",
    "collections.OrderedDict",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.",
    "scipy.interpolate._bsplines.BSpline",
    "scipy.interpolate._interpolate.interp1d",
    "scipy.sparse.",
    "sklearn.",
    "xgboost.core.Booster",
    "xgboost.sklearn.",
)
NOT_OURS = ("sklearn.datasets.", "sklearn.externals.", "sklearn.utils._testing.")
BOOSTERS = ("catboost", "lightgbm", "xgboost")

# Functions of scikit-learn that its own estimators hold. Each takes arrays and returns arrays; none
# reads files, imports modules or calls what it is given.
FUNCTIONS = (
    "sklearn.feature_selection._mutual_info.mutual_info_classif",
    "sklearn.feature_selection._mutual_info.mutual_info_regression",
    "sklearn.feature_selection._univariate_selection.chi2",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
    "sklearn.utils.validation.check_array",
)
PARTIAL = "functools.partial"
# How skops stores what is harmless in one form only: the type `object`, by which a selector chooses
# columns; the type of an imputer's numbers, as an empty array; and the functions above.
REVIEWED = {
    "builtins.object": "TypeNode",
    "numpy.dtype": "DTypeNode",
    PARTIAL: "PartialNode",
    **dict.fromkeys(FUNCTIONS, "FunctionNode"),
}


def read_skops(path: Path, trust: Sequence[str]) -> Any:
    """The model in a skops file."""
    skops = library("skops.io", "skops")
    types = skops.get_untrusted_types(file=path)
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read("schema.json"))
    strange = set(_strange(schema))
    refused = [
        name for name in types if name not in trust and (name in strange or not _is_ours(name))
    ]
    if refused:
        flags = " ".join(f"--trust {name}" for name in refused)
        raise ModelError(
            f"{str(path)!r} holds types that are not on sfit's list, and loading them runs their "
            f"code: {', '.join(refused)}. If you trust them, add {flags}"
        )
    _check_boosters(schema)
    return skops.load(path, trusted=types)


def _is_ours(name: str) -> bool:
    """Whether a type is reviewed, or a class of a library whose models sfit reads."""
    if name in REVIEWED:
        return True
    if not name.startswith(OUR_TYPES) or name.startswith(NOT_OURS):
        return False
    module, _, attribute = name.rpartition(".")
    try:
        return isinstance(getattr(import_module(module), attribute, None), type)
    except ImportError:
        return False


def _strange(schema: Any) -> Iterator[str]:
    """Reviewed types in another form than the reviewed one, which could do anything."""
    for node in _nodes(schema):
        name = _name(node)
        usual = node.get("__loader__") == REVIEWED.get(name)
        if name == PARTIAL and usual:
            content = node.get("content")
            function = content.get("func") if isinstance(content, dict) else None
            usual = isinstance(function, dict) and _name(function) in FUNCTIONS
        if name in REVIEWED and not usual:
            yield name


def _name(node: dict[str, Any]) -> str:
    return f"{node.get('__module__')}.{node.get('__class__')}"


def _check_boosters(schema: Any) -> None:
    """Check the text of LightGBM models, and refuse boosters built from another file."""
    for node in _nodes(schema):
        built = node.get("__loader__") == "ConstructorFromReduceNode"
        if built and str(node.get("__module__")).partition(".")[0] in BOOSTERS:
            raise ValueError("a booster is not stored in the way of its library")
        text = node.get("content")
        if node.get("__loader__") == "JsonNode" and isinstance(text, str) and text[:5] == '"tree':
            check_parameters(str(json.loads(text)))


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    left = [schema]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
            left.extend(node.values())
        elif isinstance(node, list):
            left.extend(node)
