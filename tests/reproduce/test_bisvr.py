import numpy as np
import pytest
from scipy import stats

from pymc_bsvm.solvers import DualSolveError
from reproduce.bisvr import STARTS, Machine, Objective, Start, train

rng = np.random.default_rng(7)
X = rng.normal(size=(30, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=30) + 1.0
NEW = rng.normal(size=(5, 2))
# With beta = 1 and a tube that holds all residuals, SILF is Gaussian noise of variance
# 2 epsilon / C: section 4.2.1.
GAUSSIAN = np.log([400.0, 8.0, 100.0, 0.5, 0.1])


def covariance(x, A, B):
    """Return (4.42), written out."""
    squares = (A[:, None] - B) ** 2
    return Y.var() * np.exp(-0.5 * squares @ np.exp(x[3:])) + np.exp(x[2])


def log_density(x):
    """Return the evidence of Gaussian process regression."""
    K = covariance(x, X, X) + 2.0 * np.exp(x[1] - x[0]) * np.eye(len(Y))
    return stats.multivariate_normal.logpdf(Y, np.zeros(len(Y)), K)


def differences(function, x, step=1e-5):
    unit = step * np.eye(x.size)
    return np.array([(function(x + e) - function(x - e)) / (2.0 * step) for e in unit])


def test_the_evidence_is_that_of_a_gaussian_process_where_the_loss_is_a_square():
    objective = Objective(X, Y, 1.0, ard=True)
    value, slope = objective(GAUSSIAN)
    assert value == pytest.approx(log_density(GAUSSIAN), rel=1e-9)
    # Central differences have an error of about step² = 1e-10 beside rounding over step.
    assert slope == pytest.approx(differences(log_density, GAUSSIAN), rel=1e-6, abs=1e-6)
    assert objective.evaluations == 1


def test_so_are_its_predictions():
    objective = Objective(X, Y, 1.0, ard=True)
    machine = Machine(objective, GAUSSIAN, objective.evidence(GAUSSIAN))
    noise, cross = 2.0 * 8.0 / 400.0, covariance(GAUSSIAN, X, NEW)
    K = covariance(GAUSSIAN, X, X) + noise * np.eye(len(Y))
    mean, variance = machine.moments(NEW)
    assert mean == pytest.approx(cross.T @ np.linalg.solve(K, Y), rel=1e-8)
    prior = np.diag(covariance(GAUSSIAN, NEW, NEW))
    explained = np.sum(cross * np.linalg.solve(K, cross), axis=0)
    assert variance == pytest.approx(prior - explained + noise, rel=1e-8)


@pytest.mark.parametrize("ard", [False, True])
def test_the_slope_is_that_of_the_evidence(ard):
    x = np.log([8.0, 0.1, 50.0, *[0.4] * (2 if ard else 1)])
    objective = Objective(X, Y, 0.3, ard)
    _, slope = objective(x)

    def value(point):
        return objective.evidence(point).log_evidence

    # A step so short that no row changes its set, where the evidence would jump.
    sets = {tuple(objective.evidence(x + s).solution.free) for s in (-1e-5, 0.0, 1e-5)}
    assert len(sets) == 1
    assert slope == pytest.approx(differences(value, x), rel=1e-5, abs=1e-5)


def test_starts_are_those_of_the_thesis():
    assert np.exp(Start().logarithms(3, ard=True)) == pytest.approx([1, 0.05, 100, 0.5, 0.5, 0.5])
    assert np.exp(STARTS[3].logarithms(4, ard=False)) == pytest.approx([10, 0.05, 100, 0.25])


def test_training_climbs_and_more_starts_do_not_lose():
    first = Objective(X, Y, 0.3, False)
    begin, _ = first(Start().logarithms(2, ard=False))
    one, two = train(X, Y, 0.3), train(X, Y, 0.3, starts=STARTS[:2])
    assert one.evidence.log_evidence > begin
    assert two.found[0] == one.found[0]
    assert two.evidence.log_evidence == pytest.approx(max(two.found))
    assert one.loss.beta == 0.3
    assert len(one.kappa) == 1
    assert 0.01 <= one.loss.C <= 1000.0


def test_what_the_solver_cannot_do_is_a_wall(monkeypatch):
    objective = Objective(X, Y, 0.3, False)

    def fails(x):
        raise DualSolveError("The gap is large.", None)

    monkeypatch.setattr(objective, "evidence", fails)
    value, slope = objective(Start().logarithms(2, ard=False))
    assert value == -np.inf
    assert not slope.any()
