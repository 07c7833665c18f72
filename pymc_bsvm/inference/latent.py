"""The model with all latent values as free variables, built from the model without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc import Model
from pytensor.graph import Variable, ancestors

from pymc_bsvm import losses
from pymc_bsvm._pymc import (
    JITTER_DEFAULT,
    fgraph_from_model,
    model_deterministic,
    model_free_rv,
    model_from_fgraph,
    model_observed_rv,
    model_potential,
    toposort_replace,
)
from pymc_bsvm._validation import Interval, as_parameter, check_mapping, names_arguments
from pymc_bsvm.distributions.targets import likelihood
from pymc_bsvm.gp.data import as_inputs
from pymc_bsvm.gp.marginal import relatively_stable
from pymc_bsvm.gp.place import model_at
from pymc_bsvm.inference.objective import Marginal, marginals_of
from pymc_bsvm.inference.rotation import Around, WhiteRV, maps, point_around, whitened
from pymc_bsvm.inference.sites import Sites, sites_around, unconstrained
from pymc_bsvm.ops.base import WarmStarted

__all__ = ["latent_model"]


@names_arguments
def latent_model(
    model: Model | None = None,
    *,
    new: Mapping[str, Any] | None = None,
    jitter: float = JITTER_DEFAULT,
    around: Around | None = None,
) -> Model:
    """Build the model with free latent values from a model with a Laplace evidence.

    Each variable whose log probability is a Laplace evidence is replaced by what the evidence
    approximates: the latent values with their Gaussian process prior, and the likelihood of the
    loss given the latent values. Everything else stays: hyperparameters and their priors, data
    containers, dims, deterministics and potentials. The mean and the covariance are the ones that
    the evidence uses, so that both models are the same up to Laplace's approximation.

    Parameters
    ----------
    model : pymc.Model, optional
        A model with variables of `gp.BSVR`, `gp.BTSVC` or `gp.Laplace`; by default that of the
        context. It is not changed.
    new : mapping, optional
        New inputs, of shape (n_new, d), by the name of a variable of targets there. The model then
        has the variables ``<name>`` and ``f_<name>``, of shape (n_new,), as well. It is for
        predictions; sample from the model without them. For models with one Laplace variable.
    jitter : float, default 1e-6
        Added to the diagonal of the covariance of the latent values, as a share of its mean, so
        that the Cholesky factor exists. PyMC's `pm.gp.Latent` adds the same number as it stands.
        At the default, the latent values get an independent part with a standard deviation of a
        thousandth of the prior's.
    around : {"ep"}, EvidenceFit or mapping, optional
        Free variables in which the latent values are near a standard normal a posteriori, by the
        Gaussian of expectation propagation at this point of the hyperparameters; "ep" looks for
        the mode of its evidence, which takes seconds. The posterior stays the same. For another
        model of the same draws, such as that of `new`, pass the same fit or point.

    Returns
    -------
    pymc.Model
        For an observed variable ``y``, with the same name, dims and data, it has

        - ``f_y_rotated_``, free and standard normal, of shape (n,); with `around` in its place
          ``f_y_white_``, which is near a standard normal a posteriori;
        - ``f_y``, the latent values: mean plus Cholesky factor times ``f_y_rotated_``;
        - ``y``, the likelihood, such as `SILF` or `Trigonometric`.

        For a model on inducing points, ``f_y_rotated_`` are the m whitened values there, and the
        features take the place of the Cholesky factor: no matrix is larger than n times m. With
        ``approx="VFE"`` there is a potential ``charge_y`` as well, what its evidence is charged for
        the variances that the inducing points leave out.

        Its data containers are copies: change them with `pm.set_data` inside the new model.

    Raises
    ------
    ValueError
        If `around` is none of these, if the model has no Laplace variable, or other variables that
        depend on the Laplace approximation, such as those of ``gp.conditional``.
    NotImplementedError
        If there is no likelihood for the loss; see `distributions.likelihood`.

    See Also
    --------
    pymc.gp.Latent : the same parametrisation, for a model written by hand.
    pymc_bsvm.compare_posteriors : posteriors of both models side by side.

    Notes
    -----
    The latent values start at the prior mean. For the trigonometric likelihood with a mean of zero
    this is the point where each label has probability 1/2, in front of its wall; most of PyMC's
    jittered starts lie behind it. Sample with
    ``pm.sample(nuts_sampler="pymc", init="adapt_diag")``, which does not jitter, and expect
    divergences where trajectories meet the wall; `Trigonometric` says more.

    With `around`, the latent values start near the mean of the Gaussian, in front of all walls, and
    few trajectories meet one. The map from ``f_y_white_`` to ``f_y`` is affine for given
    hyperparameters, but for the rows near a wall, whose margins it keeps in front; see
    `pymc_bsvm.inference.rotation.Rotation` and `pymc_bsvm.inference.bend.Bend`. The prior follows
    the hyperparameters exactly, the sites of expectation propagation of labels by their derivatives
    at the point, those of targets not at all. So the rows of the data must stay, too. The prior has
    no wall: draw from it without `around`.

    Examples
    --------
    .. code-block:: python

        with model:
            evidence = pm.sample()  # latent values integrated out by Laplace's method
        with bsvm.inference.latent_model(model):
            latent = pm.sample()
        with bsvm.inference.latent_model(model, new={"y_new": X_new}):
            pm.sample_posterior_predictive(
                latent, var_names=["f_y_new", "y_new"], predictions=True, extend_inferencedata=True
            )
    """
    model = model_at(model)
    marginals = marginals_of(model)
    jitter = as_parameter("jitter", jitter, Interval(0.0, includes_low=True))
    if new is not None:
        check_mapping("new", new, "Pass new inputs by the name of a variable: {'y_new': X_new}.")
        _check_names(model, new)
    if new and len(marginals) > 1:
        raise ValueError(
            f"The model has {len(marginals)} variables with an evidence, so that it is not clear "
            "which the new inputs belong to. Leave new out, or build a model for each variable."
        )
    _check_no_conditional(model)
    sites: list[Sites | None] = [None] * len(marginals)
    if around is not None:
        _check_rotated(marginals)
        point = point_around(model, around)
        sites = [sites_around(model, marginal, point) for marginal in marginals]
    with _default_starts(model) as initvals:
        fgraph, memo = fgraph_from_model(model)
    replacements = []
    for marginal, known in zip(marginals, sites, strict=True):
        node = memo[marginal.rv].owner
        at = None if known is None else _unconstrained(model, known.names, memo)
        process = _Process.of(node, jitter, known, at)
        rv = likelihood(process.loss, process.f)
        observed = model_observed_rv(rv, node.inputs[1], node.op.name, *node.op.dims)
        replacements.append((node.outputs[0], observed))
        if (charged := process.potential(node.inputs[1])) is not None:
            charge = model_potential(charged, f"charge_{node.op.name}")
            fgraph.add_output(charge, import_missing=True)
        for name, X_new in (new or {}).items():
            fgraph.add_output(process.targets(name, X_new), import_missing=True)
    toposort_replace(fgraph, replacements)
    result = model_from_fgraph(fgraph, mutate_fgraph=True)
    for name, value in initvals.items():
        result.set_initval(result[name], value)
    return result


@dataclass(frozen=True)
class _Process:
    """The latent values of a Laplace variable in the graph of a model."""

    specification: Any
    variables: list[Any]
    loss: losses.Loss
    X: Any
    parameters: list[Any]
    jitter: float
    factor: Any
    """Cholesky factor of the covariance, of shape (n, n), or features of shape (n, m)."""
    rotated: Any
    """Latent values in units of that factor, of shape (n,)."""
    f: Any

    @classmethod
    def of(cls, node: Any, jitter: float, sites: Sites | None, at: Any) -> _Process:
        """Add the latent values that a node of an observed variable integrates out.

        They are rotated by sites at a vector of hyperparameters.
        """
        rv, dims = node.inputs[0], node.op.dims
        specification, (_, _, X, *variables) = rv.owner.op.specification, rv.owner.inputs
        loss, parameters = specification.split(X, variables)
        mean, factor = specification.whitened(X, parameters, jitter)
        name = f"f_{node.op.name}"
        if sites is None:
            columns = factor.type.shape[1] or factor.shape[1]
            own = dims if specification.of_rows else ()
            rotated = _free(pm.Normal.dist(0.0, 1.0, shape=(columns,)), f"{name}_rotated_", *own)
        else:
            K = relatively_stable(specification.moments(X, parameters)[1], jitter)
            inputs = [K, mean, *sites(at)]
            if sites.rows.size:
                edges = pt.broadcast_to(loss.wall, mean.shape)[sites.rows]
                inputs += [sites.labels, edges, sites.rows]
            white = _free(WhiteRV.rv_op(*inputs), f"{name}_white_", *dims)
            rotation, bend = maps(*inputs)
            rotated = rotation(white if bend is None else bend(white))
        at_rows = mean + factor @ rotated if sites is None else whitened(white, *inputs)[0]
        f = model_deterministic(at_rows, name, *dims)
        return cls(specification, variables, loss, X, parameters, jitter, factor, rotated, f)

    def potential(self, y: Any) -> Any:
        """Return what the log density of the latent values has beside prior and loss, or None."""
        return self.specification.potential(y, self.f, self.X, self.parameters, self.loss)

    def targets(self, name: str, X_new: Any) -> Any:
        """Return targets at new inputs, on top of the latent values there."""
        columns, prior = self.specification.columns, self.specification.prior
        X_new = as_inputs(f"new[{name!r}]", X_new, columns=columns)
        widths = X_new.type.shape[1], self.X.type.shape[1]
        if None not in widths and widths[0] != widths[1]:
            raise ValueError(
                f"new[{name!r}] has {widths[0]} columns, but X has {widths[1]}. "
                "Pass the same columns."
            )
        mean, cross, K, _ = prior.new(self.X, X_new, self.parameters)
        half = self.specification.whitened_cross(self.factor, cross)
        mu, cov = mean + half.T @ self.rotated, relatively_stable(K, self.jitter) - half.T @ half
        f = _free(pm.MvNormal.dist(mu=mu, cov=cov, method="svd"), f"f_{name}")
        self.specification.row_loss.check_new_rows()
        loss, _ = self.specification.split(X_new, self.variables)
        return _free(likelihood(loss, f), name)


def _unconstrained(model: Model, names: list[str], memo: Mapping[Any, Any]) -> Any:
    """Return the vector of some free variables of the graph of a model, without constraints."""
    free = [memo[model[name]] for name in names]
    parts = [unconstrained(x, x.owner.op.transform, x.owner.inputs[0].owner.inputs) for x in free]
    return pt.concatenate([pt.flatten(part) for part in parts]) if parts else pt.zeros(0)


def _free(rv: Any, name: str, *dims: str) -> Any:
    """Make a random variable a free variable of the graph of a model."""
    return model_free_rv(rv, rv.type(name=name), None, name, *dims)


def _check_names(model: Model, new: Mapping[str, Any]) -> None:
    """Raise if there are variables of the names that the new ones would have."""
    for name in new:
        if name in model.named_vars:
            raise ValueError(
                f"new has the name {name!r}, but the model has such a variable. "
                f"Choose another one, such as '{name}_new'."
            )


def _check_rotated(marginals: list[Marginal]) -> None:
    """Raise if there are variables on inducing points, for which there is no rotation."""
    for marginal in marginals:
        if not marginal.rv.owner.op.specification.of_rows:
            raise ValueError(
                f"{marginal.name!r} is on inducing points, for which there is no rotation. "
                "Leave out around: its free variables are few, and whitened by the prior."
            )


def _check_no_conditional(model: Model) -> None:
    """Raise if a variable is conditioned on the Gaussian of an approximation."""
    for variable in (*model.basic_RVs, *model.deterministics, *model.potentials):
        nodes = (x.owner for x in ancestors([variable]))
        if any(node is not None and isinstance(node.op, WarmStarted) for node in nodes):
            raise ValueError(
                f"{variable.name!r} depends on an approximate posterior, which the model with "
                "free latent values does not make. Build that model before gp.conditional, and "
                "pass new inputs as latent_model(new={name: X_new})."
            )


@contextmanager
def _default_starts(model: Model) -> Iterator[dict[str, Any]]:
    """Take the initial values off a model for a while; PyMC converts none that has any."""
    kept = dict(model.rvs_to_initial_values)
    given = {rv.name: value for rv, value in kept.items() if value is not None}
    symbolic_ones = [name for name, value in given.items() if isinstance(value, Variable)]
    if symbolic_ones:
        raise ValueError(
            f"The initial value of {symbolic_ones[0]!r} is an expression, which cannot be moved "
            "to another model. Pass a number or a name, or use initvals of pm.sample."
        )
    try:
        model.rvs_to_initial_values.update(dict.fromkeys(kept))
        yield {name: v if isinstance(v, str) else np.asarray(v) for name, v in given.items()}
    finally:
        model.rvs_to_initial_values.update(kept)
