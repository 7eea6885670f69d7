"""What may touch what: imports inside the package go one way (CONTRIBUTING.md)."""

import ast
from pathlib import Path

import pytest

import sfit

SOURCE = Path(sfit.__file__).parent

# What a module may import of the package. A package stands for all of its modules.
MAY_IMPORT = {
    "exceptions": (),
    "_warn": ("exceptions",),
    "_arguments": ("exceptions", "_warn"),
    "_average": ("_arguments",),
    "_blas": (),
    "_binomial": (),
    "_power": ("exceptions", "_arguments", "_binomial"),
    "_multiplicity": ("exceptions",),
    "_select": (),
    "_contrast": (),
    "_named_columns": (),
    "_additive": ("_contrast", "_losses"),
    "_row_losses": (),
    "_losses": ("exceptions", "_row_losses", "rows"),
    "_differences": ("_contrast", "_diagnostics", "_losses", "_statistic", "restrict", "rows"),
    "_effects": ("_contrast", "_select"),
    "_set_tests": ("_contrast",),
    "_statistic": ("_contrast", "_set_tests"),
    "_options": (),
    "_diagnostics": ("_multiplicity", "_set_tests"),
    "_tally": ("_effects", "_packed", "_select"),
    "_sign_test": (
        "exceptions",
        "_arguments",
        "_binomial",
        "_contrast",
        "_diagnostics",
        "_effects",
        "_options",
        "_select",
        "_set_tests",
        "_statistic",
        "_tally",
    ),
    "_cluster_signs": (
        "_contrast",
        "_diagnostics",
        "_effects",
        "_packed",
        "_set_tests",
        "_sign_test",
        "_statistic",
    ),
    "_flips": ("_blas", "exceptions"),
    "_mean_test": (
        "exceptions",
        "_arguments",
        "_binomial",
        "_cluster_signs",
        "_contrast",
        "_diagnostics",
        "_effects",
        "_flips",
        "_multiplicity",
        "_options",
        "_packed",
        "_set_tests",
        "_sign_test",
        "_statistic",
        "_tally",
    ),
    "_packed": (),
    "_part_gains": (),
    "_label_permutation": ("_part_gains", "_permutations"),
    "_part_test": (
        "_cluster_signs",
        "_contrast",
        "_effects",
        "_packed",
        "_part_gains",
        "_statistic",
    ),
    "_bilinear": ("_losses", "_row_losses"),
    "_permutations": ("_blas",),
    "_rise": ("exceptions", "_bilinear", "_losses"),
    "_block_part": ("_bilinear", "_effects", "_losses", "_permutations", "_rise", "_tile_part"),
    "_tile_strata": ("exceptions", "_block_part", "_effects", "_statistic", "_tile_part"),
    "_given": ("_contrast", "_features", "rows"),
    "_tile_part": (
        "_bilinear",
        "_effects",
        "_losses",
        "_permutations",
        "_rise",
    ),
    "_permutation_test": (
        "exceptions",
        "_arguments",
        "_block_part",
        "_contrast",
        "_diagnostics",
        "_effects",
        "_losses",
        "_multiplicity",
        "_options",
        "_packed",
        "_permutations",
        "_rise",
        "_set_tests",
        "_statistic",
        "_tile_part",
        "_tile_strata",
    ),
    "_chain": (
        "_contrast",
        "_permutation_test",
        "_set_tests",
        "_sign_test",
        "_tally",
        "_tile_part",
    ),
    "_exchange": ("_blas", "_permutations"),
    "_gathered": (
        "exceptions",
        "_contrast",
        "_diagnostics",
        "_effects",
        "_exchange",
        "_packed",
        "_permutation_test",
        "_rise",
        "_set_tests",
        "_statistic",
        "_tile_part",
    ),
    "_stored_tallies": ("_checkpoint", "_statistic", "rows"),
    "_features": ("exceptions", "_arguments", "_contrast", "rows"),
    "_partners": ("exceptions", "_contrast", "_features", "models"),
    "_procedure": (
        "_additive",
        "_contrast",
        "_features",
        "_multiplicity",
        "_set_tests",
        "_statistic",
    ),
    "_request": (
        "exceptions",
        "_arguments",
        "_losses",
        "_mean_test",
        "_multiplicity",
        "_options",
        "_permutation_test",
        "_sign_test",
    ),
    "_session": ("_arguments", "_checkpoint", "_request", "_versions", "_warn"),
    "_measure": (
        "_contrast",
        "_differences",
        "_session",
        "_statistic",
        "_stored_tallies",
        "_workers",
        "restrict",
        "rows",
    ),
    "_versions": (),
    "_workers": ("_blas", "_differences", "restrict"),
    "_checkpoint": ("exceptions",),
    "_probe": ("exceptions", "_checkpoint", "_contrast", "sample", "restrict", "rows"),
    "_resume": ("exceptions", "_checkpoint", "_probe", "_versions", "models", "sample", "rows"),
    "_document": ("exceptions",),
    "_beta_choice": ("_arguments", "plotting"),
    "_result": (
        "exceptions",
        "_arguments",
        "_beta_choice",
        "_caveats",
        "_contrast",
        "_document",
        "_layout",
        "_multiplicity",
        "_reported",
        "_set_tests",
        "_summary_lines",
        "plotting",
    ),
    "_partitioned": (
        "_document",
        "_layout",
        "_reported",
        "_result",
        "_set_tests",
        "_summary_lines",
        "_text",
        "plotting",
    ),
    "_text": (),
    "_labels": ("_text",),
    "_words": ("_binomial", "_result", "_set_tests", "_text", "_words"),
    "_caveats": (
        "_binomial",
        "_diagnostics",
        "_multiplicity",
        "_result",
        "_set_tests",
        "_text",
        "_words",
    ),
    "_layout": ("_labels",),
    "_summary": ("_caveats", "_labels", "_layout", "_result", "_set_tests", "_text", "_words"),
    "_summary_lines": (
        "_caveats",
        "_labels",
        "_layout",
        "_result",
        "_set_tests",
        "_summary",
        "_text",
    ),
    "_reported": ("_document", "_export", "report"),
    "_export": (
        "exceptions",
        "_document",
        "_export",
        "_partitioned",
        "_result",
        "_set_tests",
        "_text",
        "compare",
        "report",
    ),
    "_inside": ("exceptions", "_features", "_partners", "models", "sample"),
    "_row_deltas": (
        "_arguments",
        "_contrast",
        "_differences",
        "_features",
        "_statistic",
        "_warn",
        "models",
        "sample",
        "rows",
    ),
    "_profile": (),
    "_profile_parts": ("_contrast", "_profile"),
    "_profiled": (
        "_arguments",
        "_differences",
        "_effects",
        "_features",
        "_profile",
        "_profile_parts",
        "_row_deltas",
        "_warn",
        "restrict",
        "sample",
        "rows",
    ),
    "_for_studies": (
        "_arguments",
        "_binomial",
        "_contrast",
        "_flips",
        "_label_permutation",
        "_measure",
        "_multiplicity",
        "_part_gains",
        "_partners",
        "_session",
        "_set_tests",
        "_sign_test",
        "_versions",
        "sample",
    ),
    "_audit._records": (),
    "_audit._jackknife": (),
    "_audit._performance": ("_audit._jackknife", "_audit._records", "_row_losses", "_text"),
    "_audit._model_facts": ("_audit._records", "_text", "models"),
    "_audit._data_facts": ("_audit._records", "_text", "rows", "sample"),
    "_audit._association": ("_audit._records", "rows"),
    "_audit._matching": ("exceptions", "rows"),
    "_audit._overlap": ("_audit._matching", "rows"),
    "_audit._ranges": ("_audit._matching", "rows"),
    "_audit._checks": ("_audit._overlap", "_audit._ranges", "_audit._records", "_power", "_text"),
    "_audit._detectable": ("_power",),
    "_audit._draws": ("_multiplicity", "_permutations"),
    "_audit._protected": ("_audit._records", "_audit._association", "rows"),
    "simulate": ("exceptions", "_arguments"),
    "plotting": (
        "exceptions",
        "_arguments",
        "_beta_choice",
        "compare",
        "_inside",
        "_labels",
        "_partitioned",
        "_profile",
        "_profiled",
        "_result",
        "_row_deltas",
        "_set_tests",
        "_binomial",
        "_set_tests",
        "_summary",
        "_text",
        "_words",
        "compare",
        "plotting",
    ),
    "report": (
        "exceptions",
        "compare",
        "_labels",
        "_partitioned",
        "_result",
        "_set_tests",
        "_caveats",
        "_summary",
        "_summary_lines",
        "_text",
        "_words",
        "plotting",
        "report",
    ),
    "rows": ("exceptions", "_arguments", "_select", "_binomial", "rows"),
    "models": ("exceptions", "_arguments", "_losses", "models", "rows"),
    "restrict": (
        "exceptions",
        "_blas",
        "_contrast",
        "_features",
        "models",
        "restrict",
        "rows",
    ),
    "sample": (
        "exceptions",
        "_arguments",
        "_average",
        "_contrast",
        "_differences",
        "_features",
        "_losses",
        "_warn",
        "models",
        "sample",
        "restrict",
        "rows",
    ),
}
CALLS = (
    "_audit",
    "compare",
    "_feature_significance",
    "_design",
    "_beta",
    "_cross",
    "_folds",
    "_loco",
    "_refits",
    "selector",
    "__init__",
)
"""The public calls, which put the layers together."""
ANYWHERE = "_array"
"""The name of a type, which every module may use."""
OUTSIDE = ("cli", "studies", "__main__")
"""What uses the package as anybody would."""
SEAM = "_for_studies"
"""The only private module that the studies import, and they are the only ones to import it."""


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        yield name.removesuffix(".__init__"), path


def imports(path):
    """Modules of the package that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {node.module} if node.module != "sfit" else set(names)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    ours = {name.removeprefix("sfit.") for name in found if name.split(".")[0] == "sfit"}
    return ours - {ANYWHERE}


def belongs(name, entries):
    return any(name == entry or name.startswith(f"{entry}.") for entry in entries)


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_a_layer_imports_only_what_lies_below_it(layer):
    own = [(name, path) for name, path in modules() if belongs(name, (layer,))]
    assert own
    wrong = {
        f"{name} imports {other}"
        for name, path in own
        for other in imports(path)
        if not belongs(other, MAY_IMPORT[layer])
    }
    assert not wrong


def test_every_module_has_its_place():
    known = (*MAY_IMPORT, *CALLS, *OUTSIDE, ANYWHERE)
    assert not [name for name, _ in modules() if not belongs(name, known)]


def test_nothing_inside_imports_the_public_list():
    """It would load everything, and hide what a module really needs."""
    inside = [(name, path) for name, path in modules() if not belongs(name, OUTSIDE)]
    assert not {name for name, path in inside if "sfit" in imports(path)}


def test_the_studies_use_public_names_and_one_seam():
    """A study shows what users can do; whatever else it needs is listed in one file."""
    public = ("sfit", *sfit.__all__)
    studies = [(name, path) for name, path in modules() if belongs(name, ("studies",))]
    wrong = {
        f"{name} imports {other}"
        for name, path in studies
        for other in imports(path)
        if not belongs(other, ("studies", SEAM)) and (not belongs(other, public) or "._" in other)
    }
    assert not wrong
    users = {name for name, path in modules() if SEAM in imports(path)}
    assert users
    assert users <= {name for name, _ in studies}
