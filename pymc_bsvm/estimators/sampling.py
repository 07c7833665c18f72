"""The PyMC model of a machine, and NUTS on its evidence."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.density import SPREAD, LogDensity
from pymc_bsvm.estimators.machine import Machine, MachineEvidence
from pymc_bsvm.estimators.warning import warn
from pymc_bsvm.losses import SILF, Trigonometric
from pymc_bsvm.solvers import DualSolveError

__all__ = ["model_of", "sample"]

_LOGGER = logging.getLogger("pymc_bsvm")
_MEMBERS = 50  # draws that predictions are averaged over
_DEFAULTS = {"draws": 250, "chains": 2}
_TUNE = 250
_FEW = 300  # rows up to which another process costs more than it saves
# What PyMC's own NUTS takes, whatever the model is; anything else asks for a compiled model.
_PLAIN = {
    "blas_cores",
    "callback",
    "chains",
    "compute_convergence_checks",
    "cores",
    "discard_tuned_samples",
    "draws",
    "keep_warning_stat",
    "mp_ctx",
    "nuts",
    "nuts_sampler",
    "progressbar_theme",
    "quiet",
    "target_accept",
    "tune",
}
_OF_STEP = {"max_treedepth", "target_accept"}


def model_of(objective: MachineEvidence) -> tuple[Any, Any]:
    """Return the PyMC model and the process whose evidence an objective is.

    Hyperparameters have log-normal priors around their starts. Those of columns are one vector.
    """
    import pymc as pm

    from pymc_bsvm.gp import BSVR, BTSVC, Laplace

    blueprint = objective.blueprint
    if objective.sample_weight is not None:
        raise ValueError(
            "A PyMC model has no weights of rows, but the fit had sample_weight or class_weight. "
            "Repeat the rows and fit again."
        )
    with pm.Model() as model:
        values: list[Any] = [None] * len(blueprint.hyperparameters)
        for name, places in _variables(objective).items():
            start = np.log([blueprint.hyperparameters[k].start for k in places])
            if _of_columns(objective, places):
                vector = pm.LogNormal(name, start, SPREAD, shape=len(places))
                for k, place in enumerate(places):
                    values[place] = vector[k]
            else:
                values[places[0]] = pm.LogNormal(name, start[0], SPREAD)
        of_loss, of_kernel = blueprint.split(values)
        cov = blueprint.kernel.to_pymc(of_kernel, blueprint.d)
        if blueprint.offset:
            cov = cov + pm.gp.cov.Constant(blueprint.offset)
        loss = blueprint.likelihood.loss(of_loss)
        y = _observed(objective)
        approximation = blueprint.approximation
        gp: Any
        if isinstance(loss, SILF | Trigonometric):
            gp = (BSVR if loss.task == "regression" else BTSVC)(cov_func=cov)
            fields = {**loss.fields, "approximation": approximation}
            gp.marginal_likelihood("y", X=objective.X, y=y, **fields)
        else:
            gp = Laplace(cov_func=cov)
            gp.marginal_likelihood("y", X=objective.X, y=y, loss=loss, approximation=approximation)
    return model, gp


def sample(
    objective: MachineEvidence,
    machine: Machine,
    rng: np.random.Generator,
    settings: dict[str, Any] | None,
    progressbar: bool,
) -> tuple[list[Machine], Any]:
    """Draw hyperparameters by NUTS; return machines at some of the draws, and all draws.

    What is sampled are the machine's own evaluations. If settings are about another sampler, or
    about how PyTensor compiles, it is the compiled model of `model_of`.
    """
    settings = {**_DEFAULTS, **(settings or {})}
    given = {"random_seed": int(rng.integers(2**31)), "progressbar": progressbar}
    try:
        if _is_plain(settings):
            tree = _by_evaluations(objective, machine, rng, settings, **given)
        else:
            tree = _by_model(objective, machine, settings, **given)
    except ValueError as error:
        if "Not enough samples" in str(error):
            raise KeyboardInterrupt from error  # while the sampler was tuned
        raise
    posterior = tree["posterior"]
    total = posterior.sizes["chain"] * posterior.sizes["draw"]
    if posterior.sizes["draw"] < settings["draws"]:
        warn(
            f"The sampler was interrupted; predictions are averages over the {total} draws so far. "
            "Fit again for all of them."
        )
    chosen = np.unique(np.linspace(0, total - 1, min(_MEMBERS, total)).astype(int))
    values = np.empty((chosen.size, machine.values.size))
    for name, places in _variables(objective).items():
        draws = posterior[name].values.reshape(total, -1)
        values[:, places] = draws[chosen]
    return _machines(objective, values), tree


def _is_plain(settings: Mapping[str, Any]) -> bool:
    """Return whether the settings are about PyMC's own NUTS and leave compiling aside."""
    of_step = settings.get("nuts") or {}
    plain = settings.keys() <= _PLAIN and of_step.keys() <= _OF_STEP
    return plain and settings.get("nuts_sampler") in (None, "pymc")


def _by_evaluations(
    objective: MachineEvidence,
    machine: Machine,
    rng: np.random.Generator,
    settings: dict[str, Any],
    **given: Any,
) -> Any:
    """Return draws by the machine's own evaluations."""
    import xarray as xr
    from arviz_base import dict_to_dataset

    from pymc_bsvm.estimators.called import nuts

    if objective.n <= _FEW:
        settings = {"cores": 1, **settings}
    variables = _variables(objective)
    density = LogDensity(objective)
    tree = nuts(
        density,
        density.coordinates(np.log(machine.values)),
        {k: v if _of_columns(objective, v) else v[0] for k, v in variables.items()},
        rng,
        **settings,
        **given,
    )
    observed = {"y": _observed(objective)}
    tree["observed_data"] = xr.DataTree(dict_to_dataset(observed, sample_dims=[]))
    return tree


def _by_model(
    objective: MachineEvidence, machine: Machine, settings: dict[str, Any], **given: Any
) -> Any:
    """Return draws from the PyMC model, compiled."""
    import pymc as pm

    start = {}
    for name, places in _variables(objective).items():
        chosen = machine.values[places]
        start[name] = chosen if _of_columns(objective, places) else chosen[0]
    settings = {"tune": _TUNE, **settings}
    return pm.sample(model=model_of(objective)[0], initvals=start, **settings, **given)


def _observed(objective: MachineEvidence) -> Array:
    """Return the targets of the PyMC model, where labels are 0 and 1."""
    labels = objective.blueprint.likelihood.loss_type.task == "classification"
    return (objective.y > 0.0).astype(int) if labels else objective.y


def _machines(objective: MachineEvidence, values: Array) -> list[Machine]:
    machines = []
    for row in values:
        try:
            machines.append(Machine.at(objective, row))
        except DualSolveError as error:
            _LOGGER.warning("A draw of the hyperparameters is left out: %s", error)
    return machines


def _variables(objective: MachineEvidence) -> dict[str, list[int]]:
    """Return the places of hyperparameters by the name of their variable."""
    places: dict[str, list[int]] = {}
    for k, h in enumerate(objective.blueprint.hyperparameters):
        places.setdefault(h.variable, []).append(k)
    return places


def _of_columns(objective: MachineEvidence, places: list[int]) -> bool:
    """Return whether hyperparameters are those of columns."""
    return objective.blueprint.hyperparameters[places[0]].column is not None
