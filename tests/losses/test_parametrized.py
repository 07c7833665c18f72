"""Parameters by row: every answer is that of the row's own loss, and objects stay well behaved."""

import copy
import functools
import pickle

import numpy as np
import pandas as pd
import pytensor.tensor as pt
import pytest

from pymc_bsvm import losses
from tests.losses.cases import CASES, label

PARAMETRIC = [case for case in CASES if case.parameters[0]]
each_case = pytest.mark.parametrize("case", PARAMETRIC, ids=label)
RTOL = 1e-13  # vectors and scalars may be rounded by different instructions


def rows_of(case):
    """Return one loss for all rows, the rows' own losses, targets, latent values and duals."""
    parts = [(p, *case.arguments(case.points(**p))) for p in case.parameters]
    own = [case.loss(**p) for p, y, _ in parts for _ in y]
    y, f = (np.concatenate(x) for x in zip(*(part[1:] for part in parts), strict=True))
    a = np.concatenate([case.duals(y, **p) for p, y, _ in parts])
    fields = {k: np.array([getattr(loss, k) for loss in own]) for k in case.parameters[0]}
    return case.loss(**fields), own, y, f, a


def by_row(function, own, *arrays):
    """Evaluate the losses of the rows one by one."""
    return np.array([function(loss, *x) for loss, *x in zip(own, *arrays, strict=True)])


@each_case
def test_formulas(case):
    loss, own, y, f, a = rows_of(case)
    assert loss.n_rows == y.size
    for word in ("value", "derivative", "curvature", "conjugate", "project", "gap"):
        x = {"gap": (f, a), "conjugate": (a,), "project": (1.5 * a,)}.get(word, (f,))
        got = getattr(loss, word)(y, *x)
        wanted = by_row(lambda one, *v, word=word: getattr(one, word)(*v), own, y, *x)
        np.testing.assert_allclose(got, wanted, rtol=RTOL, err_msg=word)
    if loss.ramp_width:
        got, wanted = loss.smooth_curvature(y, f), by_row(type(loss).smooth_curvature, own, y, f)
        np.testing.assert_allclose(got, wanted, rtol=RTOL)
    rows = zip(own, y, f, a, strict=True)
    for got, wanted in zip(
        (*loss.dual_domain(y), *loss.sets(y, f, a)),
        np.transpose([(*x.dual_domain(t), *x.sets(t, *v)) for x, t, *v in rows]),
        strict=True,
    ):
        np.testing.assert_array_equal(got, wanted)


@each_case
def test_density(case):
    loss, own, y, _, _ = rows_of(case)
    if case.normalised:
        got = loss.log_normalizer()
        assert got.shape == y.shape
        np.testing.assert_allclose(got, by_row(type(loss).log_normalizer, own), rtol=RTOL)
    if case.task == "regression":
        np.testing.assert_allclose(loss.variance(), by_row(type(loss).variance, own), rtol=RTOL)
        np.testing.assert_allclose(loss.log_cdf(y), by_row(type(loss).log_cdf, own, y), rtol=RTOL)
        u = np.resize([1e-12, 0.01, 0.3, 0.5, 0.7, 1.0 - 1e-9], y.shape)
        np.testing.assert_allclose(
            loss.quantile(u), by_row(type(loss).quantile, own, u), rtol=RTOL, atol=1e-300
        )


@pytest.mark.parametrize("case", [c for c in PARAMETRIC if c.loss(**c.parameters[0]).envelope_type])
def test_envelope(case):
    loss, own, y, f, _ = rows_of(case)
    wanted = by_row(lambda one, t, x: one.envelope(0.3).value(t, x), own, y, f)
    np.testing.assert_allclose(loss.envelope(0.3).value(y, f), wanted, rtol=RTOL, atol=1e-300)


def test_some_rows():
    loss = losses.SILF(np.array([1.0, 2.0, 3.0]), 0.1, np.array([0.1, 0.2, 0.3]))
    assert loss.take([2, 0]) == losses.SILF(np.array([3.0, 1.0]), 0.1, np.array([0.3, 0.1]))
    assert loss.take(np.array([False, True, False])).C.tolist() == [2.0]
    assert loss.spread((2, 3)).C.tolist() == [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    np.testing.assert_array_equal(loss.by_row(3), [[1, 2, 3], [0.1] * 3, [0.1, 0.2, 0.3]])
    np.testing.assert_array_equal(
        losses.Huber(np.array([1.0, 2.0]), 0.1).by_row(2), [[1, 2], [0.1] * 2, [1, 1]]
    )
    shared = losses.SILF(1.0, 0.1)
    assert shared.take([0, 0]) is shared
    assert shared.spread((5,)) is shared
    assert shared.at(np.zeros((4, 1))) is shared
    assert shared.n_rows is None


def test_broadcasting():
    loss = losses.Gaussian(np.array([1.0, 2.0, 4.0]))
    value = loss.value(np.zeros((2, 1)), np.array([[1.0], [2.0]]))
    np.testing.assert_allclose(value, [[0.5, 0.125, 0.03125], [2.0, 0.5, 0.125]])
    with pytest.raises(ValueError, match=r"Gaussian are for 3 rows, but .* \(2,\).* \(\)\. Pass"):
        loss.value(np.zeros(2), 0.0)
    one = losses.Gaussian(np.array([1.0]))  # not to be taken for a number that all rows share
    for call in (lambda: one.value(np.zeros(2), 0.0), lambda: one.quantile(np.full(2, 0.5))):
        with pytest.raises(ValueError, match="are for 1 rows"):
            call()


# ---- objects ----------------------------------------------------------------------------------


@each_case
def test_equality_hash_and_copies(case):
    loss, _, y, f, _ = rows_of(case)
    again, *_ = rows_of(case)
    assert loss == again
    assert hash(loss) == hash(again)
    for twin in (pickle.loads(pickle.dumps(loss)), copy.copy(loss), copy.deepcopy(loss)):
        assert twin == loss
        np.testing.assert_array_equal(twin.value(y, f), loss.value(y, f))
        assert not any(x.flags.writeable for x in twin.fields.values())
    name = next(iter(loss.domains))
    moved = loss.fields[name].copy()
    moved[-1] *= 0.5
    assert loss != type(loss)(**{**loss.fields, name: moved})
    assert loss != type(loss)(**{**loss.fields, name: moved[-1]})


def test_losses_in_a_cache_do_not_collide():
    keep = functools.cache(lambda loss: float(np.sum(loss.sigma)))
    seen = [keep(losses.Gaussian(np.array(s))) for s in ([1.0, 2.0], [2.0, 2.0], [1.0, 2.0], 3.0)]
    assert seen == [3.0, 4.0, 3.0, 3.0]
    assert keep.cache_info().currsize == 3


def test_vectors_are_copies_that_cannot_change():
    sigma = np.array([1, 2])
    loss = losses.Gaussian(sigma)
    sigma[0] = 5
    assert loss.sigma.tolist() == [1.0, 2.0]
    assert loss.sigma.dtype == float
    with pytest.raises(ValueError, match="read-only"):
        loss.sigma[0] = 3.0
    assert losses.Gaussian(pd.Series([1.0, 2.0])) == loss


def test_representation_stays_short():
    assert repr(losses.Gaussian(np.array([1.0, 2.0]))) == "Gaussian(sigma=array([1., 2.]))"
    assert len(repr(losses.Gaussian(np.ones(5000)))) < 100


def test_a_new_loss_is_a_plain_dataclass():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Own(losses.SILF):
        def __repr__(self):
            return "own"

    assert repr(Own(1.0, 0.1)) == "own"
    assert Own(np.ones(2), 0.1) == Own(np.ones(2), 0.1)
    assert Own(1.0, 0.1) != losses.SILF(1.0, 0.1)


# ---- bad input --------------------------------------------------------------------------------


@each_case
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_the_first_bad_row_is_named(case, bad):
    for name, value in case.parameters[0].items():
        rows = np.array([value, value, bad, bad])
        with pytest.raises(ValueError, match=rf"{name} .* element 2 is {bad}\. Pass a finite"):
            case.loss(**{**case.parameters[0], name: rows})


@pytest.mark.parametrize("bad", [np.ones((2, 2)), np.array(["a"]), np.array([True]), [1.0]])
def test_arrays_that_are_no_vectors_of_numbers(bad):
    with pytest.raises(TypeError, match=r"sigma must be a .* Pass"):
        losses.Gaussian(bad)


def test_lengths_agree():
    with pytest.raises(ValueError, match=r"C has 2 values, but beta has 3\. Pass one number"):
        losses.SILF(np.ones(2), 0.1, np.ones(3))
    with pytest.raises(ValueError, match=r"C has 2 values, but epsilon has 3\. Pass one number"):
        losses.SILF(pt.vector(shape=(2,)), np.ones(3))
    loss = losses.SILF(np.ones(2), 0.1)
    loss.check_rows(2)
    with pytest.raises(ValueError, match=r"C of SILF has 2 values, but there are 5 rows\. Pass"):
        loss.check_rows(5)


# ---- variables and functions of the inputs ----------------------------------------------------


def test_variables():
    assert losses.SILF(pt.vector(), pt.scalar()).n_rows is None
    assert losses.SILF(pt.vector(shape=(4,)), pt.scalar()).n_rows == 4
    with pytest.raises(TypeError, match=r"C must be a scalar or a vector, .* 2 dimensions\. Pass"):
        losses.SILF(pt.matrix(), 0.1)


def test_functions_of_the_inputs():
    loss = losses.SILF(lambda X: np.exp(X[:, 0]), 0.1)
    assert loss.functions == ("C",)
    assert not loss.symbolic
    X = np.array([[0.0, 5.0], [1.0, 5.0]])
    assert loss.at(X) == losses.SILF(np.exp([0.0, 1.0]), 0.1)
    with pytest.raises(TypeError, match=r"C of SILF is a function of the inputs, .*\. Pass loss\."):
        loss.value(np.zeros(2), 0.0)
    with pytest.raises(ValueError, match="element 1 is -1"):
        losses.Gaussian(lambda X: X[:, 0]).at(np.array([[1.0], [-1.0]]))
