"""A tour in under two minutes: regression, classification, evidence against HMC.

Run with ``make demo`` or ``python -m demo``; the report and its figures go to demo/output.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: small matrices want one thread
os.environ.setdefault("MPLBACKEND", "Agg")
