"""The contract and the habits of scikit-learn."""

import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from pymc_bsvm.estimators import BayesianSVC, BayesianSVR, BayesianSVRCommittee, kernels
from tests.estimators import cases

BOTH = pytest.mark.parametrize("kind", [BayesianSVR, BayesianSVC])


@parametrize_with_checks(
    [
        BayesianSVR(),
        BayesianSVR(kernel="linear"),
        BayesianSVC(),
        BayesianSVC(kernel="linear", class_weight="balanced"),
    ]
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@cases.ANY_END  # without standardisation the search may end at a bound
@parametrize_with_checks(
    [
        BayesianSVR(ard=True),
        BayesianSVR(kernel="matern52", standardize=False, beta=1.0),
        BayesianSVR(kernel=kernels.RBF() + kernels.Linear(), restarts=2),
        BayesianSVC(ard=True),
    ]
)
def test_checks_of_scikit_learn_with_other_settings(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return cases.plane(40)


def target(kind, data):
    return data.y if kind is BayesianSVR else data.labels


def fast(kind, **kwargs):
    return kind(**{"tol": 1.0, **kwargs})


# ---- composition --------------------------------------------------------------------------------


@BOTH
def test_clones(kind):
    settings = {"kernel": kernels.RBF(ard=True) + kernels.Linear(), "offset": 2.0, "restarts": 3}
    model = kind(**settings, sampler={"draws": 5}, random_state=4)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin is not model
    assert twin.set_params(kernel="linear").kernel == "linear"
    assert model.kernel == settings["kernel"]


@BOTH
def test_pipelines(kind, data):
    y = target(kind, data)
    pipe = make_pipeline(StandardScaler(), fast(kind)).fit(data.X, y)
    alone = fast(kind).fit(data.X, y)
    if kind is BayesianSVR:
        np.testing.assert_allclose(pipe.predict(data.new), alone.predict(data.new), rtol=1e-6)
    else:
        np.testing.assert_array_equal(pipe.predict(data.new), alone.predict(data.new))
    assert pipe.score(data.X, y) == pytest.approx(alone.score(data.X, y), abs=1e-6)


@cases.ANY_END
def test_grids(data):
    grid = {"kernel": ["rbf", "linear", kernels.Matern32()], "beta": [0.1, 1.0]}
    found = GridSearchCV(fast(BayesianSVR), grid, cv=3, n_jobs=2).fit(data.X, data.y)
    assert len(found.cv_results_["params"]) == 6
    assert found.best_params_["kernel"] != "linear"
    assert found.best_score_ > 0.5
    assert found.best_estimator_.beta_ == found.best_params_["beta"]


@cases.ANY_END
@BOTH
def test_cross_validation(kind, data):
    y = target(kind, data)
    folds = KFold(4, shuffle=True, random_state=0)
    scores = cross_val_score(fast(kind), data.X, y, cv=folds)
    expected = []
    for train, test in folds.split(data.X):
        model = fast(kind).fit(data.X[train], y[train])
        expected.append(model.score(data.X[test], y[test]))
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


@cases.ANY_END
def test_cross_validation_of_gram_matrices(data):
    """Scikit-learn cuts rows and columns, as the tag says."""
    K = cases.rbf(data.X, data.X, 1.0, np.array([3.0, 0.1]))
    assert get_tags(BayesianSVR("precomputed")).input_tags.pairwise
    assert get_tags(BayesianSVR(kernels.Precomputed())).input_tags.pairwise
    assert not get_tags(BayesianSVR()).input_tags.pairwise
    folds = KFold(4, shuffle=True, random_state=0)
    scores = cross_val_score(fast(BayesianSVR, kernel="precomputed"), K, data.y, cv=folds)
    assert scores.min() > 0.2


@BOTH
def test_kinds(kind):
    model = kind()
    assert is_regressor(model) == (kind is BayesianSVR)
    assert is_classifier(model) == (kind is BayesianSVC)
    assert not get_tags(model).input_tags.sparse


@cases.ANY_END
@BOTH
def test_data_frames(kind, data):
    y = target(kind, data)
    frame = pd.DataFrame(data.X, columns=["height", "depth"])
    model = fast(kind, ard=True).fit(frame, pd.Series(y, index=np.arange(40) + 7))
    np.testing.assert_array_equal(model.feature_names_in_, ["height", "depth"])
    assert model.n_features_in_ == 2
    assert isinstance(model.support_vectors_, np.ndarray)
    new = pd.DataFrame(data.new, columns=["height", "depth"])
    plain = fast(kind, ard=True).fit(data.X, y)
    np.testing.assert_array_equal(model.predict(new), plain.predict(data.new))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(new[["depth", "height"]])
    assert not hasattr(plain, "feature_names_in_")


@cases.ANY_END
@BOTH
@pytest.mark.parametrize("way", ["threshold", "count"])
def test_selection_of_columns(kind, way):
    """Three of six columns say something; the others, and a constant one, do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6)) * [1.0, 100.0, 0.01, 1.0, 5.0, 1e3]
    f = np.sin(2.0 * X[:, 0]) + X[:, 2] / 0.01 + 0.8 * X[:, 4] / 5.0
    y = f + 0.1 * rng.normal(size=120) if kind is BayesianSVR else (f > 0.0)
    X = np.column_stack([X, np.full(120, 3.0)])
    settings = (
        {"max_features": 3, "threshold": -np.inf} if way == "count" else {"threshold": "0.25*mean"}
    )
    chosen = SelectFromModel(kind(ard=True), **settings).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(chosen.get_support()), [0, 2, 4])
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    chosen = SelectFromModel(kind(ard=True), **settings).set_output(transform="pandas")
    assert list(chosen.fit_transform(frame, y).columns) == ["a", "c", "e"]


# ---- copies on disk -----------------------------------------------------------------------------


def product(X, Z):
    """Return a covariance that a pickle can find."""
    return (1.0 + X @ Z.T) ** 2


KERNELS = ("rbf", "matern32", "linear", "periodic", kernels.RBF() + kernels.Linear(), product)


@cases.ANY_END
@BOTH
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: getattr(k, "__name__", str(k)))
def test_copies(kind, kernel, data, tmp_path):
    model = fast(kind, kernel=kernel).fit(data.X, target(kind, data))
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(copy.predict(data.new), model.predict(data.new))
        if kind is BayesianSVR:
            ours, theirs = (m.predict_interval(data.new) for m in (model, copy))
        else:
            ours, theirs = (m.predict_proba(data.new) for m in (model, copy))
        np.testing.assert_array_equal(ours, theirs)
        assert copy.log_evidence_ == model.log_evidence_
        assert copy.fit(data.X, target(kind, data)).log_evidence_ == model.log_evidence_


@cases.ANY_END
def test_a_copy_with_a_kernel_of_pymc(data):
    pm = pytest.importorskip("pymc")
    model = fast(BayesianSVR, kernel=pm.gp.cov.ExpQuad(2, ls=0.8)).fit(data.X, data.y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(data.new), model.predict(data.new))
    assert clone(model).fit(data.X, data.y).log_evidence_ == model.log_evidence_


SPARSE = {
    "regressor": (BayesianSVR, {"beta": "papers"}),
    "classifier": (BayesianSVC, {"approximation": "laplace"}),
    "weights": (
        BayesianSVR,
        {"beta": "papers", "sample_weight": np.tile([1.0, 2.0, 0.0, 0.5], 10)},
    ),
    "precomputed": (BayesianSVR, {"kernel": "precomputed", "beta": "papers"}),
    "committee": (BayesianSVRCommittee, {"expert_size": 20, "random_state": 0}),
    "no sparse loss": (BayesianSVR, {"loss": "gaussian"}),
}


def numbers_in(content, values):
    """Return which numbers stand, to the last bit, in a pickle."""
    return np.array([np.float64(value).tobytes() in content for value in values])


@cases.ANY_END
@pytest.mark.parametrize(("kind", "settings"), SPARSE.values(), ids=SPARSE)
def test_a_copy_holds_the_support_vectors_only(kind, settings, data):
    settings = {**settings}
    weight = settings.pop("sample_weight", None)
    X, new = ((x - data.X.mean(axis=0)) / data.X.std(axis=0) for x in (data.X, data.new))
    rows = cases.rbf(X, X, 1.0, 1.0) if "kernel" in settings else X
    asked = cases.rbf(new, X, 1.0, 1.0) if "kernel" in settings else new
    y = data.y - data.y.mean() if is_regressor(kind()) else rows[:, 0] > 0.0
    model = fast(kind, standardize=False, **settings).fit(rows, y, weight)
    content = pickle.dumps(model)
    copy = pickle.loads(content)
    for method in ("predict", "predict_interval", "predict_proba"):
        if hasattr(model, method):
            ours, theirs = (getattr(m, method)(asked) for m in (model, copy))
            np.testing.assert_array_equal(ours, theirs)
    if kind is BayesianSVRCommittee:
        parts = zip(model._experts, model.parts_, strict=True)
        support = np.sort(np.concatenate([part[each.support] for each, part in parts]))
    else:
        support = model.support_
        xr.testing.assert_equal(copy.datatree_, model.datatree_)
    expected = np.isin(np.arange(40), support)
    assert expected.all() == (settings.get("loss") == "gaussian")
    if "kernel" in settings:  # those with support vectors are in support_vectors_
        place = np.flatnonzero(~expected)[-1]
        rows, expected = np.delete(rows[:, : place + 1], place, axis=0), np.delete(expected, place)
    np.testing.assert_array_equal(numbers_in(content, rows[:, -1]), expected)
    if is_regressor(model):
        assert not numbers_in(content, y).any()


def test_a_copy_of_many_columns_is_small():
    X, y = load_iris(return_X_y=True)
    model = BayesianSVC(approximation="laplace", n_jobs=2).fit(np.tile(X, (2, 50)), np.tile(y, 2))
    of_machines = sum(each.machine.support.size for each in model._trained)
    vectors = (of_machines + model.support_.size) * 200 * 8
    assert vectors < 0.7 * 300 * 200 * 8
    assert len(pickle.dumps(model)) < 1.1 * vectors + 60_000


@cases.ANY_END
@BOTH
def test_the_model_of_pymc_needs_what_a_copy_does_not_hold(kind, data):
    model = fast(kind).fit(data.X, target(kind, data))
    copy = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match=r"not those of the fit.*Call to_pymc before copying"):
        copy.to_pymc()
    copy.fit(data.X, target(kind, data))
    for fitted in (copy, model):
        assert [rv.name for rv in fitted.to_pymc()[0].observed_RVs] == ["y"]


@cases.ANY_END
def test_the_model_of_pymc_after_a_fit_in_other_processes():
    X, y = load_iris(return_X_y=True)
    model = fast(BayesianSVC, n_jobs=2).fit(X[::5], y[::5])
    observed = model.to_pymc(1)[0].rvs_to_values
    assert [value.data.size for value in observed.values() if value.name == "y"] == [30]


# ---- the same result again ----------------------------------------------------------------------


@cases.ANY_END
@pytest.mark.parametrize("kind", [BayesianSVR, BayesianSVC])
def test_in_parallel_as_one_after_the_other(kind, data):
    y = target(kind, data)
    one = kind(restarts=3, random_state=0).fit(data.X, y)
    two = kind(restarts=3, random_state=0, n_jobs=2).fit(data.X, y)
    assert two.log_evidence_ == one.log_evidence_
    columns = [c for c in one.restarts_.columns if c != "seconds"]
    pd.testing.assert_frame_equal(two.restarts_[columns], one.restarts_[columns])
    np.testing.assert_array_equal(two.predict(data.new), one.predict(data.new))


@cases.ANY_END
@BOTH
def test_the_seed_decides(kind, data):
    y = target(kind, data)
    runs = [kind(restarts=3, random_state=s).fit(data.X, y).restarts_ for s in (0, 0, 1)]
    columns = [c for c in runs[0].columns if c != "seconds"]
    pd.testing.assert_frame_equal(runs[0][columns], runs[1][columns])
    assert not runs[0][columns].equals(runs[2][columns])
    state = np.random.RandomState(0)
    fresh = kind(restarts=3, random_state=state).fit(data.X, y).restarts_
    pd.testing.assert_frame_equal(runs[0][columns], fresh[columns])


@cases.ANY_END
@BOTH
def test_fitting_again_forgets(kind, data):
    y = target(kind, data)
    model = fast(kind, ard=True).fit(data.X, y)
    expected = fast(kind).fit(data.X[:, :1], y)
    model.set_params(ard=False).fit(data.X[:, :1], y)
    np.testing.assert_array_equal(model.predict(data.new[:, :1]), expected.predict(data.new[:, :1]))
    assert not hasattr(model, "relevance_")
    assert not hasattr(model, "feature_importances_")


@BOTH
def test_settings_after_the_fit_do_not_change_it(kind, data):
    model = fast(kind).fit(data.X, target(kind, data))
    before = model.predict(data.new)
    model.set_params(kernel="precomputed", standardize=False)
    np.testing.assert_array_equal(model.predict(data.new), before)


@BOTH
def test_inputs_are_not_changed(kind, data):
    X, y, weight = data.X.copy(), target(kind, data).copy(), np.ones(40)
    fast(kind).fit(X, y, sample_weight=weight).predict(X)
    np.testing.assert_array_equal(X, data.X)
    np.testing.assert_array_equal(y, target(kind, data))
    np.testing.assert_array_equal(weight, 1.0)


# ---- what it looks like -------------------------------------------------------------------------


@BOTH
def test_representations(kind, data):
    model = fast(kind, kernel="matern32")
    assert repr(model) == f"{kind.__name__}(kernel='matern32', tol=1.0)"
    page = model._repr_html_()
    assert kind.__name__ in page
    assert "Not fitted" in page
    assert "Not fitted" not in model.fit(data.X, target(kind, data))._repr_html_()


def test_progress_is_shown_on_request(data, capsys):
    fast(BayesianSVR).fit(data.X, data.y)
    assert capsys.readouterr() == ("", "")
    fast(BayesianSVR, progressbar=True).fit(data.X, data.y)
    assert "Evidence" in "".join(capsys.readouterr())


# ---- errors and warnings ------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_sparse_input_is_refused(kind, format, data):
    X = sparse.random(40, 2, density=0.5, format=format, random_state=0)
    with pytest.raises(TypeError, match=r"(?i)sparse.*dense"):
        kind().fit(X, target(kind, data))


@BOTH
def test_nothing_works_before_the_fit(kind, data):
    model = kind()
    for name in ("predict", "predict_interval", "sample_y", "decision_function", "predict_proba"):
        if hasattr(kind, name):
            with pytest.raises(NotFittedError):
                getattr(model, name)(data.new)
    with pytest.raises(NotFittedError):
        model.to_pymc()
    assert not hasattr(model, "datatree_")


@BOTH
def test_an_end_before_the_optimum_is_a_warning(kind, data):
    model = kind(max_iter=1, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        model.fit(data.X, target(kind, data))
    assert not model.converged_
    assert len(caught) == 1
    assert caught[0].filename == __file__


@BOTH
def test_columns_are_counted(kind, data):
    model = fast(kind).fit(data.X, target(kind, data))
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.ones((2, 3)))
    with pytest.raises(ValueError, match="40 rows where y has 5"):
        kind().fit(data.X, target(kind, data)[:5])


# ---- what is imported ---------------------------------------------------------------------------


def run_python(code):
    """Run code in a new interpreter in which every warning is an error."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_package_alone_is_light():
    run = run_python(
        "import sys, pymc_bsvm\n"
        "print([n for n in ('arviz', 'arviz_base', 'pymc', 'pytensor', 'sklearn', 'pandas', "
        "'numba') if n in sys.modules])"
    )
    assert (run.stdout.strip(), run.stderr) == ("[]", "")


def test_a_fit_needs_no_graph():
    run = run_python(
        "import sys, numpy as np\n"
        "from pymc_bsvm.estimators import BayesianSVC, BayesianSVR\n"
        "X = np.linspace(-2.0, 2.0, 30)[:, None]\n"
        "y = np.sin(2.0 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=30)\n"
        "model = BayesianSVR(tol=1.0).fit(X, y)\n"
        "model.predict(X, return_std=True), model.predict_interval(X), model.sample_y(X)\n"
        "BayesianSVC('matern32').fit(X, y > 0).predict_proba(X)\n"
        "print([n for n in ('arviz', 'arviz_base', 'pymc', 'pytensor') if n in sys.modules])"
    )
    assert (run.stdout.strip(), run.stderr) == ("[]", "")


def test_a_missing_scikit_learn_is_named():
    run = run_python(
        "import sys\nsys.modules['sklearn'] = None\nimport pymc_bsvm\nimport pymc_bsvm.estimators"
    )
    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert "scikit-learn" in last
    assert "pip install pymc-bsvm[sklearn]" in last
