"""What the models share: conditioning on data and prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, ClassVar, cast

import numpy as np
import pymc as pm
import xarray as xr
from pymc import Model
from pytensor.graph import Variable

from pymc_bsvm._pymc import JITTER_DEFAULT, stabilize
from pymc_bsvm._typing import Array
from pymc_bsvm._validation import Interval, as_parameter, names_arguments
from pymc_bsvm.evidence.approximation import Approximation, Evidence
from pymc_bsvm.gp.base import Process
from pymc_bsvm.gp.conditioned import Conditioned
from pymc_bsvm.gp.data import as_inputs, as_labels, check_columns, check_targets
from pymc_bsvm.gp.evaluator import Evaluator
from pymc_bsvm.gp.given import Given, known_or_given
from pymc_bsvm.gp.keywords import check_keywords, check_of_conditional
from pymc_bsvm.gp.marginal import MarginalGP, Specification
from pymc_bsvm.gp.names import check_same_order, names_of
from pymc_bsvm.gp.place import Point, model_at, place_of
from pymc_bsvm.gp.pointwise import add_log_likelihood
from pymc_bsvm.gp.prior import Prior
from pymc_bsvm.gp.remembered import remembered
from pymc_bsvm.gp.row_loss import RowLoss
from pymc_bsvm.gp.support_vectors import SupportVectors
from pymc_bsvm.losses import Loss

__all__ = ["LaplaceProcess", "MarginalProcess"]


@remembered(
    X="The inputs of the training rows.", y="Their targets.", loss="The loss of these rows."
)
class MarginalProcess(Process):
    """A Gaussian process that is conditioned on data through an approximation of its evidence.

    The part that all models share: everything but the arguments of `marginal_likelihood`.
    """

    def _register(
        self,
        name: str,
        X: Any,
        y: Any,
        loss: Loss,
        approximation: Approximation,
        jitter: float,
        Xu: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Register the observed variable and remember what to condition on."""
        check_keywords(self.marginal_likelihood, kwargs)
        approximation.check(loss)
        columns = names_of(X)
        check_same_order(X, y)
        inputs = as_inputs("X", X, getattr(self.cov_func, "input_dim", None))
        check_columns(inputs, self.cov_func)
        check_targets(y, inputs, loss.at(inputs))
        jitter = as_parameter("jitter", jitter, _NONNEGATIVE)
        y = y if isinstance(y, Variable) else np.array(y, dtype=float)
        self.X, self.y, self.loss = inputs, y, loss
        self.approximation, self.jitter, self.name = approximation, jitter, name
        self._specification: Specification = self._specify(
            Given(inputs, y, loss, self, jitter, approximation, Xu, columns)
        )
        specification = self._specification
        variables = [*specification.row_loss.parameters, *specification.prior.parameters]
        observed = y if loss.task == "regression" else as_labels(y)
        return MarginalGP(
            name, [inputs, *variables], specification=specification, observed=observed, **kwargs
        )

    @names_arguments
    def conditional(
        self,
        name: str,
        Xnew: Any,
        given: Mapping[str, Any] | None = None,
        jitter: float = JITTER_DEFAULT,
        **kwargs: Any,
    ) -> Any:
        """Register the latent values at new inputs, given the data.

        Their distribution is the Gaussian of the approximation at each value of the
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
        check_of_conditional(kwargs)
        on = self._given(given)
        new = as_inputs("Xnew", Xnew, columns=on.columns)
        columns = new.type.shape[1], on.X.type.shape[1]
        if None not in columns and columns[0] != columns[1]:
            raise ValueError(
                f"Xnew has {columns[0]} columns, but X has {columns[1]}. Pass the same columns."
            )
        mu, cov = self._specify(on).conditional(on.y, on.X, new, on.loss.at(on.X))
        return pm.MvNormal(name, mu=mu, cov=stabilize(cov, jitter), **{"method": "svd", **kwargs})

    @names_arguments
    def at(
        self,
        point: Point | None = None,
        given: Mapping[str, Any] | None = None,
        model: Model | None = None,
    ) -> Conditioned:
        """Return the model at a point, conditioned on its data.

        What was asked for last is kept: asking again at the same point, with the same data, costs
        nothing. The methods below that take a point ask here.

        Parameters
        ----------
        point : mapping or EvidenceFit, optional
            Values of the free variables, such as `pm.find_MAP` returns; or a fit.
        given : mapping, optional
            As for `conditional`.
        model : pymc.Model, optional
            The model; by default that of a fit, or of the context.

        Returns
        -------
        Conditioned
            Mean, covariance, predictions, support vectors and evidence.
        """
        values, model = place_of(point, model)
        return self._evaluator(given, model).at(values)

    @names_arguments
    def predict(
        self,
        Xnew: Any,
        point: Point | None = None,
        diag: bool = False,
        pred_noise: bool = False,
        given: Mapping[str, Any] | None = None,
        jitter: float = 0.0,
        model: Model | None = None,
        labelled: bool = False,
    ) -> tuple[Any, Any]:
        """Return mean and covariance of the latent values at new inputs, at a point.

        Parameters
        ----------
        point, given, model
            As for `at`.
        Xnew, diag, pred_noise, jitter, labelled
            As for `Conditioned.predict`.

        Returns
        -------
        mean : ndarray of shape (n_new,)
            Means, (4.46) and (5.41) of [Chu03]_.
        covariance : ndarray of shape (n_new, n_new) or (n_new,)
            Covariance matrix, or variances.
        """
        return self.at(point, given, model).predict(Xnew, diag, pred_noise, jitter, labelled)

    @names_arguments
    def predictive(
        self,
        Xnew: Any,
        point: Point | None = None,
        given: Mapping[str, Any] | None = None,
        model: Model | None = None,
        labelled: bool = False,
    ) -> Any:
        """Return the exact distribution of new targets given the Gaussian of the latent values.

        Parameters
        ----------
        Xnew : array_like of shape (n_new, d)
            New inputs.
        point, given, model
            As for `at`.
        labelled : bool, default False
            As for `Conditioned.predict`.

        Returns
        -------
        RegressionPredictive, ClassPredictive or LabelledPredictive
            Densities, distribution functions, quantiles and draws; or probabilities of labels.
        """
        return self.at(point, given, model).predictive(Xnew, labelled=labelled)

    @names_arguments
    def predict_proba(
        self,
        Xnew: Any,
        point: Point | None = None,
        given: Mapping[str, Any] | None = None,
        model: Model | None = None,
        labelled: bool = False,
    ) -> Any:
        """Return the probability of label 1 at new inputs, (5.42) of [Chu03]_.

        Parameters
        ----------
        Xnew, point, given, model, labelled
            As for `predictive`.

        Returns
        -------
        ndarray of shape (n_new,), or DataArray
            Probabilities.
        """
        return self.at(point, given, model).predict_proba(Xnew, labelled)

    @names_arguments
    def evidence(
        self,
        point: Point | None = None,
        given: Mapping[str, Any] | None = None,
        model: Model | None = None,
    ) -> Evidence:
        """Return the evidence at a point in its terms, with the posterior and its certificate.

        Parameters
        ----------
        point, given, model
            As for `at`.

        Returns
        -------
        Evidence
            That of the model's approximation: by default a `LaplaceEvidence`.
        """
        return self.at(point, given, model).evidence

    @names_arguments
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
            As for `at`.

        Returns
        -------
        SupportVectors
            Rows, dual values and kinds, the noise variance and the number of parameters.
        """
        return self.at(point, given, model).support_vectors

    @names_arguments
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
            As for `at`.

        Returns
        -------
        ndarray of shape (n,)
            Leave-one-out log densities in closed form, in nats.
        """
        return self.at(point, given, model).log_predictive

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
        evaluator = self._evaluator(None, model)
        return add_log_likelihood(idata, self.name, evaluator, progressbar)

    def _given(self, given: Mapping[str, Any] | None) -> Given:
        """Return what to condition on."""
        return known_or_given(self, given, self._data_keys)

    _data_keys: ClassVar[tuple[str, ...]] = ("X", "y")
    _loss_type: ClassVar[type[Loss] | None] = None
    """The loss of a model that takes the parameters of one loss, each as an argument."""

    @property
    def _loss_keys(self) -> tuple[str, ...]:
        return *(self._loss_type.domains if self._loss_type else ()), "loss"

    def _loss_of(self, given: dict[str, Any]) -> Any:
        """Return the loss that is given, or the one of the parameters that are, or None."""
        if self._loss_type is None or "loss" in given:
            return given.get("loss")
        known = {name: given[name] for name in self._loss_type.domains if name in given}
        needed = (x.name for x in fields(cast("Any", self._loss_type)) if x.default is MISSING)
        return self._loss_type(**known) if all(name in known for name in needed) else None

    def _evaluator(self, given: Mapping[str, Any] | None, model: Model | None) -> Evaluator:
        """Return the compiled functions of a model; they are kept for the process's own data."""
        model = model_at(model)
        on = self._given(given)
        if given is None:
            for rv in model.observed_RVs:
                if getattr(rv.owner.op, "specification", None) is self._specification:
                    kept: Evaluator = self._specification.evaluators.of(rv, model)
                    return kept
        specification = self._specify(on)
        prior, row_loss = specification.prior, specification.row_loss
        variables = [*row_loss.parameters, *prior.parameters]
        return Evaluator(specification, on.X, on.y, model, variables)

    def _specify(self, on: Given) -> Specification:
        """Return what a model is made of that is conditioned on these data."""
        columns, training = on.X.type.shape[1], on.process
        return Specification(
            prior=Prior(
                training.mean_func, training.cov_func, columns, self.cov_func, self.mean_func
            ),
            row_loss=RowLoss(on.loss, columns),
            approximation=on.approximation,
            jitter=on.jitter,
            label=type(self).__name__,
            columns=on.columns,
        )


LaplaceProcess = MarginalProcess  # its earlier name
_NONNEGATIVE = Interval(low=0.0, includes_low=True)
