"""Run all sections, print their main numbers and write the report."""

import logging
import platform
import time
from importlib.metadata import version
from pathlib import Path

import matplotlib.pyplot as plt
import pytensor

from demo.classification import classification
from demo.map_against_hmc import map_against_hmc
from demo.regression import regression
from demo.report import write

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "demo" / "output"
# For one fit of some hundred rows, compiling would take longer than it saves.
MODE = "FAST_COMPILE"


def main() -> None:
    """Run the demo."""
    begin = time.perf_counter()
    for name in ("pymc", "pymc_bsvm"):
        logging.getLogger(name).setLevel(logging.ERROR)
    plt.rcParams.update({"figure.dpi": 100, "font.size": 9})
    print("Bayesian support vector machines in PyMC: three questions\n", flush=True)
    sections = []
    with pytensor.config.change_flags(mode=MODE):
        for number, run in enumerate((regression, classification, map_against_hmc), start=1):
            start = time.perf_counter()
            section = run()
            seconds = time.perf_counter() - start
            print(f"{number}. {section.title} ({seconds:.0f} s)")
            for line in section.findings:
                print(f"   - {line}")
            print(flush=True)
            sections.append(section)
    elapsed = time.perf_counter() - begin
    packages = ", ".join(f"{name} {version(name)}" for name in ("pymc-bsvm", "pymc", "pytensor"))
    footer = f"Python {platform.python_version()}, {packages}; {elapsed:.0f} seconds."
    report, *figures = (path.relative_to(ROOT) for path in write(sections, OUTPUT, footer))
    print(f"Report:  {report}")
    print("Figures: " + "\n         ".join(map(str, figures)))
    print(f"Finished in {elapsed:.0f} seconds.")


if __name__ == "__main__":
    main()
