"""The site: `make docs` builds it into build/docs, without a warning."""

import os
import sys
from pathlib import Path

import sfit

# Small models gain nothing from threads that fight for the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
import api_links  # on the path only now

project = "sfit"
author = "the sfit developers"
project_copyright = author
version = release = sfit.__version__

extensions = [
    "api_links",
    "diagrams",
    "mathml",
    "repository",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery/*.ipynb", "gallery/GALLERY_HEADER.rst", "jupyter_execute"]
default_role = "linked-code"

# --- pages ---------------------------------------------------------------------------

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
nb_execution_show_tb = True

# --- API -----------------------------------------------------------------------------

autosummary_generate = True
templates_path = ["_templates"]
autodoc_typehints = "none"  # numpydoc's sections say it in words
python_maximum_signature_line_length = 60  # one parameter per line
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # of the words of a type, only these are names
numpydoc_xref_aliases = {
    **{name: full for name, full in api_links.addresses().items() if name[0].isupper()},
    **{name: f":py:obj:`{name}`" for name in ("None", "bool", "dict", "float", "frozenset", "int")},
    **{name: f":py:obj:`{name}`" for name in ("list", "str", "tuple", "callable")},
    "array": ":py:obj:`array <numpy.ndarray>`",
    "axes": ":py:obj:`axes <matplotlib.axes.Axes>`",
    "DataFrame": "pandas.DataFrame",
    "frame": ":py:obj:`frame <pandas.DataFrame>`",
    "Generator": "numpy.random.Generator",
    "mapping": ":py:obj:`mapping <collections.abc.Mapping>`",
    "ndarray": "numpy.ndarray",
    "path": ":py:obj:`path <pathlib.Path>`",
    "sequence": ":py:obj:`sequence <collections.abc.Sequence>`",
    "torch.nn.Module": "torch.nn.Module",
}

# Names of other projects that our docstrings use, in text files here: a build needs no network.
intersphinx_mapping = {
    name: (address, f"_inventories/{name}.txt")
    for name, address in {
        "matplotlib": "https://matplotlib.org/stable/",
        "numpy": "https://numpy.org/doc/stable/",
        "pandas": "https://pandas.pydata.org/docs/",
        "python": "https://docs.python.org/3/",
        "scikit-learn": "https://scikit-learn.org/stable/",
        "torch": "https://docs.pytorch.org/docs/stable/",
    }.items()
}

# --- gallery -------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"demo\.py$",
    "within_subsection_order": "reading_order.place",
    "minigallery_sort_order": "reading_order.place",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("sfit",),
    "reference_url": {"sfit": None},
    "image_scrapers": ("pictures.scraper",),
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 10_000,  # how long a script takes says more of the machine than of it
    "write_computation_times": False,
    "plot_gallery": True,
}

# --- HTML ----------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "sfit"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_start": ["navbar-logo"],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
}
# Pages that stand alone need no list of their neighbours.
html_sidebars = {"index": [], "start": []}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
