"""Jets: every word and every operation against complex steps or central differences."""

import numpy as np
import pytest

from pymc_bsvm.losses import jet_language as jets
from pymc_bsvm.losses import numba_language, numpy_language

X = np.array([-1.3, -0.4, 0.2, 0.7, 1.9])
STEP = 1e-6


def slope(function, x):
    return (function(x + STEP) - function(x - STEP)) / (2.0 * STEP)


def test_the_words_are_those_of_the_other_languages():
    own = {"Jet", "slopes", "unary", "variables"}
    assert set(jets.__all__) - own == set(numba_language.__all__)


@pytest.mark.parametrize("word", ["abs", "arctan", "erf", "erfc", "exp", "sign", "sin", "tan"])
def test_words(word):
    [x] = jets.variables([X])
    got, known = getattr(jets, word)(x), getattr(numpy_language, word)
    np.testing.assert_allclose(got.value, known(X))
    np.testing.assert_allclose(jets.slopes(got, 1)[0] + 0.0 * X, slope(known, X), atol=1e-8)
    np.testing.assert_allclose(getattr(jets, word)(X), known(X))


@pytest.mark.parametrize("word", ["log", "log1p", "sqrt"])
def test_words_of_positive_numbers(word):
    [x] = jets.variables([np.abs(X)])
    got, known = getattr(jets, word)(x), getattr(numpy_language, word)
    np.testing.assert_allclose(got.value, known(np.abs(X)))
    np.testing.assert_allclose(jets.slopes(got, 1)[0], slope(known, np.abs(X)), rtol=1e-7)


OPERATIONS = {
    "sum": lambda x, y: 2.0 + x + y + X,
    "difference": lambda x, y: 2.0 - x - y - X,
    "product": lambda x, y: 3.0 * x * y * X,
    "ratio": lambda x, y: 1.0 / x + x / y + X / y,
    "power": lambda x, y: x**2 * (y * y) ** 0.5,
    "negative": lambda x, y: -x * -y,
    "larger": lambda x, y: jets.maximum(x, y) + jets.maximum(x, 0.0),
    "smaller": lambda x, y: jets.minimum(x, y) * jets.minimum(0.0, y),
    "clipped": lambda x, y: jets.clip(x, -1.0, 1.0) * y,
    "chosen": lambda x, y: jets.where(x > y, x * x, y) + jets.where((x <= y) & (y >= 0), y, 0.0),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    operation, Y = OPERATIONS[name], np.array([0.5, -0.9, 1.1, -0.3, 2.2])
    got = operation(*jets.variables([X, Y]))
    np.testing.assert_allclose(got.value, operation(X, Y))
    of_x, of_y = jets.slopes(got, 2)
    np.testing.assert_allclose(of_x + 0.0 * X, slope(lambda x: operation(x, Y), X), atol=1e-7)
    np.testing.assert_allclose(of_y + 0.0 * X, slope(lambda y: operation(X, y), Y), atol=1e-7)


def test_constants_have_no_slopes():
    assert jets.slopes(3.0, 2) == [0.0, 0.0]
    np.testing.assert_array_equal(jets.where(X > 0.0, 1.0, 2.0), np.where(X > 0.0, 1.0, 2.0))


def test_what_does_not_vary_costs_no_arrays():
    x, y, z = jets.variables([X, 2.0, 3.0])
    got = jets.where(X > 0.0, jets.exp(x * y) / y + x, -x)
    of_x, of_y, of_z = jets.slopes(got, 3)
    assert np.shape(of_x) == np.shape(of_y) == X.shape
    assert isinstance(of_z, float)
    assert of_z == jets.slopes(x / (y * y), 3)[2] == 0.0
    assert jets.slopes(x + y + z, 3) == [1.0, 1.0, 1.0]


def test_a_slope_of_zero_is_zero_where_a_value_is_not_finite():
    x, y = jets.variables([np.array([0.0, 1.0]), 2.0])
    with np.errstate(all="ignore"):
        infinite = jets.log(x)
    assert jets.slopes(infinite * y, 2)[1].tolist() == [-np.inf, 0.0]
    assert jets.slopes(infinite, 2)[1] == 0.0
