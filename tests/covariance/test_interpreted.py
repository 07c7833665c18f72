"""Small matrices by NumPy and SciPy's LAPACK, against the compiled functions of the same names."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from pymc_bsvm.covariance import dense, exact, interpreted, lapack
from pymc_bsvm.covariance.woodbury import WOODBURY

SIZES = (1, 2, 37, 300, 301)  # the last is for compiled code
SHARES = (0.0, 0.1, 0.8, 1.0)  # of the rows that take part


def problem(n, share=1.0):
    """Return a covariance, some rows, roots of their curvature and weights."""
    rng = np.random.default_rng(n)
    half = rng.normal(size=(n, n + 2))
    free = np.sort(rng.choice(n, int(share * n), replace=False))
    return half @ half.T / n, free, rng.uniform(0.1, 3.0, n), rng.normal(size=n)


def close(got, expected, atol=1e-13):
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=atol)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", SHARES)
def test_a_factor_and_its_solutions(n, share):
    K, free, root, weights = problem(n, share)
    before = K.copy()
    (L, definite), (expected, _) = (
        f(K, free, root) for f in (interpreted.factorize, dense.factorize)
    )
    assert definite
    close(np.tril(L), np.tril(expected))
    x = np.stack([weights[free], root[free]])
    solution = x.copy()
    interpreted.cholesky_solve_in_place(L, x)
    lapack.cholesky_solve_in_place(expected, solution)
    close(x, solution, 1e-11)
    close(interpreted.inverse_diagonal(L), lapack.inverse_diagonal(expected))
    interpreted.cholesky_inverse_in_place(L)
    lapack.cholesky_inverse_in_place(expected)
    close(np.tril(L), np.tril(expected))
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", SHARES)
def test_products(n, share):
    K, rows, root, weights = problem(n, share)
    out, expected = root.copy(), root.copy()
    interpreted.add_product(K, rows, weights, out)
    dense.add_product(K, rows, weights, expected)
    close(out, expected)
    a = np.zeros(n)
    a[rows] = weights[rows]
    close(interpreted.latent(K, root, a, 0.5), dense.latent(K, root, a, 0.5))
    close(interpreted.submatrix(K, rows), K[np.ix_(rows, rows)], 0.0)


def test_a_submatrix_in_another_order():
    K = problem(5)[0]
    rows = np.array([4, 0, 2, 1, 3])
    np.testing.assert_array_equal(interpreted.submatrix(K, rows), K[np.ix_(rows, rows)])


@pytest.mark.parametrize("n", [3, 37, 290])
def test_a_product_in_twice_the_precision(n):
    K, rows, _, weights = problem(n, 0.9)
    weights *= 1e8
    some = slice(0, 3)
    exactly = [sum(Fraction(K[i, j]) * Fraction(weights[j]) for j in rows) for i in range(3)]
    high, low = np.zeros(n), np.zeros(n)
    high[some] = [-float(x) for x in exactly]
    interpreted.add_product_exactly(K, rows, weights, high, low)
    left = np.array([float(x - Fraction(float(x))) for x in exactly])
    _, depth = interpreted.DENSE.depth(K, rows.size)
    reach = np.abs(K[some]) @ np.abs(weights)
    assert (np.abs((high + low)[some] - left) <= (2.0**-52 * depth) ** 2 * reach + 1e-24).all()


def test_sums_in_twice_the_precision():
    x = np.array([1e16, 1.0, -1e16, 1e-3])
    assert interpreted.exact_sum(x) == exact.exact_sum(x) == 1.001
    assert np.isnan(interpreted.exact_sum(np.array([np.inf, -np.inf])))
    assert np.isnan(interpreted.exact_sum(np.array([1e308, 1e308, -1e308])))
    assert interpreted.two_sum(1.0, 1e-20) == (1.0, 1e-20)


def test_what_is_not_positive_definite_is_told():
    K = np.array([[1.0, 3.0], [3.0, 1.0]])
    assert not interpreted.factorize(K, np.arange(2), np.ones(2))[1]


def test_covariances_of_low_rank_stay_compiled():
    assert interpreted.in_numpy(WOODBURY) is WOODBURY
    assert interpreted.in_numpy(dense.DENSE) is interpreted.DENSE


FITS = """
import numpy as np
from numba.core import event
from pymc_bsvm.estimators import BayesianSVR

x = np.linspace(-8.0, 8.0, {n})
y = np.sinc(x) + 0.1 * np.random.default_rng(0).normal(size=x.size)
with event.install_recorder("numba:compile") as compiled:
    model = BayesianSVR().fit(x[:, None], y)
    model.predict_interval(x[:, None])
print(len(compiled.buffer))
"""


@pytest.mark.parametrize("n", [200, 299])
def test_a_fit_of_few_rows_compiles_nothing(n, tmp_path, monkeypatch):
    """Compilers took three seconds of CPU time on a machine that had no compiled code yet."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", FITS.format(n=n)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == 0
