"""Bad input: what the message says, and when it is said."""

import re

import numpy as np
import pandas
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.exceptions import ImputationWarning
from pymc.logprob.utils import ParameterValueError

from pymc_bsvm import SILF, EpsilonInsensitive, Trigonometric
from pymc_bsvm._validation import Interval, as_parameter, check_finite, positive
from pymc_bsvm.distributions.checked import Checked

GOOD = {
    SILF: {"mu": 0.0, "C": 1.0, "epsilon": 0.1, "beta": 0.3},
    EpsilonInsensitive: {"mu": 0.0, "C": 1.0, "epsilon": 0.1},
    Trigonometric: {"f": 0.0, "delta": 1.0, "flip": 0.01},
}
BAD = [
    (kind, key, value)
    for kind, key, values in [
        (SILF, "mu", (np.nan, np.inf)),
        (SILF, "C", (0.0, -1.0, np.nan, np.inf)),
        (SILF, "epsilon", (0.0, -0.1, np.nan, np.inf)),
        (SILF, "beta", (0.0, -0.3, 1.0001, np.nan, np.inf)),
        (EpsilonInsensitive, "mu", (np.nan, -np.inf)),
        (EpsilonInsensitive, "C", (0.0, -1.0, np.nan, np.inf)),
        (EpsilonInsensitive, "epsilon", (0.0, -0.1, np.nan, np.inf)),
        (Trigonometric, "f", (np.nan, np.inf)),
        (Trigonometric, "delta", (0.0, -1.0, np.nan, np.inf)),
        (Trigonometric, "flip", (-0.01, 0.5, 0.7, np.nan, np.inf)),
    ]
    for value in values
]
DOMAINS = {
    "mu": "-inf < mu < inf",
    "f": "-inf < f < inf",
    "C": "0 < C",
    "epsilon": "0 < epsilon",
    "beta": "0 < beta <= 1",
    "delta": "0 < delta",
    "flip": "0 <= flip < 0.5",
}


def assert_two_sentences(error):
    """Expect what is wrong with the value seen, then what to do."""
    assert re.fullmatch(r"[^\n]+?[^.]\. [A-Z][^\n]+\.", str(error.value)), str(error.value)
    assert len(re.findall(r"\. [A-Z]", str(error.value))) == 1, str(error.value)


def id_of(value):
    return value.__name__ if isinstance(value, type) else str(value)


def test_unknown_arguments():
    message = "^SILF has no argument 'sigma'. Use mu, C, epsilon, beta, or those of PyMC, such as "
    with pytest.raises(TypeError, match=message + r"shape and dims\.$"):
        SILF.dist(**GOOD[SILF], sigma=1.0)
    message = "^Trigonometric has no argument 'p'. Use f, delta, flip, or those of PyMC, such as "
    with pm.Model(), pytest.raises(TypeError, match=message + r"shape and dims\.$"):
        Trigonometric("y", f=0.0, p=0.5, observed=[0, 1])


def test_arguments_of_pymc_are_known():
    with pm.Model(coords={"row": range(3)}) as model:
        SILF("y", **GOOD[SILF], dims="row", initval=[1.0, 2.0, 3.0], rng=None)
    assert model.named_vars_to_dims == {"y": ("row",)}
    next_rng, y = SILF.dist(**GOOD[SILF], size=3, return_next_rng=True)
    assert y.type.shape == (3,)
    assert next_rng is y.owner.outputs[0]


# ---- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "key", "value"), BAD, ids=id_of)
def test_known_parameters_are_refused_when_the_variable_is_made(kind, key, value):
    with pytest.raises(
        ValueError, match=f"^{key} must satisfy {re.escape(DOMAINS[key])}, "
    ) as error:
        kind.dist(**{**GOOD[kind], key: value})
    assert_two_sentences(error)
    assert f"it is {value}." in str(error.value)
    assert "Pass a finite value with" in str(error.value)


@pytest.mark.parametrize(("kind", "key", "value"), BAD, ids=id_of)
def test_bad_element_of_an_array_is_named(kind, key, value):
    good = GOOD[kind][key]
    with pytest.raises(ValueError, match=re.escape(f"element 2 is {value}.")) as error:
        kind.dist(**{**GOOD[kind], key: np.array([good, good, value])})
    assert_two_sentences(error)


def test_bad_element_of_a_matrix_is_named():
    with pytest.raises(ValueError, match=re.escape("element (1, 0) is -2.0.")):
        SILF.dist(0.0, np.array([[1.0, 1.0], [-2.0, 1.0]]), 0.1)


@pytest.mark.parametrize("kind", GOOD, ids=id_of)
def test_symbolic_parameters_are_refused_by_pymc(kind):
    bad = {"C": -1.0, "epsilon": 0.0, "beta": 1.5, "delta": 0.0, "flip": 0.5}
    names = [key for key in GOOD[kind] if key in bad]
    inputs = {key: pt.dscalar(key) for key in GOOD[kind]}
    x = kind.dist(**inputs)
    graphs = [pm.logp(x, 1), pm.logcdf(x, 1), pm.logccdf(x, 1), pm.icdf(x, 0.3)]
    message = ", ".join(DOMAINS[key] for key in names)
    for graph in graphs:
        for key in names:
            point = {inputs[k]: v for k, v in {**GOOD[kind], key: bad[key]}.items()}
            with pytest.raises(ParameterValueError, match=re.escape(message)):
                graph.eval(point)


@pytest.mark.parametrize(
    ("kind", "key", "bad"),
    [(SILF, "C", -1.0), (SILF, "beta", 1.5), (EpsilonInsensitive, "epsilon", 0.0),
     (Trigonometric, "delta", -1.0), (Trigonometric, "flip", 0.6)],
    ids=id_of,
)  # fmt: skip
def test_symbolic_parameters_in_a_model_give_minus_infinity(kind, key, bad):
    with pm.Model() as model:
        parameter = pm.Normal("parameter")
        kind("y", **{**GOOD[kind], key: parameter}, observed=[0, 1])
    logp = model.compile_logp(vars=[model["y"]])
    assert logp({"parameter": np.array(bad)}) == -np.inf
    assert np.isfinite(logp({"parameter": np.array(GOOD[kind][key])}))


# ---- observations -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Data in y contains missing values")  # PyMC imputes them
@pytest.mark.parametrize("behind", [np.nan, np.inf])
def test_what_is_behind_a_mask_does_not_count(behind):
    y = np.ma.masked_array([0.0, 1.0, behind], mask=[False, False, True])
    with pm.Model() as model:
        SILF("y", **GOOD[SILF], observed=y)
    assert {rv.name for rv in model.free_RVs} == {"y_unobserved"}
    shown = np.ma.masked_array([0.0, np.inf, behind], mask=[False, False, True])
    with pm.Model(), pytest.raises(ValueError, match="must be finite, but element 1 is inf"):
        SILF("y", **GOOD[SILF], observed=shown)


@pytest.mark.parametrize("kind", [SILF, EpsilonInsensitive], ids=id_of)
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
@pytest.mark.parametrize("wrap", ["array", "list", "constant", "shared"])
def test_targets_must_be_finite(kind, bad, wrap):
    values = np.array([0.0, 1.0, bad])
    message = f"^observed of 'y' must be finite, but element 2 is {bad}. Drop these values, or mask"
    with pm.Model():
        wraps = {"list": list, "constant": pt.constant, "shared": pytensor.shared}
        observed = wraps.get(wrap, np.array)(values)
        with pytest.raises(ValueError, match=message) as error:
            kind("y", **GOOD[kind], observed=observed)
    assert_two_sentences(error)


@pytest.mark.parametrize(
    ("labels", "seen", "remedy"),
    [
        ([1, -1, 1], "element 1 is -1.0", "For labels -1 and +1, pass (y + 1) // 2."),
        ([-1.0, -1.0], "element 0 is -1.0", "For labels -1 and +1, pass (y + 1) // 2."),
        (np.array([0, 1, 2]), "element 2 is 2", "Encode the two classes as 0 and 1."),
        ([0.0, 0.5], "element 1 is 0.5", "Encode the two classes as 0 and 1."),
    ],
)
def test_labels_must_be_zero_and_one(labels, seen, remedy):
    expected = f"observed of 'y' must hold the labels 0 and 1 only, but {seen}. {remedy}"
    with pm.Model(), pytest.raises(ValueError, match=f"^{re.escape(expected)}$") as error:
        Trigonometric("y", 0.0, observed=labels)
    assert_two_sentences(error)


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 1.0], [True, False], [1, 1]])
def test_labels_of_any_numeric_type_are_taken(labels):
    with pm.Model() as model:
        Trigonometric("y", 0.0, observed=labels)
    assert model.compile_logp()({}) == pytest.approx(-2 * np.log(2))


@pytest.mark.parametrize("kind", GOOD, ids=id_of)
@pytest.mark.parametrize("wrap", [list, np.array, iter])
def test_text_and_other_things_are_refused(kind, wrap):
    with (
        pm.Model(),
        pytest.raises(TypeError, match=r"^observed of 'y' must be an array of") as error,
    ):
        kind("y", **GOOD[kind], observed=wrap(["spam", "ham"]))
    assert_two_sentences(error)


@pytest.mark.parametrize("wrap", [list, np.array, pandas.Series])
@pytest.mark.parametrize("kind", GOOD, ids=id_of)
def test_missing_values_are_imputed(kind, wrap):
    message = "^Data in y contains missing values and will be automatically imputed"
    with pm.Model() as model, pytest.warns(ImputationWarning, match=message):
        kind("y", **GOOD[kind], observed=wrap([0.0, np.nan, 1.0]))
    assert [rv.name for rv in model.free_RVs] == ["y_unobserved"]
    observed = model.rvs_to_values[model["y_observed"]]
    np.testing.assert_array_equal(observed.data, [0, 1])


@pytest.mark.parametrize("wrap", [pt.constant, pytensor.shared])
def test_missing_values_in_a_graph_are_refused(wrap):
    message = (
        "observed of 'y' must be finite, but element 1 is nan. Drop these values, or mask them"
    )
    with pm.Model(), pytest.raises(ValueError, match=re.escape(message)):
        SILF("y", **GOOD[SILF], observed=wrap(np.array([0.0, np.nan])))


def test_positional_parameters_are_checked_too():
    with pm.Model(), pytest.raises(ValueError, match=re.escape("mu (3,), observed (2,)")):
        SILF("y", np.zeros(3), 1.0, 0.1, observed=[0.0, 1.0])


def test_observations_may_not_be_repeated_silently():
    """One observation for three locations is a mistake, not three observations."""
    with pm.Model(), pytest.raises(ValueError, match=r"mu \(3,\), observed \(1,\)"):
        SILF("y", np.zeros(3), 1.0, 0.1, observed=[0.0])


def test_one_location_serves_all_observations():
    with pm.Model() as model:
        SILF("y", np.zeros(1), 1.0, 0.1, observed=np.zeros(3))
    assert model["y"].eval().shape == (3,)


def test_shapes_known_only_at_run_time_pass():
    with pm.Model() as model:
        mu = pm.Data("mu", np.zeros(3))
        SILF("y", mu, 1.0, 0.1, observed=np.zeros(3))
    assert np.isfinite(model.compile_logp()({}))


# ---- the helpers --------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["1", None, True, np.bool_(True), 1j, [1.0], np.ones(1)])
def test_losses_take_real_numbers_only(value):
    with pytest.raises(TypeError, match=r"^C must be a real number, but got ") as error:
        as_parameter("C", value, positive)
    assert_two_sentences(error)
    assert type(value).__name__ in str(error.value)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2), np.array(2.0)])
def test_losses_take_any_real_number(value):
    number = as_parameter("C", value, positive)
    assert type(number) is float
    assert number == 2.0


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf])
def test_losses_refuse_numbers_outside_the_domain(value):
    with pytest.raises(ValueError, match=r"^C must satisfy 0 < C, but it is ") as error:
        as_parameter("C", value, positive)
    assert_two_sentences(error)


@pytest.mark.parametrize(
    ("interval", "text", "inside", "outside"),
    [
        (Interval(), "-inf < x < inf", [-1e300, 0.0], [np.inf, np.nan]),
        (Interval(0.0), "0 < x", [1e-300], [0.0, np.inf]),
        (Interval(0.0, 1.0, includes_high=True), "0 < x <= 1", [1e-9, 1.0], [0.0, 1.1]),
        (Interval(0.0, 0.5, includes_low=True), "0 <= x < 0.5", [0.0, 0.4], [0.5, -1e-9]),
        (Interval(high=2.0), "x < 2", [-9.0], [2.0]),
    ],
)
def test_intervals(interval, text, inside, outside):
    assert interval.describe("x") == text
    interval.check("x", inside)
    for value in outside:
        with pytest.raises(ValueError, match=re.escape(text)):
            interval.check("x", value)


def test_finite_data_pass_and_the_remedy_is_the_callers():
    check_finite("X", np.ones((2, 2)))
    with pytest.raises(ValueError, match=re.escape("element (0, 1) is inf. Do this.")):
        check_finite("X", np.array([[0.0, np.inf]]), "Do this.")


def test_every_distribution_states_its_own_check():
    with pytest.raises(NotImplementedError):
        Checked.check_observed("y", np.zeros(1))
