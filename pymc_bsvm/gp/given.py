"""What a process is conditioned on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pymc_bsvm._pymc import Base
from pymc_bsvm._validation import check_mapping
from pymc_bsvm.evidence.approximation import Approximation, approximation_of
from pymc_bsvm.gp.base import Process
from pymc_bsvm.gp.data import as_inputs, check_targets
from pymc_bsvm.gp.names import names_of
from pymc_bsvm.losses import Loss

__all__ = ["Given", "known_or_given"]


class Given(NamedTuple):
    """What a process is conditioned on."""

    X: Any
    y: Any
    loss: Loss
    process: Base
    """The process that the data are of; the one that predicts may be a component of it."""
    jitter: float
    approximation: Approximation
    Xu: Any = None
    """Inducing points, if there are any."""
    columns: tuple[str, ...] | None = None
    """Names of the columns of X, if they have any."""


def known_or_given(
    process: Any, given: Mapping[str, Any] | None, data_keys: tuple[str, ...]
) -> Given:
    """Return what to condition a process on: what it knows, or what is given in its place."""
    if given is not None:
        check_mapping("given", given, "Pass data by name, such as {'gp': total}.")
    given = dict(given or {})
    allowed = {*data_keys, "gp", *process._loss_keys}
    unknown = set(given) - allowed
    if unknown:
        raise ValueError(
            f"given has the unknown key {sorted(unknown)[0]!r}. "
            f"It may hold {', '.join(sorted(allowed))}."
        )
    training = given.get("gp", process)
    if not isinstance(training, Process):
        raise TypeError(
            f"given['gp'] must be a process of pymc_bsvm.gp, but it is of type "
            f"{type(training).__name__}. Pass the sum of which this one is a component."
        )
    data, loss = set(data_keys) & set(given), process._loss_of(given)
    if not data and set(given) <= {"gp"}:
        return _known(process, training)
    if len(data) < len(data_keys) or loss is None:
        raise ValueError(
            f"given holds {', '.join(sorted(given))}, which is only a part of what to "
            f"condition on. Pass {', '.join(data_keys)} and the loss (or its parameters) "
            "together."
        )
    source = process if hasattr(process, "_loss") else training
    approximation = getattr(source, "approximation", None) or approximation_of(None)
    approximation.check(loss)
    columns = names_of(given["X"])
    X = as_inputs("X", given["X"], getattr(training.cov_func, "input_dim", None))
    check_targets(given["y"], X, loss.at(X))
    jitter = getattr(source, "jitter", 0.0)
    return Given(X, given["y"], loss, training, jitter, approximation, given.get("Xu"), columns)


def _known(process: Any, training: Any) -> Given:
    """Return the data that a process, or the sum of which it is a part, was conditioned on."""
    source = training if hasattr(training, "_loss") else process
    if not hasattr(source, "_loss"):
        raise AttributeError(
            f"This {type(source).__name__} is not conditioned on data. Call its "
            "marginal_likelihood first, or pass given={'gp': total} for a part of a sum."
        )
    return Given(
        source.X,
        source.y,
        source.loss,
        training,
        source.jitter,
        source.approximation,
        getattr(source, "_Xu", None),
        source._specification.columns,
    )
