"""The site: `make docs` builds it into build/docs, without a warning."""

import os
import sys
from pathlib import Path

import sfit

# Small models gain nothing from threads that fight for the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "sfit"
author = "the sfit developers"
project_copyright = author
version = release = sfit.__version__

extensions = [
    "diagrams",
    "mathml",
    "repository",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery/*.ipynb", "gallery/GALLERY_HEADER.rst", "jupyter_execute"]
default_role = "code"

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
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# --- gallery -------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"demo\.py$",
    "within_subsection_order": "reading_order.place",
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
