"""Lists the templates, and loads one with all that it includes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from planner import data
from planner.errors import UserError, nearest
from planner.formulas.include import Scope, include
from planner.formulas.input_values import with_choices
from planner.formulas.template import COLUMNS, DISPLAY, Template, checked, read_rows

_LONGEST_HEADER = 1000  # characters; a template's has some sixty


@dataclass
class _Reading:
    """What has been read so far: which file a name means beside a folder, and the template of each file."""

    paths: dict[tuple[str, Path | None], Path] = field(default_factory=dict)
    templates: dict[Path, Template] = field(default_factory=dict)


_reading: ContextVar[_Reading | None] = ContextVar("_reading", default=None)


@contextmanager
def one_reading() -> Iterator[None]:
    """Within it each template is read and proved once, however many include it or ask for it.

    A command that asks for many templates is made quicker by it, and sees one state of each file throughout.
    """
    if _reading.get() is not None:
        yield
        return
    token = _reading.set(_Reading())
    try:
        yield
    finally:
        _reading.reset(token)


def names() -> list[str]:
    """The shipped templates: every CSV of the templates folder that has a template's columns."""
    return [path.stem for path in sorted(data.folder("templates").glob("*.csv")) if is_template(path)]


def shelf() -> list[Template]:
    """The shipped templates, each with all that it includes, in the order of their names."""
    with one_reading():
        return [load(name) for name in names()]


def is_template(path: Path) -> bool:
    """Whether a CSV's header is a template's; whatever else stands in the folder is none."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        header = tuple(stream.readline(_LONGEST_HEADER).strip().split(","))
        return header in (COLUMNS, (*COLUMNS, DISPLAY))


def load(name: str | Path) -> Template:
    """A shipped template by its name, or a template file by its path (it ends in .csv).

    Raises UserError: no such template (with the nearest), or any fault in it or in what it includes.
    """
    with one_reading():
        return _fetched(str(name), None, ())


def find(name: str, beside: Path | None) -> Path:
    """The file of a template: by its path, beside another template, or on the shelf. Raises UserError for none."""
    if name.endswith(".csv"):
        return Path(name)
    if beside is not None and (beside / f"{name}.csv").exists():
        return beside / f"{name}.csv"
    path = data.folder("templates") / f"{name}.csv"
    if not path.exists() or not is_template(path):
        beside_it = [each.stem for each in beside.glob("*.csv") if is_template(each)] if beside else []
        raise UserError(f"no template {name!r}", remedy=nearest(name, [*names(), *beside_it]))
    return path


def _fetched(name: str, beside: Path | None, including: tuple[Path, ...]) -> Template:
    """The template of a name, read unless this reading has it already."""
    reading = _reading.get()
    assert reading is not None, "templates are read within one_reading"
    path = reading.paths.get((name, beside))
    if path is None:
        path = reading.paths[name, beside] = find(name, beside)
    if path not in reading.templates:
        reading.templates[path] = _load(path, including)
    return reading.templates[path]


def _load(path: Path, including: tuple[Path, ...]) -> Template:
    resolved = Path(os.path.realpath(path))  # Path.resolve raises at a loop of links
    if resolved in including:
        chain = " -> ".join(step.stem for step in (*including, resolved))
        raise UserError(f"templates include each other in a circle: {chain}")
    rows, digest = read_rows(path)
    scope, digests = Scope(), {path.stem: digest}
    below = {row.name: row for row in rows if row.kind != "include"}

    def fetch(name: str) -> Template:
        return _fetched(name, path.parent, (*including, resolved))

    for row in rows:
        if row.kind == "include":
            digests.update(include(row, scope, fetch))
        else:
            scope.add(checked(row, scope.units, below))
    return Template(path.stem, path, with_choices(tuple(scope.rows.values())), digests)
