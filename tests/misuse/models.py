"""Misuses of losses, the solver, evidences, distributions, models and what is made of them.

Each message is what a user reads: one sentence says what was seen, the second what to do.
"""

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr

import pymc_bsvm as bsvm
from pymc_bsvm import datasets, diagnosis, distributions, losses, reporting
from tests.misuse.case import Misuse

__all__ = ["CASES"]

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(12, 1))
Y = np.sin(X[:, 0])
LABELS = (Y > 0.0).astype(int)
SIGNS = 2.0 * LABELS - 1.0
K = np.exp(-0.5 * (X - X.T) ** 2)
NEW, AT = X[:3], {"ls": 1.0}
SILF, TRIGONOMETRIC = losses.SILF(10.0, 0.1), losses.Trigonometric(1.0)
KINKED, HINGE = losses.EpsilonInsensitive(10.0, 0.1), losses.SoftMarginL1(1.0)
DRAWS = xr.DataTree.from_dict(
    {"posterior": xr.Dataset({"ls": (("chain", "draw"), np.ones((1, 3)))})}
)


def cov(columns: int = 1) -> Any:
    return pm.gp.cov.ExpQuad(columns, ls=1.0)


def likelihood(kind: Any, **changes: Any) -> Any:
    """Make a model with a marginal likelihood, of which something is wrong."""
    arguments: dict[str, Any] = {"X": X, "y": Y}
    if kind in (bsvm.gp.BSVR, bsvm.gp.SparseBSVR):
        arguments |= {"C": 10.0, "epsilon": 0.1}
    if kind is bsvm.gp.BTSVC:
        arguments |= {"y": LABELS}
    if kind is bsvm.gp.Laplace:
        arguments |= {"loss": SILF}
    arguments |= changes
    arguments = {name: value for name, value in arguments.items() if value is not ...}
    with pm.Model() as model:
        gp = kind(cov_func=arguments.pop("cov_func", None) or cov())
        gp.marginal_likelihood("y", **arguments)
    return model, gp


def observed(kind: Any, *args: Any, **kwargs: Any) -> Any:
    with pm.Model():
        return kind(*args, **kwargs)


@functools.cache
def regression() -> Any:
    """Return a model and its process."""
    with pm.Model() as model:
        gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(1, ls=pm.InverseGamma("ls", 3.0, 3.0)))
        gp.marginal_likelihood("y", X, Y, C=10.0, epsilon=0.1)
    return model, gp


@functools.cache
def classification() -> Any:
    """Return a model of labels and its process."""
    with pm.Model() as model:
        ls = pm.InverseGamma("ls", 3.0, 3.0)
        gp = bsvm.gp.BTSVC(cov_func=9.0 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X, LABELS)
    return model, gp


@functools.cache
def fitted(of: Callable[[], Any] = regression) -> Any:
    return bsvm.fit_evidence(of()[0], progressbar=False, check=False)


def fit(**settings: Any) -> Any:
    return bsvm.fit_evidence(regression()[0], **{"progressbar": False, **settings})


def predict(*args: Any, **kwargs: Any) -> Any:
    model, gp = regression()
    return gp.predict(*args, **{"model": model, **kwargs})


def conditional(*args: Any, **kwargs: Any) -> Any:
    model, gp = regression()
    with model.copy():
        return gp.conditional(*args, **kwargs)


def misuse(
    name: str, call: Callable[[], object], exception: type[Exception], message: str
) -> Misuse:
    """Take a message apart into its two sentences; lists of arguments may go on."""
    seen, remedy = message.removesuffix(".").split(". ", maxsplit=1)
    return Misuse(name, call, exception, re.escape(seen + "."), re.escape(remedy))


LOSSES = [
    misuse(
        "C of a loss is text",
        lambda: losses.SILF(C="a", epsilon=0.1),
        TypeError,
        "C must be a real number, but got 'a' of type str. Pass a float with 0 < C.",
    ),
    misuse(
        "C of a loss is None",
        lambda: losses.SILF(C=None, epsilon=0.1),
        TypeError,
        "C is None, but it has no default. Pass a number with 0 < C, or a variable with a "
        "prior to learn it.",
    ),
    misuse(
        "C of a loss is negative",
        lambda: losses.SILF(C=-1.0, epsilon=0.1),
        ValueError,
        "C must satisfy 0 < C, but it is -1.0. Pass a finite value with 0 < C.",
    ),
    misuse(
        "C of a loss is not a number",
        lambda: losses.SILF(C=np.nan, epsilon=0.1),
        ValueError,
        "C must satisfy 0 < C, but it is nan. Pass a finite value with 0 < C.",
    ),
    misuse(
        "C of a loss is a flag",
        lambda: losses.SILF(True, 0.1),
        TypeError,
        "C must be a real number, but got True of type bool. Pass a float with 0 < C.",
    ),
    misuse(
        "C of a loss is complex",
        lambda: losses.SILF(1j, 0.1),
        TypeError,
        "C must be a real number, but got 1j of type complex. Pass a float with 0 < C.",
    ),
    misuse(
        "C of a loss is a list",
        lambda: losses.SILF([1.0, 2.0], 0.1),
        TypeError,
        "C must be a real number, but got [1.0, 2.0] of type list. Pass a float with 0 < C.",
    ),
    misuse(
        "C of a loss is a matrix",
        lambda: losses.SILF(np.ones((2, 2)), 0.1),
        TypeError,
        "C must be a number or a vector of one for each row, but it is an array of shape (2, "
        "2) and type float64. Pass numbers with 0 < C.",
    ),
    misuse(
        "a loss lacks a parameter",
        lambda: losses.SILF(10.0),
        TypeError,
        "SILF lacks epsilon. Its parameters are C, epsilon, beta.",
    ),
    misuse(
        "a loss has no such parameter",
        lambda: losses.SILF(10.0, 0.1, sigma=1.0),
        TypeError,
        "SILF has no parameter 'sigma'. Its parameters are C, epsilon, beta.",
    ),
    misuse(
        "a loss has the parameter of another library",
        lambda: losses.Huber(C=1.0, delta=0.1),
        TypeError,
        "Huber has no parameter 'delta'. Its parameters are C, epsilon.",
    ),
    misuse(
        "beta is above one",
        lambda: losses.SILF(10.0, 0.1, beta=2.0),
        ValueError,
        "beta must satisfy 0 < beta <= 1, but it is 2.0. Pass a finite value with 0 < beta <= 1.",
    ),
    misuse(
        "parameters by row have different lengths",
        lambda: losses.SILF(np.ones(3), np.ones(2)),
        ValueError,
        "C has 3 values, but epsilon has 2. Pass one number, or one for each row.",
    ),
    misuse(
        "sigma is zero",
        lambda: losses.Gaussian(0.0),
        ValueError,
        "sigma must satisfy 0 < sigma, but it is 0.0. Pass a finite value with 0 < sigma.",
    ),
    misuse(
        "delta is infinite",
        lambda: losses.Trigonometric(np.inf),
        ValueError,
        "delta must satisfy 0 < delta, but it is inf. Pass a finite value with 0 < delta.",
    ),
    misuse(
        "labels 0 and 1 for a loss",
        lambda: TRIGONOMETRIC.check_targets([0, 1]),
        ValueError,
        "y must hold the labels -1 and 1 only, but element 0 is 0. For labels 0 and 1, pass "
        "2 * y - 1.",
    ),
    misuse(
        "targets of a loss are missing",
        lambda: SILF.check_targets([np.nan]),
        ValueError,
        "y must be finite, but element 0 is nan. Remove or impute these rows first.",
    ),
    misuse(
        "a hinge has no normaliser",
        lambda: HINGE.log_normalizer(),
        ValueError,
        "SoftMarginL1 is not a negative log likelihood: its normaliser depends on f. Use "
        "Trigonometric, Logistic or Probit where probabilities are needed.",
    ),
    misuse(
        "a parameter is a function where there are no inputs",
        lambda: losses.SILF(lambda X: X, 0.1).value(Y, Y),
        TypeError,
        "C of SILF is a function of the inputs, which are not known here. Pass loss.at(X), "
        "or use the loss in a GP model.",
    ),
]

SOLVER = [
    misuse(
        "K is not square",
        lambda: bsvm.solve_dual(K[:, :3], Y, SILF),
        ValueError,
        "K must be a square matrix, but its shape is (12, 3). Pass the covariance of the "
        "training inputs with themselves.",
    ),
    misuse(
        "K is a vector",
        lambda: bsvm.solve_dual(Y, K, SILF),
        ValueError,
        "K must be a square matrix, but its shape is (12,). Pass the covariance of the "
        "training inputs with themselves.",
    ),
    misuse(
        "inputs in the place of K",
        lambda: bsvm.solve_dual(X, Y, SILF),
        ValueError,
        "K must be a square matrix, but its shape is (12, 1). Pass the covariance of the "
        "training inputs with themselves.",
    ),
    misuse(
        "K is empty",
        lambda: bsvm.solve_dual(np.zeros((0, 0)), np.zeros(0), SILF),
        ValueError,
        "K must be a square matrix, but its shape is (0, 0). Pass the covariance of the "
        "training inputs with themselves.",
    ),
    misuse(
        "K is not finite",
        lambda: bsvm.solve_dual(K * np.nan, Y, SILF),
        ValueError,
        "K must be finite, but K[0, 0] is nan. Check the inputs and hyperparameters of the "
        "covariance function.",
    ),
    misuse(
        "K is not symmetric",
        lambda: bsvm.solve_dual(K + np.triu(K), Y, SILF),
        ValueError,
        "K must be symmetric, but K and its transpose differ by 1. Pass the covariance of "
        "the training inputs with themselves.",
    ),
    misuse(
        "K has negative variances",
        lambda: bsvm.solve_dual(K - 2.0 * np.eye(12), Y, SILF),
        ValueError,
        "K must be positive semidefinite, but its diagonal holds -1. Check the covariance "
        "function.",
    ),
    misuse(
        "K is the name of a kernel",
        lambda: bsvm.solve_dual("rbf", Y, SILF),
        TypeError,
        "K must hold real numbers, but it is 'rbf'. Pass the covariance matrix of the "
        "training inputs.",
    ),
    misuse(
        "K is None",
        lambda: bsvm.solve_dual(None, Y, SILF),
        TypeError,
        "K must hold real numbers, but it is None. Pass the covariance matrix of the "
        "training inputs.",
    ),
    misuse(
        "K is complex",
        lambda: bsvm.solve_dual(1j * K, Y, SILF),
        TypeError,
        "K must hold real numbers, but it is an array of shape (12, 12) and type complex128. "
        "Pass the covariance matrix of the training inputs.",
    ),
    misuse(
        "K holds text",
        lambda: bsvm.solve_dual(np.full((12, 12), "a"), Y, SILF),
        TypeError,
        "K must hold real numbers, but it is an array of shape (12, 12) and type <U1. Pass "
        "the covariance matrix of the training inputs.",
    ),
    misuse(
        "K is masked",
        lambda: bsvm.solve_dual(np.ma.masked_greater(K, 0.99), Y, SILF),
        TypeError,
        "K has 22 masked values. Remove these rows first.",
    ),
    misuse(
        "y is too short",
        lambda: bsvm.solve_dual(K, Y[:-1], SILF),
        ValueError,
        "y must have shape (12,) to match K, but its shape is (11,). Pass one number for "
        "each of the 12 rows of K.",
    ),
    misuse(
        "y is a column",
        lambda: bsvm.solve_dual(K, Y[:, None], SILF),
        ValueError,
        "y must have shape (12,) to match K, but its shape is (12, 1). Pass one number for "
        "each of the 12 rows of K.",
    ),
    misuse(
        "y has gaps",
        lambda: bsvm.solve_dual(K, np.full(12, np.nan), SILF),
        ValueError,
        "y must be finite, but element 0 is nan. Remove or impute these rows first.",
    ),
    misuse(
        "y is masked",
        lambda: bsvm.solve_dual(K, np.ma.masked_greater(Y, 0.0), SILF),
        TypeError,
        "y has 8 masked values. Remove these rows first.",
    ),
    misuse(
        "y is text",
        lambda: bsvm.solve_dual(K, ["a"] * 12, SILF),
        TypeError,
        "y must hold real numbers, but it is ['a', 'a', 'a', 'a', 'a', 'a', ...]. Pass one "
        "number for each of the 12 rows of K.",
    ),
    misuse(
        "y is a list of dates",
        lambda: bsvm.solve_dual(K, np.arange(12).astype("datetime64[D]"), SILF),
        TypeError,
        "y must hold real numbers, but it is an array of shape (12,) and type datetime64[D]. "
        "Pass one number for each of the 12 rows of K.",
    ),
    misuse(
        "y holds labels 0 and 1",
        lambda: bsvm.solve_dual(K, np.zeros(12), TRIGONOMETRIC),
        ValueError,
        "y must hold the labels -1 and 1 only, but element 0 is 0.0. For labels 0 and 1, "
        "pass 2 * y - 1.",
    ),
    misuse(
        "the loss is a name",
        lambda: bsvm.solve_dual(K, Y, "silf"),
        TypeError,
        "loss must be a loss of pymc_bsvm.losses, but it is 'silf'. Pass, for example, "
        "losses.SILF(C=10, epsilon=0.1).",
    ),
    misuse(
        "the loss holds variables",
        lambda: bsvm.solve_dual(K, Y, losses.SILF(pt.scalar("C"), 0.1)),
        TypeError,
        "The parameters of loss must be numbers, but SILF holds model variables. Pass their "
        "values, or use laplace_evidence or a GP model in the graph.",
    ),
    misuse(
        "the loss is of other rows",
        lambda: bsvm.solve_dual(K, Y, losses.SILF(np.ones(3), 0.1)),
        ValueError,
        "C of SILF has 3 values, but there are 12 rows. Pass one number, or one for each row.",
    ),
    misuse(
        "the start has another length",
        lambda: bsvm.solve_dual(K, Y, SILF, a0=np.zeros(3)),
        ValueError,
        "a0 must have shape (12,) to match K, but its shape is (3,). Pass one number for "
        "each of the 12 rows of K.",
    ),
    misuse(
        "the start is not finite",
        lambda: bsvm.solve_dual(K, Y, SILF, a0=np.full(12, np.nan)),
        ValueError,
        "a0 must be finite, but element 0 is nan. Leave it out to start from zero.",
    ),
    misuse(
        "two starts",
        lambda: bsvm.solve_dual(K, Y, SILF, a0=np.zeros(12), f0=np.zeros(12)),
        ValueError,
        "The solver starts from a dual or from latent values, but both a0 and f0 were given. "
        "Leave out one of them.",
    ),
    misuse(
        "the tolerance is zero",
        lambda: bsvm.solve_dual(K, Y, SILF, tol=0.0),
        ValueError,
        "tol must satisfy 0 < tol, but it is 0.0. Pass a finite value with 0 < tol.",
    ),
    misuse(
        "the tolerance is text",
        lambda: bsvm.solve_dual(K, Y, SILF, tol="small"),
        TypeError,
        "tol must be a real number, but got 'small' of type str. Pass a float with 0 < tol.",
    ),
    misuse(
        "a share of a step",
        lambda: bsvm.solve_dual(K, Y, SILF, max_iter=1.5),
        ValueError,
        "max_iter must be an integer >= 0, but it is 1.5. Pass, for example, 1000.",
    ),
    misuse(
        "the mean has another length",
        lambda: bsvm.solve_dual(K, Y, SILF, m=np.zeros(3)),
        ValueError,
        "m must have shape (12,) to match K, but its shape is (3,). Pass one number for each "
        "of the 12 rows of K.",
    ),
    misuse(
        "weights are negative",
        lambda: bsvm.solve_dual(K, Y, SILF, sample_weight=-np.ones(12)),
        ValueError,
        "sample_weight must satisfy 0 <= sample_weight, but element 0 is -1.0. Pass a finite "
        "value with 0 <= sample_weight.",
    ),
    misuse(
        "weights have another length",
        lambda: bsvm.solve_dual(K, Y, SILF, sample_weight=np.ones(3)),
        ValueError,
        "sample_weight must have shape (12,) to match K, but its shape is (3,). Pass one "
        "number for each of the 12 rows of K.",
    ),
    misuse(
        "the solver has no such argument",
        lambda: bsvm.solve_dual(K, Y, SILF, verbose=True),
        TypeError,
        "solve_dual() got an unexpected keyword argument 'verbose'. Its arguments are K, y, "
        "loss, a0, tol, m, sample_weight, bias, f0, max_iter, on_failure, callback, "
        "check_input, engine.",
    ),
    misuse(
        "the callback is a number",
        lambda: bsvm.solve_dual(K, Y, SILF, callback=1),
        TypeError,
        "callback must be a function, but it is 1. Pass one that takes the progress of a "
        "step, or leave it out.",
    ),
    misuse(
        "the bias is text",
        lambda: bsvm.solve_dual(K, Y, SILF, bias="no"),
        TypeError,
        "bias must be True or False, but it is 'no'. Choose one of the two.",
    ),
    misuse(
        "the engine is unknown",
        lambda: bsvm.solve_dual(K, Y, SILF, engine="jax"),
        ValueError,
        "engine must be 'numpy' or 'numba', but it is 'jax'. Choose one of the two.",
    ),
    misuse(
        "features are a vector",
        lambda: bsvm.LowRank(Y, 0.1),
        ValueError,
        "A must be a matrix with rows and columns, but its shape is (12,). Pass the features "
        "of the training inputs, one row for each.",
    ),
    misuse(
        "features are text",
        lambda: bsvm.LowRank("a", 1.0),
        TypeError,
        "A must hold real numbers, but it is of type str. Pass an array of floats.",
    ),
    misuse(
        "features are not finite",
        lambda: bsvm.LowRank(np.full((12, 2), np.nan), 1.0),
        ValueError,
        "A must be finite, but element (0, 0) is nan. Check the inputs and hyperparameters "
        "of the features.",
    ),
    misuse(
        "the rest of a low rank has another length",
        lambda: bsvm.LowRank(np.ones((12, 2)), np.ones(3)),
        ValueError,
        "d must be a number or have shape (12,) to match A, but its shape is (3,). Pass one "
        "number, or one for each row of A.",
    ),
    misuse(
        "the rest of a low rank is negative",
        lambda: bsvm.LowRank(np.ones((12, 2)), -1.0),
        ValueError,
        "d must satisfy 0 <= d, but it is -1.0. Pass a finite value with 0 <= d.",
    ),
    misuse(
        "a low rank of other rows",
        lambda: bsvm.solve_dual(bsvm.LowRank(np.ones((5, 2)), 1.0), Y, SILF),
        ValueError,
        "y must have shape (5,) to match K, but its shape is (12,). Pass one number for each "
        "of the 5 rows of K.",
    ),
]

EVIDENCE = [
    misuse(
        "a loss without curvature",
        lambda: bsvm.laplace_evidence(K, Y, KINKED),
        ValueError,
        "EpsilonInsensitive has no curvature, so that its laplace evidence is not defined. "
        "Use SILF with beta > 0, which rounds the kinks, or expectation propagation: EP().",
    ),
    misuse(
        "a loss without normaliser",
        lambda: bsvm.laplace_evidence(K, SIGNS, HINGE),
        ValueError,
        "SoftMarginL1 is not a negative log likelihood: its normaliser depends on f, so that "
        "its laplace evidence is not defined. Use Trigonometric, Logistic or Probit where "
        "probabilities are needed.",
    ),
    misuse(
        "a curvature that is none",
        lambda: bsvm.laplace_evidence(K, Y, SILF, curvature="rough"),
        ValueError,
        "curvature must be 'smooth' or 'exact', but it is 'rough'. Choose one of the two.",
    ),
    misuse(
        "an evidence has no such argument",
        lambda: bsvm.laplace_evidence(K, Y, SILF, sigma=1.0),
        TypeError,
        "laplace_evidence() got an unexpected keyword argument 'sigma'. Its arguments are K, "
        "y, loss, curvature, m, sample_weight, a0, tol, max_iter, ramp_width, check_input, "
        "engine.",
    ),
    misuse(
        "a symbolic evidence of a column",
        lambda: bsvm.laplace_evidence(pt.dmatrix("K"), Y[:, None], SILF),
        ValueError,
        "y must have 1 dimensions, but it has 2. Pass a square matrix and vectors of its length.",
    ),
    misuse(
        "expectation propagation without normaliser",
        lambda: bsvm.ep_evidence(K, SIGNS, HINGE),
        ValueError,
        "SoftMarginL1 is not a negative log likelihood: its normaliser depends on f, so that "
        "its ep evidence is not defined. Use Trigonometric, Logistic or Probit where "
        "probabilities are needed.",
    ),
    misuse(
        "expectation propagation without sweeps",
        lambda: bsvm.ep_evidence(K, Y, SILF, max_iter=0),
        ValueError,
        "max_iter must be a positive whole number, but it is 0. Pass the largest number of "
        "sweeps, such as 200.",
    ),
    misuse(
        "expectation propagation has no such argument",
        lambda: bsvm.ep_evidence(K, Y, SILF, damping=0.5),
        TypeError,
        "ep_evidence() got an unexpected keyword argument 'damping'. Its arguments are K, y, "
        "loss, m, sample_weight, start, tol, max_iter, on_failure, check_input, engine.",
    ),
    misuse(
        "expectation propagation of gaps",
        lambda: bsvm.ep_evidence(K, np.full(12, np.nan), SILF),
        ValueError,
        "y must be finite, but element 0 is nan. Remove or impute these rows first.",
    ),
    misuse(
        "the bound of Gao for another loss",
        lambda: bsvm.gao_evidence(K, Y, SILF),
        ValueError,
        "SILF is not the epsilon-insensitive loss, so that its gao evidence is not defined. "
        "Use losses.EpsilonInsensitive, or another approximation: Laplace() or EP().",
    ),
    misuse(
        "the bound of Gao of a rectangle",
        lambda: bsvm.gao_evidence(K[:3], Y, KINKED),
        ValueError,
        "K must be a square matrix, but its shape is (3, 12). Pass the covariance of the "
        "training inputs with themselves.",
    ),
]

DISTRIBUTIONS = [
    misuse(
        "a distribution has the parameter of another",
        lambda: observed(bsvm.SILF, "y", mu=0.0, sigma=1.0, observed=Y),
        TypeError,
        "SILF has no argument 'sigma'. Use mu, C, epsilon, beta, or those of PyMC, such as "
        "shape and dims.",
    ),
    misuse(
        "a distribution lacks a parameter",
        lambda: observed(bsvm.SILF, "y", mu=0.0, epsilon=0.1, observed=Y),
        TypeError,
        "SILF lacks C. Use mu, C, epsilon, beta, or those of PyMC, such as shape and dims.",
    ),
    misuse(
        "a distribution without name",
        lambda: observed(bsvm.SILF, 0.0, 1.0, 0.1, observed=Y),
        TypeError,
        "The first argument of SILF is the name of the variable, but it is 0.0. Pass a "
        "string first, or use SILF.dist.",
    ),
    misuse(
        "C of a distribution is text",
        lambda: observed(bsvm.SILF, "y", mu=0.0, C="a", epsilon=0.1, observed=Y),
        TypeError,
        "C must be a number, an array or a variable, but it is 'a'. Pass a number with 0 < "
        "C, or a variable with a prior to learn it.",
    ),
    misuse(
        "C of a distribution is None",
        lambda: observed(bsvm.SILF, "y", mu=0.0, C=None, epsilon=0.1, observed=Y),
        ValueError,
        "C must satisfy 0 < C, but it is nan. Pass a finite value with 0 < C.",
    ),
    misuse(
        "epsilon of a distribution is negative",
        lambda: observed(bsvm.SILF, "y", 0.0, 1.0, -0.1, observed=Y),
        ValueError,
        "epsilon must satisfy 0 < epsilon, but it is -0.1. Pass a finite value with 0 < epsilon.",
    ),
    misuse(
        "beta of a distribution is zero",
        lambda: observed(bsvm.SILF, "y", 0.0, 1.0, 0.1, 0.0, observed=Y),
        ValueError,
        "beta must satisfy 0 < beta <= 1, but it is 0.0. Pass a finite value with 0 < beta <= 1.",
    ),
    misuse(
        "targets of a distribution are text",
        lambda: observed(bsvm.SILF, "y", 0.0, 1.0, 0.1, observed=["a"]),
        TypeError,
        "observed of 'y' must be an array of numbers, but got ['a']. Encode or convert the "
        "values to numbers first.",
    ),
    misuse(
        "targets of a distribution are infinite",
        lambda: observed(bsvm.SILF, "y", 0.0, 1.0, 0.1, observed=[np.inf]),
        ValueError,
        "observed of 'y' must be finite, but element 0 is inf. Drop these values, or mask "
        "them to have PyMC impute them.",
    ),
    misuse(
        "shapes do not fit",
        lambda: observed(bsvm.SILF, "y", np.zeros(3), 1.0, 0.1, observed=Y),
        ValueError,
        "The shapes mu (3,), observed (12,) do not broadcast against each other. Pass "
        "parameters and data of equal length, or scalars.",
    ),
    misuse(
        "data for a variable without model",
        lambda: bsvm.SILF.dist(0.0, 1.0, 0.1, observed=Y),
        TypeError,
        "SILF has no argument 'observed'. Use mu, C, epsilon, beta, or those of PyMC, such "
        "as shape and dims.",
    ),
    misuse(
        "beta for a loss that has none",
        lambda: observed(bsvm.EpsilonInsensitive, "y", 0.0, 1.0, 0.1, beta=0.3),
        TypeError,
        "EpsilonInsensitive has no argument 'beta'. Use mu, C, epsilon, or those of PyMC, "
        "such as shape and dims.",
    ),
    misuse(
        "a latent value by the name of a mean",
        lambda: observed(bsvm.Trigonometric, "y", mu=0.0, observed=LABELS),
        TypeError,
        "Trigonometric has no argument 'mu'. Use f, delta, flip, or those of PyMC, such as "
        "shape and dims.",
    ),
    misuse(
        "labels -1 and 1 for a distribution",
        lambda: observed(bsvm.Trigonometric, "y", f=0.0, observed=SIGNS),
        ValueError,
        "observed of 'y' must hold the labels 0 and 1 only, but element 1 is -1.0. For "
        "labels -1 and +1, pass (y + 1) // 2.",
    ),
    misuse(
        "labels are text",
        lambda: observed(bsvm.Trigonometric, "y", f=0.0, observed=np.where(LABELS, "a", "b")),
        TypeError,
        "observed of 'y' must be an array of numbers, but got an array of shape (12,) and "
        "type <U1. Encode or convert the values to numbers first.",
    ),
    misuse(
        "delta is zero",
        lambda: observed(bsvm.Trigonometric, "y", f=0.0, delta=0.0, observed=LABELS),
        ValueError,
        "delta must satisfy 0 < delta, but it is 0.0. Pass a finite value with 0 < delta.",
    ),
    misuse(
        "half of the labels are flipped",
        lambda: observed(bsvm.Trigonometric, "y", f=0.0, flip=0.5, observed=LABELS),
        ValueError,
        "flip must satisfy 0 <= flip < 0.5, but it is 0.5. Pass a finite value with 0 <= "
        "flip < 0.5.",
    ),
    misuse(
        "a distribution of a name",
        lambda: distributions.noise_distribution("huber"),
        TypeError,
        "loss_type must be a class of losses of regression, but it is 'huber'. Pass one "
        "derived from losses.NoiseLoss, such as losses.Huber.",
    ),
    misuse(
        "a distribution of a loss with values",
        lambda: distributions.noise_distribution(SILF),
        TypeError,
        "loss_type must be a class of losses of regression, but it is SILF(C=10.0, "
        "epsilon=0.1, beta=0.3). Pass one derived from losses.NoiseLoss, such as "
        "losses.Huber.",
    ),
    misuse(
        "a likelihood of a name",
        lambda: distributions.likelihood("silf", 0.0),
        TypeError,
        "loss must be a loss of pymc_bsvm.losses, but it is 'silf'. Pass, for example, "
        "losses.SILF(C=10, epsilon=0.1).",
    ),
    misuse(
        "a likelihood of a hinge",
        lambda: distributions.likelihood(HINGE, 0.0),
        NotImplementedError,
        "There is no likelihood for the loss SoftMarginL1, whose noise has no quantiles. "
        "Derive the loss from losses.NoiseLoss, or use a loss that is a log likelihood.",
    ),
]

MODELS = [
    misuse(
        "no covariance function",
        lambda: bsvm.gp.BSVR(),
        TypeError,
        "BSVR has no covariance function. Pass one, such as cov_func=eta**2 * "
        "pm.gp.cov.ExpQuad(1, ls=ls).",
    ),
    misuse(
        "the covariance function has another name",
        lambda: bsvm.gp.BSVR(kernel=cov()),
        TypeError,
        "Process.__init__() got an unexpected keyword argument 'kernel'. Its arguments are "
        "mean_func, cov_func.",
    ),
    misuse(
        "the covariance function by position",
        lambda: bsvm.gp.BSVR(cov()),
        TypeError,
        "Process.__init__() takes 1 positional argument but 2 were given. Its arguments are "
        "mean_func, cov_func.",
    ),
    misuse(
        "the covariance function is a function",
        lambda: bsvm.gp.BSVR(cov_func=np.dot),
        TypeError,
        "cov_func must be a covariance function, but it is of type _ArrayFunctionDispatcher. "
        "Pass one of pm.gp.cov, or derive yours from pm.gp.cov.Covariance.",
    ),
    misuse(
        "the mean function is a number",
        lambda: bsvm.gp.BSVR(cov_func=cov(), mean_func=1.0),
        TypeError,
        "mean_func must be a mean function, but it is 1.0. Pass one of pm.gp.mean, such as "
        "pm.gp.mean.Constant(c).",
    ),
    misuse(
        "a prior of latent values",
        lambda: bsvm.gp.BSVR(cov_func=cov()).prior("f", X),
        NotImplementedError,
        "BSVR has no prior method, because it integrates the latent values out. Use "
        "marginal_likelihood, or pm.gp.Latent with a likelihood such as bsvm.SILF.",
    ),
    misuse(
        "a sum of two kinds",
        lambda: bsvm.gp.BSVR(cov_func=cov()) + bsvm.gp.BTSVC(cov_func=cov()),
        TypeError,
        "A BSVR has no sum with an object of type BTSVC. Add a process of the same kind, or "
        "covariance functions.",
    ),
    misuse(
        "a sum with a number",
        lambda: bsvm.gp.BSVR(cov_func=cov()) + 1.0,
        TypeError,
        "A BSVR has no sum with an object of type float. Add a process of the same kind, or "
        "covariance functions.",
    ),
    misuse(
        "a marginal likelihood of noise",
        lambda: likelihood(bsvm.gp.BSVR, sigma=1.0),
        TypeError,
        "BSVR.marginal_likelihood has no argument 'sigma'. Use name, X, y, C, epsilon, beta, "
        "curvature, jitter, approximation, or PyMC's dims, initval, rng, transform, "
        "default_transform.",
    ),
    misuse(
        "a marginal likelihood with data",
        lambda: likelihood(bsvm.gp.BSVR, observed=Y),
        TypeError,
        "marginal_likelihood takes no observed: its rows are those of X and are not "
        "independent. Leave it out.",
    ),
    misuse(
        "a marginal likelihood of a shape",
        lambda: likelihood(bsvm.gp.BSVR, shape=12),
        TypeError,
        "marginal_likelihood takes no shape: its rows are those of X and are not "
        "independent. Leave it out.",
    ),
    misuse(
        "a marginal likelihood lacks C",
        lambda: likelihood(bsvm.gp.BSVR, C=...),
        TypeError,
        "BSVR.marginal_likelihood() missing 1 required positional argument: 'C'. Its "
        "arguments are name, X, y, C, epsilon, beta, curvature, jitter, approximation.",
    ),
    misuse(
        "an approximation that is none",
        lambda: likelihood(bsvm.gp.BSVR, approximation="vb"),
        ValueError,
        "approximation must be one of 'ep', 'gao', 'laplace', but it is 'vb'. Pass one of "
        "these names, or an object of pymc_bsvm.approximations.",
    ),
    misuse(
        "a curvature for expectation propagation",
        lambda: likelihood(bsvm.gp.BSVR, approximation="ep", curvature="exact"),
        ValueError,
        "curvature is 'exact', but it belongs to Laplace's approximation given by name. "
        "Leave out curvature, or set it on the instance: Laplace(curvature='exact').",
    ),
    misuse(
        "one input as a vector",
        lambda: likelihood(bsvm.gp.BSVR, X=X[:, 0]),
        ValueError,
        "X must have two dimensions, but it has 1. For one input, pass a column: x[:, None].",
    ),
    misuse(
        "inputs with gaps",
        lambda: likelihood(bsvm.gp.BSVR, X=np.full((12, 1), np.nan)),
        ValueError,
        "X must be finite, but element (0, 0) is nan. Remove or impute these rows first.",
    ),
    misuse(
        "inputs are text",
        lambda: likelihood(bsvm.gp.BSVR, X=np.full((12, 1), "a")),
        TypeError,
        "X must be a matrix of numbers, but got an array of shape (12, 1) and type <U1. "
        "Encode the columns that are not numbers first.",
    ),
    misuse(
        "inputs of too few columns",
        lambda: likelihood(bsvm.gp.BSVR, cov_func=cov(2)),
        ValueError,
        "X has 1 columns, but the covariance function takes 2. Change its input_dim, or pass "
        "all columns.",
    ),
    misuse(
        "targets are a column",
        lambda: likelihood(bsvm.gp.BSVR, y=Y[:, None]),
        ValueError,
        "y must have one dimension, but it has 2. Pass one number for each row of X.",
    ),
    misuse(
        "targets are too few",
        lambda: likelihood(bsvm.gp.BSVR, y=Y[:-1]),
        ValueError,
        "y has 11 values, but X has 12 rows. Pass one value for each row.",
    ),
    misuse(
        "targets have gaps",
        lambda: likelihood(bsvm.gp.BSVR, y=np.full(12, np.nan)),
        ValueError,
        "y must be finite, but element 0 is nan. Remove or impute these rows first.",
    ),
    misuse(
        "C of a model is text",
        lambda: likelihood(bsvm.gp.BSVR, C="a"),
        TypeError,
        "C must be a real number, but got 'a' of type str. Pass a float with 0 < C.",
    ),
    misuse(
        "C of a model is None",
        lambda: likelihood(bsvm.gp.BSVR, C=None),
        TypeError,
        "C is None, but it has no default. Pass a number with 0 < C, or a variable with a "
        "prior to learn it.",
    ),
    misuse(
        "epsilon of a model is for other rows",
        lambda: likelihood(bsvm.gp.BSVR, epsilon=np.ones(3)),
        ValueError,
        "epsilon of SILF has 3 values, but there are 12 rows. Pass one number, or one for "
        "each row.",
    ),
    misuse(
        "labels -1 and 1 for a model",
        lambda: likelihood(bsvm.gp.BTSVC, y=SIGNS),
        ValueError,
        "y must hold the labels 0 and 1 only, but element 1 is -1.0. For labels -1 and +1, "
        "pass (y + 1) // 2.",
    ),
    misuse(
        "three classes",
        lambda: likelihood(bsvm.gp.BTSVC, y=np.arange(12) % 3),
        ValueError,
        "y must hold the labels 0 and 1 only, but element 2 is 2.0. Encode the two classes "
        "as 0 and 1.",
    ),
    misuse(
        "labels of a model are text",
        lambda: likelihood(bsvm.gp.BTSVC, y=np.where(LABELS, "a", "b")),
        TypeError,
        "y must be a vector of numbers, but got an array of shape (12,) and type <U1. Encode "
        "it as numbers first.",
    ),
    misuse(
        "the loss of a model is a name",
        lambda: likelihood(bsvm.gp.Laplace, loss="silf"),
        TypeError,
        "loss must be a loss of pymc_bsvm.losses, but it is 'silf'. Pass, for example, "
        "losses.SILF(C=10, epsilon=0.1).",
    ),
    misuse(
        "the loss of a model has kinks",
        lambda: likelihood(bsvm.gp.Laplace, loss=KINKED),
        ValueError,
        "EpsilonInsensitive has no curvature, so that its laplace evidence is not defined. "
        "Use SILF with beta > 0, which rounds the kinks, or expectation propagation: EP().",
    ),
    misuse(
        "no inducing points",
        lambda: likelihood(bsvm.gp.SparseBSVR),
        TypeError,
        "SparseBSVR.marginal_likelihood() missing 1 required positional argument: 'Xu'. Its "
        "arguments are name, X, Xu, y, C, epsilon, beta, curvature, jitter, approximation.",
    ),
    misuse(
        "a number of inducing points",
        lambda: likelihood(bsvm.gp.SparseBSVR, Xu=10),
        ValueError,
        "Xu must have two dimensions, but it has 0. For one input, pass a column: x[:, None].",
    ),
    misuse(
        "inducing points of other columns",
        lambda: likelihood(bsvm.gp.SparseBSVR, Xu=np.zeros((3, 2))),
        ValueError,
        "Xu has 2 columns, but X has 1. Pass inducing points with the columns of the inputs.",
    ),
    misuse(
        "inducing points with expectation propagation",
        lambda: likelihood(bsvm.gp.SparseBSVR, Xu=NEW, approximation="ep"),
        ValueError,
        "approximation is 'ep', which sparse models do not have. Use 'laplace' here, or a "
        "model without inducing points.",
    ),
    misuse(
        "an approximation for Gaussian noise",
        lambda: bsvm.gp.SparseBSVR("FITC", cov_func=cov()),
        ValueError,
        "approx must be 'VFE' or 'DTC', but it is 'FITC'. Choose one of the two; "
        "pm.gp.MarginalApprox has FITC, for Gaussian noise.",
    ),
]

PREDICTIONS = [
    misuse(
        "new latent values with noise",
        lambda: conditional("f", NEW, pred_noise=True),
        TypeError,
        "conditional has no argument 'pred_noise'. Use name, Xnew, given, jitter, or PyMC's "
        "dims, initval, rng, transform, default_transform, method, observed, shape; noise "
        "comes from a likelihood on top of it.",
    ),
    misuse(
        "new latent values of other columns",
        lambda: conditional("f", np.zeros((3, 2))),
        ValueError,
        "Xnew has 2 columns, but X has 1. Pass the same columns.",
    ),
    misuse(
        "new latent values without name",
        lambda: conditional(NEW),
        TypeError,
        "MarginalProcess.conditional() missing 1 required positional argument: 'Xnew'. Its "
        "arguments are name, Xnew, given, jitter.",
    ),
    misuse(
        "given holds what is unknown",
        lambda: conditional("f", NEW, given={"noise": 1.0}),
        ValueError,
        "given has the unknown key 'noise'. It may hold C, X, beta, epsilon, gp, loss, y.",
    ),
    misuse(
        "given is a name",
        lambda: conditional("f", NEW, given="gp"),
        TypeError,
        "given must be a mapping, but it is of type str. Pass data by name, such as {'gp': total}.",
    ),
    misuse(
        "predict has no such argument",
        lambda: predict(NEW, AT, sigma=1.0),
        TypeError,
        "MarginalProcess.predict() got an unexpected keyword argument 'sigma'. Its arguments "
        "are Xnew, point, diag, pred_noise, given, jitter, model.",
    ),
    misuse(
        "a point without a value",
        lambda: predict(NEW, {}),
        ValueError,
        "point has no value for ls. Pass one value for each free variable, on its own scale "
        "and under its own name.",
    ),
    misuse(
        "a point on the log scale",
        lambda: predict(NEW, {"ls_log__": 0.0}),
        ValueError,
        "point has no value for ls. Pass one value for each free variable, on its own scale "
        "and under its own name.",
    ),
    misuse(
        "a point is text",
        lambda: predict(NEW, "map"),
        TypeError,
        "point must be a mapping, but it is of type str. Pass values by name, such as "
        "fit.point, or a fit.",
    ),
    misuse(
        "a point holds text",
        lambda: predict(NEW, {"ls": "long"}),
        TypeError,
        "The value of ls must hold real numbers, but it is 'long'. Pass one value of the "
        "variable, on its own scale.",
    ),
    misuse(
        "a point holds many draws",
        lambda: predict(NEW, {"ls": np.ones(5)}),
        ValueError,
        "The value of ls has 1 dimensions, but the variable has 0. Pass one value of the "
        "variable, not many draws.",
    ),
    misuse(
        "new inputs are a vector",
        lambda: predict(NEW[:, 0], AT),
        ValueError,
        "Xnew must have two dimensions, but it has 1. For one input, pass a column: x[:, None].",
    ),
    misuse(
        "the jitter is negative",
        lambda: predict(NEW, AT, jitter=-1.0),
        ValueError,
        "jitter must satisfy 0 <= jitter, but it is -1.0. Pass a finite value with 0 <= jitter.",
    ),
    misuse(
        "a model that is none",
        lambda: predict(NEW, AT, model="m"),
        TypeError,
        "model must be a pymc.Model, but it is of type str. Pass the model, or leave it out "
        "inside its context.",
    ),
    misuse(
        "no model",
        lambda: predict(NEW, AT, model=None),
        TypeError,
        "No model on context stack. Pass model=..., or a fit as the point, or ask inside of "
        "the model's context.",
    ),
    misuse(
        "probabilities of targets",
        lambda: regression()[1].predict_proba(NEW, AT, model=regression()[0]),
        ValueError,
        "BSVR has no classes: its loss is for regression. Use predictive for the "
        "distribution of new targets.",
    ),
    misuse(
        "noise of labels",
        lambda: classification()[1].predict(NEW, AT, pred_noise=True, model=classification()[0]),
        ValueError,
        "Labels have no noise variance, but pred_noise is True. Use predict_proba for the "
        "probabilities of the labels.",
    ),
    misuse(
        "a process without data",
        lambda: bsvm.gp.BSVR(cov_func=cov()).predict(NEW, AT, model=regression()[0]),
        AttributeError,
        "This BSVR is not conditioned on data. Call its marginal_likelihood first, or pass "
        "given={'gp': total} for a part of a sum.",
    ),
    misuse(
        "noise that is unknown",
        lambda: fitted().at().predictive(NEW, noise="t"),
        ValueError,
        "noise must be 'auto', 'loss', 'student', 'contaminated' or 'model', but it is 't'. "
        "Pass one of them.",
    ),
    misuse(
        "a variable that is unknown",
        lambda: fitted().at("z"),
        ValueError,
        "name must be that of a variable with an evidence, but it is 'z'. Use one of y.",
    ),
    misuse(
        "a tree without draws",
        lambda: regression()[1].compute_log_likelihood(xr.DataTree(), regression()[0]),
        ValueError,
        "idata has the groups none, but no posterior. Pass what pm.sample returned.",
    ),
    misuse(
        "a fit in the place of draws",
        lambda: regression()[1].compute_log_likelihood(fitted(), regression()[0]),
        TypeError,
        "idata must be a DataTree, but it is of type EvidenceFit. Pass what pm.sample returned.",
    ),
    misuse(
        "a label that is none",
        lambda: fitted(classification).at().predictive(NEW).probability(0),
        ValueError,
        "y must hold the labels -1 and 1 only, but it is 0. For labels 0 and 1, pass 2 * y - 1.",
    ),
]

INFERENCE = [
    misuse(
        "a fit without model",
        lambda: bsvm.fit_evidence(),
        TypeError,
        "No model on context stack. Pass model=..., or a fit as the point, or ask inside of "
        "the model's context.",
    ),
    misuse(
        "a fit of a process",
        lambda: bsvm.fit_evidence(regression()[1]),
        TypeError,
        "model must be a pymc.Model, but it is of type BSVR. Pass the model, or leave it out "
        "inside its context.",
    ),
    misuse(
        "a fit of a tree",
        lambda: bsvm.fit_evidence(xr.DataTree()),
        TypeError,
        "model must be a pymc.Model, but it is of type DataTree. Pass the model, or leave it "
        "out inside its context.",
    ),
    misuse(
        "a fit of data",
        lambda: bsvm.fit_evidence(X, Y),
        TypeError,
        "model must be a pymc.Model, but it is of type ndarray. Pass the model, or leave it "
        "out inside its context.",
    ),
    misuse(
        "a fit of a model without evidence",
        lambda: bsvm.fit_evidence(pm.Model()),
        ValueError,
        "The model has the observed variables [], and none is an approximate evidence. Add "
        "one with gp.BSVR, gp.BTSVC or gp.Laplace.",
    ),
    misuse(
        "no starts",
        lambda: fit(restarts=0),
        ValueError,
        "restarts must be an integer >= 1, but it is 0. Pass 1 or more.",
    ),
    misuse(
        "half a start",
        lambda: fit(restarts=2.5),
        ValueError,
        "restarts must be an integer >= 1, but it is 2.5. Pass 1 or more.",
    ),
    misuse(
        "a start outside of the prior",
        lambda: fit(start={"ls": -1.0}),
        ValueError,
        "start has ls = -1.0, which is outside of the support of its prior. Pass a value "
        "inside, or leave it out.",
    ),
    misuse(
        "a start of another variable",
        lambda: fit(start={"C": 1.0}),
        ValueError,
        "start has a value for 'C', which is not a free variable. Use names among ls.",
    ),
    misuse(
        "a start is a list",
        lambda: fit(start=[1.0]),
        TypeError,
        "start must be a mapping, but it is of type list. Pass values by name, such as "
        "{'ls': 1.0}, or a fit.",
    ),
    misuse(
        "a start is a word",
        lambda: fit(start={"ls": "long"}),
        TypeError,
        "start['ls'] must hold real numbers, but it is 'long'. Pass a number on the "
        "variable's own scale.",
    ),
    misuse(
        "a start of many draws",
        lambda: fit(start={"ls": np.ones(3)}),
        ValueError,
        "start has ls with 1 dimensions, but the variable has 0. Pass one value of the "
        "variable, not many draws.",
    ),
    misuse(
        "a tolerance of the gradient is zero",
        lambda: fit(gtol=0.0),
        ValueError,
        "gtol must satisfy 0 < gtol, but it is 0.0. Pass a finite value with 0 < gtol.",
    ),
    misuse(
        "no iterations",
        lambda: fit(maxiter=0),
        ValueError,
        "maxiter must be an integer >= 1, but it is 0. Pass 1 or more.",
    ),
    misuse(
        "a check that is none",
        lambda: fit(check="no"),
        ValueError,
        "check must be 'auto', True or False, but it is 'no'. Choose one of the three.",
    ),
    misuse(
        "a fit has no such argument",
        lambda: fit(draws=100),
        TypeError,
        "fit_evidence() got an unexpected keyword argument 'draws'. Its arguments are model, "
        "restarts, include_prior, start, random_seed, n_jobs, progressbar, gtol, maxiter, "
        "hessian, check, compile_kwargs.",
    ),
    misuse(
        "no workers",
        lambda: fit(n_jobs=0),
        ValueError,
        "n_jobs must be an integer other than 0, but it is 0. Pass 1, or -1 for all processors.",
    ),
    misuse(
        "a seed is text",
        lambda: fit(random_seed="a"),
        TypeError,
        "random_seed is 'a', which is no seed. Pass an integer that is not negative, a numpy "
        "Generator, or None.",
    ),
    misuse(
        "a backend by name",
        lambda: fit(compile_kwargs="NUMBA"),
        TypeError,
        "compile_kwargs must be a mapping, but it is of type str. Pass, for example, "
        "{'mode': 'NUMBA'}.",
    ),
    misuse(
        "draws of a fit without Hessian",
        lambda: fitted().draws(10),
        ValueError,
        "This fit has no Hessian to draw with. Call fit_evidence with hessian=True.",
    ),
    misuse(
        "a design that is none",
        lambda: fitted().integrate("mc", progressbar=False),
        ValueError,
        "design must be 'auto', 'ccd' or 'grid', but it is 'mc'. Use 'auto'.",
    ),
    misuse(
        "percents in the place of a share",
        lambda: fitted().summary(ci_prob=95),
        ValueError,
        "ci_prob must satisfy 0 < ci_prob < 1, but it is 95.0. Pass a finite value with 0 < "
        "ci_prob < 1.",
    ),
    misuse(
        "fits in a list",
        lambda: bsvm.compare_evidence([fitted()]),
        TypeError,
        "fits must be a mapping of names to fits, but it is of type list. Pass {'name': fit}.",
    ),
    misuse(
        "no fits",
        lambda: bsvm.compare_evidence({}),
        ValueError,
        "There are no fits to compare. Pass a mapping of names to fits.",
    ),
    misuse(
        "draws in the place of a fit",
        lambda: bsvm.compare_evidence({"a": DRAWS}),
        TypeError,
        "'a' must be a result of fit_evidence, but it is of type DataTree. For DataTrees, "
        "use az.compare or compare_posteriors.",
    ),
    misuse(
        "fits of other data",
        lambda: bsvm.compare_evidence({"a": fitted(), "b": fitted(classification)}),
        ValueError,
        "The models 'a' and 'b' have different data for 'y'. Compare models of the same "
        "targets only.",
    ),
    misuse(
        "posteriors in a list",
        lambda: bsvm.compare_posteriors([DRAWS, DRAWS]),
        TypeError,
        "posteriors must be a mapping, but it is of type list. Pass {'name': result}.",
    ),
    misuse(
        "posteriors of another variable",
        lambda: bsvm.compare_posteriors({"a": DRAWS}, var_names=["C"]),
        ValueError,
        "The posterior of 'a' has no variable 'C'. It has ls.",
    ),
    misuse(
        "a posterior is a dictionary",
        lambda: bsvm.compare_posteriors({"a": DRAWS, "b": AT}),
        TypeError,
        "'b' must be a DataTree or a result of fit_evidence, but it is of type dict. Sample "
        "with pm.sample, or convert with az.from_dict.",
    ),
    misuse(
        "held-out values without draws",
        lambda: bsvm.compare_posteriors({"a": DRAWS}, held_out=("y_new", Y)),
        ValueError,
        "'a' has the groups posterior, but neither predictions nor posterior_predictive. Add "
        "one with pm.sample_posterior_predictive, or leave held_out out.",
    ),
    misuse(
        "held-out values without values",
        lambda: bsvm.compare_posteriors({"a": DRAWS}, held_out="y_new"),
        TypeError,
        "held_out must be a name and true values, but it is 'y_new'. Pass, for example, "
        "('y_new', y_new).",
    ),
    misuse(
        "latent values of a model without evidence",
        lambda: bsvm.latent_model(pm.Model()),
        ValueError,
        "The model has the observed variables [], and none is an approximate evidence. Add "
        "one with gp.BSVR, gp.BTSVC or gp.Laplace.",
    ),
    misuse(
        "latent values of a fit",
        lambda: bsvm.latent_model(fitted()),
        TypeError,
        "model must be a pymc.Model, but it is of type EvidenceFit. Pass the model, or leave "
        "it out inside its context.",
    ),
    misuse(
        "latent values around what is unknown",
        lambda: bsvm.latent_model(regression()[0], around="laplace"),
        ValueError,
        "around must be 'ep', a fit or a point, but it is 'laplace'. Pass a result of "
        "fit_evidence, or leave it out.",
    ),
    misuse(
        "new inputs without a name",
        lambda: bsvm.latent_model(regression()[0], new=NEW),
        TypeError,
        "new must be a mapping, but it is of type ndarray. Pass new inputs by the name of a "
        "variable: {'y_new': X_new}.",
    ),
    misuse(
        "new inputs by a known name",
        lambda: bsvm.latent_model(regression()[0], new={"y": NEW}),
        ValueError,
        "new has the name 'y', but the model has such a variable. Choose another one, such "
        "as 'y_new'.",
    ),
    misuse(
        "new inputs of other columns",
        lambda: bsvm.latent_model(regression()[0], new={"z": np.zeros((3, 2))}),
        ValueError,
        "new['z'] has 2 columns, but X has 1. Pass the same columns.",
    ),
]

DIAGNOSIS_AND_REPORTS = [
    misuse(
        "a verdict without a point",
        lambda: bsvm.verdict(regression()[0], {}),
        ValueError,
        "point has no value for ls. Pass one value for each free variable, on its own scale "
        "and under its own name.",
    ),
    misuse(
        "a verdict on a process",
        lambda: bsvm.verdict(regression()[1]),
        TypeError,
        "model must be a pymc.Model, but it is of type BSVR. Pass the model, or leave it out "
        "inside its context.",
    ),
    misuse(
        "a verdict by one particle",
        lambda: bsvm.verdict(regression()[0], AT, particles=1, progressbar=False),
        ValueError,
        "particles must be an integer >= 2, but it is 1. Pass 2 or more.",
    ),
    misuse(
        "a verdict on another variable",
        lambda: bsvm.verdict(regression()[0], AT, name="z"),
        ValueError,
        "name must be that of a variable with an evidence, but it is 'z'. Use one of y.",
    ),
    misuse(
        "annealing of inputs",
        lambda: diagnosis.annealed_evidence(X, Y, SILF),
        ValueError,
        "K must be a square matrix, but its shape is (12, 1). Pass the covariance of the "
        "training inputs with themselves.",
    ),
    misuse(
        "annealing from elsewhere",
        lambda: diagnosis.annealed_evidence(K, Y, SILF, base="laplace"),
        ValueError,
        "base must be 'EP' or 'prior', but it is 'laplace'. Choose one of the two.",
    ),
    misuse(
        "annealing without temperatures",
        lambda: diagnosis.annealed_evidence(K, Y, SILF, temperatures=0),
        ValueError,
        "temperatures must be an integer >= 1, but it is 0. Pass 1 or more.",
    ),
    misuse(
        "reweighting of a fit",
        lambda: diagnosis.reweight(fitted(), regression()[0]),
        ValueError,
        "idata must have a group 'posterior' of draws of the hyperparameters, but it has "
        "none. Pass what pm.sample returns.",
    ),
    misuse(
        "a band of labels",
        lambda: reporting.plot_regression_band(classification()[1], fitted(classification)),
        ValueError,
        "Trigonometric is a loss of labels, which have no band. Use plot_class_map.",
    ),
    misuse(
        "a band of percents",
        lambda: reporting.plot_regression_band(regression()[1], fitted(), coverage=95),
        ValueError,
        "coverage must satisfy 0 < coverage < 1, but it is 95.0. Pass a finite value with 0 "
        "< coverage < 1.",
    ),
    misuse(
        "a band along a column that is not there",
        lambda: reporting.plot_regression_band(regression()[1], fitted(), column=3),
        ValueError,
        "column is 3, but X has 1 columns. Pass a number from 0 to 0.",
    ),
    misuse(
        "a band of a fit",
        lambda: reporting.plot_regression_band(fitted(), AT),
        TypeError,
        "gp must be a process of pymc_bsvm.gp, but it is of type EvidenceFit. Pass the "
        "process first, then the point or the fit.",
    ),
    misuse(
        "a map of one input",
        lambda: reporting.plot_class_map(classification()[1], fitted(classification)),
        ValueError,
        "A map needs two inputs, but X has 1 column. Plot predict_proba along the input instead.",
    ),
    misuse(
        "a profile of a constant",
        lambda: reporting.plot_evidence_profile(fitted(), "C"),
        ValueError,
        "'C' is no free variable of the model. Use one of ls.",
    ),
    misuse(
        "a profile of a model",
        lambda: reporting.plot_evidence_profile(regression()[0], "ls"),
        TypeError,
        "fit must be a result of fit_evidence, but it is of type Model. Pass what "
        "fit_evidence returned.",
    ),
    misuse(
        "relevance of a word",
        lambda: reporting.plot_relevance("fit"),
        TypeError,
        "source must be an estimator, a fit or a DataTree with a posterior, but it is of "
        "type str. Pass what fit_evidence or pm.sample returned.",
    ),
    misuse(
        "marginals of a fit",
        lambda: reporting.plot_marginals(fitted()),
        TypeError,
        "routes must be a mapping, but it is of type EvidenceFit. Pass {'name': result}.",
    ),
]

DATASETS = [
    misuse(
        "no rows",
        lambda: datasets.sinc(0),
        ValueError,
        "n = 0 is not positive. Pass the number of rows, such as n=100.",
    ),
    misuse(
        "half a row",
        lambda: datasets.sinc(10.5),
        TypeError,
        "n = 10.5 is not an integer. Pass one, such as n=1.",
    ),
    misuse(
        "noise of another name",
        lambda: datasets.sinc(10, noise="laplace"),
        ValueError,
        "noise = 'laplace' is not known. Pass one of 'silf', 'gaussian', 'student', 'none'.",
    ),
    misuse(
        "more outliers than rows",
        lambda: datasets.sinc(10, outliers=2.0),
        ValueError,
        "outliers must satisfy 0 <= outliers <= 1, but it is 2.0. Pass a finite value with 0 "
        "<= outliers <= 1.",
    ),
    misuse(
        "a generator by name",
        lambda: datasets.sinc(10, random_state="a"),
        TypeError,
        "random_state = 'a' is not a seed. Pass an integer that is zero or larger, a numpy "
        "Generator or None.",
    ),
    misuse(
        "a data set has no such argument",
        lambda: datasets.two_gaussians(10, kind="far"),
        TypeError,
        "two_gaussians() got an unexpected keyword argument 'kind'. Its arguments are n, "
        "dim, random_state.",
    ),
    misuse(
        "a probability of five columns",
        lambda: datasets.two_gaussians_probability(np.zeros((3, 5))),
        ValueError,
        "X has shape (3, 5) and belongs to neither set. Pass an array of shape (n, 1) or (n, 2).",
    ),
    misuse(
        "a folder that is not there",
        lambda: datasets.load_folder("nowhere"),
        FileNotFoundError,
        "path = 'nowhere' is not a folder. Pass an existing folder.",
    ),
    misuse(
        "a folder is None",
        lambda: datasets.load_folder(None),
        TypeError,
        "path = None is not a path. Pass the name of a folder.",
    ),
]

CASES = [
    *LOSSES,
    *SOLVER,
    *EVIDENCE,
    *DISTRIBUTIONS,
    *MODELS,
    *PREDICTIONS,
    *INFERENCE,
    *DIAGNOSIS_AND_REPORTS,
    *DATASETS,
]
