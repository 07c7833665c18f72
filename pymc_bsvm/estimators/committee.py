"""Bayesian support vector regression for more rows than one kernel matrix holds."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.bar import progress
from pymc_bsvm.estimators.base import BayesianMachine, warn_of, warn_of_bounds
from pymc_bsvm.estimators.experts import Part, SumOfEvidences, calibration, combine, partition
from pymc_bsvm.estimators.fitting import fitting
from pymc_bsvm.estimators.inputs import validated
from pymc_bsvm.estimators.likelihood import betas_of, noise_in, silf_likelihood
from pymc_bsvm.estimators.machine import Blueprint
from pymc_bsvm.estimators.predictions import RegressionPredictions
from pymc_bsvm.estimators.scale import Scale
from pymc_bsvm.estimators.search import search
from pymc_bsvm.estimators.trained import bounds_at
from pymc_bsvm.estimators.warning import warn
from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.search import Ending, ascend

__all__ = ["BayesianSVRCommittee"]

_FEWEST, _MOST = 200, 1000  # rows for the calibration; a tenth of all between these, but ...
_LARGEST_SHARE = 0.2  # ... no more than this


class BayesianSVRCommittee(RegressionPredictions, BayesianMachine):
    """A committee of `BayesianSVR` experts with shared hyperparameters.

    .. deprecated:: 0.2
        Inducing points are more precise: use `BayesianSVR` with ``inducing="auto"``. To be removed
        in 0.4.

    Each expert sees a part of the rows. The hyperparameters maximise the sum of the experts' log
    evidences, and predictions are products of the experts' predictions, each as far as it learned
    something. The variance of the function is scaled on rows that no expert saw.

    Time and memory are linear in the number of rows. Tasks go through joblib one expert at a time:
    ``joblib.parallel_config`` chooses threads, processes, Dask or Ray. No PyMC model is
    compiled on a worker.

    Parameters
    ----------
    kernel, ard, beta, offset, standardize, restarts, tol, max_iter, progressbar, verbose
        As for `BayesianSVR`; the search starts from the optimum of the first expert.
    expert_size : int, default 2000
        Number of rows of an expert, about. Fewer rows than one and a half times this number make
        one expert, which is a `BayesianSVR`.
    partition : {"random", "clustered"}, default "random"
        Whether an expert's rows come from everywhere or from one region.
    combine : {"rbcm", "gpoe"}, default "rbcm"
        Robust Bayesian committee machine, or generalised product of experts.
    calibrate : bool, default True
        Whether a tenth of the rows (at least 200, at most 1000 or a fifth) is held out to scale
        the variance of the function. Without it a product of many experts is too sure of itself.
    random_state : int, RandomState or None, default None
        Seed of the parts and of the rows that are held out.
    n_jobs : int or None, default None
        Number of experts at a time, through joblib.

    Attributes
    ----------
    n_experts_ : int
        Number of experts.
    parts_ : list of ndarray
        The rows of each expert.
    held_out_ : ndarray
        The rows of the calibration.
    variance_scale_ : float
        What the variances of the function are multiplied by, from 1 (1/30 for "gpoe") to 30. Where
        the noise is much wider than the error of the function it is not well determined.
    log_evidence_ : float
        Sum of the experts' log evidences of the targets, in nats.
    n_support_ : ndarray of shape (n_experts,)
        Number of support vectors of each expert.
    hyperparameters_, at_bound_, beta_, gap_, n_iter_, converged_, relevance_, feature_importances_
        As for `BayesianSVR`; the gap is the largest of all experts.

    References
    ----------
    Deisenroth and Ng, Distributed Gaussian processes, ICML (2015); [Chu03]_, chapter 4.

    Examples
    --------
    >>> from pymc_bsvm.datasets import sinc
    >>> from pymc_bsvm.estimators import BayesianSVRCommittee
    >>> X, y = sinc(800)
    >>> committee = BayesianSVRCommittee(expert_size=200, random_state=0).fit(X, y)
    >>> committee.n_experts_
    3
    """

    _other = "SVMRegressor"

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        ard: bool | str = False,
        beta: float | str = "auto",
        offset: float = 100.0,
        standardize: bool = True,
        expert_size: int = 2000,
        partition: str = "random",
        combine: str = "rbcm",
        calibrate: bool = True,
        restarts: int = 1,
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
            offset=offset,
            standardize=standardize,
            restarts=restarts,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            n_jobs=n_jobs,
            progressbar=progressbar,
            verbose=verbose,
        )
        self.beta = beta
        self.expert_size = expert_size
        self.partition = partition
        self.combine = combine
        self.calibrate = calibrate

    @fitting
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the hyperparameters and the experts.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs.
        y : array_like of shape (n,)
            Targets.
        sample_weight : array_like of shape (n,), optional
            How often each row counts; zero leaves it out.

        Returns
        -------
        BayesianSVRCommittee
            Itself.
        """
        warn(
            "BayesianSVRCommittee is deprecated and will be removed in 0.4, since inducing points "
            "are more precise. Use BayesianSVR(inducing='auto').",
            FutureWarning,
        )
        self._check_committee()
        inputs, targets = validated(self, X, y)
        self._check()
        rows, weight, kept = self._prepare(inputs, sample_weight)
        t = targets[kept]
        rng = self._generator()
        self._target = Scale.of_targets(t[:, None], weight) if self.standardize else Scale.none(1)
        unit = float(self._target.spread[0])
        z = self._target(t[:, None])[:, 0]
        places = self._deal(rows, rng)
        self.parts_ = [kept[place] for place in places]
        self.n_experts_ = len(places)
        self.beta_ = betas_of(self.beta, max(place.size for place in places))[0]
        blueprint = Blueprint(
            self._kernel, silf_likelihood(self.beta_), float(self.offset), rows.shape[1]
        )
        parts = [Part(rows[p], z[p], None if weight is None else weight[p]) for p in places]
        together = SumOfEvidences(blueprint, parts, self.n_jobs)
        run = self._search(together, rng)
        values = np.exp(run.end)
        self._experts = together.machines(values)
        first = self._experts[0]
        held_out = self._held_out
        self.held_out_ = kept[held_out]
        self.variance_scale_ = 1.0
        if held_out.size:
            moments = combine(self._experts, rows[held_out], self.combine)  # type: ignore[arg-type]
            noise = noise_in(1.0, first.loss)
            self.variance_scale_ = calibration(noise, *moments, z[held_out], self.combine)  # type: ignore[arg-type]
        used = np.concatenate(places)
        count = used.size if weight is None else weight[used].sum()
        total = sum(expert.log_evidence for expert in self._experts)
        self.log_evidence_ = float(total - count * np.log(unit))
        self.hyperparameters_ = [self._named(first, unit)]
        self.n_support_ = np.array([expert.support.size for expert in self._experts])
        self.gap_ = max(expert.gap for expert in self._experts)
        self.n_iter_ = run.evaluations
        self._relevance([first], rows.std(axis=0))
        return self

    def _check_committee(self) -> None:
        size = self.expert_size
        if not isinstance(size, numbers.Integral) or size < 10:
            raise ValueError(
                f"expert_size must be an integer >= 10, but it is {size!r}. "
                "Pass, for example, 2000."
            )
        for name, choices in (
            ("partition", ("random", "clustered")),
            ("combine", ("rbcm", "gpoe")),
        ):
            value = getattr(self, name)
            if value not in choices:
                raise ValueError(
                    f"{name} must be {choices[0]!r} or {choices[1]!r}, but it is {value!r}. "
                    "Choose one of the two."
                )
        if self.__sklearn_tags__().input_tags.pairwise:
            raise ValueError(
                "A committee builds the matrices of its experts itself, but kernel is "
                "'precomputed'. Pass a kernel by name or as an object."
            )

    def _deal(self, rows: Array, rng: np.random.Generator) -> list[Any]:
        """Set rows aside for the calibration and deal the others out."""
        n = rows.shape[0]
        self._held_out = np.zeros(0, dtype=np.intp)
        if n < 1.5 * self.expert_size:
            return [np.arange(n)]
        order = rng.permutation(n)
        count = min(max(n // 10, _FEWEST), _MOST, int(_LARGEST_SHARE * n)) if self.calibrate else 0
        self._held_out, left = np.sort(order[:count]), np.sort(order[count:])
        parts = partition(rows[left], int(self.expert_size), self.partition, rng)
        return [left[part] for part in parts]

    def _search(self, together: SumOfEvidences, rng: np.random.Generator) -> Any:
        """Maximise the evidence of one expert, then the sum of all."""
        settings: dict[str, Any] = {"gain": float(self.tol), "maxiter": int(self.max_iter)}
        with progress(self.progressbar, int(self.verbose)) as report:
            one = together.parts[0].objective(together.blueprint)
            moves = self._moves_of_kernel(one.X.shape[1])
            settings_of_one = {"moves": moves, "n_jobs": None, "report": report, **settings}
            found = search(one, int(self.restarts), rng, **settings_of_one)
            together.blueprint = found.objective.blueprint
            best, interrupted = found.ascents.best, found.ascents.interrupted
            if len(together.parts) > 1 and not interrupted:
                best = ascend(
                    together,
                    best.end,
                    "committee",
                    bounds=together.blueprint.reach,
                    callback=lambda value: report(0, value),
                    **settings,
                )
            report.end(best)
        if not np.isfinite(best.objective):
            raise ValueError(
                "The evidence is not finite at the start of the committee. "
                "Check the scale of the inputs and the kernel."
            )
        self.converged_ = best.ending is Ending.CONVERGED and not interrupted
        warn_of(best, interrupted)
        warn_of_bounds(together.blueprint.hyperparameters, best)
        self.at_bound_ = bounds_at(together.blueprint.hyperparameters, best)
        return best

    def _predictive(self, rows: Array) -> RegressionPredictive:
        """Return the predictive distribution in the units of the targets."""
        centre, unit = float(self._target.centre[0]), float(self._target.spread[0])
        mean, variance = combine(self._experts, rows, self.combine, self.variance_scale_)  # type: ignore[arg-type]
        noise = noise_in(unit, self._experts[0].loss)
        return RegressionPredictive(centre + unit * mean, unit**2 * variance, noise)
