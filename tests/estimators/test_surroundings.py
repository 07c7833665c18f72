"""Poor surroundings: no memory, no cache, no disk, and Ctrl-C."""

import errno
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import joblib
import numba
import numpy as np
import pytest
from numba.core import caching
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import pymc_bsvm
from pymc_bsvm import _numba, laplace_evidence, solve_dual
from pymc_bsvm.estimators import (
    BayesianSVC,
    BayesianSVR,
    OnlineSVR,
    RelevanceVectorRegressor,
    SVMClassifier,
    SVMRegressor,
    fitting,
    room,
)
from pymc_bsvm.estimators.machine import MachineEvidence
from pymc_bsvm.estimators.online.machine import OnlineMachine
from pymc_bsvm.estimators.relevance.regression import Regression
from pymc_bsvm.estimators.svm import machine as svm_machine
from pymc_bsvm.losses import SILF
from pymc_bsvm.solvers import dual
from pymc_bsvm.streamed.passes import Passes
from tests.refusal import refused

RNG = np.random.default_rng(0)
X = RNG.uniform(-3.0, 3.0, (300, 2))
Y = np.sin(X[:, 0]) + 0.2 * RNG.normal(size=300)

# ---- memory -------------------------------------------------------------------------------------


@pytest.fixture
def a_megabyte(monkeypatch):
    monkeypatch.setattr(room, "available", lambda: 2.0**20)


@pytest.mark.usefixtures("a_megabyte")
def test_too_little_memory_is_seen_before_it_is_taken():
    """Six matrices of 300 rows are 4.3 MB."""
    with refused(MemoryError, "Kernel matrices of 300 rows take about 0.00402 GiB", "inducing="):
        BayesianSVR().fit(X, Y)
    with refused(MemoryError, "of 300 rows", "inducing=500"):
        SVMRegressor().fit(X, Y)
    assert BayesianSVR(tol=1.0).fit(X[:80], Y[:80]).n_iter_ > 0


def test_where_memory_is_not_known_nothing_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(room, "_of_machine", lambda: None)
    monkeypatch.setattr(room, "_GROUP", tmp_path)
    assert room.available() is None
    room.check_room(10**9, 1.0, "Do not.")


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(room, "_GROUP", tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("50\n")
    machine = room.available()
    assert machine is None or machine > 2.0**20
    (tmp_path / "memory.max").write_text("150\n")
    assert room.available() == 100.0


# ---- Numba's cache ------------------------------------------------------------------------------


def run(code, cwd, **environment):
    """Return what a fresh interpreter says in a folder."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_folder_to_write_to(tmp_path):
    """The home is read-only, the cache is nowhere, and files stand where folders would be made."""
    copy = tmp_path / "pymc_bsvm"
    source = Path(pymc_bsvm.__file__).parent
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (copy, *(each for each in copy.rglob("*") if each.is_dir())):
        (folder / "__pycache__").touch()
    nowhere = str(tmp_path / "pymc_bsvm" / "__pycache__" / "none")
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), nowhere)
    done = run(
        "from pymc_bsvm.estimators import BayesianSVR",
        tmp_path,
        PYTHONPATH=str(tmp_path),
        **places,
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: Numba finds no folder to keep compiled code in")
    assert "Set the environment variable NUMBA_CACHE_DIR" in last


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """Return a function that keeps compiled code in a folder of its own, and that folder."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    source = tmp_path / "doubled.py"
    source.write_text("def doubled(x):\n    return 2.0 * x\n")
    names: dict = {}
    exec(compile(source.read_text(), str(source), "exec"), names)
    return lambda: numba.njit(cache=True)(names["doubled"])(2.0)


def test_a_damaged_cache(cached, tmp_path):
    assert cached() == 4.0
    for index in tmp_path.rglob("*.nbi"):
        index.write_bytes(index.read_bytes()[:7])
    with (
        refused(RuntimeError, str(tmp_path), "seems to be damaged", "Delete that folder"),
        _numba.explained_numba(),
    ):
        cached()


def test_a_full_disk(cached, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(caching.tempfile, "NamedTemporaryFile", full, raising=False)
    monkeypatch.setattr(caching, "open", full, raising=False)
    with (
        pytest.raises(OSError, match=r"No space left on device\. Free space there") as caught,
        _numba.explained_numba(),
    ):
        cached()
    assert caught.value.errno == errno.ENOSPC
    assert str(tmp_path) in str(caught.value)


def test_other_errors_are_left_as_they_are():
    with pytest.raises(ZeroDivisionError), _numba.explained_numba():
        1 / 0  # noqa: B018


@pytest.mark.parametrize(
    "call",
    [
        lambda: BayesianSVR().fit(X, Y),
        lambda: solve_dual(np.eye(2), [0.0, 1.0], SILF(1.0, 0.1)),
        lambda: laplace_evidence(np.eye(2), [0.0, 1.0], SILF(1.0, 0.1)),
    ],
    ids=["fit", "solve_dual", "evidence"],
)
def test_fits_and_the_solver_explain_it(call, monkeypatch):
    """They stand inside the context, which is what names the folder."""
    seen = []

    def failing(*_):
        raise EOFError("Ran out of input")

    monkeypatch.setattr(dual, "interpreted_solver", failing)
    monkeypatch.setattr(_numba, "_cache_of", lambda traceback: seen.append(1) or "there")
    with pytest.raises(RuntimeError, match="in there, which seems to be damaged"):
        call()
    assert seen


# ---- saving -------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_saving_to_a_full_disk_says_so_and_the_estimator_stays():
    model = BayesianSVR(tol=1.0).fit(X[:40], Y[:40])
    expected = model.predict(X)
    with pytest.raises(OSError, match="No space left on device"):
        Path("/dev/full").write_bytes(pickle.dumps(model))
    with pytest.raises(OSError, match="No space left on device"):
        joblib.dump(model, "/dev/full")
    np.testing.assert_array_equal(model.predict(X), expected)


# ---- Ctrl-C -------------------------------------------------------------------------------------

# What is fitted, and a function that the fit calls again and again.
FITS = {
    "dense": (lambda: BayesianSVR(tol=1e-3, random_state=0), Y, MachineEvidence, "__call__"),
    "inducing": (lambda: BayesianSVR(inducing=30, random_state=0), Y, Passes, "run"),
    "classes": (
        lambda: BayesianSVC(random_state=0),
        np.arange(300) % 3,
        MachineEvidence,
        "__call__",
    ),
    "online": (lambda: OnlineSVR(n_sweeps=2), Y, OnlineMachine, "_visit"),
    "relevance": (lambda: RelevanceVectorRegressor(), Y, Regression, "renew"),
    "svm": (
        lambda: SVMClassifier(C=1e6, multiclass="dag"),
        np.arange(300) % 9,
        svm_machine,
        "solve_dual",
    ),
}


@pytest.fixture
def pressed(monkeypatch):
    """Return a function that has Ctrl-C pressed in a call of another, by a real signal."""

    def during(owner, name, number):
        function, calls = getattr(owner, name), []

        def counted(*args, **kwargs):
            calls.append(1)
            if len(calls) == number:
                os.kill(os.getpid(), signal.SIGINT)
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)
        return calls

    return during


def test_an_interruption_in_compiled_code_is_one():
    @_numba.explained_numba()
    def compiled(cause):
        raise SystemError("returned a result with an exception set") from cause

    with pytest.raises(KeyboardInterrupt):
        compiled(KeyboardInterrupt())
    with pytest.raises(SystemError, match="exception set"):
        compiled(None)


@pytest.mark.parametrize("number", [1, 3, 9])
@pytest.mark.parametrize("name", FITS)
def test_an_interrupted_fit_is_whole_or_not_there(name, number, pressed):
    """Whenever the signal comes: a fit to the end of what is known, or no trace of it."""
    make, y, owner, called = FITS[name]
    model, new = make(), X[:5]
    calls = pressed(owner, called, number)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it may be told of what it was kept from
            model.fit(X, y)
    except KeyboardInterrupt:
        assert vars(model) == vars(make())
        with pytest.raises(NotFittedError):
            model.predict(new)
    else:
        assert len(model.predict(new)) == 5
    assert len(calls) >= number


def test_an_interrupted_fit_keeps_the_one_before():
    model = BayesianSVR(tol=1.0, random_state=0).fit(X[:40], Y[:40])
    expected = model.predict(X)
    model.set_params(tol=1e-9)

    class Interrupting:
        shape = (300, 2)

        def __array__(self, *_, **__):
            os.kill(os.getpid(), signal.SIGINT)
            return X

    with pytest.raises(KeyboardInterrupt):
        model.fit(Interrupting(), Y)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert model.n_features_in_ == 2


def test_a_failed_fit_keeps_the_one_before():
    model = BayesianSVR(tol=1.0, random_state=0).fit(X[:40], Y[:40])
    before = dict(vars(model))
    with pytest.raises(ValueError, match="finite"):
        model.fit(X[:40, :1], np.full(40, np.nan))
    assert vars(model) == before


def test_only_what_was_set_by_the_fit_is_taken_back():
    class Fails:
        def __init__(self):
            self.alpha = 1.0

        @fitting.fitting
        def fit(self, X):
            self.beta = 2.0
            raise KeyboardInterrupt

    one = Fails()
    with pytest.raises(KeyboardInterrupt):
        one.fit([[0.0]])
    assert vars(one) == {"alpha": 1.0}


def test_an_interrupted_path_keeps_the_machines_that_are_done():
    def values():
        yield 1.0
        yield 2.0
        os.kill(os.getpid(), signal.SIGINT)
        yield 3.0

    with pytest.warns(ConvergenceWarning, match="interrupted after 2 values of C"):
        models = SVMRegressor().path(X, Y, values())
    assert [model.C for model in models] == [1.0, 2.0]
    again = SVMRegressor(C=2.0).fit(X, Y)
    np.testing.assert_allclose(models[1].predict(X), again.predict(X), atol=1e-5)


def test_an_interrupted_class_is_no_classifier(monkeypatch):
    """The first of three classes: nothing is known of the others."""
    from pymc_bsvm.estimators.machine import MachineEvidence

    evaluate, calls = MachineEvidence.__call__, []

    def interrupted(self, x):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return evaluate(self, x)

    monkeypatch.setattr(MachineEvidence, "__call__", interrupted)
    model = BayesianSVC(tol=1e-6, approximation="laplace")
    with (
        pytest.warns(ConvergenceWarning, match="interrupted"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(X[:60], np.digitize(X[:60, 0], [-1.0, 1.0]))
    assert not hasattr(model, "classes_")
