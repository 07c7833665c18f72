"""Everything that the public API hands out survives a pickle and the way to another process."""

import functools
import importlib
import inspect
import pickle
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping
from enum import Enum

import cloudpickle
import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from arviz_base import from_dict
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from pytensor.graph.basic import Variable, equal_computations
from pytensor.graph.traversal import ancestors, graph_inputs
from sklearn.exceptions import NotFittedError

import pymc_bsvm as bsvm
from pymc_bsvm import diagnosis, estimators, gp, graph, inference, losses, ops, search, solvers
from pymc_bsvm.covariance.conditioned import condition
from pymc_bsvm.estimators import kernels
from pymc_bsvm.losses.parametrized import Parametrized

# Processes refer to a model, formulas are closures: only cloudpickle takes them.
SPARSE = (gp.SparseBSVR, gp.SparseBTSVC, gp.SparseLaplace)
BY_CLOUDPICKLE = (
    *(gp.BSVR, gp.BTSVC, gp.Laplace, *SPARSE),
    *(losses.Formulas, losses.NoiseFormulas),
)
NOISE = (
    bsvm.evidence.StudentNoise(4.0, 0.1),
    bsvm.evidence.ContaminatedNoise(losses.Gaussian(0.1), 0.05, 10.0),
)


# ---- what is public -----------------------------------------------------------------------------


def public_objects() -> Iterator[object]:
    """Yield what the package and its public subpackages list in ``__all__``."""
    packages = [m.name for m in pkgutil.walk_packages(bsvm.__path__, "pymc_bsvm.") if m.ispkg]
    names = ["pymc_bsvm", *(name for name in packages if "._" not in name)]
    for module in map(importlib.import_module, names):
        for name in module.__all__:
            yield getattr(module, name)


@functools.cache
def all_classes() -> dict[str, set[type]]:
    """Return all classes of the package by name; a name may belong to several."""
    found: dict[str, set[type]] = {}
    for info in pkgutil.walk_packages(bsvm.__path__, "pymc_bsvm."):
        for name, value in vars(importlib.import_module(info.name)).items():
            if inspect.isclass(value) and value.__module__.startswith("pymc_bsvm"):
                found.setdefault(name, set()).add(value)
    return found


def named_in(owner: object, annotation: object) -> set[type]:
    """Return the classes of the package that an annotation of ``owner`` names."""
    module = sys.modules[owner.__module__]
    classes = set()
    for name in re.findall(r"\w+", str(annotation)):
        here = getattr(module, name, None)
        classes |= {here} & all_classes().get(name, set()) or all_classes().get(name, set())
    return classes


def handed_out(thing: object) -> set[type]:
    """Return the classes that a public function, or a class's fields and methods, hand out."""
    if not inspect.isclass(thing):
        annotation = getattr(thing, "__annotations__", {}).get("return", "")
        return named_in(thing, annotation) if annotation else set()
    classes = {thing}
    for name, value in inspect.get_annotations(thing).items():
        if not re.match("_|.*(Callable|ClassVar)", f"{name} {value}"):
            classes |= named_in(thing, value)
    for name, member in vars(thing).items():
        function = getattr(member, "fget", getattr(member, "func", member))
        function = getattr(function, "__func__", function)
        if not name.startswith("_") and inspect.isfunction(function):
            classes |= handed_out(function)
    return classes


def is_a_value(cls: type) -> bool:
    """Return whether there are objects of this class; a distribution of PyMC makes variables."""
    abstract = inspect.isabstract(cls) or getattr(cls, "_is_protocol", False)
    return not abstract and not issubclass(cls, pm.Distribution)


@functools.cache
def public_classes() -> frozenset[type]:
    """Return the classes in ``__all__`` and all that can be reached from these."""
    waiting, reached = list(public_objects()), set()
    while waiting:
        for cls in handed_out(waiting.pop()) - reached:
            reached.add(cls)
            waiting.append(cls)
    return frozenset(filter(is_a_value, reached))


def is_a_loss(cls: type) -> bool:
    return issubclass(cls, losses.Loss)


# ---- an example of each -------------------------------------------------------------------------


def product(X, Z):
    """Return a covariance that a pickle can find."""
    return 1.0 + X @ Z.T


@functools.cache
def process_examples() -> tuple[object, ...]:
    X, y = bsvm.datasets.sinc(20, random_state=1)
    with pm.Model():
        ls = pm.InverseGamma("ls", 3, 5)
        bsvr = gp.BSVR(cov_func=pm.gp.cov.ExpQuad(1, ls=ls))
        bsvr.marginal_likelihood("y", X=X, y=y, C=10.0, epsilon=0.1)
        fit = bsvm.fit_evidence(hessian=True, random_seed=1, progressbar=False)
        support = bsvr.support_vectors(point=fit.point)
        idata = from_dict({"posterior": {"ls": np.linspace(2.0, 4.0, 8).reshape(2, 4)}})
        cheap = {"particles": 20, "temperatures": 5, "random_seed": 1, "progressbar": False}
        integral = fit.integrate(progressbar=False)
        verdict = diagnosis.verdict(point=fit, Xnew=X[:3], **cheap)
        reweighted = diagnosis.reweight(idata, **cheap)
    with pm.Model():
        btsvc = gp.BTSVC(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0))
        btsvc.marginal_likelihood("label", X=X, y=(y > 0.3).astype(int))
        laplace = gp.Laplace(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0))
        laplace.marginal_likelihood("y", X=X, y=y, loss=losses.Gaussian(0.1))
        sparse = [cls(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0)) for cls in SPARSE]
        sparse[0].marginal_likelihood("a", X, X[:4], y, C=10.0, epsilon=0.1)
        sparse[1].marginal_likelihood("b", X, X[:4], (y > 0.3).astype(int))
        sparse[2].marginal_likelihood("c", X, X[:4], y, loss=losses.Gaussian(0.1))
        predictor = sparse[2].evidence({}).posterior.predictor
    comparison = bsvm.compare_posteriors({"Gauss": fit, "NUTS": idata})
    at = fit.at()
    averaged = integral, integral.marginals, integral.predictive(X[:3])
    labelled = bsvr.predictive(X[:3], fit, labelled=True)
    others = (
        labelled,
        labelled.rows,
        support,
        predictor,
        verdict,
        reweighted,
        comparison,
        at,
        *averaged,
    )
    return bsvr, btsvc, laplace, *sparse, fit, fit.committee, *others


@functools.cache
def plain_examples() -> tuple[object, ...]:
    X, y = bsvm.datasets.sinc(30, random_state=1)
    K = np.exp(-0.5 * (X - X.T) ** 2)
    silf, rbf = losses.SILF(C=10.0, epsilon=0.1), kernels.RBF()
    steps: list[solvers.Progress] = []
    solution = bsvm.solve_dual(K, y, silf, callback=steps.append)
    evidence = bsvm.laplace_evidence(K, y, silf)
    low_rank = bsvm.LowRank(np.column_stack([np.cos(X), np.sin(X)]), 0.1)
    error = solvers.DualSolveError("It failed. Try again.", solution)
    error.add_note("while a test was running")
    ep = bsvm.ep_evidence(K, y, silf)
    symbols = pt.dmatrix("K"), pt.dvector("y")
    return (
        *(cls(**dict.fromkeys(cls.domains, 0.5)) for cls in public_classes() if is_a_loss(cls)),
        losses.formulas(losses.SILF),
        losses.noise_formulas(losses.SILF),
        silf.sets(y, solution.f, solution.a),
        *(silf.tilted(y, solution.f, 0.1), silf.tilted_rule(np.zeros(2), np.ones(2))),
        *(silf.convolution(), losses.RegressionLoss.convolution(silf)),
        solution,
        *(low_rank, low_rank.parts, bsvm.solve_dual(low_rank, y, silf)),
        steps[0],
        error,
        solvers.DualSolveWarning("It did not converge."),
        kernels.precomputed.UnknownVariance("It is not known."),
        evidence,
        evidence.gradient,
        evidence.certificate,
        bsvm.evidence.LeaveOneOut(y, [evidence.cavity]),
        *(part for noise in NOISE for part in (noise, noise.convolution())),
        *(ep, ep.status, ep.gradient, ep.sweep, ep.sweep.sites, ep.approximation),
        bsvm.gao_evidence(K, y, losses.EpsilonInsensitive(10.0, 0.1)),
        bsvm.evidence.EPError("It failed. Try again.", solution, ep),
        bsvm.evidence.EPWarning("It did not settle."),
        *(condition(low_rank, np.ones(y.size)), bsvm.laplace_evidence(low_rank, y, silf).gradient),
        bsvm.laplace_evidence(*symbols, silf),
        graph.sites(evidence.approximation, *symbols, silf, m=np.zeros(y.size)),
        bsvm.evidence.predictive(silf, 0.0, 1.0),
        bsvm.evidence.predictive(losses.Trigonometric(), 0.0, 1.0),
        losses.SILF(10.0, 0.1, 0.3).outline,
        bsvm.datasets.Folder(X, y, (np.arange(20),), (np.arange(20, 30),)),
        *(ops.DualSolve(losses.SILF), ops.ImplicitDual(losses.SILF)),
        *(ops.FreeSolve(), ops.LogDet(), ops.SupportRows(), ops.InducingMode(losses.SILF)),
        *(rbf, kernels.Linear(), kernels.Matern32(), kernels.Matern52(), rbf + kernels.Linear()),
        *(kernels.Periodic(), kernels.Polynomial(), kernels.Precomputed()),
        *(kernels.BSpline(), kernels.Dirichlet(), kernels.Arcsine(), kernels.Frozen(product)),
        *rbf.hyperparameters(1),
        *(search.Start("here", np.zeros(1)), search.Ascents([], interrupted=False)),
        estimators.BayesianSVR(tol=1.0).fit(X, y),
        estimators.BayesianSVC(tol=1.0).fit(X, y > 0.3),
        estimators.BayesianSVRCommittee(expert_size=10, tol=1.0, random_state=0).fit(X, y),
        *(estimators.SVMRegressor().fit(X, y), estimators.SVMClassifier().fit(X, y > 0.3)),
        estimators.SVMOneClass().fit(X),
        estimators.RelevanceVectorRegressor().fit(X, y),
        estimators.RelevanceVectorClassifier().fit(X, y > 0.3),
        *(estimators.OnlineSVR().fit(X, y), estimators.OnlineSVC().fit(X, y > 0.3)),
    )


def the_fit() -> inference.EvidenceFit:
    (fit,) = (x for x in process_examples() if isinstance(x, inference.EvidenceFit))
    return fit


def fill_caches(value: object) -> None:
    """Ask for all that is computed when it is first asked for."""
    for cls in type(value).__mro__:
        for name, member in vars(cls).items():
            if isinstance(member, functools.cached_property):
                getattr(value, name)
    for part in parts(value).values():
        fill_caches(part)


def some_priors() -> gp.Priors:
    X, y = bsvm.datasets.sinc(20)
    with pm.Model():
        return bsvm.default_priors(X, y)


@functools.cache
def examples() -> tuple[object, ...]:
    """Return all of them, as a user has them after some use."""
    values = (*plain_examples(), *process_examples(), some_priors())
    for value in values:
        fill_caches(value)
    return values


def parts(value: object) -> dict[object, object]:
    """Return what a container, or a value of the package, consists of, by name."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    if isinstance(value, Parametrized):  # which is built anew, without what follows from these
        return value.fields
    ours = type(value).__module__.startswith("pymc_bsvm")
    if ours and not isinstance(value, (Enum, Variable)) and hasattr(value, "__dict__"):
        fields = getattr(value, "__dataclass_fields__", ())
        return {k: v for k, v in vars(value).items() if k in fields or not k.startswith("_")}
    return {}


def classes_in(value: object) -> set[type]:
    return {type(value)}.union(*map(classes_in, parts(value).values()))


# ---- there and back -----------------------------------------------------------------------------


def assert_same(copy: object, value: object) -> None:
    """Compare part by part; compiled functions and graphs by what they are for."""
    assert type(copy) is type(value)
    if isinstance(value, np.ndarray):
        np.testing.assert_array_equal(copy, value)
    elif isinstance(value, pd.DataFrame):
        pd.testing.assert_frame_equal(copy, value)
    elif isinstance(value, xr.Dataset):
        assert copy.identical(value)
    elif isinstance(value, BaseException):
        assert str(copy) == str(value)
        assert_same(vars(copy), vars(value))
    elif inner := parts(value):
        others = parts(copy)
        assert list(others) == list(inner)
        for key, part in inner.items():
            assert_same(others[key], part)
    elif isinstance(value, (str, float, int, bool, Enum, type(None))):
        np.testing.assert_equal(copy, value)


def by_pickle(value: object) -> bool:
    return not isinstance(value, BY_CLOUDPICKLE)


def test_every_public_class_has_an_example():
    here = classes_in(examples())
    assert sorted(cls.__qualname__ for cls in public_classes() - here) == []


def test_the_walk_reaches_what_is_only_handed_out():
    names = {cls.__name__ for cls in public_classes()}
    assert {"EvidenceGradient", "EvidenceTerms", "LatentMoments", "Difference"} <= names
    assert {"DualSolveError", "UnknownVariance", "Loss", "Kernel"} & names == {"DualSolveError"}


def test_pickle():
    for value in filter(by_pickle, examples()):
        assert_same(pickle.loads(pickle.dumps(value)), value)


def test_equal_values_stay_equal():
    for value in examples():
        if isinstance(value, (losses.Loss, kernels.Kernel, ops.DualSolve)):
            copy = cloudpickle.loads(cloudpickle.dumps(value))
            assert copy == value
            assert hash(copy) == hash(value)


def itself(value: object) -> object:
    """Return the value, or what cloudpickle wrote after reading and writing it again."""
    return cloudpickle.dumps(cloudpickle.loads(value)) if isinstance(value, bytes) else value


@pytest.fixture(scope="module")
def from_another_process():
    """Return the examples after the way to a worker and back."""
    # Workers that other tests have left behind, with other settings, may never answer.
    get_reusable_executor(max_workers=2, reuse=True).shutdown(wait=True, kill_workers=True)
    parallel = Parallel(n_jobs=2, backend="loky")
    plain = [value for value in examples() if by_pickle(value)]
    other = [cloudpickle.dumps(value) for value in examples() if not by_pickle(value)]
    there = parallel(delayed(itself)(value) for value in plain + other)
    return there[: len(plain)] + [cloudpickle.loads(x) for x in there[len(plain) :]]


def test_another_process(from_another_process):
    values = sorted(examples(), key=lambda value: not by_pickle(value))
    for copy, value in zip(from_another_process, values, strict=True):
        assert_same(copy, value)


def test_a_fit_from_another_process_is_of_use(from_another_process):
    fit = the_fit()
    (copy,) = (x for x in from_another_process if isinstance(x, inference.EvidenceFit))
    assert_same(copy.draws(3, random_seed=1), fit.draws(3, random_seed=1))
    assert_same(copy.restarts, fit.restarts)
    assert copy.model.named_vars.keys() == fit.model.named_vars.keys()


def test_a_process_is_copied_with_its_model():
    bsvr, fit = process_examples()[0], the_fit()
    new = np.array([[0.5]])
    original = bsvr.predict(new, fit.point, diag=True, model=fit.model)
    model, copy = cloudpickle.loads(cloudpickle.dumps((fit.model, bsvr)))
    np.testing.assert_array_equal(copy.predict(new, fit.point, diag=True, model=model), original)
    with model:
        copy.conditional("f_new", new)  # of this model's own variables
    assert model["ls"] in ancestors([model["f_new"]])


def test_a_copied_process_compiles_for_another_model_with_the_same_id():
    bsvr, fit = process_examples()[0], the_fit()
    bsvr.predict([[0.5]], fit.point, model=fit.model)
    copy, model = cloudpickle.loads(cloudpickle.dumps((bsvr, fit.model)))
    kept = copy._specification.evaluators._kept
    assert not kept  # compiled functions stay behind
    ((_, rv, evaluator),) = bsvr._specification.evaluators._kept.values()
    kept[id(model)] = (None, rv, evaluator)  # an id of the other process, met again
    copy.predict([[0.5]], fit.point, model=model)
    assert kept[id(model)][0] is model


def test_a_symbolic_evidence_keeps_its_graph():
    (terms,) = (x for x in examples() if type(x).__name__ == "EvidenceTerms")
    copy = pickle.loads(pickle.dumps(terms))
    inputs = [[v for v in graph_inputs([x.fit]) if v.name in ("K", "y")] for x in (copy, terms)]
    assert [v.name for v in inputs[0]] == [v.name for v in inputs[1]]
    assert equal_computations([copy.fit], [terms.fit], *inputs)


@pytest.mark.parametrize("cls", BY_CLOUDPICKLE, ids=lambda cls: cls.__qualname__)
def test_what_needs_cloudpickle_says_so(cls):
    assert "cloudpickle" in inspect.getdoc(cls)


# ---- failures in a worker -----------------------------------------------------------------------


def solve_in_vain() -> None:
    """Raise after too few steps, with a note."""
    x = np.linspace(-3.0, 3.0, 12)
    try:
        bsvm.solve_dual(np.exp(-0.5 * (x[:, None] - x) ** 2), np.sin(3.0 * x),
                        losses.SILF(C=10.0, epsilon=0.01), max_iter=1)  # fmt: skip
    except solvers.DualSolveError as error:
        error.add_note("expert 3")
        raise


def test_a_failure_in_a_worker_arrives_as_it_is():
    with pytest.raises(solvers.DualSolveError) as here:
        solve_in_vain()
    with pytest.raises(solvers.DualSolveError, match="Raise max_iter or tol") as there:
        Parallel(n_jobs=2, backend="loky")(delayed(solve_in_vain)() for _ in range(2))
    assert str(there.value) == str(here.value)
    assert there.value.__notes__ == ["expert 3"]
    assert there.value.solution.status is solvers.Status.MAX_ITER
    assert_same(there.value.solution, here.value.solution)


# ---- estimators ---------------------------------------------------------------------------------

ESTIMATORS = [
    getattr(estimators, name)
    for name in estimators.__all__
    if inspect.isclass(getattr(estimators, name))
]
CALLS = ("predict", "predict_proba", "decision_function", "predict_quantiles", "score_samples")


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_unfitted_estimator_is_what_it_was(kind):
    copy = pickle.loads(pickle.dumps(kind(kernel="matern32")))
    assert copy.get_params() == kind(kernel="matern32").get_params()
    with pytest.raises(NotFittedError):
        copy.predict([[0.0]])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_fitted_estimator_predicts_the_same(kind):
    (model,) = (value for value in plain_examples() if type(value) is kind)
    copy = pickle.loads(pickle.dumps(model))
    new = np.linspace(-4.0, 4.0, 9)[:, None]
    compared = []
    for name in CALLS:
        if hasattr(model, name):
            more = ([0.1, 0.9],) if name == "predict_quantiles" else ()
            expected = getattr(model, name)(new, *more)
            np.testing.assert_array_equal(getattr(copy, name)(new, *more), expected)
            compared.append(name)
    assert "predict" in compared


@pytest.mark.parametrize("kind", [estimators.BayesianSVR, estimators.BayesianSVC])
def test_an_estimator_on_inducing_points_goes_on_learning(kind):
    X, y = bsvm.datasets.sinc(60, random_state=1)
    y = y if kind is estimators.BayesianSVR else (y > 0.3).astype(int)
    model = kind(inducing=8, tol=1.0, random_state=0).partial_fit(X[:40], y[:40])
    copy = pickle.loads(pickle.dumps(model))
    for each in (model, copy):
        each.partial_fit(X[40:], y[40:])
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
