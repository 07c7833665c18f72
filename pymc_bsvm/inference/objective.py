"""The log posterior of the hyperparameters as a function of one vector, with a warm start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc.model.core import Model
from pymc.pytensorf import compile as compile_for_pymc
from pytensor.compile.mode import get_mode
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors

from pymc_bsvm.gp.evaluator import Evaluator
from pymc_bsvm.gp.marginal import LaplaceGPRV
from pymc_bsvm.losses.base import Array
from pymc_bsvm.ops import DualSolve

__all__ = ["Marginal", "Objective", "marginals_of"]


@dataclass(frozen=True)
class Marginal:
    """A variable of a model whose log probability is a Laplace evidence."""

    name: str
    rv: Any
    smooth: bool

    def loss_variables(self) -> dict[str, Any]:
        """Return the variables that are parameters of the loss, by their names there."""
        names = self.rv.owner.op.specification.row_loss.given
        return dict(zip(names, self.rv.owner.inputs[3:], strict=False))

    def evaluator(self, model: Model) -> Evaluator:
        """Return the functions that predictions at a point need."""
        op, (_, _, X, *variables) = self.rv.owner.op, self.rv.owner.inputs
        prior, row_loss = op.specification.prior, op.specification.row_loss
        y = model.rvs_to_values[self.rv]
        return Evaluator(prior, row_loss, X, y, op.specification.jitter, model, variables)


def marginals_of(model: Model, name: str | None = None) -> list[Marginal]:
    """Return the observed variables of a model that stand for a Laplace evidence.

    Parameters
    ----------
    model : pymc.Model
        The model.
    name : str, optional
        The one variable that is wanted; all of them by default.

    Returns
    -------
    list of Marginal

    Raises
    ------
    ValueError
        If there are none, or none of this name.
    """
    found = [
        Marginal(rv.name, rv, rv.owner.op.specification.ramp_width > 0.0)
        for rv in model.observed_RVs
        if isinstance(rv.owner.op, LaplaceGPRV)
    ]
    if not found:
        raise ValueError(
            f"The model has the observed variables {[rv.name for rv in model.observed_RVs]}, and "
            "none is a Laplace evidence. Add one with gp.BSVR, gp.BTSVC or gp.Laplace."
        )
    chosen = [marginal for marginal in found if name in (None, marginal.name)]
    if not chosen:
        raise ValueError(
            f"name must be that of a Laplace variable, but it is {name!r}. "
            f"Use one of {', '.join(marginal.name for marginal in found)}."
        )
    return chosen


class Objective:
    """Log posterior (or log evidence alone) and gradient on the unconstrained space.

    Successive calls start the dual from that of the call before. Points where the solver fails have
    the value -inf.

    Parameters
    ----------
    model : pymc.Model
        The model.
    include_prior : bool
        Whether to add the log prior density of the hyperparameters, on their own scale.
    """

    def __init__(self, model: Model, include_prior: bool) -> None:
        self.model = model
        self._include_prior = include_prior
        self.values = list(model.continuous_value_vars)
        discrete = [value.name for value in model.discrete_value_vars]
        if discrete or not self.values:
            raise ValueError(
                f"The free variables must be continuous, but there are {discrete or 'none'}. "
                "Give each hyperparameter a continuous prior, or fix it."
            )
        evidence = model.logp(vars=model.observed_RVs, jacobian=False)
        prior = model.logp(vars=[*model.free_RVs, *model.potentials], jacobian=False)
        total = evidence + prior if include_prior else evidence + 0.0
        nodes = list(
            {x.owner for x in ancestors([total]) if x.owner and isinstance(x.owner.op, DualSolve)}
        )
        starts = [pt.dvector() for _ in nodes]
        replace = {node.inputs[4]: a0 for node, a0 in zip(nodes, starts, strict=True)}
        duals = [node.outputs[0] for node in nodes]
        total, evidence, *duals = clone_replace([total, evidence, *duals], replace=replace)
        gradient = pytensor.grad(total, self.values, disconnected_inputs="ignore")
        # compiled as PyMC does it: parameters outside their domain give -inf and no error
        self._function = compile_for_pymc(
            [*self.values, *starts],
            [total, evidence, *gradient, *duals],
            on_unused_input="ignore",
        )
        self._zeros = [np.zeros(int(node.inputs[1].shape[0].eval())) for node in nodes]
        self._duals = self._zeros
        initial = model.initial_point()
        self._shapes = [np.shape(initial[value.name]) for value in self.values]
        own_scale = {variable.name for variable in model.unobserved_RVs}
        self._unobserved = [v for v in model.unobserved_value_vars if v.name in own_scale]
        self._constrain = pytensor.function(
            self.values, self._unobserved, mode=_MODE, on_unused_input="ignore"
        )
        self.evaluations = 0
        self.log_evidence = -np.inf
        """Log evidence, without the prior, at the last point."""

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and the gradient at a point of the unconstrained space."""
        k = len(self.values)
        total, evidence, *rest = self._function(*self._split(x), *self._duals)
        gradient, duals = rest[:k], rest[k:]
        self._duals = [
            dual if np.isfinite(dual).all() else zero
            for dual, zero in zip(duals, self._zeros, strict=True)
        ]
        self.evaluations += 1
        self.log_evidence = float(evidence)
        slope = np.concatenate([np.ravel(g) for g in gradient]) if gradient else np.zeros(0)
        if not (np.isfinite(total) and np.isfinite(slope).all()):
            return -np.inf, np.zeros_like(x)
        return float(total), slope

    def density(self, x: Array) -> tuple[float, Array]:
        """Return the log density on the unconstrained space and its gradient.

        With the prior it includes the log Jacobian determinant of the transforms, as the densities
        that PyMC samples do.
        """
        value, gradient = self(x)
        if not self._include_prior:
            return value, gradient
        log_jacobian, *parts = self._log_jacobian(*self._split(x))
        return value + float(log_jacobian), gradient + np.concatenate([np.ravel(g) for g in parts])

    @cached_property
    def _log_jacobian(self) -> Any:
        """The log Jacobian determinant of the transforms and its gradient, compiled."""
        free = self.model.free_RVs
        with_it, without = (self.model.logp(vars=free, jacobian=flag) for flag in (True, False))
        difference = with_it - without
        gradient = pytensor.grad(difference, self.values, disconnected_inputs="ignore")
        return pytensor.function(
            self.values, [difference, *gradient], mode=_MODE, on_unused_input="ignore"
        )

    def forget(self) -> None:
        """Start the next dual from zero."""
        self._duals = self._zeros

    def vector(self, point: Mapping[str, Any]) -> Array:
        """Return the vector of a point of the unconstrained space."""
        return np.concatenate(
            [
                np.ravel(np.broadcast_to(np.asarray(point[value.name], dtype=float), shape))
                for value, shape in zip(self.values, self._shapes, strict=True)
            ]
        )

    def point(self, x: Array) -> dict[str, Array]:
        """Return all free and deterministic variables on their own scale, by name."""
        names = [variable.name for variable in self._unobserved]
        values = self._constrain(*self._split(x))
        return {name: np.asarray(value) for name, value in zip(names, values, strict=True)}

    def names(self) -> list[str]:
        """Return one name for each element of the vector."""
        names = []
        for value, shape in zip(self.values, self._shapes, strict=True):
            names += [
                value.name + (str(list(index)) if shape else "") for index in np.ndindex(shape)
            ]
        return names

    def _split(self, x: Array) -> list[Array]:
        sizes = [int(np.prod(shape)) for shape in self._shapes]
        parts = np.split(x, np.cumsum(sizes)[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)]


_MODE = get_mode("FAST_COMPILE")
