"""The observed variable of a GP model: draws of the model, evidence as log probability."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import pytensor.tensor as pt
from pymc import Distribution, SymbolicRandomVariable
from pytensor.graph import Constant, ancestors
from pytensor.tensor.linalg import cholesky, solve_triangular

from pymc_bsvm import losses, symbolic
from pymc_bsvm._pymc import (
    _change_dist_size,
    _logprob,
    _support_point,
    normalize_rng_param,
    rv_size_is_none,
)
from pymc_bsvm._pytensor import normalize_size_param
from pymc_bsvm._pytensor.interpretable import Interpretable
from pymc_bsvm._typing import Array
from pymc_bsvm.covariance import LowRank
from pymc_bsvm.distributions.checked import guard
from pymc_bsvm.evidence.approximation import Approximation
from pymc_bsvm.gp.evaluator import Evaluators
from pymc_bsvm.gp.prior import NOT_POINTWISE, PairCheck, Prior, differs, probe
from pymc_bsvm.gp.row_loss import RowLoss
from pymc_bsvm.graph import log_evidence, sites
from pymc_bsvm.losses import Loss, NoiseLoss, noise_formulas

__all__ = ["MarginalGP", "MarginalGPRV", "Specification", "relatively_stable", "signed"]


@dataclasses.dataclass(frozen=True)
class Specification:
    """What a model is made of, beside the variables that enter it."""

    prior: Prior
    row_loss: RowLoss
    approximation: Approximation
    jitter: float
    label: str
    """Name of the model in printed summaries."""
    columns: tuple[str, ...] | None = None
    """Names of the columns of the inputs, if they have any."""
    evaluators: Evaluators = dataclasses.field(default_factory=Evaluators, repr=False)
    """What predicts from models with this specification."""

    of_rows: ClassVar[bool] = True
    """Whether the latent values have one degree of freedom for each row."""

    def split(self, X: Any, variables: Any) -> tuple[Loss, list[Any]]:
        """Return the loss of the rows of X and the prior's parameters, from a model's variables."""
        k = len(self.row_loss.parameters)
        return self.row_loss.at(X, variables[:k]), list(variables[k:])

    def moments(self, X: Any, parameters: Any) -> tuple[Any, ...]:
        """Return the prior mean and covariance of the rows of X, with the jitter."""
        mean, K = self.prior.training(X, parameters)
        return mean, K + self.jitter * pt.eye(K.shape[0]) if self.jitter else K

    def checked_moments(self, X: Any, parameters: Any) -> tuple[Any, ...]:
        """Return the moments, which raise if those of two rows depend on other rows."""
        mean, K = self.moments(X, parameters)
        same = []
        for i, j in probe(X.shape[0]):
            alone = self.moments(pt.stack([X[i], X[j]]), parameters)
            same.append(~differs(alone, (mean, K), (i, j), pt))
        return mean, _CHECK(K, *same)

    def covariance(self, *moments: Array) -> Array | LowRank:
        """Return the covariance of the training rows from the moments beside their mean."""
        (K,) = moments
        return K

    def log_evidence(self, y: Any, X: Any, variables: Any) -> Any:
        """Return the log evidence of targets y (labels are 0 and 1)."""
        loss, parameters = self.split(X, variables)
        mean, K = self.checked_moments(X, parameters)

        def minor(rows: Any) -> Any:
            return self.moments(X[rows], parameters)[1]

        return log_evidence(self.approximation, K, signed(y, loss), loss, m=mean, minor=minor)

    def draw(self, X: Any, parameters: Any, rng: Any, batch: Any) -> Any:
        """Return the next generator, and latent values of the rows of X from the prior."""
        mean, K = self.moments(X, parameters)
        # by singular values, because a singular covariance has no Cholesky factor
        return pt.random.multivariate_normal(
            mean, K, size=batch, rng=rng, method="svd", return_next_rng=True
        )

    def conditional(self, y: Any, X: Any, X_new: Any, loss: Loss) -> tuple[Any, Any]:
        """Return mean and covariance of the latent values at new rows, given targets y."""
        parameters = self.prior.parameters
        mean, K = self.moments(X, parameters)
        a, precision = sites(self.approximation, K, signed(y, loss), loss, m=mean)
        free, support = precision.nonzero()[0], a.nonzero()[0]
        root = pt.sqrt(precision[free])
        L = cholesky(pt.eye(free.shape[0]) + root[:, None] * K[free[:, None], free] * root)
        new_mean, cross, new_K, _ = self.prior.new(X, X_new, parameters)
        half = solve_triangular(L, root[:, None] * cross[free], lower=True)
        return new_mean + cross[support].T @ a[support], new_K - half.T @ half

    def whitened(self, X: Any, parameters: Any, jitter: float) -> tuple[Any, Any]:
        """Return mean and factor F of latent values ``mean + F w`` with a standard normal w.

        The jitter is added to the diagonal of the covariance, as a share of its mean.
        """
        mean, K = self.moments(X, parameters)
        return mean, cholesky(relatively_stable(K, jitter))

    def whitened_cross(self, factor: Any, cross: Any) -> Any:
        """Return the prior covariance of w with new latent values."""
        return solve_triangular(factor, cross, lower=True)

    def potential(self, y: Any, f: Any, X: Any, parameters: Any, loss: Loss) -> Any:
        """Return what the log density of latent values f has beside prior and loss, or None."""
        return None


def signed(y: Any, loss: Loss) -> Any:
    """Return targets as solvers want them: labels are -1 and +1."""
    y = pt.as_tensor_variable(y).astype("float64")
    return 2.0 * y - 1.0 if loss.task == "classification" else y


def relatively_stable(K: Any, jitter: float) -> Any:
    """Add a share of the mean variance to the diagonal."""
    return K + jitter * pt.diagonal(K).mean() * pt.eye(K.shape[0]) if jitter else K


class MarginalGPRV(Interpretable, SymbolicRandomVariable):
    """Draws of a Gaussian process model: latent values from the prior, targets from the loss."""

    name = "marginal_gp"
    _ndim_supp = 1

    def __init__(self, *args: Any, specification: Specification, **kwargs: Any) -> None:
        self.specification = specification
        self.name = specification.label
        self._print_name = (
            specification.label,
            f"\\operatorname{{{specification.label}}}",
        )
        super().__init__(*args, **kwargs)

    def dist_params(self, node: Any) -> tuple[Any, ...]:
        """Return what a printed model shows: parameters of the loss, then mean and covariance."""
        _, _, X, *variables = node.inputs
        loss, parameters = self.specification.split(X, variables)
        mean, K, *_ = self.specification.moments(X, parameters)
        of_model = [x for x in (mean, K) if not _fixed(x, X)]
        return *(pt.as_tensor_variable(x) for x in loss.fields.values()), *of_model

    @classmethod
    def rv_op(
        cls,
        X: Any,
        *variables: Any,
        specification: Specification,
        size: Any = None,
        rng: Any = None,
    ) -> Any:
        """Build the random variable."""
        inputs = [pt.as_tensor(x) for x in (X, *variables)]
        rng, size = normalize_rng_param(rng), normalize_size_param(size)
        loss, parameters = specification.split(inputs[0], inputs[1:])
        batch = None if rv_size_is_none(size) else size
        next_rng, f = specification.draw(inputs[0], parameters, rng, batch)
        next_rng, u = pt.random.uniform(
            2.0**-54, 1.0, size=f.shape, rng=next_rng, return_next_rng=True
        )
        y = _draw(loss, f, u)
        cores = [",".join(f"i{k}_{axis}" for axis in range(x.ndim)) for k, x in enumerate(inputs)]
        signature = ",".join(f"({core})" for core in cores)
        return cls(
            inputs=[rng, size, *inputs],
            outputs=[next_rng, y],
            specification=specification,
            extended_signature=f"[rng],[size],{signature}->[rng],(n)",
        )(rng, size, *inputs)

    def rebuild_rv(self, *args: Any, **kwargs: Any) -> Any:
        """Rebuild the variable with other inputs."""
        return self.rv_op(*args, specification=self.specification, **kwargs)


class MarginalGP(Distribution):
    """The targets of a Gaussian process model with its latent values integrated out."""

    rv_type = MarginalGPRV
    rv_op = MarginalGPRV.rv_op


@_change_dist_size.register(MarginalGPRV)
def _of_size(op: MarginalGPRV, rv: Any, new_size: Any, expand: bool) -> Any:
    _, size, *inputs = rv.owner.inputs  # all of them, not those that are printed
    if expand and not rv_size_is_none(size):
        new_size = (*new_size, *size)
    return op.rebuild_rv(*inputs, size=new_size)


@_logprob.register(MarginalGPRV)
def _log_evidence(op: MarginalGPRV, values: Any, *inputs: Any, **_: Any) -> Any:
    (value,) = values
    _, _, X, *variables = inputs
    specification = op.specification
    result = specification.log_evidence(value, X, variables)
    loss = specification.split(X, variables)[0]
    if loss.task == "classification":
        result = pt.where((pt.eq(value, 0) | pt.eq(value, 1)).all(), result, -pt.inf)
    return guard(result, loss.domains, *loss.fields.values()) if loss.domains else result


@_support_point.register(MarginalGPRV)
def _prior_mean(op: MarginalGPRV, rv: Any, rng: Any, size: Any, X: Any, *variables: Any) -> Any:
    loss, parameters = op.specification.split(X, variables)
    mean, *_ = op.specification.moments(X, parameters)
    point = mean if loss.task == "regression" else (mean > 0.0).astype("int64")
    return point if rv_size_is_none(size) else pt.full(pt.concatenate([size, point.shape]), point)


def _fixed(x: Any, X: Any) -> bool:
    """Return whether nothing that a model names is behind a variable, beside the inputs."""
    behind = ancestors([x], blockers=[X])
    return all(v.name is None or v is X or isinstance(v, Constant) for v in behind)


def _draw(loss: Loss, f: Any, u: Any) -> Any:
    """Turn uniform numbers into targets given the latent values."""
    if isinstance(loss, NoiseLoss):
        return f + noise_formulas(type(loss), symbolic).quantile(u, *loss.parameters)
    value = losses.formulas(type(loss), symbolic).value
    return (u < pt.exp(-value(1.0, f, *loss.parameters))).astype("int64")


_CHECK = PairCheck(ValueError, NOT_POINTWISE)
