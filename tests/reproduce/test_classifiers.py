import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

import pymc_bsvm as bsvm
from pymc_bsvm.datasets import two_gaussians
from reproduce.classifiers import (
    Classifier,
    PapersEvidence,
    btsvc,
    btsvc_at,
    chosen_svc,
    covariance,
    folds_of,
    scores,
    trained,
)

THETA = np.array([3.0, 0.4, 20.0])
BY_COLUMN = np.array([3.0, 0.4, 1.1, 20.0])


@pytest.fixture(scope="module")
def data():
    return two_gaussians(40, dim=2, random_state=3)


@pytest.fixture(scope="module")
def found(data):
    return btsvc_at(*data, THETA)


@pytest.mark.parametrize(("theta", "kappa"), [(THETA, [0.4, 0.4]), (BY_COLUMN, [0.4, 1.1])])
def test_the_covariance_is_that_of_the_thesis(data, theta, kappa):
    x, z = data[0][0], data[0][1]
    expected = 3.0 * np.exp(-0.5 * np.sum(kappa * (x - z) ** 2)) + 20.0
    assert covariance(theta, x[None], z[None])[0, 0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("theta", [THETA, BY_COLUMN])
def test_the_evidence_has_the_exact_curvature_and_its_gradient(data, theta):
    X, labels = data
    objective = PapersEvidence(X, labels)
    value, slope = objective(np.log(theta))
    K = covariance(theta, X, X)
    loss = bsvm.losses.Trigonometric()
    expected = bsvm.laplace_evidence(K, 2.0 * labels - 1.0, loss, "exact").log_evidence
    assert value == pytest.approx(expected, abs=1e-8)
    step = 1e-5  # too short for a row to join the free ones here, so that there is no jump
    for k in range(theta.size):
        ends = [np.log(theta) + sign * step * np.eye(theta.size)[k] for sign in (1, -1)]
        difference = np.subtract(*(objective(end)[0] for end in ends)) / (2.0 * step)
        assert slope[k] == pytest.approx(difference, abs=1e-5)  # rounding over the step


def test_the_probability_is_the_integral_of_the_thesis(found):
    Z = np.array([[-1.0, 0.5], [0.3, -0.2]])
    for mean, deviation, p in zip(*found.latent(Z), found.probability(Z), strict=True):
        inside = quad(
            lambda f, m=mean, s=deviation: (
                np.cos(0.25 * np.pi * (1.0 - f)) ** 2 * norm.pdf(f, m, s)
            ),
            -1.0,
            1.0,
        )[0]
        assert p == pytest.approx(inside + norm.sf(1.0, mean, deviation), abs=1e-8)  # of quad


def test_the_latent_function_passes_through_the_mode(data, found):
    X, labels = data
    K = covariance(THETA, X, X)
    solution = bsvm.solve_dual(K, 2.0 * labels - 1.0, bsvm.losses.Trigonometric())
    np.testing.assert_allclose(found.latent(X)[0], solution.f, atol=1e-6)  # of the gap
    assert found.facts["support"] == solution.support.sum()


def test_training_climbs_from_the_start(data):
    X, labels = data
    facts = btsvc(X, labels).facts
    start = -btsvc_at(X, labels, np.array([10.0, 0.5, 100.0])).facts["minus_log_evidence"]
    assert -facts["minus_log_evidence"] > start
    assert facts["evaluations"] > 3
    theta = np.array([facts["kappa_0"], facts["kappa"], facts["kappa_b"]])
    again = btsvc_at(X, labels, theta).facts["minus_log_evidence"]
    assert again == pytest.approx(facts["minus_log_evidence"], abs=1e-6)


@pytest.mark.parametrize("search", ["once", "again", "smooth"])
def test_all_searches_climb_alike(data, search):
    facts = btsvc(*data, search=search).facts
    usual = btsvc(*data).facts
    # jumps of the exact evidence are of tenths of a nat on so few rows
    assert facts["minus_log_evidence"] == pytest.approx(usual["minus_log_evidence"], abs=1.5)
    assert facts["evaluations"] > 3


def test_both_gaussian_process_classifiers_agree_on_easy_rows(data):
    X, labels = data
    Z, truth = two_gaussians(1000, dim=2, random_state=4)
    for method in ("btsvc", "gpc", "default"):
        assert scores(trained(method, X, labels), Z, truth)["error"] < 0.08  # 0.049 is optimal


def test_the_offset_of_gpc_may_be_given(data):
    free, given = trained("gpc", *data).facts, trained("gpc", *data, kappa_b=3.0).facts
    assert given["kappa_b"] == 3.0
    assert given["minus_log_evidence"] > free["minus_log_evidence"] - 1e-3  # of L-BFGS-B


def test_the_grid_search_counts_its_errors():
    X, labels = two_gaussians(16, random_state=2)
    folds = folds_of(X, labels)
    C, kappa, errors, trainings = chosen_svc(X, labels, folds)
    left_out = cross_val_predict(SVC(C=C, gamma=0.5 * kappa), X, labels, cv=folds)
    assert (left_out != labels).sum() == errors
    assert 130 < trainings < 132 + 130 * 17  # all rows, and without each support vector
    assert 10**-0.4 <= C <= 10**3.4
    assert 10**-3.4 <= kappa <= 10**0.4


@pytest.mark.parametrize(("n", "count"), [(98, 98), (100, 10)])
def test_small_sets_leave_out_single_rows(n, count):
    assert len(folds_of(*two_gaussians(n))) == count


def test_scores_count_errors_and_add_nats():
    found = Classifier({}, lambda Z: Z[:, 0] > 0.0, lambda Z: np.full(len(Z), 0.75))
    Z = np.array([[1.0], [-1.0], [2.0], [3.0]])
    expected = {"error": 0.25, "nll": pytest.approx(-3 * np.log(0.75) - np.log(0.25))}
    assert scores(found, Z, np.array([1, 0, 0, 1]))["error"] == expected["error"]
    assert scores(found, Z, np.array([1, 0, 1, 1]))["nll"] == expected["nll"]
