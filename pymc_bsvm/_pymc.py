"""What the package takes from the inside of PyMC, so that a new version is met in one place.

What `pymc` itself exports is imported from there.
"""

# How PyMC's own samples become the groups of a tree: the public way runs a sampler.
from pymc.backends.arviz import (
    coords_and_dims_for_inferencedata,
    find_constants,
    find_observations,
)

# The checks and the shapes of PyMC's own distributions, which public names apply and do not lend;
# and where a class of random variables states its default value.
from pymc.distributions.dist_math import check_icdf_parameters, check_icdf_value, check_parameters

# How the size of such a variable changes.
from pymc.distributions.distribution import (
    DistributionMeta,
    _change_dist_size,
    _support_point,
)
from pymc.distributions.shape_utils import (
    change_dist_size,
    implicit_size_from_params,
    rv_size_is_none,
)

# How a truncated variable is drawn: public is only the general way.
from pymc.distributions.truncated import TruncatedRV, _truncated

# The base of `pm.gp.Marginal` and what its methods share; public are only the finished processes.
from pymc.gp.gp import Base
from pymc.gp.util import JITTER_DEFAULT, conditioned_vars, stabilize

# The jittered starts of `pm.sample`, which no public name gives without the sampler.
from pymc.initial_point import make_initial_point_fns_per_chain

# Where such a class states its density; `pm.logp` only asks for it.
from pymc.logprob.abstract import _logprob

# The transform of positive variables, to tell it from others: `pm.distributions.transforms.log` is
# an instance.
from pymc.logprob.transforms import LogTransform

# A model as a graph: public are only the changes that PyMC thought of, such as `pm.do`.
from pymc.model.fgraph import (
    fgraph_from_model,
    model_deterministic,
    model_free_rv,
    model_from_fgraph,
    model_observed_rv,
    model_potential,
)

# What PyMC does to observed data, generators and graphs before it compiles. It calls this module
# public and some of the names not, so that all are here.
from pymc.pytensorf import (
    compile,
    convert_observed_data,
    floatX,
    normalize_rng_param,
    toposort_replace,
)

__all__ = [
    "JITTER_DEFAULT",
    "Base",
    "DistributionMeta",
    "LogTransform",
    "TruncatedRV",
    "_change_dist_size",
    "_logprob",
    "_support_point",
    "_truncated",
    "change_dist_size",
    "check_icdf_parameters",
    "check_icdf_value",
    "check_parameters",
    "compile",
    "conditioned_vars",
    "convert_observed_data",
    "coords_and_dims_for_inferencedata",
    "fgraph_from_model",
    "find_constants",
    "find_observations",
    "floatX",
    "implicit_size_from_params",
    "make_initial_point_fns_per_chain",
    "model_deterministic",
    "model_free_rv",
    "model_from_fgraph",
    "model_observed_rv",
    "model_potential",
    "normalize_rng_param",
    "rv_size_is_none",
    "stabilize",
    "toposort_replace",
]
