"""All rows as inducing points: how far the evidence and its gradient are from the dense ones."""

from __future__ import annotations

import numpy as np

from pymc_bsvm import laplace_evidence, losses
from pymc_bsvm.estimators.kernels import RBF
from pymc_bsvm.streamed.evidence import inducing_evidence
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.rows import ArrayRows

__all__ = ["differences"]

ROWS, OFFSET, TIGHT = 300, 0.7, 1e-18
LOSSES = {
    "SILF": losses.SILF(C=6.0, epsilon=0.2, beta=0.4),
    "Huber": losses.Huber(C=4.0, epsilon=0.3),
    "squared": losses.Gaussian(sigma=0.4),
    "trigonometric": losses.Trigonometric(delta=1.3),
    "logistic": losses.Logistic(),
    "probit": losses.Probit(),
}


def differences(name: str) -> dict[str, float]:
    """Return the distance of the values in nats, and of the gradients as a share of the largest.

    There is no jitter, and the length-scale leaves the covariance well conditioned.
    """
    loss, rng = LOSSES[name], np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(ROWS, 4))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_t(3, size=ROWS)
    y = np.sign(y) if loss.task == "classification" else y
    kernel, values = RBF(), np.array([1.3, 0.4])
    features = Features.at(kernel, values, X, OFFSET, jitter=0.0)
    found = inducing_evidence(Passes(ArrayRows(X, y)), features, loss, tol=TIGHT)
    dense = laplace_evidence(kernel.matrix(values, X) + OFFSET, y, loss)
    rows = dense.gradient.rows
    expected = np.append(
        kernel.slopes(values, X[rows], dense.gradient.K), dense.gradient.parameters
    )
    slope = np.append(found.gradient.kernel, found.gradient.parameters)
    return {
        "value": abs(found.log_evidence - dense.log_evidence),
        "gradient": float(np.abs(slope - expected).max() / np.abs(expected).max()),
        "condition": float(np.linalg.cond(kernel.matrix(values, X))),
    }
