"""The same fit of the same rows, wherever they come from and whoever works on them."""

import joblib
import numpy as np
import pytest

from pymc_bsvm.estimators import BayesianSVR, ladder

N = 900
RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (N, 2)).astype(np.float32).astype(np.float64)
Y = np.sin(2.0 * X[:, 0]) * np.cos(X[:, 1]) + 0.2 * RNG.standard_t(3, N)


@pytest.fixture(scope="module", autouse=True)
def low_ladder():
    """Let few rows be many, to be fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ladder, "_DENSE", 100)
        patch.setattr(ladder, "_FEW", (400, 15))
        yield


def fitted(*data, **settings):
    return BayesianSVR(inducing=15, tol=0.5, random_state=0, **settings).fit(*data)


@pytest.fixture(scope="module")
def alone():
    return fitted(X, Y)


def assert_same(model, alone):
    assert model.log_evidence_ == alone.log_evidence_
    np.testing.assert_array_equal(model.predict(X[:50]), alone.predict(X[:50]))


def test_memory_mapped_rows(alone, tmp_path):
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    with joblib.parallel_config(backend="threading"):
        assert_same(fitted(mapped, Y, n_jobs=2), alone)


def test_rows_of_dask(alone):
    da = pytest.importorskip("dask.array")
    assert_same(fitted(da.from_array(X, chunks=(N, 2)), da.from_array(Y, chunks=N)), alone)


def test_blocks(alone):
    assert_same(fitted(lambda: [(X, Y)]), alone)
    several = fitted(lambda: zip(np.split(X, 3), np.split(Y, 3), strict=True))
    np.testing.assert_allclose(several.predict(X[:50]), alone.predict(X[:50]), atol=1e-3)


def test_a_source_that_is_read_in_blocks_needs_inducing_points():
    with pytest.raises(ValueError, match=r"inducing is None\. Set inducing='auto'"):
        BayesianSVR().fit(lambda: [(X, Y)])
