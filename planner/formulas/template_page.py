"""A template as a Markdown page: what it includes, and every row with its unit, formula, source and note."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from planner.formulas import library
from planner.formulas.explanation import in_names
from planner.formulas.include import arguments
from planner.formulas.synonyms import about
from planner.formulas.template import Row, Template, read_rows

INDEX = "README.md"
MADE = "<!-- Written by `planner templates page`: change the CSV, then run it again. -->"
KINDS = {
    "input": "an input, with its default",
    "constant": "a number that is fixed",
    "model": "looked up in the models",
    "hardware": "looked up in the accelerators",
    "dtype": "bytes of an element",
    "calibration": "looked up in the calibrations",
    "stack": "looked up in the stacks",
    "calc": "calculated",
    "output": "calculated, and a result of the template",
    "check": "1 where it holds",
    "include": "another template's rows",
}


def pages(templates: Iterable[Template]) -> dict[str, str]:
    """File name -> text of a page for each template and each included one, and of the index of all."""
    found: dict[str, Template] = {}
    waiting = list(templates)
    while waiting:
        template = waiting.pop(0)
        if template.name not in found:
            found[template.name] = template
            waiting += [included(template, row) for row in _own(template) if row.kind == "include"]
    ordered = [found[name] for name in sorted(found)]
    return {INDEX: index(ordered)} | {f"{template.name}.md": page(template) for template in ordered}


def included(template: Template, row: Row) -> Template:
    """The template that an include row lays out."""
    return library.load(library.find(_named(row)[0], folder=template.path.parent))


def page(template: Template) -> str:
    """The page of one template, with its rows in evaluation order."""
    rows = _own(template)
    outputs = [f"`{row.name}`" for row in rows if row.kind == "output"]
    brought = len(template.rows) - sum(row.kind != "include" for row in rows)
    lines = [f"# {template.name}", "", MADE, ""]
    lines += [f"{_text(description)}.", ""] if (description := about(template.name)) else []
    lines += [f"Results: {', '.join(outputs)}." if outputs else "It has no result of its own.", ""]
    includes = [row for row in rows if row.kind == "include"]
    if includes:
        said = f"{brought} rows come from other templates, each described on its page."
        lines += ["## What it includes", "", said, ""]
        lines += _table(("template", "named here", "bound inputs", "source"), map(_include, includes))
        lines.append("")
    kinds = {row.kind for row in rows} - {"include"}
    lines += ["## Its rows", ""]
    lines += _table(("name", "quantity", "unit", "kind", "formula", "source", "note"), map(_row, rows))
    lines += ["", *(f"- **{kind}**: {text}" for kind, text in KINDS.items() if kind in kinds), ""]
    return "\n".join(lines)


def index(templates: Sequence[Template]) -> str:
    """The page that lists all templates."""
    owns = {template.name: _own(template) for template in templates}
    includes = {name: sorted({_named(row)[0] for row in rows if row.kind == "include"}) for name, rows in owns.items()}
    users = {name: [user for user, used in includes.items() if name in used] for name in owns}

    def line(template: Template) -> tuple[str, ...]:
        name = template.name
        description = about(name) or ", ".join(row.label for row in owns[name] if row.kind == "output")
        return (
            _link(name),
            _text(description),
            ", ".join(map(_link, includes[name])),
            ", ".join(map(_link, users[name])),
        )

    said = "A page for each template: every row with its unit (and the unit that Dashboard shows), formula and source."
    lines = ["# Templates", "", MADE, "", said, ""]
    lines += _table(("template", "what it calculates", "includes", "included by"), map(line, templates))
    return "\n".join([*lines, ""])


def _own(template: Template) -> list[Row]:
    """The rows of the template's own file, with includes not laid out."""
    return read_rows(template.path)[0]


def _named(row: Row) -> tuple[str, dict[str, str]]:
    """The template that an include row names, and its bindings."""
    name, _, rest = row.formula.strip().partition("(")
    pairs = (piece.partition("=") for piece in arguments(rest.removesuffix(")")) if piece.strip())
    return name.strip(), {bound.strip(): text.strip() for bound, _, text in pairs}


def _include(row: Row) -> tuple[str, ...]:
    name, bound = _named(row)
    names = "as there" if row.name == "." else f"`{row.name}_` before each name"
    inputs = ", ".join(f"`{given} = {text}`" for given, text in bound.items())
    return _link(name), names, inputs, "; ".join(_text(text) for text in (row.source, row.note) if text)


def _row(row: Row) -> tuple[str, ...]:
    if row.kind == "include":
        prefix = "" if row.name == "." else f"{row.name}_"
        return f"`{prefix}…`", _text(row.label), "", row.kind, _link(_named(row)[0]), _text(row.source), _text(row.note)
    formula = in_names(row) or row.formula
    shown = f"`{formula}`" if formula else ""
    unit = f"{row.unit} ({row.display})" if row.display else row.unit
    return f"`{row.name}`", _text(row.label), unit, row.kind, shown, _text(row.source), _text(row.note)


def _link(name: str) -> str:
    return f"[{name}]({name}.md)"


def _text(text: str) -> str:
    """A text escaped for Markdown."""
    signs: Mapping[str, str] = {"\\": "\\\\", "*": "\\*", "<": "&lt;", "`": "\\`"}
    return "".join(signs.get(sign, sign) for sign in text)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    body = [titles, ["---"] * len(titles), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in body]
