"""Tasks that joblib sends to threads, processes or a cluster, and again when a worker is lost."""

from __future__ import annotations

import logging
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from itertools import islice
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from pymc_bsvm.streamed.cluster import is_inside, through_dask

__all__ = ["results"]

_LOGGER = logging.getLogger("pymc_bsvm")
_IN_FLIGHT = 16  # tasks for each worker that are sent before the first of them has to be back
_ATTEMPTS = 4  # at the same task

type Function = Callable[..., Any]


def results(
    function: Function, items: Iterator[Any], shared: tuple[Any, ...], n_jobs: int | None
) -> Generator[Any]:
    """Yield ``function(item, *shared)`` for each item, in their order.

    One job is a plain loop. More go where `joblib.parallel_config` says, and what was not back when
    a worker was lost is sent again, so that the function has to be stateless. A few items and
    results for each worker are in memory at a time.
    """
    jobs = effective_n_jobs(n_jobs)
    client = getattr(get_active_backend()[0], "client", None)  # Dask's
    if n_jobs == 1 or (jobs == 1 if client is None else is_inside()):
        yield from (function(item, *shared) for item in items)
        return
    sent: deque[Any] = deque()  # and not back
    losses, most = 0, _IN_FLIGHT * jobs
    while True:
        try:
            if client is None:
                found = _through_joblib(function, items, shared, sent, most, n_jobs)
            else:
                found = through_dask(function, items, shared, sent, most, client)
            for each in found:
                losses = 0
                yield each
            return
        except (BrokenExecutor, CancelledError) as error:
            losses += 1
            if losses == _ATTEMPTS:
                raise RuntimeError(
                    f"A worker was lost {losses} times before any of {len(sent)} tasks was done. "
                    "Give the workers more memory, or lower n_jobs."
                ) from error
            _LOGGER.warning(
                "A worker was lost (%s); %d tasks are sent again.", type(error).__name__, len(sent)
            )


def _through_joblib(
    function: Function,
    items: Iterator[Any],
    shared: tuple[Any, ...],
    sent: deque[Any],
    most: int,
    n_jobs: int | None,
) -> Iterator[Any]:
    """Send one group of tasks after the other."""
    with Parallel(n_jobs, return_as="generator") as parallel:
        while sent or (group := tuple(islice(items, most))):
            sent.extend(() if sent else group)
            found = parallel([delayed(function)(item, *shared) for item in sent])
            try:
                for each in found:
                    sent.popleft()
                    yield each
            finally:
                with warnings.catch_warnings():  # that tasks are not waited for
                    warnings.simplefilter("ignore")
                    found.close()
