"""The earlier place of `pymc_bsvm.search`."""

from pymc_bsvm.search import Ending, Objective, Restart, ascend

__all__ = ["Ending", "Objective", "Restart", "ascend"]
