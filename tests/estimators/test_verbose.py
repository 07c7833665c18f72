"""What a fit says while it works."""

import logging

import numpy as np
import pytest

from pymc_bsvm.estimators import BayesianSVC, BayesianSVR

X = np.linspace(-3.0, 3.0, 30)[:, None]
Y = np.sin(X[:, 0])


def test_a_fit_is_silent_by_default(capfd, caplog):
    BayesianSVR(tol=1.0).fit(X, Y)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_a_line_for_each_start_and_for_the_end(caplog):
    with caplog.at_level(logging.INFO, "pymc_bsvm"):
        model = BayesianSVR(tol=1.0, beta=0.3, verbose=1).fit(X, Y)
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split(":")[0] for line in lines[:-1]] == [
        f"Climb {k + 1}" for k in range(len(model.restarts_))
    ]
    best = model.restarts_.objective.max()
    assert lines[-1] == f"Log evidence {best:.3f} after {model.n_iter_} evaluations: converged."


def test_passes_over_blocks_are_told_at_the_second_level(caplog):
    with caplog.at_level(logging.INFO, "pymc_bsvm"):
        BayesianSVR(tol=1.0, inducing=5, verbose=2).fit(X, Y)
    assert any("Pass 1 over the rows" in record.getMessage() for record in caplog.records)


def test_who_does_not_listen_reads_it_on_the_standard_error(monkeypatch, capfd):
    """Handlers of pytest and of the tests are taken away; afterwards all is as before."""
    logger = logging.getLogger("pymc_bsvm")
    monkeypatch.setattr(logger, "propagate", False)
    monkeypatch.setattr(logger, "handlers", [])
    BayesianSVC(tol=1.0, verbose=True).fit(X, Y > 0.0)
    out, err = capfd.readouterr()
    assert out == ""
    assert "Log evidence" in err
    assert logger.handlers == []
    assert logger.level == logging.NOTSET


def test_the_level_is_a_number():
    with pytest.raises(ValueError, match="verbose must be an integer >= 0, but it is 'loud'"):
        BayesianSVR(verbose="loud").fit(X, Y)
