"""The documentation as a site: it builds without a warning, and every link and picture in it leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.pages import ROOT

pytestmark = pytest.mark.slow


class Links(HTMLParser):
    """What a page links to, shows or loads, and the anchors that it has."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.to: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the addresses and the anchor of one element, whatever its tag."""
        del tag
        known = dict(attrs)
        self.anchors |= {known.get("id") or "", known.get("name") or ""}
        self.to |= {known.get("href") or "", known.get("src") or ""} - {""}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built into a folder of its own; a warning fails the build."""
    pytest.importorskip("material", reason="pip install -e '.[site]'")
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(made)]
    told = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return made


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    """Each address of a page is a file of the site, and its anchor stands there; nothing is loaded from elsewhere."""
    pages = {
        path: Links(path)
        for path in site.rglob("*.html")
        if path.name != "404.html" and path.parent.name != "downloads"
    }
    assert len(pages) > 50
    broken = []
    for page, links in pages.items():
        for link in links.to:
            parts = urlsplit(link)
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            found = parts.scheme or (
                target.is_file() and (not parts.fragment or _has(pages.get(target), parts.fragment))
            )
            if not found and target.suffix:
                broken.append(f"{page.relative_to(site)}: {link}")
    assert not broken, "\n".join(broken)


def _has(page: Links | None, anchor: str) -> bool:
    """Whether a page has an anchor; what is no page of the site isn't asked."""
    return page is None or unquote(anchor) in page.anchors or anchor.startswith("__")


def test_the_first_page_has_a_workbook_and_a_report(site: Path) -> None:
    """The first page leads to a workbook and to its report, which are there, and has the commands that made them."""
    links, text = Links(site / "index.html").to, (ROOT / "docs/index.md").read_text(encoding="utf-8")
    made = re.findall(r'^    "(downloads/.*)": "(.*)",$', (ROOT / "docs/site.py").read_text(encoding="utf-8"), re.M)
    assert [name for name, _ in made] == ["downloads/plan.xlsx", "downloads/report.html"]
    for name, command in made:
        assert f"$ planner {command}\n" in text
        assert name in links
        assert (site / name).stat().st_size > 50_000
