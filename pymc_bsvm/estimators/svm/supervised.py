"""What the classical machines with targets share: C, the fit and the path."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Self

from sklearn.base import clone

from pymc_bsvm._numba import explained_numba
from pymc_bsvm._typing import Array
from pymc_bsvm._validation import as_parameter, positive
from pymc_bsvm.estimators.fitting import fitting
from pymc_bsvm.estimators.svm.base import ClassicalMachine, Rows, one_of
from pymc_bsvm.estimators.svm.machine import Machine
from pymc_bsvm.estimators.svm.nu import share
from pymc_bsvm.estimators.threads import few_threads
from pymc_bsvm.estimators.warning import warn

__all__ = ["SupervisedMachine"]


class SupervisedMachine(ClassicalMachine):
    """Base of `SVMRegressor` and `SVMClassifier`."""

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        loss: str,
        C: float = 1.0,
        epsilon: float = 0.1,
        nu: float | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(kernel, gamma=gamma, tol=tol, max_iter=max_iter)
        self.loss = loss
        self.C = C
        self.epsilon = epsilon
        self.nu = nu

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the support vectors.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs, or the Gram matrix for ``kernel="precomputed"``.
        y : array_like of shape (n,)
            Targets, or labels of any kind.
        sample_weight : array_like of shape (n,), optional
            How often each row counts; zero leaves it out.

        Returns
        -------
        Self
        """
        self._train(self._rows(X, y, sample_weight))
        return self

    @few_threads
    @explained_numba()
    def path(
        self, X: Any, y: Any, C_values: Iterable[float], sample_weight: Any = None
    ) -> list[Self]:
        """Fit the machine for several C, each from the solution for the one before.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        C_values : iterable of float
            Values of C, best in order.

        Returns
        -------
        list
            A fitted copy of the estimator for each value; after Ctrl-C, for those that were done.
        """
        if isinstance(C_values, str) or not isinstance(C_values, Iterable):
            raise ValueError(
                f"C_values must be a list of numbers, but it is {C_values!r}. "
                "Pass, for example, [0.1, 1.0, 10.0]."
            )
        common = clone(self)
        rows = common._rows(X, y, sample_weight)
        models: list[Self] = []
        starts: Sequence[Array] | None = None
        try:
            for C in C_values:
                model = copy.copy(common)
                model.C = C
                model._check()
                starts = [machine.a for machine in model._train(rows, starts)]
                models.append(model)
        except KeyboardInterrupt:
            if not models:
                raise
            warn(
                f"The path was interrupted after {len(models)} values of C, whose machines are "
                "kept. Go on from there for the others."
            )
        return models

    @abstractmethod
    def _train(self, rows: Rows, starts: Sequence[Array] | None = None) -> list[Machine]:
        """Solve for all machines, and set what was found."""

    @abstractmethod
    def _loss(self, C: Any) -> Any:
        """Return the loss with its parameters; C may be one for each row."""

    def _check_loss(self, losses: Sequence[str]) -> None:
        """Check the loss and its parameters, and that there is a nu form; the first loss has it."""
        one_of("loss", self.loss, losses)
        self._loss(as_parameter("C", self.C, positive))
        if self.nu is None:
            return
        as_parameter("nu", self.nu, share)
        if self.loss != losses[0]:
            raise ValueError(
                f"nu goes with loss={losses[0]!r} only, but loss is {self.loss!r}. "
                "Leave out one of the two."
            )
