"""The order of the layers, read off the import statements."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pymc_bsvm

PACKAGE = "pymc_bsvm"
ROOT = Path(pymc_bsvm.__file__).parent

# A module imports from its own line and from the lines above it, nothing else.
LAYERS = (
    ("_code", "_meaning", "_moved", "_numba", "_pickling", "_typing", "_validation"),
    ("losses",),
    ("covariance",),
    ("solvers",),
    ("_pytensor",),
    ("symbolic", "jax_language", "ops"),
    ("_pymc",),
    ("distributions",),
    ("search",),
    ("evidence", "graph", "approximations"),
    ("streamed",),
    ("gp",),
    ("inference",),
    ("diagnosis",),
    ("reporting",),
    ("estimators",),
    ("datasets",),
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

GRAPH_LIBRARIES = ("arviz", "pymc", "pytensor", "sklearn")
WITHOUT_A_GRAPH = (
    "_validation",
    "losses",
    "covariance",
    "solvers",
    "search",
    "evidence",
    "approximations",
    "streamed",
)

# What PyTensor and PyMC document as public; the rest is taken from the adapters.
PUBLIC = (
    "pymc",
    "pytensor",
    "pytensor.compile",
    "pytensor.gradient",
    "pytensor.graph",
    "pytensor.scalar",
    "pytensor.tensor",
    "pytensor.tensor.linalg",
)
ADAPTERS = {"pymc": "_pymc", "pytensor": "_pytensor"}


def imported(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the dotted name of all imports, also those inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            for alias in node.names:
                yield node.lineno, f"{start}.{alias.name}"


def forbidden(layer: str, name: str) -> str | None:
    """Say why a module of ``layer`` may not import ``name``, None if it may."""
    if name.startswith("."):
        return "relative imports hide the layer"
    top, _, rest = name.partition(".")
    if top == PACKAGE:
        target = rest.split(".")[0]
        if target not in RANK:
            return "import it from the module that defines it"
        if RANK[target] > RANK[layer]:
            return f"{target} is below {layer}"
        if target in ADAPTERS.values() and layer in WITHOUT_A_GRAPH:
            return f"{layer} must work without {target.removeprefix('_')}"
        if (layer, target) == ("estimators", "diagnosis"):
            return "an estimator fits and predicts without a diagnosis"
        return None
    # arviz_base, arviz_plots and arviz_stats are ArviZ; pymc_extras is PyMC.
    family = top.split("_")[0]
    if family in GRAPH_LIBRARIES and layer in WITHOUT_A_GRAPH:
        return f"{layer} must work without {family}"
    if top in ADAPTERS and is_inner(name) and layer != ADAPTERS[top]:
        return f"the inside of {top} is imported by {ADAPTERS[top]} alone"
    if family == "sklearn" and layer != "estimators":
        return "scikit-learn is an extra of the estimators"
    return None


def is_inner(name: str) -> bool:
    """Whether the dotted name of an import is, or is in, a module that is not public."""
    module, _, last = name.rpartition(".")
    return (module not in PUBLIC and name not in PUBLIC) or last.startswith("_")


def violations(layer: str, source: str) -> list[str]:
    """Return one line for each import that breaks the order."""
    if layer not in RANK:
        return [f"{layer} belongs to no layer: name its place in LAYERS"]
    return [
        f"line {line}: {name}: {reason}"
        for line, name in imported(source)
        if (reason := forbidden(layer, name))
    ]


def modules() -> list[str]:
    """Return the package's files except the top ``__init__``, which exports from all layers."""
    paths = (path.relative_to(ROOT) for path in ROOT.rglob("*.py"))
    return sorted(str(path) for path in paths if str(path) != "__init__.py")


@pytest.mark.parametrize("module", modules())
def test_module_imports_only_from_layers_above(module):
    layer = Path(module).parts[0].removesuffix(".py")
    assert violations(layer, (ROOT / module).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("losses", "from pymc_bsvm.solvers import solve_dual"),
        ("losses", "import pymc_bsvm.gp"),
        ("losses", "from pymc_bsvm import ops"),
        ("covariance", "from pymc_bsvm.solvers import solve_dual"),
        ("covariance", "import pytensor"),
        ("losses", "def f():\n    from pymc_bsvm.symbolic import logp"),
        ("losses", "if TYPE_CHECKING:\n    import pytensor.tensor as pt"),
        ("losses", "from arviz_base import from_dict"),
        ("solvers", "import numpy, pymc"),
        ("solvers", "from pymc_extras import fit"),
        ("solvers", "from .newton import step"),
        ("search", "from pymc_bsvm.evidence import laplace_evidence"),
        ("search", "import pymc"),
        ("gp", "from pymc_bsvm import SILF"),
        ("gp", "import pymc_bsvm"),
        ("gp", "from sklearn.svm import SVR"),
        ("datasets", "import sklearn.datasets"),
        ("inference", "from pymc_bsvm.diagnosis import verdict"),
        ("estimators", "from pymc_bsvm.diagnosis import verdict"),
        ("_validation", "from pymc_bsvm.losses import SILF"),
        ("gp", "from pymc.gp.gp import Base"),
        ("gp", "import pymc.gp.util"),
        ("gp", "from pymc import _version"),
        ("inference", "def f():\n    from pytensor.graph.traversal import toposort"),
        ("_pymc", "from pytensor.graph.fg import FrozenFunctionGraph"),
        ("_pytensor", "from pymc.gp.gp import Base"),
        ("ops", "from pymc_bsvm._pymc import Base"),
        ("evidence", "from pymc_bsvm._pytensor import optdb"),
        ("helpers", "import numpy"),
    ],
)
def test_checker_reports_a_violation(layer, source):
    assert len(violations(layer, source)) == 1


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("losses", "import numpy as np\nfrom scipy.special import erf\nimport numba"),
        ("losses", "from pymc_bsvm.losses.base import Loss"),
        ("losses", "from pymc_bsvm._validation import check_finite"),
        ("ops", "import pytensor\nfrom pymc_bsvm.symbolic import logp"),
        ("symbolic", "from pymc_bsvm import losses"),
        ("gp", "import pymc as pm\nfrom pymc_bsvm.evidence import laplace"),
        ("gp", "from pymc import Model\nimport pytensor.tensor as pt\nfrom pytensor import tensor"),
        ("_pymc", "from pymc.gp.gp import Base"),
        ("_pytensor", "from pytensor.link.jax.dispatch.basic import jax_funcify"),
        ("estimators", "from sklearn.base import BaseEstimator"),
    ],
)
def test_checker_accepts_the_order(layer, source):
    assert violations(layer, source) == []


def test_checker_reads_files():
    assert "losses/__init__.py" in [Path(module).as_posix() for module in modules()]
