"""Ctrl-C in long calls: a real signal keeps what was finished, or leaves nothing half-written."""

import logging
import os
import signal

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_bsvm as bsvm
from pymc_bsvm import diagnosis, losses
from pymc_bsvm.diagnosis import annealing
from pymc_bsvm.gp.evaluator import Evaluator
from pymc_bsvm.inference import latent
from pymc_bsvm.inference.objective import LogPosterior

X, Y = bsvm.datasets.sinc(15, random_state=1)


@pytest.fixture
def press(monkeypatch):
    """Return a function that has Ctrl-C pressed in some calls of another."""

    def when(owner, name, *numbers):
        function, calls = getattr(owner, name), []

        def pressed(*args, **kwargs):
            calls.append(1)
            if len(calls) in numbers:
                os.kill(os.getpid(), signal.SIGINT)
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, pressed)
        return calls

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield when
    signal.signal(signal.SIGINT, handler)


@pytest.fixture(scope="module")
def process():
    with pm.Model() as model:
        ls = pm.InverseGamma("ls", 3.0, 5.0, initval=2.5)
        gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X, Y, C=10.0, epsilon=0.1)
    return model, gp


@pytest.fixture(scope="module")
def fit(process):
    return bsvm.fit_evidence(process[0], progressbar=False, check=False)


def test_a_fit_keeps_its_best_point(press, process, fit, caplog):
    press(LogPosterior, "__call__", 4)
    with caplog.at_level(logging.WARNING, logger="pymc_bsvm"):
        stopped = bsvm.fit_evidence(process[0], progressbar=False, check=False, restarts=3)
    assert "fit_evidence: interrupted after" in caplog.text
    assert not stopped.converged
    assert np.isfinite(stopped.log_evidence)
    assert stopped.objective <= fit.objective + 1e-6
    assert np.isfinite(process[1].predict(X, stopped, diag=True)[0]).all()


def test_an_integral_goes_and_the_fit_stays(press, fit):
    before = str(fit)
    press(LogPosterior, "density", 8)
    with pytest.raises(KeyboardInterrupt):
        fit.integrate("grid", progressbar=False)
    assert str(fit) == before
    assert np.isfinite(fit.integrate("grid", progressbar=False).log_evidence)


def test_annealing_keeps_its_replicates(press, caplog):
    K = np.exp(-0.5 * (X - X.T) ** 2)
    settings = {"particles": 50, "temperatures": 10, "random_seed": 1, "progressbar": False}
    two = diagnosis.annealed_evidence(K, Y, losses.SILF(10.0, 0.1), replicates=2, **settings)
    press(annealing, "anneal", 3)
    stopped = diagnosis.annealed_evidence(K, Y, losses.SILF(10.0, 0.1), **settings)
    assert "interrupted after 2 of 4 replicates" in caplog.text
    assert stopped.log_evidence == two.log_evidence  # the same generator, the same draws
    assert stopped.standard_error == two.standard_error


def test_a_verdict_goes_without_two_replicates(press, process):
    press(annealing, "anneal", 2)
    settings = {"particles": 20, "temperatures": 5, "progressbar": False}
    with pytest.raises(KeyboardInterrupt):
        bsvm.verdict(process[0], {"ls": 2.0}, **settings)
    assert np.isfinite(bsvm.verdict(process[0], {"ls": 2.0}, **settings).log_evidence)


def test_a_model_of_latent_values_goes_and_its_source_stays(press, process):
    model = process[0]
    before, starts = model.str_repr(), dict(model.rvs_to_initial_values)
    press(latent, "fgraph_from_model", 1)
    with pytest.raises(KeyboardInterrupt):
        bsvm.latent_model(model)
    assert model.str_repr() == before
    assert dict(model.rvs_to_initial_values) == starts


def test_pointwise_log_likelihoods_are_added_as_a_whole(press, process):
    model, gp = process
    draws = xr.Dataset({"ls": (("chain", "draw"), np.linspace(1.0, 3.0, 6).reshape(2, 3))})
    idata = xr.DataTree.from_dict({"posterior": draws})
    press(Evaluator, "at", 4)
    with pytest.raises(KeyboardInterrupt):
        gp.compute_log_likelihood(idata, model, progressbar=False)
    assert list(idata.children) == ["posterior"]
    press(Evaluator, "at", 2)
    with pytest.raises(KeyboardInterrupt):
        diagnosis.reweight(idata, model, particles=10, temperatures=2, progressbar=False)
    xr.testing.assert_identical(idata["posterior"].to_dataset(), draws)
