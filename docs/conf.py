"""Sphinx settings; `make docs` builds the pages and takes every warning as an error.

Nothing is fetched from a network, neither by the build nor by the pages. ``DOCS_INTERSPHINX=1``
asks for links to the pages of PyMC, NumPy and others, which needs one.
"""

import logging
import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "pymc_bsvm"
author = "The pymc_bsvm developers"
copyright = author
version = release = installed_version("pymc-bsvm")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",  # puts MathJax beside the pages
    "sphinx_design",
    "notebooks",
    "reference",
]
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "pymc_bsvm"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the notebooks are stored with their outputs

# `reference` writes the pages that the summaries link to.
autosummary_generate = False
autodoc_member_order = "bysource"
# Types are in the numpydoc sections; a second copy makes signatures unreadable.
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = True  # types that the site knows are links

# A name of the package that leads nowhere is an error; others need the network.
nitpicky = True
nitpick_ignore_regex = [
    (r"py:.*", r"(?!pymc_bsvm\b).*"),
    (r"(std:)?(ref|term)", r"(numpy|python):.*"),  # where numpydoc looks for usual types
]
intersphinx_mapping = {}
if os.environ.get("DOCS_INTERSPHINX"):
    intersphinx_mapping = {
        "arviz": ("https://python.arviz.org/en/stable/", None),
        "matplotlib": ("https://matplotlib.org/stable/", None),
        "numpy": ("https://numpy.org/doc/stable/", None),
        "pandas": ("https://pandas.pydata.org/docs/", None),
        "pymc": ("https://www.pymc.io/projects/docs/en/stable/", None),
        "pytensor": ("https://pytensor.readthedocs.io/en/latest/", None),
        "python": ("https://docs.python.org/3/", None),
        "scipy": ("https://docs.scipy.org/doc/scipy/", None),
        "sklearn": ("https://scikit-learn.org/stable/", None),
        "xarray": ("https://docs.xarray.dev/en/stable/", None),
    }

# PyTensor reports each setting that it derives.
logging.getLogger("pytensor.configparser").setLevel(logging.WARNING)
