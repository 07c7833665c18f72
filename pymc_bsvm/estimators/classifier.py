"""Bayesian support vector classification with the habits of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.base import one_or_all
from pymc_bsvm.estimators.class_weight import class_factors
from pymc_bsvm.estimators.data import Data, Held
from pymc_bsvm.estimators.fitting import fitting
from pymc_bsvm.estimators.inputs import explained, weights_of
from pymc_bsvm.estimators.kernels.precomputed import UnknownVariance
from pymc_bsvm.estimators.likelihood import classification_likelihood
from pymc_bsvm.estimators.odds import averaged_log_odds
from pymc_bsvm.estimators.recursive import RecursiveClassifier
from pymc_bsvm.estimators.sharpness import log_probabilities, sharpness_of
from pymc_bsvm.estimators.trained import Trained, choices_of, table_of
from pymc_bsvm.estimators.tree import tree_of
from pymc_bsvm.evidence.approximation import Approximation
from pymc_bsvm.evidence.prediction import ClassPredictive
from pymc_bsvm.losses.base import ClassificationLoss
from pymc_bsvm.streamed.scaled import ByClass, OneAgainstRest
from pymc_bsvm.streamed.summary import Classes

__all__ = ["BayesianSVC"]


class BayesianSVC(ClassifierMixin, RecursiveClassifier):
    """Support vector classification with hyperparameters by evidence and class probabilities.

    A Gaussian process with the trigonometric likelihood: a sparse MAP estimate, and probabilities
    that know how far a row is from the data. The hyperparameters maximise an approximation of the
    evidence. More than two classes are told apart one against the rest.

    Parameters
    ----------
    kernel, ard, inducing, standardize, restarts, full_bayes, sampler
        As for `BayesianSVR`.
    tol, max_iter, random_state, progressbar, verbose
        As for `BayesianSVR`.
    loss : {"trigonometric", "logistic", "probit"} or loss object, default "trigonometric"
        The link between the function and the probabilities. The first has a sparse MAP. The
        parameters of an object are kept: they scale with the amplitude, which is learned.
    approximation : str or Approximation, default "auto"
        How the evidence and the posterior are approximated: a name, or an object of
        `pymc_bsvm.approximations`. "auto" is expectation propagation up to 2000 rows, with a weak
        log-normal prior of the hyperparameters about their starts, and Laplace's method beyond, on
        inducing points, or where a row counts less than once. Only with the latter do predictions
        need the support vectors alone. "ep" with inducing points has that prior too;
        there an ``EP`` has its tolerance and its largest number of sweeps, without its ``engine``
        and its ``on_failure``: an end above the tolerance is a `ConvergenceWarning`.
    offset : float, default 100.0
        Variance of the constant in (5.13) of [Chu03]_; the margin of the likelihood is one.
    calibration : {"auto", "model"}, default "auto"
        Whether the odds are raised to a power, `sharpness_`, that is fitted after the
        hyperparameters to the probability of each label given all the others. "auto" does so if
        that gains more than a nat. "model" leaves the probabilities as the model has them.
        Predicted labels, `log_evidence_` and `to_pymc` do not depend on it.
    class_weight : dict, "balanced" or None, default None
        How often rows of each class count.
    n_jobs : int or None, default None
        Number of classes, or of starts for two classes, at a time, through joblib.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    hyperparameters_ : list of dict
        As for `BayesianSVR`, one for each machine: ``hyperparameters_[0]`` for two classes, or one
        for each class if there are more.
    log_evidence_ : float, or list of float
        Log evidence of the labels, in nats; a list with one element for each class if there are
        more than two. So are the following.
    support_ : ndarray of shape (n_support,)
        Rows that are a support vector of one machine at least.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Their inputs; not with inducing points.
    inducing_points_ : ndarray of shape (n_points, n_features), or list of ndarray
        The inducing points, if there are any.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Their signed duals in each machine.
    relevance_ : ndarray of shape (n_features,)
        Standard deviation of a column in units of its length-scale, for ``ard=True``; the largest
        over the classes.
    feature_importances_ : ndarray of shape (n_features,)
        The relevances divided by their sum.
    sharpness_ : float
        The power of the odds, one for all classes: above one where the model is timid.
    approximation_ : Approximation
        How the evidence was approximated.
    gap_ : float
        Largest duality gap of the MAP estimates, in nats; nan as for `BayesianSVR`.
    residual_ : float
        Largest residual of the approximation's equations; for Laplace's method it is `gap_`.
    n_iter_ : int
        Largest number of evaluations of the evidence by a best run.
    converged_ : bool
        Whether every search converged: it neither met `max_iter` nor stalled.
    at_bound_ : dict, or list of dict
        As for `BayesianSVR`. Separable classes have no best amplitude below its upper bound.
    restarts_ : DataFrame, or list of DataFrame
        One row for each start, the best first.
    choices_ : DataFrame, or list of DataFrame
        The models that were tried, with and without `ard`, and which was chosen.
    datatree_ : DataTree, or list of DataTree
        The hyperparameters (or their draws) as ArviZ knows them.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    BayesianSVR : regression.
    pymc_bsvm.gp.BTSVC : the same model inside PyMC.

    References
    ----------
    [Chu03]_, chapter 5; [CKO03]_.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pymc_bsvm.estimators import BayesianSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianSVC().fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _other = "SVMClassifier"

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        ard: bool | str = False,
        loss: str | ClassificationLoss = "trigonometric",
        approximation: str | Approximation = "auto",
        inducing: int | str | None = None,
        offset: float = 100.0,
        standardize: bool = True,
        calibration: str = "auto",
        class_weight: Mapping[Any, float] | str | None = None,
        restarts: int = 1,
        full_bayes: bool = False,
        sampler: dict[str, Any] | None = None,
        tol: float = 0.01,
        max_iter: int = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
        progressbar: bool = False,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernel,
            ard=ard,
            approximation=approximation,
            inducing=inducing,
            offset=offset,
            standardize=standardize,
            restarts=restarts,
            full_bayes=full_bayes,
            sampler=sampler,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            n_jobs=n_jobs,
            progressbar=progressbar,
            verbose=verbose,
        )
        self.loss = loss
        self.calibration = calibration
        self.class_weight = class_weight

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the hyperparameters and the support vectors of each machine.

        Parameters
        ----------
        X : array_like of shape (n, d), or callable
            As for `BayesianSVR.fit`.
        y : array_like of shape (n,)
            Labels of any kind, of two classes at least, unless X yields them.
        sample_weight : array_like of shape (n,), optional
            How often each row counts; zero leaves it out.

        Returns
        -------
        BayesianSVC
            Itself.
        """
        if self.calibration not in ("auto", "model"):
            raise ValueError(
                f"calibration must be 'auto' or 'model', but it is {self.calibration!r}. "
                "Pass one of the two."
            )
        data = self._data(X, y, sample_weight, labels=True)
        self.classes_ = data.labels
        count = self.classes_.size
        if count < 2:
            raise ValueError(
                f"y must have two classes at least, but it has 1 class: "
                f"{self.classes_.tolist()[0]!r}. "
                "Provide rows of another."
            )
        likelihood = classification_likelihood(self.loss)
        chosen = self.classes_[1:] if count == 2 else self.classes_
        generators = self._generator().spawn(len(chosen))
        trained: list[Trained] = []
        together = count > 2 and isinstance(data, Held)  # blocks are shared out, not classes
        settings = {"n_jobs": 1 if together else self.n_jobs}
        parallel = Parallel(self.n_jobs if together else 1, return_as="generator")
        for each in parallel(
            delayed(self._train)(
                likelihood, data.given(OneAgainstRest(label)), generator, **settings
            )
            for label, generator in zip(chosen, generators, strict=True)
        ):
            trained.append(each)
            if each.found.interrupted and len(trained) < len(chosen):
                raise KeyboardInterrupt  # nothing is known of the other classes
        self._trained = trained
        self.sharpness_ = self._sharpness(data)
        machines = [each.machine for each in trained]
        support = np.unique(np.concatenate([machine.support for machine in machines]))
        self.support_ = data.places(support)
        self._locate(machines, data.inputs)
        self.dual_coef_ = np.zeros((len(machines), support.size))
        for k, machine in enumerate(machines):
            self.dual_coef_[k, np.searchsorted(support, machine.support)] = machine.dual
        self.hyperparameters_ = [self._named(m, 1.0) for m in machines]
        self.log_evidence_ = one_or_all([machine.log_evidence for machine in machines])
        self.at_bound_ = one_or_all([each.at_bound for each in trained])
        self.restarts_ = one_or_all([table_of(each) for each in trained])
        self.choices_ = one_or_all([choices_of(each) for each in trained])
        self.approximation_ = machines[0].blueprint.approximation
        self.gap_ = max(machine.gap for machine in machines)
        self.residual_ = max(machine.residual for machine in machines)
        self.n_iter_ = max(each.found.best.evaluations for each in trained)
        self.converged_ = all(each.converged for each in trained)
        self._relevance(machines, data.spread)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return how clearly rows belong to the classes.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Log odds of the second of two classes, or of each of several against the rest, in nats.
        """
        rows = self._rows(X)
        odds = [_log_odds(each, rows) for each in self._trained]
        return self.sharpness_ * (odds[0] if len(odds) == 1 else np.stack(odds, axis=1))

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return the log probabilities of the classes, of shape (n, n_classes).

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.
        """
        check_is_fitted(self)
        return log_probabilities(self.decision_function(X))

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities of the classes, of shape (n, n_classes).

        For more than two classes each has a machine that knows the class from the rest. Given that
        just one of these independent machines says yes, class k has the probability

            p_k / (1 - p_k) / sum_j p_j / (1 - p_j)

        with the probability p_k of its machine, whose odds have the power `sharpness_`. With
        ``full_bayes=True`` these are averages over the draws already: draws of different machines
        are independent, so that the probability that just one says yes averages to this formula at
        the averages.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: ArrayLike) -> Any:
        """Return the most probable labels.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.

        Returns
        -------
        ndarray of shape (n,)
            For several classes from a Gram matrix that does not hold the variances of new rows,
            the classes of the highest latent means.
        """
        check_is_fitted(self)
        if len(self._trained) == 1 and len(self._trained[0].members) == 1:
            positive = self._trained[0].machine.mean(self._rows(X)) > 0.0  # needs no variance
            return self.classes_[positive.astype(int)]
        try:
            decision = self.decision_function(X)
        except UnknownVariance:
            means = [each.machine.mean(self._rows(X)) for each in self._trained]
            return self.classes_[np.argmax(means, axis=0)]
        if decision.ndim == 1:
            return self.classes_[(decision > 0.0).astype(int)]
        return self.classes_[decision.argmax(axis=1)]

    @property
    def datatree_(self) -> Any:
        """The hyperparameters as ArviZ knows them."""
        check_is_fitted(self)
        return one_or_all([tree_of(each) for each in self._trained])

    def to_pymc(self, label: Any = None) -> tuple[Any, Any]:
        """Return the PyMC model of a machine, in its standardised units.

        It needs all training rows, which pickles and other copies do not hold.

        Parameters
        ----------
        label : optional
            The class that is told from the rest; not needed for two classes.

        Returns
        -------
        model : pymc.Model
            With log-normal priors of the hyperparameters, and the observed labels ``y``.
        gp : pymc_bsvm.gp.BTSVC
            The process, for `conditional` and `predict_proba`.
        """
        check_is_fitted(self)
        if len(self._trained) == 1:
            return self._trained[0].to_pymc()
        places = np.flatnonzero(self.classes_ == label)
        if not places.size:
            raise ValueError(
                f"label must be one of the classes, but it is {label!r}. "
                f"Pass one of {list(self.classes_)}."
            )
        return self._trained[int(places[0])].to_pymc()

    def _weights(self, targets: Any, sample_weight: Any) -> Any:
        """Return the weights of rows times those of their classes; None if there are neither."""
        with explained():
            check_classification_targets(targets)
        if self.class_weight is None:
            return sample_weight
        y = np.asarray(targets)
        weight = np.ones(y.size)
        if sample_weight is not None:
            weight = weights_of(sample_weight, y)
        classes = Classes.of(y, weight)
        factors = self._factors(classes)
        return weight if factors is None else weight * factors(y)

    def _sharpness(self, data: Data) -> float:
        """Return the power of the odds."""
        if self.calibration == "model":
            return 1.0
        labels = np.searchsorted(self.classes_, data.y) if isinstance(data, Held) else None
        return sharpness_of(self._trained, labels)

    def _factors(self, classes: Classes) -> ByClass | None:
        """Return how often rows of each class count; None if all do once."""
        return class_factors(self.class_weight, classes)


def _log_odds(trained: Trained, rows: Array) -> Array:
    """Return the log odds of the label 1, averaged over the members."""
    return averaged_log_odds(
        [
            ClassPredictive(*machine.moments(rows), machine.loss)  # type: ignore[arg-type]
            for machine in trained.members
        ]
    )
