"""The regression of chapter 4 of the thesis, table 4.2, made of the library's parts.

The evidence is (4.38), by `approximations.Laplace(curvature="exact")`, with the variance of the
targets for the amplitude and a fixed beta. Starts and bounds are those of sections 4.3.3 and 4.5.
As there, L-BFGS-B climbs it with C and not ln C for a variable, which matters: with ln C it ended
far below more often. What differs is that the dual is solved by Newton steps with a certificate
instead of by SMO to 1e-3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from pymc_bsvm.approximations import Evidence, Laplace
from pymc_bsvm.estimators.kernels import RBF
from pymc_bsvm.losses import SILF
from pymc_bsvm.solvers import DualSolveError

__all__ = ["STARTS", "Machine", "Objective", "Start", "train"]

type Array = NDArray[np.float64]

LAPLACE = Laplace(curvature="exact", tol=1e-5)  # of the gap; rounding keeps it up at little noise
BOUNDS = (0.01, 1000.0), (-5.0, -0.7), (-13.0, 10.0)  # of C, ln epsilon, ln kappa_b
BOUNDS_OF_KAPPA = -17.0, 10.0  # of ln kappa
GAIN = 1e-6  # of an iteration, relative to the evidence, below which the search ends


@dataclass(frozen=True)
class Start:
    """Where the search begins; the defaults are those of section 4.5."""

    C: float = 1.0
    epsilon: float = 0.05
    kappa_b: float = 100.0
    kappa: float | None = 0.5
    """None is one over the number of inputs."""

    def logarithms(self, d: int, ard: bool) -> Array:
        """Return the start of the search for d inputs."""
        kappa = np.full(d if ard else 1, 1.0 / d if self.kappa is None else self.kappa)
        return np.log([self.C, self.epsilon, self.kappa_b, *kappa])


# "We suggest to try more starting points in practice", footnote 17.
STARTS = Start(), Start(C=10.0), Start(kappa=None), Start(C=10.0, kappa=None)


class Objective:
    """The log evidence in the logarithms of C, epsilon, kappa_b and kappa."""

    def __init__(self, X: Array, y: Array, beta: float, ard: bool) -> None:
        self.X, self.y, self.beta = X, y, beta
        self.kernel = RBF(ard=ard)
        self.evaluations = 0
        self._latent: Array | None = None  # of the last point

    def values(self, x: Array) -> Array:
        """Return amplitude and length-scales, as the kernel takes them: kappa is 1 / ls²."""
        return np.concatenate([[self.y.std()], np.exp(-0.5 * x[3:])])

    def covariance(self, x: Array, X_new: Array | None = None) -> Array:
        """Return (4.3) or (4.42) of the rows, with each other or with new ones."""
        return self.kernel.matrix(self.values(x), self.X, X_new) + np.exp(x[2])

    def evidence(self, x: Array) -> Evidence:
        """Return the evidence (4.38) and its posterior."""
        loss = SILF(C=float(np.exp(x[0])), epsilon=float(np.exp(x[1])), beta=self.beta)
        K = self.covariance(x)
        found = LAPLACE.evidence(K, self.y, loss, start=self._latent, check_input=False)
        self._latent = found.start
        return found

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the log evidence and (4.39) to (4.41); minus infinity where the solver fails."""
        self.evaluations += 1
        try:
            evidence = self.evidence(x)
        except DualSolveError:
            self._latent = None
            return -np.inf, np.zeros_like(x)
        of_C, of_epsilon, _ = evidence.gradient.parameters
        rows, of_K = evidence.gradient.rows, np.asarray(evidence.gradient.K)
        of_scales = self.kernel.slopes(self.values(x), self.kernel.take(self.X, rows), of_K)[1:]
        slopes = [*(np.exp(x[:3]) * [of_C, of_epsilon, of_K.sum()]), *(-0.5 * of_scales)]
        return evidence.log_evidence, np.array(slopes, dtype=float)

    def climb(self, start: Array) -> tuple[float, Array]:
        """Return the highest log evidence that L-BFGS-B finds, and where."""
        best = -np.inf, start

        def descent(z: Array) -> tuple[float, Array]:
            nonlocal best
            x = np.concatenate([[np.log(z[0])], z[1:]])
            value, slope = self(x)
            best = max(best, (value, x), key=lambda found: found[0])
            if not np.isfinite(value):
                return 10.0 * abs(best[0]) + 1e6, np.zeros_like(z)
            return -value, -slope / [z[0], *np.ones(z.size - 1)]

        bounds = [*BOUNDS, *[BOUNDS_OF_KAPPA] * (start.size - len(BOUNDS))]
        begin = np.concatenate([[np.exp(start[0])], start[1:]])
        minimize(descent, begin, jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": GAIN})
        return best


@dataclass(frozen=True, eq=False)
class Machine:
    """A regression at the hyperparameters of the highest evidence that was found."""

    objective: Objective
    x: Array
    """Logarithms of the hyperparameters."""
    evidence: Evidence
    found: tuple[float, ...] = ()
    """Log evidence that was found from each start."""

    @property
    def loss(self) -> SILF:
        """The loss."""
        loss = self.evidence.problem.loss
        assert isinstance(loss, SILF)
        return loss

    @property
    def kappa_b(self) -> float:
        """The variance of the constant."""
        return float(np.exp(self.x[2]))

    @property
    def kappa(self) -> list[float]:
        """Inverse squared length-scales, of each input for ARD."""
        return [float(k) for k in np.exp(self.x[3:])]

    def moments(self, X_new: Array) -> tuple[Array, Array]:
        """Return means and variances of new targets, (4.46) with the noise (2.33)."""
        cross, posterior = self.objective.covariance(self.x, X_new), self.evidence.posterior
        prior = np.full(len(X_new), self.objective.y.var() + self.kappa_b)
        variance = posterior.predict_variance(cross, prior) + self.loss.variance()
        return posterior.predict_mean(cross), variance


def train(
    X: Array, y: Array, beta: float, *, ard: bool = False, starts: Sequence[Start] = STARTS[:1]
) -> Machine:
    """Maximise the evidence, from each start if there are several.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Inputs, in the units in which they are compared.
    y : ndarray of shape (n,)
        Targets.
    beta : float
        Share of the tube over which the loss bends.
    ard : bool, default False
        Whether each input has a kappa of its own.
    starts : sequence of Start
        Where to begin.
    """
    objective, d = Objective(X, y, beta, ard), X.shape[1]
    found = [objective.climb(start.logarithms(d, ard)) for start in starts]
    _, x = max(found, key=lambda end: end[0])
    evidence = Objective(X, y, beta, ard).evidence(x)  # of which no start is left
    return Machine(objective, x, evidence, tuple(value for value, _ in found))
