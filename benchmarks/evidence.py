"""Time one log probability and gradient of the GP models against their peers; write evidence.md.

All in one run and one BLAS thread: the compiled PyMC function of a BSVR model, the floor it cannot
go below (one kernel matrix, then one Cholesky factor and inverse of the size of the free set),
`pm.gp.Marginal` and scikit-learn's exact Gaussian process; for labels BTSVC and scikit-learn's
Laplace classifier.

    OPENBLAS_NUM_THREADS=1 python benchmarks/evidence.py [--sizes 500 1000 2000 4000]
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pymc as pm
import pytensor
from numpy.typing import NDArray
from pymc.blocking import DictToArrayBijection
from scipy.linalg.lapack import dpotrf, dpotri
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

import pymc_bsvm as bsvm
from benchmarks._machine import machine

REPORT = Path(__file__).with_suffix(".md")
REPEATS = {500: 15, 1000: 9, 2000: 5, 4000: 3}
SIZES = (500, 1000, 2000, 4000)

type Array = NDArray[np.float64]


def median(call: Callable[[], object], n: int) -> float:
    """Return the median time of a call in milliseconds; the first one is not counted.

    Calls that take seconds are repeated less often.
    """
    call()
    times: list[float] = []
    while len(times) < REPEATS.get(n, 5) and sum(times) < 4e3:
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return float(np.median(times))


def data(n: int, d: int) -> tuple[Array, Array]:
    """Return sinc data; further inputs are noise."""
    x, y = bsvm.datasets.sinc(n, noise="silf", random_state=0)
    x = np.reshape(x, (n, 1))
    rng = np.random.default_rng(1)
    X = np.hstack([(x - x.mean()) / x.std(), rng.normal(size=(n, d - 1))])
    return X, y


def covariance(d: int, y: Array, ls: object, background: object) -> object:
    """Return the papers' covariance function (4.3)."""
    return y.var() * pm.gp.cov.ExpQuad(d, ls=ls) + pm.gp.cov.Constant(background)


def priors(d: int) -> tuple[object, object]:
    """Return the length-scales and the constant covariance."""
    ls = pm.InverseGamma("ls", 3, 1, shape=d if d > 1 else None)
    return ls, pm.LogNormal("background", 0.0, 2.0)


def bsvr(X: Array, y: Array, beta: float) -> pm.Model:
    """Return a BSVR model with three hyperparameters and the length-scales."""
    with pm.Model() as model:
        ls, background = priors(X.shape[1])
        C, epsilon = pm.LogNormal("C", 2, 1), pm.HalfNormal("epsilon", 0.3)
        gp = bsvm.gp.BSVR(cov_func=covariance(X.shape[1], y, ls, background))
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon, beta=beta)
    return model


def marginal(X: Array, y: Array) -> pm.Model:
    """Return the Gaussian model with as many hyperparameters."""
    with pm.Model() as model:
        ls, background = priors(X.shape[1])
        sigma, scale = pm.HalfNormal("sigma", 0.3), pm.LogNormal("scale", 0.0, 1.0)
        cov = scale * covariance(X.shape[1], y, ls, background)
        pm.gp.Marginal(cov_func=cov).marginal_likelihood("y", X=X, y=y, sigma=sigma)
    return model


def btsvc(X: Array, labels: Array) -> pm.Model:
    """Return a BTSVC model."""
    with pm.Model() as model:
        ls, background = priors(X.shape[1])
        scale = pm.LogNormal("scale", 1.0, 1.0)
        cov = scale * pm.gp.cov.ExpQuad(X.shape[1], ls=ls) + pm.gp.cov.Constant(background)
        bsvm.gp.BTSVC(cov_func=cov).marginal_likelihood("y", X=X, y=labels)
    return model


def gradient_of(model: pm.Model, **point: object) -> Callable[[], object]:
    """Compile the log probability and gradient of a model and bind them to a point."""
    function = model.logp_dlogp_function(ravel_inputs=True)
    function.set_extra_values({})
    start = model.initial_point()
    for name, value in point.items():
        start[f"{name}_log__"] = np.log(np.resize(value, start[f"{name}_log__"].shape))
    x = DictToArrayBijection.map(start)
    assert np.isfinite(function(x)[0])
    return lambda: function(x)


def length_scales(d: int, tuned: bool) -> Array:
    """Return the length-scale of sinc, and those of the noise inputs: long once they are tuned."""
    return np.array([0.4] + [20.0] * (d - 1)) if tuned else np.full(d, 2.0)


def kernel_of(X: Array, y: Array, ls: Array) -> Callable[[], object]:
    """Return the compiled kernel matrix alone."""
    with pm.Model():
        cov = covariance(X.shape[1], y, ls, 1.0)
        return pytensor.function([], cov(pytensor.shared(X)))


def inverse_of(m: int) -> Callable[[], object]:
    """Return the Cholesky factor and inverse of a matrix of size m."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(m, m))
    B = np.asfortranarray(half @ half.T + m * np.eye(m))
    return lambda: dpotri(dpotrf(B, lower=1)[0], lower=1)


def regression(n: int, d: int, beta: float, tuned: bool = True) -> dict[str, float]:
    """Time everything on one regression problem."""
    X, y = data(n, d)
    ls = length_scales(d, tuned)
    point = {"ls": ls, "background": 1.0, "C": 10.0, "epsilon": 0.1}
    K = kernel_of(X, y, ls)
    loss = bsvm.losses.SILF(10.0, 0.1, beta)
    solution = bsvm.solve_dual(np.asarray(K()), y, loss)
    m = int(solution.free.sum())
    ours = median(gradient_of(bsvr(X, y, beta), **point), n)
    floor = median(K, n) + median(inverse_of(m), n)
    pymc, sklearn = peers(n, d)
    return {
        "free": m,
        "support": int(solution.support.sum()),
        "steps": solution.n_iter,
        "ours": ours,
        "floor": floor,
        "pymc": pymc,
        "sklearn": sklearn,
    }


@functools.cache
def peers(n: int, d: int) -> tuple[float, float]:
    """Time `pm.gp.Marginal` and scikit-learn's regressor, which do not depend on beta."""
    X, y = data(n, d)
    ls = length_scales(d, True)
    point = {"ls": ls, "background": 1.0, "sigma": 0.17, "scale": 1.0}
    kernel = ConstantKernel(1.0) * RBF(ls) + WhiteKernel(0.03)
    kernel += ConstantKernel(1.0)
    gpr = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(X, y)
    theta = gpr.kernel_.theta
    pymc = median(gradient_of(marginal(X, y), **point), n)
    return pymc, median(lambda: gpr.log_marginal_likelihood(theta, eval_gradient=True), n)


def classification(n: int) -> dict[str, float]:
    """Time BTSVC and scikit-learn's Laplace classifier on one problem."""
    X, labels = bsvm.datasets.twonorm(n, random_state=0)
    labels = (np.asarray(labels) > 0).astype(int)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    d, ls = X.shape[1], float(np.sqrt(X.shape[1]))
    with pm.Model():
        cov = 4.0 * pm.gp.cov.ExpQuad(d, ls=np.full(d, ls)) + pm.gp.cov.Constant(1.0)
        K = pytensor.function([], cov(pytensor.shared(X)))
    loss = bsvm.losses.Trigonometric(1.0)
    solution = bsvm.solve_dual(np.asarray(K()), 2.0 * labels - 1.0, loss)
    m = int(solution.free.sum())
    model = btsvc(X, labels)
    ours = median(gradient_of(model, ls=ls, background=1.0, scale=4.0), n)
    kernel = ConstantKernel(4.0) * RBF(np.full(d, ls)) + ConstantKernel(1.0)
    gpc = GaussianProcessClassifier(kernel, optimizer=None).fit(X, labels)
    theta = gpc.kernel_.theta
    sklearn = median(lambda: gpc.log_marginal_likelihood(theta, eval_gradient=True), n)
    return {
        "free": m,
        "support": int(solution.support.sum()),
        "steps": solution.n_iter,
        "ours": ours,
        "floor": median(K, n) + median(inverse_of(m), n),
        "sklearn": sklearn,
    }


def first_call() -> tuple[float, float]:
    """Return the seconds to the first gradient in two new processes, with imports and without."""
    code = (
        "import time; start = time.perf_counter()\n"
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from benchmarks import evidence; X, y = evidence.data(200, 1)\n"
        "ready = time.perf_counter()\n"
        "model = evidence.bsvr(X, y, 0.3)\n"
        "evidence.gradient_of(model, ls=0.4, background=1.0, C=10.0, epsilon=0.1)()\n"
        "print(time.perf_counter() - start, time.perf_counter() - ready)"
    )
    for _ in range(2):  # the first one fills the cache
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
    total, alone = map(float, run.stdout.split())
    return total, alone


def main() -> None:
    """Run the benchmark and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    arguments = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for d, tuned in ((1, True), (13, True), (13, False)):
            for beta in (0.3, 0.1) if tuned else (0.3,):
                for n in arguments.sizes:
                    t = regression(n, d, beta, tuned)
                    rows.append(
                        f"| {d}{'' if tuned else ' *'} | {beta} | {n} | "
                        f"{t['free']:.0f} | {t['support']:.0f} | "
                        f"{t['steps']:.0f} | {t['ours']:.1f} | {t['floor']:.1f} | "
                        f"{t['ours'] / t['floor']:.1f} | {t['pymc']:.0f} | "
                        f"{t['pymc'] / t['ours']:.1f} | {t['sklearn']:.0f} | "
                        f"{t['sklearn'] / t['ours']:.1f} |"
                    )
                    print(rows[-1], flush=True)
        labels = []
        for n in arguments.sizes:
            t = classification(n)
            labels.append(
                f"| {n} | {t['free']:.0f} | {t['support']:.0f} | {t['steps']:.0f} | "
                f"{t['ours']:.1f} | {t['floor']:.1f} | {t['ours'] / t['floor']:.1f} | "
                f"{t['sklearn']:.0f} | {t['sklearn'] / t['ours']:.1f} |"
            )
            print(labels[-1], flush=True)
    total, alone = first_call()
    REPORT.write_text(
        TEMPLATE.format(
            machine=machine(
                "one BLAS thread", "numpy", "scipy", "pymc", "pytensor", "numba", "scikit-learn"
            ),
            regression="\n".join(rows),
            classification="\n".join(labels),
            total=total,
            alone=alone,
        )
    )


TEMPLATE = """\
# One evidence and its gradient

Measured by `make bench-evidence` on {machine}.

Milliseconds of one log probability and gradient inside the compiled PyMC function, medians. The
floor is one kernel matrix, compiled by PyMC, with one Cholesky factor and inverse of the size of
the free set. `pm.gp.Marginal` and scikit-learn have as many hyperparameters; scikit-learn's time is
`log_marginal_likelihood(theta, eval_gradient=True)`. The ratios are ours to the floor, and that of
each peer to ours. The curvature is smooth.

## Regression: BSVR on sinc data, C = 10, epsilon = 0.1

d = 1 has 4 hyperparameters; d = 13 has one length-scale for each input, of which 12 are noise:
their length-scales are 20, as a fit finds. The rows with a star have all length-scales at 2: a
point far from the optimum, where most rows are free and the solver takes more steps.

| d | beta | n | free | support | steps | BSVR | floor | ratio | gp.Marginal | ratio | GPR | ratio |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
{regression}

## Classification: BTSVC on twonorm, 20 length-scales

| n | free | support | steps | BTSVC | floor | ratio | GPC | ratio |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|
{classification}

## The first call

Seconds to the first log probability and gradient of a model (n = 200, 4 hyperparameters) in a new
process with the cache of compiled code on disk: {alone:.1f}, and {total:.1f} with all imports.
"""


if __name__ == "__main__":
    main()
