"""The losses: what each knows about its value, derivatives, conjugate, sets and normaliser.

Regression losses take real targets and residuals ``r = y - f``; classification losses take labels
in {-1, +1} and margins ``y f``. Each loss is a small frozen object with the methods of `Loss`, in
plain NumPy.
"""

from pymc_bsvm.losses.base import (
    ClassificationLoss,
    Formulas,
    Loss,
    RegressionLoss,
    Sets,
    formulas,
    smooth_curvature,
)
from pymc_bsvm.losses.epsilon_insensitive import EpsilonInsensitive
from pymc_bsvm.losses.gaussian import Gaussian
from pymc_bsvm.losses.huber import Huber
from pymc_bsvm.losses.laplace import Laplace
from pymc_bsvm.losses.logistic import Logistic
from pymc_bsvm.losses.noise import NoiseFormulas, NoiseLoss, noise_formulas
from pymc_bsvm.losses.probit import Probit
from pymc_bsvm.losses.silf import SILF
from pymc_bsvm.losses.soft_margin_l1 import SoftMarginL1
from pymc_bsvm.losses.soft_margin_l2 import SoftMarginL2
from pymc_bsvm.losses.soft_margin_le import SoftMarginLe
from pymc_bsvm.losses.tilted import Tilted
from pymc_bsvm.losses.trigonometric import Trigonometric

__all__ = [
    "SILF",
    "ClassificationLoss",
    "EpsilonInsensitive",
    "Formulas",
    "Gaussian",
    "Huber",
    "Laplace",
    "Logistic",
    "Loss",
    "NoiseFormulas",
    "NoiseLoss",
    "Probit",
    "RegressionLoss",
    "Sets",
    "SoftMarginL1",
    "SoftMarginL2",
    "SoftMarginLe",
    "Tilted",
    "Trigonometric",
    "formulas",
    "noise_formulas",
    "smooth_curvature",
]
