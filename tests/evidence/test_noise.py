"""Noise fitted to what the other rows say of each."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import logsumexp

from pymc_bsvm import losses
from pymc_bsvm.evidence.contaminated import ContaminatedNoise
from pymc_bsvm.evidence.noise import LeaveOneOut, fit_noise
from pymc_bsvm.evidence.posterior import Cavity
from pymc_bsvm.evidence.student import StudentNoise

N = 400


def others(noise, weight=None, machines=1, seed=3):
    """Return targets that are a known function of a latent value plus noise."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=N)
    variance = rng.uniform(0.001, 0.02, N)
    y = latent + np.sqrt(variance) * rng.normal(size=N) + noise(rng)
    cavities = [Cavity(latent + 0.1 * k, variance) for k in range(machines)]
    return LeaveOneOut(y, cavities, weight)


def gaussian(rng):
    return 0.3 * rng.normal(size=N)


def heavy(rng):
    return 0.2 * rng.standard_t(3.0, N)


def flat(rng):
    return rng.uniform(-0.5, 0.5, N)


def soiled(rng):
    return 0.3 * rng.normal(size=N) * np.where(rng.random(N) < 0.05, 10.0, 1.0)


def log_likelihood(data, parameters):
    """Return the log density of two Gaussians, ``(log sigma, logit share, log factor)``."""
    sigma, factor = np.exp(parameters[0]), np.exp(parameters[2])
    share = 1.0 / (1.0 + np.exp(-parameters[1]))
    cavity = data.cavities[0]
    parts = [
        np.log(weight) + stats.norm(cavity.mean, np.sqrt(cavity.variance + sd**2)).logpdf(data.y)
        for weight, sd in ((1.0 - share, sigma), (share, factor * sigma))
    ]
    return np.logaddexp(*parts).sum()


def test_score_is_the_sum_of_log_densities():
    data = others(gaussian)
    cavity = data.cavities[0]
    expected = stats.norm(cavity.mean, np.sqrt(cavity.variance + 0.09)).logpdf(data.y)
    assert data.score(losses.Gaussian(0.3)) == pytest.approx(expected.sum(), rel=1e-12)
    counts = np.arange(N) % 3.0
    weighted = LeaveOneOut(data.y, data.cavities, counts)
    assert weighted.score(losses.Gaussian(0.3)) == pytest.approx(counts @ expected, rel=1e-12)


def test_machines_are_averaged():
    data = others(gaussian, machines=3)
    each = [
        stats.norm(cavity.mean, np.sqrt(cavity.variance + 0.09)).logpdf(data.y)
        for cavity in data.cavities
    ]
    expected = (logsumexp(each, axis=0) - np.log(3.0)).sum()
    assert data.score(losses.Gaussian(0.3)) == pytest.approx(expected, rel=1e-12)


def test_gaussian_noise_is_found():
    found = fit_noise(others(gaussian), losses.Gaussian(2.0), "loss")
    assert found.sigma == pytest.approx(0.3, rel=0.1)


def test_student_noise_is_found():
    found = fit_noise(others(heavy), losses.Gaussian(0.3), "student")
    assert isinstance(found, StudentNoise)
    assert found.scale == pytest.approx(0.2, rel=0.2)
    assert 1.5 <= found.nu < 6.0


def test_no_contaminated_noise_scores_higher_anywhere():
    """A search over the whole box by differential evolution; ends of searches are 4e-5 nats off."""
    for noise in (heavy, soiled):
        data = others(noise)
        found = fit_noise(data, losses.SILF(C=5.0, epsilon=0.2, beta=0.3), "contaminated")
        assert isinstance(found, ContaminatedNoise)
        logit = np.log(found.share) - np.log1p(-found.share)
        own = np.array([np.log(found.core.sigma), logit, np.log(found.factor)])
        assert data.score(found) == pytest.approx(log_likelihood(data, own), rel=1e-10)
        box = [(np.log(0.02), np.log(2.0)), (-np.log(N - 1.0), 0.0), (np.log(2.0), np.log(100.0))]
        best = optimize.differential_evolution(
            lambda p, data=data: -log_likelihood(data, p), box, rng=0, popsize=8, tol=1e-5
        )
        assert data.score(found) > -best.fun - 5e-3


def test_contaminated_noise_is_found():
    """Within four standard errors, by the curvature of the log density at the truth."""
    truth = np.array([np.log(0.3), np.log(0.05 / 0.95), np.log(10.0)])
    for seed in range(3):
        data = others(soiled, seed=seed)
        found = fit_noise(data, losses.SILF(C=5.0, epsilon=0.2, beta=0.3), "contaminated")
        logit = np.log(found.share) - np.log1p(-found.share)
        own = np.array([np.log(found.core.sigma), logit, np.log(found.factor)])
        steps = 1e-3 * np.eye(3)
        curvature = [
            [
                sum(
                    a * b * log_likelihood(data, truth + a * one + b * other)
                    for a in (-1.0, 1.0)
                    for b in (-1.0, 1.0)
                )
                / 4e-6
                for other in steps
            ]
            for one in steps
        ]
        error = np.sqrt(np.diag(np.linalg.inv(-np.array(curvature))))
        assert (error < [0.06, 0.4, 0.3]).all()
        assert (np.abs(own - truth) < 4.0 * error).all()


@pytest.mark.parametrize("kind", ["loss", "student"])
@pytest.mark.parametrize("noise", [gaussian, heavy, flat])
def test_no_neighbour_scores_higher(noise, kind):
    data = others(noise)
    found = fit_noise(data, losses.SILF(C=5.0, epsilon=0.2, beta=0.3), kind)
    names = ("nu", "scale") if kind == "student" else ("C", "epsilon")
    best = data.score(found)
    for name in names:
        for factor in (0.9, 1.1):
            fields = {key: getattr(found, key) for key in names}
            fields[name] *= factor
            rest = {} if kind == "student" else {"beta": 0.3}
            inside = kind == "loss" or 1.5 <= fields["nu"] <= 300.0
            if inside:
                assert data.score(type(found)(**fields, **rest)) < best + 5e-3


def test_the_family_with_the_higher_score_is_chosen():
    silf = losses.SILF(C=5.0, epsilon=0.2, beta=0.3)
    assert isinstance(fit_noise(others(heavy), silf, "auto"), StudentNoise)
    assert isinstance(fit_noise(others(soiled), silf, "auto"), ContaminatedNoise)
    chosen = fit_noise(others(flat), silf, "auto")
    assert isinstance(chosen, losses.SILF)
    assert chosen.beta == 0.3
    assert chosen.variance() == pytest.approx(1.0 / 12.0, rel=0.1)


def test_gross_errors_have_to_gain_two_nats():
    """No set of Gaussian noise has any, each with errors that are ten times as wide has."""
    silf = losses.SILF(C=5.0, epsilon=0.2, beta=1.0)
    chosen = dict.fromkeys((gaussian, heavy, soiled), 0)
    for noise in chosen:
        for seed in range(6):
            data = others(noise, seed=seed)
            score = {
                kind: data.score(fit_noise(data, silf, kind))
                for kind in ("loss", "student", "contaminated")
            }
            gains = score.pop("contaminated") > max(score.values()) + 2.0
            found = fit_noise(data, silf, "auto")
            assert isinstance(found, ContaminatedNoise) == gains
            chosen[noise] += gains
    assert chosen[gaussian] == 0
    assert chosen[heavy] <= 1
    assert chosen[soiled] == 6


def test_few_rows_have_no_gross_errors():
    silf = losses.SILF(C=5.0, epsilon=0.2, beta=0.3)
    data = others(soiled)
    order = np.argsort(-np.abs(data.y - data.cavities[0].mean))
    for n, kind in ((59, StudentNoise), (60, ContaminatedNoise)):
        rows = np.concatenate([order[:3], order[60 : 57 + n]])
        cavity = data.cavities[0]
        few = LeaveOneOut(data.y[rows], [Cavity(cavity.mean[rows], cavity.variance[rows])])
        assert isinstance(fit_noise(few, silf, "auto"), kind)
        assert isinstance(fit_noise(few, silf, "contaminated"), ContaminatedNoise)


def test_a_share_is_kept_and_weights_are_repeated_rows():
    counts = np.random.default_rng(1).integers(0, 3, N)
    one = others(heavy, counts.astype(float))
    cavity = one.cavities[0]
    repeated = Cavity(np.repeat(cavity.mean, counts), np.repeat(cavity.variance, counts))
    many = LeaveOneOut(np.repeat(one.y, counts), [repeated])
    silf = losses.SILF(C=5.0, epsilon=0.2, beta=0.3)
    a, b = fit_noise(one, silf, "loss"), fit_noise(many, silf, "loss")
    assert (a.C, a.epsilon, a.beta) == pytest.approx((b.C, b.epsilon, b.beta), rel=1e-3)
    a, b = (fit_noise(each, silf, "contaminated") for each in (one, many))
    assert (a.core.sigma, a.share, a.factor) == pytest.approx(
        (b.core.sigma, b.share, b.factor), rel=1e-2
    )


def test_exact_targets_give_narrow_noise():
    latent = np.linspace(-1.0, 1.0, 50)
    data = LeaveOneOut(latent, [Cavity(latent, np.full(50, 1e-12))])
    found = fit_noise(data, losses.SILF(C=5.0, epsilon=0.2, beta=0.3), "auto")
    assert np.isfinite(data.score(found))
    assert found.variance() < 1e-3


def test_few_rows_keep_the_noise_of_the_model():
    silf = losses.SILF(C=5.0, epsilon=0.2, beta=0.3)
    data = others(heavy)
    few = [
        LeaveOneOut(data.y[:n], [Cavity(c.mean[:n], c.variance[:n]) for c in data.cavities])
        for n in (9, 10)
    ]
    assert fit_noise(few[0], silf, "auto") is silf
    assert fit_noise(few[1], silf, "auto") != silf
    assert isinstance(fit_noise(few[0], silf, "student"), StudentNoise)


def test_the_noise_of_the_model_may_be_kept():
    silf = losses.SILF(C=5.0, epsilon=0.2, beta=0.3)
    assert fit_noise(others(heavy), silf, "model") is silf


def test_unknown_kinds_are_refused():
    expected = r"'auto', 'loss', 'student', 'contaminated' or 'model', but it is 'cauchy'"
    with pytest.raises(ValueError, match=expected):
        fit_noise(others(gaussian), losses.Gaussian(0.3), "cauchy")
