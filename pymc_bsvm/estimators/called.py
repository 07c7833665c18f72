"""NUTS on a log density in Python, by PyMC and without compiling anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from pytensor.graph import Apply, Op

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.density import LogDensity
from pymc_bsvm.inference import Hessian
from pymc_bsvm.ops.base import as_float

__all__ = ["Called", "nuts"]

_VECTOR = "logarithms"
_TUNE, _TUNE_METRIC = 100, 250  # draws that find a step size, and a metric as well


class Called(Op):
    """``Called(density)(x)``: the value of a log density at a vector, and its gradient."""

    __props__ = ("density",)

    def __init__(self, density: LogDensity) -> None:
        self.density = density

    def make_node(self, x: Any) -> Apply:
        """Build the node."""
        return Apply(self, [as_float("x", x, 1)], [pt.dscalar(), pt.dvector()])

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

    Chains start from draws of the Gaussian nearest to the density, whose covariance is the metric,
    so that few draws tune the sampler. Where there is no such Gaussian, they start around the mode,
    and PyMC adapts a diagonal metric.

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
    gaussian = density.gaussian(mode)
    if gaussian is not None:
        of_step |= {"scaling": gaussian.covariance, "is_cov": True}
    settings = {"tune": _TUNE_METRIC if gaussian is None else _TUNE, **settings}
    points = [_start(density, mode, gaussian, rng) for _ in range(settings["chains"])]
    # Functions of a few nodes, around one call: to compile them takes longer than to run them.
    with pytensor.config.change_flags(mode="FAST_COMPILE"), pm.Model():
        x = pm.Flat(_VECTOR, shape=mode.size)
        for name, places in variables.items():
            pm.Deterministic(name, pt.exp(x[places]))
        pm.Potential("log_density", Called(density)(x)[0])
        starts = [{_VECTOR: point} for point in points]
        tree = pm.sample(step=pm.NUTS([x], **of_step), initvals=starts, **settings)
    for group in tree.children.keys() & {"posterior", "warmup_posterior"}:
        tree[group] = xr.DataTree(tree[group].to_dataset().drop_dims(f"{_VECTOR}_dim_0"))
    return tree


def _start(
    density: LogDensity, mode: Array, gaussian: Hessian | None, rng: np.random.Generator
) -> Array:
    """Return where a chain starts."""
    if gaussian is None:
        start = mode + rng.uniform(-1.0, 1.0, mode.size)
    else:
        start = rng.multivariate_normal(gaussian.mean, gaussian.covariance)
    return start if np.isfinite(density(start)[0]) else mode
