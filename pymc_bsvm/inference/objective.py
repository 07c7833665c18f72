"""The log posterior of the hyperparameters as a function of one vector, with a warm start."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import cloudpickle
import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc import Model
from pytensor.graph import ancestors, clone_replace

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.approximation import Approximation
from pymc_bsvm.gp.data import known_value
from pymc_bsvm.gp.evaluator import Evaluator
from pymc_bsvm.gp.interpreted import INTERPRETED
from pymc_bsvm.gp.marginal import MarginalGPRV
from pymc_bsvm.inference.compiling import GraphFunction
from pymc_bsvm.ops.base import WarmStarted

__all__ = ["LogPosterior", "Marginal", "marginals_of", "only"]

_COMPILING = threading.Lock()  # PyTensor does not compile in two threads at once


@dataclass(frozen=True)
class Marginal:
    """A variable of a model whose log probability is an approximate evidence."""

    name: str
    rv: Any

    @property
    def approximation(self) -> Approximation:
        """The approximation of the evidence."""
        return self.rv.owner.op.specification.approximation  # type: ignore[no-any-return]

    def loss_variables(self) -> dict[str, Any]:
        """Return the variables that are parameters of the loss, by their names there."""
        names = self.rv.owner.op.specification.row_loss.given
        return dict(zip(names, self.rv.owner.inputs[3:], strict=False))

    def evaluator(self, model: Model) -> Evaluator:
        """Return the functions that predictions at a point need."""
        return self.rv.owner.op.specification.evaluators.of(self.rv, model)  # type: ignore[no-any-return]


def marginals_of(model: Model, name: str | None = None) -> list[Marginal]:
    """Return the observed variables of a model that stand for an approximate evidence.

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
    TypeError
        If the model is something else.
    ValueError
        If there are none, or none of this name.
    """
    if not isinstance(model, Model):
        raise TypeError(
            f"model must be a pymc.Model, but it is of type {type(model).__name__}. "
            "Pass the model, or leave it out inside its context."
        )
    found = [
        Marginal(rv.name, rv) for rv in model.observed_RVs if isinstance(rv.owner.op, MarginalGPRV)
    ]
    if not found:
        raise ValueError(
            f"The model has the observed variables {[rv.name for rv in model.observed_RVs]}, and "
            "none is an approximate evidence. Add one with gp.BSVR, gp.BTSVC or gp.Laplace."
        )
    chosen = [marginal for marginal in found if name in (None, marginal.name)]
    if not chosen:
        raise ValueError(
            f"name must be that of a variable with an evidence, but it is {name!r}. "
            f"Use one of {', '.join(marginal.name for marginal in found)}."
        )
    return chosen


def only(marginals: list[Marginal]) -> Marginal:
    """Return the one marginal of a list; raise if there are several."""
    if len(marginals) > 1:
        raise ValueError(
            f"The model has {len(marginals)} variables with an evidence: "
            f"{', '.join(marginal.name for marginal in marginals)}. Choose one with name=..."
        )
    return marginals[0]


class LogPosterior:
    """Log posterior (or log evidence alone) and gradient on the unconstrained space.

    Successive calls start the approximation from where the call before ended. Points where it fails
    have the value -inf.

    Parameters
    ----------
    model : pymc.Model
        The model.
    include_prior : bool
        Whether to add the log prior density of the hyperparameters, on their own scale.
    compile_kwargs : mapping, optional
        How PyTensor compiles it, at once. By default it is interpreted, and compiled once that
        pays; see `pymc_bsvm.inference.compiling`.
    """

    def __init__(
        self,
        model: Model,
        include_prior: bool,
        compile_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
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
            {x.owner for x in ancestors([total]) if x.owner and isinstance(x.owner.op, WarmStarted)}
        )
        starts = [pt.dvector() for _ in nodes]
        warm = [
            node.op(*node.inputs[:-1], start, return_list=True)
            for node, start in zip(nodes, starts, strict=True)
        ]
        ends = [x[node.op.start_output] for node, x in zip(nodes, warm, strict=True)]
        old = [output for node in nodes for output in node.outputs]
        replace = dict(zip(old, itertools.chain(*warm), strict=True))
        total, evidence = clone_replace([total, evidence], replace=replace)
        gradient = pytensor.grad(total, self.values, disconnected_inputs="ignore")
        self.function = GraphFunction(
            [*self.values, *starts],
            [total, evidence, *gradient, *ends],
            compile_kwargs,
            _elements(model),
        )
        """The graph as a function, which knows whether it is compiled."""
        self._cold = [np.zeros(0) for _ in nodes]
        self._starts = self._cold
        self._shapes = _shapes(model, self.values)
        own_scale = {variable.name for variable in model.unobserved_RVs}
        self._unobserved = [v for v in model.unobserved_value_vars if v.name in own_scale]
        self._constrain = pytensor.function(
            self.values, self._unobserved, mode=INTERPRETED, on_unused_input="ignore"
        )
        self.evaluations = 0
        self.log_evidence = -np.inf
        """Log evidence, without the prior, at the last point."""

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and the gradient at a point of the unconstrained space."""
        k = len(self.values)
        total, evidence, *rest = self.function(*self._split(x), *self._starts)
        gradient, ends = rest[:k], rest[k:]
        self._starts = [
            end if np.isfinite(end).all() else cold
            for end, cold in zip(ends, self._cold, strict=True)
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
            self.values, [difference, *gradient], mode=INTERPRETED, on_unused_input="ignore"
        )

    def forget(self) -> None:
        """Start the next evaluation from nothing."""
        self._starts = self._cold

    def recipe(self) -> Callable[[], LogPosterior]:
        """Return a function that compiles the same for a model of its own, also in a thread."""
        pickled = cloudpickle.dumps((self.model, self._include_prior, self.function.compile_kwargs))
        return partial(_compile, pickled)

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


def _compile(pickled: bytes) -> LogPosterior:
    with _COMPILING:
        return LogPosterior(*cloudpickle.loads(pickled))


def _elements(model: Model) -> int:
    """Return the number of elements of the matrices that an evaluation makes."""
    elements = 0
    for rv in (marginal.rv for marginal in marginals_of(model)):
        rows = _length(model.rvs_to_values[rv])
        dense = rv.owner.op.specification.of_rows
        elements += rows * (rows if dense else _length(rv.owner.inputs[-1]))  # inducing points
    return elements


def _length(x: Any) -> int:
    """Return the number of rows of data."""
    known = known_value(x)
    return int(x.shape[0].eval(mode=INTERPRETED)) if known is None else len(known)


def _shapes(model: Model, values: list[Any]) -> list[tuple[int, ...]]:
    """Return the shapes of values; a point is computed only where types leave them open."""
    shapes = [value.type.shape for value in values]
    if any(None in shape for shape in shapes):
        point = model.initial_point()
        shapes = [np.shape(point[value.name]) for value in values]
    return shapes
