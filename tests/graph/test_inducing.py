"""The evidence on inducing points as an expression, beside the numbers."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import get_mode

from pymc_bsvm import laplace_evidence, losses
from pymc_bsvm.covariance.inducing import Inducing
from pymc_bsvm.graph.inducing import inducing_terms, inducing_values

QUICK = get_mode("FAST_COMPILE")


@pytest.mark.parametrize("loss", [losses.SILF(5.0, 0.2, 0.3), losses.Trigonometric(1.2)], ids=repr)
def test_terms(loss):
    """Each term, the posterior, and the derivatives with respect to what the loss is not."""
    rng = np.random.default_rng(9)
    numbers = A, left_out, y, m = (
        rng.normal(size=(20, 4)),
        rng.uniform(0.0, 0.2, 20),
        rng.normal(size=20),
        0.1 * rng.normal(size=20),
    )
    if loss.task == "classification":
        numbers = A, left_out, y, m = A, left_out, np.sign(y), m
    K = Inducing(A, left_out, 0.6)
    expected = laplace_evidence(K, y, loss, m=m)
    symbols = pt.matrix("A"), pt.vector("d"), pt.vector("y"), pt.vector("m")
    terms = inducing_terms(*symbols[:3], loss, m=symbols[3], ramp_width=loss.ramp_width, charge=0.6)
    values = inducing_values(symbols[0], symbols[2], loss, m=symbols[3])
    wrt = [symbols[0], symbols[1], symbols[3]]
    outputs = [*terms, *values, *pytensor.grad(terms.log_evidence, wrt)]
    value, fit, penalty, log_det, trace, log_z, w, B, *slopes = pytensor.function(
        symbols, outputs, mode=QUICK
    )(*numbers)
    assert value == pytest.approx(expected.log_evidence, rel=1e-10)
    for name, term in zip(
        ("fit", "penalty", "log_det", "trace", "log_normalizer"),
        (fit, penalty, log_det, trace, log_z),
        strict=True,
    ):
        assert term == pytest.approx(getattr(expected, name), rel=1e-8, abs=1e-12), name
    mean, covariance = expected.posterior.coefficients
    np.testing.assert_allclose(w, mean, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.inv(B), covariance, rtol=1e-8, atol=1e-12)
    gradient = expected.gradient
    for one, other in zip(slopes, (gradient.K.A, gradient.K.d, gradient.m), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
