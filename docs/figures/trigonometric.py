"""Draw the figure of the page on the trigonometric likelihood."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from pymc_bsvm import losses
from pymc_bsvm.reporting.style import BLUE, GREEN, ORANGE

STYLES = ((0.0, BLUE, "-"), (0.01, ORANGE, "--"), (0.05, GREEN, "-."))


def main() -> None:
    """Write trigonometric.png beside this script."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.2), layout="constrained")
    f = np.linspace(-1.8, 1.8, 1441)
    sine = np.exp(-losses.Trigonometric().value(1.0, f))
    for flip, colour, style in STYLES:
        p = flip + (1 - 2 * flip) * sine
        label = f"flip = {flip:g}"
        left.plot(f, p, style, color=colour, lw=1.8, label=label)
        seen = p > 0
        right.plot(f[seen], -np.log(p[seen]), style, color=colour, lw=1.8, label=label)
    logistic = np.log1p(np.exp(-np.pi * f))
    right.plot(f, logistic, ":", color="0.3", lw=1.5, label="logistic, same slope at 0")
    right.axvspan(-1.8, -1.0, color="0.9", lw=0)
    right.text(-1.4, 6.4, "impossible\nat flip = 0", ha="center")
    left.set(title="P(y = 1 | f)", xlabel="f / δ", xlim=(-1.8, 1.8))
    right.set(title="−log P(y = 1 | f)", xlabel="f / δ", xlim=(-1.8, 1.8), ylim=(-0.2, 8))
    left.legend(frameon=False)
    right.legend(frameon=False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
