"""Small models and one fit, whose plots are compared with numbers from elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytensor
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm.inference import EvidenceFit
from tests.gp import cases
from tests.refusal import Refuses, refused

POINT = {"ls": np.array([0.9, 1.6]), "C": 2.5, "epsilon": 0.25}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the figures of a test."""
    yield
    plt.close("all")


@pytest.fixture
def refuses() -> Refuses:
    """Expect an error of two sentences with the given words, and no figure left behind."""

    @contextmanager
    def expect(error: type[Exception], *words: str) -> Iterator[None]:
        figures = plt.get_fignums()
        with refused(error, *words):
            yield
        assert plt.get_fignums() == figures

    return expect


@pytest.fixture(scope="package")
def data() -> cases.Data:
    """Return rows whose labels have little noise."""
    few = cases.plane(40)
    labels = (np.sin(1.5 * few.X[:, 0]) + 0.3 * few.X[:, 1] > 0.0).astype("int64")
    labels[3] = 1 - labels[3]
    return few._replace(labels=labels)


@pytest.fixture(scope="package")
def regression(data: cases.Data) -> cases.Process:
    return cases.regression(data.X, data.y)


@pytest.fixture(scope="package")
def classification(data: cases.Data) -> cases.Process:
    return cases.classification(data.X, data.labels, delta=0.5)


@pytest.fixture(scope="package")
def process() -> cases.Process:
    """Return a model with names of the inputs and a variable that follows from another."""
    few = cases.plane(25)
    with pm.Model(coords={"input": ["left", "right"]}) as model:
        ls, C = pm.LogNormal("ls", 0.0, 0.5, dims="input"), pm.LogNormal("C", 1.0, 0.5)
        pm.Deterministic("width", 2.0 * C)
        gp = bsvm.gp.BSVR(cov_func=cases.ard_cov(ls))
        gp.marginal_likelihood("y", X=few.X, y=few.y, C=C, epsilon=0.2)
    return cases.Process(model, gp)


@pytest.fixture(scope="package")
def fit(process: cases.Process) -> EvidenceFit:
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        return bsvm.fit_evidence(
            process.model, restarts=1, random_seed=1, progressbar=False, hessian=True
        )


@pytest.fixture(scope="package")
def bare(fit: EvidenceFit) -> EvidenceFit:
    """Return the fit without a Hessian."""
    return replace(fit, hessian=None)


def on_a_line(loss: Any, n: int = 30) -> cases.Process:
    """Return a model of one input with an outlier, with a free length-scale."""
    rng = np.random.default_rng(0)
    x = np.linspace(-3.0, 3.0, n)
    y = np.sin(x) + 0.15 * rng.normal(size=n)
    y[n // 3] += 1.5
    with pm.Model() as model:
        gp = bsvm.gp.Laplace(cov_func=1.4 * pm.gp.cov.ExpQuad(1, ls=pm.LogNormal("ls", 0.0, 0.5)))
        targets = y if loss.task == "regression" else (y > 0.0).astype("int64")
        gp.marginal_likelihood("y", X=x[:, None], y=targets, loss=loss)
    return cases.Process(model, gp)


def labelled(artists: Any) -> dict[str, Any]:
    """Return artists that the legend shows, by their labels."""
    return {a.get_label(): a for a in artists if not str(a.get_label()).startswith("_")}
