"""Gaussian sites of expectation propagation that follow the hyperparameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc import Model
from pytensor.graph import ancestors

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.ep import EP, EPEvidence
from pymc_bsvm.inference.bend import rows_before
from pymc_bsvm.inference.objective import Marginal

__all__ = ["Sites", "sites_around", "unconstrained"]

_STEP = 0.25  # on the unconstrained space
_RIDGE = 0.01  # share of each marginal precision, so that no site vanishes
_LARGEST = 2.0  # of the changes of log r and b / r


@dataclass(frozen=True)
class Sites:
    """Sites ``exp(b g - r² g² / 2)`` of ``g = f - origin`` as functions of the hyperparameters.

    Near the centre, ``log r`` and ``b / r`` are linear in the hyperparameters; far from it they
    level off. Those of targets hardly change, and stay as they are at the centre.
    """

    names: list[str]
    """The free variables that the sites depend on."""
    centre: Array
    """Their unconstrained values where the sites are exact, of shape (k,)."""
    origin: Array
    """Targets or, for labels, zeros, of shape (n,)."""
    scaled: Array
    """``log r`` and ``b / r`` at the centre, one after the other, of shape (2 n,)."""
    slopes: Array
    """Their derivatives, of shape (2 n, k)."""
    rows: Array
    """Rows near a wall of the likelihood, of shape (m,)."""
    labels: Array
    """Their labels, -1 or 1."""

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """Return the roots of the precisions, and the shifts, of the sites of f."""
        change = _LARGEST * pt.tanh(pt.dot(self.slopes, x - self.centre) / _LARGEST)
        n, scaled = self.origin.size, self.scaled + change
        root = pt.exp(scaled[:n])
        return root, root * (scaled[n:] + root * self.origin)


def sites_around(model: Model, marginal: Marginal, point: Mapping[str, Any]) -> Sites:
    """Return the sites at a point of the hyperparameters, with their central differences."""
    reached = set(ancestors([marginal.rv]))
    free = [v for v in model.free_RVs if v in reached and v.type.dtype.startswith("float")]
    names = [variable.name for variable in free]
    values = [model.rvs_to_values[variable] for variable in free]
    transforms = [model.rvs_to_transforms[variable] for variable in free]
    there = [
        unconstrained(variable, transform, variable.owner.inputs)
        for variable, transform in zip(free, transforms, strict=True)
    ]
    known = [
        np.asarray(point[name], dtype=v.type.dtype) for name, v in zip(names, free, strict=True)
    ]
    x = [np.asarray(part) for part in _function(free, there)(*known)]
    back = _function(values, model.replace_rvs_by_values(free))
    ends = np.cumsum([part.size for part in x])[:-1]
    evaluator = marginal.evaluator(model)

    def evidence(vector: Array) -> EPEvidence:
        parts = [
            part.reshape(old.shape) for part, old in zip(np.split(vector, ends), x, strict=True)
        ]
        moved = dict(zip(names, back(*parts), strict=True))
        found: EPEvidence = evaluator.at({**point, **moved}, EP()).evidence  # type: ignore[assignment]
        return found

    centre = np.concatenate([part.ravel() for part in x]) if x else np.zeros(0)
    middle = evidence(centre)
    targets = middle.problem.loss.task == "regression"
    origin = middle.problem.y if targets else np.zeros(middle.problem.y.size)
    slopes = np.zeros((2 * origin.size, centre.size))
    if not targets:
        for k, step in enumerate(_STEP * np.eye(centre.size)):
            up, down = (_scaled(evidence(x), origin) for x in (centre + step, centre - step))
            slopes[:, k] = (up - down) / (2.0 * _STEP)
    rows, labels = np.zeros(0, dtype=int), np.zeros(0)
    if not targets:
        problem = middle.problem
        distance = problem.y * middle.mean - problem.loss.wall
        if np.isfinite(distance).any():
            rows = rows_before(distance, middle.posterior.covariance)
            labels = problem.y[rows]
    return Sites(names, centre, origin, _scaled(middle, origin), slopes, rows, labels)


def unconstrained(variable: Any, transform: Any, inputs: list[Any]) -> Any:
    """Return a free variable on the unconstrained space."""
    return variable if transform is None else transform.forward(variable, *inputs)


def _scaled(evidence: EPEvidence, origin: Array) -> Array:
    """Return ``log r`` and ``b / r`` of the sites of ``f - origin``, none of them flat."""
    precision, shift = np.split(evidence.start, 2)
    ridge = _RIDGE / evidence.variance
    root = np.sqrt(precision + ridge)
    b = shift - precision * origin + ridge * (evidence.mean - origin)
    return np.concatenate([np.log(root), b / root])


def _function(inputs: list[Any], outputs: list[Any]) -> Callable[..., list[Array]]:
    function: Callable[..., list[Array]] = pytensor.function(
        inputs, outputs, mode="FAST_COMPILE", on_unused_input="ignore"
    )
    return function
