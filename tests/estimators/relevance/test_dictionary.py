"""The columns, kept or made in blocks."""

import numpy as np
import pytest

from pymc_bsvm.estimators import kernels
from pymc_bsvm.estimators.relevance import dictionary as module
from pymc_bsvm.estimators.relevance.dictionary import Dictionary
from tests.estimators.relevance import cases


@pytest.fixture(params=[2**24, 0], ids=["kept", "made"])
def both(request, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 100)  # 5 columns of 20
    X, t = cases.wave(20)
    Phi = cases.columns(X, 0.7)
    return cases.dictionary(X, 0.7, held=request.param), Phi, t


def test_columns_have_unit_length(both):
    dictionary, Phi, _ = both
    lengths = np.linalg.norm(Phi, axis=0)
    np.testing.assert_allclose(dictionary.lengths, lengths, rtol=1e-13)
    for place in (0, 7, 20):
        np.testing.assert_allclose(dictionary.column(place), Phi[:, place] / lengths[place])


def test_sums_over_rows(both):
    dictionary, Phi, t = both
    unit = Phi / np.linalg.norm(Phi, axis=0)
    np.testing.assert_allclose(dictionary.products(t), unit.T @ t, atol=1e-13)


def test_a_matrix_that_is_not_kept_is_made_in_blocks(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 100)
    sizes = []

    class Watched(kernels.RBF):
        def matrix(self, values, X, Z=None):
            K = super().matrix(values, X, Z)
            sizes.append(K.shape)
            return K

    X, t = cases.wave(20)
    Dictionary(Watched(), np.array([1.0, 0.7]), X, True, held=0).products(t)
    assert set(sizes) == {(20, 5)}


def test_a_column_of_zeros_stays_zero():
    X = np.array([[0.0], [1.0], [2.0]])
    dictionary = Dictionary(kernels.Linear(), np.array([1.0]), X, False)
    np.testing.assert_array_equal(dictionary.column(0), 0.0)
    assert dictionary.size == 3
