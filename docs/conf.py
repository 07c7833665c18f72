"""Sphinx settings; `make docs` builds the pages and takes every warning as an error."""

import logging
from importlib.metadata import version as installed_version

project = "pymc_bsvm"
author = "The pymc_bsvm developers"
copyright = author
version = release = installed_version("pymc-bsvm")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = "pymc_bsvm"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# A module's page lists what its `__all__` names, wherever that is defined.
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_member_order = "bysource"
# Types are in the numpydoc sections; a second copy makes signatures unreadable.
autodoc_typehints = "none"
numpydoc_show_class_members = False
# `losses.Formulas` and `losses.formulas` would share a page where file names ignore case.
autosummary_filename_map = {"pymc_bsvm.losses.formulas": "pymc_bsvm.losses.formulas-function"}

# Classes that a second module hands on: their entry in the index is at the first.
autosummary_context = {
    "elsewhere": [
        *(
            f"pymc_bsvm.approximations.{name}"
            for name in (
                "Approximation",
                "Cavity",
                "EP",
                "EPEvidence",
                "Evidence",
                "Gao",
                "GaoEvidence",
                "Laplace",
                "LaplaceEvidence",
                "Posterior",
            )
        ),
        "pymc_bsvm.inference.Ending",
        "pymc_bsvm.inference.Restart",
        "pymc_bsvm.estimators.kernels.Hyperparameter",
    ]
}

# PyTensor reports each setting that it derives.
logging.getLogger("pytensor.configparser").setLevel(logging.WARNING)
