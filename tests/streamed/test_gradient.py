"""The gradient of the evidence on inducing points, against differences and the dense gradient."""

import numpy as np
import pytest

from pymc_bsvm import laplace_evidence, losses
from pymc_bsvm.streamed.evidence import inducing_evidence
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.rows import ArrayRows
from tests.streamed.problems import LOSSES, VALUES, Gaussian, problem, rows
from tests.streamed.test_evidence import SPREAD, name

STEP = 1e-5  # of logarithms: its square, and the rounding of a hundred nats divided by it


def evidence_at(logs, loss, passes, features, tau, around=None):
    """Return the evidence at logarithms of the kernel's values, then of the loss's parameters."""
    count = features.values.size
    here = Features.at(
        features.kernel, np.exp(logs[:count]), features.Z, features.offset, features.jitter
    )
    changed = type(loss)(*np.exp(logs[count:]))
    return inducing_evidence(passes, here, changed, tau=tau, around=around, tol=1e-17)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize(("tau", "offset", "seed"), [(0.0, 0.7, 0), (1.0, 0.7, 2), (1.0, 0.0, 3)])
def test_gradient_is_that_of_differences(loss, tau, offset, seed):
    passes, features = problem(loss, seed=seed, offset=offset, size=50)
    logs = np.log([*VALUES, *loss.fields.values()])
    here = evidence_at(logs, loss, passes, features, tau)
    own = np.array(here.gradient.parameters) * list(loss.fields.values())

    def value(x):
        return evidence_at(x, loss, passes, features, tau, here.mode.f).log_evidence

    steps = STEP * np.eye(logs.size)
    expected = [(value(logs + e) - value(logs - e)) / (2.0 * STEP) for e in steps]
    np.testing.assert_allclose(np.append(here.gradient.kernel, own), expected, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_all_rows_as_inducing_points_have_the_dense_gradient(loss, tau):
    X, y, weight = rows(loss, n=40)
    features = Features.at(Gaussian(), SPREAD, X, 0.7, jitter=0.0)
    passes = Passes(ArrayRows(X, y, weight))
    found = inducing_evidence(passes, features, loss, tau=tau, tol=1e-18).gradient
    K = Gaussian().matrix(SPREAD, X) + 0.7
    dense = laplace_evidence(K, y, loss, sample_weight=weight).gradient
    of_K = Gaussian().slopes(SPREAD, X[dense.rows], dense.K)
    np.testing.assert_allclose(found.kernel, of_K, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.parameters, dense.parameters, rtol=1e-6, atol=1e-6)


def test_rows_of_no_weight_do_not_count():
    loss = losses.Trigonometric()
    passes, features = problem(loss)
    X, y, weight = passes.rows.X, passes.rows.y, passes.rows.weight
    more = Passes(
        ArrayRows(np.vstack([X, X]), np.append(y, -y), np.append(weight, 0.0 * weight), size=50)
    )
    one, two = (inducing_evidence(p, features, loss, tol=1e-14) for p in (passes, more))
    assert two.log_evidence == pytest.approx(one.log_evidence, abs=1e-8)
    np.testing.assert_allclose(two.gradient.kernel, one.gradient.kernel, atol=1e-7)
    np.testing.assert_allclose(two.gradient.parameters, one.gradient.parameters, atol=1e-7)
