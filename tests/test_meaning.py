"""What a function means to compiled code."""

import enum
import functools
import math
import subprocess
import sys
import types as python
from collections import namedtuple

import numba
import numpy as np
import pytest
from numba import types
from pytensor.link.numba.dispatch.basic import numba_funcify_and_cache_key

from pymc_bsvm import losses
from pymc_bsvm._meaning import meaning
from pymc_bsvm.covariance.address import apart
from pymc_bsvm.evidence.compiled_marginals import (
    covariance_slopes,
    dense_marginals,
    low_rank_marginals,
)
from pymc_bsvm.evidence.compiled_propagation import propagation
from pymc_bsvm.evidence.compiled_tilted import averages
from pymc_bsvm.graph.integrate import Attach
from pymc_bsvm.losses.numba_language import function
from pymc_bsvm.ops.free_solve import FreeSolve
from pymc_bsvm.ops.log_det import LogDet, LogDetGradient
from pymc_bsvm.ops.support_rows import SupportRows
from pymc_bsvm.solvers.weighted import compiled, compiled_envelope
from pymc_bsvm.solvers.whiten import whiten, whiten_back
from tests.losses.test_new_loss import Skewed

Pair = namedtuple("Pair", "low high")


class Sign(enum.Enum):
    UP = 1
    DOWN = -1


def scaling(factor):
    """Return a function that encloses a value."""
    return lambda x: x * factor


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (2, 3),
        (2, 2.0),
        (0.0, -0.0),
        (True, 1),
        ("a", b"a"),
        (None, ...),
        (np.float64(2.0), np.float32(2.0)),
        (np.arange(3.0), np.arange(3)),
        (np.arange(4.0), np.arange(4.0).reshape(2, 2)),
        (np.arange(3.0), np.array([0.0, 1.0, 2.5])),
        ((1, 2), [1, 2]),
        ((1, 2), Pair(1, 2)),
        (Pair, namedtuple("Pair", "high low")),
        ({"a": 1}, {"a": 2}),
        (frozenset("ab"), frozenset("ac")),
        ({"a", "b"}, {"a", "c"}),
        (np.where, np.clip),
        (Sign.UP, Sign.DOWN),
        (np.exp, np.log),
        (len, sum),
        (float, int),
        (types.float64[::1], types.float64[:]),
        (numba, np),
        (scaling(1), scaling(2)),
        (scaling(scaling(1)), scaling(scaling(2))),
        (numba.njit(scaling(1)), numba.njit(scaling(2))),
        (numba.njit(scaling(1)), numba.njit(scaling(1), fastmath=True)),
        (numba.njit(scaling(1)), numba.njit(scaling(1), locals={"x": types.float32})),
        (numba.njit("f8(f8)")(scaling(1)), numba.njit("f4(f4)")(scaling(1))),
        (slice(1), slice(2)),
        (Sign, enum.Enum("Sign", {"UP": 1, "DOWN": -2})),
        (lambda x: len(x), lambda *x: len(x)),
        (lambda x, a=1: a, lambda x, a=2: a),
        (lambda x, *, a=1: a, lambda x, *, a=2: a),
        (lambda x: x + 1, lambda x: x + 2),
        (lambda x: x + 1, lambda x: x - 1),
        (lambda x: (lambda y: y + 1)(x), lambda x: (lambda y: y + 2)(x)),
    ],
)
def test_values_that_a_function_encloses(one, other):
    assert meaning(scaling(one)) == meaning(scaling(one))
    assert meaning(scaling(one)) != meaning(scaling(other))


def made(source, name="f", **names):
    """Return a function of a module with this source."""
    names |= {"__name__": "elsewhere"}
    exec(source, names)
    return names[name]


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("def g(x): return 2 * x\ndef f(x): return g(x)", "def g(x): return 3 * x"),
        ("c = 2.0\ndef f(x): return c * x", "c = 3.0"),
        ("c = 2.0\ndef f(x): return (lambda y: c * y)(x)", "c = 3.0"),
        ("c = None\ndef f(x): return x if c is None else 0.0", "c = 3.0"),
        ("c = 2.0\ndef g(x): return c * x\ndef f(x): return g(x)", "c = 3.0"),
    ],
)
def test_globals_that_a_function_reads(source, changed):
    assert meaning(made(source)) == meaning(made(f"# words\n\n{source}\nunread = object()"))
    assert meaning(made(source)) != meaning(made(f"{source}\n{changed}"))


def test_what_a_function_reads_of_a_module():
    def side(factor):
        module = python.ModuleType("sides")
        exec(f"def side(x): return {factor} * x\nunread = object()", vars(module))
        return module

    source = "def f(x): return sides.side(x)"
    assert meaning(made(source, sides=side(2))) == meaning(made(source, sides=side(2)))
    assert meaning(made(source, sides=side(2))) != meaning(made(source, sides=side(3)))
    enclosed = [(lambda sides: lambda x: sides.side(x))(side(factor)) for factor in (2, 2, 3)]
    assert meaning(enclosed[0]) == meaning(enclosed[1]) != meaning(enclosed[2])


def test_a_module_of_which_nothing_can_be_said():
    module = python.ModuleType("sides")
    module.side = scaling(2)
    assert meaning(made("def f(x): return sides.side(x)", sides=module)) is not None
    assert meaning(made("def f(x):\n s = sides\n return s.side(x)", sides=module)) is None
    assert meaning(made("def f(x): return sides.other(x)", sides=module)) is None


def test_the_name_of_another_function_does_not_count():
    def renamed(factor):
        return functools.wraps(math.exp)(scaling(factor))

    assert renamed(2).__module__ == "math"
    assert meaning(renamed(2)) == meaning(renamed(2)) != meaning(renamed(3))


def test_docstrings_do_not_count():
    source = "def f(x):\n '{}.'\n return {} * x"
    texts = ("One", 2), ("Another", 2), ("One", 3)
    one, same, other = (meaning(made(source.format(*text))) for text in texts)
    assert one == same != other


def test_functions_of_the_package_are_known():
    ops = FreeSolve(), LogDet(), LogDetGradient(), SupportRows(), Attach(1.0)
    keys = {numba_funcify_and_cache_key(op)[1] for op in ops}
    assert None not in keys
    assert len(keys) == len(ops)
    makers = dense_marginals, low_rank_marginals, covariance_slopes, propagation
    functions = [whiten, whiten_back, averages(losses.SILF), *(make() for make in makers)]
    assert len({meaning(f) for f in functions} - {None}) == len(functions)


def test_functions_that_call_each_other():
    source = "def f(x): return g(x - 1) if x > 0 else {}\ndef g(x): return f(x)"
    assert meaning(made(source.format(1))) == meaning(made(source.format(1)))
    assert meaning(made(source.format(1))) != meaning(made(source.format(2)))


@pytest.mark.parametrize(
    "value",
    [object(), np.array([None]), np.random.default_rng(), Skewed, losses.Huber(1.0, 0.1).value],
)
def test_objects_of_unknown_kinds(value):
    assert meaning(scaling(value)) is None


def family(power):
    """Return a loss that is another for each power, under one name."""

    class Powered(Skewed):
        @staticmethod
        def formulas(xp):
            stated = Skewed.formulas(xp)
            value = xp.function(stated.value)

            def powered(y, f, *p):
                return power * value(y, f, *p)

            return stated._replace(value=powered)

        @staticmethod
        def stiffness(*p):
            return power * p[0]

        envelope_type = Skewed

    return Powered


def test_losses_of_one_name_are_told_apart():
    one, same, other = (compiled(family(power)).loss for power in (1.0, 1.0, 2.0))
    assert meaning(one) == meaning(same) != meaning(other)
    one, same, other = (compiled_envelope(family(power)).stiffness for power in (1.0, 1.0, 2.0))
    assert meaning(one) == meaning(same) != meaning(other)


def test_a_part_means_what_its_parts_do():
    """What calls a compiled part holds its symbol, so that it has to change with it."""

    def outer(power):
        @function
        def inner(x):
            return x**power

        call = apart(inner, (types.float64,)).call
        return function(lambda x: call(x) + 1.0)

    assert meaning(outer(2)) == meaning(outer(2)) != meaning(outer(3))


SCRIPT = """
from numba import types
from pymc_bsvm import losses
from pymc_bsvm.covariance import address
from pymc_bsvm.covariance.dense import DENSE
from pymc_bsvm.covariance.woodbury import WOODBURY
from pymc_bsvm.losses.numba_language import inlined
from pymc_bsvm.solvers import core

def named(function, arguments):
    symbol, kept = address.symbol_of(inlined(function.py_func), arguments)
    assert kept
    print(symbol)
    return address.Apart(None, address._caller(symbol, arguments, types.float64))

core.apart = named
for name in losses.__all__:
    loss_type = getattr(losses, name)
    if isinstance(loss_type, type) and issubclass(loss_type, losses.Loss) and "Loss" not in name:
        for covariance in (DENSE, WOODBURY):
            core.compiled_solver(loss_type, covariance)
"""


def test_all_processes_read_the_same_of_all_solvers():
    """Hashes of strings differ from process to process, and so do addresses."""
    command = [sys.executable, "-c", SCRIPT]
    first, second = (
        subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
        for _ in range(2)
    )
    assert first == second
    assert len(set(first)) > 50
