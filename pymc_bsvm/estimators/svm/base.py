"""What the classical machines share: parameters, rows, the kernel and predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import as_parameter, positive, whole_number
from pymc_bsvm.estimators.inputs import validated, validated_inputs, weights_of
from pymc_bsvm.estimators.kernels import Precomputed
from pymc_bsvm.estimators.kernels.precomputed import check_gram
from pymc_bsvm.estimators.keywords import GIVEN, Estimator
from pymc_bsvm.estimators.room import check_room
from pymc_bsvm.estimators.svm.gram import FixedKernel
from pymc_bsvm.estimators.svm.machine import Machine
from pymc_bsvm.estimators.warning import warn

__all__ = ["ClassicalMachine", "Rows", "one_of"]

_FEWER = "Fit fewer rows, or use BayesianSVR or BayesianSVC with inducing=500."


@dataclass(frozen=True)
class Rows:
    """The rows of a fit that have a weight, and their kernel matrix."""

    inputs: Array = field(repr=False)
    """As they were passed; of a Gram matrix, the rows and columns that are left."""
    y: NDArray[Any] = field(repr=False)
    weight: Array = field(repr=False)
    kept: NDArray[np.intp] = field(repr=False)
    """Where they are among all rows."""
    K: Array = field(repr=False)


class ClassicalMachine(Estimator):
    """Base of the classical machines."""

    _advice = GIVEN

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter

    _kernel: FixedKernel

    # ---- training ------------------------------------------------------------------------------

    def _check(self) -> None:
        """Check the parameters."""
        as_parameter("tol", self.tol, positive)
        whole_number("max_iter", self.max_iter)

    def _validated(self, X: Any, y: Any) -> tuple[Array, NDArray[Any]]:
        """Return inputs and targets as arrays."""
        return validated(self, X, y)

    def _weights(self, y: NDArray[Any], weight: Array) -> Array:
        """Return how often rows count, by their targets too."""
        return weight

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Check parameters and data, and leave out rows of weight zero."""
        self._check()
        X, y = self._validated(X, y)
        weight = np.ones(X.shape[0])
        if sample_weight is not None:
            weight = weights_of(sample_weight, X)
        weight = self._weights(y, weight)
        kept = np.flatnonzero(weight > 0.0)
        if not kept.size:
            raise ValueError(
                "All rows have the weight zero, so that nothing is left to fit. "
                "Pass a positive weight for some rows."
            )
        weight = weight[kept]
        self._kernel = FixedKernel.of(self.kernel, self.gamma, X[kept], weight)
        if self._pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed Gram matrix must be square, but its shape is {X.shape}. "
                "Pass the covariances of the training rows with each other."
            )
        if self._pairwise:
            check_gram(X)
        check_room(kept.size, 2.0, _FEWER)
        inputs = self._kernel.take(X, kept)
        return Rows(inputs, y[kept], weight, kept, self._kernel.matrix(inputs))

    def _keep(self, rows: Rows, machines: Sequence[Machine]) -> Array:
        """Set what all machines report, and return the duals of the support vectors."""
        duals = np.stack([machine.a for machine in machines])
        support = np.flatnonzero(duals.any(axis=0))
        self.support_ = rows.kept[support]
        self.support_vectors_ = self._kernel.take(rows.inputs, support)
        self.duality_gap_ = max(machine.gap for machine in machines)
        self.n_iter_ = max(machine.steps for machine in machines)
        self.converged_ = all(machine.certified(self.tol) for machine in machines)
        if not self.converged_:
            warn(
                f"The duality gap is {self.duality_gap_:.3g}, which is above the tolerance. "
                "Raise max_iter or tol, or make C less extreme."
            )
        return duals[:, support]

    # ---- prediction ----------------------------------------------------------------------------

    def _decisions(self, X: Any) -> Array:
        """Return the function of each machine at new rows, of shape (n, n_machines)."""
        check_is_fitted(self)
        X = validated_inputs(self, X)
        new = X[:, self.support_] if self._pairwise else X
        cross = self._kernel.cross(self.support_vectors_, new)
        return np.asarray(cross @ np.atleast_2d(self.dual_coef_).T + self.intercept_)

    @property
    def _pairwise(self) -> bool:
        """Whether rows of the fit are those of a Gram matrix."""
        return isinstance(self._kernel.kernel, Precomputed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        named = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = named or isinstance(self.kernel, Precomputed)
        return tags


def one_of(name: str, value: Any, known: Iterable[str]) -> None:
    """Raise ``ValueError`` unless a setting is one of the known names."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, known))}, but it is {value!r}. "
            "Pass one of these."
        )
