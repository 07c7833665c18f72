"""Compiled without falling back to Python, and the same numbers from JAX."""

import warnings

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import get_default_mode
from pytensor.link.numba import NumbaLinker

import pymc_bsvm as bsvm

PARAMETERS = {
    "SILF": ("mu", "C", "epsilon", "beta"),
    "EpsilonInsensitive": ("mu", "C", "epsilon"),
    "Trigonometric": ("f", "delta", "flip"),
}
POINTS = {
    "value": [0.0, 0.07, 0.1, 0.13, -0.4, 3.0, -1e8],
    "mu": 0.0,
    "C": 10.0,
    "epsilon": 0.1,
    "beta": 0.3,
    "label": [0, 1, 1, 0, 1, 0, 1],
    "f": [0.0, 0.5, 1.0, 1.7, -0.999, -3.0, -2.0],
    "delta": 1.0,
    "flip": 0.0,
}
every_distribution = pytest.mark.parametrize("name", PARAMETERS)


def logp_and_gradient(name, mode):
    """Compile the log probability and its gradient in all real inputs; return both, evaluated."""
    parameters = [pt.dvector(p) for p in PARAMETERS[name]]
    discrete = name == "Trigonometric"
    value = pt.lvector("label") if discrete else pt.dvector("value")
    logp = pm.logp(getattr(bsvm, name).dist(*parameters), value)
    real = parameters if discrete else [value, *parameters]
    function = pytensor.function(
        [value, *parameters], [logp, *pytensor.grad(logp.sum(), real)], mode=mode
    )
    rows = [np.asarray(POINTS[v.name]) for v in (value, *parameters)]
    first, *others = (row.copy() for row in np.broadcast_arrays(*rows))
    return function(first, *(row.astype(float) for row in others))


@every_distribution
def test_default_backend_compiles_everything(name):
    """No warning, and so no object mode, in log probabilities, gradients and draws."""
    assert isinstance(get_default_mode().linker, NumbaLinker)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        logp_and_gradient(name, None)
        x = getattr(bsvm, name).dist(*(POINTS[p] for p in PARAMETERS[name]))
        pm.draw(x, draws=2, random_seed=1)
        pm.logcdf(x, 1).eval()
        pm.icdf(x, 0.3).eval()
    assert [str(w.message) for w in caught] == []


def test_object_mode_would_be_noticed():
    """The same watch on a random variable that Numba cannot compile."""

    class OpaqueRV(pt.random.op.RandomVariable):
        name = "opaque"
        signature = "()->()"
        dtype = "float64"

        @classmethod
        def rng_fn(cls, rng, mu, size):
            return mu + np.zeros(size or np.shape(mu))

    rng = pytensor.shared(np.random.default_rng(1))
    _, draws = OpaqueRV()(0.0, rng=rng, size=(3,), return_next_rng=True)
    with pytest.warns(UserWarning, match="object mode"):
        draws.eval()


# PyTensor says so of every check of parameters outside a model, where PyMC turns checks into -inf.
@pytest.mark.filterwarnings("ignore:Skipping Check:UserWarning")
@every_distribution
def test_jax_gives_the_same_numbers(name):
    default, jax = logp_and_gradient(name, None), logp_and_gradient(name, "JAX")
    for ours, theirs in zip(default, jax, strict=True):
        theirs = np.asarray(theirs)
        assert theirs.dtype == np.float64
        np.testing.assert_allclose(theirs, ours, rtol=1e-11, atol=1e-12)
    assert all(np.isfinite(gradient).all() for gradient in jax[1:])
