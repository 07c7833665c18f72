"""What the on-line regressor and classifier share: parameters, data and reports."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import Interval, as_parameter, positive, whole_number
from pymc_bsvm.estimators.base import one_or_all
from pymc_bsvm.estimators.inputs import validated_inputs
from pymc_bsvm.estimators.kernels import Precomputed, kernel_of
from pymc_bsvm.estimators.kernels.values import values_of
from pymc_bsvm.estimators.keywords import BY_NAME, Estimator
from pymc_bsvm.estimators.online.basis import Basis
from pymc_bsvm.estimators.online.machine import OnlineMachine
from pymc_bsvm.estimators.warning import warn
from pymc_bsvm.losses import Loss
from pymc_bsvm.streamed.block import Block

__all__ = ["OnlineEstimator"]

_NOT_NEGATIVE = Interval(0.0, includes_low=True)
_SHARE = Interval(1e-8, 1.0, includes_low=True)  # below, rounding decides


class OnlineEstimator(Estimator):
    """Base of the estimators; see `OnlineSVR` and `OnlineSVC`."""

    _advice = BY_NAME

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        hyperparameters: Mapping[str, Any] | None = None,
        offset: float = 100.0,
        max_basis: int | None = 100,
        novelty: float = 1e-6,
        n_sweeps: int = 1,
        tol: float = 1e-6,
    ) -> None:
        self.kernel = kernel
        self.hyperparameters = hyperparameters
        self.offset = offset
        self.max_basis = max_basis
        self.novelty = novelty
        self.n_sweeps = n_sweeps
        self.tol = tol

    _machines: list[OnlineMachine]

    # ---- training ------------------------------------------------------------------------------

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss with its parameters."""

    def _begin(self, d: int, count: int) -> None:
        """Check the parameters, and set machines that have seen no row of d columns."""
        kernel = kernel_of(self.kernel)
        if isinstance(kernel, Precomputed):
            raise ValueError(
                "kernel must be a function of rows, of which some are kept, but it is "
                f"{self.kernel!r}. Pass the kernel that the matrix is computed with."
            )
        values = values_of(kernel, d, self.hyperparameters)
        offset = as_parameter("offset", self.offset, _NOT_NEGATIVE)
        most = math.inf if self.max_basis is None else whole_number("max_basis", self.max_basis)
        whole_number("n_sweeps", self.n_sweeps)
        as_parameter("tol", self.tol, positive)
        novelty = as_parameter("novelty", self.novelty, _SHARE)
        basis = Basis.nothing(kernel, values, offset, d)
        self._machines = count * [OnlineMachine(self._loss(), most, novelty, basis)]

    def _learn(self, X: Array, targets: list[Array], n_sweeps: int) -> None:
        """Learn from rows, with the targets of each machine, and set what they report."""
        machines, weight = [], np.ones(len(X))
        for machine, y in zip(self._machines, targets, strict=True):
            rows = Block(X, y, weight)
            after, sites = machine.learned(rows)
            if n_sweeps > 1:
                after = after.swept(rows, sites, float(self.tol), n_sweeps - 1)
            machines.append(after)
        self._machines = machines
        self.loss_ = machines[0].loss
        self.basis_vectors_ = one_or_all([each.basis.Z for each in machines])
        self.dual_coef_ = one_or_all([each.dual for each in machines])
        self.intercept_ = one_or_all([each.intercept for each in machines])
        self.log_evidence_ = one_or_all([each.log_evidence for each in machines])
        self.sequential_log_evidence_ = one_or_all(
            [each.sequential_log_evidence for each in machines]
        )
        self.residual_ = max(each.residual for each in machines)
        self.n_iter_ = max(each.n_iter for each in machines)
        self.converged_ = all(each.residual <= self.tol for each in machines)
        if n_sweeps > 1 and not self.converged_:
            warn(
                f"The residual is {self.residual_:.3g} after n_sweeps={n_sweeps} sweeps, which is "
                "above the tolerance. Raise n_sweeps or tol."
            )

    # ---- prediction ----------------------------------------------------------------------------

    def _rows(self, X: Any) -> Array:
        """Check new rows."""
        check_is_fitted(self)
        return validated_inputs(self, X)
