"""What the site has beside the pages of docs/: two pages of the root, the notebook as a page, and files to download.

MkDocs calls `on_files` before it reads pages and `on_page_markdown` for each of them.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from planner.cli import group

ROOT = Path(__file__).parent.parent
FROM_ROOT = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Pages of the site by their files in the root, where a code host looks for them."""
DOWNLOADS = {
    "downloads/plan.xlsx": "build llama3-70b -H tpu-v5e h100-sxm --set n_chips=8 batch=32 -o plan.xlsx",
    "downloads/report.html": "report plan.xlsx -o report.html",
}
"""Files to download, each by the command of the first page that writes it, in order."""
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
UP = re.compile(r"\]\((?:\.\./)*(README|CONTRIBUTING|CHANGELOG)\.md")
"""A link from a page of docs/ to a page of the root."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of the site with those that are made here."""
    for page, source in FROM_ROOT.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "notebook.md", content=_notebook()))
    names = {Path(name).name for name in DOWNLOADS}
    with tempfile.TemporaryDirectory() as folder:
        for name, command in DOWNLOADS.items():
            made = [str(Path(folder, word)) if word in names else word for word in command.split()]
            group.main(made, standalone_mode=False)
            files.append(File.generated(config, name, content=Path(folder, Path(name).name).read_bytes()))
    return files


def _notebook() -> str:
    """The notebook as a page: its text, its code, and what each cell shows."""
    page = ["[This page as a notebook](notebook.ipynb)\n"]
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        body = "".join(cell["source"])
        page.append(body if cell["cell_type"] == "markdown" else f"```python\n{body}\n```")
        shown = ("".join(output["data"]["text/plain"]) for output in cell.get("outputs", []))
        page.extend(f"```text\n{text}\n```" for text in shown)
    title, *rest = page[1:]
    return "\n\n".join([title, page[0], *rest])


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A page whose links to the root's pages lead to theirs on the site."""
    up = "../" * page.file.src_uri.count("/")
    pages = {"README": "index.md", "CONTRIBUTING": "contributing.md", "CHANGELOG": "changelog.md"}
    return UP.sub(lambda link: f"]({up}{pages[link[1]]}", markdown)
