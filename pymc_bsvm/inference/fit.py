"""Hyperparameters by maximising the evidence: type II maximum likelihood or a posteriori."""

from __future__ import annotations

import logging
import numbers
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from pymc import Model
from rich.progress import Progress

from pymc_bsvm._pymc import make_initial_point_fns_per_chain
from pymc_bsvm._typing import Array
from pymc_bsvm._validation import (
    as_parameter,
    as_real_array,
    check_mapping,
    generator_of,
    names_arguments,
    positive,
)
from pymc_bsvm.evidence.approximation import Evidence
from pymc_bsvm.gp.place import model_at
from pymc_bsvm.inference.objective import LogPosterior, Marginal, marginals_of
from pymc_bsvm.inference.peak import Check, Peak, check_of, peak_at
from pymc_bsvm.inference.progress import line, progress
from pymc_bsvm.inference.result import EvidenceFit
from pymc_bsvm.search import Ascents, Ending, Report, Start, multistart
from pymc_bsvm.search.hessian import Hessian, nearest_gaussian

__all__ = ["fit_evidence"]

_LOGGER = logging.getLogger("pymc_bsvm")
_INTERRUPTED = "fit_evidence: interrupted after %d of %d starts; what was finished is kept."
_REMEDY = (
    "The fit is on a spike of Laplace's approximation: use approximation='ep', or more rows or "
    "narrower priors."
)
_PAPER_STARTS = {"C": 1.0, "epsilon": 0.05}  # section 4.4 of [Chu03]_


@names_arguments
def fit_evidence(
    model: Model | None = None,
    restarts: int = 1,
    include_prior: bool = True,
    start: Mapping[str, Any] | EvidenceFit | None = None,
    random_seed: Any = None,
    n_jobs: int | None = 1,
    progressbar: bool = True,
    *,
    gtol: float = 1e-2,
    maxiter: int = 500,
    hessian: bool = False,
    check: Check = "auto",
    compile_kwargs: Mapping[str, Any] | None = None,
) -> EvidenceFit:
    """Find the hyperparameters of the highest posterior density, or of the highest evidence.

    Maximises the log posterior of all free variables of a model with approximate evidences
    by L-BFGS-B on PyMC's unconstrained space, with exact gradients.

    Parameters
    ----------
    model : pymc.Model, optional
        The model; by default that of the context.
    restarts : int, default 1
        Number of starts. The first is `start`, or the papers' defaults for C and epsilon, unless
        they have an ``initval``, and PyMC's initial point for the rest; the second is that point
        jittered; the others are draws from the prior.
    include_prior : bool, default True
        Maximise the posterior density. If False, the evidence alone: type II maximum likelihood.
    start : mapping or EvidenceFit, optional
        Values of free variables, on their own scale, for the first start; or a fit, for those of
        its variables that the model has.
    random_seed : int or Generator, optional
        Seed of the other starts.
    n_jobs : int, default 1
        Number of parallel runs, through joblib: ``joblib.parallel_config`` chooses processes,
        threads, or a Dask cluster. The result does not depend on it.
    progressbar : bool, default True
        Show the progress.
    gtol : float, default 1e-2
        Largest element of the gradient that counts as converged, in nats per unit of the
        unconstrained space.
    maxiter : int, default 500
        Largest number of iterations of each start.
    hessian : bool, default False
        Find the Gaussian nearest to the posterior of the hyperparameters around the mode, so that
        the fit has standard deviations and draws. It costs some hundred evaluations; see
        `pymc_bsvm.search.hessian.nearest_gaussian`.
    check : {"auto", True, False}
        Compare Laplace's evidence at the best point and at its neighbours with that of expectation
        propagation, and warn if it is more than a nat too high at the best point alone: a spike,
        as there are on few rows. "auto" spends a fifth of what the search cost: on up to eight
        neighbours, on two at least up to 200 rows, on none above 1000. It is without effect on
        models that have another approximation.
    compile_kwargs : mapping, optional
        How PyTensor compiles the evidence before the search, such as ``{"mode": "NUMBA"}``, which
        takes one to two minutes for a new model. By default the evidence is interpreted, and
        compiled once the evaluations that are left would lose more time by that than the compiler
        takes; the progress and the logger ``pymc_bsvm`` say so. A mode or a linker in
        ``pytensor.config`` is used as it is.

    Returns
    -------
    EvidenceFit
        The best point, the table of all starts, the support vectors.

    Notes
    -----
    If the best start did not converge, the logger ``pymc_bsvm`` warns, and the result says how it
    ended.

    Each evaluation starts from where the evaluation before it ended.

    An interruption by the keyboard keeps the best point of the run that it meets, and all runs that
    were finished.

    See Also
    --------
    pymc.find_MAP : the same optimum for any model, from one start.

    References
    ----------
    [Chu03]_, sections 4.3 and 5.4.
    """
    model, check = model_at(model), check_of(check)
    marginals = marginals_of(model)
    _check_settings(restarts, maxiter, n_jobs, compile_kwargs)
    gtol = as_parameter("gtol", gtol, positive)
    objective = LogPosterior(model, include_prior, compile_kwargs)
    starts = _starts(model, objective, marginals, int(restarts), start, random_seed)
    with progress(progressbar) as bar, objective.function.announced(partial(line, bar)):
        found = multistart(
            objective,
            starts,
            n_jobs=n_jobs,
            report=_reporter(bar, objective, len(starts)),
            gtol=gtol,
            maxiter=int(maxiter),
        )
        best = found.best
        if not np.isfinite(best.objective):
            raise ValueError(
                f"The objective is not finite at any of the {len(starts)} starts. "
                "Pass start=...; gp.evidence(point) says what is wrong at a point."
            )
        _log_ending(found, len(starts))
        gaussian = None
        if hessian:
            task = bar.add_task("Error bars", total=None)
            gaussian = _error_bars(objective, best.end, lambda: bar.advance(task))
    point = objective.point(best.end)
    evidences = {
        marginal.name: marginal.evaluator(model).at(point).evidence for marginal in marginals
    }
    return EvidenceFit(
        point=point,
        log_evidence=best.log_evidence,
        objective=best.objective,
        include_prior=include_prior,
        evidences=evidences,
        runs=found.runs,
        hessian=gaussian,
        model=model,
        _objective=objective,
        check=_peak(objective, evidences, found, check),
    )


def _starts(
    model: Model,
    objective: LogPosterior,
    marginals: list[Marginal],
    count: int,
    start: Mapping[str, Any] | EvidenceFit | None,
    random_seed: Any,
) -> list[Start]:
    """Return labelled starts on the unconstrained space."""
    free = {rv.name: rv for rv in model.free_RVs}
    if isinstance(start, EvidenceFit):
        start = {name: value for name, value in start.point.items() if name in free}
    if start is not None:
        check_mapping("start", start, "Pass values by name, such as {'ls': 1.0}, or a fit.")
    given = dict(start or {})
    unknown = set(given) - set(free)
    if unknown:
        raise ValueError(
            f"start has a value for {sorted(unknown)[0]!r}, which is not a free variable. "
            f"Use names among {', '.join(free)}."
        )
    for name, value in given.items():
        _check_start(name, value, free[name])
    defaults = {
        variable: _PAPER_STARTS[name]
        for marginal in marginals
        for name, variable in marginal.loss_variables().items()
        if name in _PAPER_STARTS
        and variable in model.free_RVs
        and variable.ndim == 0
        # the model's own word comes first
        and model.rvs_to_initial_values[variable] is None
    }
    rng = generator_of(random_seed)

    def initial(initvals: Mapping[Any, Any], jitter: bool = False, draws: int = 1) -> list[Array]:
        [point] = make_initial_point_fns_per_chain(
            model=model,
            overrides=dict(initvals),
            jitter_rvs=set(model.free_RVs) if jitter else set(),
            chains=1,
        )
        return [objective.vector(point(int(rng.integers(2**30)))) for _ in range(draws)]

    def inside(variable: Any, value: Any) -> bool:
        return bool(np.isfinite(initial({variable: value})[0]).all())

    overrides = {free[name]: value for name, value in given.items()}
    [first] = initial({**defaults, **overrides})
    if not np.isfinite(first).all():
        for name, value in given.items():
            if not inside(free[name], value):
                raise ValueError(
                    f"start has {name} = {value!r}, which is outside of the support of its prior. "
                    "Pass a value inside, or leave it out."
                )
        # where the papers' defaults are outside the support of a prior, PyMC's point stays
        defaults = {v: x for v, x in defaults.items() if inside(v, x)}
        [first] = initial({**defaults, **overrides})
    starts = [Start("start" if given else "defaults", first)]
    if count > 1:
        [jittered] = initial({**defaults, **overrides}, jitter=True)
        starts.append(Start("jittered", jittered))
    if count > 2:
        draws = initial({rv: "prior" for rv in model.free_RVs}, draws=count - 2)
        starts += [Start(f"prior draw {k}", x) for k, x in enumerate(draws, start=1)]
    return starts


def _check_start(name: str, value: Any, variable: Any) -> None:
    """Raise unless a value of a start is one of its variable."""
    number = as_real_array(f"start[{name!r}]", value, "Pass a number on the variable's own scale.")
    if number.ndim != variable.type.ndim:
        raise ValueError(
            f"start has {name} with {number.ndim} dimensions, but the variable has "
            f"{variable.type.ndim}. Pass one value of the variable, not many draws."
        )


def _check_settings(restarts: Any, maxiter: Any, n_jobs: Any, compile_kwargs: Any) -> None:
    """Raise for settings of a wrong kind."""
    for name, value in (("restarts", restarts), ("maxiter", maxiter)):
        if not isinstance(value, numbers.Integral) or value < 1:
            raise ValueError(
                f"{name} must be an integer >= 1, but it is {value!r}. Pass 1 or more."
            )
    if n_jobs is not None and (not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise ValueError(
            f"n_jobs must be an integer other than 0, but it is {n_jobs!r}. "
            "Pass 1, or -1 for all processors."
        )
    if compile_kwargs is not None:
        check_mapping("compile_kwargs", compile_kwargs, "Pass, for example, {'mode': 'NUMBA'}.")


def _log_ending(found: Ascents, count: int) -> None:
    """Say what did not end as it should."""
    if found.interrupted:
        _LOGGER.warning(_INTERRUPTED, len(found.runs), count)
    if found.best.ending is not Ending.CONVERGED:
        _LOGGER.warning("fit_evidence: %s", found.best.ending.value)


def _peak(
    objective: LogPosterior, evidences: Mapping[str, Evidence], found: Ascents, check: Check
) -> Peak | None:
    """Compare the best point with its neighbours, and warn of a spike."""
    evaluations = sum(run.evaluations for run in found.runs)
    peak = peak_at(found.best.end, objective, evidences, check, evaluations)
    if peak is not None and peak.is_spike:
        warnings.warn(f"{peak}. {_REMEDY}", UserWarning, stacklevel=4)
    return peak


def _error_bars(
    objective: LogPosterior, x: Array, callback: Callable[[], object]
) -> Hessian | None:
    """Return the Gaussian near a mode; an interruption does not take the fit along."""
    try:
        return nearest_gaussian(objective.density, x, objective.names(), callback)
    except KeyboardInterrupt:
        _LOGGER.warning("fit_evidence: interrupted at the Hessian; the fit is kept without it.")
        return None


def _reporter(bar: Progress, objective: LogPosterior, total: int) -> Report:
    """Return a function that reports finished starts and the best objective."""
    task = bar.add_task("Evidence", total=total)
    finished = 0

    def report(done: int, best: float) -> None:
        nonlocal finished
        if done:  # the starts that are left are taken to be as long as those
            finished += done
            objective.function.expect(objective.evaluations * (total - finished) // finished)
        bar.update(task, advance=done, description=f"Evidence, best {best:.3f}")

    return report
