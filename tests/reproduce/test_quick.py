import pytest

from reproduce.__main__ import main
from reproduce.experiments import EXPERIMENTS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of peers; cells say which of ours did not converge
@pytest.mark.timeout(1800)
def test_a_quick_run_measures_every_cell_and_writes_every_section(tmp_path, capsys):
    code = main(["--quick", "--no-progressbar", "--jobs", "1", "--output", str(tmp_path)])
    said = capsys.readouterr().out
    assert code == 0, said
    assert ", 0 are left." in said
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    titles = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert len(titles) == len(EXPERIMENTS)
    assert "0 cells are not" in page.replace("\n", " ")
    assert "Nothing is measured yet" not in page
    for line in page.splitlines():
        if line.startswith("!["):
            assert (tmp_path / line.rpartition("(")[2].rstrip(")")).stat().st_size > 0
