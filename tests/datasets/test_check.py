import numpy as np
import pytest

from pymc_bsvm.datasets import check


@pytest.mark.parametrize("n", [1, 7, np.int64(7)])
def test_rows_returns_an_int(n):
    assert check.rows(n) == n
    assert type(check.rows(n)) is int


@pytest.mark.parametrize(
    ("n", "error"), [(0, ValueError), (-3, ValueError), (2.0, TypeError), (True, TypeError)]
)
def test_rows_refuses(n, error, refuses):
    with refuses(error, f"n = {n!r} "):
        check.rows(n)


@pytest.mark.parametrize(
    ("value", "error"),
    [(np.nan, ValueError), (np.inf, ValueError), ("1", TypeError), (True, TypeError)],
)
def test_real_refuses(value, error, refuses):
    with refuses(error, "a must ", str(value)):
        check.real("a", value)


def test_scale():
    assert check.scale("s", 0) == 0.0
    assert check.scale("s", np.float32(0.5)) == 0.5


def test_scale_refuses_negative(refuses):
    with refuses(ValueError, "0 <= s", "-0.5"):
        check.scale("s", -0.5)


@pytest.mark.parametrize("value", [0, 0.25, 1])
def test_share(value):
    assert check.share("p", value) == value


@pytest.mark.parametrize("value", [-1e-9, 1.0000001])
def test_share_refuses(value, refuses):
    with refuses(ValueError, "0 <= p <= 1", str(value)):
        check.share("p", value)


def test_choice():
    assert check.choice("k", 2, (1, 2)) == 2


@pytest.mark.parametrize("value", [3, "2", None, True])
def test_choice_refuses(value, refuses):
    with refuses(ValueError, f"k = {value!r} ", "1, 2"):
        check.choice("k", value, (1, 2))


def test_generator_continues_a_generator():
    rng = np.random.default_rng(3)
    assert check.generator(rng) is rng
    first, second = check.generator(np.int32(3)).random(), np.random.default_rng(3).random()
    assert first == second


def test_generator_of_none_is_fresh():
    assert check.generator(None).random() != check.generator(None).random()


@pytest.mark.parametrize(
    ("seed", "error"), [(-1, ValueError), (1.5, TypeError), ("a", TypeError), (True, TypeError)]
)
def test_generator_refuses(seed, error, refuses):
    with refuses(error, f"random_state = {seed!r} "):
        check.generator(seed)
