"""Data, kernels in plain NumPy, and small models for the tests of the Gaussian process models."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor
from pytensor.compile.mode import get_mode

import pymc_bsvm as bsvm
from pymc_bsvm import losses

# Quick to compile; products of many factors would exceed what Python mode can do.
UNFUSED = get_mode("FAST_COMPILE").excluding("fusion", "canonicalize")
QUICK = {"mode": UNFUSED}

LOSSES = (
    losses.SILF(5.0, 0.2, 0.3),
    losses.Huber(5.0, 0.2),
    losses.Gaussian(0.3),
    losses.Trigonometric(1.2),
    losses.Logistic(),
    losses.Probit(),
)
POINT = {"ls": np.array([0.9, 1.6]), "C": 4.0, "epsilon": 0.25}


class Data(NamedTuple):
    """Inputs in the plane, real targets with a few outliers, and labels."""

    X: np.ndarray
    y: np.ndarray
    labels: np.ndarray
    new: np.ndarray


def plane(n: int, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    X, new = rng.uniform(-2.0, 2.0, (n, 2)), rng.uniform(-2.5, 2.5, (9, 2))
    f = np.sin(1.5 * X[:, 0]) + 0.3 * X[:, 1]
    labels = (f + 0.7 * rng.normal(size=n) > 0.0).astype("int64")
    labels[:2] = 0, 1
    return Data(X, f + 0.2 * rng.standard_t(3, size=n), labels, new)


def targets(data: Data, loss: losses.Loss) -> np.ndarray:
    """Return targets as models want them."""
    return data.y if loss.task == "regression" else data.labels


def signed(data: Data, loss: losses.Loss) -> np.ndarray:
    """Return targets as solvers want them."""
    return data.y if loss.task == "regression" else 2.0 * data.labels - 1.0


# ---- kernels ----------------------------------------------------------------------------------


def distance(X: np.ndarray, Z: np.ndarray, ls: Any = 1.0) -> np.ndarray:
    return np.sqrt((((X[:, None] - Z[None]) / ls) ** 2).sum(-1))


def expquad(X: np.ndarray, Z: np.ndarray, ls: Any = 1.0) -> np.ndarray:
    return np.exp(-0.5 * distance(X, Z, ls) ** 2)


def ard(X: np.ndarray, Z: np.ndarray, ls: Any) -> np.ndarray:
    """Return the covariance of `model`."""
    return 1.4 * expquad(X, Z, ls) + 0.5


# ---- models -----------------------------------------------------------------------------------


class Process(NamedTuple):
    """A model and its Gaussian process."""

    model: pm.Model
    gp: Any


def ard_cov(ls: Any) -> Any:
    return 1.4 * pm.gp.cov.ExpQuad(2, ls=ls) + pm.gp.cov.Constant(0.5)


def regression(X: Any, y: Any, *, model: Any = None, coords: Any = None, **kwargs: Any) -> Process:
    """Return a model with priors, whose free variables are those of `POINT`."""
    with model or pm.Model(coords=coords) as model:
        ls = pm.LogNormal("ls", 0.0, 0.5, shape=2)
        C, epsilon = pm.LogNormal("C", 1.0, 0.5), pm.HalfNormal("epsilon", 0.3)
        gp = bsvm.gp.BSVR(cov_func=ard_cov(ls))
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon, **kwargs)
    return Process(model, gp)


def classification(X: Any, labels: Any, *, model: Any = None, **kwargs: Any) -> Process:
    """Return a model with priors, whose only free variables are the length-scales."""
    with model or pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5, shape=2)
        gp = bsvm.gp.BTSVC(cov_func=ard_cov(ls))
        gp.marginal_likelihood("y", X=X, y=labels, **kwargs)
    return Process(model, gp)


def of_loss(loss: losses.Loss, data: Data, **kwargs: Any) -> Process:
    """Return a model whose free variables, `ls` and the loss's parameters, have flat priors."""
    with pm.Model() as model:
        own = [pm.Flat(name) for name in loss.domains]
        gp = bsvm.gp.Laplace(cov_func=ard_cov(pm.Flat("ls", shape=2)))
        gp.marginal_likelihood("y", data.X, targets(data, loss), type(loss)(*own), **kwargs)
    return Process(model, gp)


def point_of(loss: losses.Loss) -> dict[str, Any]:
    """Return the point of `of_loss` at the parameters of the loss."""
    return {"ls": POINT["ls"], **{name: getattr(loss, name) for name in loss.domains}}


# ---- evaluation -------------------------------------------------------------------------------


def evidence_function(model: pm.Model, *names: str, mode: Any = UNFUSED) -> Any:
    """Return a function of a point: log evidence and its gradient, by name.

    The variables are those that the model is sampled in: logs, where a prior is positive.
    """
    names = names or ("y",)
    value = model.logp(vars=[model[name] for name in names], jacobian=False)
    gradients = pytensor.grad(value, model.value_vars, disconnected_inputs="ignore")
    function = model.compile_fn(
        [value, *gradients], inputs=model.value_vars, mode=mode, on_unused_input="ignore"
    )

    def evaluate(point: Any) -> tuple[float, dict[str, np.ndarray]]:
        value, *gradient = function(point)
        named = zip(model.value_vars, gradient, strict=True)
        return float(value), {variable.name: np.asarray(g) for variable, g in named}

    return evaluate


def assert_gradient(function: Any, point: Any, gradient: Any, step: float = 1e-6, **close: Any):
    """Compare a gradient with central differences of a function of a point.

    The function returns the value and whatever must be the same at both ends.
    """
    tolerance = {"rtol": 2e-6, "atol": 2e-6, **close}
    for name, of_name in gradient.items():
        for index in np.ndindex(np.shape(of_name)):
            ends, sets = [], []
            for sign in (1.0, -1.0):
                moved = np.array(point[name], dtype=float)
                moved[index] += sign * step
                value, pinned = function({**point, name: moved})
                ends.append(value)
                sets.append(pinned)
            np.testing.assert_array_equal(*sets, err_msg="the free set has changed")
            difference = (ends[0] - ends[1]) / (2.0 * step)
            np.testing.assert_allclose(
                of_name[index], difference, err_msg=f"{name} {index}", **tolerance
            )
