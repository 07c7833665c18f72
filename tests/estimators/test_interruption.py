"""Fits on inducing points that Ctrl-C stops, and their progress bar."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pymc_bsvm.estimators import BayesianSVR
from pymc_bsvm.streamed.passes import Passes

N = 5000
RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (N, 2))
F = np.sin(2.0 * X[:, 0]) * np.cos(X[:, 1])
Y = F + 0.2 * RNG.standard_t(3, N)


@pytest.fixture
def interrupt(monkeypatch):
    """Return a function that names the passes over so many rows in which Ctrl-C is pressed."""
    run = Passes.run

    def at(rows, *numbers):
        seen = []

        def pressed(self, *arguments, **settings):
            if getattr(self.rows, "n", None) == rows:
                seen.append(1)
                if len(seen) in numbers:
                    raise KeyboardInterrupt
            return run(self, *arguments, **settings)

        monkeypatch.setattr(Passes, "run", pressed)
        return seen

    return at


def model():
    return BayesianSVR(inducing=20, random_state=0)


@pytest.mark.parametrize(
    ("rows", "numbers"), [(4000, (150,)), (N, (3,)), (N, (9,))], ids=["few", "first", "later"]
)
def test_the_best_hyperparameters_so_far_are_fitted_to_all_rows(interrupt, rows, numbers):
    interrupt(rows, *numbers)
    with pytest.warns(ConvergenceWarning, match=r"interrupted; the best hyperparameters"):
        stopped = model().fit(X, Y)
    assert not stopped.converged_
    assert stopped.gap_ < 1e-3
    assert np.sqrt(np.mean((stopped.predict(X) - F) ** 2)) < 0.1


def test_the_best_weights_so_far_are_kept_with_their_gap(interrupt):
    """Ctrl-C in the search, and again in Newton's method on all rows."""
    interrupt(N, 3, 6)
    with pytest.warns(ConvergenceWarning) as told:
        stopped = model().fit(X, Y)
    [text] = [str(each.message) for each in told if "best weights" in str(each.message)]
    assert f"The gap is {stopped.gap_:.3g} nats" in text
    assert 1e-6 < stopped.gap_ < np.inf
    assert np.isfinite(stopped.predict(X[:9])).all()


def test_progress_of_passes(capsys):
    model().set_params(progressbar=True).fit(X, Y)
    shown = "".join(capsys.readouterr())
    assert "Evidence, best" in shown
    assert "pass" in shown
