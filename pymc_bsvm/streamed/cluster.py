"""Tasks on a Dask cluster.

Its own futures are used where joblib is told to use Dask, as joblib waits for ever for a task that
Dask gave up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

__all__ = ["is_inside", "through_dask"]


def is_inside() -> bool:
    """Return whether this is a task of a cluster, which must not wait for other tasks."""
    from dask.distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


def through_dask(
    function: Callable[..., Any],
    items: Iterator[Any],
    shared: tuple[Any, ...],
    sent: deque[Any],
    most: int,
    client: Any,
) -> Iterator[Any]:
    """Keep so many tasks under way, and yield what they return in their order.

    Dask runs a task again whose worker was lost. What all tasks share is a task's result too, so
    that it is not lost either.
    """
    import dask
    from dask.distributed import KilledWorker

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        common = client.submit(_given, shared, pure=False)
        futures = deque(client.submit(_call, function, item, common, pure=False) for item in sent)
        while True:
            for item in islice(items, most - len(sent)):
                sent.append(item)
                futures.append(client.submit(_call, function, item, common, pure=False))
            if not futures:
                return
            try:
                found = futures[0].result()
            except KilledWorker as error:
                raise RuntimeError(
                    f"Dask gave up a task, as it was in {error.allowed_failures + 1} workers "
                    "that were lost. Give the workers more memory."
                ) from error
            futures.popleft()
            sent.popleft()
            yield found


def _given(shared: tuple[Any, ...]) -> tuple[Any, ...]:
    return shared


def _call(function: Callable[..., Any], item: Any, shared: tuple[Any, ...]) -> Any:
    return function(item, *shared)
