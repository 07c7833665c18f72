"""Models side by side, by their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pymc_bsvm.inference.result import EvidenceFit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare_evidence"]


def compare_evidence(fits: Mapping[str, EvidenceFit]) -> pd.DataFrame:
    """Rank models of the same data by their log evidence.

    Parameters
    ----------
    fits : mapping
        Results of `fit_evidence` by the names of their models.

    Returns
    -------
    DataFrame
        One row for each model, the best first: ``log_evidence``; ``difference`` to the best, in
        nats; ``weight``, the posterior probability of the model if all are as likely a priori and
        the hyperparameters are at their modes; ``n_support`` and ``n_free`` support vectors;
        ``gap``, the duality gap in nats; ``approximation``, of the evidence; ``warning``, empty if
        there is none.

    Raises
    ------
    ValueError
        If there are no fits, or if they are of different data.

    Notes
    -----
    The evidence at the best hyperparameters does not charge for choosing them. Models with many
    more hyperparameters than others are flattered by it.
    """
    import pandas as pd

    if not isinstance(fits, Mapping):
        raise TypeError(
            f"fits must be a mapping of names to fits, but it is of type {type(fits).__name__}. "
            "Pass {'name': fit}."
        )
    if not fits:
        raise ValueError("There are no fits to compare. Pass a mapping of names to fits.")
    for name, fit in fits.items():
        if not isinstance(fit, EvidenceFit):
            raise TypeError(
                f"{name!r} must be a result of fit_evidence, but it is of type "
                f"{type(fit).__name__}. For DataTrees, use az.compare or compare_posteriors."
            )
    _check_same_data(fits)
    top = max(fit.log_evidence for fit in fits.values())
    total = sum(np.exp(fit.log_evidence - top) for fit in fits.values())
    evidences = [evidence for fit in fits.values() for evidence in fit.evidences.values()]
    names = {evidence.approximation.name for evidence in evidences}
    variants = {evidence.label for evidence in evidences} - names  # a bare name goes with each
    rows = {}
    for name, fit in fits.items():
        solutions = [evidence.solution for evidence in fit.evidences.values()]
        warnings = [] if fit.converged else [fit.best.ending.value]
        if len(names) > 1 or len(variants) > 1:
            warnings.append(f"The approximations differ: {', '.join(sorted(variants | names))}.")
        rows[name] = {
            "log_evidence": fit.log_evidence,
            "difference": fit.log_evidence - top,
            "weight": float(np.exp(fit.log_evidence - top) / total),
            "n_support": sum(int(solution.support.sum()) for solution in solutions),
            "n_free": sum(int(solution.free.sum()) for solution in solutions),
            "gap": max(solution.gap for solution in solutions),
            "approximation": "; ".join(evidence.label for evidence in fit.evidences.values()),
            "warning": " ".join(warnings),
        }
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.sort_values("log_evidence", ascending=False)


def _check_same_data(fits: Mapping[str, EvidenceFit]) -> None:
    """Raise unless all fits are of the same targets."""
    first, *others = fits.items()
    known = {variable: evidence.problem.y for variable, evidence in first[1].evidences.items()}
    for name, fit in others:
        targets = {variable: evidence.problem.y for variable, evidence in fit.evidences.items()}
        for variable in [*known, *targets]:
            both = variable in known and variable in targets
            if not (both and np.array_equal(known[variable], targets[variable])):
                raise ValueError(
                    f"The models {first[0]!r} and {name!r} have different data for {variable!r}. "
                    "Compare models of the same targets only."
                )
