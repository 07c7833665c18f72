"""An independent reference for the loss family, in multiple precision.

Nothing here imports the library. The losses are transcribed piece by piece from the definitions in
the thesis of Chu (2003), and everything else (normaliser, variance, distribution function,
conjugate, mixing density) follows from those pieces by quadrature, by root finding or by numerical
differentiation at 60 digits, so that a slip in a closed form cannot hide in both places.
"""

from tests.oracle.base import Loss, Piece, mp, vectorised
from tests.oracle.certificate import Certificate, certify
from tests.oracle.classification import (
    Logistic,
    Probit,
    SoftMarginL1,
    SoftMarginL2,
    SoftMarginLe,
    Trigonometric,
)
from tests.oracle.compare import assert_close, worst_error
from tests.oracle.regression import SILF, EpsilonInsensitive, Gaussian, Huber, Laplace

__all__ = [
    "SILF",
    "Certificate",
    "EpsilonInsensitive",
    "Gaussian",
    "Huber",
    "Laplace",
    "Logistic",
    "Loss",
    "Piece",
    "Probit",
    "SoftMarginL1",
    "SoftMarginL2",
    "SoftMarginLe",
    "Trigonometric",
    "assert_close",
    "certify",
    "mp",
    "vectorised",
    "worst_error",
]
