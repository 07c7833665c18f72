"""Data to learn from: the simulated sets of the papers, and a loader for the public ones.

Every generator takes the number of rows `n` and a `random_state` and returns inputs of shape
(n, d) with targets; class labels are the integers 0 and 1.

- Regression: `sinc` (section 4.5.1 of [Chu03]_) and `robot_arm` (section 4.5.2).
- Classification: `two_gaussians` (sections 5.5.1 and 5.5.2), with the exact probability in
  `two_gaussians_probability`, and Breiman's `twonorm`, `ringnorm` and `waveform` (section 5.5.3).
- Public sets: `load_folder` reads a table with its train/test partitions into a `Folder`.
"""

from pymc_bsvm._moved import moved
from pymc_bsvm.datasets.arm import robot_arm
from pymc_bsvm.datasets.breiman import ringnorm, twonorm, waveform
from pymc_bsvm.datasets.cardinal_sine import sinc
from pymc_bsvm.datasets.folder import Folder, load_folder
from pymc_bsvm.datasets.gaussians import two_gaussians, two_gaussians_probability

__all__ = [
    "Folder",
    "load_folder",
    "ringnorm",
    "robot_arm",
    "sinc",
    "two_gaussians",
    "two_gaussians_probability",
    "twonorm",
    "waveform",
]

# The modules; the names themselves are those of the functions.
__getattr__ = moved(
    __name__,
    {
        "robot_arm": "pymc_bsvm.datasets.arm",
        "sinc": "pymc_bsvm.datasets.cardinal_sine",
        "two_gaussians": "pymc_bsvm.datasets.gaussians",
    },
)
