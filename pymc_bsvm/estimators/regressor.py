"""Bayesian support vector regression with the habits of scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import as_parameter, positive, whole_number
from pymc_bsvm.estimators.fitting import fitting
from pymc_bsvm.estimators.likelihood import (
    Likelihood,
    betas_of,
    noise_in,
    regression_likelihood,
    silf_likelihood,
)
from pymc_bsvm.estimators.predictions import RegressionPredictions
from pymc_bsvm.estimators.recursive import RecursiveRegressor
from pymc_bsvm.estimators.scale import Scale
from pymc_bsvm.estimators.search import Move
from pymc_bsvm.estimators.trained import choices_of, table_of
from pymc_bsvm.estimators.tree import tree_of
from pymc_bsvm.evidence.approximation import Approximation
from pymc_bsvm.evidence.mixture import RegressionMixture
from pymc_bsvm.evidence.noise import NoiseKind, check_kind
from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.losses.base import RegressionLoss

__all__ = ["BayesianSVR"]


class BayesianSVR(RegressionPredictions, RecursiveRegressor):
    """Support vector regression with hyperparameters by evidence and error bars.

    A Gaussian process with the soft insensitive loss: sparse where its tube has a flat part, robust
    to outliers, and with a predictive distribution for each row. The hyperparameters maximise
    an approximation of the evidence; there is no grid and no validation set.

    Parameters
    ----------
    kernel : str, Kernel, pm.gp.cov.Covariance or callable, default "rbf"
        "rbf", "matern32", "matern52", "linear", "poly", "periodic", "bspline", "dirichlet",
        "arcsine" or "precomputed"; a sum of objects of `pymc_bsvm.estimators.kernels`; or a fixed
        covariance function, of which the amplitude alone is learned.
    ard : bool or "auto", default False
        Whether each column has a length-scale of its own, for kernels by name. "auto" tries both
        and keeps the one with the higher evidence, less a nat for each hyperparameter.
    loss : str or loss object, default "silf"
        What the noise is like: "silf", the soft insensitive loss; "huber", which is not sparse;
        "laplace", that of Laplace noise; "epsilon_insensitive"; or, under either of two names,
        "squared" or "gaussian", that of Gaussian process regression. Of an object in the units of
        the data, such as ``losses.SILF(C=10, epsilon=0.1)``, the parameters on the positive half
        line are where the search starts; those on an interval, such as ``beta`` or the level of a
        quantile, are kept.
    beta : float, "auto", "evidence" or "papers", default "auto"
        Share of the tube over which "silf" bends, in (0, 1]. "papers" is 0.3 below 2000 rows, 0.1
        up to 4000 and 0.05 beyond, as in [Chu03]_. "auto", which is "evidence" too, tries 1,
        Huber's loss, and that share, and keeps what has the higher evidence, above 500 rows of the
        whole kernel Huber's loss unless the other gains a nat; with 1 all rows whose residual is
        not zero are support vectors.
    max_epsilon : float, default 0.5
        Largest half width of the tube, in standard deviations of the targets. A wider tube can hold
        nearly all targets of noise that is almost uniform, whatever the function is: the evidence
        may then prefer a function that explains nothing.
    noise : {"auto", "loss", "student", "contaminated", "model"}, default "auto"
        Noise of the predictions. It is fitted after the hyperparameters, to the density of each
        target given all the others: in the family of the loss, of Student's t distribution, as
        Gaussian noise that is wider in a share of the rows, "contaminated", or as the best of the
        three. "model" leaves it as the evidence found it, `loss_`. The function, `log_evidence_`
        and `to_pymc` do not depend on it.
    approximation : str or Approximation, default "auto"
        How the evidence and the posterior are approximated: a name, or an object of
        `pymc_bsvm.approximations`. "auto" is Laplace's method, or expectation propagation for a
        loss with a kink, whose Laplace evidence is not defined; on inducing points such a loss
        needs "ep". There an ``EP`` has its tolerance and its largest number of sweeps, without its
        ``engine`` and its ``on_failure``: an end above the tolerance is a `ConvergenceWarning`.
    inducing : int, "auto" or None, default None
        Number of inducing points, for more rows than a kernel matrix has room for: the function is
        learned at these points from all rows, block by block. Time and memory are linear in the
        number of rows. None is the whole kernel matrix. So is "auto" up to 2000
        rows; for more it doubles the points, from 125 to 1000 at most, until that adds less than
        ``0.1 tol`` nats for each row to the evidence.
    offset : float, default 100.0
        Variance of the constant in (4.3) of [Chu03]_, in units of the targets' variance.
    standardize : bool, default True
        Whether columns and targets are brought to mean zero and variance one inside. What is
        reported is in the units of the data.
    restarts : int, default 1
        Number of searches that go on to all rows. The search begins at the best points of a small
        grid, with a narrow and with a wide tube; each restart after the first adds a random start.
    full_bayes : bool, default False
        Whether predictions are averaged over draws of the hyperparameters by NUTS.
    sampler : dict, optional
        Arguments of `pymc.sample` for `full_bayes`, such as ``{"draws": 500}``. By default PyMC's
        NUTS calls the evaluations of the fit. Arguments for which it does not, such as
        ``nuts_sampler="nutpie"``, ``backend`` or ``init``, compile the model of `to_pymc`, which
        takes one to three minutes the first time.
    tol : float, default 0.01
        Gain of an iteration of the search, in nats of log evidence, below which it stops.
    max_iter : int, default 200
        Largest number of iterations of the search, for each start.
    random_state : int, RandomState or None, default None
        Seed of the starts beyond the first, of the share of the rows on which a search with more
        than 500 rows begins, and of the sampler.
    n_jobs : int or None, default None
        Number of starts at a time, through joblib.
    progressbar : bool, default False
        Show the progress.
    verbose : int, default 0
        Above zero, say in a line what each start and stage of the search found, by the logger
        "pymc_bsvm"; to the standard error if nobody listens to it. Above one, of each pass over
        the rows of inducing points, too.

    Attributes
    ----------
    hyperparameters_ : list of dict
        One dict, ``hyperparameters_[0]``, as there is one machine. In the units of the data: those
        of the loss, such as "C" and "epsilon", "eta", and for kernels that have them "ls" and
        "period", arrays of one number for each column.
    loss_ : RegressionLoss
        The loss of the model with its parameters, in the units of the data.
    noise_ : RegressionLoss, StudentNoise or ContaminatedNoise
        The noise of the predictions, in the units of the data.
    choices_ : DataFrame
        The models and numbers of inducing points that were tried, in the units of the machine, and
        which was chosen. Above 500 rows a share of them decides, unless the kernel matrix has a low
        rank, so that all rows cost little.
    log_evidence_ : float
        Log evidence of the targets, in nats.
    support_ : ndarray of shape (n_support,)
        Rows of the support vectors.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Their inputs; not with inducing points, of which predictions are made instead.
    inducing_points_ : ndarray of shape (n_points, n_features)
        The inducing points, if there are any: rows that say most of all others.
    dual_coef_ : ndarray of shape (n_support,)
        Their signed duals.
    free_ : ndarray of shape (n_support,)
        Which of them are inside the bend of the loss; the others are bound.
    relevance_ : ndarray of shape (n_features,)
        Standard deviation of a column in units of its length-scale, for ``ard=True``; zero for a
        constant column.
    feature_importances_ : ndarray of shape (n_features,)
        The relevances divided by their sum, for `sklearn.feature_selection.SelectFromModel`.
    beta_ : float or None
        The share that was used; None for a loss without one.
    approximation_ : Approximation
        How the evidence was approximated.
    gap_ : float
        Duality gap of the MAP estimate, in nats: a certificate of optimality. It is nan for
        expectation propagation on inducing points, which has no MAP estimate; then all rows are
        support vectors, with their expected duals.
    residual_ : float
        Residual of the approximation's equations; for Laplace's method it is `gap_`.
    n_iter_ : int
        Number of evaluations of the evidence by the best run.
    converged_ : bool
        Whether the best run converged: it neither met `max_iter` nor stalled.
    at_bound_ : dict
        Hyperparameters that ended at a bound of the search, with "lower" or "upper". Many do no
        harm: a length-scale at its upper bound is a column that does not matter, an amplitude at
        its lower one a term that vanishes. Where the evidence still rises beyond the bound, by more
        than a nat for each factor of e, there is a `ConvergenceWarning`. There is none for those of
        the noise: their bounds follow narrow noise down to some millionths of the targets' standard
        deviation, and error bars at the end of that are as wide as that.
    restarts_ : DataFrame
        One row for each search, the best first, in the units of the machine. Its ``objective`` is
        what was maximised, the log evidence of the targets in the units of the machine.
    datatree_ : DataTree
        The hyperparameters (or their draws) as ArviZ knows them.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    BayesianSVC : classification.
    pymc_bsvm.gp.BSVR : the same model inside PyMC.

    References
    ----------
    [Chu03]_, chapter 4; [CKO04]_.

    Examples
    --------
    >>> from pymc_bsvm.datasets import sinc
    >>> from pymc_bsvm.estimators import BayesianSVR
    >>> X, y = sinc(100, outliers=0.1)
    >>> model = BayesianSVR().fit(X, y)
    >>> mean, std = model.predict(X[:3], return_std=True)
    >>> low, high = model.predict_interval(X[:3], coverage=0.9)
    """

    _other = "SVMRegressor"

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        ard: bool | str = False,
        loss: str | RegressionLoss = "silf",
        beta: float | str = "auto",
        max_epsilon: float = 0.5,
        noise: NoiseKind = "auto",
        approximation: str | Approximation = "auto",
        inducing: int | str | None = None,
        offset: float = 100.0,
        standardize: bool = True,
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
        self.beta = beta
        self.max_epsilon = max_epsilon
        self.noise = noise

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the hyperparameters and the support vectors.

        Parameters
        ----------
        X : array_like of shape (n, d), or callable
            Inputs, or the Gram matrix for ``kernel="precomputed"``. With inducing points also a
            `dask.array`, or a function that yields blocks ``(X, y)`` or ``(X, y, sample_weight)``
            afresh each time it is called.
        y : array_like of shape (n,)
            Targets, unless X yields them.
        sample_weight : array_like of shape (n,), optional
            How often each row counts; zero leaves it out.

        Returns
        -------
        BayesianSVR
            Itself.
        """
        data = self._data(X, y, sample_weight)
        self._target = data.target_scale() if self.standardize else Scale.none(1)
        unit = float(self._target.spread[0])
        rng = self._generator()
        check_kind(self.noise)
        likelihoods = self._likelihoods(unit, data.n, data.target_spread(self._target))
        if data.inputs is not None:  # with the whole kernel, Huber's loss takes few Newton steps:
            likelihoods.reverse()  # all starts climb its evidence, which has no ripples
        first, *others = likelihoods
        moves = [_to_likelihood(other) for other in others]
        trained = self._train(first, data.given(self._target), rng, self.n_jobs, moves)
        self._trained = trained
        assert trained.objective is not None
        machine = trained.machine
        hindsight = trained.objective.hindsight(trained.members)
        own = self.noise == "model"
        self._noise = noise_in(1.0, machine.loss) if own else hindsight.noise(self.noise)
        hindsight.warn_of_wide_tube()
        self.loss_ = noise_in(unit, machine.loss)
        self.noise_ = self._noise.scaled(unit)
        self.beta_ = getattr(self.loss_, "beta", None)
        self.log_evidence_ = machine.log_evidence - data.count * np.log(unit)
        self.hyperparameters_ = [self._named(machine, unit)]
        self.support_ = data.places(machine.support)
        self._locate([machine], data.inputs)
        self.dual_coef_ = machine.dual / unit
        self.free_ = machine.free
        self.approximation_ = machine.blueprint.approximation
        self.gap_ = machine.gap
        self.residual_ = machine.residual
        self.n_iter_ = trained.found.best.evaluations
        self.converged_ = trained.converged
        self.at_bound_ = trained.at_bound
        self.restarts_ = table_of(trained)
        self.choices_ = choices_of(trained)
        self._relevance([machine], data.spread)
        return self

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draw targets, with the correlations of the function between rows and with noise.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.
        n_samples : int, default 1
            Number of draws.
        random_state : int, RandomState or None, default 0
            Seed.

        Returns
        -------
        ndarray of shape (n, n_samples)
        """
        rows = self._rows(X)
        if self._pairwise:
            raise ValueError(
                "A precomputed Gram matrix does not hold the covariances of new rows with each "
                "other. Pass the kernel itself to draw targets."
            )
        whole_number("n_samples", n_samples)
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng(seed)
        members = self._trained.members
        result = np.empty((rows.shape[0], n_samples))
        for k, chosen in enumerate(rng.integers(len(members), size=n_samples)):
            machine = members[chosen]
            mean, covariance = machine.joint(rows)
            f = rng.multivariate_normal(mean, covariance, method="eigh")
            result[:, k] = f + self._noise.draw(rng, f.shape)
        return np.asarray(self._target.centre[0] + self._target.spread[0] * result)

    @property
    def datatree_(self) -> Any:
        """The hyperparameters in the units of the machine, as ArviZ knows them."""
        check_is_fitted(self)
        return tree_of(self._trained)

    def to_pymc(self) -> tuple[Any, Any]:
        """Return the PyMC model of the fit, in the units of the machine.

        It needs all training rows, which pickles and other copies do not hold.

        Returns
        -------
        model : pymc.Model
            With log-normal priors of the hyperparameters, and the observed ``y``.
        gp : pymc_bsvm.gp.BSVR
            The process, for `conditional` and `predict`.
        """
        check_is_fitted(self)
        return self._trained.to_pymc()

    def _likelihoods(self, unit: float, n: int, spread: float) -> list[Likelihood]:
        """Return the likelihoods to choose from, for n targets with a spread in a unit."""
        betas = betas_of(self.beta, n)
        widest = as_parameter("max_epsilon", self.max_epsilon, positive) * spread
        if isinstance(self.loss, str) and self.loss == "silf":
            return [silf_likelihood(beta, widest) for beta in betas]
        if self.beta != "auto":
            raise ValueError(
                f"beta is chosen for loss='silf' only, but beta is {self.beta!r} and loss is "
                f"{self.loss!r}. Leave beta='auto'; a SILF object brings its own."
            )
        return [regression_likelihood(self.loss, unit, widest)]

    def _means(self, rows: Array) -> Array:
        mean = np.mean([machine.mean(rows) for machine in self._trained.members], axis=0)
        mean = mean + self._noise.mean()
        return np.asarray(self._target.centre[0] + self._target.spread[0] * mean)

    def _predictive(self, rows: Array) -> RegressionMixture:
        """Return the predictive distribution in the units of the targets."""
        centre, unit = float(self._target.centre[0]), float(self._target.spread[0])
        parts = []
        for machine in self._trained.members:
            mean, variance = machine.moments(rows)
            parts.append(
                RegressionPredictive(centre + unit * mean, unit**2 * variance, self.noise_)
            )
        return RegressionMixture(parts)


def _to_likelihood(likelihood: Likelihood) -> Move:
    """Return the move to another likelihood."""
    return lambda blueprint: replace(blueprint, likelihood=likelihood)
