"""What an evidence maximisation found, as a table, a point, draws and a DataTree."""

from __future__ import annotations

import html
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from arviz_base import dict_to_dataset, from_dict
from pymc import Model

from pymc_bsvm._pickling import ByCloudpickle
from pymc_bsvm._pymc import coords_and_dims_for_inferencedata, find_constants, find_observations
from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.approximation import Evidence
from pymc_bsvm.gp.conditioned import Conditioned
from pymc_bsvm.inference.committee import Committee
from pymc_bsvm.inference.design import DesignKind
from pymc_bsvm.inference.integral import Integral, integrate
from pymc_bsvm.inference.objective import LogPosterior, marginals_of, only
from pymc_bsvm.inference.peak import Peak
from pymc_bsvm.inference.summary import summary_of
from pymc_bsvm.search import Ending, Restart
from pymc_bsvm.search.hessian import Hessian
from pymc_bsvm.solvers import DualSolution, DualSolveError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EvidenceFit"]

_SUMMARISED = 4000  # draws of what has no closed form
_SAME_MODE = 1e-2  # nats; modes of the same height and ...
_SAME_PLACE = 0.05  # ... this near on the unconstrained space are one


@dataclass(frozen=True)
class EvidenceFit(ByCloudpickle):
    """The hyperparameters of the highest posterior (or evidence), and how they were found.

    Its pickle contains a copy of the model, which cloudpickle writes.
    """

    point: dict[str, Array]
    """All free and deterministic variables at the best point, by name, on their own scale."""
    log_evidence: float
    """Log evidence at the best point, in nats, without the prior."""
    objective: float
    """What was maximised: the log posterior up to a constant, or the log evidence."""
    include_prior: bool
    evidences: dict[str, Evidence]
    """The evidence of each variable that has one, in its terms."""
    runs: list[Restart]
    """All starts, the best first."""
    hessian: Hessian | None
    model: Model = field(repr=False)
    _objective: LogPosterior = field(repr=False)
    check: Peak | None = None
    """Whether the fit is a peak by expectation propagation as well; None if it was not asked."""

    @property
    def best(self) -> Restart:
        """The run that ended highest."""
        return self.runs[0]

    @property
    def converged(self) -> bool:
        """Whether the best run ended with a gradient below the tolerance."""
        return self.best.ending is Ending.CONVERGED

    @property
    def evidence(self) -> Evidence:
        """The evidence of the only variable that has one."""
        if len(self.evidences) != 1:
            raise ValueError(
                f"The model has {len(self.evidences)} variables with an evidence: "
                f"{', '.join(self.evidences)}. Use evidences[name]."
            )
        return next(iter(self.evidences.values()))

    def at(self, name: str | None = None) -> Conditioned:
        """Return the model at the best point, conditioned on its data; see ``gp.at``.

        Parameters
        ----------
        name : str, optional
            The variable with an evidence, if the model has several.
        """
        marginal = only(marginals_of(self.model, name))
        return marginal.evaluator(self.model).at(self.point)

    @property
    def solution(self) -> DualSolution:
        """The MAP estimate at the best point, with its duality gap."""
        return self.evidence.solution

    @property
    def restarts(self) -> pd.DataFrame:
        """One row for each start, the best first."""
        import pandas as pd

        names = self._objective.names()
        return pd.DataFrame(
            [
                {
                    "label": run.label,
                    "log_evidence": run.log_evidence,
                    "objective": run.objective,
                    "ending": run.ending.name.lower(),
                    "gradient": run.gradient,
                    "evaluations": run.evaluations,
                    "seconds": run.seconds,
                    **{f"start {k}": x for k, x in zip(names, run.start, strict=True)},
                    **{f"end {k}": x for k, x in zip(names, run.end, strict=True)},
                }
                for run in self.runs
            ]
        )

    @cached_property
    def committee(self) -> Committee:
        """The distinct modes that were found, weighted by what was maximised."""
        modes: list[Restart] = []
        for run in self.runs:
            if np.isfinite(run.objective) and not any(_same(run, mode) for mode in modes):
                modes.append(run)
        height = np.array([mode.objective for mode in modes])
        weights = np.exp(height - height.max())
        points = [self._objective.point(mode.end) for mode in modes]
        return Committee(points, weights / weights.sum())

    def draws(self, draws: int = 1000, random_seed: Any = None) -> dict[str, Array]:
        """Draw hyperparameters from the Gaussian near the mode.

        Parameters
        ----------
        draws : int
            Number of draws.
        random_seed : int or Generator, optional
            Seed.

        Returns
        -------
        dict
            Arrays of shape (draws, ...) by name, on the variables' own scale.

        Raises
        ------
        ValueError
            If the fit was made without ``hessian=True``.
        """
        if self.hessian is None:
            raise ValueError(
                "This fit has no Hessian to draw with. Call fit_evidence with hessian=True."
            )
        rng = np.random.default_rng(random_seed)
        x = rng.multivariate_normal(self.hessian.mean, self.hessian.covariance, size=draws)
        points = [self._objective.point(row) for row in x]
        return {name: np.array([point[name] for point in points]) for name in points[0]}

    def integrate(
        self, design: DesignKind = "auto", *, check_input: bool = True, progressbar: bool = True
    ) -> Integral:
        """Integrate over the hyperparameters by a rule with few points.

        The evidence is found at the points of a design over the Gaussian near the mode, on the
        unconstrained space. Evidence, prior and the weights of the design together are the
        posterior weights of the points, over which everything is averaged, and sum to an estimate
        of p(y).

        Parameters
        ----------
        design : {"auto", "ccd", "grid"}
            A central composite design of ``2**k + 2 k + 1`` points for k hyperparameters, fewer
            above four (27, 45, 79 and 81 for five to eight); or a grid, of 15 points for one and
            121 for two. "auto" is the grid where there is one.
        check_input : bool, default True
            Whether predictions check covariances at each point.
        progressbar : bool, default True
            Show the progress.

        Returns
        -------
        Integral
            Marginals, averaged predictions, draws, and the log of the integrated evidence.

        Raises
        ------
        ValueError
            If the fit left out the prior, or if no Gaussian is near its mode.

        Notes
        -----
        It takes one evaluation for each point. A fit without ``hessian=True`` needs the Gaussian
        first, which takes some hundred. An interruption goes through, and leaves the fit as it is.

        References
        ----------
        Rue, Martino and Chopin (2009), section 6.5.
        """
        if not self.include_prior:
            raise ValueError(
                "This fit maximised the evidence without a prior to integrate over. "
                "Call fit_evidence with include_prior=True."
            )
        return integrate(
            self._objective, self.best.end, self.hessian, design, check_input, progressbar
        )

    def summary(self, ci_prob: float | None = None) -> pd.DataFrame:
        """Return the hyperparameters, with means and standard deviations if there are any.

        The mode and the mean are not the same: the Gaussian near the mode has a centre of its own,
        and its image on the variables' own scale is skewed. Standard deviations are about the mean.

        Parameters
        ----------
        ci_prob : float, optional
            Probability of the interval; by default that of ArviZ, ``rcParams["stats.ci_prob"]``.

        Returns
        -------
        DataFrame
            One row for each element of each variable, labelled by its coordinates. The columns are
            ``mode``, and with a Hessian ``mean``, ``sd`` and the ends of the equal-tailed interval
            that `arviz.summary` calls ``eti89_lb`` and ``eti89_ub``. They are those of the
            Gaussian carried back from the unconstrained space: exact where that is the logarithm
            or the variable itself, else from 4000 draws of a fixed seed.
        """
        return summary_of(
            self.model, self.point, self.hessian, lambda: self.draws(_SUMMARISED, 0), ci_prob
        )

    def to_datatree(self, draws: int = 1000, random_seed: Any = None) -> xr.DataTree:
        """Return the fit as ArviZ and PyMC know it.

        Parameters
        ----------
        draws : int
            Number of draws of the hyperparameters; without a Hessian there is one, the mode.
        random_seed : int or Generator, optional
            Seed of the draws.

        Returns
        -------
        DataTree
            Groups ``posterior``, ``sample_stats`` (at the mode: log evidence, terms, number of
            support vectors, gap), ``log_likelihood`` (each observation given all others, at each
            draw), ``observed_data``, ``constant_data``, and, with a Hessian, ``fit``. `az.loo` and
            `az.compare` need many draws, hence a Hessian.
        """
        coords, dims = coords_and_dims_for_inferencedata(self.model)
        if self.hessian is None:
            posterior = {name: value[None] for name, value in self.point.items()}
        else:
            posterior = self.draws(draws, random_seed)
        tree = from_dict(
            {"posterior": {name: value[None] for name, value in posterior.items()}},
            coords=coords,
            dims=dims,
            attrs={
                "posterior": {
                    "inference_library": "pymc_bsvm",
                    "inference_library_version": version("pymc-bsvm"),
                    "inference_method": "evidence",
                    "include_prior": int(self.include_prior),
                    "approximation": "; ".join(e.label for e in self.evidences.values()),
                }
            },
        )
        one = {"chain": [0], "draw": [0]}
        stats = {"log_evidence": self.log_evidence, "lp": self.objective}
        for name, evidence in self.evidences.items():
            tag = f"_{name}" if len(self.evidences) > 1 else ""
            solution = evidence.solution
            stats |= {
                f"n_support{tag}": int(solution.support.sum()),
                f"n_free{tag}": int(solution.free.sum()),
                f"gap{tag}": solution.gap,
                f"effective_parameters{tag}": evidence.posterior.effective_parameters,
            }
            stats |= {f"{key}{tag}": value for key, value in evidence.statistics.items()}
        table = {key: (("chain", "draw"), [[value]]) for key, value in stats.items()}
        tree["sample_stats"] = xr.DataTree(xr.Dataset(table, coords=one))
        pointwise = {name: x[None] for name, x in self._log_likelihood(posterior).items()}
        tree["log_likelihood"] = xr.DataTree(dict_to_dataset(pointwise, coords=coords, dims=dims))
        for group, data in (
            ("observed_data", find_observations(self.model)),
            ("constant_data", find_constants(self.model)),
        ):
            if data:
                tree[group] = xr.DataTree(
                    dict_to_dataset(data, coords=coords, dims=dims, sample_dims=[])
                )
        if self.hessian is not None:
            names = self.hessian.names
            gaussian: dict[str, Any] = {
                "mean_vector": ("rows", self.hessian.mean),
                "covariance_matrix": (("rows", "columns"), self.hessian.covariance),
            }
            tree["fit"] = xr.DataTree(
                xr.Dataset(gaussian, coords={"rows": names, "columns": names})
            )
        return tree

    def _log_likelihood(self, posterior: dict[str, Array]) -> dict[str, Array]:
        """Return the log density of each observation given all others, at each draw.

        It is NaN at draws where the solver fails.
        """
        if self.hessian is None:
            return {name: e.log_predictive[None] for name, e in self.evidences.items()}
        count = next(iter(posterior.values())).shape[0]
        points = [{name: x[k] for name, x in posterior.items()} for k in range(count)]
        result = {}
        for marginal in marginals_of(self.model):
            evaluator, at_mode = marginal.evaluator(self.model), self.evidences[marginal.name]
            values = np.full((count, at_mode.problem.y.size), np.nan)
            for k, point in enumerate(points):
                with suppress(DualSolveError):
                    on = evaluator.at(point, start=at_mode.start, check_input=False)
                    values[k] = on.log_predictive
            result[marginal.name] = values
        return result

    def __str__(self) -> str:
        values = ", ".join(f"{k} = {_short(v)}" for k, v in self.point.items())
        lines = [f"log evidence {self.log_evidence:.2f} at {values}"]
        for name, evidence in self.evidences.items():
            solution = evidence.solution
            lines.append(
                f"{name}: {int(solution.support.sum())} support vectors of {solution.a.size} rows, "
                f"duality gap {solution.gap:.1e} nats"
            )
        ended = sum(run.ending is Ending.CONVERGED for run in self.runs)
        lines.append(f"{ended} of {len(self.runs)} starts converged. {self.best.ending.value}")
        if self.check is not None:
            lines.append(f"{self.check}.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns = ["label", "log_evidence", "objective", "ending", "evaluations", "seconds"]
        starts = self.restarts[columns].to_html(index=False, float_format="{:.3f}".format)
        summary = self.summary().to_html(float_format="{:.4g}".format)
        text = html.escape(str(self)).replace("\n", "<br>")
        return f"<div><p>{text}</p>{summary}{starts}</div>"


def _same(one: Restart, other: Restart) -> bool:
    """Return whether two runs ended at the same mode."""
    near = np.abs(one.end - other.end).max() <= _SAME_PLACE
    return bool(near and abs(one.objective - other.objective) <= _SAME_MODE)


def _short(value: Array) -> str:
    return np.array2string(np.asarray(value), precision=3, threshold=6)
