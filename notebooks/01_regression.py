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
# # Regression with outliers
#
# **The question:** some targets are grossly wrong, and nobody knows which. Does a robust
# likelihood help, and can the data themselves say so, without a test set?
#
# We fit the same Gaussian process under two noise models, SILF and Gaussian, find the
# hyperparameters of both by maximising the evidence, and compare evidences and error bars.

# %%
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: small matrices want one thread

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_bsvm as bsvm
from pymc_bsvm.reporting import plot_evidence_profile, plot_regression_band

plt.rcParams.update({"figure.dpi": 100, "font.size": 9})

# %% [markdown]
# ## Data
#
# 150 noisy points of $\sin(x)/x$. In 5 % of the rows the noise is replaced by gross errors. We
# keep the truth and 500 more targets for the checks at the end; the models do not see them.

# %%
noise = {"C": 20, "epsilon": 0.2, "beta": 0.3}
X, y = bsvm.datasets.sinc(150, outliers=0.05, outlier_scale=2.0, **noise)
_, clean = bsvm.datasets.sinc(150, **noise)
spoiled = y != clean
X_test, y_test = bsvm.datasets.sinc(500, outliers=0.05, outlier_scale=2.0, random_state=1, **noise)
truth = np.sinc(X_test[:, 0] / np.pi)

print(f"{y.size} rows, {spoiled.sum()} of them spoiled by up to {np.abs(y - clean).max():.1f}")

# %% [markdown]
# ## Two noise models
#
# Both have the same covariance function and the same priors for it. `BSVR` is the Gaussian
# process with the SILF likelihood: flat inside a tube of half width $\epsilon$, then quadratic,
# then linear with the slope $C$. `gp.Laplace` takes any loss with a curvature; with Gaussian
# noise it equals `pm.gp.Marginal`.


# %%
def covariance():
    """Return the covariance function both models share."""
    ls = pm.InverseGamma("ls", 3, 5)
    eta = pm.HalfNormal("eta", 1)
    return eta**2 * pm.gp.cov.ExpQuad(1, ls=ls)


with pm.Model() as robust:
    C = pm.LogNormal("C", 2, 1)
    epsilon = pm.HalfNormal("epsilon", 0.3)
    gp = bsvm.gp.BSVR(cov_func=covariance())
    gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon, beta=0.3)

with pm.Model() as gaussian:
    sigma = pm.HalfNormal("sigma", 1)
    gp_gaussian = bsvm.gp.Laplace(cov_func=covariance())
    gp_gaussian.marginal_likelihood("y", X=X, y=y, loss=bsvm.losses.Gaussian(sigma))

# %% [markdown]
# ## Fit
#
# `fit_evidence` maximises evidence times prior. `restarts` guards against local modes,
# `hessian=True` gives the hyperparameters error bars.

# %%
settings = {"restarts": 3, "hessian": True, "random_seed": 1, "progressbar": False}
fit = bsvm.fit_evidence(robust, **settings)
fit_gaussian = bsvm.fit_evidence(gaussian, **settings)
print(fit)

# %%
fit.restarts[["label", "objective", "log_evidence", "ending", "evaluations"]].round(2)

# %% [markdown]
# The posterior of the hyperparameters is skewed, so that the mode is not the mean; `sd` and the
# interval belong to the mean.

# %%
fit.summary().round(3)

# %% [markdown]
# The duality gap bounds how far the latent values are from the optimum, in nats. Rows inside the
# tube are no support vectors: the prediction would be the same without them.

# %%
vectors = gp.support_vectors(fit.point, model=robust)
print(vectors)
ends_outside = np.isin(np.flatnonzero(spoiled), vectors.index[vectors.bound])
print(f"{ends_outside.sum()} of the {spoiled.sum()} spoiled rows are bound support vectors")

# %% [markdown]
# ## What the fits look like
#
# The band holds 90 % of new targets. Its ends are exact quantiles of the predictive distribution,
# not a mean plus or minus a multiple of a standard deviation. A bound support vector pulls with
# the force $C$ and no more, however far out it is.

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
plot_regression_band(gp, fit.point, model=robust, ax=axes[0]).set_title("SILF")
plot_regression_band(gp_gaussian, fit_gaussian.point, model=gaussian, ax=axes[1])
_ = axes[1].set_title("Gaussian")

# %% [markdown]
# The Gaussian model has one way to explain the outliers: more noise everywhere. Its band is too
# wide.
#
# ## What the evidence says
#
# No test set so far. The log evidence is the log probability of the data under each model; a
# difference of 5 nats is already strong.

# %%
table = bsvm.compare_evidence({"SILF": fit, "Gaussian": fit_gaussian})
table[["log_evidence", "difference", "n_support", "n_free", "gap"]].round(2)

# %% [markdown]
# The evidence along the length-scale. The exact version jumps whenever a row enters or leaves the
# quadratic zone; the smooth one, the default, does not, and can be optimised and sampled.

# %%
figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
ax = plot_evidence_profile(fit, "ls", span=0.6, ax=ax)

# %% [markdown]
# Leave-one-out cross-validation is the second opinion. The log density of each target given all
# others comes in closed form from the same fit, without refitting.

# %%
left_out = gp.log_predictive(fit.point, model=robust)
left_out_gaussian = gp_gaussian.log_predictive(fit_gaussian.point, model=gaussian)
print(f"SILF     {left_out.sum():8.1f} nats")
print(f"Gaussian {left_out_gaussian.sum():8.1f} nats")

# %% [markdown]
# ## Error bars
#
# The bands hold 90 % of targets that come as the training data did, outliers included. On a test
# set of the same kind we can see what they are worth: they should hold about that share, and be
# narrow.


# %%
def scores(process, point, model):
    """Return error of the mean, coverage and width of the 90 % band, and log score."""
    targets = process.predictive(X_test, point, model=model)
    low, high = targets.quantile(0.05), targets.quantile(0.95)
    return {
        "rmse to truth": np.sqrt(np.mean((targets.mean - truth) ** 2)),
        "coverage": np.mean((low <= y_test) & (y_test <= high)),
        "width": np.mean(high - low),
        "log score": np.mean(targets.logpdf(y_test)),
    }


silf_scores = scores(gp, fit.point, robust)
gaussian_scores = scores(gp_gaussian, fit_gaussian.point, gaussian)
for name in silf_scores:
    print(f"{name:15s} SILF {silf_scores[name]:6.3f}   Gaussian {gaussian_scores[name]:6.3f}")

# %% [markdown]
# **The answer:** yes, and the evidence said so before the test set did. The robust model is
# closer to the truth, and its band is narrower and holds no fewer targets than it should.
#
# ## Checks

# %%
assert fit.converged
assert fit.solution.gap < 1e-6
assert table.index[0] == "SILF"
assert table.loc["Gaussian", "difference"] < -5
assert left_out.sum() > left_out_gaussian.sum() + 5
assert ends_outside.mean() > 0.7
assert silf_scores["rmse to truth"] < gaussian_scores["rmse to truth"]
assert silf_scores["width"] < gaussian_scores["width"]
assert silf_scores["log score"] > gaussian_scores["log score"]
assert silf_scores["coverage"] > 0.86
print("all checks passed")
