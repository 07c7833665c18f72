"""Models print what their author wrote, and nothing of the inside."""

import re

import numpy as np
import pymc as pm
import pytest

import pymc_bsvm as bsvm

X, Y = bsvm.datasets.sinc(20, random_state=1)
LABELS = (Y > 0.3).astype(int)


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords={"row": range(20)}) as model:
        ls = pm.InverseGamma("ls", 3.0, 5.0)
        eta, epsilon = pm.HalfNormal("eta", 1.0), pm.HalfNormal("epsilon", 0.3)
        C = pm.LogNormal("C", 2.0, 1.0)
        cov = eta**2 * pm.gp.cov.ExpQuad(1, ls=ls)
        data = pm.Data("X", X, dims=("row", None))
        Xu = pm.Normal("Xu", shape=(3, 1))
        level = pm.Normal("level")
        settings = {"mean_func": pm.gp.mean.Constant(level), "cov_func": cov}
        bsvm.gp.BSVR(**settings).marginal_likelihood(
            "y", data, Y, C=C, epsilon=lambda X: epsilon * pm.math.exp(0.1 * X[:, 0]), dims="row"
        )
        bsvm.gp.SparseBSVR(cov_func=cov).marginal_likelihood(
            "z", X=X, Xu=Xu, y=Y, C=C, epsilon=epsilon
        )
        bsvm.gp.BTSVC(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0)).marginal_likelihood("s", X, LABELS)
        bsvm.gp.Laplace(cov_func=cov).marginal_likelihood(
            "e", X, LABELS, loss=bsvm.losses.Logistic(), approximation="ep"
        )
        bsvm.SILF("w", mu=level, C=C, epsilon=0.1, observed=Y)
        bsvm.EpsilonInsensitive("k", mu=level, C=C, epsilon=0.1, observed=Y)
        bsvm.Trigonometric("t", f=level, observed=LABELS)
    return model


PRINTED = {
    "y": "BSVR(C, f(X, epsilon), 0.3, f(X, level), f(X, eta, ls))",
    "z": "SparseBSVR(C, epsilon, 0.3, f(Xu, eta, ls))",
    "s": "BTSVC(1)",
    "e": "Laplace(f(eta, ls))",
    "w": "SILF(level, C, 0.1, 0.3)",
    "k": "EpsilonInsensitive(level, C, 0.1)",
    "t": "Trigonometric(level, 1, 0)",
}


def _sorted(line):
    """Return a line with the arguments of each f in order, which PyMC leaves open."""
    return re.sub(
        r"\bf\(([^)]*)\)", lambda found: f"f({', '.join(sorted(found[1].split(', ')))})", line
    )


def test_str_repr(model):
    lines = dict(_sorted(line).strip().split(" ~ ") for line in model.str_repr().splitlines()[1:])
    assert {name: lines[name] for name in PRINTED} == PRINTED
    latex = model.str_repr(formatting="latex")
    assert r"\operatorname{BSVR}(\text{C},~f(\text{" in latex
    assert "constant" not in latex


def test_graph(model, monkeypatch):
    def refuse(*_):
        raise AssertionError("A drawing of a model has nothing to compile.")

    monkeypatch.setattr("pytensor.link.c.op.COp.make_c_thunk", refuse)
    drawn = pm.model_graph.model_to_mermaid(model)
    for name, printed in PRINTED.items():
        assert f"{name}([{name} ~ {printed.partition('(')[0]}])" in drawn
    assert 'subgraph "row (20)"\n    y\nend' in drawn
    edges = {line for line in drawn.splitlines() if line.endswith("--> y")}
    assert edges == {f"{name} --> y" for name in ("C", "X", "epsilon", "eta", "level", "ls")}


def test_models_of_latent_values():
    with pm.Model() as model:
        ls = pm.InverseGamma("ls", 3.0, 5.0)
        gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X, Y, C=4.0, epsilon=0.1)
    latent = bsvm.latent_model(model, around={"ls": 1.5})
    assert "f_y_white_ ~ White(f(ls))" in latent.str_repr()


def test_what_is_printed_is_not_what_the_variable_depends_on(model):
    """Draws of another size are made from all inputs."""
    more = pm.draw(model["y"], draws=2, random_seed=1, mode="FAST_COMPILE")
    assert more.shape == (2, 20)
    resized = model["y"].owner.op.rebuild_rv(*model["y"].owner.inputs[2:], size=(3,))
    assert pm.draw(resized, random_seed=1, mode="FAST_COMPILE").shape == (3, 20)
    with pm.Model():
        gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0))
        y = gp.marginal_likelihood("y", X, Y, C=4.0, epsilon=0.1)
    changed = pm.distributions.shape_utils.change_dist_size(y, (3,))
    assert np.isfinite(pm.draw(changed, random_seed=1, mode="FAST_COMPILE")).all()
    assert changed.owner.inputs[2:] == y.owner.inputs[2:]
    more = pm.distributions.shape_utils.change_dist_size(changed, (2,), expand=True)
    assert pm.draw(more, random_seed=1, mode="FAST_COMPILE").shape == (2, 3, 20)
