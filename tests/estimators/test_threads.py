"""How many threads BLAS has in fits, and after them."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from pymc_bsvm.estimators import BayesianSVC, BayesianSVR, BayesianSVRCommittee, blas_threads
from pymc_bsvm.estimators.base import BayesianMachine
from pymc_bsvm.estimators.threads import few_threads


def threads() -> int:
    """Return the largest number of threads of any BLAS."""
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


@pytest.fixture(autouse=True)
def _two_threads():
    with threadpool_limits(2, user_api="blas"):
        if threads() < 2:
            pytest.skip("BLAS has one thread")
        yield


class Seen:
    """What a fit sees."""

    @few_threads
    def fit(self, X, y=None):
        return threads()


@pytest.mark.parametrize("X", [np.zeros((4000, 1)), [[0.0]], ([0.0], [1.0])], ids=str)
def test_a_small_fit_has_one_thread(X):
    assert Seen().fit(X) == Seen().fit(X=X) == 1
    assert threads() == 2


def test_a_large_fit_has_those_of_blas():
    assert Seen().fit(np.zeros((4001, 1))) == 2


def test_threads_that_were_chosen():
    with blas_threads():
        assert Seen().fit([[0.0]]) == 2
    with blas_threads(1):
        assert Seen().fit(np.zeros((4001, 1))) == 1
    with threadpool_limits(1, user_api="blas"), blas_threads(2):
        assert Seen().fit([[0.0]]) == 2
    assert threads() == 2
    assert Seen().fit([[0.0]]) == 1


def test_fits_in_threads_leave_no_limit_behind():
    entered, leave = threading.Event(), threading.Event()

    class Waits:
        @few_threads
        def fit(self, X):
            entered.set()
            leave.wait(60.0)

    class Outer:
        @few_threads
        def fit(self, X):
            other.start()
            entered.wait(60.0)

    other = threading.Thread(target=Waits().fit, args=([[0.0]],))
    Outer().fit([[0.0]])
    leave.set()
    other.join()
    assert threads() == 2


def test_a_fit_that_fails_lifts_the_limit():
    class Fails:
        @few_threads
        def fit(self, X):
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        Fails().fit([[0.0]])
    assert threads() == 2


@pytest.mark.parametrize("estimator", [BayesianSVR, BayesianSVC, BayesianSVRCommittee])
def test_fits_are_limited(estimator, monkeypatch):
    seen = []
    prepare = BayesianMachine._prepare

    def watched(self, *args):
        seen.append(threads())
        return prepare(self, *args)

    monkeypatch.setattr(BayesianMachine, "_prepare", watched)
    X = np.linspace(-2.0, 2.0, 24)[:, None]
    estimator(tol=1.0, max_iter=2).fit(X, np.arange(24) % 2)
    assert set(seen) == {1}


SIZES = {"dense": (150, None), "inducing": (4500, 20)}


@pytest.mark.parametrize("name", SIZES)
def test_predictions_do_not_depend_on_the_threads_of_blas(name):
    """Fits are the same number by number; a product of new rows adds in another order at most."""
    n, inducing = SIZES[name]
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (n, 2))
    y = np.sin(X[:, 0]) * np.cos(X[:, 1]) + 0.1 * rng.normal(size=n)
    found = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="blas"):
            model = BayesianSVR(inducing=inducing, tol=0.1, random_state=0).fit(X, y)
            found.append((model.log_evidence_, *model.predict(X[:500], return_std=True)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-8, atol=1e-8)


def test_probabilities_do_not_depend_on_the_threads_of_blas():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=120) > 0.0).astype(int)
    found = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="blas"):
            found.append(BayesianSVC(tol=0.1, random_state=0).fit(X, y).predict_proba(X))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-8)
