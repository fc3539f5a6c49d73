"""A page for each template: complete, in step with the CSV, and for a user's own template too."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.formulas import library
from planner.formulas.template import BY_ID, read_rows
from planner.formulas.template_page import page, pages
from tests.commands import command, refused, run

PAGES = Path(__file__).parent.parent / "docs" / "templates"
REFRESH = "run `planner templates page --to docs/templates`"


def test_the_pages_are_as_the_templates_are() -> None:
    """docs/templates holds a page for each shipped template and the index, as they are written now, and no other."""
    wanted = pages(library.load(name) for name in library.names())
    assert {path.name for path in PAGES.iterdir()} == wanted.keys(), REFRESH
    stale = [name for name, text in wanted.items() if (PAGES / name).read_text(encoding="utf-8") != text]
    assert stale == [], REFRESH


@pytest.mark.parametrize("name", library.names())
def test_a_page_has_every_row(name: str) -> None:
    """Each row of the file stands on the page once, with its unit, formula, source and note."""
    template = library.load(name)
    table = page(template).partition("## Its rows")[2].splitlines()
    rows, _ = read_rows(template.path)
    assert len([line for line in table if line.startswith("| `")]) == len(rows)
    for row in (row for row in rows if row.kind != "include"):
        (line,) = (line for line in table if line.startswith(f"| `{row.name}` |"))
        formula = row.column[0] if row.kind in BY_ID else row.formula
        for text in (row.unit, formula, row.source, row.note):
            assert text.replace("*", "\\*") in line or text in line, f"{row.name}: {text}"


def test_includes_are_linked_with_what_they_bind() -> None:
    """An include shows the template's page, the prefix and each bound input."""
    text = page(library.load("training"))
    (line,) = (line for line in text.splitlines() if "`fsdp_` before each name" in line)
    assert line.startswith("| [gather](gather.md) |")
    assert "`array_bytes = fsdp_weight_bytes`" in line
    assert "[transformer](transformer.md)" in text


def test_a_users_template_has_a_page(write, tmp_path: Path) -> None:
    """A template of one's own is written with the pages of what it includes, and its signs don't become Markdown."""
    mine = write("tokens 1 input 4", ". 1 include traffic(flops=flop_per_mac*tokens)", "flop_per_mac FLOP constant 2")
    mine.write_text(mine.read_text().replace('". 1', "").replace(",test,", ",a|b *c* <d>,"), encoding="utf-8")
    rows = mine.read_text().splitlines()
    mine.write_text("\n".join([rows[0], rows[1], rows[3], rows[2]]) + "\n", encoding="utf-8")
    command("templates", "page", mine, "--to", tmp_path / "pages")
    assert {path.name for path in (tmp_path / "pages").iterdir()} == {"README.md", "mine.md", "traffic.md"}
    assert "a\\|b \\*c\\* &lt;d>" in (tmp_path / "pages" / "mine.md").read_text()
    assert "[mine](mine.md)" in (tmp_path / "pages" / "README.md").read_text()


def test_one_page_on_the_terminal() -> None:
    """`planner templates page NAME` prints the page; without a folder several are refused in one line."""
    done = run("templates", "page", "roofline")
    assert done.output == page(library.load("roofline"))
    assert "name one template, or the folder with --to" in refused("templates", "page")
