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
# **The question:** how do we get from data to a decision, and check each step on the way?
#
# Priors, prior predictive draws, a first fit, a check that fails, a better model, NUTS, checks,
# model comparison, relevance of the inputs, a decision with a stated loss.

# %%
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: small matrices want one thread

import logging
import warnings

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytensor
from scipy import stats

import pymc_bsvm as bsvm
from pymc_bsvm.reporting import plot_marginals, plot_relevance

logging.getLogger("pymc").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", "Estimated shape parameter of Pareto")  # we count them ourselves
plt.rcParams.update({"figure.dpi": 100, "font.size": 9})

# %% [markdown]
# ## Data
#
# The horizontal position of the end of a robot arm, read by a camera, at 150 settings. Four
# sensors: two joint angles, and heat and light, which have nothing to do with the position; the
# models are not told. The noise has the standard deviation 0.2, and one reading in twelve is off by
# a unit or so. We keep 500 more readings for the end.

# %%
SENSORS = np.array(["angle 1", "angle 2", "heat", "light"])


def read(n, seed):
    """Return sensors, in units of their spread, and the positions that the camera reads."""
    X, Y = bsvm.datasets.robot_arm(n, inputs=6, noise_sd=0.2, random_state=seed)
    rng = np.random.default_rng([seed, 1])
    misread = rng.permutation(n)[: n // 12]
    y = Y[:, 0].copy()
    y[misread] += rng.normal(scale=1.0, size=misread.size)
    return X[:, [0, 1, 4, 5]] / np.array([1.3, 0.75, 1.0, 1.0]), y


X, y = read(150, seed=4)
X_test, y_test = read(500, seed=5)
print(f"{y.size} rows, positions from {y.min():.1f} to {y.max():.1f}, sd {y.std():.2f}")

# %% [markdown]
# ## Priors
#
# One length-scale for each sensor, in units of the sensor's spread. The prior has 90 % of its mass
# between 0.5 and 14: much below, the function would change faster than 150 rows can tell; far
# above, the sensor does not matter. The arm is about three units long, which sets the prior of the
# amplitude $\eta$. The camera should be good to two tenths of a unit or so: that sets the tube
# $\epsilon$ and the standard deviation $\sigma$ of Gaussian noise, which may be larger.
#
# `beta=0.5` makes the quadratic zones of SILF wider than the default of 0.3. With few rows, the
# evidence is smoother then, and NUTS can take larger steps; more rows are support vectors.


# %%
def build(noise, columns=(0, 1, 2, 3)):
    """Return a model with SILF or Gaussian noise on some of the sensors, and its process."""
    columns = list(columns)
    with pm.Model(coords={"sensor": SENSORS[columns]}) as model:
        ls = pm.LogNormal("ls", 1, 1, dims="sensor")
        eta = pm.Gamma("eta", 4, 2)
        cov = eta**2 * pm.gp.cov.ExpQuad(len(columns), ls=ls)
        if noise == "SILF":
            C = pm.LogNormal("C", 2, 1)
            epsilon = pm.LogNormal("epsilon", np.log(0.2), 0.5)
            gp = bsvm.gp.BSVR(cov_func=cov)
            gp.marginal_likelihood("y", X=X[:, columns], y=y, C=C, epsilon=epsilon, beta=0.5)
        else:
            loss = bsvm.losses.Gaussian(pm.HalfNormal("sigma", 0.5))
            gp = bsvm.gp.Laplace(cov_func=cov)
            gp.marginal_likelihood("y", X=X[:, columns], y=y, loss=loss)
    return model, gp


model, gp = build("SILF")
gaussian, gp_gaussian = build("Gaussian")

# %% [markdown]
# ## Prior predictive
#
# The observed variable is a real one: draws of it are readings that the prior believes in. The
# data should look like one of them. In `FAST_COMPILE` nothing is compiled; for some hundred draws,
# or one fit of some hundred rows, that would take longer than it saves.

# %%
QUICK = {"mode": "FAST_COMPILE"}
with model:
    prior = pm.sample_prior_predictive(500, random_seed=1, compile_kwargs=QUICK)
draws = prior["prior_predictive"]["y"].to_numpy().reshape(500, -1)
place = np.mean(draws.std(axis=1) < y.std())
print("sd of the readings in a draw:", np.quantile(draws.std(axis=1), [0.05, 0.5, 0.95]).round(2))
print(f"{place:.0%} of the draws have a smaller one than the data")

# %% [markdown]
# ## A first fit
#
# By evidence, because it is fast and shows problems early, and with Gaussian noise, as one would
# begin.


# %%
def maximise(model, **kwargs):
    """Return the fit by evidence from three starts."""
    with pytensor.config.change_flags(**QUICK):
        return bsvm.fit_evidence(model, restarts=3, random_seed=1, progressbar=False, **kwargs)


fit_gaussian = maximise(gaussian, hessian=True)
print(fit_gaussian)

# %% [markdown]
# ## A check that fails
#
# The fit has a distribution of each reading given all others, in closed form. If the model is
# right, its distribution function at the readings is uniform: one half of them lie in the central
# half, and the most extreme of 150 is not too close to 0 or 1. The last number is the probability
# of an extreme as large, times the number of readings.


# %%
def left_out(fit):
    """Return the distribution function of each reading given all others, at the reading."""
    posterior = fit.evidence.posterior
    cavity = posterior.cavity
    return bsvm.evidence.predictive(posterior.loss, cavity.mean, cavity.variance).cdf(y)


def central(pit):
    """Return the share of readings in the central half of their distributions."""
    return np.mean(np.abs(pit - 0.5) < 0.25)


def surprise(pit):
    """Return a bound of the probability of a reading as extreme as the most extreme one."""
    return min(1.0, pit.size * 2 * np.minimum(pit, 1 - pit).min())


def describe(name, pit):
    """Print the three checks."""
    uniform = stats.kstest(pit, "uniform").pvalue
    print(f"{name}: {central(pit):.0%} in the central half, Kolmogorov-Smirnov p = {uniform:.2f},")
    print(f"    the most extreme reading has p = {surprise(pit):.1e}")


pit_gaussian = left_out(fit_gaussian)
describe("Gaussian", pit_gaussian)

# %% [markdown]
# Some readings are next to impossible under this model, and most are better than it believes: it
# has one number for the noise. SILF has tails, and costs one parameter more.

# %%
fit = maximise(model)
pit = left_out(fit)
print(fit)
describe("SILF", pit)

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 2.6), sharey=True, layout="constrained")
for ax, title, values in zip(axes, ("Gaussian", "SILF"), (pit_gaussian, pit), strict=True):
    ax.hist(values, np.linspace(0, 1, 11), color="C0", alpha=0.7)
    ax.axhline(y.size / 10, color="k", lw=0.8)
    ax.set(title=title, xlabel="distribution function, left out")
shown = axes[0].set_ylabel("readings")

# %% [markdown]
# ## NUTS
#
# The mode has no error bars. NUTS on the same evidence integrates the hyperparameters out, and
# says whether it converged.

# %%
with model:
    idata = pm.sample(draws=500, tune=400, chains=2, random_seed=1, progressbar=False)

summary = az.summary(idata, round_to="none").astype(float)
divergences = int(idata["sample_stats"]["diverging"].sum())
print(f"{divergences} divergences")
summary[["mean", "sd", "ess_bulk", "r_hat"]].round(2)

# %%
axes = plot_marginals({"mode": fit, "NUTS": idata}, var_names=["eta", "C", "epsilon"])
axes[0].figure.set_size_inches(8, 2.2)

# %% [markdown]
# The mode is where the draws are.
#
# ## Model comparison
#
# `compare_evidence` ranks models at their modes. `az.compare` ranks them by leave-one-out, with
# the hyperparameters integrated out; `gp.compute_log_likelihood` adds what it needs. For the model
# that failed, draws from the Gaussian around its mode will do: `hessian=True` has prepared them,
# and `to_datatree` makes of them what ArviZ wants.

# %%
fits = {"SILF": fit, "Gaussian": fit_gaussian}
bsvm.compare_evidence(fits)[["log_evidence", "difference", "n_support", "gap"]].round(2)

# %%
gp.compute_log_likelihood(idata, model=model, progressbar=False)
trees = {"SILF": idata, "Gaussian": fit_gaussian.to_datatree(draws=1000, random_seed=1)}
for name, tree in trees.items():
    loo = az.loo(tree, pointwise=True)
    unreliable = int((loo.pareto_k > loo.good_k).sum())
    print(f"{name}: elpd {loo.elpd:.1f} ± {loo.se:.1f} nats, p_loo {loo.p:.1f},", end=" ")
    print(f"Pareto k above {loo.good_k:.2f} in {unreliable} of {y.size} rows")
comparison = az.compare(trees, round_to="none")
comparison[["elpd", "p", "elpd_diff", "weight", "dse"]].astype(float).round(2)

# %% [markdown]
# Rows with a large Pareto $k$ are those that the hyperparameters depend on; their terms are not to
# be trusted to a nat. The difference is many times larger than that.
#
# ## Which sensors matter?
#
# The relevance of a sensor is its inverse length-scale. Bars hold 90 % of the draws.

# %%
figure, ax = plt.subplots(figsize=(5, 2.2), layout="constrained")
ax = plot_relevance(idata, ax=ax)

# %% [markdown]
# Heat and light could go. Does the evidence agree, and what does it say about a model without the
# second angle?

# %%
angles, gp_angles = build("SILF", (0, 1))
one_angle, _ = build("SILF", (0,))
fits |= {"SILF, angles": maximise(angles), "SILF, angle 1": maximise(one_angle)}
table = bsvm.compare_evidence(fits)
table[["log_evidence", "difference", "n_support"]].round(2)

# %% [markdown]
# Without heat and light the evidence is a few nats higher; without the second angle it is far
# lower. The small model it is.
#
# ## The decision
#
# A guard is placed in front of the arm at each new setting. A unit of distance in vain costs 1,
# a unit by which the reading exceeds the guard costs 9. The expected cost is smallest at the 90 %
# quantile of the predictive distribution, which has the tails of SILF. We take the Gaussian model
# with all sensors along, and the mean of the small model, which ignores the costs.


# %%
def cost(guard):
    """Return the mean cost of guards at the new readings."""
    return np.mean(np.where(y_test > guard, 9 * (y_test - guard), guard - y_test))


predictive = gp_angles.predictive(X_test[:, :2], fits["SILF, angles"].point, model=angles)
predictive_gaussian = gp_gaussian.predictive(X_test, fit_gaussian.point, model=gaussian)
guards = {
    "mean": predictive.mean,
    "quantile, Gaussian": predictive_gaussian.quantile(0.9),
    "quantile, SILF, angles": predictive.quantile(0.9),
}
costs = {name: cost(guard) for name, guard in guards.items()}
exceeded = {name: np.mean(y_test > guard) for name, guard in guards.items()}
for name in guards:
    print(f"{name:23s} cost {costs[name]:.3f}, exceeded by {exceeded[name]:.1%} of 500 readings")

# %% [markdown]
# **The answer:** in this order, with a check after each step. The check of the first model failed
# and said why, the second model passed, evidence and leave-one-out agreed on it, the relevances
# left two sensors, and the predictive distribution turned into a decision that costs least on new
# readings.
#
# ## Final checks

# %%
assert 0.05 < place < 0.95
assert fit.solution.gap < 1e-6
assert central(pit_gaussian) > central(pit)
assert stats.kstest(pit, "uniform").pvalue > 0.01
assert surprise(pit_gaussian) < 0.1 * surprise(pit)
assert summary["r_hat"].max() < 1.05
assert comparison.index[0] == "SILF"
assert table.loc["Gaussian", "log_evidence"] < table.loc["SILF", "log_evidence"] - 5
assert table.loc["SILF, angle 1", "log_evidence"] < table.loc["SILF, angles", "log_evidence"] - 5
assert table.loc["SILF, angles", "log_evidence"] > table.loc["SILF", "log_evidence"] - 3
relevance = 1 / idata["posterior"]["ls"].median(("chain", "draw")).to_numpy()
assert relevance[:2].min() > 2 * relevance[2:].max()
assert costs["quantile, SILF, angles"] == min(costs.values())
assert 0.01 < exceeded["quantile, SILF, angles"] < 0.2
print("all checks passed")
