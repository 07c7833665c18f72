"""What the models on inducing points share: their approximation of the prior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pymc_bsvm.evidence.approximation import Approximation
from pymc_bsvm.evidence.laplace import Laplace
from pymc_bsvm.gp.data import as_inputs, known_value
from pymc_bsvm.gp.given import Given
from pymc_bsvm.gp.names import names_of
from pymc_bsvm.gp.process import MarginalProcess
from pymc_bsvm.gp.remembered import remembered
from pymc_bsvm.gp.row_loss import RowLoss
from pymc_bsvm.gp.sparse_prior import SparsePrior
from pymc_bsvm.gp.sparse_specification import SparseSpecification
from pymc_bsvm.losses import Loss

__all__ = ["SparseApproximation", "SparseProcess"]

type SparseApproximation = Literal["VFE", "DTC"]

_CHARGES = {"VFE": 1.0, "DTC": 0.0}


@remembered(Xu="The inducing points.")
class SparseProcess(MarginalProcess):
    """A Gaussian process that its values at inducing points stand for.

    The part that all sparse models share.
    """

    def __init__(
        self,
        approx: SparseApproximation = "VFE",
        *,
        mean_func: Any = None,
        cov_func: Any = None,
    ) -> None:
        if approx not in _CHARGES:
            raise ValueError(
                f"approx must be 'VFE' or 'DTC', but it is {approx!r}. "
                "Choose one of the two; pm.gp.MarginalApprox has FITC, for Gaussian noise."
            )
        self.approx: SparseApproximation = approx
        super().__init__(mean_func=mean_func, cov_func=cov_func)

    def __add__(self, other: Any) -> Self:
        """Return the sum of two processes with the same approximation."""
        total: Self = super().__add__(other)
        if self.approx != other.approx:
            raise TypeError(
                f"The processes have the approximations {self.approx!r} and {other.approx!r}, "
                "which have no sum. Choose the same for both."
            )
        total.approx = self.approx
        return total

    _data_keys: ClassVar[tuple[str, ...]] = ("X", "Xu", "y")

    def _register(
        self,
        name: str,
        X: Any,
        y: Any,
        loss: Loss,
        approximation: Approximation,
        jitter: float,
        Xu: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Register the observed variable and remember what to condition on."""
        _check_approximation(approximation)
        self.Xu = self._points(Xu, X, names_of(X))
        return super()._register(name, X, y, loss, approximation, jitter, self.Xu, **kwargs)

    def _given(self, given: Mapping[str, Any] | None) -> Given:
        """Return what to condition on."""
        on = super()._given(given)
        if not isinstance(on.process, SparseProcess):
            raise TypeError(
                f"given['gp'] has no inducing points: it is of type {type(on.process).__name__}. "
                "Pass the sum of sparse processes of which this one is a component."
            )
        _check_approximation(on.approximation)
        return on._replace(Xu=self._points(on.Xu, on.X, on.columns))

    def _points(self, Xu: Any, X: Any, names: tuple[str, ...] | None) -> Any:
        """Return the inducing points as a tensor with as many columns as the inputs."""
        points = as_inputs("Xu", Xu, getattr(self.cov_func, "input_dim", None), names)
        columns = [_columns(points), _columns(as_inputs("X", X))]
        if None not in columns and columns[0] != columns[1]:
            raise ValueError(
                f"Xu has {columns[0]} columns, but X has {columns[1]}. "
                "Pass inducing points with the columns of the inputs."
            )
        return points

    def _specify(self, on: Given) -> SparseSpecification:
        """Return what a model is made of that is conditioned on these data."""
        assert isinstance(on.process, SparseProcess)
        assert isinstance(on.approximation, Laplace)
        columns, training = on.X.type.shape[1], on.process
        return SparseSpecification(
            prior=SparsePrior(
                training.mean_func,
                training.cov_func,
                columns,
                self.cov_func,
                self.mean_func,
                on.Xu,
                on.jitter,
            ),
            row_loss=RowLoss(on.loss, columns),
            approximation=on.approximation,
            jitter=on.jitter,
            label=type(self).__name__,
            columns=on.columns,
            charge=_CHARGES[training.approx],
        )


def _columns(x: Any) -> int | None:
    """Return the number of columns of a matrix, None if it is not known."""
    known = known_value(x)
    columns: int | None = x.type.shape[1] if known is None else known.shape[1]
    return columns


def _check_approximation(approximation: Approximation) -> None:
    """Raise unless there is an expression for an evidence on inducing points."""
    if not isinstance(approximation, Laplace):
        raise ValueError(
            f"approximation is {str(approximation)!r}, which sparse models do not have. "
            "Use 'laplace' here, or a model without inducing points."
        )
