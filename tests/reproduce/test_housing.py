import numpy as np
import pytest

from reproduce import housing
from reproduce.plan import Plan
from tests.reproduce.fakes import DAY, found


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(2)
    for name in ("boston", "abalone"):
        (folder / name).mkdir()
    X = rng.normal(size=(506, 13)) * 3.0 + 1.0
    y = 22.0 + X[:, 4] + 0.5 * rng.normal(size=506)
    np.savetxt(folder / "boston" / "data.csv", np.column_stack([X, y]), delimiter=",")
    rows = rng.gamma(4.0, size=(3100, 8)).round(3)
    lines = (",".join(["MFI"[k % 3], *map(str, row)]) for k, row in enumerate(rows))
    (folder / "abalone" / "abalone.data").write_text("\n".join(lines))
    return folder


def as_printed(cell):
    """Return errors whose mean is that of the thesis, and its relevances."""
    given = cell.arguments
    papers = housing.TABLE_48 if given.get("ard") else housing.TABLE_47
    row = papers[given["name"]]
    peer = given["method"] in ("gpr", "svr")
    wobble = (-1.0) ** given["partition"] * (0.3 if peer else 0.2)
    ase, aae = (row.peer_ase, row.peer_aae) if peer else (row.ase, row.aae)
    return {
        **{"ase": ase[0] + wobble * ase[1], "aae": aae[0] + wobble * aae[1], "cpu": 2.0},
        "kappa": [mean for mean, _ in housing.TABLE_410.values()],
        **{"log_evidence": -100.0 + given.get("starts", 1), "epsilon": 0.496},
    }


def test_partitions_of_boston_are_normalised_by_the_rows_to_learn_from(data):
    split = housing.split_of(data, "boston", 3)
    assert split.X.shape == (481, 13)
    assert split.X_new.shape == (25, 13)
    assert split.X.mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    assert split.y.std() == pytest.approx(1.0)
    raw = housing.split_of(data, "boston", 3, raw=True)
    assert raw.unit == 1.0
    assert raw.y_new == pytest.approx(split.y_new * split.unit + raw.y.mean())
    other = housing.split_of(data, "boston", 4)
    assert not np.array_equal(split.y, other.y)


def test_abalone_is_normalised_as_a_whole_but_for_the_sex(data):
    split = housing.split_of(data, "abalone", 0)
    X, y = np.vstack([split.X, split.X_new]), np.concatenate([split.y, split.y_new])
    assert split.X.shape == (3000, 10)
    assert set(np.unique(X[:, :3])) == {0.0, 1.0}
    assert X[:, :3].sum(axis=1) == pytest.approx(1.0)
    assert X[:, 3:].std(axis=0) == pytest.approx(1.0)
    assert (y.mean(), y.std()) == pytest.approx((0.0, 1.0), abs=1e-12)
    assert split.unit == 1.0


def test_a_training_finds_the_column_that_matters(data, monkeypatch):
    monkeypatch.setitem(housing.ROWS, "boston", 60)
    result = housing.trained(data, "boston", 0, "papers", ard=True)
    assert np.argmax(result["kappa"]) == 4
    assert 1.0 < result["ase"] < 100.0  # in units of the prices, whose variance is 9


def test_the_beta_of_abalone_is_that_of_its_rows(data):
    cells = [c for c in housing.cells(Plan(False, data)) if c.arguments["name"] == "abalone"]
    assert {c.arguments.get("beta") for c in cells if c.arguments["method"] == "papers"} == {0.1}


def test_without_the_data_the_page_says_so(tmp_path):
    plan = Plan(False, tmp_path)
    assert list(housing.cells(plan)) == []
    assert "boston, abalone" in housing.section({}, plan).body


def test_one_measure_is_a_row_without_a_test(data):
    plan = Plan(False, data)
    body = housing.section(found([next(iter(housing.cells(plan)))], as_printed), plan).body
    assert "| boston | as the papers | 1 |  | 2.00 |  | 14.18 |  |  |  | 2.29 |" in body
    assert "Table 4.10" not in body


@pytest.mark.parametrize("quick", [True, False])
def test_all_measures_fill_the_tables(data, quick):
    plan = Plan(quick, data)
    cells = list(housing.cells(plan))
    assert len(set(cells)) == len(cells)
    body = housing.section(found(cells, as_printed), plan).body
    assert "0.078 for boston in table 4.7 (printed 0.078)" in body
    assert "5.5e-08 for computer activity in table 4.7 (printed 5.5e-08)" in body
    assert f"Of the {2 if quick else 8} mean squared errors here" in body
    assert "0 differ from its own" in body
    assert "as the papers: NOX, TAX, LSTAT, RAD (rank correlation of all 1.00)" in body
    assert "| computer activity | papers | 10 | 16416 | 1692 |" in body
    if not quick:
        assert (
            "| boston | as the papers | 100 | 2.00 | 2.00 | 10.27 ± 2.17 | 12.34 ± 1.85 |" in body
        )
        assert f"| BSVR | ARD Gaussian | 6.99 | 6.99 ± 0.88 | 100 | {DAY} |" in body
        trial = "| 10 | 12.34 ± 1.94 | 12.34 ± 1.94 | 1.000 | -3.0 ± 0.0 | 10 |"
        assert f"| one start in the place of four {trial} {DAY} |" in body
