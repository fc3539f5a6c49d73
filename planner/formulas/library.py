"""Lists the templates, and loads one with all that it includes."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from planner import data
from planner.errors import Place, UserError, nearest
from planner.formulas.include import Scope, include
from planner.formulas.input_values import with_choices
from planner.formulas.synonyms import TEMPLATES
from planner.formulas.template import COLUMNS, DISPLAY, Template, called, checked, read_rows

_LONGEST_HEADER = 1000  # characters; a template's header has about sixty
SOME = "there are inference, training, transformer and others; planner templates list shows all"
PLANS = ("training", "inference", "fleet", "goodput")  # whose rows Dashboard, Sweep and reports read by name


@cache
def names() -> tuple[str, ...]:
    """The shipped templates: every CSV of the templates folder that has a template's columns."""
    return tuple(path.stem for path in sorted(data.folder("templates").glob("*.csv")) if is_template(path))


def shelf() -> list[Template]:
    """The shipped templates with their includes laid out, by name."""
    return [load(name) for name in names()]


def is_template(path: Path) -> bool:
    """Whether a CSV has the header of a template."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        header = tuple(stream.readline(_LONGEST_HEADER).strip().split(","))
        return header in (COLUMNS, (*COLUMNS, DISPLAY))


def load(name: str | Path) -> Template:
    """A shipped template by name, or a template file by path (ending in .csv), with its includes laid out.

    Shipped ones are loaded once a process, the user's files each time. Raises UserError for an unknown template (with
    the nearest), for any fault in it or in an included one, and for a file that has the name of a shipped plan without
    its rows.
    """
    template = _fetched(find(str(name), None), (), {})
    if template.name in PLANS and template.path.parent != data.folder("templates"):
        lacking = [each for each in load(template.name).by_name if each not in template.by_name]
        if lacking:
            what = f"it has the name of a shipped plan, and lacks {len(lacking):,} of its rows, such as {lacking[0]}"
            raise UserError(what, place=Place(template.path), remedy="call the file otherwise, or keep all rows")
    return template


def find(name: str, folder: Path | None) -> Path:
    """The file of a template: by its path, in `folder`, or shipped. Raises UserError if there is none."""
    if name.endswith(".csv"):
        return Path(name)
    if folder is not None and (folder / f"{name}.csv").exists():
        return folder / f"{name}.csv"
    if name not in names():
        in_folder = [each.stem for each in folder.glob("*.csv") if is_template(each)] if folder else []
        called = TEMPLATES.get(name.lower())
        remedy = f"did you mean {called}?" if called else nearest(name, [*names(), *in_folder], SOME)
        raise UserError(f"no template {name!r}", remedy=remedy)
    return data.folder("templates") / f"{name}.csv"


_shipped: dict[Path, Template] = {}


def _fetched(path: Path, including: tuple[Path, ...], own: dict[Path, Template]) -> Template:
    """The template of a file; `own` caches the user's templates read for the same load."""
    read = _shipped if path.parent == data.folder("templates") else own
    if path not in read:
        read[path] = _read(path, including, own)
    return read[path]


def _read(path: Path, including: tuple[Path, ...], own: dict[Path, Template]) -> Template:
    resolved = Path(os.path.realpath(path))  # Path.resolve raises for a loop of links
    if resolved in including:
        chain = " -> ".join(step.stem for step in (*including, resolved))
        raise UserError(f"templates include each other in a circle: {chain}")
    rows, digest = read_rows(path)
    scope, digests = Scope(), {called(path): digest}
    below = {row.name: row for row in rows if row.kind != "include"}

    def fetch(name: str) -> Template:
        return _fetched(find(name, path.parent), (*including, resolved), own)

    for row in rows:
        if row.kind == "include":
            digests.update(include(row, scope, fetch))
        else:
            scope.add(checked(row, scope.units, below))
    return Template(called(path), path, with_choices(tuple(scope.rows.values())), digests, shelf)
