"""What the first pass finds, against all rows at once."""

import numpy as np
import pytest

from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.rows import ArrayRows
from pymc_bsvm.streamed.summary import summarise

RNG = np.random.default_rng(2)
X, Y = RNG.normal(size=(50, 3)), RNG.normal(size=50)
WEIGHT = np.where(RNG.random(50) < 0.3, 0.0, RNG.uniform(size=50))
WEIGHT[14:21] = 0.0  # a block of nothing


def summary_of(x=X, y=Y, weight=None, size=7, **settings):
    return summarise(Passes(ArrayRows(x, y, weight, size)), **settings)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_moments(weight):
    found = summary_of(weight=weight)
    w = np.ones(50) if weight is None else weight
    for moments, values in ((found.columns, X), (found.targets, Y[:, None])):
        mean = np.average(values, axis=0, weights=w)
        variance = np.average((values - mean) ** 2, axis=0, weights=w)
        assert moments.weight == pytest.approx(w.sum(), rel=1e-14)
        np.testing.assert_allclose(moments.mean, mean, rtol=1e-13)
        np.testing.assert_allclose(moments.spread, np.sqrt(variance), rtol=1e-13)
        np.testing.assert_array_equal(moments.low, values[w > 0].min(axis=0))
        np.testing.assert_array_equal(moments.high, values[w > 0].max(axis=0))
    assert (found.n, found.d) == (np.count_nonzero(w), 3)
    assert found.classes is None
    if weight is None:
        assert found.kept is None
    else:
        np.testing.assert_array_equal(found.kept, weight > 0.0)


def test_a_small_spread_far_from_zero_in_sorted_rows():
    """Sums of squares would have no digit left; blocks that drift keep all but a few."""
    x = np.sort(1e9 + RNG.normal(size=1000))[:, None]
    spread = np.std(x[:, 0] - 1e9)
    assert summary_of(x, np.zeros(1000), size=10).columns.spread[0] == pytest.approx(spread, 1e-7)


def test_constant_columns_have_no_spread():
    x = np.full((50, 1), 0.1)
    np.testing.assert_allclose(summary_of(x).columns.spread, 0.0, atol=1e-16)


@pytest.mark.parametrize("labels", [["b", "a", "c"], [3, -1, 2], [2.0, 0.0, 1.0]])
def test_classes(labels):
    y = np.array(labels)[RNG.integers(0, 3, 50)]
    found = summary_of(y=y, weight=WEIGHT, labels=True)
    np.testing.assert_array_equal(found.classes.labels, np.sort(labels))
    expected = [WEIGHT[y == label].sum() for label in np.sort(labels)]
    np.testing.assert_allclose(found.classes.weight, expected, rtol=1e-14)
    assert found.targets is None


def test_labels_of_rows_without_weight_are_no_classes():
    y = np.where(WEIGHT == 0.0, "nobody", np.where(X[:, 0] > 0, "yes", "no"))
    found = summary_of(y=y, weight=WEIGHT, labels=True)
    assert found.classes.labels.tolist() == ["no", "yes"]


def test_rows_without_weight_may_hold_anything():
    x, y = X.copy(), Y.copy()
    x[WEIGHT == 0.0] = np.nan
    y[WEIGHT == 0.0] = np.inf
    assert summary_of(x, y, WEIGHT).n == np.count_nonzero(WEIGHT)


def bad(values, index, value):
    values = values.copy()
    values[index] = value
    return values


@pytest.mark.parametrize(
    ("arguments", "labels", "message"),
    [
        ({"x": bad(X, (30, 1), np.nan)}, False, r"X must be finite.* nan in column 1\. Remove"),
        ({"y": bad(Y, 30, np.inf)}, False, r"y must be finite, but it holds inf\. Remove"),
        ({"weight": bad(WEIGHT, 3, np.nan)}, False, r"sample_weight must be finite.*\. Remove"),
        ({"weight": bad(WEIGHT, 3, -0.5)}, False, r"not be negative, but it holds -0\.5\. Pass"),
        ({"weight": np.zeros(50)}, False, r"zero for all rows.*\. Pass a positive"),
        ({"y": np.array(["a"] * 50)}, False, r"y must hold real numbers.*\. Encode"),
        ({"y": np.array(["a"] * 50)}, True, r"one class only, 'a'\. Pass two"),
        ({"y": np.where(Y > 0, 1.5, 0.0)}, True, r"labels of classes, but it holds 1\.5\. Pass"),
        ({"y": bad(Y, 30, np.nan)}, True, r"labels of classes, but it holds .*\. Pass"),
    ],
)
def test_errors_say_what_to_do(arguments, labels, message):
    with pytest.raises(ValueError, match=message):
        summary_of(**arguments, labels=labels)
