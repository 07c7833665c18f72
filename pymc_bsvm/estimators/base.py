"""What the regressor and the classifier share: parameters, scales, the search, the posterior."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import Interval, as_parameter, flag, positive, whole_number
from pymc_bsvm.estimators.bar import progress
from pymc_bsvm.estimators.climb import rises
from pymc_bsvm.estimators.data import Data, Held, Read
from pymc_bsvm.estimators.induced import InducedMachine
from pymc_bsvm.estimators.inputs import validated, validated_inputs, weights_of
from pymc_bsvm.estimators.kernels import Kernel, Precomputed, kernel_of
from pymc_bsvm.estimators.kernels.precomputed import check_gram
from pymc_bsvm.estimators.keywords import LEARNED, Estimator
from pymc_bsvm.estimators.likelihood import Likelihood
from pymc_bsvm.estimators.machine import Blueprint, Fitted
from pymc_bsvm.estimators.room import MATRICES, check_room
from pymc_bsvm.estimators.sampling import sample
from pymc_bsvm.estimators.scale import Scale
from pymc_bsvm.estimators.search import Move
from pymc_bsvm.estimators.trained import Trained, bounds_at
from pymc_bsvm.estimators.training import Given
from pymc_bsvm.estimators.warning import warn
from pymc_bsvm.evidence.approximation import Approximation
from pymc_bsvm.search import Ending, Hyperparameter, Restart
from pymc_bsvm.streamed.chunks import is_dask
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.rows import ArrayRows, Rows, rows_of
from pymc_bsvm.streamed.scaled import ByClass
from pymc_bsvm.streamed.summary import Classes, summarise

__all__ = ["BayesianMachine", "one_or_all", "warn_of", "warn_of_bounds"]

REMEDIES = {
    Ending.INTERRUPTED: (
        "The search was interrupted; the best hyperparameters so far are kept. "
        "Fit again for a better optimum."
    ),
    Ending.MAX_ITER: (
        "The search ended at max_iter while there was more to gain than tol. Raise max_iter."
    ),
    Ending.STALLED: (
        "The search ended where no step raises the evidence, but its slope is not zero. "
        "Raise restarts, and take the best of several starts."
    ),
}
_OPTIONAL = ("relevance_", "feature_importances_", "support_vectors_", "inducing_points_")
_NOT_NEGATIVE = Interval(0.0, includes_low=True)
_DENSE = 2000  # rows up to which a fit with the whole kernel matrix is faster


class BayesianMachine(Estimator):
    """Base of the estimators; see `BayesianSVR` and `BayesianSVC`."""

    _advice = LEARNED

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        ard: bool | str = False,
        approximation: str | Approximation = "auto",
        inducing: int | str | None = None,
        offset: float = 100.0,
        standardize: bool = True,
        restarts: int = 1,
        full_bayes: bool = False,
        sampler: dict[str, Any] | None = None,
        tol: float = 0.01,
        max_iter: int = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
        progressbar: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.approximation = approximation
        self.inducing = inducing
        self.offset = offset
        self.standardize = standardize
        self.restarts = restarts
        self.full_bayes = full_bayes
        self.sampler = sampler
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progressbar = progressbar
        self.verbose = verbose

    _kernel: Kernel
    _scale: Scale
    _columns: NDArray[np.intp]

    # ---- training ------------------------------------------------------------------------------

    def _check(self) -> None:
        """Check the parameters, and forget an earlier fit."""
        for name in _OPTIONAL:
            self.__dict__.pop(name, None)  # of an earlier fit
        if not (isinstance(self.ard, bool | np.bool_) or self.ard == "auto"):
            raise ValueError(
                f"ard must be True, False or 'auto', but it is {self.ard!r}. Pass one of the three."
            )
        for name in ("standardize", "full_bayes", "progressbar"):
            flag(name, getattr(self, name))
        if self.sampler is not None and not isinstance(self.sampler, dict):
            raise ValueError(
                f"sampler must be a dict of arguments of pymc.sample, but it is {self.sampler!r}. "
                "Pass, for example, {'draws': 500}."
            )
        self._kernel = kernel_of(self.kernel, bool(self.ard != "auto" and self.ard))
        as_parameter("offset", self.offset, _NOT_NEGATIVE)
        as_parameter("tol", self.tol, positive)
        for name in ("restarts", "max_iter"):
            whole_number(name, getattr(self, name))
        verbose = self.verbose
        whole_number("verbose", int(verbose) if isinstance(verbose, bool) else verbose, 0)
        self._check_inducing()

    def _data(self, X: Any, y: Any, sample_weight: Any, labels: bool = False) -> Data:
        """Check parameters and data, and set the scale of the inputs."""
        self._check()
        mapped = isinstance(X, np.memmap) and self.inducing is not None
        if callable(X) or is_dask(X) or mapped:
            if self.inducing is None:
                raise ValueError(
                    "X is read block by block, for which there have to be inducing points, but "
                    "inducing is None. Set inducing='auto', or pass an array."
                )
            self.__dict__.pop("feature_names_in_", None)
            return self._read(rows_of(X, y, sample_weight), labels)
        inputs, targets = validated(self, X, y, labels=labels)
        weight = self._weights(targets, sample_weight)
        if self.inducing is None or (self.inducing == "auto" and len(inputs) <= _DENSE):
            check_room(len(inputs), MATRICES, "Set inducing='auto', or fit fewer rows.")
            rows, weight, kept = self._prepare(inputs, weight)
            return Held(inputs, rows, np.asarray(targets)[kept], weight, kept)
        if weight is not None:
            weight = weights_of(weight, inputs)
        return self._read(ArrayRows(inputs, targets, weight), labels, weighted=True)

    def _read(self, source: Rows, labels: bool, weighted: bool = False) -> Read:
        """Summarise rows that are read block by block."""
        summary = summarise(Passes(source, self.n_jobs), labels)
        self.n_features_in_ = d = summary.d
        columns = summary.columns
        whole = Scale.of_moments(columns.mean, columns.spread)
        self._scale = whole if self.standardize else Scale.none(d)
        factors = None if weighted or summary.classes is None else self._factors(summary.classes)
        inducing: Any = self.inducing
        return Read(source, summary, self._scale, inducing, factors)

    def _weights(self, targets: Any, sample_weight: Any) -> Any:
        """Return how often rows count."""
        return sample_weight

    def _factors(self, classes: Classes) -> ByClass | None:
        """Return how often rows of each class count; None if all do once."""
        return None

    def _prepare(self, X: Array, sample_weight: Any) -> tuple[Array, Array | None, Any]:
        """Return rows in the machine's units, weights, and kept rows.

        Rows of weight zero are left out, so that they change nothing.
        """
        kept = np.arange(X.shape[0])
        weight = None
        if sample_weight is not None:
            weight = weights_of(sample_weight, X)
            kept = np.flatnonzero(weight > 0.0)
            if not kept.size:
                raise ValueError(
                    "sample_weight is zero for all rows, so that nothing is left to fit. "
                    "Pass a positive weight for some rows."
                )
            weight = weight[kept]
            if self.full_bayes:
                raise ValueError(
                    "full_bayes=True takes no weights of rows, but there is a sample_weight or a "
                    "class_weight. Repeat the rows, or set full_bayes=False."
                )
        if self._pairwise:
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"A precomputed Gram matrix must be square, but its shape is {X.shape}. "
                    "Pass the covariances of the training rows with each other."
                )
            check_gram(X)
            self._columns = kept  # of new rows
            self._scale = Scale.none(X.shape[1])
            return X[np.ix_(kept, kept)], weight, kept
        X = X[kept]
        self._scale = Scale.of(X, weight) if self.standardize else Scale.none(X.shape[1])
        return self._scale(X), weight, kept

    def _check_inducing(self) -> None:
        """Refuse what inducing points do not go with."""
        inducing: Any = self.inducing
        whole = isinstance(inducing, numbers.Integral) and not isinstance(inducing, bool)
        if not (inducing is None or inducing == "auto" or (whole and inducing >= 1)):
            raise ValueError(
                f"inducing must be None, 'auto' or an integer >= 1, but it is {inducing!r}. "
                "Pass, for example, 500."
            )
        if inducing is not None and self._pairwise:
            raise ValueError(
                f"A precomputed Gram matrix has no inducing points, but inducing is {inducing!r}. "
                "Pass the kernel itself, or set inducing=None."
            )
        if inducing is not None and self.full_bayes:
            raise ValueError(
                "full_bayes=True draws hyperparameters with all rows in one kernel matrix, but "
                f"inducing is {inducing!r}. Set full_bayes=False, or inducing=None."
            )

    def _relevance(self, machines: Sequence[Fitted], spread: Array) -> None:
        """Set the relevances: spreads of the columns in length-scales, the largest of machines."""
        known = [r for r in (machine.relevance() for machine in machines) if r is not None]
        if known:
            self.relevance_ = np.max(known, axis=0) * spread
            total = self.relevance_.sum()
            self.feature_importances_ = self.relevance_ / (total if total > 0.0 else 1.0)

    def _locate(self, machines: Sequence[Fitted], inputs: Array | None) -> None:
        """Set the inputs that machines are made of: support vectors or inducing points."""
        points = [each.points for each in machines if isinstance(each, InducedMachine)]
        if points:
            scale = self._scale
            self.inducing_points_ = one_or_all([scale.centre + scale.spread * Z for Z in points])
        elif inputs is not None:
            self.support_vectors_ = inputs[self.support_]

    def _train(
        self,
        likelihood: Likelihood,
        given: Given,
        rng: np.random.Generator,
        n_jobs: int | None,
        moves: Sequence[Move] = (),
    ) -> Trained:
        """Find the hyperparameters of one machine, and whether another model is better."""
        loss = likelihood.loss([h.start for h in likelihood.free])
        route = given.route(self.approximation, loss)
        blueprint = Blueprint(self._kernel, likelihood, float(self.offset), given.d, *route)
        with progress(self.progressbar, int(self.verbose)) as report:
            found = given.search(
                blueprint,
                int(self.restarts),
                rng,
                [*self._moves_of_kernel(given.d), *moves],
                gain=float(self.tol),
                maxiter=int(self.max_iter),
                n_jobs=n_jobs,
                report=report,
            )
            report.end(found.ascents.best)
        objective, best = found.objective, found.ascents.best
        if not np.isfinite(best.objective):
            raise ValueError(
                f"The evidence is not finite at any of the {len(found.ascents.runs)} starts. "
                "Check the scale of the inputs and the kernel."
            ) from objective.failure
        warn_of(best, found.ascents.interrupted)
        warn_of_bounds(objective.blueprint.hyperparameters, best)
        machine = objective.machine(np.exp(best.end))
        draws: Sequence[Fitted] = []
        tree = None
        if self.full_bayes:
            draws, tree = sample(objective, machine, rng, self.sampler, self.progressbar)
        return Trained(objective, machine, found.ascents, found.rivals, draws, tree)

    def _moves_of_kernel(self, d: int) -> list[Move]:
        """Return the moves to other kernels: length-scales for each column, if they are tried."""
        tried = self.ard == "auto" and isinstance(self.kernel, str) and not self._pairwise
        if not tried or d < 2:
            return []
        kernel = kernel_of(self.kernel, True)
        return [lambda blueprint: replace(blueprint, kernel=kernel)]

    def _generator(self) -> np.random.Generator:
        """Return a generator seeded as scikit-learn does."""
        state = check_random_state(self.random_state)
        return np.random.default_rng(state.randint(np.iinfo(np.int32).max))

    @property
    def _pairwise(self) -> bool:
        """Whether rows of the fit are those of a Gram matrix."""
        return isinstance(self._kernel, Precomputed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        named = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = named or isinstance(self.kernel, Precomputed)
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training rows behind, except those that predictions need."""
        state = dict(super().__getstate__())
        match state.get("_trained"):
            case Trained() as one:
                state["_trained"] = one.without_rows()
            case list() as several:
                state["_trained"] = [each.without_rows() for each in several]
        return state

    # ---- prediction ----------------------------------------------------------------------------

    def _rows(self, X: Any) -> Array:
        """Check new rows and bring them into the machine's units."""
        check_is_fitted(self)
        X = validated_inputs(self, X)
        return X[:, self._columns] if self._pairwise else self._scale(X)

    def _named(self, machine: Fitted, unit: float) -> dict[str, Any]:
        """Return hyperparameters by name in the user's units.

        What has the unit of inputs becomes one number for each column, as these have units of
        their own.
        """
        spread = self._scale.spread
        result: dict[str, Any] = {}
        for h, value in zip(machine.blueprint.hyperparameters, machine.values, strict=True):
            of_inputs, of_targets = h.unit
            value = float(value) * unit**of_targets
            if h.column is not None:
                vector = result.setdefault(h.variable, np.zeros(spread.size))
                vector[h.column] = value * spread[h.column] ** of_inputs
            else:
                result[h.variable] = value * spread**of_inputs if of_inputs else value
        return result


def one_or_all(values: list[Any]) -> Any:
    """Return the only value, or the list of several."""
    return values[0] if len(values) == 1 else values


def warn_of(best: Restart, interrupted: bool) -> None:
    """Warn if the search was interrupted, or if its best run did not converge."""
    ending = Ending.INTERRUPTED if interrupted else best.ending
    if ending in REMEDIES:
        warn(REMEDIES[ending])


def warn_of_bounds(hyperparameters: Sequence[Hyperparameter], best: Restart) -> None:
    """Warn if a hyperparameter ended at a bound beyond which the evidence rises.

    The bounds of next to no noise are no cause: wider noise than there is does no harm there.
    """
    fixed = np.array([h.least is None and h.most is None for h in hyperparameters])
    ends = bounds_at(hyperparameters, best, rises(best) & fixed)
    if ends:
        named = " and ".join(f"{name} at its {end} bound" for name, end in ends.items())
        warn(
            f"The search ended with {named}, where the evidence still rises, so that error bars "
            "may be wrong. Check the scale of the data and the kernel."
        )
