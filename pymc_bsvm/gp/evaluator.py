"""Numbers from the graph of a model: what a prediction at a point needs, compiled once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc.model.core import Model
from pytensor.compile.mode import get_mode
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RNGConsumerOp

from pymc_bsvm._validation import check_labels
from pymc_bsvm.evidence.laplace import Curvature, LaplaceEvidence, laplace_evidence
from pymc_bsvm.gp.data import binary_labels_hint, known_value
from pymc_bsvm.gp.prior import NOT_POINTWISE, Prior, differs, probe
from pymc_bsvm.gp.row_loss import RowLoss
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.base import Array

__all__ = ["Evaluator", "State"]

_CHUNK = 2**22  # elements of the covariance of support vectors with new rows held at a time
# Compiled in a moment; what takes time here are NumPy's whole-array operations.
_MODE = get_mode("FAST_COMPILE")


@dataclass(frozen=True)
class State:
    """A model at a point of its hyperparameters."""

    X: Array
    parameters: list[Array]
    """Of the prior, in the order of `Prior.parameters`."""
    of_loss: list[Array]
    """Of the loss, in the order of `RowLoss.parameters`."""
    evidence: LaplaceEvidence


class Evaluator:
    """The functions of a model that predictions need, for points of its free variables.

    Parameters
    ----------
    prior : Prior
        Mean and covariance functions.
    row_loss : RowLoss
        The loss.
    X, y : tensor_like
        Training data; labels are 0 and 1.
    jitter : float
        Added to the diagonal of the training covariance.
    model : pymc.Model
        The model that a point belongs to. Random variables that are data there, after an
        intervention, have their values from it.
    parameters : sequence of TensorVariable, optional
        What the loss and the prior depend on, in the place of their ``parameters``.
    """

    def __init__(
        self,
        prior: Prior,
        row_loss: RowLoss,
        X: Any,
        y: Any,
        jitter: float,
        model: Model,
        parameters: Any = None,
    ) -> None:
        self._prior, self._row_loss, self._jitter = prior, row_loss, jitter
        if parameters is None:
            parameters = [*row_loss.parameters, *prior.parameters]
        variables = [pt.as_tensor_variable(X), pt.as_tensor_variable(y), *parameters]
        self._model = model
        order = list(model.named_vars)
        self._random = sorted(
            _random_roots(variables),
            key=lambda x: order.index(x.name) if x.name in order else len(order),
        )
        self._values = _compile(self._random, variables)

    def state(
        self,
        point: Mapping[str, Any] | None,
        curvature: Curvature,
        a0: Array | None = None,
        check_input: bool = True,
    ) -> State:
        """Return the model at a point."""
        X, y, *rest = self._values(*self._arguments(point))
        k = len(self._row_loss.parameters)
        of_loss, parameters = rest[:k], rest[k:]
        if y.shape != X.shape[:1]:
            raise ValueError(
                f"y has {y.shape[0]} values, but X has {X.shape[0]} rows. Set both data together."
            )
        loss = self._loss(X, of_loss)
        loss.check_rows(X.shape[0])
        mean, K = self._training(X, *parameters)
        for i, j in probe(X.shape[0]):
            if differs(self._training(X[[i, j]], *parameters), (mean, K), (i, j), np):
                raise ValueError(NOT_POINTWISE)
            self._check_pointwise(X, of_loss, [i, j])
        if self._jitter:
            K = K + self._jitter * np.eye(K.shape[0])
        if loss.task == "classification":
            check_labels("y", y, (0, 1), binary_labels_hint)
            y = 2.0 * y - 1.0
        evidence = laplace_evidence(K, y, loss, curvature, m=mean, a0=a0, check_input=check_input)
        assert isinstance(evidence, LaplaceEvidence)
        return State(X, parameters, of_loss, evidence)

    def loss(self, state: State, X_new: Array) -> Loss:
        """Return the loss of new rows."""
        self._row_loss.check_new_rows()
        return self._loss(X_new, state.of_loss)

    def moments(self, state: State, X_new: Array) -> tuple[Array, Array]:
        """Return mean and variance of the latent values at new rows, a block of rows at a time."""
        posterior = state.evidence.posterior
        mean, variance = np.empty(X_new.shape[0]), np.empty(X_new.shape[0])
        X = state.X[posterior.rows]
        for part in _chunks(X_new.shape[0], max(1, _CHUNK // max(X.shape[0], 1))):
            prior_mean, cross, prior = self._diagonal(X, X_new[part], *state.parameters)
            mean[part] = prior_mean + posterior.predict_mean(cross)
            variance[part] = posterior.predict_variance(cross, prior)
        return mean, variance

    def joint_moments(self, state: State, X_new: Array) -> tuple[Array, Array]:
        """Return mean and covariance matrix of the latent values at new rows."""
        posterior = state.evidence.posterior
        X = state.X[posterior.rows]
        mean, cross, prior = self._full(X, X_new, *state.parameters)
        covariance = posterior.predict_covariance(cross, prior)
        return mean + posterior.predict_mean(cross), covariance

    def _loss(self, X: Array, of_loss: list[Array]) -> Loss:
        return self._row_loss.assemble(of_loss, self._of_inputs(X, *of_loss))

    def _check_pointwise(self, X: Array, of_loss: list[Array], pair: list[int]) -> None:
        """Raise unless functions of the inputs are at two rows alone what they are among all."""
        alone, among = self._of_inputs(X[pair], *of_loss), self._of_inputs(X, *of_loss)
        for name, one, all_rows in zip(self._row_loss.functions, alone, among, strict=True):
            if not np.allclose(one, all_rows[pair] if all_rows.ndim else all_rows, rtol=1e-5):
                raise ValueError(
                    f"{name} of two rows depends on other rows of X, so that it cannot predict. "
                    "Scale or transform X before the model, not inside the function."
                )

    def _arguments(self, point: Mapping[str, Any] | None) -> list[Any]:
        values = {} if point is None else dict(point)
        for name in [variable.name for variable in self._random]:
            if name not in values and name in self._model.named_vars:
                fixed = known_value(self._model[name])
                if fixed is not None:
                    values[name] = fixed
        missing = [variable.name for variable in self._random if variable.name not in values]
        if missing:
            raise ValueError(
                f"point has no value for {', '.join(map(str, missing))}. "
                "Pass one value for each free variable, on its own scale and under its own name."
            )
        arguments = [np.asarray(values[x.name], dtype=x.type.dtype) for x in self._random]
        for variable, value in zip(self._random, arguments, strict=True):
            if value.ndim != variable.type.ndim:
                raise ValueError(
                    f"The value of {variable.name} has {value.ndim} dimensions, but the variable "
                    f"has {variable.type.ndim}. Pass one value of the variable, not many draws."
                )
        return arguments

    @cached_property
    def _symbols(self) -> tuple[Any, Any, list[Any]]:
        X, X_new = pt.dmatrix("X"), pt.dmatrix("X_new")
        return X, X_new, [x.type() for x in self._prior.parameters]

    @cached_property
    def _of_inputs(self) -> Any:
        X, _, _ = self._symbols
        of_loss = [x.type() for x in self._row_loss.parameters]
        return _compile([X, *of_loss], self._row_loss.of_inputs(X, of_loss))

    @cached_property
    def _training(self) -> Any:
        X, _, parameters = self._symbols
        return _compile([X, *parameters], list(self._prior.training(X, parameters)))

    @cached_property
    def _diagonal(self) -> Any:
        X, X_new, parameters = self._symbols
        mean, cross, _, variance = self._prior.new(X, X_new, parameters)
        return _compile([X, X_new, *parameters], [mean, cross, variance])

    @cached_property
    def _full(self) -> Any:
        X, X_new, parameters = self._symbols
        mean, cross, covariance, _ = self._prior.new(X, X_new, parameters)
        return _compile([X, X_new, *parameters], [mean, cross, covariance])


def _random_roots(variables: list[Any]) -> list[Any]:
    """Return the random variables nearest to some variables."""
    reached = ancestors(variables)
    random = [x for x in reached if x.owner is not None and isinstance(x.owner.op, RNGConsumerOp)]
    near = set(ancestors(variables, blockers=random))
    return [x for x in dict.fromkeys(random) if x in near]


def _compile(inputs: list[Any], outputs: list[Any]) -> Any:
    return pytensor.function(
        inputs, outputs, mode=_MODE, on_unused_input="ignore", allow_input_downcast=True
    )


def _chunks(n: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
