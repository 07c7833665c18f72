"""One HTML file from the sections of the demo, with the figures inside."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

__all__ = ["Section", "write"]

TITLE = "Bayesian support vector machines in PyMC"
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 2.5rem; border-top: 1px solid #ddd; padding-top: 1.5rem; }
figure { margin: 1.5rem 0; }
figure img { max-width: 100%; }
figcaption, caption, footer { color: #555; font-size: 0.9rem; text-align: left; }
caption { caption-side: bottom; padding-top: 0.4rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 1.5rem 0; }
th, td { padding: 0.2rem 0.9rem 0.2rem 0; text-align: right; border-bottom: 1px solid #eee; }
th:first-child { text-align: left; }
footer { margin-top: 3rem; }
"""


@dataclass(frozen=True)
class Section:
    """A question, what was found, and the table and the figures that show it."""

    title: str
    question: str
    setting: str
    """Data and models, in a few sentences."""
    findings: list[str]
    """Sentences with the numbers of this run."""
    table: pd.DataFrame
    caption: str
    """Of the table."""
    figures: dict[str, tuple[Figure, str]] = field(repr=False)
    """Figures with their captions, by the names of their files."""


def write(sections: Sequence[Section], folder: Path, footer: str) -> list[Path]:
    """Write the report and the figures, in the place of older ones; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    paths, body = [folder / "report.html"], []
    for number, section in enumerate(sections, start=1):
        body += [
            f"<h2>{number}. {escape(section.title)}</h2>",
            f"<p><strong>{escape(section.question)}</strong></p>",
            f"<p>{escape(section.setting)}</p>",
            "<ul>",
            *(f"<li>{escape(line)}</li>" for line in section.findings),
            "</ul>",
            _table(section.table, section.caption),
        ]
        for name, (figure, caption) in section.figures.items():
            png = _png(figure)
            paths.append(folder / f"{name}.png")
            paths[-1].write_bytes(png)
            image = base64.b64encode(png).decode()
            body += [
                f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{image}">',
                f"<figcaption>{escape(caption)}</figcaption></figure>",
            ]
    page = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{TITLE}</title><style>{STYLE}</style></head><body>",
        f"<h1>{TITLE}</h1>",
        "<p>A condensed run of the first three notebooks. All numbers are of this run.</p>",
        *body,
        f"<footer>{escape(footer)}</footer></body></html>",
    ]
    paths[0].write_text("\n".join(page), encoding="utf-8")
    return paths


def _table(table: pd.DataFrame, caption: str) -> str:
    """Return a table with three significant digits and its caption."""
    html = table.to_html(border=0, float_format=_number, na_rep="")
    return html.replace("<thead>", f"<caption>{escape(caption)}</caption><thead>", 1)


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _png(figure: Figure) -> bytes:
    """Return the figure as a PNG file and close it."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    plt.close(figure)
    return buffer.getvalue()
