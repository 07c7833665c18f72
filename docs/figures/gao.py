"""Draw figures 2 to 4 of [GGHB02] for the page on it: ``python docs/figures/gao.py``."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import pymc_bsvm as bsvm
from pymc_bsvm.reporting.style import BLACK, BLUE, BOUND, FREE, GREEN, ORANGE

EPSILON, ROWS, SETS, WIDTH = 0.4, 100, 50, 4.0 * np.pi
NOISE = np.sqrt(0.5)  # the variance is 0.5
SLOPES = np.geomspace(0.4, 12.0, 31)
SMALLER = 0.3  # a variance of the kernel


def main() -> None:
    """Write gao.png beside this script."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(2, 2, figsize=(9.5, 6.8), layout="constrained")
    sets = [draw(seed) for seed in range(SETS)]
    found = [along(x, y, SLOPES) for x, y in sets]
    evidences(axes[0, 0], sets, found)
    errors(axes[0, 1], sets, found)
    fit(axes[1, 0], *sets[0])
    error_bars(axes[1, 1], *sets[0])
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130, metadata={"Software": None})


def draw(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs between 0 and 4 pi, and the sine of them with Gaussian noise."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0.0, WIDTH, ROWS))
    return x, np.sin(x) + NOISE * rng.normal(size=ROWS)


def covariance(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return their kernel, of variance one and squared width 0.8."""
    return np.exp(-((x[:, None] - z) ** 2) / (2.0 * 0.8))


def along(x: np.ndarray, y: np.ndarray, slopes: np.ndarray) -> list:
    """Return the evidence of Gao et al. at values of C."""
    K, found, a0 = covariance(x, x), [], None
    for C in slopes:
        loss = bsvm.losses.EpsilonInsensitive(C, EPSILON)
        found.append(bsvm.gao_evidence(K, y, loss, a0=a0))
        a0 = np.clip(found[-1].start, -C, C)
    return found


def evidences(ax: plt.Axes, sets: list, found: list) -> None:
    """Figure 2: the log evidence against C, of one data set and the mean of all."""
    gao = np.array([[e.log_evidence for e in each] for each in found])
    fine, few = np.geomspace(SLOPES[0], SLOPES[-1], 241), SLOPES[::3]
    one = np.array([e.log_evidence for e in along(*sets[0], fine)])
    ep = np.array([propagated(x, y, few) for x, y in sets]).mean(axis=0)
    ax.plot(fine, one, color="0.7", lw=0.8, label="(16), one set")
    for name, values, grid, color, style in (
        (f"(16), mean of {SETS} sets", gao.mean(axis=0), SLOPES, BLUE, "-"),
        ("EP, mean of the same", ep, few, ORANGE, "--"),
    ):
        best = values.argmax()
        label = f"{name}, highest at {grid[best]:.1f}"
        ax.plot(grid, values, style, color=color, lw=1.8, label=label)
        ax.plot(grid[best], values[best], "o", color=color, ms=5)
    ax.set(title="Their figure 2: evidence", xlabel="C", ylabel="log evidence, nats", xscale="log")
    ax.legend(frameon=False, loc="lower center")
    ticks(ax)


def propagated(x: np.ndarray, y: np.ndarray, slopes: np.ndarray) -> list[float]:
    """Return the evidences of expectation propagation at values of C."""
    K, losses = covariance(x, x), (bsvm.losses.EpsilonInsensitive(C, EPSILON) for C in slopes)
    return [bsvm.ep_evidence(K, y, loss).log_evidence for loss in losses]


def errors(ax: plt.Axes, sets: list, found: list) -> None:
    """Figure 3: the loss of the sine itself, and of new targets, averaged over the sets."""
    z = np.linspace(0.0, WIDTH, 401)
    off = np.array(
        [
            [e.posterior.predict_mean(covariance(x, z)) - np.sin(z) for e in each]
            for (x, y), each in zip(sets, found, strict=True)
        ]
    )
    of_sine = np.maximum(np.abs(off) - EPSILON, 0.0).mean(axis=(0, 2))
    of_targets = sum(beyond(side * off) for side in (-1.0, 1.0)).mean(axis=(0, 2))
    for name, values, variance, color, style in (
        ("t is the sine", of_sine, 1.0, BLUE, "-"),
        ("t are new targets", of_targets, 1.0, GREEN, "--"),
        (f"the same, kernel of variance {SMALLER}", of_targets, SMALLER, ORANGE, ":"),
    ):
        best, slopes = values.argmin(), SLOPES / variance  # the fit depends on their product
        label = f"{name}, lowest at {slopes[best]:.1f}"
        ax.plot(slopes, values - values[best], style, color=color, lw=1.8, label=label)
        ax.plot(slopes[best], 0.0, "o", color=color, ms=5)
    ax.set(title="Their figure 3: generalisation", xlabel="C", xscale="log")
    ax.set(xlim=(0.35, 13.5), ylim=(-0.001, 0.035))
    ax.set_ylabel("max(|t − f| − ε, 0), above the lowest")
    ax.legend(frameon=False)
    ticks(ax)


def beyond(off: np.ndarray) -> np.ndarray:
    """Return the expectation of ``max(u - epsilon, 0)`` for u with this mean and the noise."""
    t = (off - EPSILON) / NOISE
    return NOISE * (t * norm.cdf(t) + norm.pdf(t))


def fit(ax: plt.Axes, x: np.ndarray, y: np.ndarray) -> None:
    """Figure 4a: the support vectors and the function."""
    found = at_their_values(x, y)
    z = np.linspace(0.0, WIDTH, 401)
    bound = found.posterior.a != 0.0
    bound[found.margin.rows] = False
    ax.plot(x, y, "+", color="0.5", ms=5)
    ax.plot(x[bound], y[bound], "o", mfc="none", color=BOUND, ms=6, label="bound: |a| = C")
    rows = found.margin.rows
    ax.plot(x[rows], y[rows], "s", mfc="none", color=FREE, ms=6, label="margin: |y − f| = ε")
    ax.plot(z, found.posterior.predict_mean(covariance(x, z)), color=BLACK, lw=1.8)
    share = np.mean(found.posterior.a != 0.0)
    ax.set(title=f"Their figure 4(a): {share:.0%} support vectors", xlabel="x", ylabel="y")
    ax.set_ylim(-3.0, 4.2)
    ax.legend(frameon=False, loc="upper right", ncols=2)


def error_bars(ax: plt.Axes, x: np.ndarray, y: np.ndarray) -> None:
    """Figure 4b: the error bars (30), and what they call their bound, (31)."""
    found = at_their_values(x, y)
    z = np.linspace(-2.0, WIDTH + 2.0, 481)
    cross, loss = covariance(x, z), found.problem.loss
    mean = found.posterior.predict_mean(cross)
    noise = loss.variance()
    ours = np.sqrt(found.posterior.predict_variance(cross, np.ones(z.size)) + noise)
    theirs = np.sqrt(left_out(covariance(x, x), cross) + noise)
    ax.plot(x, y, "+", color="0.6", ms=4)
    ax.plot(z, mean, color=BLACK, lw=1.8, label="function")
    for side in (-1.0, 1.0):
        ax.plot(z, mean + side * ours, ":", color=BLUE, lw=1.8, label="± one sd, (30)" * (side > 0))
        ax.plot(z, mean + side * theirs, "-.", color=ORANGE, lw=1.2, label="(31)" * (side > 0))
    ax.set(title="Their figure 4(b): error bars", xlabel="x", ylabel="y", ylim=(-3.0, 4.2))
    ax.legend(frameon=False, loc="upper right", ncols=3)


def at_their_values(x: np.ndarray, y: np.ndarray) -> bsvm.evidence.GaoEvidence:
    """Return the evidence at C = 2.1."""
    return bsvm.gao_evidence(covariance(x, x), y, bsvm.losses.EpsilonInsensitive(2.1, EPSILON))


def left_out(K: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """Return the prior variance that all rows together leave, were they known; K is singular."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-12 * values[-1]
    explained = (vectors[:, kept].T @ cross) ** 2 / values[kept, None]
    return np.maximum(1.0 - explained.sum(axis=0), 0.0)


def ticks(ax: plt.Axes) -> None:
    """Label an axis of C."""
    values = (0.5, 1, 2.1, 5, 10)
    ax.set_xticks(values, list(map(str, values)))
    ax.minorticks_off()


if __name__ == "__main__":
    main()
