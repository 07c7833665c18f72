"""The loss of a model as a function of inputs that can be bound to any rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph import ancestors

from pymc_bsvm._pytensor import FrozenFunctionGraph
from pymc_bsvm.gp.prior import frontier
from pymc_bsvm.losses import Loss

__all__ = ["RowLoss"]


class RowLoss:
    """A loss, taken apart into its type and what its parameters depend on.

    A parameter is shared by all rows, or a vector of one number for each training row, or a
    function of the inputs. Of functions the graph is kept, as `Prior` keeps those of the mean and
    the covariance function, so that the loss has its parameters at new rows as well.

    Parameters
    ----------
    loss : Loss
        The loss; its parameters may be variables or functions of the inputs.
    n_columns : int
        Number of columns of the inputs.
    """

    def __init__(self, loss: Loss, n_columns: int) -> None:
        X = pt.matrix("X", shape=(None, n_columns))
        fields = {name: pt.as_tensor_variable(x) for name, x in loss.at(X).fields.items()}
        self.type = type(loss)
        self.functions = tuple(name for name, x in fields.items() if X in ancestors([x]))
        """Names of the parameters that depend on the inputs."""
        self.given = tuple(name for name in fields if name not in self.functions)
        """Names of the others."""
        outputs = [fields[name].astype("float64") for name in self.functions]
        outer = frontier([X], outputs)
        self.parameters = [*(fields[name] for name in self.given), *outer]
        """What the loss depends on beside the inputs: the given ones, then what functions use."""
        self._graph = FrozenFunctionGraph.from_io([X, *outer], outputs) if outputs else None
        self._of_training_rows = [name for name in self.given if fields[name].type.ndim]

    def at(self, X: Any, parameters: Sequence[Any]) -> Loss:
        """Return the loss of the rows of X, given what it depends on beside them."""
        return self.assemble(parameters, self.of_inputs(X, parameters))

    def of_inputs(self, X: Any, parameters: Sequence[Any]) -> list[Any]:
        """Return the parameters that are functions of the inputs at the rows of X."""
        if self._graph is None:
            return []
        return list(self._graph.bind([X, *parameters[len(self.given) :]]))

    def assemble(self, parameters: Sequence[Any], of_inputs: Sequence[Any]) -> Loss:
        """Return the loss from what it depends on and the values of its functions."""
        given = dict(zip(self.given, parameters, strict=False))
        return self.type(**given, **dict(zip(self.functions, of_inputs, strict=True)))

    def check_new_rows(self) -> None:
        """Raise ``ValueError`` if the parameters are not known at new rows."""
        if self._of_training_rows:
            name = self._of_training_rows[0]
            raise ValueError(
                f"{name} has one number for each training row, which leaves open what it is at new "
                f"rows. Pass a function of the inputs: {name}=lambda X: pt.exp(c - 0.1 * X[:, 0])."
            )
