"""Evidence maximisation: Bayesian support vector regression against Gaussian noise.

Run with ``python demo/evidence.py``; the figure goes to demo/output.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # several threads make small matrices slower

import time
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
from pymc.blocking import DictToArrayBijection, RaveledVars
from scipy.optimize import minimize

import pymc_bsvm as bsvm

ROOT = Path(__file__).parent
COLOURS = {"SILF": "#0072B2", "Gaussian": "#D55E00"}  # told apart with any colour vision
FREE, BOUND = "#009E73", "0.3"
X_NEW = np.linspace(-10.5, 10.5, 301)
TRUTH = np.sinc(X_NEW / np.pi)
MODE = "FAST_COMPILE"  # for one fit of some hundred rows, compiling would take longer than it saves


def main() -> None:
    """Fit both models, print the report and draw the figure."""
    begin = time.perf_counter()
    X, y, spoiled = data()
    print("Evidence: a noise model and its parameters from the data, without a grid search\n")
    print(f"{y.size} points of sin(x) / x, {spoiled.sum()} of them outliers\n")
    figure, axes = plt.subplots(2, 1, figsize=(7.2, 6.4), layout="constrained", sharex=True)
    evidences = {}
    for ax, likelihood in zip(axes, COLOURS, strict=True):
        model, gp = build(X, y, likelihood)
        point = maximise(model)
        evidences[likelihood] = gp.evidence(point, model=model).log_evidence
        report(likelihood, model, gp, point)
        draw(ax, likelihood, X, y, model, gp, point)
    difference = evidences["SILF"] - evidences["Gaussian"]
    print(f"SILF's log evidence is higher by {difference:.1f} nats.\n")
    axes[-1].set(xlabel="x")
    path = ROOT / "output" / "evidence.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"Figure: {path.relative_to(ROOT.parent)}")
    print(f"Finished in {time.perf_counter() - begin:.0f} seconds.")


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, y and which rows are outliers."""
    settings = {"C": 20, "epsilon": 0.2, "outlier_scale": 1.5}
    X, clean = bsvm.datasets.sinc(150, **settings)
    _, y = bsvm.datasets.sinc(150, outliers=0.05, **settings)
    return X, y, y != clean


def build(X: np.ndarray, y: np.ndarray, likelihood: str) -> tuple[pm.Model, bsvm.gp.Laplace]:
    """Build a Gaussian process with one of the two likelihoods."""
    with pm.Model() as model:
        length_scale = pm.InverseGamma("length_scale", 3, 5)
        amplitude = pm.HalfNormal("amplitude", 1)
        cov = amplitude**2 * pm.gp.cov.ExpQuad(1, ls=length_scale)
        if likelihood == "SILF":
            gp = bsvm.gp.BSVR(cov_func=cov)
            C = pm.LogNormal("C", 2, 1)
            epsilon = pm.HalfNormal("epsilon", 0.3)
            gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon)
        else:
            gp = bsvm.gp.Laplace(cov_func=cov)
            loss = bsvm.losses.Gaussian(pm.HalfNormal("sigma", 1))
            gp.marginal_likelihood("y", X=X, y=y, loss=loss)
    return model, gp


def maximise(model: pm.Model) -> dict[str, np.ndarray]:
    """Return the hyperparameters with the largest posterior density, as `pm.find_MAP` does."""
    start = DictToArrayBijection.map(model.initial_point())
    function = model.logp_dlogp_function(ravel_inputs=True, mode=MODE)
    function.set_extra_values({})

    def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = function(values)
        return -value, -gradient

    result = minimize(objective, start.data, jac=True, method="L-BFGS-B")
    values = DictToArrayBijection.rmap(RaveledVars(result.x, start.point_map_info))
    names = [variable.name for variable in model.free_RVs]
    outputs = model.replace_rvs_by_values(model.free_RVs)
    read = model.compile_fn(outputs, inputs=model.value_vars, mode=MODE)
    return dict(zip(names, read(values), strict=True))


def report(likelihood: str, model: pm.Model, gp: bsvm.gp.Laplace, point: dict) -> None:
    """Print the hyperparameters, the terms of the evidence and the support vectors."""
    evidence = gp.evidence(point, model=model)
    mean, _ = gp.predict(X_NEW[:, None], point=point, diag=True, model=model)
    noise = evidence.posterior.loss.variance() ** 0.5
    terms = {
        "fit": evidence.fit,
        "penalty": evidence.penalty,
        "log det / 2": 0.5 * evidence.log_det,
        "log normaliser": evidence.log_normalizer,
    }
    print(f"{likelihood} noise")
    print("   " + ", ".join(f"{name} {float(value):.3g}" for name, value in point.items()))
    print(f"   log evidence {evidence.log_evidence:.2f} nats = -(", end="")
    print(" + ".join(f"{name} {value:.2f}" for name, value in terms.items()) + ")")
    print(f"   {gp.support_vectors(point, model=model)}")
    error = np.sqrt(np.mean((mean - TRUTH) ** 2))
    print(f"   duality gap {abs(evidence.solution.gap):.0e} nats, ", end="")
    print(f"noise sd {noise:.2f}, RMSE to the truth {error:.3f}\n")


def draw(
    ax: plt.Axes,
    likelihood: str,
    X: np.ndarray,
    y: np.ndarray,
    model: pm.Model,
    gp: bsvm.gp.Laplace,
    point: dict,
) -> None:
    """Draw the mean, a band for new targets and the data."""
    targets = gp.predictive(X_NEW[:, None], point=point, model=model)
    vectors = gp.support_vectors(point, model=model)
    colour = COLOURS[likelihood]
    low, high = targets.quantile(0.05), targets.quantile(0.95)
    ax.fill_between(X_NEW, low, high, color=colour, alpha=0.15, lw=0, label="90 % of new targets")
    ax.plot(X_NEW, targets.mean, color=colour, label="mean")
    ax.plot(X_NEW, TRUTH, "k:", label="truth")
    rest = np.setdiff1d(np.arange(y.size), vectors.index)
    free, bound = vectors.index[vectors.free], vectors.index[vectors.bound]
    ax.plot(X[rest], y[rest], "o", color="0.65", ms=3, label="no support vector")
    ax.plot(X[free], y[free], "o", color=FREE, ms=4, label="free support vector")
    ax.plot(X[bound], y[bound], "x", color=BOUND, ms=5, label="bound support vector")
    ax.set(ylabel="y", title=f"{likelihood} noise")
    if likelihood == "SILF":
        ax.legend(frameon=False, fontsize=8, ncols=2, loc="lower left")


if __name__ == "__main__":
    main()
