"""Whether the graph of an evidence is interpreted or compiled, and who hears of it."""

import logging
import pickle
from contextlib import contextmanager

import cloudpickle
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile import Mode

from pymc_bsvm.inference import compiling, fit_evidence
from pymc_bsvm.inference.compiling import GraphFunction
from pymc_bsvm.inference.objective import LogPosterior
from tests.gp import cases

X = np.array([0.3, -1.2, 2.0])


@pytest.fixture
def made(monkeypatch):
    """Return a list to which the modes of what is made are added; nothing is compiled by Numba."""
    seen, plain = [], compiling.compile_for_pymc

    def compiled(*args, **kwargs):
        seen.append(kwargs.pop("mode", "the default"))
        return plain(*args, mode=Mode("py", "fast_compile"), **kwargs)

    monkeypatch.setattr(compiling, "compile_for_pymc", compiled)
    return seen


def costs(monkeypatch, of_a_graph, of_a_node, by_a_node, by_an_element):
    """Replace the estimates by others."""
    monkeypatch.setattr(compiling, "_COMPILING", of_a_graph)
    monkeypatch.setattr(compiling, "_COMPILING_NODE", of_a_node)
    monkeypatch.setattr(compiling, "_NODE", by_a_node)
    monkeypatch.setattr(compiling, "_ELEMENT", by_an_element)


def graph(compile_kwargs=None, elements=0):
    """Return a function of one vector, of two nodes."""
    x = pt.dvector("x")
    return GraphFunction([x], [pt.exp(x), pt.sin(x)], compile_kwargs, elements)


def calls_until_compiled(function, made, most=1000):
    """Return the number of calls that were interpreted."""
    for count in range(most):
        function(X)
        if len(made) == 2:
            return count
    return None


# ---- when ---------------------------------------------------------------------------------------


def test_it_is_interpreted_at_first(made):
    function = graph()
    assert made == [compiling._INTERPRETED]
    np.testing.assert_allclose(function(X), [np.exp(X), np.sin(X)], rtol=1e-15)
    assert function.calls == 1


def test_it_is_compiled_when_as_many_calls_more_would_lose_more_than_that_takes(monkeypatch, made):
    """Two nodes: a call loses 2 * 1 + 4 * 0.5 = 4 s and the compiler takes 30 + 2 * 5 = 40 s."""
    costs(monkeypatch, 30.0, 5.0, 1.0, 0.5)
    assert calls_until_compiled(graph(elements=4), made) == 11
    assert made == [compiling._INTERPRETED, "the default"]


@pytest.mark.parametrize(("expected", "interpreted"), [(5, 11), (10, 11), (11, 0), (10**6, 0)])
def test_calls_that_are_expected_count(monkeypatch, made, expected, interpreted):
    costs(monkeypatch, 30.0, 5.0, 1.0, 0.5)
    function = graph(elements=4)
    function.expect(expected)
    assert calls_until_compiled(function, made) == interpreted


def test_calls_that_are_expected_become_fewer(monkeypatch, made):
    costs(monkeypatch, 30.0, 5.0, 1.0, 0.5)
    function = graph(elements=4)
    function(X)
    function.expect(8)
    assert function.left == 8
    function(X)
    assert function.left == 7
    function.expect(0)
    assert function.left == 2


def test_a_small_model_is_never_compiled_in_a_search(made, process):
    """Nor in some thousand evaluations, as error bars and an integral take them as well."""
    objective = LogPosterior(process.model, True)
    objective.function.expect(3000)
    objective(np.zeros(4))
    assert len(made) == 1
    objective.function.expect(10**6)
    objective(np.zeros(4))
    assert len(made) == 2


def test_larger_matrices_and_larger_graphs_lose_more():
    losses = [graph(elements=n**2).loss for n in (0, 300, 1000)]
    assert losses[0] < losses[1] < losses[2]
    x = pt.dvector("x")
    larger = GraphFunction([x], [pt.exp(pt.sin(pt.cos(x)))], None, 0)
    assert larger.loss == pytest.approx(1.5 * losses[0])


def test_elements_are_those_of_the_kernel_matrices(monkeypatch, data):
    seen = []
    monkeypatch.setattr(
        "pymc_bsvm.inference.objective.GraphFunction",
        lambda *arguments: seen.append(arguments[-1]),
    )
    LogPosterior(cases.regression(data.X, data.y).model, True)
    assert seen == [25**2]


# ---- by whose word ------------------------------------------------------------------------------


@pytest.mark.parametrize("kwargs", [{"mode": "NUMBA"}, {}])
def test_what_is_asked_for_reaches_the_compiler_at_once(made, kwargs):
    assert graph(kwargs).compile_kwargs is kwargs
    assert made == [kwargs.get("mode", "the default")]


def test_all_that_is_asked_for_reaches_the_compiler(monkeypatch):
    seen = []
    plain = compiling.compile_for_pymc
    monkeypatch.setattr(
        compiling, "compile_for_pymc", lambda *a, **k: seen.append(k) or plain(*a, **k)
    )
    graph({"mode": "FAST_COMPILE", "name": "evidence", "profile": False})
    assert seen[0].items() >= {"mode": "FAST_COMPILE", "name": "evidence", "profile": False}.items()


@pytest.mark.parametrize("flags", [{"mode": "FAST_COMPILE"}, {"mode": "CVM"}, {"linker": "py"}])
def test_a_configuration_of_pytensor_is_left_alone(monkeypatch, made, flags):
    costs(monkeypatch, 0.0, 0.0, 1.0, 0.0)
    with pytensor.config.change_flags(**flags):
        function = graph()
        function.expect(10**6)
        function(X)
    assert made == [flags.get("mode", "Mode")]


def test_other_processes_are_told_the_mode(made, process):
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        recipe = LogPosterior(process.model, True).recipe()
    recipe()
    assert made == ["FAST_COMPILE", "FAST_COMPILE"]
    LogPosterior(process.model, True).recipe()()
    assert made[2:] == [compiling._INTERPRETED, compiling._INTERPRETED]


# ---- who hears of it ----------------------------------------------------------------------------


def listener(said):
    @contextmanager
    def announce(text):
        said.append(text)
        yield
        said.append("done")

    return announce


def test_it_says_why(monkeypatch, made, caplog):
    costs(monkeypatch, 30.0, 5.0, 1.0, 0.5)
    function, said = graph(elements=4), []
    with caplog.at_level(logging.INFO, "pymc_bsvm"), function.announced(listener(said)):
        for _ in range(20):
            function(X)
    assert said == ["Compiling, 11 evaluations left at 4000 ms each", "done"]
    assert caplog.messages == [
        "Compiling the evidence: some 11 evaluations are left and lose 4000 ms each, in all more "
        "than the compiler takes."
    ]


def test_it_is_not_announced_outside_of_the_context(monkeypatch, made):
    costs(monkeypatch, 0.0, 0.0, 1.0, 0.0)
    function, said = graph(), []
    with function.announced(listener(said)):
        function(X)
    function(X)
    assert (len(made), said) == (2, [])


@pytest.mark.parametrize(
    ("mode", "said"), [("NUMBA", ["Compiling, as compile_kwargs say", "done"]), ("CVM", [])]
)
def test_the_first_call_of_a_function_that_numba_compiles_is_announced(made, mode, said):
    function, heard = graph({"mode": mode}), []
    with function.announced(listener(heard)):
        function(X)
        function(X)
    assert heard == said


def test_the_progress_shows_it(monkeypatch, made, process, capsys):
    costs(monkeypatch, 0.0, 0.0, 1e-5, 0.0)
    fit_evidence(process.model, maxiter=2, check=False, progressbar=True)
    shown = capsys.readouterr().out
    assert "Compiling, " in shown
    assert "evaluations left at" in shown
    fit_evidence(process.model, maxiter=2, check=False, progressbar=False)
    assert capsys.readouterr() == ("", "")


def test_starts_that_are_left_are_expected_to_take_as_long_as_those_before(monkeypatch, made, data):
    """After one of five starts, four times its evaluations."""
    expected = []
    plain = GraphFunction.expect
    monkeypatch.setattr(
        GraphFunction, "expect", lambda self, n: expected.append((self.calls, n)) or plain(self, n)
    )
    model = cases.regression(data.X, data.y).model
    fit = fit_evidence(model, restarts=5, random_seed=1, maxiter=3, check=False, progressbar=False)
    total = sum(run.evaluations for run in fit.runs)
    assert [calls * (5 - k) // k for k, (calls, _) in enumerate(expected, 1)] == [
        n for _, n in expected
    ]
    assert expected[-1] == (total, 0)


def test_an_integral_says_how_many_points_it_has(made, process):
    fit = fit_evidence(process.model, maxiter=20, hessian=True, check=False, progressbar=False)
    seen = []
    function = fit._objective.function
    function.expect = seen.append
    points = fit.integrate(progressbar=False).points
    assert seen == [len(points)] == [25]


# ---- the same numbers ---------------------------------------------------------------------------


def test_a_pickle_goes_on(made):
    function = graph()
    function(X)
    copy = pickle.loads(cloudpickle.dumps(function))
    np.testing.assert_array_equal(copy(X), function(X))
    assert copy.calls == 2


MODELS = {
    "regression": lambda data: cases.regression(data.X, data.y),
    "classification": lambda data: cases.classification(data.X, data.labels),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_both_modes_have_the_same_numbers(make):
    """Up to rounding; the sums of both run in different orders."""
    model = make(cases.plane(40)).model
    interpreted = LogPosterior(model, True)
    compiled = LogPosterior(model, True, {"mode": "NUMBA"})
    rng = np.random.default_rng(0)
    start = interpreted.vector(model.initial_point())
    for x in start + 0.2 * rng.normal(size=(5, start.size)):
        interpreted.forget()
        compiled.forget()
        value, gradient = interpreted(x)
        other, of_other = compiled(x)
        assert other == pytest.approx(value, rel=1e-10)
        assert compiled.log_evidence == pytest.approx(interpreted.log_evidence, rel=1e-10)
        np.testing.assert_allclose(of_other, gradient, rtol=1e-10, atol=1e-10)
