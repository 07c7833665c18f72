"""The linear algebra of `pymc_bsvm.covariance.lapack`, under its earlier name."""

from pymc_bsvm.covariance.lapack import (
    cholesky_in_place,
    cholesky_inverse_in_place,
    cholesky_solve_in_place,
)

__all__ = ["cholesky_in_place", "cholesky_inverse_in_place", "cholesky_solve_in_place"]
