"""The evidence of one machine, its gradient and its predictions, against dense matrices."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm.estimators import kernels
from pymc_bsvm.estimators.likelihood import silf_likelihood, trigonometric_likelihood
from pymc_bsvm.estimators.machine import (
    LAPLACE,
    PROPAGATION,
    Blueprint,
    Machine,
    MachineEvidence,
)
from pymc_bsvm.losses import SILF, Trigonometric
from tests.estimators import cases
from tests.oracle import evidence as oracle

N, OFFSET = 30, 2.5
SCALES = np.array([0.8, 1.7])
KERNELS = {
    "rbf": (kernels.RBF(), [1.3, 0.9], lambda X, Z: cases.rbf(X, Z, 1.3, 0.9)),
    "ard": (kernels.RBF(ard=True), [1.3, *SCALES], lambda X, Z: cases.rbf(X, Z, 1.3, SCALES)),
    "matern32": (
        kernels.Matern32(ard=True),
        [1.3, *SCALES],
        lambda X, Z: cases.matern32(X, Z, 1.3, SCALES),
    ),
    "matern52": (kernels.Matern52(), [0.7, 1.1], lambda X, Z: cases.matern52(X, Z, 0.7, 1.1)),
    "linear": (kernels.Linear(), [0.6], lambda X, Z: 0.36 * X @ Z.T),
    "linear ard": (kernels.Linear(ard=True), [*SCALES], lambda X, Z: cases.linear(X, Z, SCALES)),
    "poly": (kernels.Polynomial(), [0.4, 1.5], lambda X, Z: cases.cubic(X, Z, 0.4, 1.5)),
    "periodic": (
        kernels.Periodic(),
        [1.2, 2.3, 0.6],
        lambda X, Z: cases.periodic(X, Z, 1.2, 2.3, 0.6),
    ),
    "sum": (
        kernels.RBF() + kernels.Linear(ard=True),
        [0.9, 0.7, *SCALES],
        lambda X, Z: cases.rbf(X, Z, 0.9, 0.7) + cases.linear(X, Z, SCALES),
    ),
}
TASKS = ("regression", "classification")
every_kernel = pytest.mark.parametrize("name", KERNELS)
every_task = pytest.mark.parametrize("task", TASKS)


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X, new = rng.normal(size=(N, 2)), 1.3 * rng.normal(size=(8, 2))
    return X, np.sin(1.5 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.standard_t(3, size=N), new


def objective_of(name, task, weight=None, offset=OFFSET):
    """Return an objective, hyperparameters, the loss and targets."""
    X, y, _ = rows()
    kernel, of_kernel, _ = KERNELS[name]
    if task == "regression":
        likelihood, values, loss = silf_likelihood(0.3), [4.0, 0.15], SILF(4.0, 0.15, 0.3)
    else:
        likelihood, values, loss = trigonometric_likelihood(), [], Trigonometric(1.0)
        y = np.where(y > 0.1, 1.0, -1.0)
    objective = MachineEvidence(Blueprint(kernel, likelihood, offset, 2), X, y, weight)
    return objective, np.array([*values, *of_kernel]), loss, y


def weights(kind):
    counts = np.random.default_rng(5).integers(1, 4, size=N).astype(float)
    return {"none": None, "whole": counts, "parts": 0.3 * counts}[kind]


@every_kernel
@every_task
@pytest.mark.parametrize("weight", ["none", "parts"])
def test_gradient_is_that_of_the_value(name, task, weight):
    objective, values, _, _ = objective_of(name, task, weights(weight))
    x, step = np.log(values), 1e-5
    _, gradient = objective(x)
    for k in range(x.size):
        move = step * np.eye(x.size)[k]
        difference = (objective(x + move)[0] - objective(x - move)[0]) / (2.0 * step)
        assert gradient[k] == pytest.approx(difference, rel=1e-5, abs=1e-5), k


@every_kernel
@every_task
def test_evidence_is_that_of_an_independent_matrix(name, task):
    objective, values, loss, y = objective_of(name, task)
    X, formula = objective.X, KERNELS[name][2]
    K = formula(X, X) + OFFSET
    machine = Machine.at(objective, values)
    expected = bsvm.laplace_evidence(K, y, loss)
    assert machine.log_evidence == pytest.approx(expected.log_evidence, rel=1e-9)
    s = expected.solution
    terms = oracle.evidence(K, y, loss, s.a, s.f, smooth_width=type(loss).ramp_width)
    assert machine.log_evidence == pytest.approx(terms.log_evidence, rel=1e-9)
    assert abs(machine.gap) < 1e-8
    np.testing.assert_array_equal(machine.rows, np.flatnonzero(s.a))


@every_task
def test_what_is_climbed_is_what_is_reported(task):
    objective, values, loss, y = objective_of("ard", task)
    K = KERNELS["ard"][2](objective.X, objective.X) + OFFSET
    expected = bsvm.laplace_evidence(K, y, loss).log_evidence
    value, _ = objective(np.log(values))
    assert value == pytest.approx(expected, rel=1e-9)
    assert objective.log_evidence == value
    assert Machine.at(objective, values).log_evidence == pytest.approx(value, rel=1e-9)


@every_task
def test_whole_weights_are_repeated_rows(task):
    counts = weights("whole")
    one, values, _, y = objective_of("rbf", task, counts)
    repeated = np.repeat(np.arange(N), counts.astype(int))
    many = MachineEvidence(one.blueprint, one.X[repeated], y[repeated], None)
    x = np.log(values)
    assert one(x)[0] == pytest.approx(many(x)[0], rel=1e-9)
    np.testing.assert_allclose(one(x)[1], many(x)[1], rtol=1e-5, atol=1e-6)
    new = rows()[2]
    a, b = Machine.at(one, values), Machine.at(many, values)
    np.testing.assert_allclose(a.moments(new), b.moments(new), rtol=1e-6, atol=1e-7)


@every_kernel
@every_task
def test_predictions_are_those_of_dense_matrices(name, task):
    objective, values, loss, y = objective_of(name, task)
    X, new, k = objective.X, rows()[2], KERNELS[name][2]
    expected = cases.moments(k(X, X) + OFFSET, y, loss, k(X, new) + OFFSET, k(new, new) + OFFSET)
    machine = Machine.at(objective, values)
    mean, variance = machine.moments(new)
    np.testing.assert_allclose(mean, expected[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(variance, np.diag(expected[1]), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(machine.mean(new), mean, rtol=1e-12, atol=1e-13)
    joint = machine.joint(new)
    np.testing.assert_allclose(joint[0], mean, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(joint[1], expected[1], rtol=1e-6, atol=1e-7)


def test_many_new_rows_come_in_blocks():
    objective, values, _, _ = objective_of("rbf", "regression")
    machine = Machine.at(objective, values)
    new = np.random.default_rng(0).normal(size=(9000, 2))
    mean, variance = machine.moments(new)
    for k in (0, 4095, 4096, 8191, 8192, 8999):
        one = machine.moments(new[k : k + 1])
        np.testing.assert_allclose([mean[k], variance[k]], np.ravel(one), rtol=1e-10)
    np.testing.assert_allclose(machine.mean(new), mean, rtol=1e-10, atol=1e-12)
    assert machine.mean(new[:0]).shape == (0,)


@every_task
def test_no_offset(task):
    objective, values, loss, y = objective_of("rbf", task, offset=0.0)
    K = KERNELS["rbf"][2](objective.X, objective.X)
    expected = bsvm.laplace_evidence(K, y, loss).log_evidence
    assert Machine.at(objective, values).log_evidence == pytest.approx(expected, rel=1e-9)


def test_no_support_vectors():
    """All rows in the flat zone: the mean is the prior's, but the rows still bound the width."""
    objective, values, _, _ = objective_of("rbf", "regression")
    flat = MachineEvidence(objective.blueprint, objective.X, np.zeros(N), None)
    value, gradient = flat(np.log(values))
    n_log_z = N * oracle.FORMULAS["SILF"].log_normaliser(4.0, 0.15, 0.3)
    assert value == pytest.approx(-n_log_z, rel=1e-12)
    np.testing.assert_array_equal(gradient[2:], 0.0)
    machine = Machine.at(flat, values)
    new = rows()[2]
    mean, variance = machine.moments(new)
    np.testing.assert_array_equal(mean, 0.0)
    assert machine.support.size == 0
    assert (variance < 1.3**2 * (1.0 + 4.0 / N) + 0.5).all()  # next to nothing of the offset's
    at_rows = machine.moments(objective.X)[1]
    assert (at_rows < 2.0 / 4.0**2 + 0.15**2).all()  # the noise alone
    np.testing.assert_allclose(np.diag(machine.joint(new)[1]), variance, rtol=1e-9)
    far = machine.moments(new + 1e3)[1]
    np.testing.assert_allclose(far, 1.3**2, rtol=0.5)


def test_what_cannot_be_evaluated_is_minus_infinity():
    objective, *_ = objective_of("rbf", "regression")
    indefinite = kernels.Frozen(lambda X, Z: -10.0 * cases.rbf(X, Z, 1.0, 1.0))
    blueprint = Blueprint(indefinite, silf_likelihood(0.3), 0.0, 2)
    value, gradient = MachineEvidence(blueprint, objective.X, objective.y, None)(np.zeros(3))
    assert value == -np.inf
    np.testing.assert_array_equal(gradient, 0.0)


def test_warm_starts_change_nothing():
    warm, values, _, _ = objective_of("ard", "regression")
    cold, *_ = objective_of("ard", "regression")
    rng = np.random.default_rng(0)
    for _ in range(10):
        x = np.log(values) + 0.1 * rng.normal(size=values.size)
        cold.forget()
        a, b = warm(x), cold(x)
        assert a[0] == pytest.approx(b[0], abs=1e-5)
        np.testing.assert_allclose(a[1], b[1], rtol=1e-3, atol=1e-3)


@every_task
def test_the_value_alone(task):
    objective, values, _, _ = objective_of("rbf", task)
    other, *_ = objective_of("rbf", task)
    x = np.log(values)
    assert objective.value(x) == other(x)[0]
    assert objective.evaluations == 0


@pytest.mark.parametrize("log_evidence", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_the_lowest(log_evidence, monkeypatch):
    objective, values, _, _ = objective_of("rbf", "regression")
    found = SimpleNamespace(log_evidence=log_evidence, start=np.zeros(N), posterior=None)
    monkeypatch.setattr(objective, "_evaluated", lambda *args: found)
    assert objective.value(np.log(values)) == -np.inf


@pytest.mark.parametrize("weight", ["none", "parts"])
def test_the_last_machine_is_not_evaluated_again(weight, monkeypatch):
    objective, values, _, _ = objective_of("rbf", "regression", weights(weight))
    others = 1.1 * values
    fresh = objective.recipe()()
    expected = [fresh.hindsight([Machine.at(fresh, each)]) for each in (values, others)]
    machine, calls, evidence = objective.machine(values), [], objective._evaluated

    def counted(*args):
        calls.append(args)
        return evidence(*args)

    monkeypatch.setattr(objective, "_evaluated", counted)
    seen = [objective.hindsight([machine]), objective.hindsight([Machine.at(fresh, others)])]
    assert len(calls) == 1
    for got, wanted in zip(seen, expected, strict=True):
        np.testing.assert_array_equal(got.f, wanted.f)
        np.testing.assert_array_equal(
            got.left_out.cavities[0].mean, wanted.left_out.cavities[0].mean
        )
        for g, w in zip(got.left_out.cavities, wanted.left_out.cavities, strict=True):
            np.testing.assert_array_equal(g.variance, w.variance)


@every_task
@pytest.mark.parametrize("kind", ["laplace", "ep"])
def test_what_was_evaluated_before_leaves_no_trace(task, kind):
    """A climb begins from nothing, and so does a machine: to the last bit."""
    objective, values, _, _ = objective_of("ard", task)
    approximation = {"laplace": LAPLACE, "ep": PROPAGATION}[kind]
    objective = objective.of(replace(objective.blueprint, approximation=approximation))
    fresh, x = objective.recipe()(), np.log(values)
    for move in (0.1, -0.05, 0.02):
        objective(x + move)
    machine, expected = objective.machine(values), fresh.machine(values)
    assert machine.log_evidence == expected.log_evidence
    np.testing.assert_array_equal(machine.dual, expected.dual)
    for got, wanted in zip(machine.moments(objective.X), expected.moments(fresh.X), strict=True):
        np.testing.assert_array_equal(got, wanted)
    objective.forget()
    for move in (0.0, 0.1):
        got, wanted = objective(x + move), fresh(x + move)
        assert got[0] == wanted[0]
        np.testing.assert_array_equal(got[1], wanted[1])


def test_names_bounds_and_relevance():
    objective, values, _, _ = objective_of("ard", "regression")
    machine = Machine.at(objective, values)
    assert list(machine.named) == ["C", "epsilon", "eta", "ls[0]", "ls[1]"]
    assert machine.named["C"] == 4.0
    np.testing.assert_allclose(machine.relevance(), 1.0 / SCALES)
    low, high = np.exp(np.array(objective.blueprint.bounds)).T
    np.testing.assert_allclose([low[0], high[0]], [0.01, 1000.0])
    assert np.log(low[1]) == pytest.approx(-5.0)
    least, most = np.exp(np.array(objective.blueprint.reach)).T
    np.testing.assert_allclose([least[0], most[0]], [0.01, 1e6 / 3.0])
    np.testing.assert_allclose([least[1], most[1]], [3e-6, 0.5])
    np.testing.assert_allclose([least[2:], most[2:]], [low[2:], high[2:]])
