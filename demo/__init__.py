"""A tour in under two minutes: regression, classification, evidence against HMC.

Run with ``make demo`` or ``python -m demo``; the report and its figures go to demo/output.
"""

import gc
import os

gc.set_threshold(100_000, 20, 1000)  # compilers make objects by the million, and they stay
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: small matrices want one thread
os.environ.setdefault("MPLBACKEND", "Agg")
