"""The periodic kernel repeats."""

import numpy as np

from pymc_bsvm.estimators.kernels import Periodic


def test_period():
    x = np.array([[0.2], [0.2 + 1.3], [0.2 + 0.65]])
    K = Periodic().matrix(np.array([2.0, 1.3, 0.8]), x)
    np.testing.assert_allclose(K[0], 4.0 * np.exp([0.0, 0.0, -0.5 / 0.8**2]), rtol=1e-12)


def test_names():
    names = [h.name for h in Periodic(ard=True).hyperparameters(2)]
    assert names == ["eta", "period", "ls[0]", "ls[1]"]
