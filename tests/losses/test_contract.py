"""What losses say of themselves beside their formulas: knots, walls, units, means and draws."""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest
from scipy import stats

from pymc_bsvm import losses
from tests.losses.cases import label, rows

REGRESSION = rows(lambda case: case.task == "regression")
every_noise = pytest.mark.parametrize(("case", "p"), REGRESSION, ids=label)
likelihoods = pytest.mark.parametrize(("case", "p"), rows(lambda case: case.normalised), ids=label)


@likelihoods
def test_knots_are_where_the_pieces_meet(case, p):
    loss, exact = case.loss(**p), case.oracle(**p)
    knots = sorted(float(k) for k in exact.knots())
    given = np.array(loss.knots)
    assert np.all(np.diff(given) >= 0.0)
    for knot in knots:
        assert np.min(np.abs(given - knot)) <= 1e-15 * abs(knot)


@likelihoods
def test_the_loss_is_infinite_from_the_wall_on(case, p):
    loss = case.loss(**p)
    if case.name != "Trigonometric":
        assert loss.wall == -np.inf
        return
    assert loss.value(1.0, [loss.wall, 2.0 * loss.wall]).tolist() == [np.inf, np.inf]
    assert np.isfinite(loss.value(1.0, loss.wall * (1.0 - 1e-15)))
    assert loss.wall == float(case.oracle(**p).knots()[0])


@every_noise
def test_units(case, p):
    loss = case.loss(**p)
    there = loss.scaled(4.0)
    r = case.points(**p)
    np.testing.assert_allclose(there.value(4.0 * r, 0.0), loss.value(r, 0.0), rtol=1e-12)
    assert there.log_normalizer() == pytest.approx(loss.log_normalizer() + np.log(4.0), abs=1e-12)
    assert there.variance() == pytest.approx(16.0 * loss.variance(), rel=1e-12)
    assert there.scaled(0.25) == loss


def test_units_have_to_be_stated():
    @dataclass(frozen=True)
    class Bare(losses.Gaussian):
        """Gaussian noise that does not say in which units."""

        units = MappingProxyType({})

    with pytest.raises(TypeError, match=r"unit of sigma of Bare is not known\. State"):
        Bare(1.0).scaled(2.0)


@every_noise
def test_symmetric_noise(case, p):
    loss = case.loss(**p)
    assert loss.mean() == 0.0
    r = case.points(**p)
    np.testing.assert_array_equal(loss.log_sf(r), loss.log_cdf(-r))


@every_noise
def test_draws(case, p, rng):
    loss = case.loss(**p)
    assert stats.kstest(loss.cdf(loss.draw(rng, (400,))), "uniform").pvalue > 1e-3
    by_row = type(loss)(**{name: np.full(3, value) for name, value in p.items()})
    assert by_row.draw(rng, (5, 3)).shape == (5, 3)
