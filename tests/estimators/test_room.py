"""How much memory evaluations take at a time, in kernel matrices: what NumPy and Numba allocate."""

import gc
import tracemalloc

import numpy as np
import pytest

from pymc_bsvm import losses
from pymc_bsvm.estimators.kernels import RBF
from pymc_bsvm.estimators.likelihood import classification_likelihood, regression_likelihood
from pymc_bsvm.estimators.machine import Blueprint, MachineEvidence

N = 1200
WORK = 0.15  # blocks of rows, and features of low rank; they do not grow like a matrix


def objective(loss, n):
    rng = np.random.default_rng(3)
    X = rng.uniform(-3.0, 3.0, (n, 1))
    f = np.sin(2.0 * X[:, 0])
    y = f + 0.2 * rng.normal(size=n)
    if loss.task == "classification":
        y = np.where(3.0 * f + rng.normal(size=n) > 0.0, 1.0, -1.0)
        return MachineEvidence(
            Blueprint(RBF(), classification_likelihood(loss), 1.0, 1), X, y, None
        )
    return MachineEvidence(
        Blueprint(RBF(), regression_likelihood(loss, 1.0, 0.5), 1.0, 1), X, y, None
    )


def peak(what, loss):
    """Return the largest memory of a call, in kernel matrices, above that before it."""
    values = np.array([h.start for h in objective(loss, 9).blueprint.hyperparameters])
    values[-2:] = 10.0, 1.0
    what(objective(loss, 600), values)  # compiles
    model = objective(loss, N)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    found = what(model, values)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (most - before) / (8.0 * N**2), found


def machine(model, values):
    return model.machine(values)


def evaluated(model, values):
    return model(np.log(values))


@pytest.mark.parametrize(
    ("loss", "share", "most"),
    [
        (losses.SILF(5.0, 0.3, 0.3), (0.1, 0.5), 1.5),
        (losses.Gaussian(0.2), (1.0, 1.0), 2.0),
    ],
    ids=repr,
)
def test_a_machine_takes_the_kernel_matrix_and_its_factors(loss, share, most):
    got, found = peak(machine, loss)
    assert share[0] <= found.free.sum() / N <= share[1]
    assert 1.0 < got <= most + WORK


@pytest.mark.parametrize("loss", [losses.Trigonometric(), losses.Logistic()], ids=repr)
def test_a_gradient_adds_one_matrix_of_the_rows_it_depends_on(loss):
    """The factors of both curvatures, where they differ, and a matrix for each pair of rows."""
    got, (value, slope) = peak(evaluated, loss)
    assert np.isfinite(value)
    assert np.isfinite(slope).all()
    rows = objective(loss, N).evidence(np.array([10.0, 1.0])).gradient.rows.size / N
    assert 1.0 < got <= 1.0 + 3.0 * rows**2 + WORK
