"""The robot arm of section 4.5.2 of [Chu03]_: two outputs of two or of six inputs."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._validation import names_arguments
from pymc_bsvm.datasets import check
from pymc_bsvm.datasets.check import RandomState

COPY_SD = 0.02


@names_arguments
def robot_arm(
    n: int,
    inputs: Literal[2, 6] = 2,
    *,
    noise_sd: float = 0.05,
    random_state: RandomState = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Draw joint angles of a robot arm and the noisy position of its end, (4.47) of [Chu03]_.

    .. math::

        y_1 &= 2.0 \cos x_1 + 1.3 \cos(x_1 + x_2) + δ_1 \\
        y_2 &= 2.0 \sin x_1 + 1.3 \sin(x_1 + x_2) + δ_2

    The noise terms are independent, N(0, noise_sd²). The angles are uniform, as in the data of
    [Mac92]: ``|x₁|`` on [0.453, 1.932] with either sign equally likely, and x₂ on [0.534, 3.142].

    Parameters
    ----------
    n : int
        Number of rows.
    inputs : {2, 6}
        Number of inputs. Six adds the inputs of [Nea96]: x₃ = x₁ + 0.02 n₃ and x₄ = x₂ + 0.02 n₄
        are noisy copies of the angles, x₅ = n₅ and x₆ = n₆ tell nothing, where n₃ to n₆ are
        independent and standard normal.
    noise_sd : float
        Standard deviation of the noise in both outputs; zero leaves them without noise.
    random_state : int, numpy.random.Generator or None
        Seed. One seed gives the same angles and outputs for two and for six inputs.

    Returns
    -------
    X : ndarray of shape (n, inputs)
        Joint angles, and the added inputs.
    Y : ndarray of shape (n, 2)
        Coordinates of the end of the arm.

    References
    ----------
    [Chu03]_, (4.47) and section 4.5.2.

    [Mac92] MacKay, D. J. C. (1992). A Practical Bayesian Framework for Backpropagation Networks.
    Neural Computation 4(3).

    [Nea96] Neal, R. M. (1996). Bayesian Learning for Neural Networks. Springer.

    Examples
    --------
    >>> from pymc_bsvm.datasets import robot_arm
    >>> X, Y = robot_arm(200, inputs=6)
    >>> X.shape, Y.shape
    ((200, 6), (200, 2))
    """
    n, rng = check.rows(n), check.generator(random_state)
    check.choice("inputs", inputs, (2, 6))
    x1 = rng.choice([-1.0, 1.0], n) * rng.uniform(0.453, 1.932, n)
    x2 = rng.uniform(0.534, 3.142, n)
    noise = check.scale("noise_sd", noise_sd) * rng.standard_normal((n, 2))
    Y = np.column_stack(
        [
            2.0 * np.cos(x1) + 1.3 * np.cos(x1 + x2),
            2.0 * np.sin(x1) + 1.3 * np.sin(x1 + x2),
        ]
    )
    X = np.column_stack([x1, x2])
    if inputs == 6:
        copies = X + COPY_SD * rng.standard_normal((n, 2))
        X = np.column_stack([X, copies, rng.standard_normal((n, 2))])
    return X, Y + noise
