"""Draw the figure of the page on noise: ``python docs/figures/noise.py``."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from pymc_bsvm import losses
from pymc_bsvm.reporting.style import BLACK, BLUE, GREEN, ORANGE, PURPLE

SILF = losses.SILF(C=2.5, epsilon=0.8, beta=0.3)


def main() -> None:
    """Write noise.png beside this script."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), layout="constrained")
    density(axes[0])
    tails(axes[1])
    mixture(axes[2])
    path = Path(__file__).with_suffix(".png")
    figure.savefig(path, dpi=130, metadata={"Software": None})


def silf_density(r: np.ndarray) -> np.ndarray:
    """Return the density of the noise."""
    return np.exp(-SILF.value(r, 0.0) - SILF.log_normalizer())


def density(ax: plt.Axes) -> None:
    """Show the three zones of the density."""
    lo, hi = (1 - SILF.beta) * SILF.epsilon, (1 + SILF.beta) * SILF.epsilon
    ax.axvspan(-lo, lo, color="0.85", lw=0)
    ax.text(0.0, 0.04, "flat", ha="center")
    for side in (-1, 1):
        ax.axvspan(*sorted((side * lo, side * hi)), color="#F6D5BF", lw=0)
        ax.text(side * (lo + hi) / 2, 0.04, "quadratic", ha="center", rotation=90)
    r = np.linspace(-2.6, 2.6, 801)
    ax.plot(r, silf_density(r), color=BLUE, lw=1.8)
    ax.set(title="Density of SILF noise", xlabel="residual r", ylim=(0, 0.48), xlim=(-2.6, 2.6))
    ticks = {-hi: "−(1+β)ε", -lo: "", 0.0: "0", lo: "", hi: "(1+β)ε"}
    ax.set_xticks(list(ticks), list(ticks.values()))
    ax.text(1.65, 0.13, "exponential,\nrate C", color=BLUE)


def tails(ax: plt.Axes) -> None:
    """Compare the tails with those of other noises of the same variance."""
    variance = SILF.variance()
    sd, df = np.sqrt(variance), 4.0
    r = np.linspace(0.0, 7.0, 701)
    curves = (
        ("SILF", np.log10(silf_density(r)), BLUE, "-"),
        ("Gaussian", stats.norm.logpdf(r, scale=sd) / np.log(10), BLACK, ":"),
        ("Laplace", stats.laplace.logpdf(r, scale=sd / np.sqrt(2)) / np.log(10), ORANGE, "--"),
        ("Student, ν = 4", stats.t.logpdf(r, df, scale=sd / np.sqrt(2)) / np.log(10), GREEN, "-."),
    )
    for label, values, colour, style in curves:
        ax.plot(r, values, style, color=colour, lw=1.8, label=label)
    ax.set(title="Tails at equal variance", xlabel="residual r", ylabel="log10 density")
    ax.set(ylim=(-8, 0.2), xlim=(0, 7))
    ax.legend(frameon=False, loc="lower left")


def mixture(ax: plt.Axes) -> None:
    """Show the two mixing densities."""
    hi = (1 + SILF.beta) * SILF.epsilon
    t = np.linspace(-1.25 * hi, 1.25 * hi, 1201)
    ax.plot(t, SILF.mixing_density(t), color=PURPLE, lw=1.8, label="mean t")
    sigma = np.linspace(0.0, 2.0, 401)
    ax.plot(
        sigma, stats.rayleigh.pdf(sigma, scale=1 / SILF.C), "--", color=GREEN, lw=1.8,
        label="standard deviation σ",
    )  # fmt: skip
    ax.set(title="The same noise as N(t, σ²)", xlabel="t, σ", ylabel="mixing density")
    ax.set(ylim=(0, 2.1))
    ax.legend(frameon=False, loc="upper left", borderaxespad=0.0)


if __name__ == "__main__":
    main()
