import matplotlib.pyplot as plt
import numpy as np
import pytest

from reproduce import laser
from reproduce.plan import Plan
from tests.reproduce.fakes import DAY, found


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "santafe_a"
    folder.mkdir()
    series = np.arange(1200)
    np.savetxt(folder / "A.dat", series[:1000], fmt="%d")
    np.savetxt(folder / "A.cont", series[1000:], fmt="%d")
    return tmp_path


def made_up(cell):
    """Return predictions that are one off, five in the hard part, which knows it."""
    hard = np.isin(np.arange(1001, 1101), laser.HARD)
    truth = np.full(100, 50.0)
    return {
        **{"ase": 8.2, "aae": 2.2, "C": 3.0, "epsilon": 0.4, "noise": 1.0, "free": 9, "bound": 5},
        **{"cpu": 1.5, "cpu_new": 0.1, "truth": truth.tolist()},
        "mean": (truth + np.where(hard, 5.0, 1.0)).tolist(),
        "variance": np.where(hard, 9.0, 1.0).tolist(),
    }


def test_each_point_has_the_eight_before_it(data):
    series = laser.series_of(data)
    assert series.tolist() == list(range(1100))
    split = laser.split_of(series)
    assert split.X.shape == (992, 8)
    assert split.X_new.shape == (100, 8)
    windows = np.arange(992)[:, None] + np.arange(8.0)
    inputs = split.X * windows.std(axis=0) + windows.mean(axis=0)
    assert inputs == pytest.approx(windows)
    targets = split.y_new * split.unit + np.arange(8, 1000).mean()
    assert targets == pytest.approx(np.arange(1000.0, 1100.0))
    last = split.X_new[-1] * windows.std(axis=0) + windows.mean(axis=0)
    assert last == pytest.approx(np.arange(1091.0, 1099.0))


def test_predictions_are_in_the_units_of_the_series(data, monkeypatch):
    monkeypatch.setattr(laser, "TRAINED", 60)
    monkeypatch.setattr(laser, "NEW", 20)
    series = np.round(100.0 + 50.0 * np.sin(0.4 * np.arange(80)))
    np.savetxt(data / "santafe_a" / "A.dat", series[:60], fmt="%d")
    np.savetxt(data / "santafe_a" / "A.cont", series[60:], fmt="%d")
    result = laser.trained(data, "papers", beta=0.3)
    assert result["truth"] == series[60:].tolist()
    error = np.subtract(result["mean"], result["truth"])
    assert np.mean(error**2) == pytest.approx(result["ase"], rel=1e-3)  # of rounding to four digits
    assert np.abs(error).max() < 10.0
    assert min(result["variance"]) >= 0.999 * result["noise"]


def test_intervals_take_the_place_of_standard_deviations(data):
    r = made_up(None) | {"low": [49.0] * 100, "high": [53.5] * 100}  # around 51, or 55
    forecast = laser.Forecast.of(r)
    easy = ~forecast.hard
    assert forecast.below[easy] == pytest.approx(2.0)
    assert forecast.above[easy] == pytest.approx(2.5)
    assert forecast.inside == 1.0  # the truth is 50
    assert laser.Forecast.of(r | {"low": [50.5] * 100}).inside == pytest.approx(0.0)


def test_without_the_data_the_page_says_so(tmp_path):
    plan = Plan(False, tmp_path)
    assert list(laser.cells(plan)) == []
    assert "santafe_a" in laser.section({}, plan).body


@pytest.mark.parametrize("count", [1, 2])
def test_measures_make_a_table_and_a_figure(data, count):
    plan = Plan(False, data)
    section = laser.section(found(list(laser.cells(plan))[:count], made_up), plan)
    row = "| as the papers | 8.20 | 2.20 | 3.00 | 0.400 | 1.00 | 9 | 5 | 100% | 6.00 | 2.00 "
    assert f"{row}| 5.00 | 1.00 | 1.50 | {DAY} |" in section.body
    assert "3.0 times as wide (as the papers)" in section.body
    figure, _ = section.figures["laser"]
    assert len(figure.axes) == 2 * count
    assert figure.axes[0].get_ylabel() == "counts"
    plt.close(figure)
