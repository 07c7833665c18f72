"""What a user reads who passes the wrong thing: what was seen, and what to do."""

import warnings
from pathlib import Path

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from tests.gp import cases
from tests.gp.cases import POINT


def changed(x, index, value):
    x = np.array(x, dtype=float)
    x[index] = value
    return x


def build(data, kind=bsvm.gp.BSVR, *, input_dim=2, **changes):
    arguments = {"X": data.X, "y": data.y, "C": 4.0, "epsilon": 0.25}
    if kind is bsvm.gp.BTSVC:
        arguments = {"X": data.X, "y": data.labels}
    if kind is bsvm.gp.Laplace:
        arguments = {"X": data.X, "y": data.y, "loss": losses.SILF(4.0, 0.25)}
    with pm.Model() as model:
        gp = kind(cov_func=pm.gp.cov.ExpQuad(input_dim, ls=pm.LogNormal("ls", 0.0, 0.5)))
        gp.marginal_likelihood("y", **{**arguments, **changes})
    return model, gp


INPUTS = [
    (lambda d: d.X[:, 0], ValueError, r"X must have two dimensions, but it has 1\..*x\[:, None\]"),
    (lambda d: d.X[None], ValueError, r"X must have two dimensions, but it has 3"),
    (
        lambda d: d.X[:, :1],
        ValueError,
        r"X has 1 columns, but the covariance function takes 2",
    ),
    (lambda d: d.X[:0], ValueError, r"X must have rows, but its shape is \(0, 2\)"),
    (lambda d: changed(d.X, (3, 1), np.nan), ValueError, r"X must be finite, but .*nan\. Remove"),
    (lambda d: changed(d.X, (3, 1), np.inf), ValueError, r"X must be finite, but .*inf\. Remove"),
    (lambda d: np.full((25, 2), "a"), TypeError, r"(?s)X must be a matrix of numbers.*Encode"),
]
TARGETS = [
    (lambda d: d.y[:-1], ValueError, r"y has 24 values, but X has 25 rows\. Pass one value"),
    (lambda d: np.r_[d.y, 0.0], ValueError, r"y has 26 values, but X has 25 rows\. Pass one value"),
    (lambda d: d.y[:, None], ValueError, r"y must have one dimension, but it has 2\. Pass one"),
    (lambda d: changed(d.y, 4, np.nan), ValueError, r"y must be finite, but .*4.*nan\. Remove"),
    (lambda d: changed(d.y, 4, -np.inf), ValueError, r"y must be finite, but .*-inf\. Remove"),
    (lambda d: np.ma.masked_less(d.y, 0.0), ValueError, r"y has \d+ masked values.*Remove these"),
    (lambda d: np.full(25, "a"), TypeError, r"(?s)y must be a vector of numbers.*Encode"),
]


@pytest.mark.parametrize(("make", "error", "message"), INPUTS)
@pytest.mark.parametrize("kind", [bsvm.gp.BSVR, bsvm.gp.BTSVC])
def test_inputs(kind, make, error, message, data):
    with pytest.raises(error, match=message):
        build(data, kind, X=make(data))


@pytest.mark.parametrize(("make", "error", "message"), TARGETS)
def test_targets(make, error, message, data):
    with pytest.raises(error, match=message):
        build(data, y=make(data))


def test_data_containers_are_checked_too(data):
    with pm.Model(), pytest.raises(ValueError, match=r"X has 1 columns"):
        build(data, X=pm.Data("X", data.X[:, :1]))
    with pm.Model(), pytest.raises(ValueError, match=r"y must be finite"):
        build(data, y=pm.Data("targets", changed(data.y, 4, np.inf)))
    with pm.Model(), pytest.raises(ValueError, match=r"y has 24 values"):
        build(data, y=pm.Data("targets", data.y[:-1]), X=pm.Data("X", data.X))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (lambda d: 2 * d.labels - 1, r"For labels -1 and \+1, pass \(y \+ 1\) // 2"),
        (lambda d: 1 + d.labels, r"Encode the two classes as 0 and 1"),
        (lambda d: d.y, r"Encode the two classes as 0 and 1"),
        (lambda d: changed(d.labels, 2, np.nan), r"y must be finite"),
    ],
)
@pytest.mark.parametrize("kind", [bsvm.gp.BTSVC, bsvm.gp.Laplace])
def test_labels(kind, labels, message, data):
    change = {} if kind is bsvm.gp.BTSVC else {"loss": losses.Probit()}
    with pytest.raises(ValueError, match=message):
        build(data, kind, y=labels(data), **change)


def test_constant_columns_are_reported(data):
    X = np.column_stack([data.X[:, 0], np.full(25, 7.5)])
    for kind in (bsvm.gp.BSVR, bsvm.gp.BTSVC):
        with pytest.warns(UserWarning, match=r"Column 1 of X is constant \(7\.5\).*Drop"):
            build(data, kind, X=X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(data)
        build(data, X=data.X[:1], y=data.y[:1])  # one row has no constant column


def test_constant_columns_that_are_left_out_do_not_matter(data):
    X = np.column_stack([data.X[:, 0], np.full(25, 7.5)])
    with pm.Model():
        gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(2, ls=1.0, active_dims=[0]))
        gp.marginal_likelihood("y", X, data.y, C=4.0, epsilon=0.25)


@pytest.mark.parametrize("kind", [bsvm.gp.BSVR, bsvm.gp.BTSVC, bsvm.gp.Laplace])
def test_the_warning_points_to_where_the_data_come_in(kind, data):
    X = np.column_stack([data.X[:, 0], np.full(25, 7.5)])
    with pytest.warns(UserWarning, match="constant") as record:
        build(data, kind, X=X)
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert record[0].filename == __file__
    assert "gp.marginal_likelihood(" in lines[record[0].lineno - 1]


# ---- losses and options -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "error", "message"),
    [
        (losses.EpsilonInsensitive(4.0, 0.2), ValueError, r"no curvature.*Use SILF with beta > 0"),
        (losses.Laplace(4.0), ValueError, r"no curvature.*Use SILF with beta > 0"),
        (losses.SoftMarginL1(2.0), ValueError, r"not a negative log likelihood.*Use Trigonometric"),
        (losses.SoftMarginL2(2.0), ValueError, r"not a negative log likelihood.*Use Trigonometric"),
        ("silf", TypeError, r"loss must be a loss of pymc_bsvm\.losses, but it is 'silf'\. Pass"),
    ],
)
def test_losses(loss, error, message, data):
    with pytest.raises(error, match=message):
        build(data, bsvm.gp.Laplace, loss=loss)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"curvature": "rough"}, r"curvature must be 'smooth' or 'exact', but it is 'rough'"),
        ({"jitter": -1e-6}, r"jitter must satisfy 0 <= jitter, but it is -1e-06\."),
        ({"jitter": np.nan}, r"jitter must satisfy 0 <= jitter"),
        ({"C": -1.0}, r"C must satisfy 0 < C, but .*-1\.0\. Pass"),
        ({"epsilon": 0.0}, r"epsilon must satisfy 0 < epsilon, but .*0\.0\. Pass"),
        ({"beta": 1.2}, r"beta must satisfy 0 < beta <= 1, but .*1\.2\. Pass"),
        ({"beta": 0.0}, r"beta must satisfy 0 < beta <= 1, but .*0\.0\. Pass"),
    ],
)
def test_options(change, message, data):
    with pytest.raises(ValueError, match=message):
        build(data, **change)


OF_PYMC = "or PyMC's dims, initval, rng, transform, default_transform."


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        (bsvm.gp.BSVR, "name, X, y, C, epsilon, beta, curvature, jitter, approximation"),
        (bsvm.gp.BTSVC, "name, X, y, delta, curvature, jitter, approximation"),
        (bsvm.gp.Laplace, "name, X, y, loss, curvature, jitter, approximation"),
    ],
)
def test_unknown_arguments(kind, own, data):
    with pytest.raises(TypeError) as caught:
        build(data, kind, sigma=1.0)
    message = f"{kind.__name__}.marginal_likelihood has no argument 'sigma'. Use {own}, {OF_PYMC}"
    assert str(caught.value) == message


def test_arguments_of_pymc(data):
    with pm.Model(coords={"row": range(25)}):
        model, _ = build(data, dims="row", initval=data.y)
        assert model.parent.named_vars_to_dims == {"y": ("row",)}
    with pytest.raises(TypeError, match=r"^marginal_likelihood takes no shape: .*Leave it out\.$"):
        build(data, shape=25)


def test_parameters_of_a_point(data):
    """A parameter outside its domain, when it is a variable."""
    model, gp = cases.regression(data.X, data.y)
    with pytest.raises(ValueError, match=r"C must satisfy 0 < C, but .*-3\.0\. Pass"):
        gp.predict(data.new, {**POINT, "C": -3.0}, model=model)


# ---- predictions --------------------------------------------------------------------------------


def test_missing_values_of_a_point(data):
    model, gp = cases.regression(data.X, data.y)
    incomplete = {"ls": POINT["ls"]}
    message = r"point has no value for C, epsilon\. Pass one value for each free variable"
    with pytest.raises(ValueError, match=message):
        gp.predict(data.new, incomplete, model=model)
    with pytest.raises(ValueError, match=r"no value for ls, C, epsilon"):
        gp.evidence(model=model)
    # those that nothing depends on are not asked for
    with model:
        pm.Normal("unrelated")
    _, other = cases.regression(data.X, data.y, model=pm.Model())
    assert other is not gp
    assert np.isfinite(gp.predict(data.new, POINT, model=model)[0]).all()


def test_new_inputs(data):
    model, gp = cases.regression(data.X, data.y)
    cases_of_new = [
        (np.zeros((4, 3)), r"Xnew has 3 columns, but X has 2\. Pass the same columns"),
        (np.zeros((4, 1)), r"Xnew has 1 columns, but X has 2"),
        (np.zeros(4), r"Xnew must have two dimensions, but it has 1"),
        (changed(np.zeros((4, 2)), (1, 1), np.nan), r"Xnew must be finite"),
    ]
    for new, message in cases_of_new:
        for method in (gp.predict, gp.predictive):
            with pytest.raises(ValueError, match=message):
                method(new, POINT, model=model)


def test_new_inputs_of_a_conditional(data):
    model, gp = cases.regression(data.X, data.y)
    with model, pytest.raises(ValueError, match=r"Xnew must have two dimensions, but it has 1"):
        gp.conditional("one", np.zeros(4))
    with model, pytest.raises(ValueError, match=r"Xnew must be finite"):
        gp.conditional("two", np.full((4, 2), np.nan))


def test_questions_that_a_loss_does_not_answer(data):
    model, gp = cases.regression(data.X, data.y)
    with pytest.raises(ValueError, match=r"BSVR has no classes.*Use predictive"):
        gp.predict_proba(data.new, POINT, model=model)
    model, gp = cases.classification(data.X, data.labels)
    with pytest.raises(ValueError, match=r"Labels have no noise variance.*Use predict_proba"):
        gp.predict(data.new, {"ls": POINT["ls"]}, pred_noise=True, model=model)


def test_given(data):
    model, gp = cases.regression(data.X, data.y)
    for call in (
        lambda given: gp.predict(data.new, POINT, given=given, model=model),
        lambda given: gp.evidence(POINT, given=given, model=model),
    ):
        with pytest.raises(ValueError, match=r"unknown key 'sigma'\. It may hold C, X, beta"):
            call({"sigma": 1.0})
        wrong = {"X": data.X, "y": data.y[:3], "C": 4.0, "epsilon": 0.2}
        with pytest.raises(ValueError, match=r"y has 3 values, but X has 25 rows"):
            call(wrong)
    with model, pytest.raises(ValueError, match=r"unknown key 'Xu'"):
        gp.conditional("f", data.new, given={"Xu": data.X})


NO_DATA = (
    "This BSVR is not conditioned on data. Call its marginal_likelihood first, or pass "
    "given={'gp': total} for a part of a sum."
)


def test_a_part_of_a_sum(data):
    with pm.Model():
        part = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(2, ls=1.0))
        total = part + bsvm.gp.BSVR(cov_func=pm.gp.cov.Constant(1.0))
        total.marginal_likelihood("y", data.X, data.y, C=4.0, epsilon=0.25)
        with pytest.raises(AttributeError) as caught:
            part.predict(data.new)
    assert str(caught.value) == NO_DATA


@pytest.mark.parametrize("kind", [bsvm.gp.BSVR, bsvm.gp.BTSVC, bsvm.gp.SparseLaplace])
def test_no_covariance_function(kind):
    with pytest.raises(TypeError) as caught:
        kind()
    assert str(caught.value) == (
        f"{kind.__name__} has no covariance function. Pass one, such as "
        "cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls)."
    )


def test_there_is_no_prior_of_latent_values(data):
    gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.Constant(1.0))
    with pytest.raises(NotImplementedError) as caught:
        gp.prior("f", X=data.X)
    assert str(caught.value) == (
        "BSVR has no prior method, because it integrates the latent values out. "
        "Use marginal_likelihood, or pm.gp.Latent with a likelihood such as bsvm.SILF."
    )


def test_parameters_that_are_none(data):
    with pytest.raises(TypeError) as caught:
        build(data, C=None)
    assert str(caught.value) == (
        "C is None, but it has no default. Pass a number with 0 < C, or a variable with a prior "
        "to learn it."
    )


def test_prediction_before_the_marginal_likelihood(data):
    with pm.Model() as model:
        gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(2, ls=1.0))
        for call in (
            lambda: gp.predict(data.new),
            lambda: gp.evidence(),
            lambda: gp.conditional("f", data.new),
            lambda: gp.support_vectors(),
        ):
            with pytest.raises(AttributeError) as caught:
                call()
            assert str(caught.value) == NO_DATA
    assert not model.free_RVs


def test_no_model_in_sight(data):
    _, gp = cases.regression(data.X, data.y)
    with pytest.raises(TypeError) as caught:
        gp.predict(data.new, POINT)
    assert str(caught.value) == (
        "No model on context stack. Pass model=..., or a fit as the point, or ask inside of the "
        "model's context."
    )


def test_symbolic_data_are_checked_when_they_are_known(data):
    """A matrix that is computed is believed; its numbers of rows are compared when it is used."""
    with pm.Model() as model:
        scale = pm.HalfNormal("scale")
        gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(2, ls=1.0))
        gp.marginal_likelihood("y", pt.as_tensor(data.X) * scale, data.y, C=4.0, epsilon=0.25)
    value, gradient = cases.evidence_function(model)({"scale_log__": 0.3})
    K = cases.expquad(data.X * np.exp(0.3), data.X * np.exp(0.3))
    loss = losses.SILF(4.0, 0.25, 0.3)
    expected = bsvm.laplace_evidence(K, data.y, loss).log_evidence
    assert value == pytest.approx(expected, rel=1e-9)

    def by_hand(point):
        Z = data.X * np.exp(float(point["scale_log__"]))
        result = bsvm.laplace_evidence(cases.expquad(Z, Z), data.y, loss)
        return result.log_evidence, result.solution.free

    cases.assert_gradient(by_hand, {"scale_log__": 0.3}, gradient, rtol=1e-5)
