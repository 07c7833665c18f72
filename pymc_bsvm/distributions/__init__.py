"""The likelihoods as ordinary PyMC distributions."""

from pymc_bsvm._moved import moved
from pymc_bsvm.distributions.epsilon_insensitive import EpsilonInsensitive
from pymc_bsvm.distributions.noise import noise_distribution
from pymc_bsvm.distributions.silf import SILF
from pymc_bsvm.distributions.targets import likelihood
from pymc_bsvm.distributions.trigonometric import Trigonometric

__all__ = ["SILF", "EpsilonInsensitive", "Trigonometric", "likelihood", "noise_distribution"]

# The module; the name itself is that of the function.
__getattr__ = moved(__name__, {"likelihood": "pymc_bsvm.distributions.targets"})
