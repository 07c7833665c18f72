# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Every machine of the papers on one page
#
# **The question:** The thesis, Bishop's book and the papers around them describe a dozen kernel
# machines. What does each of them make of the same data?
#
# One set of targets, one of labels. Machines that learn their hyperparameters do so by the
# evidence; all others are given those of `BayesianSVR` or `BayesianSVC`, so that differences are
# those of the machines (kernel ridge regression is told the noise, too, and Nadaraya and Watson's
# estimate has half the length-scale, as fits a bandwidth). One data set each says how they behave,
# not which is best.

# %%
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: small matrices want one thread

import time
from functools import partial
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from pymc_bsvm import datasets, losses, solve_dual
from pymc_bsvm.estimators import (
    BayesianSVC,
    BayesianSVR,
    OnlineSVC,
    OnlineSVR,
    RelevanceVectorClassifier,
    RelevanceVectorRegressor,
    SVMClassifier,
    SVMRegressor,
    kernels,
)
from pymc_bsvm.reporting.style import BLUE, CLASSES, GREY, MARKERS

plt.rcParams.update({"figure.dpi": 100, "font.size": 8})


class Line(NamedTuple):
    """A machine, and what the table says of it."""

    name: str
    machine: object
    evidence: float
    score: float
    error: float
    vectors: int
    seconds: float
    certificate: str


def fitted(machine, X, y):
    """Return a machine after a fit, and the seconds that it took."""
    start = time.perf_counter()
    machine.fit(X, y)
    return machine, time.perf_counter() - start


def vectors(machine):
    """Count the rows that a machine keeps: support vectors, relevance vectors or basis vectors."""
    for name in ("relevance_", "basis_vectors_", "support_"):
        if hasattr(machine, name):
            return len(getattr(machine, name))
    raise AttributeError(f"{machine!r} says nothing of its vectors.")


def certificate(machine):
    """Say how far a machine may be from what it aims at."""
    for name, words in (("duality_gap_", "gap"), ("gap_", "gap"), ("residual_", "residual")):
        value = np.max(getattr(machine, name, np.nan))
        if np.isfinite(value):
            return f"{words} {value:.0e}"
    return "none"


def show(lines, score):
    """Print the table."""
    head = f"{'':28s}{'evidence':>9s}{score:>10s}{'error':>9s}{'vectors':>9s}{'s':>7s}  certificate"
    print(head)
    for x in lines:
        evidence = "" if np.isnan(x.evidence) else f"{x.evidence:.1f}"
        density = "" if np.isnan(x.score) else f"{x.score:.3f}"
        numbers = f"{evidence:>9s}{density:>10s}{x.error:9.3f}{x.vectors:9d}{x.seconds:7.2f}"
        print(f"{x.name:28s}{numbers}  {x.certificate}")


# %% [markdown]
# ## Targets
#
# 120 noisy points of $\sin(x)/x$, with the noise of the thesis: flat within a tube of half width
# 0.1, with the tails of Laplace's distribution. The error is that of the function, the score the
# mean log density of 2000 new targets.

# %%
X, y = datasets.sinc(120, random_state=3)
X_new, y_new = datasets.sinc(2000, random_state=4)
truth = np.sinc(X_new[:, 0] / np.pi)

bsvr = BayesianSVR(random_state=0).fit(X, y)
found = bsvr.hyperparameters_[0]
eta, ls, C, epsilon = (float(np.max(found[name])) for name in ("eta", "ls", "C", "epsilon"))
of_kernel = {"eta": eta, "ls": ls}
given = {"C": C, "epsilon": epsilon}
classical = {"C": C * eta**2, "epsilon": epsilon, "gamma": 0.5 / ls**2}
print(f"eta {eta:.3g}, ls {ls:.3g}, C {C:.3g}, epsilon {epsilon:.3g}")

# %% [markdown]
# Kernel ridge regression and the estimate of Nadaraya and Watson are a line each. The first is the
# mode of the squared loss, [PRML] (6.8) and (6.9), the second an average, [PRML] (6.45).

# %%
k = partial(kernels.RBF().matrix, np.array([eta, ls]))


class KernelRidge:
    """The mode of the squared loss."""

    def fit(self, X, y):
        """Solve for the dual."""
        self.X, self.centre = X, y.mean()
        self.dual = solve_dual(k(X), y - self.centre, losses.Gaussian(0.1)).a
        self.support_ = np.arange(len(X))

    def predict(self, X):
        """Return the function."""
        return self.centre + k(X, self.X) @ self.dual


class NadarayaWatson:
    """The average of the targets, each weighted by the kernel."""

    def fit(self, X, y):
        """Keep the rows."""
        self.X, self.y, self.support_ = X, y, np.arange(len(X))

    def predict(self, X):
        """Return the averages."""
        weight = k(X, self.X) ** 4  # half the length-scale: a bandwidth is smaller
        return weight @ self.y / weight.sum(axis=1)


regressors = {
    "BSVR": BayesianSVR(random_state=0),
    "BSVR by EP": BayesianSVR(approximation="ep", random_state=0),
    "Gaussian process regression": BayesianSVR(loss="squared", noise="model", random_state=0),
    "Huber's loss": BayesianSVR(loss="huber", random_state=0),
    "absolute loss by EP": BayesianSVR(loss="laplace", approximation="ep", random_state=0),
    "eps-insensitive by EP": BayesianSVR(
        loss="epsilon_insensitive", approximation="ep", random_state=0
    ),
    "eps-insensitive, Gao et al.": BayesianSVR(
        loss="epsilon_insensitive", approximation="gao", random_state=0
    ),
    "20 inducing points": BayesianSVR(inducing=20, random_state=0),
    "on-line, 20 basis vectors": OnlineSVR(hyperparameters=of_kernel, max_basis=20, **given),
    "relevance vectors": RelevanceVectorRegressor(hyperparameters={"ls": ls}, standardize=False),
    "SVM, eps-insensitive": SVMRegressor(**classical),
    "SVM, SILF": SVMRegressor(loss="silf", **classical),
    "kernel ridge": KernelRidge(),
    "Nadaraya-Watson": NadarayaWatson(),
}

# %%
targets = []
for name, machine in regressors.items():
    _, seconds = fitted(machine, X, y)
    density = getattr(machine, "log_predictive_density", None)
    targets.append(
        Line(
            name,
            machine,
            float(getattr(machine, "log_evidence_", np.nan)),
            float(np.mean(density(X_new, y_new))) if density else np.nan,
            float(np.sqrt(np.mean((machine.predict(X_new) - truth) ** 2))),
            vectors(machine),
            seconds,
            certificate(machine),
        )
    )
show(targets, "log score")

# %% [markdown]
# Evidences compare machines with the same data and a prior each: BSVR, its relatives and the
# relevance vectors. That of the on-line machine is the sum of its forecasts at given
# hyperparameters. That of Gao and others is an upper bound: expectation propagation on the same
# loss has what to believe. What keeps all rows has 120 vectors.

# %%
grid = np.linspace(-10.5, 10.5, 300)[:, None]
columns = 4
figure, axes = plt.subplots(
    -(-len(targets) // columns),
    columns,
    figsize=(10, 9),
    sharex=True,
    sharey=True,
    layout="constrained",
)
for ax in axes.flat[len(targets) :]:
    ax.set_visible(False)
for ax, line in zip(axes.flat, targets, strict=False):
    ax.plot(X, y, ".", color=GREY, ms=3)
    if hasattr(line.machine, "predict_interval"):
        low, high = line.machine.predict_interval(grid, 0.9)
        ax.fill_between(grid[:, 0], low, high, color=BLUE, alpha=0.2, lw=0)
    ax.plot(grid, line.machine.predict(grid), color=BLUE, lw=1.4)
    ax.plot(grid, np.sinc(grid / np.pi), "--", color="k", lw=0.8)
    ax.set_title(f"{line.name}: {line.error:.3f}")
    ax.set_ylim(-1.0, 1.6)
figure.supxlabel("x")
figure.supylabel("target; 90 % interval of new targets; truth dashed")

# %% [markdown]
# ## Labels
#
# 150 labels of two overlapping classes in the plane, both columns with a variance of one. The score
# is the log loss of 4000 new labels, the error the percentage of them that is predicted wrongly.

# %%
Z, labels = datasets.two_gaussians(150, dim=2, random_state=1)
Z_new, labels_new = datasets.two_gaussians(4000, dim=2, random_state=2)
centre, spread = Z.mean(axis=0), Z.std(axis=0)
Z, Z_new = (Z - centre) / spread, (Z_new - centre) / spread

btsvc = BayesianSVC(random_state=0).fit(Z, labels)
shape = {name: float(np.max(btsvc.hyperparameters_[0][name])) for name in ("eta", "ls")}
print(", ".join(f"{name} {value:.3g}" for name, value in shape.items()))
classical = {"C": shape["eta"] ** 2, "gamma": 0.5 / shape["ls"] ** 2}

classifiers = {
    "BTSVC": BayesianSVC(approximation="laplace", random_state=0),
    "BTSVC by EP": BayesianSVC(random_state=0),
    "GPC, logistic, Laplace": BayesianSVC(loss="logistic", approximation="laplace", random_state=0),
    "GPC, probit, EP": BayesianSVC(loss="probit", approximation="ep", random_state=0),
    "20 inducing points": BayesianSVC(inducing=20, random_state=0),
    "on-line, 20 basis vectors": OnlineSVC(hyperparameters=shape, max_basis=20),
    "relevance vectors": RelevanceVectorClassifier(hyperparameters={"ls": shape["ls"]}),
    "SVM, hinge": SVMClassifier(**classical),
    "SVM, trigonometric": SVMClassifier(loss="trigonometric", **classical),
    "SVM, soft margin L_e": SVMClassifier(loss="soft_le", **classical),
}

# %%
classes = []
for name, machine in classifiers.items():
    _, seconds = fitted(machine, Z, labels)
    known = hasattr(machine, "predict_proba")
    classes.append(
        Line(
            name,
            machine,
            float(getattr(machine, "log_evidence_", np.nan)),
            log_loss(labels_new, machine.predict_proba(Z_new)) if known else np.nan,
            100.0 * float(np.mean(machine.predict(Z_new) != labels_new)),
            vectors(machine),
            seconds,
            certificate(machine),
        )
    )
show(classes, "log loss")

# %%
one, two = np.meshgrid(np.linspace(-3, 3, 60), np.linspace(-3, 3, 60))
plane = np.column_stack([one.ravel(), two.ravel()])
columns = 5
figure, axes = plt.subplots(
    2, columns, figsize=(11, 5), sharex=True, sharey=True, layout="constrained"
)
for ax, line in zip(axes.flat, classes, strict=True):
    if hasattr(line.machine, "predict_proba"):
        height, levels = line.machine.predict_proba(plane)[:, 1], [0.1, 0.5, 0.9]
    else:
        height, levels = line.machine.decision_function(plane), [-1.0, 0.0, 1.0]
    for label, colour in CLASSES.items():
        ax.plot(*Z[labels == label].T, MARKERS[label], color=colour, ms=2.5, alpha=0.7)
    ax.contour(one, two, height.reshape(one.shape), levels, colors="k", linewidths=(0.7, 1.5, 0.7))
    ax.set_title(f"{line.name}: {line.error:.1f} %")
figure.supxlabel("first column")
figure.supylabel("second column; borders at .1, .5, .9 or -1, 0, 1")

# %% [markdown]
# ## Checks

# %%
of_targets = {line.name: line for line in targets}
of_labels = {line.name: line for line in classes}
assert of_targets["BSVR"].error < of_targets["Nadaraya-Watson"].error
assert of_targets["BSVR by EP"].score > of_targets["relevance vectors"].score - 0.1
assert of_targets["eps-insensitive, Gao et al."].evidence > of_targets["BSVR by EP"].evidence + 5.0
assert of_labels["SVM, hinge"].vectors < len(Z)
assert all(line.error < 0.15 for line in targets)
