"""Classification: probabilities from a sparse model."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm

import pymc_bsvm as bsvm
from demo.report import Section
from pymc_bsvm.inference import EvidenceFit
from pymc_bsvm.reporting import plot_class_map

__all__ = ["classification"]

NAMES = {"laplace": "Laplace", "ep": "EP"}


def classification() -> Section:
    """Fit two classifiers by Laplace's method and by expectation propagation."""
    X, labels = bsvm.datasets.two_gaussians(200, dim=2, random_state=2)
    X_new, labels_new = bsvm.datasets.two_gaussians(2000, dim=2, random_state=3)
    p_exact = bsvm.datasets.two_gaussians_probability(X_new)
    rows = {}
    for likelihood, approximation in itertools.product(
        ("trigonometric", "logistic"), ("laplace", "ep")
    ):
        model, gp = build(likelihood, approximation, X, labels)
        fit = bsvm.fit_evidence(model, restarts=2, random_seed=1, progressbar=False)
        vectors = gp.support_vectors(fit.point, model=model)
        p = gp.predict_proba(X_new, fit.point, model=model)
        rows[f"{likelihood}, {NAMES[approximation]}"] = {
            "support vectors": vectors.index.size,
            **scores(p, labels_new, p_exact),
        }
        if (likelihood, approximation) == ("trigonometric", "laplace"):
            given = {"X": X[vectors.index], "y": labels[vectors.index], "delta": 1.0}
            with model:
                mean, _ = gp.predict(X_new, fit.point, diag=True)
                mean_from_few, _ = gp.predict(X_new, fit.point, diag=True, given=given)
            change = np.abs(mean - mean_from_few).max()
        if (likelihood, approximation) == ("trigonometric", "ep"):
            figure = draw(model, gp, fit, p, labels_new)
    rows["exact"] = {"support vectors": np.nan, **scores(p_exact, labels_new, p_exact)}
    table = pd.DataFrame.from_dict(rows, orient="index")
    sparse, by_ep, logistic, _, exact = (row for _, row in table.iterrows())
    return Section(
        title="Probabilities from a sparse classifier",
        question="Can one classifier be sparse and have probabilities?",
        setting=f"{labels.size} rows of two normal classes that overlap, for which Bayes' theorem "
        "gives the exact probabilities. Two Gaussian process classifiers: the trigonometric "
        "likelihood has a flat zone like the hinge of a support vector machine, the logistic one "
        "has not.",
        findings=[
            f"{sparse['support vectors']:.0f} of {labels.size} rows carry the trigonometric "
            f"classifier, {logistic['support vectors']:.0f} the logistic one.",
            f"RMS distance of the trigonometric classifier to the exact probability of 2000 new "
            f"rows: {sparse['RMS to exact']:.3f} by Laplace's method, "
            f"{by_ep['RMS to exact']:.3f} by expectation propagation, which takes the width of "
            "the posterior from all rows.",
            f"Error rates: {sparse['error rate']:.1%} and {by_ep['error rate']:.1%}; "
            f"with the exact probabilities {exact['error rate']:.1%}.",
            f"Fitted by Laplace's method with the support vectors alone, no latent mean changes by "
            f"more than {change:.0e}.",
        ],
        table=table,
        caption="At 2000 new rows: error rate, mean negative log probability of the labels, and "
        "root mean square distance to the exact probability.",
        figures={
            "classification": (
                figure,
                "Trigonometric classifier, expectation propagation. Left: the probability of "
                "label 1; filled marks are support vectors. Right: among new rows with a "
                "predicted probability near p, the share of label 1 should be p. Bars are two "
                "standard errors.",
            )
        },
    )


def build(
    likelihood: str, approximation: str, X: np.ndarray, labels: np.ndarray
) -> tuple[pm.Model, bsvm.gp.Laplace]:
    """Return a classifier with one of the two likelihoods and one of the two approximations."""
    with pm.Model() as model:
        ls = pm.InverseGamma("ls", 3, 6)
        eta = pm.HalfNormal("eta", 5)
        cov = eta**2 * pm.gp.cov.ExpQuad(2, ls=ls)
        if likelihood == "trigonometric":
            gp = bsvm.gp.BTSVC(cov_func=cov)
            gp.marginal_likelihood("label", X=X, y=labels, approximation=approximation)
        else:
            gp = bsvm.gp.Laplace(cov_func=cov)
            logistic = bsvm.losses.Logistic()
            gp.marginal_likelihood(
                "label", X=X, y=labels, loss=logistic, approximation=approximation
            )
    return model, gp


def scores(p: np.ndarray, labels: np.ndarray, p_exact: np.ndarray) -> dict[str, float]:
    """Return error rate, mean negative log probability and distance to the exact one."""
    return {
        "error rate": np.mean((p > 0.5) != labels),
        "neg. log probability": -np.mean(np.log(np.where(labels == 1, p, 1 - p))),
        "RMS to exact": np.sqrt(np.mean((p - p_exact) ** 2)),
    }


def draw(
    model: pm.Model,
    gp: bsvm.gp.Laplace,
    fit: EvidenceFit,
    p: np.ndarray,
    labels: np.ndarray,
) -> plt.Figure:
    """Draw the map of the probability and the reliability diagram."""
    figure, axes = plt.subplots(
        1, 2, figsize=(9.5, 4.2), layout="constrained", width_ratios=[1.4, 1]
    )
    plot_class_map(gp, fit.point, model=model, ax=axes[0])
    axes[0].get_legend().remove()
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize="small")
    bins = np.digitize(p, np.linspace(0, 1, 9)[1:-1])
    predicted, observed, count = (
        np.array([f(bins == k) for k in range(8)])
        for f in (lambda at: p[at].mean(), lambda at: labels[at].mean(), np.sum)
    )
    error = 2 * np.sqrt(predicted * (1 - predicted) / count)
    axes[1].plot([0, 1], [0, 1], color="0.7")
    axes[1].errorbar(predicted, observed, error, fmt="o", ms=4)
    axes[1].set(xlabel="predicted probability", ylabel="share of label 1", aspect="equal")
    axes[1].set_ylim(-0.04, 1.04)
    return figure
