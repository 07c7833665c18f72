"""A little of everything, for an environment in which the tests' own tools are not installed."""

import numpy as np
import pymc as pm

import pymc_bsvm as bsvm
from pymc_bsvm.losses import SILF

for name in bsvm.__all__:
    getattr(bsvm, name)

X, y = bsvm.datasets.sinc(40, random_state=1)
K = np.exp(-0.5 * (X - X.T) ** 2)
loss = SILF(C=10.0, epsilon=0.1)

interpreted, compiled = (bsvm.solve_dual(K, y, loss, engine=e) for e in ("numpy", "numba"))
assert interpreted.converged
np.testing.assert_allclose(compiled.f, interpreted.f, atol=1e-4)

evidence = bsvm.laplace_evidence(K, y, loss)
assert np.isfinite(evidence.log_evidence)
assert np.isfinite(evidence.gradient.parameters).all()

with pm.Model():
    length = pm.InverseGamma("length", 3, 5)
    C = pm.LogNormal("C", 2, 1)
    gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(1, ls=length))
    gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=0.1)
    fit = bsvm.fit_evidence(restarts=1, random_seed=1, progressbar=False)
    assert fit.converged
    low, high = gp.predictive(X, point=fit.point).quantile([[0.05], [0.95]])
assert (low < high).all()
assert "posterior" in fit.to_datatree().children

machine = bsvm.BayesianSVR(random_state=1).fit(X, y)
mean, std = machine.predict(X, return_std=True)
assert np.abs(mean - np.sinc(X[:, 0] / np.pi)).max() < 0.3
assert (std > 0.0).all()
labels = (y > 0.3).astype(int)
probability = bsvm.BayesianSVC(random_state=1).fit(X, labels).predict_proba(X)[:, 1]
assert np.mean((probability > 0.5) == labels) > 0.9
