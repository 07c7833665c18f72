"""Calibration of the posteriors by simulation, and that miscalibration would be seen."""

import arviz as az
import numpy as np
import pymc as pm
import pytest

from pymc_bsvm.inference.latent import latent_model
from tests.gp.cases import UNFUSED
from tests.inference import simulation
from tests.inference.simulation import Posterior, Simulations, rank_truths

LEVELS = 99
# Of the slow tests below, so that the fast ones tell how much these can see.
COUNT = 50
TESTS = (simulation.chi_square, simulation.ecdf_test)


class Conjugate:
    """The posterior of a standard normal mean given one draw, or a wrong one like it.

    Parameters
    ----------
    spread : float
        Standard deviation in units of the right one.
    shift : float
        Added to the mean, in the same units.
    """

    names = ("mean",)

    def __init__(self, spread: float = 1.0, shift: float = 0.0) -> None:
        self.spread, self.shift = spread, shift

    def sample(self, targets, draws, tune, seed):
        noise = np.random.default_rng(seed).standard_normal((1, draws))
        values = 0.5 * targets[0] + np.sqrt(0.5) * (self.shift + self.spread * noise)
        stats = {"diverging": np.zeros((1, draws), bool), "n_steps": np.ones((1, draws))}
        return az.from_dict({"posterior": {"mean": values}, "sample_stats": stats})


def conjugate_ranks(posterior: Conjugate, count: int) -> np.ndarray:
    rng = np.random.default_rng(12)
    truth = rng.standard_normal(count)
    targets = truth[:, None] + rng.standard_normal((count, 1))
    simulations = Simulations({"mean": truth}, targets)
    return rank_truths(posterior, simulations, levels=LEVELS, thin=2, seed=5).values["mean"]


# ---- the statistics ------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [COUNT, 200])
def test_right_posterior_is_accepted(count):
    ranks = conjugate_ranks(Conjugate(), count)
    assert min(test(ranks, LEVELS) for test in TESTS) > 0.05
    mean, error = simulation.mean_rank(ranks, LEVELS)
    assert abs(mean - 0.5) < 3.0 * error
    assert error == pytest.approx(1.0 / np.sqrt(12.0 * count), rel=0.15)
    for share in (0.5, 0.9):
        inside, error = simulation.coverage(ranks, LEVELS, share)
        assert abs(inside - share) < 3.0 * error


@pytest.mark.parametrize(
    ("count", "wrong"),
    [
        (COUNT, Conjugate(spread=0.4)),
        (COUNT, Conjugate(spread=3.0)),
        (COUNT, Conjugate(shift=0.9)),
        (200, Conjugate(spread=0.5)),
        (200, Conjugate(spread=1.7)),
        (200, Conjugate(shift=-0.5)),
    ],
    ids=lambda x: f"{x.spread}, {x.shift}" if isinstance(x, Conjugate) else str(x),
)
def test_wrong_posterior_is_rejected(count, wrong):
    """At the level of the slow tests, with the direction of the error."""
    ranks = conjugate_ranks(wrong, count)
    assert max(test(ranks, LEVELS) for test in TESTS) < 1e-3
    mean, error = simulation.mean_rank(ranks, LEVELS)
    inside, _ = simulation.coverage(ranks, LEVELS, 0.5)
    if wrong.shift:
        assert np.sign(0.5 - mean) == np.sign(wrong.shift)
        assert abs(mean - 0.5) > 4.0 * error
    else:
        assert abs(mean - 0.5) < 3.0 * error
        assert np.sign(0.5 - inside) == np.sign(1.0 - wrong.spread)


def test_p_values_of_uniform_ranks():
    """Both tests reject at about their level."""
    rng = np.random.default_rng(3)
    ranks = rng.integers(0, LEVELS + 1, (400, 100))
    for test in TESTS:
        p = np.array([test(row, LEVELS) for row in ranks])
        for level in (0.05, 0.5):
            error = np.sqrt(level * (1.0 - level) / len(p))
            assert abs((p < level).mean() - level) < 4.0 * error


def test_band_holds_the_whole_ecdf():
    rng = np.random.default_rng(4)
    low, high = simulation.ecdf_band(100, LEVELS, 0.9)
    held = []
    for ranks in rng.integers(0, LEVELS + 1, (400, 100)):
        _, difference = simulation.ecdf_difference(ranks, LEVELS)
        held.append(((low - 1e-12 <= difference) & (difference <= high + 1e-12)).all())
    assert np.mean(held) == pytest.approx(0.9, abs=0.06)


def test_ecdf_difference_by_hand():
    points, difference = simulation.ecdf_difference(np.array([0, 0, 2, 3]), 3)
    np.testing.assert_allclose(points, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(difference, [0.25, 0.0, 0.0])


def test_bins_divide_the_ranks():
    with pytest.raises(ValueError, match="7 bins do not divide 100 ranks"):
        simulation.chi_square(np.arange(100), LEVELS, bins=7)


# ---- the models ----------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [simulation.regression_model, simulation.classification_model])
@pytest.mark.parametrize("route", [lambda model: model, latent_model], ids=["evidence", "latent"])
def test_targets_are_exchanged(build, route):
    """The compiled log density is that of a model made with the new targets."""
    model = build(8)
    simulations = simulation.simulate(model, 2, seed=2)
    posterior = Posterior(route(model), simulations.truth, mode=UNFUSED)
    x = posterior.start(3)
    values = []
    for targets in simulations.targets:
        posterior.set_targets(targets)
        values.append(posterior.log_density(x)[0])
        fresh = build(8)
        with fresh:
            pm.set_data({simulation.TARGETS: targets})
        function = route(fresh).logp_dlogp_function(ravel_inputs=True, mode=UNFUSED)
        function.set_extra_values({})
        assert values[-1] == pytest.approx(float(function(x)[0]), rel=1e-12)
    assert abs(values[0] - values[1]) > 1e-3


# ---- calibration ---------------------------------------------------------------------------------

ROUTES = {"evidence": lambda model: model, "latent": latent_model}
# Mean of the normalised rank by evidence minus that by latent, over 200 simulations; see
# benchmarks/calibration.md. Negative: the evidence puts the hyperparameter too high.
DIFFERENCES = {
    simulation.regression_model: {"ls": -0.021, "eta": -0.019, "C": -0.064, "epsilon": -0.141},
    simulation.classification_model: {"ls": -0.058, "eta": 0.033},
}


def ranks_of_both_routes(build) -> dict[str, simulation.Ranks]:
    """Rank the same truths by NUTS with and without Laplace's method."""
    model = build()
    simulations = simulation.simulate(model, COUNT, seed=7)
    posteriors = {
        name: Posterior(route(model), simulations.truth) for name, route in ROUTES.items()
    }
    return {
        name: rank_truths(posterior, simulations, levels=LEVELS, seed=500)
        for name, posterior in posteriors.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("build", DIFFERENCES)
def test_ranks_of_the_truth(build):
    """Those of the latent route are uniform, and those of the evidence as far off as measured."""
    routes = ranks_of_both_routes(build)
    evidence, latent = routes["evidence"], routes["latent"]
    for name, measured in DIFFERENCES[build].items():
        ranks = latent.values[name]
        assert min(test(ranks, LEVELS) for test in TESTS) > 1e-3, name
        shift = (evidence.values[name] - ranks) / (LEVELS + 1)
        error = shift.std(ddof=1) / np.sqrt(COUNT)
        assert abs(shift.mean() - measured) < 4.0 * error < 0.12, name
