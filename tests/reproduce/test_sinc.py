import matplotlib.pyplot as plt
import numpy as np
import pytest

from reproduce import sinc
from reproduce.plan import Plan
from tests.reproduce.fakes import DAY, found

QUICK, FULL = Plan(True), Plan(False)


def as_printed(cell):
    """Return what the thesis prints."""
    given = cell.arguments
    if cell.measure is sinc.swept:
        beta = given["beta"]
        return {
            **{"support": 100, "free": round(100 * beta), "cpu_map": 1.0, "cpu_evidence": 2 * beta},
            **{"evaluations": 20, "log_evidence": 9.0, "ase": 0.03, "noise_new": 0.029},
        }
    beta = given.get("beta", 0.3)
    p = sinc.PAPERS[beta, given["n"]]
    shift = 1e-3 * given.get("seed", 0)
    return {
        **{"C": p.C + shift, "epsilon": p.epsilon, "beta": beta, "kappa": [p.kappa]},
        **{"noise": p.noise, "log_evidence": -p.minus_log_evidence, "free": p.free},
        **{"bound": p.bound, "cpu": p.cpu, "aae": p.aae, "ase": p.ase, "true": p.true},
        **{"noise_new": sinc.PAPERS_TEST, "found": [-20.0, 10.0]},
    }


def test_the_noise_has_the_variance_of_the_papers():
    n = 200_000
    # The standard error: the fourth moment of the noise is about 6 of its squared variances.
    error = 0.026785 * np.sqrt(5.0 / n)
    assert sinc.noise_of(n, lambda: 1) == pytest.approx(0.026785, abs=4.0 * error)


def test_inputs_are_normalised_and_targets_are_not():
    split = sinc.drawn(200, 1)
    assert split.X.mean() == pytest.approx(0.0, abs=1e-12)
    assert split.X.std() == pytest.approx(1.0)
    assert split.unit == 1.0
    assert len(split.y_new) == sinc.NEW


def test_seeds_change_the_rows_but_not_the_new_targets():
    one, two = sinc.drawn(50, 0), sinc.drawn(50, 1)
    assert not np.array_equal(one.y, two.y)
    assert np.array_equal(one.y_new, two.y_new)


def test_a_training_says_what_the_table_needs():
    result = sinc.trained(None, 60, "papers", beta=0.3)
    assert result["noise_new"] < result["ase"]
    assert result["true"] == pytest.approx(0.0268, rel=0.6)  # of 60 rows
    assert result["free"] + result["bound"] <= 60
    assert sinc.of_result(found([next(sinc.cells(QUICK))], lambda _: result).popitem()[1])


def test_a_smaller_beta_has_fewer_free_support_vectors():
    small, large = (sinc.swept(None, 80, beta) for beta in (0.01, 1.0))
    assert small["free"] < large["free"] <= large["support"]
    assert small["cpu_map"] > 0.0
    assert small["cpu_evidence"] > 0.0


def test_a_page_without_measures_says_what_it_is_about():
    section = sinc.section({}, FULL)
    assert section.body == sinc.INTRODUCTION
    assert not section.figures


def test_one_measure_stands_beside_the_papers():
    cell = next(iter(sinc.cells(FULL)))
    body = sinc.section(found([cell], as_printed), FULL).body
    assert "| 50 | papers | 0.3 | 0.03012 | 15.95 |" in body
    assert "| 50 | as the papers | 0.3 | 0.03012 | 15.95 |" in body
    assert DAY in body


@pytest.mark.parametrize("plan", [QUICK, FULL])
def test_all_measures_make_tables_and_a_figure(plan):
    section = sinc.section(found(sinc.cells(plan), as_printed), plan)
    assert "{sinc_beta}" in section.body.splitlines()
    figure, caption = section.figures["sinc_beta"]
    assert all(ax.get_ylabel() for ax in figure.axes)
    assert caption
    plt.close(figure)
    if plan is FULL:
        # C of the draws is 0.0105 above the papers' in the mean, with a deviation of 0.0059.
        assert "Of the papers' 40 numbers, 0 are further" in section.body
        assert "below that in 20 of 20 at 50 rows, 20 of 20 at 100 rows" in section.body
        assert "leaves 36% of the free support vectors (papers 36%)" in section.body


def test_what_is_far_from_the_draws_is_named():
    cells = [c for c in sinc.cells(QUICK) if c.arguments.get("seed") and c.arguments["n"] == 50]
    far = found(cells, lambda cell: as_printed(cell) | {"C": 10.0 + 0.1 * cell.arguments["seed"]})
    assert "1 are further than two standard deviations from the mean: C at 50 (+1" in (
        sinc.section(far, QUICK).body
    )


def test_keys_do_not_repeat():
    for plan in (QUICK, FULL):
        cells = list(sinc.cells(plan))
        assert len(set(cells)) == len(cells)
