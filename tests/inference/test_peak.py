"""Fits that end on a spike of Laplace's evidence, against annealing, which knows of no mode."""

import re
import warnings

import numpy as np
import pymc as pm
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.diagnosis import annealed_evidence
from pymc_bsvm.inference import Peak, peak
from tests.gp import cases

pytestmark = [
    pytest.mark.usefixtures("quick"),
    pytest.mark.filterwarnings("default:To .* neighbours of the fit:UserWarning"),
]
SPIKE = r"^To \d neighbours of the fit .*\. The fit is on a spike of Laplace's approximation: use "
QUIET = {"progressbar": False}


def growing_noise(n, seed):
    """Return a sine with Student's noise of three degrees of freedom that grows with x."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3.0, 3.0, n))
    return x[:, None], np.sin(2.0 * x) + (0.25 + 0.05 * x) * rng.standard_t(3, n)


def notebook():
    """Return the data of notebooks/01_regression.py."""
    return bsvm.datasets.sinc(150, outliers=0.05, outlier_scale=2.0, C=20, epsilon=0.2, beta=0.3)


def model_of(X, y, approximation="laplace"):
    """Return the model of the notebook."""
    with pm.Model() as model:
        C, epsilon = pm.LogNormal("C", 2, 1), pm.HalfNormal("epsilon", 0.3)
        ls, eta = pm.InverseGamma("ls", 3, 5), pm.HalfNormal("eta", 1)
        gp = bsvm.gp.BSVR(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon, approximation=approximation)
    return model


def excess(X, y, point, move=(0.0, 0.0, 0.0, 0.0)):
    """Return Laplace's log evidence less an unbiased one, at a distance from a fit."""
    names = ("C", "epsilon", "ls", "eta")
    C, epsilon, ls, eta = (float(point[k]) * np.exp(by) for k, by in zip(names, move, strict=True))
    K, loss = eta**2 * np.exp(-0.5 * (X - X.T) ** 2 / ls**2), losses.SILF(C, epsilon)
    settings = {"particles": 100, "temperatures": 20, "replicates": 2, "random_seed": 1}
    annealed = annealed_evidence(K, y, loss, **settings, **QUIET)
    assert annealed.standard_error < 0.1
    return bsvm.laplace_evidence(K, y, loss).log_evidence - annealed.log_evidence


def height_of(X, y, point):
    """Return by how much Laplace's evidence stands out at a fit, from four neighbours."""
    moves = 0.2 * np.array([[1, 1, 1, 1], [1, -1, 1, -1]])
    around = [excess(X, y, point, side * move) for move in moves for side in (1.0, -1.0)]
    return excess(X, y, point) - np.mean(around)


@pytest.mark.parametrize("seed", [1, 4])
def test_a_spike_is_seen(seed):
    """On 60 rows: of four nats and of one and a half."""
    X, y = growing_noise(60, seed)
    with pytest.warns(UserWarning, match=SPIKE):
        fit = bsvm.fit_evidence(model_of(X, y), **QUIET)
    height = height_of(X, y, fit.point)
    assert height > 1.0
    assert fit.check.is_spike
    assert fit.check.height == pytest.approx(height, abs=1.0)
    assert str(fit.check) in str(fit)
    assert f"falls by {fit.check.laplace:.2f} nats on average" in fit._repr_html_()


@pytest.mark.parametrize(
    "data", [growing_noise(150, 15), notebook()], ids=["growing noise", "notebook"]
)
def test_no_spike_no_warning(data):
    """The fit of the notebook stands out by half a nat."""
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = bsvm.fit_evidence(model_of(X, y), **QUIET)
    assert not fit.check.is_spike
    assert fit.check.height == pytest.approx(height_of(X, y, fit.point), abs=0.4)


def gaussian(data, **others):
    with pm.Model() as model:
        sigma = pm.HalfNormal("sigma", 1.0)
        gp = bsvm.gp.Laplace(cov_func=cases.ard_cov(pm.LogNormal("ls", 0.0, 0.5, shape=2)))
        gp.marginal_likelihood("y", X=data.X, y=data.y, loss=losses.Gaussian(sigma), **others)
    return model


def test_where_both_are_exact_they_fall_alike(data):
    fit = bsvm.fit_evidence(gaussian(data), check=True, **QUIET)
    assert fit.check.neighbours == 6
    assert fit.check.laplace == pytest.approx(fit.check.ep, abs=1e-6)

    def height(*logs):
        sigma, *ls = np.exp(logs)
        K = cases.ard(data.X, data.X, np.array(ls)) + sigma**2 * np.eye(data.y.size)
        _, log_det = np.linalg.slogdet(2.0 * np.pi * K)
        return -0.5 * (log_det + data.y @ np.linalg.solve(K, data.y))

    mode = np.log([fit.point["sigma"], *fit.point["ls"]])
    signs = np.array([[1, 1, 1], [1, -1, 1], [1, 1, -1]])
    moves = [0.2 * side * row for row in signs for side in (1.0, -1.0)]
    fall = height(*mode) - np.mean([height(*(mode + move)) for move in moves])
    assert fit.check.ep == pytest.approx(fall, abs=1e-6)


def test_when_nothing_is_compared(data, monkeypatch):
    assert bsvm.fit_evidence(gaussian(data), check=False, **QUIET).check is None
    assert bsvm.fit_evidence(gaussian(data, approximation="ep"), check=True, **QUIET).check is None
    monkeypatch.setattr(peak, "_MANY", 24)
    fit = bsvm.fit_evidence(gaussian(data), **QUIET)
    assert fit.check is None
    assert "neighbours" not in str(fit)


def test_a_step_on_which_the_evidence_falls_too_far_is_shortened(data):
    """The level of targets in small units: steps of 0.2 would be those of another model."""
    with pm.Model() as model:
        level = pm.Normal("level", 0.0, 1.0)
        gp = bsvm.gp.BSVR(
            mean_func=pm.gp.mean.Constant(level), cov_func=1e-6 * pm.gp.cov.ExpQuad(2, ls=1.0)
        )
        gp.marginal_likelihood("y", X=data.X, y=1e-3 * data.y, C=5e3, epsilon=2e-4)
    fit = bsvm.fit_evidence(model, **QUIET)
    assert 0.0 < fit.check.ep < 4.0
    assert fit.check.neighbours == 2


def test_a_failure_of_expectation_propagation_is_no_verdict(data, monkeypatch):
    monkeypatch.setattr(peak, "_ROUGH", peak.EP(tol=1e-12, max_iter=1))
    model = cases.regression(data.X, data.y).model
    assert bsvm.fit_evidence(model, **QUIET).check is None


@pytest.mark.parametrize(
    ("rows", "evaluations", "pairs"),
    [(60, 10, 1), (60, 60, 1), (60, 95, 2), (300, 54, 0), (300, 56, 1), (300, 500, 12)],
)
def test_the_check_takes_a_fifth_of_the_search(rows, evaluations, pairs):
    """An evaluation by expectation propagation for three of the search; one pair on few rows."""
    assert peak._afforded(rows, evaluations) == pairs
    assert pairs < 1 or rows < 200 or 3 + pairs * 8 <= 0.2 * evaluations


def test_heights_and_words():
    got = Peak(laplace=2.5, ep=1.0, neighbours=4)
    assert got.height == 1.5
    assert got.is_spike
    assert not Peak(2.0, 1.0, 4).is_spike
    assert re.fullmatch(
        r"To 4 neighbours of the fit Laplace's evidence falls by 2\.50 nats on average, that of "
        r"expectation propagation by 1\.00",
        str(got),
    )


def test_what_check_may_be(data):
    with pytest.raises(ValueError, match=r"check must be 'auto', True or False, but it is 'yes'\."):
        bsvm.fit_evidence(gaussian(data), check="yes", **QUIET)
