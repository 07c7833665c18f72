"""Rules against the moments of a standard normal."""

import itertools

import numpy as np
import pytest
from scipy import stats

from pymc_bsvm.inference.design import central_composite, design_of, grid


def moments(design, k: int, highest: int) -> dict[tuple[int, ...], float]:
    """Return all moments up to a degree under the standard normal density, by the rule."""
    density = stats.multivariate_normal.pdf(design.nodes, np.zeros(k))
    weights = np.exp(design.log_weights) * np.atleast_1d(density)
    found = {}
    for degree in range(highest + 1):
        for factors in itertools.combinations_with_replacement(range(k), degree):
            powers = tuple(np.bincount(factors, minlength=k).tolist()) if factors else (0,) * k
            found[powers] = float(weights @ np.prod(design.nodes ** np.array(powers), axis=1))
    return found


def exact(powers: tuple[int, ...]) -> float:
    each = {0: 1.0, 1: 0.0, 2: 1.0, 3: 0.0, 4: 3.0, 5: 0.0}
    return float(np.prod([each[p] for p in powers]))


@pytest.mark.parametrize(
    ("k", "count"),
    [(1, 5), (2, 9), (3, 15), (4, 25), (5, 27), (6, 45), (7, 79), (8, 81)],
)
def test_degree_of_the_central_composite(k, count):
    design = central_composite(k)
    assert len(design.nodes) == count
    np.testing.assert_array_equal(design.nodes[0], np.zeros(k))
    for powers, value in moments(design, k, 5 if k <= 4 else 4).items():
        assert value == pytest.approx(exact(powers), abs=1e-10), powers


@pytest.mark.parametrize(("k", "count"), [(1, 15), (2, 121)])
def test_grid(k, count):
    design = grid(k)
    assert len(design.nodes) == count
    for powers, value in moments(design, k, 5).items():
        assert value == pytest.approx(exact(powers), abs=2e-3), powers


def test_auto_is_a_grid_where_there_is_one():
    assert [len(design_of("auto", k).nodes) for k in (1, 2, 3)] == [15, 121, 15]
    assert len(design_of("ccd", 2).nodes) == 9


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"for one or two hyperparameters, but there are 3\. Use"):
        design_of("grid", 3)
    with pytest.raises(ValueError, match=r"'ccd' or 'grid', but it is 'full'\. Use"):
        design_of("full", 2)
    with pytest.raises(ValueError, match=r"17 hyperparameters, but .* at most 16\. Sample"):
        central_composite(17)
