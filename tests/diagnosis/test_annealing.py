"""`annealed_evidence` against quadrature, exact regression and long runs of another sampler."""

import logging

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from pymc_bsvm import losses
from pymc_bsvm.diagnosis import annealing
from pymc_bsvm.diagnosis.annealing import annealed_evidence
from pymc_bsvm.losses.tilted import Tilted
from tests.solvers.problems import problem, rbf

QUIET = {"progressbar": False}
SILF = losses.SILF(10.0, 0.1, 0.3)
TRIGONOMETRIC = losses.Trigonometric()


def line(n, amplitude):
    """Return the covariance of n rows one length-scale and a half apart."""
    return rbf(np.arange(n)[:, None], amplitude, 0.5)


class Quadrature:
    """Evidence and latent moments by the midpoint rule on a grid of whitened latent values."""

    def __init__(self, K, y, loss, m=0.0, nodes=None, edge=7.5):
        n = y.size
        nodes = nodes or {2: 1001, 3: 111}[n]
        axis = (np.arange(nodes) + 0.5) / nodes * 2.0 * edge - edge
        white = np.stack(np.meshgrid(*[axis] * n, indexing="ij"), axis=-1).reshape(-1, n)
        f = m + white @ np.linalg.cholesky(K).T
        log_terms = -0.5 * (white**2).sum(axis=1) - loss.value(y, f).sum(axis=1)
        total = logsumexp(log_terms)
        cell = n * np.log(2.0 * edge / nodes / np.sqrt(2.0 * np.pi))
        weights = np.exp(log_terms - total)
        log_normalizer = np.broadcast_to(loss.log_normalizer(), n).sum()
        self.log_evidence = total + cell - log_normalizer
        self.mean = weights @ f
        self.sd = np.sqrt(weights @ (f - self.mean) ** 2)


def assert_moments(got, mean, sd, ess):
    """Compare moments within four Monte Carlo errors."""
    assert np.all(np.abs(got.mean - mean) <= 4.0 * got.mean_error + 1e-9)
    assert np.all(got.mean_error < 2.0 * sd / np.sqrt(ess) + 1e-9)
    np.testing.assert_allclose(got.sd, sd, rtol=4.0 / np.sqrt(ess))  # twice what a Gaussian has


# ---- small problems by quadrature ---------------------------------------------------------------

SMALL = [
    (SILF, [0.5, -0.4], 0.1),
    (losses.Huber(4.0, 0.2), [0.5, -0.4], 0.3),
    (losses.SILF(3.0, 0.5, 0.1), [0.5, 1.4, 0.7], 1.0),
    (losses.EpsilonInsensitive(10.0, 0.1), [0.5, -0.4], 1.0),
    (losses.Laplace(5.0), [0.5, -0.4], 1.0),
    (TRIGONOMETRIC, [1.0, -1.0], 10.0),
    (TRIGONOMETRIC, [1.0, -1.0, 1.0], 3.0),
    (losses.Trigonometric(2.0), [1.0, -1.0], 100.0),
    (losses.Logistic(), [1.0, -1.0], 10.0),
    (losses.Probit(), [1.0, -1.0], 3.0),
]
BY_ROW = [
    (losses.SILF(np.array([10.0, 3.0]), np.array([0.1, 0.4]), 0.3), [0.5, -0.4], 1.0),
    (losses.Trigonometric(np.array([1.0, 3.0, 0.5])), [1.0, -1.0, 1.0], 3.0),
]


@pytest.mark.parametrize(("loss", "targets", "amplitude"), SMALL + BY_ROW, ids=str)
def test_agrees_with_quadrature(loss, targets, amplitude):
    y, m = np.array(targets), np.array([0.05, -0.2, 0.1])[: len(targets)]
    K = line(y.size, amplitude)
    exact = Quadrature(K, y, loss, m)
    got = annealed_evidence(K, y, loss, m, random_seed=3, **QUIET)
    assert got.base == "EP"
    assert got.standard_error < 0.015
    assert abs(got.log_evidence - exact.log_evidence) <= 4.0 * got.standard_error
    assert_moments(got.moments, exact.mean, exact.sd, got.ess)


@pytest.mark.parametrize(("loss", "targets", "amplitude"), SMALL[1::5], ids=str)
def test_the_prior_as_base_agrees_with_quadrature(loss, targets, amplitude):
    y = np.array(targets)
    K = line(y.size, amplitude)
    got = annealed_evidence(K, y, loss, base="prior", random_seed=5, **QUIET)
    assert got.base == "prior"
    assert got.standard_error < 0.1
    assert abs(got.log_evidence - Quadrature(K, y, loss).log_evidence) <= 4.0 * got.standard_error


@pytest.mark.parametrize("base", ["EP", "prior"])
@pytest.mark.parametrize("case", [0, 5], ids=["SILF", "Trigonometric"])
def test_the_mean_of_many_tiny_runs_is_unbiased(case, base):
    """Ten particles and two temperatures are a bad estimate, but an unbiased one."""
    loss, targets, amplitude = SMALL[case]
    y = np.array(targets)
    K = line(y.size, amplitude)
    exact = Quadrature(K, y, loss).log_evidence
    tiny = {"particles": 5, "temperatures": 2, "replicates": 100, "base": base, **QUIET}
    runs = [annealed_evidence(K, y, loss, random_seed=seed, **tiny) for seed in range(8)]
    share = np.exp(np.concatenate([run.replicates for run in runs]) - exact)
    error = share.std(ddof=1) / np.sqrt(share.size)
    assert share.std() > 0.02
    assert error < 0.15
    assert abs(share.mean() - 1.0) <= 4.0 * error


def test_the_error_is_the_larger_of_two():
    """That of all particles as one sample, and that of the replicates' means."""
    y = np.array([0.5, -0.4])
    larger = []
    for seed in range(12):
        got = annealed_evidence(
            line(2, 1.0),
            y,
            SILF,
            particles=20,
            temperatures=3,
            base="prior",
            random_seed=seed,
            **QUIET,
        )
        assert got.replicates.size == 4
        errors = [
            x.std(ddof=1) / x.mean() / np.sqrt(x.size)
            for x in (got.weights, np.exp(got.replicates - got.log_evidence))
        ]
        assert got.standard_error == pytest.approx(max(errors), rel=1e-9)
        larger.append(int(np.argmax(errors)))
    assert set(larger) == {0, 1}


@pytest.mark.parametrize(("base", "power"), [("EP", 2), ("prior", 4)])
def test_temperatures_are_dense_where_the_path_begins(base, power, monkeypatch):
    seen, anneal = [], annealing.anneal

    def record(path, temperatures, *arguments):
        seen.append(temperatures)
        return anneal(path, temperatures, *arguments)

    monkeypatch.setattr(annealing, "anneal", record)
    settings = {"particles": 3, "temperatures": 5, "replicates": 2, "random_seed": 0, **QUIET}
    annealed_evidence(line(2, 1.0), np.array([0.5, -0.4]), SILF, base=base, **settings)
    np.testing.assert_allclose(seen, [(np.arange(6) / 5) ** power] * 2, rtol=1e-14)


# ---- exact regression ---------------------------------------------------------------------------


def regression(n=20, sigma=0.2, m=0.1):
    K, y = problem(losses.Gaussian(sigma), n)
    S = K + sigma**2 * np.eye(n)
    gain = np.linalg.solve(S, K).T
    V = K - gain @ K
    return K, y, m, losses.Gaussian(sigma), m + gain @ (y - m), V


def test_gaussian_noise_is_exact():
    """The sites are the likelihood itself, so that nothing is left to anneal."""
    K, y, m, loss, mean, V = regression()
    got = annealed_evidence(K, y, loss, m, random_seed=0, **QUIET)
    exact = multivariate_normal.logpdf(y, np.full(y.size, m), K + loss.variance() * np.eye(y.size))
    assert got.log_evidence == pytest.approx(exact, abs=max(1e-3, 4.0 * got.standard_error))
    assert got.standard_error < 1e-3
    assert got.ess > 1999.0
    assert_moments(got.moments, mean, np.sqrt(np.diag(V)), got.ess)
    assert "particles" in str(got)


def test_gaussian_noise_from_the_prior():
    K, y, m, loss, mean, V = regression()
    settings = {"temperatures": 400, "base": "prior", **QUIET}
    got = annealed_evidence(K, y, loss, m, random_seed=1, **settings)
    exact = multivariate_normal.logpdf(y, np.full(y.size, m), K + loss.variance() * np.eye(y.size))
    assert got.standard_error < 0.15
    assert abs(got.log_evidence - exact) <= 4.0 * got.standard_error
    assert_moments(got.moments, mean, np.sqrt(np.diag(V)), got.ess)


def test_predictions_of_exact_regression():
    K, y = problem(losses.Gaussian(0.2), 26)
    X = np.random.default_rng(0).uniform(-10.0, 10.0, 26)[:, None] / 5.0
    K, rows, new = rbf(X, 1.0, 5.0, 0.5), slice(0, 20), slice(20, 26)
    loss = losses.Gaussian(0.2)
    got = annealed_evidence(K[rows, rows], y[rows], loss, 0.1, random_seed=2, **QUIET)
    S, cross = K[rows, rows] + 0.04 * np.eye(20), K[rows, new]
    mean = 0.3 + cross.T @ np.linalg.solve(S, y[rows] - 0.1)
    sd = np.sqrt(np.diag(K)[new] - np.einsum("ij,ij->j", cross, np.linalg.solve(S, cross)))
    predicted = got.predict(cross, np.diag(K)[new], np.full(6, 0.3))
    assert_moments(predicted, mean, sd, got.ess)


def test_predictions_at_the_data_are_the_latent_values():
    K, y = problem(SILF, 30)
    got = annealed_evidence(K, y, SILF, particles=50, temperatures=5, random_seed=0, **QUIET)
    again = got.predict(K, np.diag(K))
    for one, other in zip(again, got.moments, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got.moments.mean, got.weights @ got.f, rtol=0, atol=1e-10)


def test_singular_covariance():
    """Rows that stand twice are one latent value with two observations."""
    K, y = problem(losses.Gaussian(0.2), 10)
    rows = np.repeat(np.arange(10), 2)
    loss = losses.Gaussian(0.3)
    once = annealed_evidence(K, y, losses.Gaussian(0.3 / np.sqrt(2.0)), random_seed=0, **QUIET)
    twice = annealed_evidence(K[np.ix_(rows, rows)], y[rows], loss, random_seed=0, **QUIET)
    np.testing.assert_array_equal(twice.f.shape, (2000, 20))
    np.testing.assert_allclose(twice.f[:, ::2], twice.f[:, 1::2], rtol=0, atol=1e-12)
    gap = twice.moments.mean[::2] - once.moments.mean
    error = np.hypot(twice.moments.mean_error[::2], once.moments.mean_error)
    assert np.all(np.abs(gap) <= 4.0 * error)
    S = K[np.ix_(rows, rows)] + 0.09 * np.eye(20)
    assert twice.log_evidence == pytest.approx(multivariate_normal.logpdf(y[rows], cov=S), abs=1e-3)


def test_a_row_that_is_known_a_priori():
    K = np.diag([0.0, 1.0])
    got = annealed_evidence(K, [0.3, 0.2], SILF, [0.1, 0.0], random_seed=0, **QUIET)
    known = -float(SILF.value(0.3, 0.1)) - SILF.log_normalizer()
    one = annealed_evidence([[1.0]], [0.2], SILF, random_seed=0, **QUIET)
    difference = got.log_evidence - known - one.log_evidence
    assert abs(difference) <= 4.0 * np.hypot(got.standard_error, one.standard_error) + 1e-12
    np.testing.assert_allclose(got.f[:, 0], 0.1, rtol=0, atol=1e-14)
    assert got.moments.sd[0] == 0.0


# ---- an independent sampler ---------------------------------------------------------------------


def slice_chains(K, y, loss, m, chains, draws, rng):
    """Sample latent values by elliptical slices of the prior, one chain per row, in plain loops.

    It has neither a base nor temperatures, and starts where the likelihood is positive.
    """
    n, lower = y.size, np.linalg.cholesky(K + 1e-10 * np.eye(y.size))
    f = np.tile(
        np.where(y > 0.0, 0.1, -0.1) if loss.task == "classification" else np.full(n, m),
        (chains, 1),
    )
    log_likelihood = -loss.value(y, f).sum(axis=1)
    kept = np.empty((draws, chains, n))
    for draw in range(-draws // 10, draws):
        other = rng.normal(size=(chains, n)) @ lower.T
        level = log_likelihood + np.log(rng.uniform(size=chains))
        angle = rng.uniform(0.0, 2.0 * np.pi, chains)
        low, high, waiting = angle - 2.0 * np.pi, angle.copy(), np.full(chains, True)
        new, new_value = f.copy(), log_likelihood.copy()
        while waiting.any():
            proposal = m + (f - m) * np.cos(angle)[:, None] + other * np.sin(angle)[:, None]
            value = -loss.value(y, proposal).sum(axis=1)
            taken = waiting & (value > level)
            new[taken], new_value[taken] = proposal[taken], value[taken]
            waiting &= ~taken
            low = np.where(waiting & (angle < 0.0), angle, low)
            high = np.where(waiting & (angle >= 0.0), angle, high)
            angle = np.where(waiting, rng.uniform(low, high), angle)
        f, log_likelihood = new, new_value
        if draw >= 0:
            kept[draw] = f
    return kept


@pytest.mark.slow
@pytest.mark.parametrize("loss", [losses.SILF(4.0, 0.2, 0.3), TRIGONOMETRIC], ids=str)
def test_latent_moments_agree_with_elliptical_slice_sampling(loss):
    K, y = problem(loss, 15)
    kept = slice_chains(K, y, loss, 0.0, 200, 3000, np.random.default_rng(0))
    by_chain = kept.mean(axis=0)
    mean, mean_error = by_chain.mean(axis=0), by_chain.std(axis=0, ddof=1) / np.sqrt(200)
    sd = np.sqrt(((kept - mean) ** 2).mean(axis=(0, 1)))
    got = annealed_evidence(K, y, loss, random_seed=0, particles=2000, **QUIET)
    assert np.all(mean_error < 0.02 * sd)
    error = np.hypot(mean_error, got.moments.mean_error)
    assert np.all(np.abs(got.moments.mean - mean) <= 4.0 * error)
    np.testing.assert_allclose(got.moments.sd, sd, rtol=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [losses.SILF(4.0, 0.2, 0.3), TRIGONOMETRIC], ids=str)
def test_evidence_agrees_with_a_long_run_from_the_prior(loss):
    K, y = problem(loss, 15)
    long = annealed_evidence(K, y, loss, base="prior", temperatures=2000, random_seed=0, **QUIET)
    got = annealed_evidence(K, y, loss, random_seed=1, **QUIET)
    assert got.standard_error < 0.01
    assert long.standard_error < 0.05
    error = np.hypot(got.standard_error, long.standard_error)
    assert abs(got.log_evidence - long.log_evidence) <= 4.0 * error


# ---- the wall -----------------------------------------------------------------------------------


def test_many_rows_before_the_wall():
    """One particle in ten starts on the right side of all 30 walls; the others walk there."""
    y = np.where(np.arange(30) % 2 == 0, 1.0, -1.0)
    K = 100.0 * np.eye(30)  # independent rows: the evidence is known
    one = Quadrature(K[:2, :2], y[:2], TRIGONOMETRIC, nodes=2001).log_evidence
    assert one == pytest.approx(2.0 * np.log(0.5), abs=1e-4)
    got = annealed_evidence(K, y, TRIGONOMETRIC, temperatures=200, random_seed=1, **QUIET)
    assert got.efficiency > 0.1
    assert got.standard_error < 0.15
    assert abs(got.log_evidence - 30.0 * np.log(0.5)) <= 4.0 * got.standard_error
    assert np.all(y * got.f[got.weights > 0.0] > -1.0)


# ---- pieces -------------------------------------------------------------------------------------


def test_falls_back_to_the_prior(monkeypatch, caplog):
    def no_moments(*_):
        return Tilted(*np.full((4, 2), np.nan))

    monkeypatch.setattr(losses.SILF, "tilted", no_moments)
    K, y = line(2, 0.1), np.array([0.5, -0.4])
    with caplog.at_level(logging.WARNING, "pymc_bsvm"):
        got = annealed_evidence(K, y, SILF, random_seed=0, **QUIET)
    assert got.base == "prior"
    assert "start from the prior" in caplog.text
    assert abs(got.log_evidence - Quadrature(K, y, SILF).log_evidence) <= 4.0 * got.standard_error


def test_results_repeat_with_the_seed_and_replicates_make_the_estimate():
    K, y = problem(SILF, 12)
    settings = {"particles": 20, "temperatures": 4, "replicates": 3, **QUIET}
    one, same, other = (annealed_evidence(K, y, SILF, random_seed=s, **settings) for s in (1, 1, 2))
    assert one.log_evidence == same.log_evidence != other.log_evidence
    np.testing.assert_array_equal(one.f, same.f)
    assert one.f.shape == (60, 12)
    assert one.replicates.shape == (3,)
    assert one.weights.sum() == pytest.approx(1.0)
    pooled = logsumexp(one.replicates) - np.log(3.0)
    assert one.log_evidence == pytest.approx(pooled, abs=1e-12)
    share = np.exp(one.replicates - one.log_evidence)
    assert one.standard_error >= share.std(ddof=1) / np.sqrt(3.0) - 1e-12
    drawn = one.draws(7, random_seed=0)
    assert drawn.shape == (7, 12)
    assert all((one.f == row).all(axis=1).any() for row in drawn)


def test_draws_follow_the_weights():
    y, K = np.array([1.0, -1.0]), line(2, 10.0)
    got = annealed_evidence(K, y, TRIGONOMETRIC, random_seed=4, **QUIET)
    drawn = got.draws(20_000, random_seed=0)
    error = drawn.std(axis=0) / np.sqrt(20_000)
    assert np.all(np.abs(drawn.mean(axis=0) - got.moments.mean) <= 4.0 * error)


def test_the_progress_bar_can_be_switched_off(capsys):
    settings = {"particles": 2, "temperatures": 1, "replicates": 2}
    annealed_evidence([[1.0]], [0.1], SILF, progressbar=False, **settings)
    assert capsys.readouterr().out == ""
    annealed_evidence([[1.0]], [0.1], SILF, **settings)
    assert "Annealing" in capsys.readouterr().out


# ---- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"K": np.ones((2, 3))}, ValueError, "square"),
        ({"K": np.array([[1.0, 0.5], [0.2, 1.0]])}, ValueError, "symmetric"),
        ({"K": np.array([[1.0, 2.0], [2.0, 1.0]])}, ValueError, "semidefinite"),
        ({"K": np.array([[1.0, np.nan], [np.nan, 1.0]])}, ValueError, "finite"),
        ({"y": np.zeros(3)}, ValueError, r"y must have shape \(2,\)"),
        ({"y": np.array([0.0, np.inf])}, ValueError, "finite"),
        ({"m": np.zeros(3)}, ValueError, r"m must have shape \(2,\)"),
        ({"m": np.nan}, ValueError, "m must be finite"),
        ({"loss": "SILF"}, TypeError, "must be a loss"),
        ({"loss": losses.SoftMarginL2(1.0)}, ValueError, "not a negative log likelihood"),
        ({"loss": TRIGONOMETRIC}, ValueError, "labels -1 and 1"),
        ({"particles": 1}, ValueError, "particles must be an integer >= 2"),
        ({"temperatures": 0}, ValueError, "temperatures must be an integer >= 1"),
        ({"replicates": 1.5}, ValueError, "replicates must be an integer >= 2"),
        ({"base": "Laplace"}, ValueError, "base must be"),
    ],
)
def test_errors(changes, error, match):
    arguments = {"K": np.eye(2), "y": np.array([0.1, 0.2]), "loss": SILF, "m": None, **changes}
    first = [arguments.pop(key) for key in ("K", "y", "loss", "m")]
    with pytest.raises(error, match=match) as raised:
        annealed_evidence(*first, **arguments, **QUIET)
    assert str(raised.value).count(". ") >= 1


def test_an_indefinite_matrix_with_valid_minors_is_told_apart():
    K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    with pytest.raises(ValueError, match="eigenvalue"):
        annealed_evidence(K, np.zeros(3), SILF, **QUIET)


def test_predictions_need_the_training_rows():
    got = annealed_evidence(np.eye(2), [0.1, 0.2], SILF, particles=2, temperatures=1, **QUIET)
    with pytest.raises(ValueError, match="cross must have 2 rows"):
        got.predict(np.ones((3, 1)), np.ones(1))


def test_no_likelihood_at_any_particle():
    with pytest.raises(ValueError, match="likelihood is zero at every particle"):
        annealing._estimate(np.full((2, 3), -np.inf), 0.0)
