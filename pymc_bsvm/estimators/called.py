"""NUTS on a log density in Python, by PyMC and without compiling anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from arviz_base import dict_to_dataset
from pytensor.graph import Apply, Op

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.density import LogDensity, Moments

__all__ = ["Called", "nuts"]

_VECTOR = "coordinates"
_TUNE, _TUNE_METRIC = 60, 250  # draws that find a step size, and a metric as well
# In a metric that is known the step is not far from this, and needs no bold moves to be found. The
# ripples of a sparse evidence are cheaper to reject at times than to resolve.
_STEP, _OF_STEP = 0.6, {"gamma": 0.3, "early_max_treedepth": 4, "target_accept": 0.7}


class Called(Op):
    """``Called(density)(x)``: the value of a log density at a vector, and its gradient."""

    __props__ = ("density",)

    def __init__(self, density: LogDensity) -> None:
        self.density = density

    def make_node(self, x: Any) -> Apply:
        """Build the node."""
        return Apply(self, [pt.as_tensor_variable(x)], [pt.dscalar(), pt.dvector()])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the gradient is only a means."""
        return [[True, False]]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Call the density."""
        value, slope = self.density(inputs[0])
        output_storage[0][0], output_storage[1][0] = np.asarray(value), slope

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Multiply the gradient that came with the value."""
        return [cotangents[0] * outputs[1]]


def nuts(
    density: LogDensity,
    mode: Array,
    variables: Mapping[str, list[int] | int],
    rng: np.random.Generator,
    **settings: Any,
) -> Any:
    """Draw from a log density of logarithms.

    Chains start from draws of a Gaussian with the moments of the density, whose covariance is the
    metric, so that few draws tune the sampler. Where there is no such Gaussian, they start around
    the mode, and PyMC adapts a diagonal metric.

    Parameters
    ----------
    density : LogDensity
        The log density and its gradient.
    mode : ndarray of shape (k,)
        Where it is high.
    variables : mapping
        The places of each variable in the vector; one place for a scalar.
    rng : numpy.random.Generator
        Of the starts.
    **settings
        Arguments of `pm.sample`; ``nuts`` and ``target_accept`` are those of the step.

    Returns
    -------
    DataTree
        The draws of the variables.
    """
    of_step = dict(settings.pop("nuts", None) or {})
    if "target_accept" in settings:
        of_step["target_accept"] = settings.pop("target_accept")
    moments = density.moments(mode)
    if moments is not None:
        metric = {"scaling": moments.covariance, "is_cov": True}
        first = {"step_scale": 0.1 * _STEP * mode.size**0.25}  # PyMC tries ten times that next
        of_step = {**metric, **first, **_OF_STEP, **of_step}
    settings = {"tune": _TUNE_METRIC if moments is None else _TUNE, **settings}
    points = [_start(density, mode, moments, rng) for _ in range(settings["chains"])]
    # Functions of a few nodes, around one call: to compile them takes longer than to run them.
    with pytensor.config.change_flags(mode="FAST_COMPILE"), pm.Model():
        x = pm.Flat(_VECTOR, shape=mode.size)
        pm.Potential("log_density", Called(density)(x)[0])
        starts = [{_VECTOR: point} for point in points]
        tree = pm.sample(step=pm.NUTS([x], **of_step), initvals=starts, **settings)
    for group in tree.children.keys() & {"posterior", "warmup_posterior"}:
        drawn = tree[group]
        values = np.exp(density.logarithms(drawn[_VECTOR].values))
        named = {name: values[..., places] for name, places in variables.items()}
        coords = {name: drawn[name].values for name in ("chain", "draw")}
        dataset = dict_to_dataset(named, coords=coords).assign_attrs(drawn.attrs)
        tree[group] = xr.DataTree(dataset)
    return tree


def _start(
    density: LogDensity, mode: Array, moments: Moments | None, rng: np.random.Generator
) -> Array:
    """Return where a chain starts."""
    if moments is None:
        start = mode + rng.uniform(-1.0, 1.0, mode.size)
    else:
        start = rng.multivariate_normal(*moments)
    return start if np.isfinite(density(start)[0]) else mode
