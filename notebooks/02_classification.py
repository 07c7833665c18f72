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
# # Probabilities from a sparse classifier
#
# **The question:** a support vector machine is sparse, but its outputs are no probabilities. A
# Gaussian process classifier has probabilities, but uses every row. Can one model have both?
#
# The trigonometric likelihood has a flat zone like the hinge of a support vector machine. We
# check its probabilities against the truth, which is known for these data, and against a logistic
# Gaussian process.

# %%
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: small matrices want one thread

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_bsvm as bsvm
from pymc_bsvm.reporting import plot_class_map
from pymc_bsvm.reporting.style import legend_below

plt.rcParams.update({"figure.dpi": 100, "font.size": 9})

# %% [markdown]
# ## Data
#
# Two normal classes that overlap, with labels 0 and 1. Bayes' theorem gives the exact probability
# of label 1.

# %%
X, labels = bsvm.datasets.two_gaussians(200, dim=2, random_state=2)
X_test, labels_test = bsvm.datasets.two_gaussians(2000, dim=2, random_state=3)
p_true = bsvm.datasets.two_gaussians_probability(X_test)
print(f"{labels.size} rows, {labels.sum()} with label 1")

# %% [markdown]
# ## Two classifiers
#
# They differ in the likelihood only, and each is fitted twice: by Laplace's method, which keeps the
# sparsity in everything it computes, and by expectation propagation (EP), which takes the width of
# the posterior from all rows.


# %%
def covariance():
    """Return the covariance function both models share."""
    ls = pm.InverseGamma("ls", 3, 6)
    eta = pm.HalfNormal("eta", 5)
    return eta**2 * pm.gp.cov.ExpQuad(2, ls=ls)


def build(approximation):
    """Return both models, and their Gaussian processes."""
    with pm.Model() as sparse:
        gp = bsvm.gp.BTSVC(cov_func=covariance())
        gp.marginal_likelihood("label", X=X, y=labels, approximation=approximation)
    with pm.Model() as logistic:
        gp_logistic = bsvm.gp.Laplace(cov_func=covariance())
        loss = bsvm.losses.Logistic()
        gp_logistic.marginal_likelihood(
            "label", X=X, y=labels, loss=loss, approximation=approximation
        )
    return {"trigonometric": (sparse, gp), "logistic": (logistic, gp_logistic)}


# %%
settings = {"restarts": 3, "random_seed": 1, "progressbar": False}
models, fits = {}, {}
for approximation in ("Laplace", "EP"):
    for name, pair in build(approximation.lower()).items():
        models[f"{name}, {approximation}"] = pair
        fits[f"{name}, {approximation}"] = bsvm.fit_evidence(pair[0], **settings)

sparse, gp = models["trigonometric, Laplace"]
fit = fits["trigonometric, Laplace"]
print(fit)

# %% [markdown]
# ## The map
#
# Filled marks are support vectors. They lie where the classes meet. A row deep inside its class
# has no dual variable, and the classifier would be the same without it.

# %%
figure, ax = plt.subplots(figsize=(6, 4.8), layout="constrained")
ax = plot_class_map(gp, fit.point, model=sparse, ax=ax)

# %%
rows = {
    name: process.support_vectors(fits[name].point, model=model).index.size
    for name, (model, process) in models.items()
}
for name, count in rows.items():
    print(f"{name:22s} {count:4d} of {labels.size} rows in the solution")

# %% [markdown]
# ## Are the probabilities right?
#
# `predict_proba` averages the link over the Gaussian of the latent value. The numbers below are
# the error rate, the mean negative log probability of the test labels, and the root mean square
# distance to the exact probability.

# %%
p = {
    name: process.predict_proba(X_test, fits[name].point, model=model)
    for name, (model, process) in models.items()
}


def scores(q):
    """Return error rate, negative log probability, and distance to the exact probability."""
    likelihood = np.where(labels_test == 1, q, 1 - q)
    return (
        np.mean((q > 0.5) != labels_test),
        -np.mean(np.log(likelihood)),
        np.sqrt(np.mean((q - p_true) ** 2)),
    )


results = {"exact": scores(p_true)} | {name: scores(q) for name, q in p.items()}
print(f"{'':22s}  error  neg. log p  rms distance")
for name, (error, nlp, distance) in results.items():
    print(f"{name:22s} {error:6.3f} {nlp:11.3f} {distance:13.3f}")

# %% [markdown]
# EP is closer to the exact probabilities under both likelihoods. Laplace's Gaussian sits at the
# mode of a skewed posterior, so that its probabilities are timid.
#
# A reliability diagram: among the test rows with a predicted probability near $p$, the share of
# label 1 should be $p$.

# %%
edges = np.linspace(0, 1, 9)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
axes[0].plot([0, 1], [0, 1], color="0.7")
axes[1].plot([0, 1], [0, 1], color="0.7")
for k, approximation in enumerate(("Laplace", "EP")):
    q = p[f"trigonometric, {approximation}"]
    bins = np.digitize(q, edges[1:-1])
    predicted = np.array([q[bins == b].mean() for b in range(8)])
    observed = np.array([labels_test[bins == b].mean() for b in range(8)])
    count = np.bincount(bins, minlength=8)
    spread = 2 * np.sqrt(predicted * (1 - predicted) / count)
    axes[0].errorbar(predicted, observed, spread, fmt="o", ms=4, label=approximation)
    axes[1].plot(p_true, q, f".C{k}", ms=2)
axes[0].set(xlabel="predicted probability", ylabel="share of label 1")
legend_below(axes[0])
shown = axes[1].set(xlabel="exact probability", ylabel="predicted probability")

# %% [markdown]
# ## What sparsity means
#
# We fit the latent values again with the support vectors alone, at the same hyperparameters, by
# Laplace's method. Means are the same to numerical accuracy. EP has no such rows to leave out.

# %%
vectors = gp.support_vectors(fit.point, model=sparse).index
with sparse:
    mean, _ = gp.predict(X_test, fit.point, diag=True)
    given = {"X": X[vectors], "y": labels[vectors], "delta": 1.0}
    mean_from_few, _ = gp.predict(X_test, fit.point, diag=True, given=given)
change = np.abs(mean - mean_from_few).max()
print(f"largest change of a latent mean: {change:.1e}")

# %% [markdown]
# **The answer:** yes. A part of the rows carries the solution of Laplace's method, and the
# probabilities are close to the exact ones, as close as those of the logistic model, which needs
# all rows. EP gives better probabilities at the price of that sparsity.
#
# ## Checks

# %%
bayes = results["exact"][0]
by_laplace, by_ep = results["trigonometric, Laplace"], results["trigonometric, EP"]
assert all(each.converged for each in fits.values())
assert fit.solution.gap < 1e-6
assert rows["trigonometric, Laplace"] < 0.8 * labels.size
assert rows["logistic, Laplace"] == labels.size
assert max(by_laplace[0], by_ep[0]) < bayes + 0.02
assert by_ep[1] < by_laplace[1] < by_ep[1] + 0.03
assert by_ep[2] < by_laplace[2] < 0.12
assert abs(by_laplace[1] - results["logistic, Laplace"][1]) < 0.03
assert change < 1e-5
print("all checks passed")
