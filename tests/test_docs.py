"""The documentation is true: commands print what the pages show, links lead somewhere, lists are whole."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from planner import __version__
from planner.catalog.databases import Databases
from planner.cli import COMMANDS, group
from planner.workbook.book import draft
from planner.workbook.cover import COLOURS
from planner.workbook.scenarios import plan_of
from tests import notebooks
from tests.pages import DOCS, ROOT, blocks, environment, follow
from tests.refresh_pages import anew
from tests.short_data import of_few_rows
from tests.workbooks import write_plan

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
RUN = [page for page in PAGES if blocks(page, "console") or blocks(page, "pycon")]
SPAN = re.compile(r"`planner ((?:[^`\n]|\n(?!\n))+)`")
SHELL = re.compile(r"^planner ([^#\n]*)", re.MULTILINE)
NAME = re.compile(r"[a-z][a-z-]+")
LINK = re.compile(r"\]\(([^)\s]+)\)")
IMPORT = re.compile(r"^ *from planner(?:\.(\w+)[\w.]*)? import (\([^)]*\)|.*)", re.MULTILINE)
WIDEST = 250_000
"""Bytes of a picture in the documentation."""


def text_of(page: str) -> str:
    """A page of the documentation, by its path from the root."""
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
@pytest.mark.slow
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    """Each console block of the page, run in order in one folder, prints what stands below it."""
    follow(page, tmp_path)


def test_the_analysts_page_says_what_changes_along_in_a_copied_row(tmp_path: Path) -> None:
    """For each column that is changed in a CSV of a dense model or of a chip, those that planner fills differently."""
    page = text_of("docs/analysts.md").partition("| if you change |")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", row.partition(";")[0]) for row in page.splitlines()[2:]]
    model = (
        "id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,max_context,train_tokens",
        "6,64,96,8,2,16,99,512,1e9",
    )
    chip = (
        "id,peak_bf16,hbm_bytes,hbm_bandwidth,scaleup_bandwidth,max_chips,node_bandwidth,kind,network",
        "1e15,8e10,3e12,4.5e11,8,4e11,gpu,switch",
    )
    along = {}
    for kind, (titles, cells) in {"models": model, "hardware": chip}.items():
        numbers = [cell for cell in cells.split(",") if cell[0].isdigit()]
        doubled = (f"{2 * float(number):g}" for number in numbers)
        more = [",".join([*numbers[:at], twice, *cells.split(",")[at + 1 :]]) for at, twice in enumerate(doubled)]
        path = tmp_path / f"{kind}.csv"
        path.write_text("\n".join([titles, *(f"r{at},{row}" for at, row in enumerate([cells, *more]))]))
        given = {"models": Databases(models_csv=path, only=True), "hardware": Databases(hardware_csv=path, only=True)}
        first, *others = getattr(given[kind], kind).rows.values()
        for changed, row in zip(titles.split(",")[1:], others, strict=False):
            if found := {name for name in row if row[name] != first[name]} - {"name", changed}:
                along[changed] = found
    assert along == {changed: set(names) for changed, *names in rows}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_text_have_the_options_that_they_are_given(page: Path) -> None:
    """`planner scenario add plan.xlsx -H tpu-v6e` within a sentence, or in a block without output: all of it exists."""
    text = page.read_text(encoding="utf-8")
    said = [*SPAN.findall(text), *(line for body in blocks(page, "sh") for line in SHELL.findall(body))]
    for line in said:
        command: click.Command = group
        words = line.split()
        while isinstance(command, click.Group) and words and NAME.fullmatch(words[0]):
            name = words.pop(0)
            found = command.get_command(click.Context(command), name)
            assert found is not None, f"planner {line}: no {name}"
            command = found
        known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {"--help", "-h"}
        given = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
        assert given <= known, f"planner {line}: {', '.join(sorted(given - known))}"


@pytest.mark.slow
def test_the_notebook_shows_what_its_cells_give(tmp_path: Path) -> None:
    """Each cell of the notebook, run in order in one folder, shows what stands below it."""
    notebook = notebooks.read()
    cells = notebooks.code_cells(notebook)
    assert [notebooks.kept(cell) for cell in cells] == list(notebooks.shown(notebook, tmp_path))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme(command: str) -> None:
    """The README's table of commands and the guide name every command."""
    (table,) = (body for body in blocks(ROOT / "README.md", "text") if "planner build" in body)
    assert re.search(rf"^planner (\S+ \| )*{command}\b", table, re.MULTILINE)
    assert re.search(rf"planner {command}\b", text_of("docs/guide.md"))


def test_readme_begins_with_the_two_blocks() -> None:
    """The README's first shell block builds, its second one tests."""
    shell = blocks(ROOT / "README.md", "sh")
    assert len(shell) == 2
    assert "planner build" in shell[0]
    assert "pytest" in shell[1]


@pytest.fixture(scope="module")
def sheets() -> list[str]:
    """The sheets of the default workbook, laid out with databases of a few rows."""
    with of_few_rows():
        return [page.name for page in draft(plan_of([], [], [], None, [])).pages.values()]


@pytest.mark.parametrize("page", ["README.md", "docs/analysts.md"])
def test_the_tables_of_sheets_are_whole(page: str, sheets: list[str]) -> None:
    """The page's table of sheets names every sheet of the default workbook, in their order, and no other."""
    rows = text_of(page).partition("| sheet |")[2].partition("\n\n")[0].splitlines()[2:]
    named = [name for row in rows for name in row.split("|")[1].strip().split(", ")]
    assert named == sheets


def test_the_analysts_page_is_for_people_without_a_terminal() -> None:
    """The analysts' page never speaks of Python, and has a line for each colour that the Cover explains."""
    page = text_of("docs/analysts.md")
    assert "python" not in page.lower()
    rows = page.partition("| colour |")[2].partition("\n\n")[0].splitlines()[2:]
    meanings = [row.split("|")[2] for row in rows]
    words = {
        "plan_input": "yours to change", "plan_formula": "a formula", "plan_cross": "a link to another sheet",
        "plan_measured": "a measured number", "plan_check": "a check", "plan_overridden": "an override",
        "plan_failed": "a check that fails", "plan_absent": "N/A",
    }  # fmt: skip
    assert [style for style, _ in COLOURS] == list(words)
    for style, said in COLOURS:
        assert words[style] in said
        assert any(words[style] in meaning for meaning in meanings), style


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link is a file of the repository, and its anchor a heading there; other sites are not asked."""
    for link in LINK.findall(re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)):
        if "://" in link or link.startswith("downloads/"):  # tests/test_site.py asks for what the site makes
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file) if file else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as a code host makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_pictures_are_shown_and_small() -> None:
    """Each picture stands on a page, and a page with pictures still loads quickly."""
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for picture in (DOCS / "images").iterdir():
        assert f"images/{picture.name})" in shown, picture.name
        assert picture.stat().st_size < WIDEST, picture.name


@functools.cache
def modules() -> dict[str, set[str]]:
    """Each package of planner, and those that its files import."""
    packages: dict[str, set[str]] = {}
    for base in (ROOT / "planner", ROOT / "measure"):
        for path in base.rglob("*.py"):  # doesn't follow planner/measure, a link
            package = "measure" if base.name == "measure" else path.relative_to(base).with_suffix("").parts[0]
            if not package.startswith("__"):
                packages.setdefault(package, set()).update(imported(path) - {package})
    return packages


def imported(path: Path) -> set[str]:
    """The packages that a file imports, at its top or later."""
    found: set[str] = set()
    for package, names in IMPORT.findall(path.read_text(encoding="utf-8")):
        found |= {package} if package else {name.split()[0] for name in names.strip("()").split(",") if name.strip()}
    return {name for name in found if not name.startswith("__")}


def test_the_architecture_names_every_package() -> None:
    """The architecture's table names every package and module of planner, and measure."""
    table = text_of("docs/architecture.md").partition("| package |")[2].partition("\n\n")[0]
    packages = "".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| `"))
    for package in modules():
        assert re.search(rf"[`/]{package}(\.py|/)?[`/]", packages), package


def test_imports_run_one_way() -> None:
    """A package imports only packages below its own line of the architecture's list, which has every package once."""
    (listed,) = (body for body in blocks(DOCS / "architecture.md", "text") if body.startswith("commands"))
    level = {package: at for at, line in enumerate(listed.splitlines()) for package in line.split()}
    packages = modules()
    assert sorted(level) == sorted(packages)
    wrong = [
        (package, other) for package, others in packages.items() for other in others if level[other] <= level[package]
    ]
    assert wrong == []


@pytest.mark.slow
def test_git_speaks_of_inputs(tmp_path: Path) -> None:
    """With the lines of docs/checking.md, git diff of a workbook whose input changed has that input's line."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    attributes = next(body for body in blocks(DOCS / "checking.md", "text") if "diff=planner" in body)
    (settings,) = (body for body in blocks(DOCS / "checking.md", "sh") if "textconv" in body)

    def run(*words: str) -> str:
        done = subprocess.run([str(git), *words], cwd=tmp_path, text=True, capture_output=True, check=True,
                              env=environment())  # fmt: skip
        return done.stdout

    run("init", "-q")
    for line in settings.splitlines():
        name, value = re.fullmatch(r"git config (\S+) \"?(.*?)\"?", line).groups()  # type: ignore[union-attr]
        run(
            "config", name, value.replace("planner show", f"'{sys.executable}' -m planner show --sheet Inputs --values")
        )
    (tmp_path / ".gitattributes").write_text(attributes, encoding="utf-8")
    write_plan(tmp_path / "plan.xlsx", ["llama3-8b"], ["tpu-v5e"], batch=1)
    run("add", ".")
    write_plan(tmp_path / "plan.xlsx", ["llama3-8b"], ["tpu-v5e"], batch=64)
    changed = [line for line in run("diff").splitlines() if re.match(r"[+-] ", line)]
    assert [line.split(": ")[1] for line in changed] == ["1", "64"]


def test_a_refreshed_page_shows_as_many_lines_where_the_last_is_gone() -> None:
    """The last run that a page showed isn't among those of today's output: another stands in its place."""
    shown = "Step  9 s\nRuns like yours\ntitan  8\nmosaic  7\n...\n"
    printed = "Step  8 s\nRuns like yours\ntitan  9\nkempner  7\nmegascale  7\n\nEnd\n"
    assert anew(printed, shown) == "Step  8 s\nRuns like yours\ntitan  9\nkempner  7\n...\n"


def test_ways_to_start() -> None:
    """`python -m planner --version` says the version, and the shells' completion scripts of the guide are made."""

    def run(words: list[str], **variables: str) -> str:
        done = subprocess.run([sys.executable, "-m", "planner", *words], text=True, capture_output=True, check=True,
                              env=environment() | variables)  # fmt: skip
        return done.stdout

    assert run(["--version"]) == f"planner, version {__version__}\n"
    guide = text_of("docs/guide.md")
    for shell in ("zsh", "fish"):
        assert f"_PLANNER_COMPLETE={shell}_source planner" in guide
        assert "planner" in run([], _PLANNER_COMPLETE=f"{shell}_source")
    words = run([], _PLANNER_COMPLETE="zsh_complete", COMP_WORDS="planner sc", COMP_CWORD="1")
    assert "scenario" in words
