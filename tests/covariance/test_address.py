"""Functions that are compiled by themselves: called, kept on disk, and told apart."""

import itertools
import json
import os
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest
from numba import types
from numba.core.bytecode import FunctionIdentity

from pymc_bsvm._numba import names_of_their_own
from pymc_bsvm.covariance.address import apart
from pymc_bsvm.losses.numba_language import function

VECTOR = types.float64[::1]


def scaling(power):
    """Return a function of an array and a number, compiled by itself."""

    @function
    def scaled(x, factor, checked):
        if checked and x.size == 0:
            raise ValueError("There is nothing to scale.")
        return x * factor**power, x.size + power

    return apart(scaled, (VECTOR, types.float64, types.boolean))


def test_python_and_compiled_code_call_the_same():
    squared, cubed = scaling(2), scaling(3)
    by_square, by_cube = squared.call, cubed.call

    @numba.njit
    def both(x):
        first, n = by_square(x, 2, False)  # an integer in the place of a number
        second, m = by_cube(first, 0.5, True)
        return first, second, n + m

    x = np.arange(3.0)
    first, second, total = both(x)
    np.testing.assert_array_equal(first, 4.0 * x)
    np.testing.assert_array_equal(second, 0.5 * x)
    assert total == 11
    np.testing.assert_array_equal(squared.run(x, 2.0, False)[0], first)


def test_an_error_reaches_the_caller():
    call = scaling(2).call
    outer = numba.njit(lambda x: call(x, 1.0, True)[1])
    assert outer(np.ones(2)) == 4
    for _ in range(3):
        with pytest.raises(ValueError, match="nothing to scale"):
            outer(np.empty(0))


def test_a_number_in_the_place_of_an_array_is_refused():
    call = scaling(2).call
    with pytest.raises(numba.core.errors.NumbaError):
        numba.njit(lambda x: call(x, 1.0, True))(1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x[::2], "An argument is .*Convert it to"),
        (lambda x: x.astype(np.int64), "An argument is .*Convert it to"),
        (lambda x: (x, x), "An argument is .*Convert it to"),
    ],
)
def test_other_arrays_are_refused(change, message):
    call, changed = scaling(2).call, numba.njit(change)
    with pytest.raises(numba.core.errors.TypingError, match=message):
        numba.njit(lambda x: call(changed(x), 1.0, True))(np.ones(4))


def test_arrays_that_cannot_be_written_to_are_refused():
    call, x = scaling(2).call, np.ones(4)
    x.flags.writeable = False
    with pytest.raises(numba.core.errors.TypingError, match="Convert it to"):
        numba.njit(lambda x: call(x, 1.0, True))(x)


def test_a_number_is_not_truncated_to_an_integer():
    @function
    def doubled(n):
        return 2 * n

    call = apart(doubled, (types.int64,)).call
    assert numba.njit(lambda n: call(n))(3) == 6
    with pytest.raises(numba.core.errors.TypingError, match="An argument is float64"):
        numba.njit(lambda n: call(n))(3.5)


def test_another_number_of_arguments_is_refused():
    call = scaling(2).call
    with pytest.raises(numba.core.errors.TypingError, match=r"2 arguments are given\. Pass 3"):
        numba.njit(lambda x: call(x, 1.0))(np.ones(4))


def test_the_counter_of_names_is_left_as_it_was(monkeypatch):
    counter = itertools.count(1)
    monkeypatch.setattr(FunctionIdentity, "_unique_ids", counter)
    scaling(4)
    assert FunctionIdentity._unique_ids is counter


def test_a_counter_that_came_in_the_meantime_stays(monkeypatch):
    """PyTensor replaces it for good; another thread may do that while a function is compiled."""
    monkeypatch.setattr(FunctionIdentity, "_unique_ids", itertools.count(1))
    random = iter(lambda: 1, None)
    with names_of_their_own():
        FunctionIdentity._unique_ids = random
    assert FunctionIdentity._unique_ids is random


def test_threads_do_not_take_each_others_names(monkeypatch):
    """One leaves while another compiles; the names of the latter are still its own."""
    counter = itertools.count(1)
    monkeypatch.setattr(FunctionIdentity, "_unique_ids", counter)
    entered, left, given = threading.Event(), threading.Event(), []

    def compiling():
        with names_of_their_own():
            entered.set()
            left.wait()
            given.append(next(FunctionIdentity._unique_ids))

    thread = threading.Thread(target=compiling)
    with names_of_their_own():
        thread.start()
        assert not entered.wait(0.2)
    left.set()
    thread.join()
    assert given[0] > 2**64
    assert FunctionIdentity._unique_ids is counter


def test_equal_functions_share_code_and_others_do_not(tmp_path, monkeypatch):
    """Known by what they do: a helper of the module counts, a comment does not."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def made(source):
        names = {"__name__": "elsewhere", "njit": function}
        exec(source, names)
        return apart(names["f"], (types.float64,)).run

    source = "@njit\ndef g(x): return {} * x\n@njit\ndef f(x): return g(x) + 1.0\n"
    first, again, other = (made(source.format(text)) for text in ("2.0", "2.0 ", "3.0"))
    assert [f(5.0) for f in (first, again, other)] == [11.0, 11.0, 16.0]
    assert [sum(f.stats.cache_hits.values()) for f in (first, again, other)] == [0, 1, 0]


SCRIPT = """
import json
import sys
import numpy as np
from numba import types
from pymc_bsvm.covariance.address import apart
from pymc_bsvm.losses.numba_language import function

def made(power):
    @function
    def inner(x):  # too large for its callers to take it in
        return (np.sort(x) ** power).sum() + np.median(x) + np.argsort(x)[0]

    @function
    def outer(x):
        return inner(x) + inner(2.0 * x)

    return apart(outer, (types.float64[::1],))

found = [made(int(power)) for power in sys.argv[1:]]
print(json.dumps([[f.run(np.ones(1)), sum(f.run.stats.cache_hits.values())] for f in found]))
assert "pytensor" not in sys.modules
"""


def test_what_several_processes_kept_is_not_mixed_up(tmp_path):
    """Each compiles a function of its own under the same name; the last one reads both."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def results(*powers):
        command = [sys.executable, "-W", "error", "-c", SCRIPT, *map(str, powers)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return json.loads(done.stdout)

    assert results(2) == [[8.0, 0]]
    assert results(3) == [[12.0, 0]]
    assert results(2, 3) == [[8.0, 1], [12.0, 1]]
