"""A whole fit whose workers are killed: in the tuning, in Newton's method, in the gradient."""

import os
import signal

import joblib
import numpy as np
import pytest
from joblib.externals.loky import reusable_executor

from pymc_bsvm import losses
from pymc_bsvm.search import ascend
from pymc_bsvm.streamed.evidence import inducing_evidence
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.objective import InducingObjective
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.rows import ArrayRows
from tests.streamed.problems import Gaussian, rows
from tests.streamed.test_objective import START, SilfModel

LOSS = losses.SILF(C=6.0, epsilon=0.2, beta=0.4)
X, Y, WEIGHT = rows(LOSS, 600)
Z = X[:15] + 0.01


class Dangerous(Passes):
    """Passes that kill a worker when the first block of certain passes is done."""

    def __init__(self, n_jobs=None, kill=None, when=()):
        super().__init__(ArrayRows(X, Y, WEIGHT, 50), n_jobs, self._look)
        self.phase = ""
        self._kill, self._when, self.killed = kill, list(when), []

    def run(self, task, *shared, **settings):
        self._task = task.__name__
        return super().run(task, *shared, **settings)

    def _look(self, step):
        now = (self.phase, self._task)
        if now in self._when:
            self._when.remove(now)
            self.killed.append(self._kill())


WHEN = [("tuning", "_expand_at"), ("fit", "_expand"), ("fit", "_bend"), ("fit", "_of_features")]


def fitted(passes):
    """Return every number of a fit."""
    passes.phase = "tuning"
    objective = InducingObjective(SilfModel(), passes, Z)
    found = ascend(objective, START, maxiter=2)
    passes.phase = "fit"
    features = Features.at(Gaussian(), np.exp(found.end[2:]), Z, 0.7)
    evidence = inducing_evidence(passes, features, LOSS)
    gradient = evidence.gradient
    posterior = evidence.posterior
    return [
        found.end, found.objective, evidence.log_evidence, evidence.mode.w, evidence.mode.f,
        evidence.mode.gap, gradient.kernel, gradient.parameters, *posterior.moments(X[:5]),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def alone():
    return fitted(Dangerous())


def assert_same(found, alone):
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_array_equal(one, other)


def test_processes(alone):
    def kill():
        victim = min(reusable_executor._executor._processes)
        os.kill(victim, signal.SIGKILL)
        return victim

    with joblib.parallel_config(backend="loky"):
        passes = Dangerous(2, kill, WHEN)
        assert_same(fitted(passes), alone)
    assert len(set(passes.killed)) == len(WHEN)


def test_workers_of_a_cluster(alone, cluster):
    def kill():
        cluster.wait_for_workers(1, timeout=30)
        victim = min(cluster.run(os.getpid).values())
        os.kill(victim, signal.SIGKILL)
        return victim

    with joblib.parallel_config(backend="dask"):
        passes = Dangerous(2, kill, WHEN)
        assert_same(fitted(passes), alone)
    assert len(set(passes.killed)) == len(WHEN)
