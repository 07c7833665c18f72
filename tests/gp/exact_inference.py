"""Exact inference under Gaussian noise, as an approximation that the library does not know."""

from dataclasses import dataclass

import numpy as np

from pymc_bsvm import losses
from pymc_bsvm.approximations import (
    Approximation,
    Evidence,
    EvidenceCertificate,
    EvidenceGradient,
    Need,
    Posterior,
)

GAUSSIAN = Need(
    lambda loss: isinstance(loss, losses.Gaussian), "is not Gaussian", "Use losses.Gaussian."
)


@dataclass(frozen=True)
class Exact(Approximation):
    """[RW06]_, (2.25), (2.26), (2.30) and (5.9)."""

    name = "exact gaussian"
    needs = (GAUSSIAN,)

    def approximate(self, problem, start=None):
        n = problem.y.size
        weight = np.ones(n) if problem.sample_weight is None else problem.sample_weight
        noise = problem.loss.sigma**2 / weight
        inverse = np.linalg.inv(problem.K + np.diag(noise))
        a = inverse @ (problem.y - problem.m)
        mean = problem.m + problem.K @ a
        posterior = Posterior(problem.K, problem.y, problem.loss, mean, a, 1.0 / noise)
        return ExactEvidence(self, problem, posterior, inverse)


@dataclass(frozen=True, eq=False, repr=False)
class ExactEvidence(Evidence):
    inverse: np.ndarray

    certificate = EvidenceCertificate(0.0, 1, "Nothing is approximated.")

    @property
    def terms(self):
        n, deviation = self.problem.y.size, self.problem.y - self.problem.m
        return {
            "fit": -0.5 * float(deviation @ self.posterior.a),
            "complexity": 0.5 * float(np.linalg.slogdet(self.inverse)[1]),
            "constant": -0.5 * n * np.log(2.0 * np.pi),
        }

    @property
    def gradient(self):
        a, sigma = self.posterior.a, self.problem.loss.sigma
        G = 0.5 * (np.outer(a, a) - self.inverse)
        return EvidenceGradient(np.arange(a.size), G, a, (2.0 * sigma * float(np.trace(G)),))
