"""The NumPy gradient of the evidence against dense complex steps and differences."""

import numpy as np
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from tests.oracle import evidence as oracle
from tests.solvers.problems import by_row, rbf, repeated

LOSSES = {
    "SILF": losses.SILF(6.0, 0.15, 0.3),
    "steep SILF": losses.SILF(80.0, 0.05, 0.1),
    "Huber": losses.Huber(5.0, 0.2),
    "Gaussian": losses.Gaussian(0.3),
    "Trigonometric": losses.Trigonometric(0.8),
    "Logistic": losses.Logistic(),
    "Probit": losses.Probit(),
}
CURVATURES = ["smooth", "exact"]


def problem(loss, n=40, seed=0):
    """Return K, targets and a prior mean."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3.0, 3.0, n))
    K = rbf(x[:, None], 2.0, 0.5) + 1e-3 * np.eye(n)
    f = np.sin(2.0 * x)
    if loss.task == "classification":
        return K, np.where(f + 0.7 * rng.normal(size=n) > 0.0, 1.0, -1.0), np.zeros(n)
    return K, f + 0.3 * rng.standard_t(3, size=n), 0.1 * x


def dense(gradient, n):
    """Spread the gradient over all rows."""
    G, g = np.zeros((n, n)), np.zeros(n)
    G[np.ix_(gradient.rows, gradient.rows)] = gradient.K
    g[gradient.rows] = gradient.m
    return G, g


@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.parametrize("name", LOSSES)
def test_against_complex_steps(name, curvature):
    loss = LOSSES[name]
    K, y, m = problem(loss)
    evidence = bsvm.laplace_evidence(K, y, loss, curvature, m=m)
    width = evidence.ramp_width or None
    assert (width is not None) == (curvature == "smooth" and loss.ramp_width > 0.0)
    a, f = evidence.solution.a, evidence.solution.f
    expected = oracle.gradient(K, y, loss, a, f, width)
    G, g = dense(evidence.gradient, y.size)
    scale = np.abs(expected["K"]).max()
    np.testing.assert_allclose(G, expected["K"], rtol=0, atol=1e-8 * scale)
    np.testing.assert_allclose(g, expected["m"], rtol=0, atol=1e-8 * np.abs(expected["m"]).max())
    wanted = [expected["parameters"][field] for field in loss.domains]
    np.testing.assert_allclose(evidence.gradient.parameters, wanted, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_whole_weights_are_repeated_rows(name):
    """Value and gradient with weights are those of a longer list of rows."""
    loss = LOSSES[name]
    K, y, m = problem(loss, 25, seed=1)
    weight = np.random.default_rng(2).integers(0, 3, size=25)
    again = np.repeat(np.arange(25), weight)
    got = bsvm.laplace_evidence(K, y, loss, m=m, sample_weight=weight)
    long = bsvm.laplace_evidence(K[np.ix_(again, again)], y[again], loss, m=m[again])
    assert got.log_evidence == pytest.approx(long.log_evidence, abs=1e-7)
    G, g = dense(got.gradient, 25)
    H, h = dense(long.gradient, again.size)
    P = np.zeros((again.size, 25))
    P[np.arange(again.size), again] = 1.0
    np.testing.assert_allclose(G, P.T @ H @ P, rtol=0, atol=1e-6 * np.abs(H).max())
    np.testing.assert_allclose(g, P.T @ h, rtol=0, atol=1e-6 * np.abs(h).max())
    np.testing.assert_allclose(got.gradient.parameters, long.gradient.parameters, rtol=1e-6)
    new = rbf(np.linspace(-3, 3, 7)[:, None], 2.0, 0.5)[:1]
    cross = np.tile(new, (25, 1))[:, :7] * np.linspace(0.1, 1.0, 25)[:, None]
    np.testing.assert_allclose(
        got.posterior.predict_variance(cross, np.full(7, 9.0)),
        long.posterior.predict_variance(cross[again], np.full(7, 9.0)),
        rtol=1e-8,
    )


@pytest.mark.parametrize("name", ["SILF", "Trigonometric", "Gaussian"])
def test_differences_of_the_weighted_evidence(name):
    """Fractional weights, by differences of the value itself."""
    loss = LOSSES[name]
    K, y, m = problem(loss, 20, seed=3)
    weight = np.random.default_rng(4).uniform(0.2, 2.0, size=20)
    D = np.outer(np.cos(np.arange(20)), np.cos(np.arange(20)))

    def value(t, field=None):
        moved = loss
        if field is not None:
            fields = {k: getattr(loss, k) for k in loss.domains}
            moved = type(loss)(**{**fields, field: fields[field] + t})
        K_t = K if field is not None else K + t * D
        return bsvm.laplace_evidence(K_t, y, moved, m=m, sample_weight=weight, check_input=False)

    got = value(0.0).gradient
    G, _ = dense(got, 20)
    step = 1e-6

    def slope(field=None):
        ends = [value(s * step, field).log_evidence for s in (1, -1)]
        return (ends[0] - ends[1]) / (2.0 * step)

    assert (G * D).sum() == pytest.approx(slope(), rel=1e-4, abs=1e-4)
    for k, field in enumerate(loss.domains):
        assert got.parameters[k] == pytest.approx(slope(field), rel=1e-4, abs=1e-4)


def test_no_weights_in_a_graph():
    import pytensor.tensor as pt

    with pytest.raises(ValueError, match="takes no sample_weight"):
        bsvm.laplace_evidence(
            pt.dmatrix(), np.zeros(2), losses.Gaussian(1.0), sample_weight=np.ones(2)
        )


def test_without_support_vectors():
    """All rows inside the tube: only the normaliser knows the loss."""
    loss = losses.SILF(2.0, 5.0, 0.3)
    evidence = bsvm.laplace_evidence(np.eye(4), np.zeros(4), loss, "exact")
    assert evidence.gradient.rows.size == 0
    step = 1e-6
    for k, field in enumerate(["C", "epsilon", "beta"]):
        fields = {"C": 2.0, "epsilon": 5.0, "beta": 0.3}
        ends = [
            -4.0 * losses.SILF(**{**fields, field: fields[field] + s}).log_normalizer()
            for s in (step, -step)
        ]
        wanted = (ends[0] - ends[1]) / (2.0 * step)
        assert evidence.gradient.parameters[k] == pytest.approx(wanted, rel=1e-6, abs=1e-8)


# ---- parameters by row ------------------------------------------------------------------------

parametric = pytest.mark.parametrize("name", [k for k, loss in LOSSES.items() if loss.domains])


@parametric
@pytest.mark.parametrize("curvature", CURVATURES)
def test_differences_of_single_rows(name, curvature):
    """A vector has a derivative for each row, a number one for all of them."""
    loss, n = LOSSES[name], 30
    K, y, m = problem(loss, n)
    others = list(loss.domains)[1:]
    fields = by_row(loss, n).fields | {k: getattr(loss, k) for k in others}
    weight = np.random.default_rng(5).uniform(0.5, 2.0, n)

    def evidence(**changes):
        moved = type(loss)(**{**fields, **changes})
        return bsvm.laplace_evidence(K, y, moved, curvature, m=m, sample_weight=weight)

    at = evidence()
    assert [np.shape(g) for g in at.gradient.parameters] == [(n,), *((),) * len(others)]
    compared = 0
    for field, gradient in zip(loss.domains, at.gradient.parameters, strict=True):
        for row in range(n) if np.ndim(gradient) else [()]:
            step = 1e-6 * np.asarray(fields[field])[row]
            ends = []
            for sign in (1.0, -1.0):
                moved = np.array(fields[field])
                moved[row] += sign * step
                ends.append(evidence(**{field: moved}))
            if any((end.solution.free != at.solution.free).any() for end in ends):
                continue  # a kink of the MAP estimate, or a jump
            slope = (ends[0].log_evidence - ends[1].log_evidence) / (2.0 * step)
            got = gradient[row] if np.ndim(gradient) else gradient
            assert got == pytest.approx(slope, rel=1e-5, abs=1e-5), (field, row)
            compared += 1
    assert compared >= n


@parametric
def test_a_number_collects_what_its_rows_have(name):
    loss = LOSSES[name]
    K, y, m = problem(loss)
    rows = type(loss)(**{k: np.full(y.size, x) for k, x in loss.fields.items()})
    one, many = (bsvm.laplace_evidence(K, y, x, m=m).gradient.parameters for x in (loss, rows))
    np.testing.assert_allclose([x.sum() for x in many], one, rtol=1e-7, atol=1e-9)


def test_gaussian_noise_by_row():
    """The derivative of a normal log density with respect to single variances."""
    K, y, m = problem(LOSSES["Gaussian"])
    sigma = np.linspace(0.1, 0.9, y.size)
    got = bsvm.laplace_evidence(K, y, losses.Gaussian(sigma), m=m).gradient.parameters[0]
    inverse = np.linalg.inv(K + np.diag(sigma**2))
    a = inverse @ (y - m)
    np.testing.assert_allclose(got, sigma * (a * a - np.diag(inverse)), rtol=1e-7)


@parametric
def test_whole_weights_are_repeated_rows_with_their_parameters(name):
    loss = LOSSES[name]
    K, y, m = problem(loss, 25, seed=1)
    rows, weight = by_row(loss, 25), np.random.default_rng(2).integers(1, 4, size=25)
    again = np.repeat(np.arange(25), weight)
    got = bsvm.laplace_evidence(K, y, rows, m=m, sample_weight=weight)
    long = bsvm.laplace_evidence(
        K[np.ix_(again, again)], y[again], repeated(rows, weight), m=m[again]
    )
    for one, many in zip(got.gradient.parameters, long.gradient.parameters, strict=True):
        summed = np.bincount(again, many)
        np.testing.assert_allclose(one, summed, rtol=1e-5, atol=1e-5 * np.abs(summed).max())
