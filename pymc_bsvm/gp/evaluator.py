"""Numbers from the graph of a model: what a prediction at a point needs, compiled once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc import Model
from pytensor.compile import SharedVariable
from pytensor.graph import ancestors

from pymc_bsvm._pytensor import RNGConsumerOp
from pymc_bsvm._typing import Array
from pymc_bsvm._validation import as_real_array, check_labels
from pymc_bsvm.evidence.approximation import Approximation
from pymc_bsvm.gp.conditioned import Conditioned
from pymc_bsvm.gp.data import binary_labels_hint, known_value
from pymc_bsvm.gp.interpreted import INTERPRETED
from pymc_bsvm.gp.prior import probe
from pymc_bsvm.losses import Loss

if TYPE_CHECKING:
    from pymc_bsvm.gp.marginal import Specification

__all__ = ["Evaluator", "Evaluators"]

_CHUNK = 2**22  # elements of the covariance of training rows with new ones held at a time


class Evaluator:
    """The functions of a model that predictions need, for points of its free variables.

    What was conditioned last is kept, and handed out again while the point and the data have the
    same values.

    Parameters
    ----------
    specification : Specification
        What the model is made of.
    X, y : tensor_like
        Training data; labels are 0 and 1.
    model : pymc.Model
        The model that a point belongs to. Random variables that are data there, after an
        intervention, have their values from it.
    variables : sequence of TensorVariable
        What the loss and then the prior depend on.
    """

    def __init__(
        self, specification: Specification, X: Any, y: Any, model: Model, variables: Any
    ) -> None:
        self.specification = specification
        self._model = model
        self._data = [pt.as_tensor_variable(x) for x in (X, y)]
        self._variables = [pt.as_tensor_variable(x) for x in variables]
        roots = [*self._data, *self._variables]
        order = list(model.named_vars)
        self._random = sorted(
            _random_roots(roots),
            key=lambda x: order.index(x.name) if x.name in order else len(order),
        )
        reached = ancestors(roots, blockers=self._random)
        self._shared = [x for x in reached if isinstance(x, SharedVariable)]
        self._values: list[Any] = []
        self._kept: dict[Approximation, Conditioned] = {}

    def at(
        self,
        point: Mapping[str, Any] | None,
        approximation: Approximation | None = None,
        start: Array | None = None,
        check_input: bool = True,
    ) -> Conditioned:
        """Return the model at a point, by its own approximation or another."""
        approximation = approximation or self.specification.approximation
        arguments = self._arguments(point)
        values = [*arguments, *(x.get_value() for x in self._shared)]
        if not _same(values, self._values):
            self._values, self._kept = values, {}
        if approximation not in self._kept:
            found = self._conditioned(arguments, approximation, start, check_input)
            self._kept[approximation] = found
        return self._kept[approximation]

    def _conditioned(
        self,
        arguments: list[Any],
        approximation: Approximation,
        start: Array | None,
        check_input: bool,
    ) -> Conditioned:
        known = next(iter(self._kept.values()), None)  # by another approximation, same numbers
        if known is not None:
            problem = known.evidence.problem
            approximation.check(problem.loss)
            evidence = approximation.approximate(problem, start)
            return Conditioned(known.X, evidence, known.of_loss, known.parameters, self)
        row_loss = self.specification.row_loss
        k, functions = len(row_loss.parameters), len(row_loss.functions)
        (X, y), variables, of_inputs, (mean, *of_K) = self._parts(arguments)
        of_loss, parameters = variables[:k], variables[k:]
        if y.shape != X.shape[:1]:
            raise ValueError(
                f"y has {y.shape[0]} values, but X has {X.shape[0]} rows. Set both data together."
            )
        loss = row_loss.assemble(of_loss, of_inputs[:functions])
        loss.check_rows(X.shape[0])
        for place, (i, j) in enumerate(probe(X.shape[0]), start=1):
            alone = of_inputs[place * functions : (place + 1) * functions]
            self._check_pointwise(alone, of_inputs[:functions], [i, j])
        if loss.task == "classification":
            check_labels("y", y, (0, 1), binary_labels_hint)
            y = 2.0 * y - 1.0
        K = self.specification.covariance(*of_K)
        evidence = approximation.evidence(K, y, loss, m=mean, start=start, check_input=check_input)
        return Conditioned(X, evidence, of_loss, parameters, self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what is compiled and kept; the model comes first, as its graph is deep."""
        made = ("_numbers", "_symbols", "_of_inputs", "_diagonal", "_full")
        state = {name: value for name, value in vars(self).items() if name not in made}
        return {"_model": self._model, **state, "_values": [], "_kept": {}}

    def loss(self, of_loss: list[Array], X_new: Array) -> Loss:
        """Return the loss of new rows."""
        row_loss = self.specification.row_loss
        row_loss.check_new_rows()
        of_inputs = self._of_inputs(X_new, *of_loss) if row_loss.functions else []
        return row_loss.assemble(of_loss, of_inputs)

    def moments(self, on: Conditioned, X_new: Array) -> tuple[Array, Array]:
        """Return mean and variance of the latent values at new rows, a block of rows at a time."""
        posterior = on.evidence.posterior
        mean, variance = np.empty(X_new.shape[0]), np.empty(X_new.shape[0])
        X, predictor = on.X[posterior.rows], posterior.predictor
        size = max(1, _CHUNK // max(X.shape[0], 1))
        if not self.specification.prior.has_diagonal:
            size = min(size, math.isqrt(_CHUNK))  # a matrix of the block's own rows is held, too
        for part in _chunks(X_new.shape[0], size):
            prior_mean, cross, prior = self.new_rows(X, X_new[part], on.parameters)
            mean[part] = prior_mean + predictor.mean(cross)
            variance[part] = predictor.variance(cross, prior)
        return mean, variance

    def joint_moments(self, on: Conditioned, X_new: Array) -> tuple[Array, Array]:
        """Return mean and covariance matrix of the latent values at new rows."""
        posterior = on.evidence.posterior
        mean, cross, prior = self._full(on.X[posterior.rows], X_new, *on.parameters)
        predictor = posterior.predictor
        return mean + predictor.mean(cross), predictor.covariance(cross, prior)

    def _check_pointwise(self, alone: list[Any], among: list[Any], pair: list[int]) -> None:
        """Raise unless functions of the inputs are at two rows alone what they are among all."""
        functions = self.specification.row_loss.functions
        for name, one, all_rows in zip(functions, alone, among, strict=True):
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
        own = "Pass one value of the variable, on its own scale."
        numbers = [
            as_real_array(f"The value of {x.name}", values[x.name], own) for x in self._random
        ]
        arguments = [
            np.array(value, dtype=x.type.dtype)
            for value, x in zip(numbers, self._random, strict=True)
        ]
        for variable, value in zip(self._random, arguments, strict=True):
            if value.ndim != variable.type.ndim:
                raise ValueError(
                    f"The value of {variable.name} has {value.ndim} dimensions, but the variable "
                    f"has {variable.type.ndim}. Pass one value of the variable, not many draws."
                )
        return arguments

    def _parts(self, arguments: list[Any]) -> tuple[list[Any], ...]:
        """Return the data, the variables, the loss's functions of the inputs, and the prior."""
        numbers = self._numbers(*arguments)
        pairs = 1 + len(probe(0))
        counts = 2, len(self._variables), pairs * len(self.specification.row_loss.functions)
        ends = [0, *np.cumsum(counts), len(numbers)]
        return tuple(numbers[start:end] for start, end in pairwise(ends))

    @cached_property
    def _numbers(self) -> Any:
        """The data, the prior of the training rows, and the parameters, from a point."""
        specification = self.specification
        X, y = self._data
        k = len(specification.row_loss.parameters)
        of_loss, parameters = self._variables[:k], self._variables[k:]
        moments = specification.checked_moments(X, parameters)
        of_inputs = list(specification.row_loss.of_inputs(X, of_loss))
        for i, j in probe(X.shape[0]):
            of_inputs += specification.row_loss.of_inputs(pt.stack([X[i], X[j]]), of_loss)
        return _compile(self._random, [X, y, *self._variables, *of_inputs, *moments])

    @cached_property
    def _symbols(self) -> tuple[Any, Any, list[Any]]:
        X, X_new = pt.dmatrix("X"), pt.dmatrix("X_new")
        return X, X_new, [x.type() for x in self.specification.prior.parameters]

    @cached_property
    def _of_inputs(self) -> Any:
        X, _, _ = self._symbols
        of_loss = [x.type() for x in self.specification.row_loss.parameters]
        return _compile([X, *of_loss], self.specification.row_loss.of_inputs(X, of_loss))

    def new_rows(self, X: Array, X_new: Array, parameters: list[Array]) -> tuple[Array, ...]:
        """Return new rows' prior mean, covariance with training rows, and variance."""
        return tuple(self._diagonal(X, X_new, *parameters))

    @cached_property
    def _diagonal(self) -> Any:
        X, X_new, parameters = self._symbols
        mean, cross, _, variance = self.specification.prior.new(X, X_new, parameters)
        return _compile([X, X_new, *parameters], [mean, cross, variance])

    @cached_property
    def _full(self) -> Any:
        X, X_new, parameters = self._symbols
        mean, cross, covariance, _ = self.specification.prior.new(X, X_new, parameters)
        return _compile([X, X_new, *parameters], [mean, cross, covariance])


class Evaluators:
    """The evaluators of a specification, one for each model; a copy begins without any."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Model, Any, Evaluator]] = {}

    def of(self, rv: Any, model: Model) -> Evaluator:
        """Return the evaluator of a model's observed variable."""
        owner, known, evaluator = self._kept.get(id(model), (None, None, None))
        if evaluator is None or owner is not model or known is not rv:
            specification = rv.owner.op.specification
            _, _, X, *variables = rv.owner.inputs
            y = model.rvs_to_values[rv]
            evaluator = Evaluator(specification, X, y, model, variables)
            self._kept[id(model)] = (model, rv, evaluator)
        return evaluator

    def __reduce__(self) -> tuple[type[Evaluators], tuple[()]]:
        """Leave compiled functions behind; ids mean other models in another process."""
        return Evaluators, ()


def _random_roots(variables: list[Any]) -> list[Any]:
    """Return the random variables nearest to some variables."""
    reached = ancestors(variables)
    random = [x for x in reached if x.owner is not None and isinstance(x.owner.op, RNGConsumerOp)]
    near = set(ancestors(variables, blockers=random))
    return [x for x in dict.fromkeys(random) if x in near]


def _compile(inputs: list[Any], outputs: list[Any]) -> Any:
    return pytensor.function(
        inputs, outputs, mode=INTERPRETED, on_unused_input="ignore", allow_input_downcast=True
    )


def _same(some: list[Any], others: list[Any]) -> bool:
    """Return whether two lists hold the same numbers."""
    return len(some) == len(others) and all(map(_equal, some, others))


def _equal(one: Any, other: Any) -> bool:
    return isinstance(one, np.ndarray) and np.array_equal(one, other)


def _chunks(n: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
