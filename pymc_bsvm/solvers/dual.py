"""The one entry to the solvers."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._numba import explained_numba
from pymc_bsvm._typing import Array
from pymc_bsvm._validation import (
    Interval,
    as_parameter,
    as_real_array,
    check_finite,
    names_arguments,
    positive,
)
from pymc_bsvm.covariance import LowRank
from pymc_bsvm.covariance.dense import DENSE
from pymc_bsvm.covariance.factor import as_factor
from pymc_bsvm.covariance.woodbury import WOODBURY, Parts
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers.core import Solved, compiled_solver, interpreted_solver
from pymc_bsvm.solvers.forecast import Forecast, forecast, forecast_inside
from pymc_bsvm.solvers.kernel import inspect, is_plain
from pymc_bsvm.solvers.sketch import sketch
from pymc_bsvm.solvers.solution import (
    DualSolution,
    DualSolveWarning,
    Progress,
    Status,
    failure_of,
)

__all__ = ["as_problem", "check_kernel", "solve_dual", "solve_problem"]

_SYMMETRY = 1e-8  # of the largest element of K
_INDEFINITE = 1e-6  # of the largest variance squared: a negative 2 x 2 minor
_CLEARLY = 0.999  # of both: up to here no rounding decides


@names_arguments
def solve_dual(
    K: ArrayLike | LowRank,
    y: ArrayLike,
    loss: Loss,
    a0: ArrayLike | None = None,
    tol: float = 1e-9,
    *,
    m: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    bias: bool = False,
    f0: ArrayLike | None = None,
    max_iter: int = 1000,
    on_failure: Literal["raise", "warn", "ignore"] = "raise",
    callback: Callable[[Progress], object] | None = None,
    check_input: bool = True,
    engine: Literal["numpy", "numba"] = "numpy",
) -> DualSolution:
    r"""Find the MAP latent values of a Gaussian process with any loss, through the sparse dual.

    Minimises ``sum_i w_i l(y_i, f_i) + a'Ka / 2`` with ``f = m + K a + b`` by a semismooth Newton
    method on the free support vectors; the dual ``a = -w dl/df`` vanishes wherever the loss is
    flat. Losses with kinks, the classical support vector machines among them, begin with steps on
    one dual or two, and end with proximal steps by the same method where these do not suffice.

    Parameters
    ----------
    K : array_like of shape (n, n) or LowRank
        Prior covariance, symmetric and positive semidefinite; it may be singular. Or a `LowRank`
        one, ``A A' + diag(d)``, of which no such matrix is made.
    y : array_like of shape (n,)
        Targets: real numbers for a regression loss, -1 and +1 for a classification loss.
    loss : Loss
        Any loss of `pymc_bsvm.losses`; its parameters are numbers, or vectors of one for each row.
    a0 : array_like of shape (n,), optional
        Dual to start from, such as that of a neighbouring problem. By default zero, or where the
        solver ends with a covariance of low rank that is near K, if a smooth loss and many free
        rows make that cheaper.
    tol : float, default 1e-9
        Largest duality gap, rounding included, relative to ``1 + |primal|``.
    m : array_like of shape (n,) or float, optional
        Prior mean. Zero by default.
    sample_weight : array_like of shape (n,), optional
        Weights of the rows, not negative; a weight of two is a row that stands twice.
    bias : bool, default False
        Whether to fit an offset with a flat prior, so that ``sum(a) = 0``: the classical support
        vector machine (appendices B and H of [Chu03]_).
    f0 : array_like of shape (n,), optional
        Latent values to start from in the place of a dual, such as those of a neighbouring problem:
        a full Newton step from there, or up to three, which `n_iter` counts beside those of
        `max_iter`, makes the dual.
    max_iter : int, default 1000
        Largest number of Newton steps from a start. Where the start fails, the solver starts once
        more from zero.
    on_failure : {"raise", "warn", "ignore"}
        What to do if the gap stays above the tolerance. The status tells in any case.
    callback : callable, optional
        Called with a `Progress` at every Newton step, those in low rank included.
    check_input : bool, default True
        Whether to look for asymmetric, infinite or indefinite K; that reads all of K once. A
        `LowRank` covariance was checked when it was made.
    engine : {"numpy", "numba"}
        What runs the steps of the solver. "numpy" is ready at once. "numba" compiles them, which
        takes some ten to thirty seconds for each kind of loss, keeps that on disk, and then is
        several times faster where n is small; it takes no callback. Both do the same computations.

    Returns
    -------
    DualSolution
        The dual, the latent values, the sets of support vectors, and the certificate.

    Raises
    ------
    DualSolveError
        If the tolerance is not reached and `on_failure` is "raise".
    ValueError
        For arguments outside their domain, with the value seen and the remedy.

    Notes
    -----
    The gap ``sum_i [w l(f_i) + w l*(-a_i / w) + a_i f_i]`` bounds, in nats, how far the primal is
    above its minimum. It is computed from this definition for the values that are returned, and
    `rounding` bounds what the errors of ``f = m + K a`` and of the sum may hide of it: the status
    is CONVERGED if the gap and the rounding together are below the tolerance. Where rounding
    decides that, f is computed in twice the working precision.

    K counts as positive semidefinite if its diagonal, its 2 x 2 minors and every matrix that is
    factorised during the solve are; its full spectrum is not computed.

    References
    ----------
    [Chu03]_, sections 4.2 and 5.3; [RW06]_, Algorithm 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from pymc_bsvm import losses, solve_dual
    >>> x = np.linspace(-3, 3, 50)
    >>> K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    >>> solution = solve_dual(K, np.sinc(x), losses.SILF(C=10, epsilon=0.05))
    >>> solution.gap < 1e-8
    True
    """
    K, y, m, w = as_problem(K, y, loss, m, sample_weight, check_input)
    if on_failure not in ("raise", "warn", "ignore"):
        raise ValueError(
            f"on_failure must be 'raise', 'warn' or 'ignore', but it is {on_failure!r}. "
            "Choose one of the three."
        )
    weight = None if sample_weight is None else w
    solution = solve_problem(
        K, y, loss, m, weight, a0, f0, tol, max_iter, engine, bias=bias, callback=callback
    )
    if not solution.converged and on_failure == "raise":
        raise failure_of(solution)
    if not solution.converged and on_failure == "warn":
        warnings.warn(str(failure_of(solution)), DualSolveWarning, stacklevel=3)
    return solution


@explained_numba()
def solve_problem(
    K: Array | LowRank,
    y: Array,
    loss: Loss,
    m: Array,
    sample_weight: Array | None,
    a0: ArrayLike | None,
    f0: ArrayLike | None,
    tol: float,
    max_iter: int,
    engine: str,
    *,
    bias: bool = False,
    callback: Callable[[Progress], object] | None = None,
) -> DualSolution:
    """Solve what `as_problem` returns as `solve_dual` does, to whatever gap."""
    covariance, parts = (WOODBURY, K.parts) if isinstance(K, LowRank) else (DENSE, K)
    if a0 is not None and f0 is not None:
        raise ValueError(
            "The solver starts from a dual or from latent values, but both a0 and f0 were given. "
            "Leave out one of them."
        )
    a, b = _vector("a0", np.zeros(y.size) if a0 is None else a0, y.size), 0.0
    check_finite("a0", a, "Leave it out to start from zero.")
    tol = as_parameter("tol", tol, positive)
    _check_settings(max_iter, engine, callback, bias)
    report = callback and (lambda *step: callback(Progress(*step)))
    counted = sample_weight is not None
    w = np.ones(y.size) if sample_weight is None else sample_weight
    first = None
    if f0 is not None:
        f = _latent(f0, y.size)
        first = forecast_inside(parts, y, w, m, f, loss, covariance, bias, counted)
    elif a0 is None and loss.differentiable and not isinstance(K, LowRank):
        near = sketch(K, y, w, m, loss, bias, tol, int(max_iter), report)
        if near is not None:
            first = forecast(K, y, w, m, near, loss, covariance, bias, counted, polished=True)
    if first is not None:
        a, b = first.a, first.b
    settings = b, bool(bias), tol, False, int(max_iter), report
    with np.errstate(all="ignore"):
        if engine == "numba":
            solve, p = compiled_solver(type(loss), covariance).run, loss.by_row(y.size)
            parts = Parts(*map(_own, parts)) if isinstance(parts, Parts) else _own(parts)
            solved = solve(parts, *map(_own, (y, w, p, m, a)), *settings)
        else:
            solve = interpreted_solver(type(loss), covariance, counted)
            solved = solve(parts, y, w, loss.parameters, m, a, *settings)
        if first is not None:
            solved = _with_first_step(solved, first)
        return _solution(y, w, loss, solved)


def _own(x: Array) -> Array:
    """Return an array as compiled code takes it: one that may be written to, though it is not."""
    return np.require(x, requirements="W")


def _latent(f0: ArrayLike, n: int) -> Array:
    """Return the latent values to start from as a vector."""
    f = _vector("f0", f0, n)
    check_finite("f0", f, "Leave it out to start from zero.")
    return f


def _with_first_step(solved: Solved, first: Forecast) -> Solved:
    """Return what the solver found, with the steps to its start: their factor, if no other came."""
    factor = solved.factor if solved.steps else first.factor
    return solved._replace(factor=factor, steps=solved.steps + first.steps)


def _solution(y: Array, w: Array, loss: Loss, solved: Solved) -> DualSolution:
    """Return what the solver found, with its sets and the dual objective."""
    found, factor = solved.certificate, solved.factor
    a, f = found.a, found.f
    row, counted = a, w > 0
    if not loss.differentiable:  # its sets depend on where a is in its domain
        lower, upper = loss.dual_domain(y)  # (w upper) / w may round to less than upper
        row = np.where(a >= w * upper, upper, np.where(a <= w * lower, lower, a / w))
    sets = loss.sets(y, f, np.where(counted, row, 0.0))
    return DualSolution(
        a=a,
        f=f,
        offset=float(found.b),
        support=sets.support & counted,
        free=sets.free & counted,
        bound=sets.bound & counted,
        primal=float(found.primal),
        dual=float(found.gap - found.primal) if np.isfinite(found.gap) else np.inf,
        gap=float(found.gap),
        rounding=float(found.rounding),
        n_iter=int(solved.steps),
        restarted=bool(solved.restarted),
        status=list(Status)[solved.status],
        factor=as_factor(*factor),
    )


def check_kernel(K: Array) -> None:
    """Raise ``ValueError`` unless K looks like a covariance matrix."""
    if is_plain(K, _CLEARLY * _SYMMETRY, _CLEARLY * _INDEFINITE):
        return
    size, asymmetry, least, excess = inspect(K)
    if np.isnan(size):
        row, column = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(
            f"K must be finite, but K[{row}, {column}] is {K[row, column]!s}. "
            "Check the inputs and hyperparameters of the covariance function."
        )
    if asymmetry > _SYMMETRY * size:
        raise ValueError(
            f"K must be symmetric, but K and its transpose differ by {asymmetry:.3g}. "
            "Pass the covariance of the training inputs with themselves."
        )
    if least < -_SYMMETRY * size:
        raise ValueError(
            f"K must be positive semidefinite, but its diagonal holds {least:.3g}. "
            "Check the covariance function."
        )
    if excess > _INDEFINITE:
        raise ValueError(
            "K must be positive semidefinite, but a squared covariance exceeds the product of its "
            f"variances by {excess:.3g} of the largest one squared. Check the covariance function."
        )


def _check_settings(max_iter: object, engine: object, callback: object, bias: object) -> None:
    """Raise for settings that do not exist or exclude each other."""
    if not isinstance(bias, bool | np.bool_ | numbers.Integral) or bias not in (0, 1):
        raise TypeError(f"bias must be True or False, but it is {bias!r}. Choose one of the two.")
    if callback is not None and not callable(callback):
        raise TypeError(
            f"callback must be a function, but it is {callback!r}. "
            "Pass one that takes the progress of a step, or leave it out."
        )
    if not isinstance(max_iter, numbers.Integral) or max_iter < 0:
        raise ValueError(
            f"max_iter must be an integer >= 0, but it is {max_iter!r}. Pass, for example, 1000."
        )
    if engine not in ("numpy", "numba"):
        raise ValueError(
            f"engine must be 'numpy' or 'numba', but it is {engine!r}. Choose one of the two."
        )
    if engine == "numba" and callback is not None:
        raise ValueError(
            "engine='numba' cannot call back into Python, but a callback was given. "
            "Leave out the callback, or use engine='numpy'."
        )


def as_problem(
    K: ArrayLike | LowRank,
    y: ArrayLike,
    loss: Loss,
    m: ArrayLike | None,
    sample_weight: ArrayLike | None,
    check_input: bool,
) -> tuple[Array | LowRank, Array, Array, Array]:
    """Return K, y, the prior mean and the weights as contiguous float arrays."""
    if not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be a loss of pymc_bsvm.losses, but it is {loss!r}. "
            "Pass, for example, losses.SILF(C=10, epsilon=0.1)."
        )
    if loss.symbolic:
        raise TypeError(
            f"The parameters of loss must be numbers, but {type(loss).__name__} holds model "
            "variables. Pass their values, or use laplace_evidence or a GP model in the graph."
        )
    K = K if isinstance(K, LowRank) else _matrix(K)
    n = K.shape[0]
    y = _vector("y", y, n)
    loss.check_targets(y)
    loss.check_rows(n)
    m = 0.0 if m is None else m
    m = _vector("m", np.full(n, m) if np.ndim(m) == 0 else m, n)
    check_finite("m", m, "Pass a finite prior mean.")
    w = _vector("sample_weight", np.ones(n) if sample_weight is None else sample_weight, n)
    Interval(0.0, includes_low=True).check("sample_weight", w)
    if check_input and not isinstance(K, LowRank):
        check_kernel(K)
    return K, y, m, w


def _matrix(K: ArrayLike) -> Array:
    """Return K as a C-ordered matrix."""
    K = as_real_array("K", K, "Pass the covariance matrix of the training inputs.")
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.shape[0] == 0:
        raise ValueError(
            f"K must be a square matrix, but its shape is {K.shape}. "
            "Pass the covariance of the training inputs with themselves."
        )
    return np.ascontiguousarray(K.T if K.flags.f_contiguous else K)


def _vector(name: str, value: ArrayLike, n: int) -> Array:
    """Return a contiguous float vector of length n."""
    array = as_real_array(name, value, f"Pass one number for each of the {n} rows of K.")
    if array.shape != (n,):
        raise ValueError(
            f"{name} must have shape ({n},) to match K, but its shape is {array.shape}. "
            f"Pass one number for each of the {n} rows of K."
        )
    return np.ascontiguousarray(array)
