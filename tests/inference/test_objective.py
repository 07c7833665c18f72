"""The objective against PyMC, NumPy and SciPy."""

import numpy as np
import pymc as pm
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm.inference.objective import LogPosterior, marginals_of
from tests.gp import cases
from tests.inference.conftest import log_evidence, log_prior

pytestmark = pytest.mark.usefixtures("quick")

NAMES = ["ls_log__[0]", "ls_log__[1]", "C_log__", "epsilon_log__"]
POINTS = np.array([[0.1, 0.4, 1.5, -1.5], [-0.6, 0.9, 0.2, -2.5], [0.8, -0.3, 2.5, -0.7]])


@pytest.fixture(scope="module")
def objective(quick, process):
    return LogPosterior(process.model, include_prior=True)


@pytest.fixture(scope="module")
def evidence_alone(quick, process):
    return LogPosterior(process.model, include_prior=False)


def arguments(x):
    return np.exp(x[:2]), float(np.exp(x[2])), float(np.exp(x[3]))


def as_point(x):
    return {"ls_log__": x[:2], "C_log__": x[2], "epsilon_log__": x[3]}


# ---- values and gradients -----------------------------------------------------------------------


def test_value_and_gradient_are_those_of_pymc(objective, process):
    logp = process.model.compile_logp(jacobian=False)
    dlogp = process.model.compile_dlogp(jacobian=False)
    for x in POINTS:
        value, gradient = objective(x)
        assert value == pytest.approx(float(logp(as_point(x))), rel=1e-9)
        np.testing.assert_allclose(gradient, dlogp(as_point(x)), rtol=1e-6, atol=1e-7)


def test_value_is_evidence_and_prior(objective, evidence_alone, data):
    for x in POINTS:
        evidence = log_evidence(data, *arguments(x))
        both, alone = objective(x)[0], evidence_alone(x)[0]
        assert alone == pytest.approx(evidence, rel=1e-9)
        assert both == pytest.approx(evidence + log_prior(*arguments(x)), rel=1e-9)
        assert objective.log_evidence == pytest.approx(evidence, rel=1e-9)
        assert evidence_alone.log_evidence == pytest.approx(evidence, rel=1e-9)


def test_gradient_of_the_evidence_alone(evidence_alone, data):
    for x in POINTS:
        differences = [
            (
                log_evidence(data, *arguments(x + 1e-5 * e))
                - log_evidence(data, *arguments(x - 1e-5 * e))
            )
            / 2e-5
            for e in np.eye(4)
        ]
        np.testing.assert_allclose(evidence_alone(x)[1], differences, rtol=2e-4, atol=2e-4)


def test_the_evidence_alone_has_no_jacobian(objective, evidence_alone):
    """A density of logarithms is that of the variables times all of these, with a prior only."""
    x = POINTS[0]
    value, gradient = evidence_alone(x)
    density, slope = evidence_alone.density(x)
    assert density == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(slope, gradient, rtol=1e-9, atol=1e-10)
    value, gradient = objective(x)
    density, slope = objective.density(x)
    assert density == pytest.approx(value + x.sum(), rel=1e-10)
    np.testing.assert_allclose(slope, gradient + 1.0, rtol=1e-9, atol=1e-10)


def test_potentials_count_as_prior(data):
    with pm.Model() as model:
        pm.Potential("shift", pm.math.sum(np.array([1.25])))
    cases.regression(data.X, data.y, model=model)
    value, _ = LogPosterior(model, include_prior=True)(POINTS[0])
    evidence = log_evidence(data, *arguments(POINTS[0]))
    expected = evidence + log_prior(*arguments(POINTS[0])) + 1.25
    assert value == pytest.approx(expected, rel=1e-9)
    alone, _ = LogPosterior(model, include_prior=False)(POINTS[0])
    assert alone == pytest.approx(evidence, rel=1e-9)


def test_a_warm_start_changes_nothing(objective):
    path = [POINTS[0] + t * (POINTS[1] - POINTS[0]) for t in np.linspace(0.0, 1.0, 6)]
    cold = []
    for x in path:
        objective.forget()
        assert not np.any(objective._starts[0])
        cold.append(objective(x))
    objective.forget()
    for x, (value, gradient) in zip(path, cold, strict=True):
        warm = objective(x)
        assert np.any(objective._starts[0])
        assert warm[0] == pytest.approx(value, abs=1e-9)
        np.testing.assert_allclose(warm[1], gradient, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("element", "value"), [(0, -800.0), (2, 800.0), (2, -800.0), (3, -800.0), (3, 800)]
)
def test_ends_of_the_scale_have_the_value_minus_infinity(element, value, objective):
    """Zero and infinity, where a parameter leaves its domain or the prior its support."""
    before = objective(POINTS[0])
    far = POINTS[0].copy()
    far[element] = value
    with np.errstate(all="ignore"):
        got, gradient = objective(far)
    assert got == -np.inf
    np.testing.assert_array_equal(gradient, np.zeros(4))
    after = objective(POINTS[0])
    assert after[0] == pytest.approx(before[0], abs=1e-9)
    np.testing.assert_allclose(after[1], before[1], rtol=1e-6, atol=1e-7)


def test_nan_has_the_value_minus_infinity(objective):
    before = objective(POINTS[0])[0]
    with np.errstate(all="ignore"):
        got, gradient = objective(np.full(4, np.nan))
    assert got == -np.inf
    np.testing.assert_array_equal(gradient, np.zeros(4))
    assert objective(POINTS[0])[0] == pytest.approx(before, abs=1e-9)


def test_evaluations_are_counted(objective):
    before = objective.evaluations
    for x in POINTS:
        objective(x)
    assert objective.evaluations == before + 3


# ---- vectors and points -------------------------------------------------------------------------


def test_names_vectors_and_points(objective):
    assert objective.names() == NAMES
    x = np.array([0.1, -0.2, 1.3, -1.4])
    np.testing.assert_array_equal(objective.vector(as_point(x)), x)
    point = objective.point(x)
    assert list(point) == ["ls", "C", "epsilon"]
    np.testing.assert_allclose(point["ls"], np.exp(x[:2]), rtol=1e-14)
    assert point["C"] == pytest.approx(np.exp(1.3), rel=1e-14)
    assert point["epsilon"] == pytest.approx(np.exp(-1.4), rel=1e-14)


def test_vectors_broadcast_and_points_hold_what_is_deterministic(data):
    with pm.Model() as model:
        slope = pm.Normal("slope", shape=(2, 1))
        pm.Deterministic("twice", 2.0 * slope[0, 0])
    cases.classification(data.X, data.labels, model=model)
    objective = LogPosterior(model, include_prior=True)
    assert objective.names() == ["slope[0, 0]", "slope[1, 0]", "ls_log__[0]", "ls_log__[1]"]
    x = objective.vector({"slope": 0.5, "ls_log__": [0.1, 0.2]})
    np.testing.assert_array_equal(x, [0.5, 0.5, 0.1, 0.2])
    point = objective.point(np.array([1.5, -0.5, 0.1, 0.2]))
    assert set(point) == {"slope", "twice", "ls"}
    np.testing.assert_array_equal(point["slope"], [[1.5], [-0.5]])
    assert point["twice"] == 3.0
    np.testing.assert_allclose(point["ls"], np.exp([0.1, 0.2]))


def test_models_that_have_no_objective(data, refuses):
    with pm.Model() as model:
        pm.Poisson("count", 3.0)
    cases.classification(data.X, data.labels, model=model)
    with refuses(ValueError, "must be continuous", "count"):
        LogPosterior(model, include_prior=True)
    with pm.Model() as fixed:
        gp = bsvm.gp.BTSVC(cov_func=cases.ard_cov([1.0, 2.0]))
        gp.marginal_likelihood("y", data.X, data.labels)
    with refuses(ValueError, "must be continuous", "none"):
        LogPosterior(fixed, include_prior=True)
    with pm.Model() as other:
        pm.Normal("z", pm.Normal("mu"), observed=[1.0, 2.0])
    with refuses(ValueError, "'z'", "none is an approximate evidence"):
        marginals_of(other)
