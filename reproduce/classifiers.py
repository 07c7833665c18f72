"""The classifiers of chapter 5: BTSVC as the papers have it, today's default, and their peers.

Labels are 0 and 1. The covariance is (5.13) of the thesis, ``kappa_0 exp(-kappa |x - z|² / 2) +
kappa_b``, also for the peers.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from time import process_time
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import LeaveOneOut, StratifiedKFold
from sklearn.svm import SVC

import pymc_bsvm as bsvm
from pymc_bsvm.approximations import Approximation, Evidence, Laplace
from pymc_bsvm.reporting.style import BLACK, BLUE, GREEN, ORANGE
from pymc_bsvm.search import Ending, ascend
from pymc_bsvm.solvers import DualSolveError

__all__ = [
    "COLOURS",
    "NAMES",
    "PAPERS_STARTS",
    "SEARCHES",
    "Classifier",
    "PapersEvidence",
    "btsvc",
    "btsvc_at",
    "chosen_svc",
    "covariance",
    "folds_of",
    "scores",
    "trained",
]

type Array = NDArray[np.float64]
type Search = Literal["once", "again", "smooth"]
type Folds = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]

NAMES = {
    "btsvc": "BTSVC, as the papers",
    "default": "BayesianSVC(), default",
    "gpc": "GPC",
    "svc": "SVC",
}
COLOURS = {"btsvc": BLUE, "default": GREEN, "gpc": ORANGE, "svc": BLACK}

SEARCHES = {
    "once": "one run of L-BFGS-B, as the papers",
    "again": "begun again at each jump",
    "smooth": "on the smooth evidence",
}
PAPERS_STARTS = (0.1, 1.0, 10.0, 100.0)  # of kappa_0; "usually it is 10"
TRIGONOMETRIC = bsvm.losses.Trigonometric()
TOLERANCE = 1e-6  # duality gap; that of the thesis is 1e-3 in the conditions of the optimum
BOX = (1e-6, 1e6)  # of kappa_0, kappa and kappa_b
_BLOCK = 4096  # rows that are predicted at a time
_WALL = 1e10
_SURE = 1e-15  # least probability of a label


@dataclass(frozen=True)
class Classifier:
    """A classifier after its training.

    Attributes
    ----------
    facts : dict
        What a report says of the training.
    positive : callable
        Tells of new rows whether their label is 1.
    probability : callable or None
        The probabilities of label 1.
    latent : callable or None
        Means and standard deviations of the latent function.
    """

    facts: Mapping[str, Any]
    positive: Callable[[Array], NDArray[np.bool_]]
    probability: Callable[[Array], Array] | None = None
    latent: Callable[[Array], tuple[Array, Array]] | None = None


class PapersEvidence:
    """The log evidence (5.35) in the logarithms of kappa_0, kappa and kappa_b; for `ascend`.

    There is one kappa, or one for each column.
    """

    def __init__(
        self, X: Array, labels: NDArray[np.int64], approximation: Approximation | None = None
    ) -> None:
        self.X, self.y = X - X.mean(axis=0), 2.0 * labels - 1.0
        self.approximation = approximation or Laplace(curvature="exact", tol=TOLERANCE)
        self.evaluations, self.log_evidence = 0, -np.inf
        self.forget()

    def forget(self) -> None:
        """Start the next evaluation from nothing."""
        self._start: Array | None = None

    def at(self, x: Array) -> Evidence:
        """Return the evidence in its terms."""
        K = covariance(np.exp(x), self.X, self.X)
        evidence = self.approximation.evidence(
            K, self.y, TRIGONOMETRIC, start=self._start, check_input=False
        )
        self._start = evidence.start
        return evidence

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and the gradient."""
        self.evaluations += 1
        try:
            evidence = self.at(x)
        except DualSolveError:
            self.forget()
            return -np.inf, np.zeros_like(x)
        self.log_evidence = evidence.log_evidence
        theta = np.exp(x)
        G, X = np.asarray(evidence.gradient.K), self.X[evidence.gradient.rows]
        signal = (covariance(theta, X, X) - theta[-1]) * G
        # sum_ij S_ij (x_i - x_j)² of each column
        squares = 2.0 * (signal.sum(axis=1) @ X**2 - (X * (signal @ X)).sum(axis=0))
        of_kappa = -0.5 * theta[1:-1] * (squares if x.size > 3 else squares.sum())
        return self.log_evidence, np.array([signal.sum(), *of_kappa, theta[-1] * G.sum()])

    def negative(self, x: Array) -> tuple[float, Array]:
        """Return minus both, for a minimiser; a large value where there is no evidence."""
        value, slope = self(x)
        return (-value, -slope) if np.isfinite(value) else (_WALL, slope)


def covariance(theta: Array, X: Array, Z: Array) -> Array:
    """Return (5.13), or (5.37) if there is a kappa for each column."""
    scale = np.sqrt(theta[1:-1])
    return theta[0] * np.exp(-0.5 * cdist(X * scale, Z * scale, "sqeuclidean")) + theta[-1]


def btsvc(
    X: Array,
    labels: NDArray[np.int64],
    kappa_0: float = 10.0,
    ard: bool = False,
    search: Search = "once",
) -> Classifier:
    """Train as in section 5.5, from ``kappa = 1 / d`` and ``kappa_b = 100``, in a wide box.

    That is one run of L-BFGS-B on Laplace's evidence with the exact curvature, which jumps. The
    library's own search ("again") begins again where a line search breaks off, and may climb the
    smooth evidence in its place ("smooth").
    """
    begin, d = process_time(), X.shape[1]
    curvature: Any = "smooth" if search == "smooth" else "exact"
    objective = PapersEvidence(X, labels, Laplace(curvature=curvature, tol=TOLERANCE))
    start = np.log([kappa_0, *[1.0 / d] * (d if ard else 1), 100.0])
    box = [tuple(np.log(BOX))] * start.size
    if search == "once":
        run = minimize(objective.negative, start, jac=True, method="L-BFGS-B", bounds=box)
        end, slope, converged = run.x, run.jac, bool(run.success)
    else:
        climb = ascend(objective, start, bounds=box)
        end, slope, converged = climb.end, climb.slope, climb.ending is Ending.CONVERGED
    seconds = process_time() - begin
    found = btsvc_at(X, labels, np.exp(end))
    facts = {
        "minus_log_evidence": -objective.at(end).log_evidence,
        "converged": converged,
        "slope": float(np.abs(slope).max()),
        "evaluations": objective.evaluations,
        "seconds": seconds,
    }
    return replace(found, facts={**found.facts, **facts})


def btsvc_at(X: Array, labels: NDArray[np.int64], theta: Array) -> Classifier:
    """Return BTSVC at hyperparameters."""
    evidence = PapersEvidence(X, labels).at(np.log(theta))
    posterior = evidence.posterior
    vectors = X[posterior.rows]

    def latent(Z: Array) -> tuple[Array, Array]:
        moments = []
        for block in _blocks(Z):
            cross = covariance(theta, vectors, block)
            variance = posterior.predict_variance(cross, np.full(len(block), theta[0] + theta[-1]))
            moments.append((posterior.predict_mean(cross), np.sqrt(variance)))
        mean, deviation = zip(*moments, strict=True)
        return np.concatenate(mean), np.concatenate(deviation)

    def probability(Z: Array) -> Array:
        mean, deviation = latent(Z)
        return np.exp(TRIGONOMETRIC.log_average(mean, deviation**2))

    facts = {
        "kappa_0": float(theta[0]),
        "kappa": float(np.mean(theta[1:-1])),
        "kappa_b": float(theta[-1]),
        "support": int(evidence.solution.support.sum()),
        "minus_log_evidence": -evidence.log_evidence,
    }
    return Classifier(facts, lambda Z: latent(Z)[0] > 0.0, probability, latent)


def default(X: Array, labels: NDArray[np.int64]) -> Classifier:
    """Train what the library does by itself; of several columns kappa is the mean."""
    begin = process_time()
    model = bsvm.BayesianSVC(random_state=0).fit(X, labels)
    seconds = process_time() - begin
    named = model.hyperparameters_[0]
    facts = {
        "kappa_0": float(named["eta"]) ** 2,
        "kappa": float(np.mean(np.asarray(named["ls"]) ** -2.0)),
        "kappa_b": float(model.offset),
        "support": int(model.support_.size),
        "minus_log_evidence": -float(model.log_evidence_),
        "sharpness": float(model.sharpness_),
        "evaluations": int(model.n_iter_),
        "seconds": seconds,
    }
    return Classifier(
        facts,
        lambda Z: model.predict(Z) == 1,
        lambda Z: model.predict_proba(Z)[:, 1],
    )


def gpc(
    X: Array, labels: NDArray[np.int64], ard: bool = False, kappa_b: float | None = None
) -> Classifier:
    """Train scikit-learn's Gaussian process classifier, from the starts of BTSVC.

    With all of kappa_0, kappa and kappa_b, unless the last one is given.
    """
    constant = ConstantKernel(100.0, BOX)
    if kappa_b is not None:
        constant = ConstantKernel(kappa_b, "fixed")
    wide, width = tuple(1.0 / np.sqrt(BOX[::-1])), np.sqrt(X.shape[1])
    signal = ConstantKernel(10.0, BOX) * RBF(np.full(X.shape[1], width) if ard else width, wide)
    evaluations = []

    def counted(objective: Any, start: Array, bounds: Array) -> tuple[Array, float]:
        result = minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B")
        evaluations.append(int(result.nfev))
        return result.x, result.fun

    begin = process_time()
    model = GaussianProcessClassifier(signal + constant, optimizer=counted)
    model.fit(X, labels)
    seconds = process_time() - begin
    kernel = model.kernel_

    def blockwise(function: Callable[[Array], Array], Z: Array) -> Array:
        return np.concatenate([function(block) for block in _blocks(Z)], axis=-1)

    def latent(Z: Array) -> tuple[Array, Array]:
        mean, variance = blockwise(lambda B: np.array(model.latent_mean_and_variance(B)), Z)
        return mean, np.sqrt(variance)

    facts = {
        "kappa_0": float(kernel.k1.k1.constant_value),
        "kappa": float(np.mean(np.asarray(kernel.k1.k2.length_scale) ** -2.0)),
        "kappa_b": float(kernel.k2.constant_value),
        "minus_log_evidence": -float(model.log_marginal_likelihood_value_),
        "evaluations": sum(evaluations),
        "seconds": seconds,
    }
    return Classifier(
        facts,
        lambda Z: blockwise(model.predict, Z) == 1,
        lambda Z: blockwise(lambda B: model.predict_proba(B)[:, 1], Z),
        latent,
    )


def svc(X: Array, labels: NDArray[np.int64]) -> Classifier:
    """Train an SVC by the thesis' two grids, and from 100 rows on Platt's sigmoid by five folds."""
    begin = process_time()
    folds = folds_of(X, labels)
    C, kappa, errors, evaluations = chosen_svc(X, labels, folds)
    seconds = process_time() - begin
    model = SVC(C=C, gamma=0.5 * kappa).fit(X, labels)
    probability = None
    if len(labels) >= _MANY:
        platt = CalibratedClassifierCV(SVC(C=C, gamma=0.5 * kappa), cv=5, ensemble=False)
        platt.fit(X, labels)
        probability = lambda Z: platt.predict_proba(Z)[:, 1]  # noqa: E731
    facts = {
        "C": C,
        "kappa": kappa,
        "support": int(model.n_support_.sum()),
        "left_out_errors": errors,
        "evaluations": evaluations,
        "seconds": seconds,
    }
    return Classifier(facts, lambda Z: model.predict(Z) == 1, probability)


_MANY = 100  # rows from which on there are folds, and probabilities, in the place of single rows


def folds_of(X: Array, labels: NDArray[np.int64]) -> Folds:
    """Leave out single rows below 100 rows, else a tenth, as section 5.5.2 does."""
    if len(labels) < _MANY:
        return list(LeaveOneOut().split(X))
    return list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, labels))


def chosen_svc(X: Array, labels: NDArray[np.int64], folds: Folds) -> tuple[float, float, int, int]:
    """Return C and kappa by the two grids of section 5.5.1.

    With the number of errors on rows left out, and the number of trainings. Of equals the one with
    fewer support vectors is taken.
    """
    trainings, single = 0, len(folds) == len(labels)

    def fitted(point: tuple[float, float], rows: Any) -> SVC:
        nonlocal trainings
        trainings += 1
        model = SVC(C=10.0 ** point[0], gamma=0.5 * 10.0 ** point[1])
        return model.fit(X[rows], labels[rows])

    def wrong(point: tuple[float, float]) -> int:
        tried, errors = folds, 0
        if single:  # a row that is no support vector leaves the machine as it is
            whole = fitted(point, slice(None))
            needed = np.isin([test[0] for _, test in folds], whole.support_)
            tried = [fold for fold, again in zip(folds, needed, strict=True) if again]
            kept = np.setdiff1d(np.arange(len(labels)), whole.support_)
            errors = int((whole.predict(X[kept]) != labels[kept]).sum()) if kept.size else 0
        return errors + sum(
            int((fitted(point, train).predict(X[test]) != labels[test]).sum())
            for train, test in tried
        )

    def vectors(point: tuple[float, float]) -> int:
        return int(fitted(point, slice(None)).n_support_.sum())

    def best(points: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], int]:
        errors = {point: wrong(point) for point in points}
        least = min(errors.values())
        return min((p for p, e in errors.items() if e == least), key=vectors), least

    centre, _ = best(itertools.product(np.linspace(0, 3, 7), np.linspace(-3, 0, 7)))
    steps = np.linspace(-0.4, 0.4, 9)
    (log_C, log_kappa), errors = best(itertools.product(centre[0] + steps, centre[1] + steps))
    return float(10.0**log_C), float(10.0**log_kappa), errors, trainings


_METHODS: dict[str, Callable[..., Classifier]] = {
    "btsvc": btsvc,
    "default": default,
    "gpc": gpc,
    "svc": svc,
}


def trained(method: str, X: Array, labels: NDArray[np.int64], **settings: Any) -> Classifier:
    """Train a method by its name; what Numba compiles does not count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds and endings, which the facts tell
        _warm(method)
        return _METHODS[method](X, labels, **settings)


@cache
def _warm(method: str) -> None:
    """Train a small set once in each process."""
    if method != "svc":
        _METHODS[method](*bsvm.datasets.two_gaussians(20, dim=2))


def scores(found: Classifier, X: Array, labels: NDArray[np.int64]) -> dict[str, float | None]:
    """Return the share of wrong labels, and the sum of minus the log probabilities in nats."""
    error, nll = float((found.positive(X) != (labels == 1)).mean()), None
    if found.probability is not None:
        p = np.clip(found.probability(X), _SURE, 1.0 - _SURE)
        nll = -float(np.log(np.where(labels == 1, p, 1.0 - p)).sum())
    return {"error": error, "nll": nll}


def _blocks(Z: Array) -> list[Array]:
    return np.array_split(Z, max(1, -(-len(Z) // _BLOCK)))
