"""Priors for the hyperparameters, from the scales of the data."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike
from scipy import stats

from pymc_bsvm import losses
from pymc_bsvm._typing import Array
from pymc_bsvm._validation import Interval, as_parameter, positive
from pymc_bsvm.gp.data import as_numbers, check_targets, known_value
from pymc_bsvm.gp.priors import Prior, Priors, Task
from pymc_bsvm.gp.scales import diameter_of, distances_of, inverse_gamma_between, spread_of

__all__ = ["default_priors"]

# Median, in units of the spread of the targets, and standard deviation of the logarithm.
_AMPLITUDE = (1.0, 0.75)
_SLOPE = (5.0, 1.0)
_TUBE = 0.2  # mean of a gamma of shape 2, which is zero at zero and linear from there
_OF_LABELS = (1.0, 1.0)  # amplitude, in units of delta
_BELOW = 0.01  # mass of length-scales shorter than the distance of neighbours
_ABOVE = 0.05  # longer than the diameter
_ABOVE_ARD = 0.25  # longer than the diameter, along a column, which may not matter
_RATIO = 100.0  # largest one of the diameter to the distance of neighbours
_RATIO_OF_LITTLE = 30.0  # of labels, and along one of several columns, which say less
_UNEQUAL = 30.0  # ratio of widths beyond which one length-scale does not suit all columns
_BETA = Interval(0.0, 1.0, includes_high=True)
_NAMES = {"regression": ("eta", "ls", "C", "epsilon"), "classification": ("eta", "ls")}
_TASKS = tuple(_NAMES)
_TAIL = 0.05  # mass on either side of what is shown


class _Targets(NamedTuple):
    """Targets as they bear on priors."""

    task: Task
    spread: float
    centre: float
    text: str


def default_priors(
    X: ArrayLike,
    y: ArrayLike,
    *,
    ard: bool = False,
    beta: float | None = None,
    delta: float = 1.0,
    task: Task | None = None,
    prefix: str = "",
    names: Mapping[str, str] | None = None,
    dims: str | None = None,
) -> Priors:
    """Make priors for the hyperparameters in the model of the context, and say which.

    They follow the units of the data: X or y times a constant gives the same model in other units.
    Outliers hardly change them.

    Parameters
    ----------
    X : array_like or DataFrame of shape (n, d)
        Inputs.
    y : array_like of shape (n,)
        Targets: two labels of any type, as integers or text, for classification; numbers else.
    ard : bool, default False
        One length-scale for each column that varies, on a dimension with the columns' names.
    beta : float, optional
        Share of the tube over which SILF bends. By default that of the papers: 0.3 below 2000
        rows, 0.1 to 4000 and 0.05 beyond.
    delta : float, default 1
        Half width of the trigonometric link, the unit of the amplitude in classification.
    task : {"regression", "classification"}, optional
        What to take the targets for, where their values leave it open: by default two integers, or
        text, are labels.
    prefix : str, optional
        In front of all names, such as ``"noise_"``.
    names : mapping, optional
        Other names, such as ``{"eta": "amplitude"}``.
    dims : str, optional
        Name of the dimension of the length-scales; "feature" by default, after the prefix. One that
        the model has already must be as long as there are columns that vary.

    Returns
    -------
    Priors
        The variables, a covariance and a mean function of them, and a table of the choices.

    Notes
    -----
    With s the spread of y, 1.4826 times its median absolute deviation, all logarithms natural:

    - amplitude: log-normal around s, standard deviation of the log 0.75;
    - C: log-normal around 5 / s, standard deviation of the log 1;
    - epsilon: gamma of shape 2 and mean 0.2 s, which keeps away from zero, where Laplace's method
      misleads;
    - amplitude in classification: log-normal around delta, standard deviation of the log 1;
    - length-scale: inverse gamma with 1 % below the distance of neighbours and 5 % above the
      diameter of the rows; with ``ard``, in units of the width of each column, and 25 % above
      where there are several.

    The diameter is twice the distance from the median within which 95 % of the rows are; so is the
    width, in one column. The distance of neighbours counts as a tenth of the diameter at most, and
    as a hundredth at least, with ``ard`` or labels a thirtieth.

    Each variable starts at its median.

    Examples
    --------
    .. code-block:: python

        with pm.Model():
            p = bsvm.default_priors(X, y)
            gp = bsvm.gp.BSVR(mean_func=p.mean(), cov_func=p.covariance())
            gp.marginal_likelihood("y", X=X, y=y, **p.likelihood())
            fit = bsvm.fit_evidence()
        print(p)
    """
    model = _model()
    inputs = as_numbers("X", X)
    delta = as_parameter("delta", delta, positive)
    beta = as_parameter("beta", _beta_of(len(inputs)) if beta is None else beta, _BETA)
    targets = _targets(inputs, y, task)
    active = [int(k) for k in np.flatnonzero(np.ptp(inputs, axis=0) > 0.0)]
    if not active:
        raise ValueError(
            f"X has no column that varies within its {len(inputs)} rows. Pass inputs that differ."
        )
    labels = [str(name) for name in getattr(X, "columns", range(inputs.shape[1]))]
    called = _called(model, targets.task, prefix, names)
    dimension = None
    if ard:
        dimension = _dimension(model, dims or f"{prefix}feature", [labels[k] for k in active])
    if targets.task == "regression":
        eta, of_eta = _log_normal(called["eta"], targets.spread, _AMPLITUDE, "spread of y")
    else:
        eta, of_eta = _log_normal(called["eta"], delta, _OF_LABELS, "delta")
    ratio = _RATIO if targets.task == "regression" and not ard else _RATIO_OF_LITTLE
    ls, of_ls, of_inputs = _length_scale(called["ls"], inputs, active, labels, ratio, dimension)
    C = epsilon = None
    of_noise: list[Prior] = []
    if targets.task == "regression":
        C, of_C = _log_normal(called["C"], 1.0 / targets.spread, _SLOPE, "1 / spread of y")
        epsilon, of_epsilon = _gamma(called["epsilon"], _TUBE * targets.spread, "spread of y")
        of_noise = [of_C, of_epsilon]
    return Priors(
        task=targets.task,
        eta=eta,
        ls=ls,
        C=C,
        epsilon=epsilon,
        beta=beta,
        delta=delta,
        centre=targets.centre,
        input_dim=inputs.shape[1],
        active_dims=tuple(active),
        chosen=(of_eta, *of_ls, *of_noise),
        data=(targets.text, *of_inputs),
    )


def _log_normal(
    name: str, unit: float, relative: tuple[float, float], reason: str
) -> tuple[Any, Prior]:
    """Make a log-normal variable that starts at its median."""
    median, sigma = relative[0] * unit, relative[1]
    # Python's own 0.75 would become a float32, and so would its logarithm.
    variable = pm.LogNormal(name, mu=np.log(median), sigma=np.float64(sigma), initval=median)
    low, high = stats.lognorm(sigma, scale=median).ppf([_TAIL, 1.0 - _TAIL])
    text = f"LogNormal({np.log(median):.3g}, {sigma:g})"
    return variable, Prior(name, text, float(low), median, float(high), reason)


def _gamma(name: str, mean: float, reason: str) -> tuple[Any, Prior]:
    """Make a gamma variable of shape 2 that starts at its median."""
    low, median, high = map(
        float, stats.gamma(2.0, scale=mean / 2.0).ppf([_TAIL, 0.5, 1.0 - _TAIL])
    )
    variable = pm.Gamma(name, alpha=2.0, beta=2.0 / mean, initval=median)
    return variable, Prior(name, f"Gamma(2, {2.0 / mean:.3g})", low, median, high, reason)


def _length_scale(
    name: str,
    X: Array,
    active: list[int],
    labels: list[str],
    ratio: float,
    dimension: str | None,
) -> tuple[Any, list[Prior], list[str]]:
    """Make the length-scale, or one for each varying column, and say what was seen of X."""
    varying = X[:, active]
    widths = np.array([diameter_of(column[:, None]) for column in varying.T])
    units = widths if dimension else np.ones(1)
    short, long = distances_of(varying / units, ratio)
    above = _ABOVE_ARD if len(units) > 1 else _ABOVE
    shape, scale = inverse_gamma_between(short, long, _BELOW, above)
    low, median, high = stats.invgamma(shape, scale=scale).ppf([_TAIL, 0.5, 1.0 - _TAIL])
    variable = pm.InverseGamma(
        name,
        alpha=shape,
        beta=scale * units if dimension else scale,
        dims=dimension,
        initval=median * units if dimension else median,
    )
    chosen = [
        Prior(
            name=f"{name}[{labels[active[k]]}]" if dimension else name,
            distribution=f"InverseGamma({shape:.3g}, {scale * unit:.3g})",
            low=float(low * unit),
            median=float(median * unit),
            high=float(high * unit),
            reason="width of the column" if dimension else "distances of rows",
        )
        for k, unit in enumerate(units)
    ]
    return variable, chosen, _of_inputs(X, active, labels, widths, (short, long), dimension)


def _of_inputs(
    X: Array,
    active: list[int],
    labels: list[str],
    widths: Array,
    within: tuple[float, float],
    dimension: str | None,
) -> list[str]:
    """Say what was seen of the inputs."""
    n, d = X.shape
    unit = ", in units of the width of each column" if dimension else ""
    rows, columns = f"{n} row{'s' * (n > 1)}", f"{d} column{'s' * (d > 1)}"
    text = [f"X: {rows}, {columns}; distances from {within[0]:.3g} to {within[1]:.3g}{unit}"]
    constant = [labels[k] for k in range(d) if k not in active]
    if constant:
        text.append(f"X: left out, as constant: {', '.join(constant)}")
    ratio = float(widths.max() / widths.min())
    if dimension is None and ratio > _UNEQUAL:
        wide, narrow = labels[active[widths.argmax()]], labels[active[widths.argmin()]]
        text.append(
            f"X: column {wide} is {ratio:.3g} times as wide as {narrow}: "
            "standardise the columns, or pass ard=True"
        )
    return text


def _targets(X: Array, y: Any, task: Task | None) -> _Targets:
    """Return the scale of the targets, or what the two labels are."""
    if task is not None and task not in _TASKS:
        raise ValueError(
            f"task must be 'regression' or 'classification', but it is {task!r}. Pass one of them."
        )
    values = known_value(y)
    if values is None:
        raise TypeError(
            f"y must be known, but it is the expression {y!r}. Pass the numbers that it stands for."
        )
    _check_complete(y if isinstance(y, np.ma.MaskedArray) else values)
    kind = task or _task_of(values)
    if kind == "classification":
        distinct, codes = np.unique(values, return_inverse=True)
        if len(distinct) != 2:
            seen = reprlib.repr(distinct.tolist())
            raise ValueError(
                f"y must have two labels, but it has {len(distinct)}: {seen}. "
                "Pass both classes, and for more than two one model for each."
            )
        check_targets(codes.reshape(values.shape), X, losses.Trigonometric())
        first, second = map(repr, distinct.tolist())
        text = f"y: labels {first} and {second}, {np.mean(codes):.1%} of the second"
        return _Targets(kind, 1.0, 0.0, text)
    check_targets(values, X, losses.Gaussian(1.0))
    numbers = np.asarray(values, dtype=float)
    spread, centre = spread_of(numbers), float(np.median(numbers))
    if not spread > 0.0:
        raise ValueError(
            f"y has one value only, {centre:g}, so that it has no scale. "
            "Pass targets that vary, or state the priors yourself."
        )
    return _Targets(kind, spread, centre, f"y: median {centre:.4g}, spread {spread:.4g}")


def _task_of(values: Array) -> Task:
    """Take two integers, and all that is no number, for labels."""
    if values.dtype.kind not in "iuf":
        return "classification"
    distinct = np.unique(values)
    whole = bool(np.all(distinct == np.round(distinct)))
    return "classification" if distinct.size == 2 and whole else "regression"


def _check_complete(values: Any) -> None:
    """Refuse targets with gaps, numbers or not."""
    import pandas as pd

    flat = np.ma.ravel(values)
    gaps = np.flatnonzero(pd.isna(np.asarray(flat)) | np.ma.getmaskarray(flat))
    if gaps.size:
        seen = flat[gaps[0]]
        raise ValueError(
            f"y must have no gaps, but element {gaps[0]} is {seen}. "
            "Remove or impute these rows first."
        )


def _beta_of(n: int) -> float:
    """Return the share of [Chu03]_, by the number of rows."""
    return 0.3 if n < 2000 else 0.1 if n <= 4000 else 0.05


def _model() -> pm.Model:
    """Return the model of the context."""
    model = pm.Model.get_context(error_if_none=False)
    if model is None:
        raise TypeError(
            "default_priors makes variables, but no model is open. "
            "Call it inside of `with pm.Model():`."
        )
    return model


def _called(
    model: pm.Model, task: Task, prefix: str, names: Mapping[str, str] | None
) -> dict[str, str]:
    """Return the names of the variables, none of which the model has yet."""
    own = _NAMES[task]
    unknown = sorted(set(names or {}) - set(own))
    if unknown:
        raise ValueError(
            f"names has {unknown[0]!r}, which is none of the hyperparameters. Use {', '.join(own)}."
        )
    called = {name: prefix + (names or {}).get(name, name) for name in own}
    for name in called.values():
        if model.name_for(name) in model.named_vars:
            raise ValueError(
                f"The model has a variable {name!r} already. Pass a prefix, or other names."
            )
    return called


def _dimension(model: pm.Model, name: str, labels: list[str]) -> str:
    """Return the name of a dimension of the model with one entry for each varying column."""
    if name not in model.coords:
        model.add_coord(name, labels)
    length = len(model.coords[name])
    if length != len(labels):
        raise ValueError(
            f"The dimension {name!r} has {length} entries, but {len(labels)} columns of X vary. "
            "Pass another name as dims."
        )
    return name
