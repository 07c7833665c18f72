"""Data in extreme units: the answers are those of ordinary ones."""

import numpy as np
import pytest

from pymc_bsvm.estimators import BayesianSVC, BayesianSVR, RelevanceVectorRegressor

RNG = np.random.default_rng(0)
X = RNG.uniform(-3.0, 3.0, (40, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=40)


@pytest.mark.parametrize("of_X", [2.0**-300, 1.0, 2.0**300])
@pytest.mark.parametrize("of_y", [2.0**-300, 2.0**300])
def test_a_regression_does_not_depend_on_the_units(of_X, of_y):
    """Powers of two change no digit of the standardised data."""
    plain = BayesianSVR(tol=1.0, random_state=0).fit(X, Y)
    model = BayesianSVR(tol=1.0, random_state=0).fit(of_X * X, of_y * Y)
    for name in ("predict_interval", "predict"):
        expected = np.asarray(getattr(plain, name)(X))
        np.testing.assert_allclose(
            np.asarray(getattr(model, name)(of_X * X)) / of_y, expected, rtol=1e-9
        )
    _, sd = model.predict(of_X * X, return_std=True)
    np.testing.assert_allclose(sd / of_y, plain.predict(X, return_std=True)[1], rtol=1e-9)
    shift = len(Y) * np.log(of_y)
    assert model.log_evidence_ + shift == pytest.approx(plain.log_evidence_, abs=1e-6)


def test_relevance_vectors_do_not_depend_on_the_units():
    unit = 2.0**300
    plain = RelevanceVectorRegressor().fit(X, Y)
    model = RelevanceVectorRegressor().fit(unit * X, Y / unit)
    np.testing.assert_allclose(unit * model.predict(unit * X), plain.predict(X), rtol=1e-9)


def test_classes_do_not_depend_on_the_units():
    plain = BayesianSVC(tol=1.0).fit(X, Y > 0.0)
    model = BayesianSVC(tol=1.0).fit(2.0**-300 * X, Y > 0.0)
    expected = plain.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(2.0**-300 * X), expected, rtol=1e-9)


def test_new_rows_may_be_small_but_not_huge():
    model = BayesianSVR(tol=1.0).fit(X, Y)
    assert np.isfinite(model.predict(1e-300 * X)).all()
    with pytest.raises(ValueError, match="another unit"):
        model.predict(1e120 * X)
