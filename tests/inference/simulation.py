"""Simulation-based calibration: truths from the prior, data from the model, ranks in posteriors.

If hyperparameters are drawn from the prior and data from the model at them, then the rank of a true
value among independent draws of its posterior is uniform, [TBSVG18]. Ranks that are not say that
the posterior, or what draws from it, is off: ranks at both ends that it is too narrow, ranks in the
middle that it is too wide, small ranks that it is too high.

The functions here simulate, sample and summarise; they assert nothing.

References
----------
[TBSVG18] Talts, S., Betancourt, M., Simpson, D., Vehtari, A., Gelman, A. (2018). Validating
Bayesian inference algorithms with simulation-based calibration. arXiv:1804.06788.

[SBV22] Säilynoja, T., Bürkner, P.-C., Vehtari, A. (2022). Graphical test for discrete uniformity
and its applications in goodness-of-fit evaluation and multiple sample comparison. Statistics and
Computing 32.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import nutpie
import pymc as pm
from numpy.typing import NDArray
from nutpie.compiled_pyfunc import from_pyfunc
from pymc.blocking import DictToArrayBijection
from scipy import stats

import pymc_bsvm as bsvm

type Array = NDArray[np.float64]

TARGETS = "targets"
"""Name of the data container with the targets."""


# ---- models --------------------------------------------------------------------------------------


def regression_model(n: int = 20, approximation: str = "laplace") -> pm.Model:
    """Return a BSVR model of a curve with n rows, whose targets are to be exchanged."""
    X = np.linspace(-3.0, 3.0, n)[:, None]
    with pm.Model() as model:
        targets = pm.Data(TARGETS, np.zeros(n))
        gp = bsvm.gp.BSVR(cov_func=_covariance())
        C = pm.LogNormal("C", np.log(8.0), 0.5)
        epsilon = pm.LogNormal("epsilon", np.log(0.2), 0.5)
        gp.marginal_likelihood("y", X, targets, C=C, epsilon=epsilon, approximation=approximation)
    return model


def classification_model(n: int = 40, approximation: str = "laplace") -> pm.Model:
    """Return a BTSVC model of labels along a line, whose labels are to be exchanged."""
    X = np.linspace(-3.0, 3.0, n)[:, None]
    with pm.Model() as model:
        targets = pm.Data(TARGETS, np.arange(n) % 2)
        gp = bsvm.gp.BTSVC(cov_func=_covariance())
        gp.marginal_likelihood("y", X, targets, approximation=approximation)
    return model


def _covariance() -> Any:
    ls, eta = pm.LogNormal("ls", 0.0, 0.4), pm.LogNormal("eta", 0.0, 0.4)
    return eta**2 * pm.gp.cov.ExpQuad(1, ls=ls)


# ---- simulated data ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Simulations:
    """Draws of the hyperparameters and of the targets that belong to them."""

    truth: dict[str, Array]
    """True values by name, of shape (count,)."""
    targets: NDArray[Any]
    """Targets of shape (count, n)."""

    def __len__(self) -> int:
        return len(self.targets)


def simulate(model: pm.Model, count: int, seed: int) -> Simulations:
    """Draw hyperparameters from the prior and targets from the model at them."""
    with model:
        tree = pm.sample_prior_predictive(
            count, random_seed=seed, compile_kwargs={"mode": "FAST_COMPILE"}
        )
    truth = {rv.name: tree["prior"][rv.name].values[0] for rv in model.free_RVs}
    return Simulations(truth, tree["prior_predictive"]["y"].values[0])


# ---- posteriors ----------------------------------------------------------------------------------


class Posterior:
    """A model compiled once, from whose posterior NUTS draws for any targets.

    The log probability is PyMC's compiled function, which reads the targets from their container;
    nutpie calls it. The hyperparameters are scalars with positive support, whose logs start within
    one of PyMC's initial point. Latent values start close to their prior mean, which is in front of
    the wall of the trigonometric likelihood, and not at it: where all targets are inside the tube,
    the gradient is zero there, which nutpie refuses.

    Parameters
    ----------
    model : pymc.Model
        The model; its data container changes with each call of `sample`.
    names : iterable of str
        The hyperparameters.
    **compile_kwargs
        Such as ``mode``.
    """

    def __init__(self, model: pm.Model, names: Iterable[str], **compile_kwargs: Any) -> None:
        self.model, self.names = model, list(names)
        self._function = model.logp_dlogp_function(ravel_inputs=True, **compile_kwargs)
        self._function.set_extra_values({})
        start = DictToArrayBijection.map(model.initial_point())
        ends = np.cumsum([size for _, _, size, _ in start.point_map_info])
        first = {
            name: end - size
            for (name, _, size, _), end in zip(start.point_map_info, ends, strict=True)
        }
        self._where = np.array([first[f"{name}_log__"] for name in self.names])
        self._initial = start
        self._nutpie = from_pyfunc(
            start.data.size,
            lambda: self.log_density,
            lambda *_: self._expand,
            ["float64"] * len(self.names),
            [()] * len(self.names),
            self.names,
            make_initial_point_fn=self.start,
        )

    def set_targets(self, targets: NDArray[Any]) -> None:
        """Exchange the targets."""
        with self.model:
            pm.set_data({TARGETS: targets})

    def log_density(self, x: Array) -> tuple[float, Array]:
        """Return the log posterior density, up to a constant, and its gradient.

        An error in the graph counts as a point without density, hence as a divergence: the
        comparison of covariances is too strict where inputs are a million length-scales apart.
        """
        try:
            value, gradient = self._function(x)
        except ValueError:
            return np.nan, np.full(x.shape, np.nan)
        return float(value), np.asarray(gradient, dtype=float)

    def sample(self, targets: NDArray[Any], draws: int, tune: int, seed: int) -> Any:
        """Return a DataTree with one chain of draws of the hyperparameters."""
        self.set_targets(targets)
        return nutpie.sample(
            self._nutpie,
            draws=draws,
            tune=tune,
            chains=1,
            cores=1,
            seed=seed,
            save_warmup=False,
            progress_bar=False,
        )

    def _expand(self, x: Array) -> dict[str, Array]:
        values = np.exp(x[self._where])
        return {name: np.array(v) for name, v in zip(self.names, values, strict=True)}

    def start(self, seed: int) -> Array:
        """Return a starting point on the unconstrained space."""
        x = np.array(self._initial.data, dtype=float)
        width = np.full(x.size, 0.01)
        width[self._where] = 1.0
        return x + np.random.default_rng(seed).uniform(-width, width)


# ---- ranks ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranks:
    """Ranks of true values among draws of their posteriors."""

    values: dict[str, NDArray[np.int64]]
    """By hyperparameter, of shape (count,): how many of the draws are below the true value."""
    levels: int
    """Number of draws; a rank is one of levels + 1 numbers."""
    ess: dict[str, Array]
    """Effective sample sizes before thinning, of shape (count,)."""
    divergent: float
    """Share of divergent draws."""
    leapfrogs: float
    """Mean number of leapfrogs of a draw."""
    seconds: float
    """Time of sampling."""


def rank_truths(
    posterior: Posterior,
    simulations: Simulations,
    *,
    levels: int = 99,
    thin: int = 4,
    tune: int = 300,
    seed: int = 0,
    report: Callable[[int], object] = lambda k: None,
) -> Ranks:
    """Sample the posterior of each simulation and rank the true values in it.

    Parameters
    ----------
    posterior : Posterior
        The compiled model.
    simulations : Simulations
        True values and targets.
    levels : int
        Number of draws that the true value is ranked among.
    thin : int
        Each of them is the last of so many.
    tune : int
        Steps before.
    seed : int
        Seed of the first chain; the others count on.
    report : callable
        Called with the number of each simulation that is finished.

    Returns
    -------
    Ranks
        Ranks and diagnostics.
    """
    begin = time.perf_counter()
    ranks: dict[str, list[int]] = {name: [] for name in posterior.names}
    ess: dict[str, list[float]] = {name: [] for name in posterior.names}
    divergent, leapfrogs = [], []
    for k, targets in enumerate(simulations.targets):
        tree = posterior.sample(targets, levels * thin, tune, seed + k)
        for name in posterior.names:
            draws = tree["posterior"][name].values
            truth = simulations.truth[name][k]
            ranks[name].append(int((draws[0, thin - 1 :: thin] < truth).sum()))
            ess[name].append(float(az.ess(draws)))
        divergent.append(float(tree["sample_stats"]["diverging"].mean()))
        leapfrogs.append(float(tree["sample_stats"]["n_steps"].mean()))
        report(k + 1)
    return Ranks(
        {name: np.array(values) for name, values in ranks.items()},
        levels,
        {name: np.array(values) for name, values in ess.items()},
        float(np.mean(divergent)),
        float(np.mean(leapfrogs)),
        time.perf_counter() - begin,
    )


# ---- uniformity ----------------------------------------------------------------------------------


def chi_square(ranks: NDArray[np.int64], levels: int, bins: int = 10) -> float:
    """Return the p-value of the chi-square test of uniform ranks.

    Parameters
    ----------
    ranks : ndarray of shape (count,)
        Ranks from 0 to levels.
    levels : int
        The largest rank.
    bins : int
        Number of bins, a divisor of levels + 1.

    Returns
    -------
    float
        The p-value.
    """
    if (levels + 1) % bins:
        raise ValueError(f"{bins} bins do not divide {levels + 1} ranks. Pass a divisor of it.")
    counts = np.bincount(ranks * bins // (levels + 1), minlength=bins)
    return float(stats.chisquare(counts).pvalue)


def ecdf_test(ranks: NDArray[np.int64], levels: int) -> float:
    """Return the p-value of the largest pointwise deviation of the ranks' ECDF, [SBV22]_.

    The statistic is the smallest of the two-sided binomial tail probabilities of the ECDF over all
    ranks; its distribution under uniformity is simulated.
    """
    counts = np.bincount(ranks, minlength=levels + 1)
    null = _null_of_ecdf(len(ranks), levels)
    smaller = (null <= _smallest_tail(counts) * (1.0 + 1e-9)).sum()
    return float((1 + smaller) / (1 + len(null)))


def ecdf_difference(ranks: NDArray[np.int64], levels: int) -> tuple[Array, Array]:
    """Return points in (0, 1), and the ECDF of the normalised ranks minus them."""
    points = np.arange(1, levels + 1) / (levels + 1)
    counts = np.bincount(ranks, minlength=levels + 1)
    return points, counts.cumsum()[:-1] / len(ranks) - points


def ecdf_band(count: int, levels: int, probability: float = 0.95) -> tuple[Array, Array]:
    """Return the limits that hold the whole of `ecdf_difference` of uniform ranks, [SBV22]_."""
    points = np.arange(1, levels + 1) / (levels + 1)
    tail = np.quantile(_null_of_ecdf(count, levels), 1.0 - probability)
    low, high = (stats.binom.ppf(u, count, points) for u in (0.5 * tail, 1.0 - 0.5 * tail))
    return low / count - points, high / count - points


@functools.cache
def _null_of_ecdf(count: int, levels: int, simulations: int = 5000) -> Array:
    """Simulate the statistic of `ecdf_test` for uniform ranks."""
    rng = np.random.default_rng(count)
    counts = rng.multinomial(count, np.full(levels + 1, 1.0 / (levels + 1)), simulations)
    return _smallest_tail(counts)


def _smallest_tail(counts: NDArray[np.int64]) -> Array:
    """Return the smallest two-sided binomial tail probability along the last axis."""
    below, total = counts.cumsum(-1)[..., :-1], counts.sum(-1)[..., None]
    levels = below.shape[-1]
    points = np.arange(1, levels + 1) / (levels + 1)
    lower = stats.binom.cdf(below, total, points)
    upper = stats.binom.sf(below - 1, total, points)
    return np.minimum(1.0, 2.0 * np.minimum(lower, upper)).min(-1)


def mean_rank(ranks: NDArray[np.int64], levels: int) -> tuple[float, float]:
    """Return the mean of the normalised ranks and its standard error; 1/2 if calibrated."""
    return _mean_and_error((ranks + 0.5) / (levels + 1))


def coverage(ranks: NDArray[np.int64], levels: int, share: float) -> tuple[float, float]:
    """Return how often the central interval with a share of the draws holds the truth."""
    return _mean_and_error(np.abs((ranks + 0.5) / (levels + 1) - 0.5) < 0.5 * share)


def _mean_and_error(values: NDArray[Any]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
