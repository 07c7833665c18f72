"""Expectation propagation against annealing, which knows nothing of Gaussians at the end."""

import numpy as np
import pytest

from pymc_bsvm import ep_evidence, losses
from pymc_bsvm.diagnosis import annealed_evidence
from tests.solvers.problems import rbf, sinc, two_classes


@pytest.mark.slow
@pytest.mark.parametrize("variance", [1.0, 9.0, 100.0])
@pytest.mark.parametrize(
    "loss",
    [losses.SILF(10.0, 0.1), losses.EpsilonInsensitive(10.0, 0.1), losses.Trigonometric(1.0)],
    ids=repr,
)
def test_evidence_and_means_of_forty_rows(loss, variance):
    X, y = sinc(40) if loss.task == "regression" else two_classes(40)
    K = rbf(X, variance, 1.0)
    got = ep_evidence(K, y, loss)
    annealed = annealed_evidence(K, y, loss, random_seed=1, progressbar=False)
    assert abs(got.log_evidence - annealed.log_evidence) < 0.5
    latent = annealed.moments
    error = np.sqrt(np.mean(((got.mean - latent.mean) / latent.sd) ** 2))
    assert error < 0.1
