"""Evidence, gradient and machine where the covariance has a low rank, against dense matrices."""

from dataclasses import replace

import numpy as np
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm.covariance.dense_conditioned import DenseConditioned
from pymc_bsvm.estimators import kernels, thin
from pymc_bsvm.estimators.likelihood import silf_likelihood, trigonometric_likelihood
from pymc_bsvm.estimators.machine import PROPAGATION, Blueprint, Machine, MachineEvidence
from pymc_bsvm.estimators.thin import Patience, thin_covariance
from pymc_bsvm.losses import SILF
from tests.estimators import cases

N, OFFSET = 400, 2.5
C, EPSILON = 20.0, 0.1
KERNELS = {
    "rbf": (kernels.RBF(), [1.3, 0.9], lambda X, Z: cases.rbf(X, Z, 1.3, 0.9)),
    "ard": (
        kernels.RBF(ard=True),
        [1.3, 1.1, 9.0],
        lambda X, Z: cases.rbf(X, Z, 1.3, np.array([1.1, 9.0])),
    ),
    "linear": (kernels.Linear(), [0.6], lambda X, Z: 0.36 * X @ Z.T),
    "sum": (
        kernels.RBF(ard=True) + kernels.Linear(ard=True),
        [0.9, 1.1, 20.0, 0.8, 1.7],
        lambda X, Z: (
            cases.rbf(X, Z, 0.9, np.array([1.1, 20.0])) + cases.linear(X, Z, np.array([0.8, 1.7]))
        ),
    ),
}


def objective_of(name="rbf", *, beta=0.3, weight=None, offset=OFFSET, values=None, n=N):
    """Return an objective, logarithms of the hyperparameters, and the dense covariance."""
    kernel, of_kernel, formula = KERNELS[name]
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.7, 1.7, size=(n, 1 if name == "rbf" else 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, -1] + 0.1 * rng.standard_t(3, size=n)
    blueprint = Blueprint(kernel, silf_likelihood(beta, 0.5), offset, X.shape[1])
    x = np.log([C, EPSILON, *of_kernel] if values is None else values)
    return MachineEvidence(blueprint, X, y, weight), x, formula(X, X) + offset


def of_low_rank(objective, x):
    """Return the covariance of low rank at these logarithms, if there is one."""
    weight = objective.sample_weight
    return thin_covariance(objective.blueprint, np.exp(x), objective.X, weight)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("offset", [0.0, OFFSET])
def test_what_is_left_out_is_below_the_bound(name, offset):
    """The largest curvature of SILF is that of its quadratic zone, C / (2 beta epsilon)."""
    objective, x, K = objective_of(name, offset=offset)
    A = of_low_rank(objective, x).A
    assert A.shape[1] <= N / 8 + 1
    left = K - A @ A.T
    assert 0.5 * np.trace(left) * C / (2.0 * 0.3 * EPSILON) < 1e-5
    assert np.linalg.eigvalsh(left)[0] > -1e-11


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("beta", [0.3, 1.0])
def test_evidence_is_that_of_the_dense_covariance(name, beta):
    """The bound of the determinant is 1e-5 nats; the mode adds about as much."""
    objective, x, K = objective_of(name, beta=beta)
    assert of_low_rank(objective, x) is not None
    expected = bsvm.laplace_evidence(K, objective.y, SILF(C, EPSILON, beta)).log_evidence
    assert objective(x)[0] == pytest.approx(expected, abs=3e-5)
    assert objective.value(x) == pytest.approx(expected, abs=3e-5)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, OFFSET])
def test_gradient_is_that_of_the_dense_evidence(name, weighted, offset, monkeypatch):
    """That of the dense evidence is compared with differences of values in test_machine.

    The evidence is off by 1e-5 nats; its derivatives by more, as each step of a length-scale
    changes what is left out by some tens of its size.
    """
    weight = np.random.default_rng(5).integers(0, 4, size=N).astype(float) if weighted else None
    objective, x, _ = objective_of(name, weight=weight, offset=offset)
    assert of_low_rank(objective, x) is not None
    _, gradient = objective(x)
    monkeypatch.setattr(thin, "_FEWEST", N + 1)
    dense, *_ = objective_of(name, weight=weight, offset=offset)
    np.testing.assert_allclose(gradient, dense(x)[1], rtol=1e-5, atol=2e-3)


def test_the_machine_has_the_dense_covariance():
    objective, x, K = objective_of()
    machine = objective.machine(np.exp(x))
    expected = bsvm.laplace_evidence(K, objective.y, SILF(C, EPSILON, 0.3))
    assert machine.log_evidence == pytest.approx(expected.log_evidence, rel=1e-10)
    assert abs(machine.gap) < 1e-8
    np.testing.assert_allclose(machine.dual, expected.solution.a[machine.support], atol=1e-6)
    assert machine.posterior.cholesky.shape == (machine.free.sum(),) * 2


def test_the_machine_is_the_same_from_nothing(monkeypatch):
    objective, x, _ = objective_of()
    one = Machine.at(objective, np.exp(x))
    monkeypatch.setattr(thin, "_FEWEST", N + 1)
    other = Machine.at(objective, np.exp(x))
    new = np.linspace(-3.0, 3.0, 40)[:, None]
    assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-10)
    np.testing.assert_allclose(one.moments(new), other.moments(new), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "values",
    [[C, EPSILON, 1.3, 0.01], [1e7, 1e-6, 1.3, 0.9]],
    ids=["short length-scale", "next to no noise"],
)
def test_no_low_rank(values):
    objective, x, K = objective_of(values=values)
    assert of_low_rank(objective, x) is None
    K = cases.rbf(objective.X, objective.X, *values[2:]) + OFFSET
    expected = bsvm.laplace_evidence(K, objective.y, SILF(*values[:2], 0.3), tol=1e-5)
    assert objective(x)[0] == pytest.approx(expected.log_evidence, rel=1e-5)


def test_others_are_not_looked_at():
    objective, x, _ = objective_of()
    few, *_ = objective_of(n=150)
    assert of_low_rank(few, x) is None
    blueprint = objective.blueprint
    propagated = replace(blueprint, approximation=PROPAGATION)
    assert thin_covariance(propagated, np.exp(x), objective.X, None) is None
    labels = replace(blueprint, likelihood=trigonometric_likelihood())
    assert thin_covariance(labels, np.exp(x[2:]), objective.X, None) is None
    gram = replace(blueprint, kernel=kernels.Precomputed())
    K = cases.rbf(objective.X, objective.X, 1.0, 1.0)
    assert thin_covariance(gram, np.exp(x[:3]), K, None) is None


def test_patience():
    """After failures 1, 3, 7 evaluations go by; a success ends that."""
    objective, good, _ = objective_of()
    bad = np.log([C, EPSILON, 1.3, 0.01])
    patience, looked = Patience(), []
    for k in range(20):
        before = patience._wait, patience._left
        arguments = objective.blueprint, np.exp(bad if k < 18 else good), objective.X, None
        patience.look(*arguments)
        looked.append(before[1] == 0)
    assert np.flatnonzero(looked).tolist() == [0, 2, 6, 14]
    patience = Patience()
    patience.look(objective.blueprint, np.exp(bad), objective.X, None)
    patience.look(objective.blueprint, np.exp(good), objective.X, None)
    for _ in range(3):
        found = patience.look(objective.blueprint, np.exp(good), objective.X, None)
        assert found is not None


def test_what_is_seen_of_the_rows_is_that_of_the_kernel_matrix():
    """In low rank, where there is one, as the kernel matrix takes its inverse."""
    objective, x, _ = objective_of(beta=1.0)
    values = np.exp(x)
    near = objective.left_out([objective.machine(values)]).cavities[0]
    posterior = objective.evidence(values).posterior
    np.testing.assert_allclose(near.mean, posterior.cavity.mean, atol=1e-6)
    np.testing.assert_allclose(near.variance, posterior.cavity.variance, rtol=1e-5)


def test_the_kernel_matrix_is_not_inverted_for_what_is_seen(monkeypatch):
    objective, x, _ = objective_of(beta=1.0)
    machine = objective.machine(np.exp(x))

    def refused(self):
        raise AssertionError("the inverse of a dense factor")

    monkeypatch.setattr(DenseConditioned, "variance", property(refused))
    assert objective.left_out([machine]).cavities[0].variance.shape == (N,)
