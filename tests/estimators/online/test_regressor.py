"""`OnlineSVR`: the predictive distribution."""

import numpy as np
import pytest

from pymc_bsvm.estimators import OnlineSVR
from tests.estimators.online import cases


@pytest.mark.parametrize("name", ["silf", "epsilon_insensitive"])
def test_densities_are_those_of_the_function_plus_noise(name):
    data, likelihood = cases.rows(20), cases.LIKELIHOODS[name]
    every = np.vstack([data.X, data.new])
    found = cases.dense(cases.covariance(every, every), data.y, likelihood)
    parameters = {"C": cases.C, "epsilon": cases.EPSILON, "beta": cases.BETA}
    settings = {"loss": name, "offset": 0.0, "novelty": 1e-8, **parameters, **cases.KERNEL}
    model = OnlineSVR(**settings).fit(data.X, data.y)
    t = np.linspace(-2.0, 2.0, len(data.new))
    moments = zip(found.mean[20:], found.covariance.diagonal()[20:], strict=True)
    expected = [cases.average(likelihood, y, *each)[0] for y, each in zip(t, moments, strict=True)]
    np.testing.assert_allclose(model.log_predictive_density(data.new, t), expected, rtol=1e-9)
    mean, std = model.predict(data.new, return_std=True)
    np.testing.assert_allclose(mean, found.mean[20:], atol=1e-10)
    noise = likelihood.loss.variance()
    np.testing.assert_allclose(std**2, found.covariance.diagonal()[20:] + noise, atol=1e-10)
    low, high = model.predict_interval(data.new, coverage=0.8)
    assert (low < mean).all()
    assert (mean < high).all()
