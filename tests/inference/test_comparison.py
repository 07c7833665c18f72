"""Models ranked by their evidence."""

import numpy as np
import pymc as pm
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm.inference import Ending, compare_evidence, fit_evidence
from tests.inference.conftest import line, two_parameters

pytestmark = pytest.mark.usefixtures("quick")


def with_gaussian_noise(y=None, name="y", **kwargs):
    X, targets = line()
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5)
        gp = bsvm.gp.Laplace(cov_func=1.4 * pm.gp.cov.ExpQuad(1, ls=ls))
        loss = bsvm.losses.Gaussian(0.6)
        gp.marginal_likelihood(name, X, targets if y is None else y, loss=loss, **kwargs)
    return model


@pytest.fixture(scope="module")
def fits(quick):
    return {
        "gaussian": fit_evidence(with_gaussian_noise(), progressbar=False),
        "silf": fit_evidence(two_parameters().model, progressbar=False),
        "unfinished": fit_evidence(two_parameters().model, maxiter=1, progressbar=False),
    }


def test_table(fits):
    table = compare_evidence(fits)
    columns = ["log_evidence", "difference", "weight", "n_support", "n_free", "gap"]
    assert list(table) == [*columns, "approximation", "warning"]
    assert list(table["approximation"][["silf", "gaussian"]]) == ["laplace (smooth)", "laplace"]
    values = {name: fit.log_evidence for name, fit in fits.items()}
    assert list(table.index) == sorted(values, key=values.get, reverse=True)
    assert table.index[0] == "silf"
    total = sum(np.exp(value) for value in values.values())
    for name, fit in fits.items():
        row = table.loc[name]
        assert row["log_evidence"] == values[name]
        assert row["difference"] == pytest.approx(values[name] - values["silf"], abs=1e-12)
        assert row["weight"] == pytest.approx(np.exp(values[name]) / total, rel=1e-9)
        assert row["n_support"] == np.count_nonzero(fit.solution.a)
        assert row["n_free"] == fit.solution.free.sum() <= row["n_support"]
        assert row["gap"] == fit.solution.gap
    assert table["n_support"]["gaussian"] == 30
    assert table["n_support"]["silf"] < 30
    assert table["weight"].sum() == pytest.approx(1.0, rel=1e-12)


def test_warnings(fits):
    """The Gaussian loss has one evidence, whatever the curvature of the others."""
    table = compare_evidence(fits)
    assert fits["unfinished"].best.ending is Ending.MAX_ITER
    assert table["warning"]["unfinished"] == Ending.MAX_ITER.value
    assert table["warning"]["silf"] == table["warning"]["gaussian"] == ""


def test_different_curvatures_are_warned_of(fits):
    exact = fit_evidence(two_parameters("exact").model, progressbar=False)
    table = compare_evidence({"smooth": fits["silf"], "exact": exact})
    for name in ("smooth", "exact"):
        assert (
            "The approximations differ: laplace, laplace (exact), laplace (smooth)."
            in table["warning"][name]
        )
    unfinished = compare_evidence({"exact": exact, "smooth": fits["unfinished"]})
    start = f"{Ending.MAX_ITER.value} The approximations"
    assert unfinished["warning"]["smooth"].startswith(start)


def test_one_model(fits):
    table = compare_evidence({"only": fits["silf"]})
    assert list(table.index) == ["only"]
    assert table.loc["only", "difference"] == 0.0
    assert table.loc["only", "weight"] == 1.0


def test_evidences_far_apart(fits):
    """Exponentials of the evidences themselves would underflow."""
    X, y = line()
    with pm.Model() as model:
        gp = bsvm.gp.Laplace(cov_func=pm.LogNormal("a", 0.0, 0.01) * pm.gp.cov.ExpQuad(1, ls=1.0))
        gp.marginal_likelihood("y", X, y, loss=bsvm.losses.Gaussian(0.02))
    poor = fit_evidence(model, progressbar=False)
    assert poor.log_evidence < -1000.0
    table = compare_evidence({"poor": poor, "silf": fits["silf"]})
    assert list(table["weight"]) == [1.0, 0.0]
    alone = compare_evidence({"a": poor, "b": poor})
    assert list(alone["weight"]) == [0.5, 0.5]


def test_counts_of_several_variables(fits):
    X, y = line()
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5)
        for name, rows in (("one", slice(0, 20)), ("two", slice(20, 30))):
            gp = bsvm.gp.BSVR(cov_func=1.4 * pm.gp.cov.ExpQuad(1, ls=ls))
            gp.marginal_likelihood(name, X[rows], y[rows], C=4.0, epsilon=0.15)
    fit = fit_evidence(model, progressbar=False)
    table = compare_evidence({"both": fit})
    solutions = [evidence.solution for evidence in fit.evidences.values()]
    assert table.loc["both", "n_support"] == sum(s.support.sum() for s in solutions)
    assert table.loc["both", "n_free"] == sum(s.free.sum() for s in solutions)
    assert table.loc["both", "gap"] == max(s.gap for s in solutions)


# ---- errors -------------------------------------------------------------------------------------


def test_nothing_to_compare(refuses):
    with refuses(ValueError, "no fits"):
        compare_evidence({})
    with pytest.raises(TypeError) as caught:
        compare_evidence([])
    assert str(caught.value) == (
        "fits must be a mapping of names to fits, but it is of type list. Pass {'name': fit}."
    )


def test_wrong_type(fits, refuses):
    with refuses(TypeError, "'tree'", "DataTree", "az.compare"):
        compare_evidence({"silf": fits["silf"], "tree": fits["silf"].to_datatree()})


def test_different_data(fits, refuses):
    _, y = line()
    other = fit_evidence(with_gaussian_noise(y + 0.1), progressbar=False)
    with refuses(ValueError, "'silf'", "'other'", "different data for 'y'"):
        compare_evidence({"silf": fits["silf"], "other": other})
    renamed = fit_evidence(with_gaussian_noise(name="z"), progressbar=False)
    with refuses(ValueError, "'silf'", "'renamed'", "different data for 'y'"):
        compare_evidence({"silf": fits["silf"], "renamed": renamed})


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_a_variable_that_one_model_has_not(order, fits, refuses):
    X, y = line()
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5)
        for name in ("y", "z"):
            gp = bsvm.gp.BSVR(cov_func=1.4 * pm.gp.cov.ExpQuad(1, ls=ls))
            gp.marginal_likelihood(name, X, y, C=4.0, epsilon=0.15)
    available = {"one": fits["silf"], "two": fit_evidence(model, progressbar=False)}
    with refuses(ValueError, "different data for 'z'"):
        compare_evidence({name: available[name] for name in order})
