"""What the Laplace models share: conditioning on data and prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from pymc.gp.gp import Base
from pymc.gp.util import JITTER_DEFAULT, conditioned_vars, stabilize
from pymc.model.core import Model, modelcontext
from pytensor.graph.basic import Variable
from pytensor.tensor.linalg import cholesky, solve_triangular
from rich.progress import track

from pymc_bsvm import losses, symbolic
from pymc_bsvm._validation import Interval, as_parameter
from pymc_bsvm.evidence.expression import map_dual
from pymc_bsvm.evidence.laplace import Curvature, LaplaceEvidence, check_loss, width_of
from pymc_bsvm.evidence.predictive import ClassPredictive, RegressionPredictive, predictive
from pymc_bsvm.gp.data import as_inputs, check_columns, check_targets
from pymc_bsvm.gp.evaluator import Evaluator, State
from pymc_bsvm.gp.marginal import LaplaceGP, Specification
from pymc_bsvm.gp.prior import Prior
from pymc_bsvm.gp.row_loss import RowLoss
from pymc_bsvm.gp.support_vectors import SupportVectors
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.base import Array, Parameter
from pymc_bsvm.solvers import DualSolveError

__all__ = ["LaplaceProcess"]

type Point = Mapping[str, Any]


class Given(NamedTuple):
    """What a process is conditioned on."""

    X: Any
    y: Any
    loss: Loss
    process: Base
    """The process that the data are of; the one that predicts may be a component of it."""
    jitter: float
    curvature: Curvature


@conditioned_vars(["X", "y", "loss"])
class LaplaceProcess(Base):
    """A Gaussian process that is conditioned on data through a Laplace approximation.

    The part that all models share: everything but the arguments of `marginal_likelihood`.
    """

    def _register(
        self,
        name: str,
        X: Any,
        y: Any,
        loss: Loss,
        curvature: Curvature,
        jitter: float,
        **kwargs: Any,
    ) -> Any:
        """Register the observed variable and remember what to condition on."""
        check_loss(loss, curvature)
        inputs = as_inputs("X", X, getattr(self.cov_func, "input_dim", None))
        check_columns(inputs, self.cov_func)
        check_targets(y, inputs, loss.at(inputs))
        jitter = as_parameter("jitter", jitter, _NONNEGATIVE)
        refused = {"observed", "shape", "size", "total_size"} & set(kwargs)
        if refused:
            raise TypeError(
                f"marginal_likelihood takes no {sorted(refused)[0]}: its rows are those of X and "
                "are not independent. Leave it out."
            )
        specification = Specification(
            prior=self._prior(inputs),
            row_loss=RowLoss(loss, inputs.type.shape[1]),
            ramp_width=width_of(loss, curvature, None),
            jitter=jitter,
            label=type(self).__name__,
        )
        y = y if isinstance(y, Variable) else np.array(y, dtype=float)
        self.X, self.y, self.loss = inputs, y, loss
        self.curvature, self.jitter, self.name = curvature, jitter, name
        self._evaluators: dict[int, tuple[Model, Evaluator]] = {}
        variables = [*specification.row_loss.parameters, *specification.prior.parameters]
        observed = y if loss.task == "regression" else _as_labels(y)
        return LaplaceGP(
            name, [inputs, *variables], specification=specification, observed=observed, **kwargs
        )

    def conditional(
        self,
        name: str,
        Xnew: Any,
        given: Mapping[str, Any] | None = None,
        jitter: float = JITTER_DEFAULT,
        **kwargs: Any,
    ) -> Any:
        """Register the latent values at new inputs, given the data.

        Their distribution is the Gaussian of Laplace's method at each value of the
        hyperparameters. For new targets, put the likelihood on top of it, such as
        ``bsvm.SILF("y_new", mu=f_new, C=C, epsilon=epsilon)``.

        Parameters
        ----------
        name : str
            Name of the variable.
        Xnew : array_like or tensor of shape (n_new, d)
            New inputs.
        given : mapping, optional
            Data and model to condition on in the place of this object's: ``X``, ``y`` and ``loss``
            (or the parameters that `marginal_likelihood` takes), and ``gp``, an additive process of
            which this one is a component.
        jitter : float, default 1e-6
            Added to the diagonal of the covariance, as in `pm.gp.Marginal`.
        **kwargs
            Passed on to `pm.MvNormal`.

        Returns
        -------
        TensorVariable
            The variable, of shape (n_new,).
        """
        on = self._given(given)
        X, loss, new = on.X, on.loss.at(on.X), as_inputs("Xnew", Xnew)
        prior = self._prior(X, on.process)
        mean, K = prior.training(X, prior.parameters)
        if on.jitter:
            K = stabilize(K, on.jitter)
        y = pt.as_tensor_variable(on.y).astype("float64")
        if loss.task == "classification":
            y = 2.0 * y - 1.0
        p = [pt.as_tensor_variable(x) for x in loss.parameters]
        a = map_dual(K, y, mean, loss)
        W = losses.formulas(type(loss), symbolic).curvature(y, mean + K @ a, *p)
        free, support = W.nonzero()[0], a.nonzero()[0]
        root = pt.sqrt(W[free])
        L = cholesky(pt.eye(free.shape[0]) + root[:, None] * K[free[:, None], free] * root)
        columns = new.type.shape[1], X.type.shape[1]
        if None not in columns and columns[0] != columns[1]:
            raise ValueError(
                f"Xnew has {columns[0]} columns, but X has {columns[1]}. Pass the same columns."
            )
        new_mean, cross, new_K, _ = prior.new(X, new, prior.parameters)
        half = solve_triangular(L, root[:, None] * cross[free], lower=True)
        mu = new_mean + cross[support].T @ a[support]
        cov = stabilize(new_K - half.T @ half, jitter)
        return pm.MvNormal(name, mu=mu, cov=cov, **{"method": "svd", **kwargs})

    def predict(
        self,
        Xnew: Any,
        point: Point | None = None,
        diag: bool = False,
        pred_noise: bool = False,
        given: Mapping[str, Any] | None = None,
        jitter: float = 0.0,
        model: Model | None = None,
    ) -> tuple[Array, Array]:
        """Return mean and covariance of the latent values at new inputs, at a point.

        Parameters
        ----------
        Xnew : array_like of shape (n_new, d)
            New inputs. With ``diag=True`` any number: they are treated in blocks.
        point : mapping, optional
            Values of the free variables, such as `pm.find_MAP` returns.
        diag : bool, default False
            Return variances instead of the covariance matrix.
        pred_noise : bool, default False
            Add the mean and the variance of the noise; regression only. A parameter that varies by
            row must be a function of the inputs, so that it is known at the new rows.
        given : mapping, optional
            As for `conditional`.
        jitter : float, default 0
            Added to the diagonal of the covariance matrix that is returned.
        model : pymc.Model, optional
            The model; by default that of the context.

        Returns
        -------
        mean : ndarray of shape (n_new,)
            Means, (4.46) and (5.41) of [Chu03]_.
        covariance : ndarray of shape (n_new, n_new) or (n_new,)
            Covariance matrix, or variances.
        """
        jitter = as_parameter("jitter", jitter, _NONNEGATIVE)
        state, evaluator = self._state(point, given, model)
        new = _as_numbers(Xnew, state.X.shape[1])
        shift: Parameter = 0.0
        noise: Parameter = 0.0
        if pred_noise:
            loss = evaluator.loss(state, new)
            if not isinstance(loss, losses.RegressionLoss):
                raise ValueError(
                    f"Labels have no noise variance, but pred_noise is {pred_noise!r}. "
                    "Use predict_proba for the probabilities of the labels."
                )
            shift, noise = loss.mean(), loss.variance()
        if diag:
            mean, variance = evaluator.moments(state, new)
            return mean + shift, variance + noise
        mean, covariance = evaluator.joint_moments(state, new)
        return mean + shift, covariance + (noise + jitter) * np.eye(mean.size)

    def predictive(
        self,
        Xnew: Any,
        point: Point | None = None,
        given: Mapping[str, Any] | None = None,
        model: Model | None = None,
    ) -> RegressionPredictive | ClassPredictive:
        """Return the exact distribution of new targets given the Gaussian of the latent values.

        Parameters
        ----------
        Xnew, point, given, model
            As for `predict`.

        Returns
        -------
        RegressionPredictive or ClassPredictive
            Densities, distribution functions, quantiles and draws; or probabilities of labels.
        """
        state, evaluator = self._state(point, given, model)
        new = _as_numbers(Xnew, state.X.shape[1])
        return predictive(evaluator.loss(state, new), *evaluator.moments(state, new))

    def predict_proba(
        self,
        Xnew: Any,
        point: Point | None = None,
        given: Mapping[str, Any] | None = None,
        model: Model | None = None,
    ) -> Array:
        """Return the probability of label 1 at new inputs, (5.42) of [Chu03]_.

        Parameters
        ----------
        Xnew, point, given, model
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_new,)
            Probabilities.
        """
        distribution = self.predictive(Xnew, point, given, model)
        if not isinstance(distribution, ClassPredictive):
            raise ValueError(
                f"{type(self).__name__} has no classes: its loss is for regression. "
                "Use predictive for the distribution of new targets."
            )
        return distribution.probability(1)

    def evidence(
        self,
        point: Point | None = None,
        given: Mapping[str, Any] | None = None,
        model: Model | None = None,
    ) -> LaplaceEvidence:
        """Return the evidence at a point in its terms, with the MAP estimate and the posterior.

        Parameters
        ----------
        point, given, model
            As for `predict`.

        Returns
        -------
        LaplaceEvidence
            As of `pymc_bsvm.laplace_evidence`.
        """
        return self._state(point, given, model)[0].evidence

    def support_vectors(
        self,
        point: Point | None = None,
        given: Mapping[str, Any] | None = None,
        model: Model | None = None,
    ) -> SupportVectors:
        """Return the support vectors at a point.

        Parameters
        ----------
        point, given, model
            As for `predict`.

        Returns
        -------
        SupportVectors
            Rows, dual values and kinds, the noise variance and the number of parameters.
        """
        return SupportVectors.of(self.evidence(point, given, model))

    def log_predictive(
        self,
        point: Point | None = None,
        given: Mapping[str, Any] | None = None,
        model: Model | None = None,
    ) -> Array:
        """Return the log density of each observation given all the others, at a point.

        Parameters
        ----------
        point, given, model
            As for `predict`.

        Returns
        -------
        ndarray of shape (n,)
            Leave-one-out log densities in closed form, in nats.
        """
        return self.evidence(point, given, model).posterior.log_predictive

    def compute_log_likelihood(
        self, idata: xr.DataTree, model: Model | None = None, progressbar: bool = True
    ) -> xr.DataTree:
        """Add pointwise log likelihoods of all posterior draws, for `az.loo` and `az.compare`.

        The log probability of the marginal likelihood is one number for all rows, which
        `pm.compute_log_likelihood` would take for one observation. Here the values are the log
        densities of each row given all other rows, at the hyperparameters of each draw: their
        inverses are the weights that take a row out of the posterior of the hyperparameters.

        Parameters
        ----------
        idata : DataTree
            With a group ``posterior`` of the model's free variables. It is changed in place.
        model : pymc.Model, optional
            The model; by default that of the context.
        progressbar : bool, default True
            Show the progress.

        Returns
        -------
        DataTree
            The same, with a group ``log_likelihood``.
        """
        if "posterior" not in idata.children:
            raise ValueError(
                f"idata has the groups {', '.join(idata.children) or 'none'}, but no posterior. "
                "Pass what pm.sample returned."
            )
        posterior = idata["posterior"].dataset
        evaluator, _ = self._evaluator(None, model)
        chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
        pairs = [(chain, draw) for chain in range(chains) for draw in range(draws)]
        values, a = [], None
        for chain, draw in track(pairs, "Pointwise log likelihood", disable=not progressbar):
            point = {str(k): v.values for k, v in posterior.isel(chain=chain, draw=draw).items()}
            try:
                state = evaluator.state(point, "exact", a, check_input=False)
            except (DualSolveError, ValueError) as error:
                error.add_note(f"This is at chain {chain}, draw {draw} of the posterior.")
                raise
            a = state.evidence.solution.a
            values.append(state.evidence.posterior.log_predictive)
        array = np.reshape(values, (chains, draws, -1))
        dims: tuple[str, ...] = ("chain", "draw", f"{self.name}_dim_0")
        coords: dict[Any, Any] = {k: posterior.coords[k] for k in ("chain", "draw")}
        if "observed_data" in idata.children and self.name in idata["observed_data"].dataset:
            observed = idata["observed_data"].dataset[self.name]
            dims = (*dims[:2], *map(str, observed.dims))
            coords |= dict(observed.coords)
        data = xr.Dataset({self.name: (dims, array)}, coords=coords)
        if "log_likelihood" in idata.children:
            others = idata["log_likelihood"].dataset.drop_vars(self.name, errors="ignore")
            data = others.merge(data)
        idata["log_likelihood"] = xr.DataTree(data)
        return idata

    def _prior(self, X: Any, training: Base | None = None) -> Prior:
        """Return the prior of a process of which this one is all, or a component."""
        training = training or self
        n_columns = X.type.shape[1]
        return Prior(
            training.mean_func, training.cov_func, n_columns, self.cov_func, self.mean_func
        )

    def _given(self, given: Mapping[str, Any] | None) -> Given:
        """Return what to condition on."""
        given = dict(given or {})
        allowed = {"X", "y", "gp", *self._loss_keys}
        unknown = set(given) - allowed
        if unknown:
            raise ValueError(
                f"given has the unknown key {sorted(unknown)[0]!r}. "
                f"It may hold {', '.join(sorted(allowed))}."
            )
        training = given.get("gp", self)
        if not isinstance(training, LaplaceProcess):
            raise TypeError(
                f"given['gp'] must be a Laplace process, but it is of type "
                f"{type(training).__name__}. Pass the sum of which this one is a component."
            )
        data, loss = {"X", "y"} & set(given), self._loss_of(given)
        if not data and set(given) <= {"gp"}:
            source = training if hasattr(training, "_loss") else self
            return Given(source.X, source.y, source.loss, training, source.jitter, source.curvature)
        if len(data) < 2 or loss is None:
            raise ValueError(
                f"given holds {', '.join(sorted(given))}, which is only a part of what to "
                "condition on. Pass X, y and the loss (or its parameters) together."
            )
        check_loss(loss, "smooth")
        X = as_inputs("X", given["X"], getattr(training.cov_func, "input_dim", None))
        check_targets(given["y"], X, loss.at(X))
        source = self if hasattr(self, "_loss") else training
        curvature: Curvature = getattr(source, "curvature", "smooth")
        return Given(X, given["y"], loss, training, getattr(source, "jitter", 0.0), curvature)

    _loss_keys: ClassVar[tuple[str, ...]] = ("loss",)

    def _loss_of(self, given: dict[str, Any]) -> Any:
        """Return the loss that is given, or None."""
        return given.get("loss")

    def _state(
        self, point: Point | None, given: Mapping[str, Any] | None, model: Model | None
    ) -> tuple[State, Evaluator]:
        """Return the model at a point, and the functions that predict from it."""
        evaluator, curvature = self._evaluator(given, model)
        return evaluator.state(point, curvature), evaluator

    def _evaluator(
        self, given: Mapping[str, Any] | None, model: Model | None
    ) -> tuple[Evaluator, Curvature]:
        """Return the compiled functions of a model; they are kept for the process's own data."""
        model = modelcontext(model)
        on = self._given(given)
        if given is None and id(model) in self._evaluators:
            owner, evaluator = self._evaluators[id(model)]
            if owner is model:  # in a copy from another process ids mean other models
                return evaluator, on.curvature
        prior = self._prior(on.X, on.process)
        row_loss = RowLoss(on.loss, on.X.type.shape[1])
        evaluator = Evaluator(prior, row_loss, on.X, on.y, on.jitter, model)
        if given is None:
            self._evaluators[id(model)] = (model, evaluator)
        return evaluator, on.curvature


_NONNEGATIVE = Interval(low=0.0, includes_low=True)


def _as_labels(y: Any) -> Any:
    """Return labels as integers; what is in a graph already stays as it is."""
    return y if hasattr(y, "owner") else np.asarray(y).astype("int64")


def _as_numbers(Xnew: Any, n_columns: int) -> Array:
    """Return new inputs as a matrix of numbers with as many columns as the training inputs."""
    tensor = as_inputs("Xnew", Xnew)
    new = np.asarray(tensor.eval() if not hasattr(tensor, "data") else tensor.data)
    if new.shape[1] != n_columns:
        raise ValueError(
            f"Xnew has {new.shape[1]} columns, but X has {n_columns}. Pass the same columns."
        )
    return new
