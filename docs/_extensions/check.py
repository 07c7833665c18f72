"""Check a built site, without a network: ``python docs/_extensions/check.py docs/_build/html``.

Every public name and method has its place in ``objects.inv``, no object has two pages, every link
and anchor inside the site leads somewhere, and no page asks another host for what it shows.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import reference
from links import broken
from sphinx.util.inventory import InventoryFile


def missing(inventory: dict[str, str]) -> Iterator[str]:
    """Yield public names, and methods of public classes, that have no place in the index."""
    for name, thing in reference.public().items():
        full = f"{reference.PACKAGE}.{name}"
        if full not in inventory:
            yield f"{full} has no page"
        elif inspect.isclass(thing):
            for member in reference.members(thing):
                if f"{full}.{member}" not in inventory and is_method(thing, member):
                    yield f"{full}.{member} is not on the page of its class"


def is_method(cls: type, name: str) -> bool:
    """Return whether a member is a method or a property; fields are in the text of the class."""
    found = inspect.getattr_static(cls, name, None)
    return isinstance(found, property | classmethod | staticmethod) or inspect.isroutine(found)


def twice(inventory: dict[str, str]) -> Iterator[str]:
    """Yield objects with more than one page."""
    pages: dict[str, set[str]] = {}
    for name, home in reference.homes().items():
        place = inventory.get(f"{reference.PACKAGE}.{name}")
        if place is not None:
            pages.setdefault(home, set()).add(place.partition("#")[0])
    for home, found in pages.items():
        if len(found) > 1:
            yield f"{home} has the pages {', '.join(sorted(found))}"


def index_of(site: Path) -> dict[str, str]:
    """Return the places of the Python names of a site."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    return {
        name: item.uri
        for kind, items in inventory.data.items()
        if kind.startswith("py:")
        for name, item in items.items()
    }


def main() -> int:
    """Say what is wrong and return 1, or what was checked and return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    site = parser.parse_args().site
    inventory = index_of(site)
    wrong = [*missing(inventory), *twice(inventory), *broken(site)]
    said = wrong or [f"{len(inventory)} names have their place, and no link is broken."]
    sys.stdout.write("\n".join(said) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
