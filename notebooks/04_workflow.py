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
# # A Bayesian workflow
#
# **The question:** four sensors are read, and a sensor costs money. Which of them does the model
# need, and how sure are we?
#
# Priors, prior predictive draws, fit, checks, model comparison, a decision. The data are those of
# a robot arm: the horizontal position of its end depends on two joint angles. The other two
# sensors are noise, but the model is not told.

# %%
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: small matrices want one thread

import logging
import warnings

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
from scipy import stats

import pymc_bsvm as bsvm
from pymc_bsvm.reporting import plot_relevance

logging.getLogger("pymc").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", "Estimated shape parameter of Pareto")
plt.rcParams.update({"figure.dpi": 60, "font.size": 9})

# %%
SENSORS = np.array(["angle 1", "angle 2", "heat", "light"])


def read(n, seed):
    """Return sensors, in units of their spread, and the position."""
    X, Y = bsvm.datasets.robot_arm(n, inputs=6, noise_sd=0.1, random_state=seed)
    X = X[:, [0, 1, 4, 5]] / np.array([1.3, 0.75, 1.0, 1.0])
    return X, Y[:, 0]


X, y = read(100, seed=0)
X_test, y_test = read(500, seed=1)
print(f"{y.size} rows, position from {y.min():.1f} to {y.max():.1f}")

# %% [markdown]
# ## Priors
#
# One length-scale for each sensor, in units of the sensor's spread. The prior puts most of its
# mass between 0.5 and 10: below, the function would change faster than the data can tell; far
# above, the sensor does not matter. The arm is about three units long, which sets the prior of
# the amplitude.


# %%
def build(columns, shared=False):
    """Return a model of some of the sensors, and its process."""
    columns = list(columns)
    with pm.Model(coords={"sensor": SENSORS[columns]}) as model:
        if shared:
            ls = pm.InverseGamma("ls", 2, 4)
        else:
            ls = pm.InverseGamma("ls", 2, 4, dims="sensor")
        eta = pm.Gamma("eta", 4, 2)
        C = pm.LogNormal("C", 3, 1)
        epsilon = pm.HalfNormal("epsilon", 0.2)
        cov = eta**2 * pm.gp.cov.ExpQuad(len(columns), ls=ls)
        gp = bsvm.gp.BSVR(cov_func=cov)
        gp.marginal_likelihood("y", X=X[:, columns], y=y, C=C, epsilon=epsilon)
    return model, gp


model, gp = build(range(4))

# %% [markdown]
# ## Prior predictive
#
# The observed variable is a real one: draws of it are positions of an arm that the prior believes
# in. They should cover the reach of the arm and not much more.

# %%
with model:
    prior = pm.sample_prior_predictive(300, random_seed=1)
spread = prior["prior_predictive"]["y"].std(dim="y_dim_0").to_numpy().ravel()
print("sd of the positions in a draw:", np.quantile(spread, [0.05, 0.5, 0.95]).round(2))
print(f"in the data: {y.std():.2f}")

# %% [markdown]
# ## Fit
#
# First by evidence, because it is fast and shows problems early.

# %%
settings = {"restarts": 3, "random_seed": 1, "progressbar": False}
fit = bsvm.fit_evidence(model, **settings)
print(fit)

# %% [markdown]
# Then NUTS on the same evidence, for error bars of the hyperparameters.

# %%
with model:
    idata = pm.sample(draws=500, tune=500, chains=2, random_seed=1, progressbar=False)
summary = az.summary(idata, round_to="none")
summary[["mean", "sd", "ess_bulk", "r_hat"]].astype(float).round(2)

# %% [markdown]
# ## Checks
#
# Leave-one-out: the distribution of each target given all others, in closed form at the mode. If
# the model is right, its distribution function at the targets is uniform.

# %%
posterior = fit.evidence.posterior
left_out = bsvm.evidence.predictive(
    posterior.loss, posterior.cavity.mean, posterior.cavity.variance
)
pit = left_out.cdf(y)
uniform = stats.kstest(pit, "uniform")

figure, ax = plt.subplots(figsize=(5, 2.6), layout="constrained")
ax.hist(pit, np.linspace(0, 1, 11), color="C0", alpha=0.7)
ax.axhline(y.size / 10, color="k", lw=0.8)
shown = ax.set(xlabel="leave-one-out probability integral transform", ylabel="rows")
print(f"Kolmogorov-Smirnov test of uniformity: p = {uniform.pvalue:.2f}")

# %% [markdown]
# Over the draws of NUTS the same densities go to ArviZ.

# %%
with model:
    gp.compute_log_likelihood(idata, progressbar=False)
loo = az.loo(idata)
print(loo)

# %% [markdown]
# ## Which sensors matter?
#
# The relevance of a sensor is its inverse length-scale. Bars hold 90 % of the draws.

# %%
figure, ax = plt.subplots(figsize=(5, 2.4), layout="constrained")
ax = plot_relevance(idata, ax=ax)

# %% [markdown]
# ## Model comparison
#
# Three models: all sensors with one shared length-scale, all sensors with a length-scale each,
# and the two sensors that look relevant.

# %%
angles, gp_angles = build([0, 1])
one_scale, gp_one = build(range(4), shared=True)
fits = {
    "all, own scales": fit,
    "all, one scale": bsvm.fit_evidence(one_scale, **settings),
    "angles": bsvm.fit_evidence(angles, **settings),
}
table = bsvm.compare_evidence(fits)
table[["log_evidence", "difference", "n_support", "gap"]].round(2)

# %% [markdown]
# The second opinion, with the hyperparameters integrated out: NUTS for the small model, too, and
# `az.compare`.

# %%
with angles:
    idata_angles = pm.sample(draws=500, tune=500, chains=2, random_seed=1, progressbar=False)
    gp_angles.compute_log_likelihood(idata_angles, progressbar=False)
comparison = az.compare({"all, own scales": idata, "angles": idata_angles})
comparison.iloc[:, :6].round(2)

# %% [markdown]
# ## The decision
#
# A sensor costs 0.02 nats per prediction: it has to raise the expected log score of a prediction
# by at least that. `az.loo` estimates the score of each model for new data. The elpd is a sum
# over rows.

# %%
PRICE = 0.02
scores = {
    "all, own scales": loo.elpd / y.size - 4 * PRICE,
    "angles": az.loo(idata_angles).elpd / y.size - 2 * PRICE,
}
decision = max(scores, key=scores.get)
for name, score in scores.items():
    print(f"{name:16s} net score {score:.3f} nats per prediction")
print(f"decision: {decision}")

# %% [markdown]
# New data show whether it was right.

# %%
new = {
    "all, own scales": gp.predictive(X_test, fit.point, model=model),
    "angles": gp_angles.predictive(X_test[:, [0, 1]], fits["angles"].point, model=angles),
}
test_score = {name: float(targets.logpdf(y_test).mean()) for name, targets in new.items()}
low, high = new["angles"].quantile(0.05), new["angles"].quantile(0.95)
coverage = np.mean((low <= y_test) & (y_test <= high))
print({name: round(score, 3) for name, score in test_score.items()})
print(f"the 90 % band of the small model holds {coverage:.0%} of 500 new positions")

# %% [markdown]
# **The answer:** the two angles. The length-scales say so, the evidence and leave-one-out agree,
# and new data confirm it.
#
# ## Final checks

# %%
relevance = 1 / idata["posterior"]["ls"].mean(("chain", "draw")).to_numpy()
assert relevance[:2].min() > 2 * relevance[2:].max()
assert summary["r_hat"].astype(float).max() < 1.05
assert uniform.pvalue > 0.01
assert table.index[-1] == "all, one scale"
assert decision == "angles"
assert test_score["angles"] > test_score["all, own scales"] - 0.02
assert 0.8 < coverage < 0.97
print("all checks passed")
