"""From an estimator's argument to a kernel."""

import numpy as np
import pymc as pm
import pytest

from pymc_bsvm.estimators import kernels
from pymc_bsvm.estimators.kernels import RBF, Frozen, Precomputed, kernel_of

NAMES = {
    "rbf": kernels.RBF,
    "matern32": kernels.Matern32,
    "matern52": kernels.Matern52,
    "linear": kernels.Linear,
    "poly": kernels.Polynomial,
    "periodic": kernels.Periodic,
    "bspline": kernels.BSpline,
    "dirichlet": kernels.Dirichlet,
    "arcsine": kernels.Arcsine,
}


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    assert kernel_of(name) == NAMES[name]()
    assert kernel_of(name, ard=True) == NAMES[name](ard=True)


def test_others():
    kernel = RBF(ard=True) + RBF()
    assert kernel_of(kernel) is kernel
    assert kernel_of("precomputed") == Precomputed()
    assert kernel_of(np.inner) == Frozen(np.inner)
    cov = pm.gp.cov.ExpQuad(1, ls=1.0)
    assert kernel_of(cov) == Frozen(cov)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(), r"ard=True has no effect on RBF\(ard=False\)\. Set ard in the kernel itself\."),
        ("precomputed", r"A precomputed Gram matrix has no length-scales\. Set ard=False\."),
        (np.inner, r"The length-scales of .*inner.* are fixed\. Set ard=False\."),
        (pm.gp.cov.ExpQuad(1, ls=1.0), r"The length-scales of .* are fixed\. Set ard=False\."),
    ],
    ids=["kernel", "precomputed", "callable", "pymc"],
)
def test_ard_where_there_is_none(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel_of(kernel, ard=True)


@pytest.mark.parametrize("wrong", ["RBF", "gaussian", 3, None, RBF], ids=repr)
def test_unknown(wrong):
    message = r"kernel must be a covariance function, but it is .*\. Pass one of 'rbf', 'matern32'"
    with pytest.raises(ValueError, match=message):
        kernel_of(wrong)
