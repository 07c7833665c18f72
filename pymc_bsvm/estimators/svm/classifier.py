"""Classical support vector classification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.class_weight import class_factors
from pymc_bsvm.estimators.inputs import explained, validated
from pymc_bsvm.estimators.svm.base import Rows, one_of
from pymc_bsvm.estimators.svm.machine import Machine, solve_machine
from pymc_bsvm.estimators.svm.multiclass import SCHEMES, Scheme
from pymc_bsvm.estimators.svm.nu import Margin
from pymc_bsvm.estimators.svm.supervised import SupervisedMachine
from pymc_bsvm.losses import Logistic, SoftMarginL1, SoftMarginL2, SoftMarginLe, Trigonometric
from pymc_bsvm.losses.base import ClassificationLoss
from pymc_bsvm.streamed.summary import Classes

__all__ = ["SVMClassifier"]

_LOSSES = ("hinge", "squared_hinge", "soft_le", "trigonometric", "logistic")
_ROUNDING = 1e-12  # relative; by which nu may exceed its bound


class SVMClassifier(ClassifierMixin, SupervisedMachine):
    r"""Classical support vector classification, certified by its duality gap.

    Minimises (B.1) of [Chu03]_, over functions with an offset that is not penalised:

    .. math::

        \sum_i w_i\, \ell(y_i f(x_i)) + \tfrac12 \lVert f - b \rVert^2

    The parameters are fixed, which is what a grid search or a path needs. `BayesianSVC` learns them
    instead, and has probabilities.

    Parameters
    ----------
    kernel, gamma, tol, max_iter
        As for `SVMRegressor`.
    loss : str, default "hinge"
        The loss of a margin z: "hinge", ``C max(1 - z, 0)``; "squared_hinge",
        ``C max(1 - z, 0)² / 2``; "soft_le", a hinge that bends over ``2 epsilon`` (B.4);
        "trigonometric", C times (5.7), which is the classifier of appendix H; "logistic",
        ``C log(1 + exp(-z))``.
    C : float, default 1.0
        What the loss is multiplied with. For "trigonometric" and "logistic", C times a kernel is as
        C times the loss: it is the amplitude :math:`\kappa_0` of the papers.
    epsilon : float, default 0.1
        Half width of the bend of "soft_le".
    nu : float, optional
        Share in (0, 1] that sets C, for "hinge": at most so many rows are within the margin, and at
        least so many are support vectors. It is at most twice the share of the smaller class.
    class_weight : dict, "balanced" or None, default None
        How often rows of each class count.
    multiclass : {"ovr", "dag"}, default "ovr"
        How more than two classes are told apart: each from the rest, by the largest function; or
        every pair, and in a prediction the first class from the last of those that are left, of
        which the loser goes, until one is left.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    support_ : ndarray of shape (n_support,)
        Rows that are a support vector of one machine at least.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Their inputs; for "precomputed" their Gram matrix.
    dual_coef_ : ndarray of shape (n_machines, n_support)
        Their signed duals in each machine, whose sums are zero. There is one machine for two
        classes; for more, one for each class, or one for each pair in the order of
        `itertools.combinations`, the second being the positive one.
    intercept_ : ndarray of shape (n_machines,)
        The offsets.
    objective_ : ndarray of shape (n_machines,)
        The minima that were found. With `nu`, less ``nu C sum(w)`` for the C that was found.
    duality_gap_ : float
        How far the objective of a machine may be above its minimum, the largest of all.
    converged_ : bool
        Whether all gaps are below their tolerance.
    n_iter_ : int
        Largest number of Newton steps.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    SVMRegressor : regression.
    BayesianSVC : hyperparameters by evidence, and probabilities.

    References
    ----------
    [Chu03]_, appendices B.1 and H; [PRML]_, section 7.1; [SSWB00]_ for nu.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pymc_bsvm.estimators import SVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVMClassifier(loss="trigonometric", C=15.0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _other = "BayesianSVC"

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        loss: str = "hinge",
        C: float = 1.0,
        epsilon: float = 0.1,
        nu: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        multiclass: str = "ovr",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(
            kernel,
            gamma=gamma,
            loss=loss,
            C=C,
            epsilon=epsilon,
            nu=nu,
            tol=tol,
            max_iter=max_iter,
        )
        self.class_weight = class_weight
        self.multiclass = multiclass

    _scheme: Scheme

    def decision_function(self, X: ArrayLike) -> Array:
        """Return how clearly rows belong to the classes.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            The function, positive for the second of two classes. For more classes, those of each
            against the rest; for ``multiclass="dag"``, the least margin with which the winner has
            won, and minus that with which each of the others has lost.
        """
        decisions = self._decisions(X)
        return decisions[:, 0] if decisions.shape[1] == 1 else self._scheme.scores(decisions)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the labels of new rows.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.

        Returns
        -------
        ndarray of shape (n,)
        """
        scores = self.decision_function(X)
        which = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[which])

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
            A fitted copy of the estimator for each value.

        Raises
        ------
        ValueError
            If there is a `nu`, which sets C.
        """
        if self.nu is not None:
            raise ValueError(
                f"path goes through values of C, which nu = {self.nu!r} sets. "
                "Pass nu=None, or fit for several nu one by one."
            )
        return super().path(X, y, C_values, sample_weight)

    def _check(self) -> None:
        """Check the parameters; those of the loss when it is made."""
        super()._check()
        self._check_loss(_LOSSES)
        one_of("multiclass", self.multiclass, SCHEMES)

    def _validated(self, X: Any, y: Any) -> tuple[Array, NDArray[Any]]:
        """Return inputs and labels as arrays."""
        X, y = validated(self, X, y, labels=True)
        with explained():
            check_classification_targets(y)
        return X, y

    def _weights(self, y: NDArray[Any], weight: Array) -> Array:
        """Return the weights of rows times those of their classes."""
        factors = class_factors(self.class_weight, Classes.of(y, weight))
        return weight if factors is None else weight * factors(y)

    def _loss(self, C: Any) -> tuple[ClassificationLoss, Any]:
        """Return the loss with its parameters, and what else it is multiplied with.

        C may be one for each row.
        """
        match self.loss:
            case "squared_hinge":
                return SoftMarginL2(C), 1.0
            case "soft_le":
                return SoftMarginLe(C, self.epsilon), 1.0
            case "trigonometric":
                return Trigonometric(), C
            case "logistic":
                return Logistic(), C
            case _:
                return SoftMarginL1(C), 1.0

    def _train(self, rows: Rows, starts: Sequence[Array] | None = None) -> list[Machine]:
        """Solve for all machines, and set what was found."""
        self.classes_, which = np.unique(rows.y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(
                f"y must have two classes at least, but it has 1 class: "
                f"{self.classes_.tolist()[0]!r}. Provide rows of another."
            )
        self._scheme = SCHEMES[self.multiclass](self.classes_.size)
        machines = [
            self._solve(rows, labels, None if starts is None else starts[k])
            for k, labels in enumerate(self._scheme.labels(which))
        ]
        self.dual_coef_ = self._keep(rows, machines)
        self.intercept_ = np.array([machine.offset for machine in machines])
        self.objective_ = np.array([machine.objective for machine in machines])
        return machines

    def _solve(self, rows: Rows, labels: Array, start: Array | None) -> Machine:
        """Solve for one machine; rows with the label zero are not its own."""
        own = np.flatnonzero(labels)
        whole = own.size == labels.size
        K, y = rows.K if whole else rows.K[np.ix_(own, own)], labels[own]
        if self.nu is None:
            loss, factor = self._loss(self.C * rows.weight[own])
            machine = solve_machine(
                *(K, y, loss),
                weight=np.broadcast_to(factor, own.shape),
                start=None if start is None else start[own],
                tol=self.tol,
                max_iter=self.max_iter,
            )
        else:
            machine = self._solve_nu(K, y, rows.weight[own])
        a = np.zeros(labels.size)
        a[own] = machine.a
        return machine._replace(a=a)

    def _solve_nu(self, K: Array, y: Array, weight: Array) -> Machine:
        """Solve for one machine with nu, and bring its margin to one."""
        assert self.nu is not None
        least = min(weight[y > 0.0].sum(), weight[y < 0.0].sum())
        if self.nu * weight.sum() > 2.0 * least * (1.0 + _ROUNDING):
            raise ValueError(
                f"nu must be at most {2.0 * least / weight.sum():.3g}, twice the share of the "
                f"smaller class, but it is {self.nu}. Pass a smaller nu, or balanced classes."
            )
        machine, level = Margin(K, y, weight, self.nu).solve(self.tol, self.max_iter)
        return machine.scaled(-1.0 / level)
