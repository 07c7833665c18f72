"""Find links, anchors and files that a built site lacks, without a network."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a page is made of, by the attribute that names it. Of `link`, only what a browser loads.
PARTS = {"img": "src", "script": "src", "source": "src", "iframe": "src"}
LOADED = {"stylesheet", "icon", "preload"}

# A page of source code leads back to the page of an object, but knows only one name of the module
# that the object is from, and so not always its place on that page.
SOURCES = "_modules"


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and the files that it is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.parts: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what a tag names."""
        given = {key: value for key, value in attrs if value}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag in PARTS and PARTS[tag] in given:
            self.parts.add(given[PARTS[tag]])
        if tag == "link" and "href" in given:
            loaded = LOADED.intersection(given.get("rel", "").split())
            (self.parts if loaded else self.links).add(given["href"])


def broken(site: Path) -> Iterator[str]:
    """Yield links, anchors and files that are missing, and files of another host."""
    site = site.resolve()
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.relative_to(site).parts
    }
    for path, page in pages.items():
        name = path.relative_to(site)
        for link in sorted(page.links | page.parts):
            place = urlsplit(link)
            if place.scheme or place.netloc:
                if link in page.parts and place.scheme != "data":
                    yield f"{name} takes {link} from another host"
                continue
            target = (path.parent / unquote(place.path)).resolve() if place.path else path
            anchor = unquote(place.fragment)
            if not target.is_file():
                yield f"{name} links to {link}, which is not there"
            elif anchor and target in pages and name.parts[0] != SOURCES:
                if anchor not in pages[target].anchors:
                    yield f"{name} links to {link}, which has no such anchor"
