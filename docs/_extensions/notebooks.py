"""Bring the notebooks to the site as they are stored, with a small picture of each."""

from __future__ import annotations

import base64
import io
import json
import shutil
from pathlib import Path
from typing import Any

from PIL import Image
from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "notebooks"
TARGET = HERE.parent / "notebooks"
WIDTH, HEIGHT = 480, 270  # pixels of a thumbnail


def images(notebook: dict[str, Any]) -> list[bytes]:
    """Return the pictures among the outputs of a notebook."""
    return [
        base64.b64decode("".join(output["data"]["image/png"]))
        for cell in notebook["cells"]
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]


def thumbnail(picture: bytes) -> Image.Image:
    """Return the picture, made smaller, on white paper of the one size."""
    small = Image.open(io.BytesIO(picture)).convert("RGB")
    small.thumbnail((WIDTH, HEIGHT))
    paper = Image.new("RGB", (WIDTH, HEIGHT), "white")
    paper.paste(small, ((WIDTH - small.width) // 2, (HEIGHT - small.height) // 2))
    return paper


def bring(app: Sphinx, _: object) -> None:
    """Copy the notebooks and draw their thumbnails; those of the figures too."""
    shutil.rmtree(TARGET, ignore_errors=True)
    (TARGET / "thumbnails").mkdir(parents=True)
    for path in sorted(SOURCE.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        found = images(notebook)
        if not found:
            raise ValueError(f"{path.name} has no picture. Execute it by `make notebooks`.")
        shutil.copyfile(path, TARGET / path.name)
        thumbnail(max(found, key=len)).save(TARGET / "thumbnails" / f"{path.stem}.png")
    for path in sorted((HERE.parent / "figures").glob("*.png")):
        thumbnail(path.read_bytes()).save(TARGET / "thumbnails" / path.name)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the copy to Sphinx."""
    app.connect("config-inited", bring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
