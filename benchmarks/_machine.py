"""What a report says about the machine it was measured on."""

import platform
from importlib.metadata import version
from pathlib import Path

__all__ = ["machine", "processor"]


def machine(used: str, *packages: str) -> str:
    """Name the processor, what was used of it, and the versions."""
    versions = [f"{name} {version(name)}" for name in packages]
    return ", ".join([processor(), used, f"Python {platform.python_version()}", *versions])


def processor() -> str:
    """Name the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "an unknown processor")
