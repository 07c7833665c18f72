"""Misuses of the estimators, their kernels and rows that are read block by block."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.exceptions import NotFittedError

from pymc_bsvm import losses
from pymc_bsvm.estimators import (
    BayesianSVC,
    BayesianSVR,
    OnlineSVC,
    OnlineSVR,
    RelevanceVectorClassifier,
    RelevanceVectorRegressor,
    SVMClassifier,
    SVMOneClass,
    SVMRegressor,
    kernels,
)
from tests.misuse.case import Misuse

N = 12
RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (N, 2))
Y = np.sin(X[:, 0])
LABELS = (Y > 0.0).astype(int)
GRAM = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
INDEFINITE = GRAM - 0.5 * np.ones((N, N)) / N - 0.3 * np.eye(N)
MASKED = np.ma.masked_greater(X, 1.0)
DATES = np.arange(2 * N).reshape(N, 2).astype("datetime64[D]")
FRAME = pd.DataFrame(X, columns=["speed", "load"])

REGRESSORS = (BayesianSVR, OnlineSVR, SVMRegressor, RelevanceVectorRegressor)
CLASSIFIERS = (BayesianSVC, OnlineSVC, SVMClassifier, RelevanceVectorClassifier)
BAYESIAN = (BayesianSVR, BayesianSVC)
WITH_GRAM = tuple(kind for kind in (*REGRESSORS, *CLASSIFIERS) if "Online" not in kind.__name__)


def quick(kind: Callable[..., Any], **settings: Any) -> Any:
    """Return an estimator whose fit takes no time."""
    return kind(**({"tol": 1.0, "max_iter": 3} if kind in BAYESIAN else {}), **settings)


def targets(kind: object) -> np.ndarray:
    """Return targets or labels."""
    return Y if kind in REGRESSORS else LABELS


def fit(kind: Callable[..., Any], X: Any = X, y: Any = None, *more: Any, **settings: Any) -> Any:
    """Fit an estimator."""
    return quick(kind, **settings).fit(X, targets(kind) if y is None else y, *more)


def blocks(*parts: Any) -> Any:
    """Fit on inducing points to blocks."""
    return quick(BayesianSVR, inducing=4).fit(lambda: parts)


def of_data() -> list[Misuse]:
    """Return what may be wrong with X and y, one estimator after the other."""
    kinds = (*REGRESSORS, *CLASSIFIERS)
    wrong: list[tuple[str, Any, str, str]] = [
        ("masked X", MASKED, r"X .* \d+ of its elements are masked", "impute these rows"),
        ("complex X", X + 1j, "X is of type complex128", "Pass real numbers"),
        ("dates for X", DATES, r"X .* times of type datetime64\[D\]", "divided by"),
        ("a vector for X", X[:, 0], "X .* is a vector", r"X\.reshape\(-1, 1\)"),
        ("three dimensions of X", X[:, :, None], "X .* 3 dimensions", "one row for each"),
        ("X of a size that overflows", 1e200 * X, r"largest in column 0 is 1.\d+e\+200", "unit"),
        ("X of a size that underflows", 1e-200 * X, r"column 0 is 1.\d+e-200", "another unit"),
        ("NaN in X", np.where(X > 1.0, np.nan, X), "X must be finite, .* NaN", "impute these"),
        ("words in X", np.where(X > 1.0, "fast", "3"), "'fast' is none", "Encode"),
    ]
    cases = []
    for k, (name, value, sees, remedy) in enumerate(wrong):
        for kind in (kinds[k % 8], kinds[(k + 3) % 8]):
            cases.append(
                Misuse(
                    f"{name}: {kind.__name__}",
                    lambda kind=kind, value=value: fit(kind, value),
                    ValueError,
                    sees,
                    remedy,
                )
            )
    return cases


def case(
    name: str,
    call: Callable[[], object],
    sees: str,
    remedy: str,
    exception: type[Exception] = ValueError,
) -> Misuse:
    return Misuse(name, call, exception, sees, remedy)


def arguments() -> list[Misuse]:
    """Return arguments of constructors that do not exist."""
    unknown: list[tuple[Any, str, Any, str, str]] = [
        (BayesianSVR, "C", 1.0, "learned by the evidence", "use SVMRegressor"),
        (BayesianSVR, "epsilon", 0.1, "learned by the evidence", "use SVMRegressor"),
        (BayesianSVR, "gamma", "scale", "learned by the evidence", "use SVMRegressor"),
        (BayesianSVC, "C", 1.0, "learned by the evidence", "use SVMClassifier"),
        (BayesianSVC, "probability", True, "come with every prediction", "Leave it out"),
        (BayesianSVC, "degree", 3, "The kernel itself", r"kernels\.Polynomial\(3\)"),
        (BayesianSVC, "decision_function_shape", "ovo", "a decision each", "Leave it out"),
        (BayesianSVR, "normalize_y", True, "standardised by default", "Pass standardize"),
        (BayesianSVR, "n_restarts_optimizer", 3, "several times", "Pass restarts"),
        (BayesianSVR, "kernal", "rbf", "Did you mean", "kernel"),
        (BayesianSVR, "colour", "red", "Pass some of", "approximation"),
        (SVMClassifier, "probability", True, "has no probabilities", "Use BayesianSVC"),
        (SVMClassifier, "cache_size", 200, "at hand", "Leave it out"),
        (SVMRegressor, "verbose", 1, "says nothing", "Leave it out"),
        (SVMRegressor, "ls", 0.5, "Length-scales", "Pass gamma"),
        (OnlineSVR, "gamma", 0.5, "passed by name", "Pass hyperparameters"),
        (RelevanceVectorRegressor, "length_scale", 0.5, "by name", "Pass hyperparameters"),
    ]
    return [
        case(
            f"{kind.__name__}({name}=)",
            lambda kind=kind, name=name, value=value: kind(**{name: value}),
            rf"^{kind.__name__} takes no {name}\. .*{sees}",
            remedy,
            TypeError,
        )
        for kind, name, value, sees, remedy in unknown
    ]


def settings() -> list[Misuse]:
    """Return values of parameters that do not exist."""
    wrong: list[tuple[Any, str, Any, str, str]] = [
        (BayesianSVR, "kernel", "sigmoid", "it is 'sigmoid'", "Pass one of 'rbf'"),
        (BayesianSVC, "kernel", kernels.RBF, "it is <class", "Pass one of"),
        (BayesianSVR, "loss", "hinge", "it is 'hinge'", "Pass one of them"),
        (BayesianSVC, "loss", losses.Gaussian(1.0), "likelihood of classification", "Pass another"),
        (BayesianSVR, "beta", "small", "it is 'small'", r"0\.3"),
        (BayesianSVR, "noise", "normal", "it is 'normal'", "Pass one of them"),
        (BayesianSVR, "ard", "yes", "it is 'yes'", "one of the three"),
        (BayesianSVR, "standardize", "no", "it is 'no'", "one of the two"),
        (BayesianSVR, "restarts", True, "integer >= 1, but it is True", "1 or more"),
        (BayesianSVR, "max_iter", 0, "it is 0", "1 or more"),
        (BayesianSVR, "verbose", "loud", "it is 'loud'", "0 or more"),
        (BayesianSVR, "offset", -1.0, r"it is -1\.0", "finite value"),
        (BayesianSVR, "approximation", "vi", "it is 'vi'", "Pass one of these names"),
        (BayesianSVR, "inducing", 2.5, r"it is 2\.5", "for example, 500"),
        (BayesianSVR, "sampler", 500, "it is 500", "draws"),
        (BayesianSVC, "class_weight", "auto", "it is 'auto'", "1: 5"),
        (BayesianSVC, "class_weight", {"spam": 2.0}, r"names \['spam'\]", "as y does"),
        (SVMClassifier, "class_weight", {0: "much"}, "for 0 it is 'much'", "how often"),
        (SVMClassifier, "class_weight", {0: -1.0}, r"for 0 it is -1\.0", "how often"),
        (SVMClassifier, "multiclass", "ovo", "it is 'ovo'", "Pass one of these"),
        (SVMRegressor, "C", 0.0, r"it is 0\.0", "finite value"),
        (SVMRegressor, "gamma", "big", "it is 'big'", "Pass one of these"),
        (SVMRegressor, "nu", 2.0, r"it is 2\.0", "nu <= 1"),
        (SVMRegressor, "max_iter", True, "it is True", "1 or more"),
        (OnlineSVR, "max_basis", 0, "it is 0", "1 or more"),
        (OnlineSVR, "hyperparameters", {"length": 1.0}, "names 'length'", "Pass some of"),
        (OnlineSVR, "hyperparameters", [1.0], r"it is \[1\.0\]", "for example"),
        (OnlineSVR, "novelty", 2.0, r"it is 2\.0", "novelty < 1"),
        (RelevanceVectorRegressor, "bias", "no", "it is 'no'", "one of the two"),
        (RelevanceVectorRegressor, "variance", "both", "it is 'both'", "one of the two"),
    ]
    kinds = {TypeError: [(SVMRegressor, "C", "1", "got '1' of type str", "Pass a float")]}
    cases = [
        case(
            f"{kind.__name__}({name}={value!r}).fit",
            lambda kind=kind, name=name, value=value: kind(**{name: value}).fit(X, targets(kind)),
            sees,
            remedy,
            exception,
        )
        for exception, rows in {ValueError: wrong, **kinds}.items()
        for kind, name, value, sees, remedy in rows
    ]
    return cases


FITS = [
    case(
        "y that is masked",
        lambda: fit(SVMRegressor, y=np.ma.masked_greater(Y, 0.5)),
        r"y .* \d+ of its elements are masked",
        "impute these rows",
    ),
    case("complex y", lambda: fit(BayesianSVR, y=Y + 1j), "y is of type complex", "real numbers"),
    case("dates for y", lambda: fit(OnlineSVR, y=DATES[:, 0]), "y .* datetime64", "divided by"),
    case(
        "y of a size that overflows",
        lambda: fit(BayesianSVR, y=np.sign(Y) * 1e308),
        r"largest is 1e\+308",
        "another unit",
    ),
    case(
        "y of a size that underflows",
        lambda: fit(RelevanceVectorRegressor, y=Y * 1e-200),
        r"largest is \d.*e-201",
        "another unit",
    ),
    case("names for y", lambda: fit(BayesianSVR, y=["a"] * N), "'a' is none", "Encode"),
    case("several targets", lambda: fit(SVMRegressor, y=X), r"shape \(12, 2\)", "for each column"),
    case("fewer targets than rows", lambda: fit(OnlineSVC, y=LABELS[:5]), "12 .* 5", "each row"),
    case("no y", lambda: BayesianSVR().fit(X), "y is None", "Pass y"),
    case(
        "a fit to no rows", lambda: fit(BayesianSVC, X[:0], LABELS[:0]), r"0 sample", "Pass one row"
    ),
    case("numbers for labels", lambda: fit(BayesianSVC, y=Y), "continuous", "use a regressor"),
    case("one class", lambda: fit(SVMClassifier, y=np.ones(N)), r"1 class: 1\.0", "Provide rows"),
    case(
        "sparse X",
        lambda: fit(BayesianSVR, sparse.csr_matrix(X)),
        "Sparse data was passed",
        "toarray",
        TypeError,
    ),
    case(
        "weights by name",
        lambda: fit(BayesianSVR, X, Y, "balanced"),
        "'balanced' is none",
        "Encode",
    ),
    case("weights below zero", lambda: fit(BayesianSVR, X, Y, -(Y**2)), "it holds -", "how often"),
    case(
        "too few weights", lambda: fit(SVMRegressor, X, Y, Y[:3]), r"shape is \(3,\)", "how often"
    ),
    case("weights with columns", lambda: fit(SVMRegressor, X, Y, X), "a 2D array", "each row"),
    case(
        "masked weights",
        lambda: fit(BayesianSVR, X, Y, np.ma.masked_greater(np.ones(N), 0.0)),
        "sample_weight .* masked",
        "impute",
    ),
    case("no weight at all", lambda: fit(BayesianSVR, X, Y, 0 * Y), "zero for all", "positive"),
    case(
        "an indefinite Gram matrix",
        lambda: fit(BayesianSVR, INDEFINITE, kernel="precomputed"),
        r"least eigenvalue is -0\.\d+",
        "to its diagonal",
    ),
    case(
        "an indefinite Gram matrix of classes",
        lambda: fit(RelevanceVectorClassifier, INDEFINITE, kernel="precomputed"),
        "least eigenvalue",
        "Pass k",
    ),
    case(
        "inputs in the place of a Gram matrix",
        lambda: fit(SVMClassifier, kernel="precomputed"),
        r"shape is \(12, 2\)",
        "covariances of the training rows",
    ),
    case(
        "a Gram matrix with one half",
        lambda: fit(SVMRegressor, np.triu(GRAM), kernel="precomputed"),
        "differ by",
        "symmetric function",
    ),
    case(
        "a Gram matrix on line",
        lambda: fit(OnlineSVR, GRAM, kernel="precomputed"),
        "'precomputed'",
        "Pass the kernel",
    ),
    case(
        "a Gram matrix with inducing points",
        lambda: fit(BayesianSVR, GRAM, kernel="precomputed", inducing=5),
        "inducing is 5",
        "inducing=None",
    ),
    case(
        "draws on inducing points",
        lambda: fit(BayesianSVR, inducing=5, full_bayes=True),
        "inducing is 5",
        "full_bayes=False",
    ),
    case(
        "draws with weights",
        lambda: fit(BayesianSVR, X, Y, Y**2, full_bayes=True),
        "no weights",
        "Repeat the rows",
    ),
    case(
        "a nu that balance does not allow",
        lambda: fit(SVMClassifier, X, np.arange(N) < 2, nu=0.9),
        r"but it is 0\.9",
        "smaller nu",
    ),
    case("C of a path by name", lambda: SVMRegressor().path(X, Y, "all"), "'all'", "for example"),
    case("one C for a path", lambda: SVMRegressor().path(X, Y, 1.0), r"it is 1\.0", "for example"),
    case(
        "a path of nu",
        lambda: SVMClassifier(nu=0.2).path(X, LABELS, [1.0]),
        r"nu = 0\.2",
        "nu=None",
    ),
    case("beta of another loss", lambda: fit(BayesianSVR, loss="huber", beta=0.5), "0.5", "auto"),
    case("C set later", lambda: BayesianSVR().set_params(C=1.0), "learned", "use SVMRegressor"),
]

PREDICTIONS = [
    case(
        "a prediction before the fit",
        lambda: BayesianSVR().predict(X),
        "not fitted yet",
        "Call 'fit'",
        NotFittedError,
    ),
    case(
        "fewer columns than in the fit",
        lambda: fit(SVMRegressor).predict(X[:, :1]),
        "X has 1 features",
        "columns of the fit",
    ),
    case("one row as a vector", lambda: fit(SVMClassifier).predict(X[0]), "a vector", "reshape"),
    case("a masked row", lambda: fit(OnlineSVC).predict(MASKED), "masked", "Leave out or impute"),
    case(
        "a row of a size that overflows",
        lambda: fit(OnlineSVR).predict(1e300 * X),
        r"1.\d+e\+300",
        "another unit",
    ),
    case(
        "a percentage as a probability",
        lambda: fit(BayesianSVR).predict_quantiles(X, 90),
        r"it is 90\.0",
        "q < 1",
    ),
    case(
        "a percentage as a coverage",
        lambda: fit(BayesianSVR).predict_interval(X, 95),
        r"it is 95\.0",
        "coverage < 1",
    ),
    case(
        "return_std by name",
        lambda: fit(BayesianSVR).predict(X, return_std="no"),
        "it is 'no'",
        "one of the two",
    ),
    case("no draws", lambda: fit(BayesianSVR).sample_y(X, 0), "it is 0", "1 or more"),
    case(
        "draws from a Gram matrix",
        lambda: fit(BayesianSVR, GRAM, kernel="precomputed").sample_y(GRAM),
        "covariances of new rows",
        "Pass the kernel",
    ),
    case(
        "too few targets of a density",
        lambda: fit(BayesianSVR).log_predictive_density(X, Y[:3]),
        "12 rows where y has 3",
        "one target",
    ),
    case(
        "a model of which class",
        lambda: fit(BayesianSVC, y=np.arange(N) % 3).to_pymc(),
        "it is None",
        "Pass one of",
    ),
    case(
        "new classes on line",
        lambda: OnlineSVC().partial_fit(X, LABELS).partial_fit(X, LABELS + 1),
        "it holds 2",
        "as classes",
    ),
    case(
        "a class that was not named",
        lambda: OnlineSVC().partial_fit(X, LABELS, classes=[1, 2]),
        "y holds 0",
        "Add it to classes",
    ),
    case(
        "a later batch with a new class",
        lambda: quick(BayesianSVC, inducing=4).partial_fit(X, LABELS).partial_fit(X, LABELS + 1),
        "The label '2'",
        "all classes",
    ),
    case(
        "batches by expectation propagation",
        lambda: quick(BayesianSVR, inducing=4, approximation="ep").partial_fit(X, Y),
        "approximation is 'ep'",
        "'laplace'",
    ),
]

STREAMED = [
    case("a function without points", lambda: quick(BayesianSVR).fit(lambda: []), "None", "auto"),
    case("no blocks", lambda: blocks(), "no rows", "Yield one row"),
    case("blocks without targets", lambda: blocks(X), "ndarray", "Yield a tuple"),
    case("blocks of vectors", lambda: blocks((X[:, 0], Y)), r"\(12,\)", "rows and columns"),
    case("masked blocks", lambda: blocks((MASKED, Y)), "masked", "impute"),
    case("complex blocks", lambda: blocks((X + 1j, Y)), "complex128", "real numbers"),
    case("blocks of dates", lambda: blocks((DATES, Y)), "datetime64", "divided by"),
    case("dated targets", lambda: blocks((X, DATES[:, 0])), "y .* datetime64", "divided by"),
    case("blocks of words", lambda: blocks((X.astype(str) + "a", Y)), "type is <U", "Encode"),
    case("blocks that overflow", lambda: blocks((X * 1e200, Y)), r"e\+200", "another unit"),
    case("targets that overflow", lambda: blocks((X, Y * 1e200)), r"e\+\d+", "another unit"),
    case("blocks with NaN", lambda: blocks((X * np.nan, Y)), "nan in column 0", "Remove"),
    case("blocks of other columns", lambda: blocks((X, Y), (X[:, :1], Y)), "1 columns", "the same"),
    case("blocks of other lengths", lambda: blocks((X, Y[:3])), r"\(3,\)", "one number for each"),
    case(
        "a function that returns nothing",
        lambda: quick(BayesianSVR, inducing=4).fit(lambda: None),
        "returned NoneType",
        "Let it yield",
    ),
    case(
        "blocks and targets",
        lambda: quick(BayesianSVR, inducing=4).fit(lambda: [(X, Y)], Y),
        "y or sample_weight is passed as well",
        "Let it yield",
    ),
    case(
        "blocks of one class",
        lambda: quick(BayesianSVC, inducing=4).fit(lambda: [(X, np.ones(N))]),
        "one class only",
        "two classes",
    ),
]

KERNELS = [
    case("a sum with a name", lambda: kernels.RBF() + "rbf", "is 'rbf'", "Use classes", TypeError),
    case("a broken degree", lambda: kernels.Polynomial(degree=1.5), r"it is 1\.5", "Pass 2 or 3"),
    case(
        "ard beside a kernel object",
        lambda: fit(BayesianSVR, kernel=kernels.RBF(), ard=True),
        "has no effect",
        "in the kernel itself",
    ),
    case(
        "ard of a Gram matrix",
        lambda: fit(BayesianSVR, GRAM, kernel="precomputed", ard=True),
        "no length-scales",
        "Set ard=False",
    ),
    case(
        "one-class machine of masked rows",
        lambda: SVMOneClass().fit(MASKED),
        "masked",
        "impute these rows",
    ),
]

CASES = [*of_data(), *arguments(), *settings(), *FITS, *PREDICTIONS, *STREAMED, *KERNELS]
