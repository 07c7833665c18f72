"""A trained machine as ArviZ knows it."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from pymc_bsvm.estimators.trained import Trained

__all__ = ["tree_of"]


def tree_of(trained: Trained) -> Any:
    """Return the draws of the hyperparameters, or the mode as the only one, as a DataTree.

    Groups ``posterior`` and ``sample_stats`` (log evidence, number of support vectors, gap).
    """
    if trained.tree is not None:
        return trained.tree
    from arviz_base import from_dict

    machine = trained.machine
    one = {name: np.full((1, 1), value) for name, value in machine.named.items()}
    stats = {
        "log_evidence": machine.log_evidence,
        "n_support": machine.support.size,
        "n_free": int(machine.free.sum()),
        "gap": machine.gap,
    }
    attributes = {
        "inference_library": "pymc_bsvm",
        "inference_library_version": version("pymc-bsvm"),
        "inference_method": "evidence",
    }
    return from_dict(
        {"posterior": one, "sample_stats": {name: np.full((1, 1), x) for name, x in stats.items()}},
        attrs={"posterior": attributes},
    )
