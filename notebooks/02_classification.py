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

plt.rcParams.update({"figure.dpi": 60, "font.size": 9})

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
# They differ in the likelihood only.


# %%
def covariance():
    """Return the covariance function both models share."""
    ls = pm.InverseGamma("ls", 3, 6)
    eta = pm.HalfNormal("eta", 5)
    return eta**2 * pm.gp.cov.ExpQuad(2, ls=ls)


with pm.Model() as sparse:
    gp = bsvm.gp.BTSVC(cov_func=covariance())
    gp.marginal_likelihood("label", X=X, y=labels)

with pm.Model() as logistic:
    gp_logistic = bsvm.gp.Laplace(cov_func=covariance())
    gp_logistic.marginal_likelihood("label", X=X, y=labels, loss=bsvm.losses.Logistic())

# %%
settings = {"restarts": 3, "random_seed": 1, "progressbar": False}
fit = bsvm.fit_evidence(sparse, **settings)
fit_logistic = bsvm.fit_evidence(logistic, **settings)
print(fit)

# %% [markdown]
# ## The map
#
# Filled marks are support vectors. They lie where the classes meet. A row deep inside its class
# has no dual variable, and the classifier would be the same without it.

# %%
figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
ax = plot_class_map(gp, fit.point, model=sparse, ax=ax)

# %%
rows = {
    "trigonometric": gp.support_vectors(fit.point, model=sparse).index.size,
    "logistic": gp_logistic.support_vectors(fit_logistic.point, model=logistic).index.size,
}
for name, count in rows.items():
    print(f"{name:14s} {count:4d} of {labels.size} rows in the solution")

# %% [markdown]
# ## Are the probabilities right?
#
# `predict_proba` averages the link over the Gaussian of the latent value. The numbers below are
# the error rate, the mean negative log probability of the test labels, and the root mean square
# distance to the exact probability.

# %%
p = gp.predict_proba(X_test, fit.point, model=sparse)
p_logistic = gp_logistic.predict_proba(X_test, fit_logistic.point, model=logistic)


def scores(q):
    """Return error rate, negative log probability, and distance to the exact probability."""
    likelihood = np.where(labels_test == 1, q, 1 - q)
    return (
        np.mean((q > 0.5) != labels_test),
        -np.mean(np.log(likelihood)),
        np.sqrt(np.mean((q - p_true) ** 2)),
    )


results = {"exact": scores(p_true), "trigonometric": scores(p), "logistic": scores(p_logistic)}
print(f"{'':14s}  error  neg. log p  rms distance")
for name, (error, nlp, distance) in results.items():
    print(f"{name:14s} {error:6.3f} {nlp:11.3f} {distance:13.3f}")

# %% [markdown]
# A reliability diagram: among the test rows with a predicted probability near $p$, the share of
# label 1 should be $p$.

# %%
edges = np.linspace(0, 1, 9)
bins = np.digitize(p, edges[1:-1])
predicted = np.array([p[bins == k].mean() for k in range(8)])
observed = np.array([labels_test[bins == k].mean() for k in range(8)])
count = np.bincount(bins, minlength=8)

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
axes[0].plot([0, 1], [0, 1], color="0.7")
axes[0].errorbar(predicted, observed, 2 * np.sqrt(predicted * (1 - predicted) / count), fmt="o")
axes[0].set(xlabel="predicted probability", ylabel="share of label 1")
axes[1].plot(p_true, p, ".", ms=2)
axes[1].plot([0, 1], [0, 1], color="0.7")
shown = axes[1].set(xlabel="exact probability", ylabel="predicted probability")

# %% [markdown]
# ## What sparsity means
#
# We fit the latent values again with the support vectors alone, at the same hyperparameters.
# Means are the same to numerical accuracy.

# %%
vectors = gp.support_vectors(fit.point, model=sparse).index
with sparse:
    mean, _ = gp.predict(X_test, fit.point, diag=True)
    given = {"X": X[vectors], "y": labels[vectors], "delta": 1.0}
    mean_from_few, _ = gp.predict(X_test, fit.point, diag=True, given=given)
change = np.abs(mean - mean_from_few).max()
print(f"largest change of a latent mean: {change:.1e}")

# %% [markdown]
# **The answer:** yes. A part of the rows carries the solution, and the probabilities are close to
# the exact ones, as close as those of the logistic model, which needs all rows.
#
# ## Checks

# %%
bayes = results["exact"][0]
assert fit.converged
assert fit.solution.gap < 1e-6
assert rows["trigonometric"] < 0.8 * labels.size
assert rows["logistic"] == labels.size
assert results["trigonometric"][0] < bayes + 0.02
assert results["trigonometric"][2] < 0.12
assert abs(results["trigonometric"][1] - results["logistic"][1]) < 0.03
assert change < 1e-5
print("all checks passed")
