"""Names of columns and labels of rows, for data that carry them: they are matched or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymc import Model
from pytensor.graph import Variable

__all__ = ["check_same_order", "in_order", "names_of"]

_SHOWN = 5


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame, a labelled array or a data container.

    Names are strings; what has others, or none, goes by position, for which None is returned.
    """
    if isinstance(X, Variable):
        found = _of_container(X)
    elif hasattr(X, "columns"):
        found = X.columns
    elif getattr(X, "ndim", 0) == 2 and hasattr(X, "coords"):
        found = X.coords[X.dims[1]].to_numpy() if X.dims[1] in X.coords else None
    else:
        found = None
    names = () if found is None else tuple(found)
    return tuple(map(str, names)) if names and all(isinstance(x, str) for x in names) else None


def in_order(name: str, X: Any, columns: tuple[str, ...] | None) -> Any:
    """Return inputs with their columns in the order of those of X, if both have names.

    Raises
    ------
    ValueError
        If the names are not the same, or not unique where the order matters.
    """
    own = names_of(X)
    if columns is None or own is None or own == columns:
        return X
    missing = [x for x in columns if x not in own]
    others = [x for x in own if x not in columns]
    if missing or others:
        seen = [f"lacks the columns {_listed(missing)}"] if missing else []
        seen += [f"has {_listed(others)}, which X has not"] if others else []
        raise ValueError(
            f"{name} {', and '.join(seen)}. Pass the columns of X: {_listed(columns)}."
        )
    for names in (columns, own):
        if len(set(names)) < len(names):
            twice = next(x for x in names if names.count(x) > 1)
            raise ValueError(
                f"The column {twice!r} is there more than once, and {name} has its columns in "
                "another order than X. Give each column a name of its own."
            )
    order = [own.index(x) for x in columns]
    return X[:, order] if isinstance(X, Variable) else np.asarray(X)[:, order]


def check_same_order(X: Any, y: Any) -> None:
    """Raise ``ValueError`` if the labels of the rows say that targets are in another order."""
    rows, targets = _index(X), _index(y)
    if rows is None or targets is None or len(rows) != len(targets) or rows.equals(targets):
        return
    if rows.is_unique and targets.is_unique and rows.isin(targets).all():
        first = int(np.flatnonzero(rows != targets)[0])
        raise ValueError(
            f"y has the rows of X in another order: row {first} is {rows[first]!r} in X and "
            f"{targets[first]!r} in y. Pass y.loc[X.index], or arrays, which go by position."
        )


def _of_container(X: Variable[Any, Any]) -> Any:
    """Return the coordinates of the columns of a data container of the model of the context."""
    model = Model.get_context(error_if_none=False)
    if model is None or X.name is None or X.name not in model.named_vars_to_dims:
        return None
    dims = model.named_vars_to_dims[X.name]
    return model.coords.get(dims[1]) if len(dims) == 2 and dims[1] is not None else None


def _index(x: Any) -> Any:
    """Return the labels of the rows of pandas' and xarray's objects."""
    if hasattr(x, "iloc"):
        return x.index
    if hasattr(x, "coords") and x.dims and x.dims[0] in x.coords:
        return x.indexes[x.dims[0]]
    return None


def _listed(names: Any) -> str:
    shown = ", ".join(repr(x) for x in list(names)[:_SHOWN])
    return f"{shown}, ..." if len(names) > _SHOWN else shown
