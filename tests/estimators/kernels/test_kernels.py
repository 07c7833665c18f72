"""What holds for all kernels: symmetry, variances, derivatives, agreement with PyMC."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_bsvm.estimators.kernels import (
    RBF,
    Arcsine,
    BSpline,
    Dirichlet,
    Kernel,
    Linear,
    Matern32,
    Matern52,
    Polynomial,
    Sum,
    block,
)
from tests.estimators.kernels import cases

every_kernel = pytest.mark.parametrize("kernel", cases.KERNELS, ids=cases.name)
every_d = pytest.mark.parametrize("d", cases.COLUMNS)


def symmetric(n, seed=3):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


@every_d
@every_kernel
def test_hyperparameters(kernel, d):
    hyperparameters = kernel.hyperparameters(d)
    names = [h.name for h in hyperparameters]
    assert len(set(names)) == len(names)
    for h in hyperparameters:
        assert 0.0 < h.low < h.start < h.high < np.inf


@every_d
@every_kernel
def test_matrix_is_symmetric_and_positive_semidefinite(kernel, d):
    X = cases.rows(40, d)
    X[1] = X[0]
    K = kernel.matrix(cases.values(kernel, d), X)
    assert (K == K.T).all()
    low = np.linalg.eigvalsh(K)
    assert low[0] >= -1e-13 * low[-1]


@every_d
@every_kernel
def test_rows_are_those_of_the_matrix(kernel, d):
    X, values = cases.rows(12, d), cases.values(kernel, d)
    row, K = kernel.row_by_row(values, X), kernel.matrix(values, X)
    for k in (0, 11, 5):
        np.testing.assert_allclose(row(k), K[k], rtol=1e-9, atol=1e-12 * K.max())
    assert row(3)[3] == pytest.approx(K[3, 3], rel=1e-12)


@every_d
@every_kernel
def test_bounds_give_finite_covariances(kernel, d):
    X = cases.rows(20, d)
    for end in ("low", "high"):
        values = np.array([getattr(h, end) for h in kernel.hyperparameters(d)])
        K = kernel.matrix(values, X)
        slopes = kernel.slopes(values, X, symmetric(20))
        assert np.isfinite(K).all()
        assert np.isfinite(slopes).all()
        eigenvalues = np.linalg.eigvalsh(K)
        assert eigenvalues[0] >= -1e-13 * eigenvalues[-1]


@every_d
@every_kernel
def test_diagonal(kernel, d):
    X, values = cases.rows(15, d), cases.values(kernel, d)
    np.testing.assert_allclose(
        kernel.diagonal(values, X), np.diagonal(kernel.matrix(values, X)), rtol=1e-14
    )


@pytest.mark.parametrize("kind", [RBF, Matern32, Matern52])
def test_a_row_is_at_no_distance_from_itself(kind):
    """However short the length-scale: rounding of |x|² / ls² would leave one."""
    X = cases.rows(60, 20)
    K = kind().matrix(np.array([1.7, 1e-4]), X)
    np.testing.assert_allclose(np.diagonal(K), 1.7**2, rtol=1e-15)


@every_d
@every_kernel
def test_new_rows(kernel, d):
    X, values = cases.rows(15, d), cases.values(kernel, d)
    K = kernel.matrix(values, X)
    cross = kernel.matrix(values, X[:9], X[4:])
    assert cross.shape == (9, 11)
    np.testing.assert_allclose(cross, K[:9, 4:], rtol=1e-9, atol=1e-13)


@every_d
@every_kernel
def test_arguments_are_left_alone(kernel, d):
    X, values, weights = cases.rows(8, d), cases.values(kernel, d), symmetric(8)
    before = X.copy(), values.copy(), weights.copy()
    kernel.matrix(values, X)
    kernel.slopes(values, X, weights)
    for now, then in zip((X, values, weights), before, strict=True):
        np.testing.assert_array_equal(now, then)


@every_d
@every_kernel
def test_layout_of_the_rows_does_not_matter(kernel, d):
    X, values = cases.rows(12, d), cases.values(kernel, d)
    strided = np.zeros((24, 2 * d))
    strided[::2, ::2] = X
    K = kernel.matrix(values, X)
    for Y in (np.asfortranarray(X), strided[::2, ::2]):
        again = kernel.matrix(values, Y)
        assert (again == again.T).all()
        np.testing.assert_allclose(again, K, rtol=1e-9, atol=1e-13)


def assert_slopes(slopes, values, numbers, weights):
    """Compare with four points: the error is the step to the fourth power, and rounding over it."""
    assert slopes.shape == values.shape
    scale, step = np.abs(weights * numbers(values)).sum(), 1e-4
    for k, slope in enumerate(slopes):
        shift = step * (np.arange(len(values)) == k)

        def total(times, shift=shift):
            return np.vdot(weights, numbers(values * np.exp(times * shift)))

        numerical = (8.0 * (total(1.0) - total(-1.0)) - (total(2.0) - total(-2.0))) / (12.0 * step)
        assert slope == pytest.approx(numerical, rel=1e-7, abs=1e-9 * scale)


@every_d
@every_kernel
def test_slopes_are_derivatives_in_the_logarithms(kernel, d):
    X, values, weights = cases.rows(20, d), cases.values(kernel, d), symmetric(20)
    slopes = kernel.slopes(values, X, weights)
    assert_slopes(slopes, values, lambda v: kernel.matrix(v, X), weights)


@every_d
@every_kernel
def test_slopes_of_covariances_with_other_rows(kernel, d):
    X, Z, values = cases.rows(20, d), 0.5 + cases.rows(13, d, seed=7), cases.values(kernel, d)
    weights = np.random.default_rng(3).normal(size=(20, 13))
    slopes = kernel.cross_slopes(values, X, Z, weights)
    assert_slopes(slopes, values, lambda v: kernel.matrix(v, X, Z), weights)


@every_d
@every_kernel
def test_slopes_of_variances(kernel, d):
    X, values = cases.rows(20, d), cases.values(kernel, d)
    weights = np.random.default_rng(3).normal(size=20)
    slopes = kernel.diagonal_slopes(values, X, weights)
    assert_slopes(slopes, values, lambda v: kernel.diagonal(v, X), weights)


class Plain(Kernel):
    """What a user has to write, and no more."""

    def hyperparameters(self, d):
        return Polynomial(ard=True).hyperparameters(d)

    def matrix(self, values, X, Z=None):
        return Polynomial(ard=True).matrix(values, X, Z)

    def diagonal(self, values, X):
        return Polynomial(ard=True).diagonal(values, X)

    def to_pymc(self, values, d):
        raise NotImplementedError


def test_a_kernel_without_slopes_of_its_own_has_differences():
    X, Z, values = cases.rows(20, 3), cases.rows(9, 3, seed=7), cases.values(Plain(), 3)
    weights = np.random.default_rng(3).normal(size=(20, 9))
    kernel, exact = Plain() + RBF(), Polynomial(ard=True) + RBF()
    values = np.concatenate([values, [1.1, 0.7]])
    for name, arguments in {
        "slopes": (X, symmetric(20)),
        "cross_slopes": (X, Z, weights),
        "diagonal_slopes": (X, weights[:, 0]),
    }.items():
        expected = getattr(exact, name)(values, *arguments)
        np.testing.assert_allclose(getattr(kernel, name)(values, *arguments), expected, rtol=1e-7)


@pytest.mark.parametrize("kernel", [RBF(), BSpline(ard=True), Dirichlet(ard=True)], ids=cases.name)
def test_blocks_of_rows(kernel, monkeypatch):
    X, values, weights = cases.rows(150, 3), cases.values(kernel, 3), symmetric(150)
    K, slopes = kernel.matrix(values, X), kernel.slopes(values, X, weights)
    monkeypatch.setattr(block, "_NEAR", 1)
    np.testing.assert_array_equal(kernel.matrix(values, X), K)
    np.testing.assert_allclose(kernel.slopes(values, X, weights), slopes, rtol=1e-10)


@every_d
@every_kernel
def test_agreement_with_pymc(kernel, d):
    X, Z, values = cases.rows(9, d), cases.rows(6, d, seed=4), cases.values(kernel, d)
    cov = kernel.to_pymc(values, d)
    for ours, graph in (
        (kernel.matrix(values, X), cov(X)),
        (kernel.matrix(values, X, Z), cov(X, Z)),
        (kernel.diagonal(values, X), cov(X, diag=True)),
    ):
        theirs = pytensor.function([], graph, mode="FAST_COMPILE")()
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize(
    "kernel",
    [
        BSpline(ard=True),
        BSpline(p=2),
        Dirichlet(ard=True),
        Dirichlet(order=2),
        Arcsine(ard=True),
        Linear(ard=True),
        Polynomial(),
        Polynomial(ard=True),
        RBF(ard=True) + BSpline(),
    ],
    ids=cases.name,
)
def test_graph_has_the_same_derivatives(kernel, d):
    X, values, weights = cases.rows(10, d), cases.values(kernel, d), symmetric(10)
    variables = pt.dvector("values")
    total = pt.sum(weights * kernel.to_pymc(variables, d)(X))
    gradient = pytensor.function([variables], pt.grad(total, variables), mode="FAST_COMPILE")
    np.testing.assert_allclose(
        values * gradient(values), kernel.slopes(values, X, weights), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("kernel", [BSpline(), Dirichlet()], ids=cases.name)
def test_graph_in_a_model(kernel):
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5)
        pm.Deterministic("K", kernel.to_pymc([2.0, ls], 1)(cases.rows(5, 1)))
        K = model.compile_fn(model["K"], mode="FAST_COMPILE", inputs=[ls])({"ls": 2.5})
    ours = kernel.matrix(np.array([2.0, 2.5]), cases.rows(5, 1))
    np.testing.assert_allclose(K, ours, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", cases.WITH_SCALES)
def test_relevance(kind):
    d = 3
    kernel = kind(ard=True)
    values = cases.values(kernel, d)
    np.testing.assert_array_equal(kernel.relevance(values, d), 1.0 / values[-d:])
    shared = kind()
    assert shared.relevance(cases.values(shared, d), d) is None


@pytest.mark.parametrize("kind", cases.WITH_SCALES)
def test_columns_without_relevance_do_not_count(kind):
    kernel = kind(ard=True)
    values = cases.values(kernel, 2)
    values[-1] = 1e9
    one = kind(ard=True)
    X = cases.rows(7, 2)
    np.testing.assert_allclose(
        kernel.matrix(values, X), one.matrix(values[:-1], X[:, :1]), rtol=1e-9, atol=1e-12
    )


@every_kernel
def test_copies(kernel):
    for copied in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copied == kernel
        assert hash(copied) == hash(kernel)
        assert repr(copied) == repr(kernel)


def test_sum():
    kernel = RBF() + RBF(ard=True) + RBF()
    hyperparameters = kernel.hyperparameters(2)
    names = [h.name for h in hyperparameters]
    assert names == ["eta", "ls", "eta_2", "ls[0]_2", "ls[1]_2", "eta_3", "ls_3"]
    variables = [h.variable for h in hyperparameters]
    assert variables == ["eta", "ls", "eta_2", "ls_2", "ls_2", "eta_3", "ls_3"]
    assert isinstance(kernel, Sum)
    values = np.array([1.0, 1.0, 1.0, 2.0, 4.0, 1.0, 1.0])
    np.testing.assert_array_equal(kernel.relevance(values, 2), [0.5, 0.25])
    assert (RBF() + RBF()).relevance(values[:4], 2) is None
    both = RBF(ard=True) + RBF(ard=True)  # a column matters if it does in one term
    np.testing.assert_array_equal(
        both.relevance(np.array([1.0, 2.0, 4.0, 1.0, 5.0, 0.5]), 2), [0.5, 2.0]
    )
    with pytest.raises(TypeError, match=r"A sum needs kernels, but one of its terms is 1\.0\. Use"):
        RBF() + 1.0


def test_common_part_of_a_column_costs_no_digits():
    X, weights = cases.rows(10, 2), symmetric(10)
    for kernel in (RBF(), RBF(ard=True)):
        values = cases.values(kernel, 2)
        far = X + 2.0**20
        np.testing.assert_allclose(
            kernel.matrix(values, far), kernel.matrix(values, far - 2.0**20), rtol=1e-9
        )
        np.testing.assert_allclose(
            kernel.slopes(values, far, weights),
            kernel.slopes(values, far - 2.0**20, weights),
            rtol=1e-8,
        )


def test_rows_close_to_each_other():
    for kernel in cases.KERNELS:
        values = cases.values(kernel, 1)
        x = np.array([[0.3], [0.3 + 1e-9]])
        K = kernel.matrix(values, x)
        np.testing.assert_allclose(K, K[0, 0], rtol=1e-8)
        assert np.isfinite(kernel.slopes(values, x, np.ones((2, 2)))).all()


def test_import_leaves_pymc_out():
    code = (
        "import sys, pymc_bsvm.estimators.kernels as k; k.kernel_of('rbf'); k.kernel_of(print); "
        "sys.exit(any(name in sys.modules for name in ('pymc', 'pytensor')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_all_are_kernels():
    assert all(isinstance(kernel, Kernel) for kernel in cases.KERNELS)
