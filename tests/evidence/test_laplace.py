"""`laplace_evidence` against published numbers, exact limits, and dense textbook formulas."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from pymc_bsvm import datasets, losses
from pymc_bsvm.evidence.laplace import laplace_evidence
from pymc_bsvm.solvers import DualSolveError
from tests.oracle import evidence as oracle
from tests.solvers.problems import by_row, name, problem, rbf, repeated, sinc, two_classes
from tests.solvers.test_dual import CASES, case_problem

DATA = Path(__file__).parent / "data"
EVIDENCES = json.loads((DATA / "evidences.json").read_text(encoding="utf-8"))
GPML = json.loads((DATA / "gpml_probit.json").read_text(encoding="utf-8"))
LOSSES = (
    losses.SILF(C=10.0, epsilon=0.1, beta=0.3),
    losses.SILF(C=3.0, epsilon=0.3, beta=0.9),
    losses.Huber(C=5.0, epsilon=0.1),
    losses.Gaussian(sigma=0.3),
    losses.Trigonometric(delta=1.0),
    losses.Trigonometric(delta=0.4),
    losses.Logistic(),
    losses.Probit(),
)
SPARSE = tuple(loss for loss in LOSSES if loss.ramp_width > 0.0)

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
every_sparse_loss = pytest.mark.parametrize("loss", SPARSE, ids=repr)
both = pytest.mark.parametrize("curvature", ["smooth", "exact"])
every_case = pytest.mark.parametrize(
    ("case", "published"),
    list(zip(CASES, EVIDENCES, strict=True)),
    ids=[f"{c['loss']}-{len(c['y'])}" for c in CASES],
)


def width_of(loss, curvature):
    """Translate the argument of the library to that of the oracle."""
    return loss.ramp_width if curvature == "smooth" and loss.ramp_width > 0.0 else None


def assert_terms(got, expected, tolerance=1e-10):
    """Compare the evidence and all of its terms with the oracle's."""
    scale = tolerance * (1.0 + abs(expected.fit) + abs(expected.penalty))
    assert got.fit == pytest.approx(expected.fit, rel=0, abs=scale)
    assert got.penalty == pytest.approx(expected.penalty, rel=0, abs=scale)
    assert got.log_det == pytest.approx(expected.log_det, rel=tolerance, abs=tolerance)
    assert got.log_normalizer == pytest.approx(expected.log_normaliser, rel=1e-13, abs=1e-13)
    assert got.log_evidence == pytest.approx(expected.log_evidence, rel=0, abs=2.0 * scale)


def assert_dense(K, y, loss, curvature, *, m=None, ramp_width=None, tolerance=1e-10):
    """Compare with the dense formulas at the library's own, certified, MAP estimate."""
    got = laplace_evidence(K, y, loss, curvature, m=m, ramp_width=ramp_width)
    s = got.solution
    assert s.gap <= 1e-9 * (1.0 + abs(s.primal))
    width = width_of(loss, curvature) if ramp_width is None else ramp_width
    expected = oracle.evidence(K, y, loss, s.a, s.f, width)
    assert_terms(got, expected, tolerance)
    assert got.curvature == curvature
    return got


# ---- published and known numbers --------------------------------------------------------------


@every_case
def test_reference_cases(case, published):
    K, y, loss = case_problem(case)
    got = laplace_evidence(K, y, loss, "exact")
    s, a = got.solution, np.array(case["a"])
    expected = published["neg_log_evidence"]
    assert -got.log_evidence == pytest.approx(expected, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(s.a, a, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(s.f, case["f"], rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(np.flatnonzero(s.support), np.flatnonzero(a))
    if case["loss"] == "silf":
        np.testing.assert_array_equal(np.flatnonzero(s.free), case["free"])
        np.testing.assert_array_equal(np.flatnonzero(s.bound), case["bound"])


def kernel_derivatives(case):
    """Differentiate K with respect to the logs of its hyperparameters."""
    X = np.array(case["X"])
    distance = ((X[:, None] - X) ** 2).sum(-1)
    main = case["kappa0"] * np.exp(-0.5 * case["kappa"] * distance)
    constant = np.full_like(main, case["kappa_b"])
    return {"kappa0": main, "kappa": -0.5 * case["kappa"] * distance * main, "kappa_b": constant}


@every_case
def test_reference_gradients(case, published):
    """The oracle's gradient and the thesis's own formulas, both at the library's solution."""
    K, y, loss = case_problem(case)
    y, kernel = np.array(y), kernel_derivatives(case)
    s = laplace_evidence(K, y, loss, "exact").solution
    general = oracle.gradient(K, y, loss, s.a, s.f)
    if case["loss"] == "silf":
        thesis = oracle.thesis_gradient_of_silf(K, y, loss, s.a, s.f, kernel)
    else:
        thesis = oracle.thesis_gradient_of_trigonometric(K, s.a, s.f, y, kernel)
    for key, expected in published["grad_log"].items():
        if key in kernel:
            got = -(general["K"] * kernel[key]).sum()
        else:
            got = -general["parameters"][key] * case[key]
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-9), key
        assert thesis[key] == pytest.approx(expected, rel=1e-9, abs=1e-9), key


@both
def test_probit_against_gpml(curvature):
    X, y = np.array(GPML["x"]), np.array(GPML["y"])
    distance = ((X[:, None] - X) ** 2).sum(-1)
    K = np.exp(-0.5 * distance)
    got = laplace_evidence(K, y, losses.Probit(), curvature)
    assert -got.log_evidence == pytest.approx(GPML["nlZ"], rel=0, abs=1e-11)
    s = got.solution
    np.testing.assert_allclose(s.a, GPML["alpha"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(s.f, GPML["posterior_mean_f"], rtol=0, atol=1e-9)
    G = oracle.gradient(K, y, losses.Probit(), s.a, s.f)["K"]
    assert -(G * distance * K).sum() == pytest.approx(GPML["dnlZ_dlog_ell"], rel=0, abs=1e-9)
    assert -2.0 * (G * K).sum() == pytest.approx(GPML["dnlZ_dlog_sf"], rel=0, abs=1e-9)


def test_logistic_against_scikit_learn():
    X, y = two_classes(500, seed=3)
    kernel = ConstantKernel(1.7) * RBF(0.8)
    peer = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=1000).fit(X, y)
    value, gradient = peer.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    got = laplace_evidence(kernel(X), y, losses.Logistic())
    assert got.log_evidence == pytest.approx(value, rel=1e-8)
    s = got.solution
    G = oracle.gradient(kernel(X), y, losses.Logistic(), s.a, s.f)["K"]
    _, D = kernel(X, eval_gradient=True)
    np.testing.assert_allclose(np.einsum("ij,ijk->k", G, D), gradient, rtol=1e-5)


@both
@pytest.mark.parametrize("sigma", [0.01, 0.3, 20.0])
def test_gaussian_loss_is_exact(sigma, curvature):
    K, y = problem(losses.Gaussian(sigma), 60)
    m = 0.3 * np.cos(np.arange(60))
    got = laplace_evidence(K, y, losses.Gaussian(sigma), curvature, m=m)
    expected = multivariate_normal(m, K + sigma**2 * np.eye(60)).logpdf(y)
    assert got.log_evidence == pytest.approx(expected, rel=1e-11, abs=1e-9)


@both
@pytest.mark.parametrize(
    "loss", [losses.Huber(0.8, 30.0), losses.SILF(0.8, 30.0, 1.0), losses.SILF(400.0, 8.0, 1.0)]
)
def test_huber_with_a_wide_tube_is_gaussian_process_regression(loss, curvature):
    variance = 2.0 * loss.epsilon / loss.C
    K, y = problem(loss, 50)
    got = laplace_evidence(K, y, loss, curvature, m=0.2)
    expected = multivariate_normal(np.full(50, 0.2), K + variance * np.eye(50)).logpdf(y)
    assert got.log_evidence == pytest.approx(expected, rel=1e-10)
    X, _ = sinc(50)
    new = np.linspace(-2.5, 2.5, 17)[:, None]
    cross = np.exp(-2.5 * (X - new.T) ** 2) + 0.5
    prior = np.exp(-2.5 * (new - new.T) ** 2) + 0.5
    A = np.linalg.inv(K + variance * np.eye(50))
    posterior = got.posterior
    close = {"rtol": 0, "atol": 1e-11}
    np.testing.assert_allclose(posterior.predict_mean(cross), cross.T @ A @ (y - 0.2), **close)
    covariance = prior - cross.T @ A @ cross
    np.testing.assert_allclose(posterior.predict_covariance(cross, prior), covariance, **close)
    np.testing.assert_allclose(
        posterior.predict_variance(cross, np.diag(prior)), np.diag(covariance), **close
    )


# ---- the dense formula ------------------------------------------------------------------------


@every_loss
@both
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_dense_formula_with_a_prior_mean(loss, curvature, seed):
    K, y = problem(loss, 40, seed)
    m = 0.05 * np.random.default_rng(seed).normal(size=40)
    got = assert_dense(K, y, loss, curvature, m=m)
    np.testing.assert_allclose(got.solution.f, m + K @ got.solution.a, rtol=0, atol=1e-10)
    without = laplace_evidence(K, y, loss, curvature)
    assert abs(got.log_evidence - without.log_evidence) > 1e-3


@every_loss
@both
def test_dense_formula_with_a_singular_covariance(loss, curvature):
    K, y = problem(loss, 12)
    rows = np.tile(np.arange(12), 3)
    assert_dense(K[np.ix_(rows, rows)], y[rows], loss, curvature)
    K[:] = 0.7  # of rank one
    assert_dense(K, y, loss, curvature)


@every_loss
@both
def test_one_row(loss, curvature):
    for y in (-1.0, 1.0):
        assert_dense([[0.7]], [y], loss, curvature)
        assert_dense([[0.7]], [y], loss, curvature, m=[0.15])
        got = assert_dense([[0.0]], [y], loss, curvature)
        assert got.log_det == got.penalty == 0.0


@pytest.mark.parametrize(
    ("loss", "y", "m"),
    [
        (losses.SILF(10.0, 0.5, 0.1), 0.1 * np.cos(np.arange(9.0)), 0.0),
        (losses.Trigonometric(0.5), np.resize([1.0, -1.0, -1.0], 9), 3.0),
    ],
    ids=["SILF", "Trigonometric"],
)
@both
def test_no_support_vector_at_all(loss, y, m, curvature):
    K = rbf(np.linspace(-1.0, 1.0, 9)[:, None])
    m = m * y
    got = assert_dense(K, y, loss, curvature, m=m)
    assert not got.solution.support.any()
    assert got.fit == got.penalty == got.log_det == 0.0
    # the prior is never left: the observations are judged by the height of the flat zone
    assert got.log_evidence == -9.0 * loss.log_normalizer()


@both
def test_all_rows_at_the_bound(curvature):
    K, y = rbf(np.linspace(-1.0, 1.0, 9)[:, None]), np.resize([4.0, -4.0, 5.0], 9)
    loss = losses.SILF(0.05, 0.2, 0.3)
    got = assert_dense(K, y, loss, curvature)
    assert got.solution.bound.all()
    np.testing.assert_array_equal(got.solution.a, 0.05 * np.sign(y))
    assert got.log_det == 0.0
    a = 0.05 * np.sign(y)
    assert got.fit == pytest.approx(0.05 * (np.abs(y - K @ a) - 0.2).sum(), rel=1e-13)
    assert got.penalty == pytest.approx(0.5 * a @ K @ a, rel=1e-12)


def test_rows_without_dual_count_while_they_are_in_a_ramp():
    C, epsilon, beta, k = 10.0, 0.1, 0.3, 2.0
    loss, tau = losses.SILF(C, epsilon, beta), 0.5 * beta * epsilon
    y = (1.0 - beta) * epsilon - 0.5 * tau  # in the flat zone, half way up the lower ramp's foot
    share = 0.5 + 0.75 * -0.5 - 0.25 * -0.125
    for target in (y, -y):
        got = laplace_evidence([[k]], [target], loss, "smooth", ramp_width=0.5)
        assert got.solution.a[0] == 0.0
        expected = np.log1p(k * C / (2.0 * beta * epsilon) * share)
        assert got.log_det == pytest.approx(expected, rel=1e-13)
        assert laplace_evidence([[k]], [target], loss, "exact").log_det == 0.0


@every_sparse_loss
@pytest.mark.parametrize("ramp_width", [0.05, 0.25, 0.5, 1.0])
def test_width_of_the_ramps(loss, ramp_width):
    K, y = problem(loss, 60, seed=4)
    got = assert_dense(K, y, loss, "smooth", ramp_width=ramp_width)
    default = laplace_evidence(K, y, loss)
    if ramp_width == loss.ramp_width:
        assert got.log_evidence == default.log_evidence
    else:
        assert got.log_det != default.log_det
    np.testing.assert_array_equal(got.solution.a, default.solution.a)


@every_sparse_loss
def test_narrow_ramps_are_the_exact_curvature(loss):
    K, y = problem(loss, 40, seed=4)
    exact = laplace_evidence(K, y, loss, "exact")
    assert laplace_evidence(K, y, loss).log_evidence != exact.log_evidence
    narrow = laplace_evidence(K, y, loss, ramp_width=1e-9)
    assert narrow.log_evidence == pytest.approx(exact.log_evidence, rel=1e-12)


@pytest.mark.parametrize("loss", [losses.Gaussian(0.3), losses.Logistic(), losses.Probit()])
def test_curvatures_without_steps_have_no_ramps(loss):
    K, y = problem(loss, 30)
    exact = laplace_evidence(K, y, loss, "exact").log_evidence
    assert laplace_evidence(K, y, loss, "smooth").log_evidence == exact
    with pytest.raises(ValueError, match=rf"{type(loss).__name__} has no ramps, but ramp_width"):
        laplace_evidence(K, y, loss, "smooth", ramp_width=0.7)


# ---- the terms --------------------------------------------------------------------------------


@every_loss
@both
def test_terms_add_up(loss, curvature):
    K, y = problem(loss, 30, seed=7)
    m = 0.1 * np.sin(np.arange(30.0))
    got = laplace_evidence(K, y, loss, curvature, m=m)
    a, f = got.solution.a, got.solution.f
    assert got.fit == pytest.approx(loss.value(y, f).sum(), rel=1e-12)
    assert got.penalty == pytest.approx(0.5 * (f - m) @ np.linalg.solve(K, f - m), rel=1e-6)
    assert got.penalty == pytest.approx(0.5 * a @ K @ a, rel=1e-10)
    root = np.sqrt(oracle.curvature(loss, y, f, width_of(loss, curvature)))
    B = np.eye(30) + root[:, None] * K * root
    assert got.log_det == pytest.approx(np.linalg.slogdet(B)[1], rel=1e-11)
    assert got.log_normalizer == pytest.approx(30 * loss.log_normalizer(), rel=1e-15)
    total = got.fit + got.penalty + 0.5 * got.log_det + got.log_normalizer
    assert got.log_evidence == pytest.approx(-total, rel=1e-15)
    for term in (got.fit, got.penalty, got.log_det, got.log_evidence):
        assert isinstance(term, float)
    assert min(got.fit, got.penalty, got.log_det) > 0.0


def test_normaliser_of_the_classification_losses_is_one():
    for loss in (losses.Trigonometric(0.3), losses.Logistic(), losses.Probit()):
        K, y = problem(loss, 10)
        assert laplace_evidence(K, y, loss).log_normalizer == 0.0


def test_the_evidence_is_near_the_integral():
    """One row: Laplace's method against the integral that it approximates."""
    f = np.linspace(-12.0, 12.0, 200_001)
    for loss, y in [
        (losses.SILF(3.0, 0.2, 1.0), 0.7),
        (losses.Huber(1.0, 0.5), -2.0),
        (losses.Logistic(), 1.0),
        (losses.Probit(), -1.0),
        (losses.Trigonometric(2.5), -1.0),
    ]:
        prior = np.exp(-0.5 * f**2) / np.sqrt(2.0 * np.pi)
        density = np.exp(-loss.value(y, f) - loss.log_normalizer())
        integral = np.trapezoid(prior * density, f)
        for curvature in ("smooth", "exact"):
            got = laplace_evidence([[1.0]], [y], loss, curvature).log_evidence
            assert got == pytest.approx(np.log(integral), abs=0.2), (loss, curvature)


# ---- invariances ------------------------------------------------------------------------------


@every_loss
@both
def test_order_of_the_rows_does_not_matter(loss, curvature):
    K, y = problem(loss, 50, seed=2)
    m = 0.1 * np.cos(np.arange(50.0))
    p = np.random.default_rng(0).permutation(50)
    one = laplace_evidence(K, y, loss, curvature, m=m)
    other = laplace_evidence(K[np.ix_(p, p)], y[p], loss, curvature, m=m[p])
    assert other.log_evidence == pytest.approx(one.log_evidence, rel=1e-11)
    np.testing.assert_allclose(other.solution.a, one.solution.a[p], rtol=1e-8, atol=1e-8)


@both
@pytest.mark.parametrize("s", [1e-4, 0.37, 8.0, 1e5])
def test_unit_of_the_targets(s, curvature):
    K, y = problem(LOSSES[0], 50, seed=5)
    m = 0.1
    for loss, scaled in [
        (losses.SILF(10.0, 0.1, 0.3), losses.SILF(10.0 / s, 0.1 * s, 0.3)),
        (losses.Huber(5.0, 0.1), losses.Huber(5.0 / s, 0.1 * s)),
        (losses.Gaussian(0.3), losses.Gaussian(0.3 * s)),
    ]:
        one = laplace_evidence(K, y, loss, curvature, m=m)
        other = laplace_evidence(s * s * K, s * y, scaled, curvature, m=s * m)
        expected = one.log_evidence - 50 * np.log(s)
        assert other.log_evidence == pytest.approx(expected, rel=1e-10)
        np.testing.assert_allclose(s * other.solution.a, one.solution.a, rtol=1e-7, atol=1e-7)


@both
@pytest.mark.parametrize("s", [0.03, 7.0])
def test_unit_of_the_latent_values(s, curvature):
    K, y = problem(losses.Trigonometric(), 40, seed=5)
    one = laplace_evidence(K, y, losses.Trigonometric(1.0), curvature)
    other = laplace_evidence(s * s * K, y, losses.Trigonometric(s), curvature)
    assert other.log_evidence == pytest.approx(one.log_evidence, rel=1e-11)


@every_loss
@both
def test_both_signs_are_alike(loss, curvature):
    K, y = problem(loss, 40, seed=6)
    one = laplace_evidence(K, y, loss, curvature, m=0.2)
    other = laplace_evidence(K, -y, loss, curvature, m=-0.2)
    assert other.log_evidence == pytest.approx(one.log_evidence, rel=1e-12)


@every_loss
@both
def test_independent_rows_add_their_evidences(loss, curvature):
    K, y = problem(loss, 30, seed=8)
    alone = laplace_evidence([[1.3]], y[:1], loss, curvature)
    both_blocks = np.block([[K, np.zeros((30, 1))], [np.zeros((1, 30)), np.full((1, 1), 1.3)]])
    joint = laplace_evidence(both_blocks, [*y, y[0]], loss, curvature)
    rest = laplace_evidence(K, y, loss, curvature)
    expected = rest.log_evidence + alone.log_evidence
    assert joint.log_evidence == pytest.approx(expected, rel=1e-11)
    assert joint.log_det == pytest.approx(rest.log_det + alone.log_det, rel=1e-11)


@every_sparse_loss
@both
def test_a_start_changes_nothing(loss, curvature):
    K, y = problem(loss, 60, seed=9)
    cold = laplace_evidence(K, y, loss, curvature)
    rng = np.random.default_rng(0)
    for a0 in (cold.solution.a, 0.5 * cold.solution.a, loss.project(y, rng.normal(size=60))):
        warm = laplace_evidence(K, y, loss, curvature, a0=a0)
        assert warm.log_evidence == pytest.approx(cold.log_evidence, rel=1e-11)
    assert laplace_evidence(K, y, loss, a0=cold.solution.a).solution.n_iter <= 2


def test_lists_and_single_precision_are_accepted():
    loss = losses.SILF(10.0, 0.1, 0.3)
    K, y = problem(loss, 20)
    one = laplace_evidence(K, y, loss).log_evidence
    assert laplace_evidence(K.tolist(), list(y), loss).log_evidence == one
    assert laplace_evidence(np.asfortranarray(K), y, loss).log_evidence == pytest.approx(one, 1e-12)
    single = laplace_evidence(K.astype(np.float32), y.astype(np.float32), loss)
    assert single.log_evidence == pytest.approx(one, rel=1e-4)


# ---- the oracle's own gradient, where no paper has it ------------------------------------------


def oracle_value(K, y, loss, m, width):
    s = laplace_evidence(K, y, loss, "exact", m=m).solution
    return oracle.evidence(K, y, loss, s.a, s.f, width).log_evidence


@every_loss
def test_gradient_of_the_oracle_by_central_differences(loss):
    """Of the smooth evidence, whose implicit term no paper has; exact if there are no steps."""
    K, y = problem(loss, 15, seed=2)
    K = K + 0.05 * np.eye(15)
    rng = np.random.default_rng(2)
    m = 0.1 * rng.normal(size=15)
    width = width_of(loss, "smooth")
    s = laplace_evidence(K, y, loss, m=m).solution
    G = oracle.gradient(K, y, loss, s.a, s.f, width)
    h = 1e-5

    def slope(change):
        return (change(h) - change(-h)) / (2.0 * h)

    root = rng.normal(size=(15, 15))
    D, v = 0.1 * root @ root.T, rng.normal(size=15)
    got = slope(lambda t: oracle_value(K + t * D, y, loss, m, width))
    assert (G["K"] * D).sum() == pytest.approx(got, rel=2e-6, abs=2e-7)
    got = slope(lambda t: oracle_value(K, y, loss, m + t * v, width))
    assert G["m"] @ v == pytest.approx(got, rel=2e-6, abs=2e-7)
    assert set(G["parameters"]) == set(loss.domains)
    for key, value in G["parameters"].items():
        at = {k: getattr(loss, k) for k in loss.domains}

        def changed(t, key=key, at=at):
            moved = type(loss)(**{**at, key: at[key] * (1.0 + t)})
            return oracle_value(K, y, moved, m, width)

        assert value * at[key] == pytest.approx(slope(changed), rel=2e-6, abs=2e-7), key


# ---- along a slice of the hyperparameters -----------------------------------------------------


def slice_of(key, curvature, steps=200):
    """Return the steps of the log evidence that its gradients at both ends do not account for."""
    X, y = datasets.sinc(300)
    x = X[:, 0] / X.std()
    distance, width = (x[:, None] - x) ** 2, width_of(LOSSES[0], curvature)
    values, slopes, a = [], [], None
    for t in np.linspace(-0.5, 0.5, steps + 1):
        at = {"C": 10.0, "epsilon": 0.1, "kappa": 5.6}
        at[key] *= np.exp(t)
        main = y.var() * np.exp(-0.5 * at["kappa"] * distance)
        loss = losses.SILF(at["C"], at["epsilon"], 0.3)
        got = laplace_evidence(main + 1.0, y, loss, curvature, a0=a, check_input=False)
        a, f = got.solution.a, got.solution.f
        G = oracle.gradient(main + 1.0, y, loss, a, f, width)
        if key == "kappa":
            slopes.append((G["K"] * -0.5 * at["kappa"] * distance * main).sum())
        else:
            slopes.append(G["parameters"][key] * at[key])
        values.append(got.log_evidence)
    slopes = np.array(slopes)
    return np.diff(values) - 0.5 * (slopes[1:] + slopes[:-1]) / steps


@pytest.mark.parametrize("key", ["kappa", "epsilon", "C"])
def test_smooth_evidence_has_no_steps_and_the_exact_one_has(key):
    assert np.abs(slice_of(key, "smooth")).max() < 0.005
    jumps = np.abs(slice_of(key, "exact"))
    assert jumps.max() > 0.05
    assert (jumps > 0.02).sum() >= 5


# ---- errors -----------------------------------------------------------------------------------

GOOD = {"K": np.eye(3), "y": np.array([1.0, -1.0, 1.0]), "loss": losses.SILF(1.0, 0.1)}
INDEFINITE = 1.4 * np.eye(6) - 0.4 * np.ones((6, 6))  # its 2 x 2 minors are positive

BAD = [
    ({"loss": losses.SoftMarginL2(1.0)}, ValueError, "normaliser", "Trigonometric"),
    ({"loss": losses.SoftMarginL1(1.0)}, ValueError, "normaliser", "Logistic"),
    ({"loss": losses.SoftMarginLe(1.0, 0.1)}, ValueError, "normaliser", "Probit"),
    ({"loss": losses.EpsilonInsensitive(1.0, 0.1)}, ValueError, "EpsilonInsensitive", "beta > 0"),
    ({"loss": losses.Laplace(1.0)}, ValueError, "Laplace has no curvature", "beta > 0"),
    ({"curvature": "soft"}, ValueError, "curvature must be 'smooth' or 'exact'", "'soft'"),
    ({"curvature": None}, ValueError, "curvature must be 'smooth' or 'exact'", "None"),
    ({"ramp_width": 0.0}, ValueError, "0 < ramp_width", "0.0"),
    ({"ramp_width": -0.5}, ValueError, "0 < ramp_width", "-0.5"),
    ({"ramp_width": np.nan}, ValueError, "0 < ramp_width", "nan"),
    ({"ramp_width": np.inf}, ValueError, "0 < ramp_width", "inf"),
    ({"y": [1.0, np.nan, 0.0]}, ValueError, "y must be finite", "nan"),
    ({"y": [1.0, np.inf, 0.0]}, ValueError, "y must be finite", "inf"),
    ({"y": [1, 0, 1], "loss": losses.Logistic()}, ValueError, "labels -1 and 1", "2 * y - 1"),
    ({"y": [1, 2, 1], "loss": losses.Trigonometric()}, ValueError, "labels -1 and 1", "2"),
    ({"y": [1.0, 2.0]}, ValueError, "y must have shape", "(2,)"),
    ({"K": np.ones((3, 2))}, ValueError, "K", "(3, 2)"),
    ({"K": np.diag([1.0, np.nan, 1.0])}, ValueError, "K must be finite", "nan"),
    ({"K": np.eye(3) + np.eye(3, k=1)}, ValueError, "K must be symmetric", "1"),
    ({"K": np.diag([1.0, -1.0, 1.0])}, ValueError, "K must be positive semidefinite", "-1"),
    ({"m": [0.0, 1.0]}, ValueError, "m must have shape (3,)", "(2,)"),
    ({"m": [0.0, np.nan, 0.0]}, ValueError, "m", "nan"),
    ({"a0": [1.0]}, ValueError, "a0", "(1,)"),
    (
        {"K": INDEFINITE, "y": np.ones(6), "loss": losses.Gaussian(0.1)},
        DualSolveError,
        "K is not positive semidefinite",
        "jitter",
    ),
    ({"m": [-2.0, 2.0, 0.0], "loss": losses.Trigonometric()}, DualSolveError, "prior mean", "wall"),
    ({"tol": -1.0}, ValueError, "tol", "-1.0"),
    ({"tol": np.nan}, ValueError, "tol", "nan"),
    ({"max_iter": 0, "y": [3.0, 2.0, 1.0]}, DualSolveError, "duality gap", "max_iter"),
    ({"loss": "silf"}, TypeError, "loss must be a loss", "'silf'"),
    ({"loss": losses.SILF}, TypeError, "loss must be a loss", "SILF"),
    ({"loss": None}, TypeError, "loss must be a loss", "None"),
]


@pytest.mark.parametrize(("bad", "error", "wrong", "seen"), BAD)
def test_bad_arguments(bad, error, wrong, seen):
    with pytest.raises(error) as caught:
        laplace_evidence(**{**GOOD, **bad})
    message = str(caught.value)
    assert wrong in message, message
    assert seen in message, message
    assert message.endswith("."), message


def test_an_offset_would_change_the_model():
    with pytest.raises(TypeError):
        laplace_evidence(**GOOD, bias=True)


def test_the_first_example_is_a_good_one():
    assert laplace_evidence(**GOOD).solution.converged


def test_indefinite_covariance_that_only_the_ramps_see():
    """The MAP estimate has no free row here, so that only the determinant can notice."""
    loss = losses.SILF(10.0, 0.1, 0.3)
    y = np.full(6, 0.069)  # flat, and in the lower ramp
    with pytest.raises(ValueError, match=r"positive semidefinite.*jitter"):
        laplace_evidence(50.0 * INDEFINITE, y, loss)


def test_a_gap_that_is_too_large_is_reported_with_the_solution():
    K, y = problem(LOSSES[0], 40)
    with pytest.raises(DualSolveError) as caught:
        laplace_evidence(K, y, LOSSES[0], max_iter=1)
    gap = caught.value.solution.gap
    assert gap > 1e-9
    assert f"{gap:.3g} nats" in str(caught.value)
    loose = laplace_evidence(K, y, LOSSES[0], max_iter=1, tol=10.0 * gap)
    assert loose.solution.gap == gap


def test_names_of_the_losses_are_those_of_the_oracle():
    assert {name(loss) for loss in LOSSES} == set(oracle.FORMULAS)


# ---- parameters by row ------------------------------------------------------------------------

parametric = pytest.mark.parametrize("loss", [x for x in LOSSES if x.domains], ids=repr)
LEVELS = 0.3 * np.exp(np.linspace(-1.5, 1.5, 40))


def by_exact_regression(K, y, sigma, m=0.0):
    """Return the log evidence of Gaussian process regression with noise by row, (2.30) [RW06]."""
    return multivariate_normal(np.broadcast_to(m, y.shape), K + np.diag(sigma**2)).logpdf(y)


def test_gaussian_noise_by_row_is_exact():
    K, y = problem(losses.Gaussian(1.0), 40)
    m = 0.2 * np.cos(np.arange(40))
    got = laplace_evidence(K, y, losses.Gaussian(LEVELS), m=m)
    assert got.log_evidence == pytest.approx(by_exact_regression(K, y, LEVELS, m), rel=1e-10)
    assert got.log_normalizer == pytest.approx(np.log(np.sqrt(2 * np.pi) * LEVELS).sum())
    posterior = got.posterior
    gain = np.linalg.solve(K + np.diag(LEVELS**2), K)
    np.testing.assert_allclose(posterior.mean, m + gain.T @ (y - m), rtol=1e-8)
    np.testing.assert_allclose(posterior.variance, np.diag(K - K @ gain), rtol=1e-8)


def test_wide_huber_rows_are_gaussian_rows():
    """With beta = 1 and a wide tube the loss is r² C / (4 epsilon), noise of 2 epsilon / C."""
    K, y = problem(losses.Gaussian(1.0), 40)
    epsilon = 60.0 * LEVELS + np.abs(y).max()
    for loss in (
        losses.SILF(2.0 * epsilon / LEVELS**2, epsilon, 1.0),
        losses.SILF(2.0 * epsilon.max() / LEVELS**2, epsilon.max(), 1.0),
        losses.Huber(2.0 * epsilon / LEVELS**2, epsilon),
    ):
        got = laplace_evidence(K, y, loss, "exact")
        assert got.log_evidence == pytest.approx(by_exact_regression(K, y, LEVELS), rel=1e-9)


@parametric
@both
def test_terms_are_those_of_the_rows_own_losses(loss, curvature):
    K, y = problem(loss, 40)
    rows = by_row(loss, 40)
    got = laplace_evidence(K, y, rows, curvature)
    own = [type(loss)(**{k: x[i] for k, x in rows.fields.items()}) for i in range(40)]
    f, a, width = got.solution.f, got.solution.a, width_of(loss, curvature)
    W = [
        one.curvature(t, x) if width is None else one.smooth_curvature(t, x, width)
        for one, t, x in zip(own, y, f, strict=True)
    ]
    root = np.sqrt(W)
    det = np.linalg.slogdet(np.eye(40) + root[:, None] * K * root)[1]
    fit = sum(one.value(t, x) for one, t, x in zip(own, y, f, strict=True))
    log_z = sum(one.log_normalizer() for one in own)
    assert got.log_det == pytest.approx(det, rel=1e-10)
    wanted = -(fit + 0.5 * a @ K @ a + 0.5 * det + log_z)
    assert got.log_evidence == pytest.approx(wanted, rel=1e-10)
    np.testing.assert_allclose(
        a, [-one.derivative(t, x) for one, t, x in zip(own, y, f, strict=True)], atol=1e-6
    )


@parametric
@both
def test_weights_repeat_rows_with_their_parameters(loss, curvature):
    K, y = problem(loss, 25)
    rows, weight = by_row(loss, 25), np.random.default_rng(3).integers(0, 4, 25)
    again = np.repeat(np.arange(25), weight)
    got = laplace_evidence(K, y, rows, curvature, sample_weight=weight)
    long = laplace_evidence(K[np.ix_(again, again)], y[again], repeated(rows, weight), curvature)
    for term in ("fit", "penalty", "log_det", "log_normalizer"):
        assert getattr(got, term) == pytest.approx(getattr(long, term), rel=1e-6, abs=1e-8), term


def test_parameters_of_another_number_of_rows():
    K, y = problem(losses.Gaussian(1.0), 5)
    with pytest.raises(ValueError, match=r"C of SILF has 4 values, but there are 5 rows\. Pass"):
        laplace_evidence(K, y, losses.SILF(np.ones(4), 0.1))
