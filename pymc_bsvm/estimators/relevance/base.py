"""What the relevance vector regressor and classifier share: parameters, data and predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import as_parameter, flag, positive, whole_number
from pymc_bsvm.estimators.inputs import validated_inputs
from pymc_bsvm.estimators.kernels import Kernel, Precomputed, kernel_of
from pymc_bsvm.estimators.kernels.precomputed import check_gram
from pymc_bsvm.estimators.kernels.values import values_of
from pymc_bsvm.estimators.keywords import BY_NAME, Estimator
from pymc_bsvm.estimators.relevance.dictionary import Dictionary
from pymc_bsvm.estimators.relevance.machine import Variance
from pymc_bsvm.estimators.scale import Scale
from pymc_bsvm.estimators.warning import warn

__all__ = ["RelevanceVectorMachine"]


class RelevanceVectorMachine(Estimator):
    """Base of the estimators; see `RelevanceVectorRegressor` and `RelevanceVectorClassifier`."""

    _advice = BY_NAME

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        hyperparameters: Mapping[str, Any] | None = None,
        bias: bool = True,
        variance: Variance = "relevance",
        standardize: bool = True,
        tol: float,
        max_iter: int = 10_000,
    ) -> None:
        self.kernel = kernel
        self.hyperparameters = hyperparameters
        self.bias = bias
        self.variance = variance
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter

    _scale: Scale
    _kind: Variance

    def _check(self) -> Kernel:
        """Check the parameters, and return the kernel."""
        for name in ("bias", "standardize"):
            flag(name, getattr(self, name))
        if self.variance not in ("relevance", "full"):
            raise ValueError(
                f"variance must be 'relevance' or 'full', but it is {self.variance!r}. "
                "Choose one of the two."
            )
        as_parameter("tol", self.tol, positive)
        whole_number("max_iter", self.max_iter)
        return kernel_of(self.kernel)

    def _dictionary(self, X: Array) -> Dictionary:
        """Return the columns of the fit, and set the scale of the inputs."""
        kernel = self._check()
        self._kind = self.variance
        scaled = self.standardize and not isinstance(kernel, Precomputed)
        self._scale = Scale.of(X, None) if scaled else Scale.none(X.shape[1])
        if isinstance(kernel, Precomputed):
            check_gram(X)
        values = values_of(kernel, X.shape[1], self.hyperparameters)
        return Dictionary(kernel, values, self._scale(X), bool(self.bias))

    def _rows(self, X: Any) -> Array:
        """Check new rows and bring them into the units of the fit."""
        check_is_fitted(self)
        return self._scale(validated_inputs(self, X))

    def _warn(self) -> None:
        """Warn of a search that was cut short."""
        if not self.converged_:
            warn(
                f"The search ended at max_iter={self.max_iter} while there was more to gain than "
                "tol. Raise max_iter."
            )

    converged_: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        named = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = named or isinstance(self.kernel, Precomputed)
        return tags
