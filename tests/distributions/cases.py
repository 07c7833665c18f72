"""The two noise distributions under test, one row each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pymc.testing import Domain

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from tests import oracle
from tests.distributions import reference


@dataclass(frozen=True)
class NoiseCase:
    """A distribution, its loss, its reference by quadrature and its oracle in 60 digits."""

    dist: Any
    loss: Any
    reference: Callable[..., reference.Noise]
    oracle: Any
    domains: dict[str, Domain]
    """Parameters besides mu, for PyMC's harness."""
    typical: dict[str, float]
    extreme: tuple[dict[str, float], ...]

    @property
    def name(self) -> str:
        return self.dist.__name__

    @property
    def paramdomains(self) -> dict[str, Domain]:
        return {"mu": Domain([-np.inf, -1.2, 0.0, 2.1, np.inf]), **self.domains}

    def from_reference(self, method: str) -> Callable[..., float]:
        """Turn a method of the reference into a function of PyMC's argument names."""

        def function(value: float, mu: float, **parameters: float) -> float:
            noise = self.reference(**{k: float(p) for k, p in parameters.items()})
            return getattr(noise, method)(float(value - mu))

        return function

    def knots(self, C: float, epsilon: float, beta: float = 0.0) -> list[float]:
        return [0.0, (1 - beta) * epsilon, epsilon, (1 + beta) * epsilon]


SILF = NoiseCase(
    bsvm.SILF,
    losses.SILF,
    reference.silf,
    oracle.SILF,
    {
        "C": Domain([0, 0.3, 3.0, 40.0, np.inf]),
        "epsilon": Domain([0, 0.02, 0.5, np.inf]),
        "beta": Domain([0, 1e-3, 0.3, 1, 1]),
    },
    {"C": 3.0, "epsilon": 0.4, "beta": 0.3},
    tuple(
        {"C": C, "epsilon": epsilon, "beta": beta}
        for C in (1e-3, 1.0, 1e6)
        for epsilon in (1e-3, 0.1, 10.0)
        for beta in (1e-6, 0.3, 1.0)
    ),
)

INSENSITIVE = NoiseCase(
    bsvm.EpsilonInsensitive,
    losses.EpsilonInsensitive,
    reference.insensitive,
    oracle.EpsilonInsensitive,
    {"C": Domain([0, 0.3, 3.0, 40.0, np.inf]), "epsilon": Domain([0, 0.02, 0.5, 2.0, np.inf])},
    {"C": 3.0, "epsilon": 0.4},
    tuple({"C": C, "epsilon": epsilon} for C in (1e-3, 1.0, 1e6) for epsilon in (1e-3, 0.1, 10.0)),
)

NOISES = (SILF, INSENSITIVE)


def name(case: Any) -> str:
    return case.name if isinstance(case, NoiseCase) else str(case)
