import numpy as np
import pytest
from scipy.stats import ttest_rel

from pymc_bsvm.datasets import two_gaussians
from reproduce import raetsch
from reproduce.plan import Plan
from tests.reproduce.fakes import found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a small set of two partitions in the place of heart."""
    root = tmp_path_factory.mktemp("data")
    (root / "heart").mkdir()
    X, labels = two_gaussians(90, dim=2, random_state=5)
    rows = np.column_stack([X, 2 * labels - 1])
    np.savetxt(root / "heart" / "data.csv", rows, delimiter=",")
    order = [np.random.default_rng(k).permutation(90) for k in range(2)]
    for name, part in (("train_idx", slice(None, 30)), ("test_idx", slice(30, None))):
        lines = [",".join(map(str, each[part])) for each in order]
        (root / "heart" / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return root


def test_the_statistic_is_students():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=12), rng.normal(0.5, size=12)
    peer = ttest_rel(first, second)
    assert raetsch.paired(first - second) == pytest.approx((peer.statistic, peer.pvalue))


@pytest.mark.parametrize("differences", [[], [1.0], [0.0, 0.0]])
def test_nothing_to_compare_has_no_statistic(differences):
    assert np.isnan(raetsch.paired(differences)).all()


def test_ringnorm_is_split_as_the_pools_are():
    X, labels, Z, truth = raetsch.rows(None, "ringnorm", 3)
    assert (X.shape, Z.shape) == ((400, 20), (7000, 20))
    assert len(labels) + len(truth) == raetsch.POOL
    whole = np.vstack([X, Z])
    np.testing.assert_allclose(whole.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(whole.std(axis=0, ddof=1), 1.0, rtol=1e-12)
    assert len(np.unique(whole[:, 0])) == raetsch.POOL
    assert not np.array_equal(X, raetsch.rows(None, "ringnorm", 4)[0])


def test_partitions_beyond_those_of_the_folder_are_drawn(folder):
    X, labels, Z, truth = raetsch.rows(folder, "heart", 2)
    assert (len(X), len(Z), len(labels), len(truth)) == (30, 60, 30, 60)
    pool = np.vstack([X, Z])
    genuine = raetsch.rows(folder, "heart", 0)
    np.testing.assert_array_equal(
        np.sort(pool[:, 0]), np.sort(np.concatenate([genuine[0][:, 0], genuine[2][:, 0]]))
    )


def test_methods_are_judged_on_a_partition(folder):
    for method in raetsch.METHODS:
        found = raetsch.inferred(folder, "heart", method, 0)
        assert found["error"] < 20.0
        assert found["mean_nll"] < np.log(2.0)


def test_averages_are_used_on_all_partitions(folder):
    found = raetsch.averaged(folder, "heart", 2)
    np.testing.assert_allclose(found["mean"], np.mean(found["found"], axis=0))
    each = [raetsch.inferred(folder, "heart", "btsvc", k) for k in range(2)]
    np.testing.assert_allclose([row[0] for row in found["found"]], [e["kappa_0"] for e in each])
    for key in ("errors", "errors_papers"):
        assert len(found[key]) == 2


def test_each_start_has_an_end(folder):
    found = raetsch.from_each_start(folder, "heart", 0, "once", [1.0, 10.0])
    usual = raetsch.inferred(folder, "heart", "btsvc", 0)
    assert found["kappa_0"][1] == pytest.approx(usual["kappa_0"])
    assert {len(values) for values in found.values()} == {2}


def test_relevance_takes_a_kappa_for_each_column(folder):
    found = raetsch.with_relevance(folder, "heart", "btsvc", 0)
    usual = raetsch.inferred(folder, "heart", "btsvc", 0)
    assert found["minus_log_evidence"] < usual["minus_log_evidence"] + 0.5
    assert found["error"] < 20.0


def result(cell):
    if cell.measure is raetsch.averaged:
        n = cell.arguments["partitions"]
        theta = list(raetsch.PAPERS[cell.arguments["name"]].theta)
        errors = [10.0 + k for k in range(n)]
        every = {name: errors for name in ("errors", "errors_papers")}
        return {"found": [theta] * 5, "mean": theta, **every}
    if cell.measure is raetsch.averaged_svc:
        n = cell.arguments["partitions"]
        return {"C": 1.0, "kappa": 1.0, "errors": [11.0 + 0.5 * k for k in range(n)]}
    if cell.measure is raetsch.from_each_start:
        names = ("kappa_0", "kappa", "kappa_b", "minus_log_evidence", "error")
        return {name: cell.arguments["starts"] for name in names}
    if cell.measure is raetsch.with_offset:
        return {"error": 2.0, "minus_log_evidence": 60.0 + cell.arguments["kappa_b"]}
    facts = {"kappa_b": 7.0, "mean_nll": 0.3, "support": 50, "seconds": 2.0, "evaluations": 20}
    return facts | {"error": 10.0 + cell.arguments["partition"]}


def test_the_page_with_nothing():
    assert raetsch.section({}, Plan(quick=True)).body.startswith("Nothing is measured yet. Left")


def test_the_page_with_one_cell(folder):
    plan = Plan(quick=True, data=folder)
    section = raetsch.section(found(list(raetsch.cells(plan))[:1], result), plan)
    assert "| heart | 1 | 149.1 ± 8.6 | 50.0 | 16.34 ± 2.90 | 10.00 |" in section.body
    assert "Table 5.3" not in section.body


def test_the_page_with_all(folder):
    plan = Plan(quick=False, data=folder)
    cells = list(raetsch.cells(plan))
    first = [cell.arguments["partition"] for cell in cells if cell.measure is raetsch.inferred]
    assert max(first[:30]) == 4  # five partitions of both sets come first
    body = raetsch.section(found(cells, result), plan).body
    assert "The folder has 2 partitions of heart; 8 more are drawn from its rows." in body
    assert "| heart | 3.787 | 3.79 (3.79 to 3.79) |" in body
    assert "| ringnorm | 10 | 1.99 ± 0.26 | 14.50 ± 3.03 |" in body
    # heart has 14.5 with both hyperparameters, the thesis 16.33 ± 2.78
    assert "| heart | 10 | -1.83 | +0.00 | -1.83 | 0.88 | 2.1 |" in body
    assert "Left out, because the data folder does not have them: banana" in body
    assert "2.00 % at κ_b = 100 (minus log evidence 160.0)" in body
    assert "with κ_b free it ends at 7.00." in body
    assert "κ₀ = 0.1 on heart, ringnorm" in body
    assert "| 1.0, 1.0, 1.0; 1.0 % | 10, 10, 10; 10.0 % | 100, 100, 100; 100.0 % |" in body
    assert "On ringnorm the κ_b of the thesis is within a quarter of its start" in body
