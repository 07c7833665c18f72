"""The committee against a single machine, however its tasks are run."""

import os
import signal
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import pymc_bsvm as bsvm
from pymc_bsvm.estimators import BayesianSVR, BayesianSVRCommittee
from pymc_bsvm.search import ascent

QUICK = {"expert_size": 100, "random_state": 0}


def plane(n, seed, sigma=0.3):
    """Return rows in two dimensions, targets with Gaussian noise, and the truth."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    f = 3.0 + np.sin(2.0 * X[:, 0]) * np.cos(X[:, 1])
    return X, f + sigma * rng.normal(size=n), f


@pytest.fixture(scope="module")
def train():
    return plane(600, 0)


@pytest.fixture(scope="module")
def committee(train):
    X, y, _ = train
    return BayesianSVRCommittee(**QUICK).fit(X, y)


@parametrize_with_checks([BayesianSVRCommittee()])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_it_is_deprecated(train):
    X, y, _ = train
    with pytest.warns(FutureWarning, match=r"removed in 0.4.* Use BayesianSVR\(inducing='auto'\)"):
        BayesianSVRCommittee(**QUICK).fit(X[:60], y[:60])


def test_parts(committee):
    assert committee.n_experts_ == len(committee.parts_) == 5
    assert committee.held_out_.size == 120
    rows = np.concatenate([*committee.parts_, committee.held_out_])
    np.testing.assert_array_equal(np.sort(rows), np.arange(600))
    assert committee.n_support_.shape == (5,)
    assert committee.converged_
    assert abs(committee.gap_) < 1e-6


@pytest.mark.parametrize("combine", ["rbcm", "gpoe"])
@pytest.mark.parametrize("partition", ["random", "clustered"])
def test_as_good_as_one_machine(train, combine, partition):
    """Its error is at most half as large again as with all rows at once, and it is calibrated."""
    X, y, _ = train
    X_new, y_new, f_new = plane(2000, 1)
    model = BayesianSVRCommittee(combine=combine, partition=partition, **QUICK).fit(X, y)
    alone = BayesianSVR(random_state=0).fit(X, y)

    def error(regressor):
        return np.sqrt(np.mean((regressor.predict(X_new) - f_new) ** 2))

    assert error(model) < 1.5 * error(alone)
    assert error(model) < 0.13
    low, high = model.predict_interval(X_new, 0.9)
    assert np.mean((low <= y_new) & (y_new <= high)) == pytest.approx(0.9, abs=0.05)
    score = [r.log_predictive_density(X_new, y_new).mean() for r in (model, alone)]
    assert score[0] > score[1] - 0.06


def test_few_rows_are_one_machine(train):
    X, y = train[0][:120], train[1][:120]
    model = BayesianSVRCommittee(**QUICK).fit(X, y)
    alone = BayesianSVR(beta="papers", random_state=0).fit(X, y)
    assert model.n_experts_ == 1
    assert model.variance_scale_ == 1.0
    assert model.log_evidence_ == pytest.approx(alone.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-6)


def test_units(committee, train):
    """Other units of the targets change the numbers by their factor and nothing else."""
    X, y, _ = train
    other = BayesianSVRCommittee(**QUICK).fit(X, 100.0 * y - 7.0)
    rows = X[:20]
    mean, sd = committee.predict(rows, return_std=True)
    mean_2, sd_2 = other.predict(rows, return_std=True)
    np.testing.assert_allclose(mean_2, 100.0 * mean - 7.0, rtol=1e-4)
    np.testing.assert_allclose(sd_2, 100.0 * sd, rtol=1e-3)
    used = 600 - committee.held_out_.size
    shift = other.log_evidence_ - committee.log_evidence_
    assert shift == pytest.approx(-used * np.log(100.0), abs=0.1)


def test_ard(train):
    rng = np.random.default_rng(3)
    X = np.column_stack([train[0], rng.normal(size=(600, 1))])
    model = BayesianSVRCommittee(ard=True, **QUICK).fit(X, train[1])
    assert model.relevance_.argmin() == 2
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("bad", "seen"),
    [
        ({"expert_size": 3}, "3"),
        ({"partition": "sorted"}, "'sorted'"),
        ({"combine": "mean"}, "'mean'"),
        ({"kernel": "precomputed"}, "'precomputed'"),
    ],
)
def test_bad_parameters(train, bad, seen):
    with pytest.raises(ValueError, match=seen):
        BayesianSVRCommittee(**bad).fit(train[0], train[1])


# ---- however it is run --------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_change_nothing(committee, train, backend):
    with joblib.parallel_config(backend=backend):
        other = clone(committee).set_params(n_jobs=2).fit(train[0], train[1])
    assert other.log_evidence_ == pytest.approx(committee.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(other.predict(train[0][:9]), committee.predict(train[0][:9]))


def test_a_worker_that_is_killed(committee, train, monkeypatch):
    """Its tasks run again on what is left of a real cluster, and the result is complete."""
    import distributed

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    killed = []

    with (
        distributed.LocalCluster(processes=True, **settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = client.submit(os.getpid, pure=False).result()
        evaluate = bsvm.estimators.experts.SumOfEvidences.__call__

        def and_kill(self, x):
            if self.evaluations == 3:
                timer = threading.Timer(0.005, os.kill, (victim, signal.SIGKILL))
                timer.start()
                killed.append(victim)
            return evaluate(self, x)

        monkeypatch.setattr(bsvm.estimators.experts.SumOfEvidences, "__call__", and_kill)
        with joblib.parallel_config(backend="dask"):
            other = clone(committee).set_params(n_jobs=2).fit(train[0], train[1])
        wait_until(lambda: not Path(f"/proc/{victim}").exists() or zombie(victim))
    assert killed == [victim]
    assert other.n_experts_ == committee.n_experts_
    assert other.log_evidence_ == pytest.approx(committee.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(other.predict(train[0][:9]), committee.predict(train[0][:9]))


def zombie(pid):
    return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()


def wait_until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_interruption_keeps_the_best_hyperparameters(train, monkeypatch):
    """After it the experts are built all the same, and the warning says so."""
    calls, minimize = [], ascent.minimize

    def cut_short(function, *args, **kwargs):
        def counted(x):
            calls.append(1)
            if len(calls) == 40:
                raise KeyboardInterrupt
            return function(x)

        return minimize(counted, *args, **kwargs)

    monkeypatch.setattr(ascent, "minimize", cut_short)
    with pytest.warns(Warning, match="was interrupted"):
        model = BayesianSVRCommittee(tol=1e-9, **QUICK).fit(train[0], train[1])
    assert not model.converged_
    assert model.n_experts_ == 5
    assert np.isfinite(model.predict(train[0][:3])).all()
