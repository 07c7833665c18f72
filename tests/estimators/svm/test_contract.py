"""The contract of scikit-learn."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from pymc_bsvm.estimators import SVMClassifier, SVMOneClass, SVMRegressor


@parametrize_with_checks(
    [
        SVMRegressor(),
        SVMRegressor("linear", loss="silf"),
        SVMOneClass(),
        SVMClassifier(),
        SVMClassifier("matern32", loss="trigonometric", multiclass="dag", class_weight="balanced"),
    ]
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
