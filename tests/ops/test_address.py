"""Functions that compiled code calls at their address."""

import numba
import numpy as np
import pytest
from numba import carray, types
from numba.core.errors import TypingError

from pymc_bsvm.covariance.address import call
from pymc_bsvm.losses.numba_language import inlined
from pymc_bsvm.ops.address import compiled_at

SIGNATURE = types.int64(types.int64, types.float64, types.CPointer(types.float64))


def scaling(power):
    """Return a function that multiplies the numbers of an array by a power of a number."""

    @inlined
    def scale(n, factor, x):
        x = carray(x, n)
        for i in range(n):
            x[i] *= factor**power
        return n + power

    return scale


def test_numbers_and_arrays_reach_what_is_called():
    squared, cubed = compiled_at(scaling, SIGNATURE, 2), compiled_at(scaling, SIGNATURE, 3)

    @numba.njit
    def both(x, factor):
        return call(squared(), (x.size, factor, x)), call(cubed(), (2, factor, x[1:]))

    x = np.arange(3.0)
    assert both(x, 0.5) == (5, 5)
    np.testing.assert_array_equal(x, [0.0, 0.5**5, 2.0 * 0.5**5])


def test_the_same_function_is_compiled_once():
    assert compiled_at(scaling, SIGNATURE, 2) is compiled_at(scaling, SIGNATURE, 2)


def test_an_array_with_gaps_is_refused():
    of_gaps = numba.njit(lambda x: call(0, (x[::2],)))
    with pytest.raises(TypingError, match="not contiguous"):
        of_gaps(np.zeros(4))


def test_an_array_of_other_numbers_is_refused():
    of_integers = numba.njit(lambda x: call(0, (x,)))
    with pytest.raises(TypingError, match="does not hold float64"):
        of_integers(np.zeros(4, dtype=np.int64))
