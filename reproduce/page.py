"""What an experiment has to say, and the page with all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from reproduce.cell import Measured

__all__ = ["Section", "dates", "number", "power", "spread", "table", "write"]


@dataclass
class Section:
    """The part of the page that belongs to an experiment.

    Attributes
    ----------
    title : str
        Such as "Sinc data (table 4.3, figures 4.1 and 4.2)".
    body : str
        Markdown. A line `{name}` of its own is the place of a figure.
    figures : dict
        Figures with what they show, by the names of their files.
    """

    title: str
    body: str
    figures: Mapping[str, tuple[Figure, str]] = field(default_factory=dict)


def write(folder: Path, heading: str, sections: Iterable[Section]) -> Path:
    """Write the page and its figures, in the place of older ones; return the page's path."""
    pictures = folder / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    text = [heading.rstrip()]
    for section in sections:
        body = section.body.strip()
        for name, (figure, caption) in section.figures.items():
            figure.savefig(pictures / f"{name}.png", dpi=120)
            plt.close(figure)
            body = body.replace(f"{{{name}}}", f"![{caption}](figures/{name}.png)\n\n*{caption}*")
        text.append(f"## {section.title}\n\n{body}")
    page = folder / "report.md"
    page.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return page


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """Return a Markdown table whose first columns, `left` of them, are aligned to the left."""
    marks = ["---" if k < left else "--:" for k in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, marks, *rows)) + "\n"


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with some significant digits; nothing for None and NaN."""
    if value is None or math.isnan(value):
        return ""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{max(decimals, 0)}f}" if decimals < 8 else f"{value:.{digits - 1}e}"


def spread(values: Sequence[float], decimals: int) -> str:
    """Return mean and standard deviation; the mean alone of a single value."""
    n = len(values)
    if n == 0:
        return ""
    mean = math.fsum(values) / n
    if n == 1:
        return f"{mean:.{decimals}f}"
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    return f"{mean:.{decimals}f} ± {deviation:.{decimals}f}"


def power(p: float) -> str:
    """Return a p value."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def dates(measured: Iterable[Measured]) -> str:
    """Return the day of the measures, or the first and the last."""
    days = sorted({m.date for m in measured})
    return "" if not days else days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
