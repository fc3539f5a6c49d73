"""Writes the best plans as scenarios into a new or edited workbook, with the sheet Search.

The sheet has the values found, beside formulas for the present ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose
from pathlib import Path

from planner import csvfile, garbage_collection, progress
from planner.book.scenario_columns import identifier
from planner.book.tables import LineTable
from planner.book.workbook import Book
from planner.catalog import Value
from planner.catalog.databases import Databases
from planner.errors import UserError
from planner.formulas.sweeps import swept_templates
from planner.formulas.template import LOOKUPS, Row
from planner.regularfile import refuse_other
from planner.scenario.add import NewScenario, add
from planner.scenario.new_column import identified
from planner.scenario.which import CHIP, ID, MODEL, free_identifier
from planner.search.found import Found, FoundPlan
from planner.search.optimum import APART, KINDS
from planner.search.plans_sheet import head
from planner.search.request import Request
from planner.search.search_sheet import NAME, PURPOSE, Now, chosen_plans, fill
from planner.search.sweep import worded
from planner.terminal_table import counted
from planner.workbook.added_sheet import put
from planner.workbook.book import build
from planner.workbook.display_units import constant
from planner.workbook.layout import SPARE_SCENARIOS
from planner.workbook.scenarios import plan_of
from planner.workbook.workloads import WORKLOAD
from planner.xlsx.address import column_letters, quoted
from planner.xlsx.atomic import kept_beside, write_atomically
from planner.xlsx.cellvalue import exact_text
from planner.xlsx.opc import Package, in_place

MISSING = "N/A"
LONGEST = 76  # characters of a name, leaving room for a number after it


def write(path: Path, asked: Request, found: Found, databases: Databases) -> str:
    """Add the plans and the sheet Search to the workbook at `path`, which is built if it doesn't exist.

    Returns what was done, in words. An edited workbook is replaced as a whole or not at all. Raises UserError as
    building and adding scenarios do.
    """
    refuse_other(path, ".xlsx", "a workbook")
    done = _added(path, asked, found) if path.exists() else _built(path, asked, found, databases)
    return f"{path}: {done}"


def check_takes(path: Path, asked: Request) -> None:
    """Raise UserError for a file that is no workbook of planner's, and for one without a searched model or chip."""
    if not path.exists():
        return
    book = Book(Package.read(path))
    for kind, ids in (
        ("models", {each.model for each in asked.subjects}),
        ("hardware", {each.hardware for each in asked.subjects}),
    ):
        for one in sorted(one for one in ids if one):
            try:
                identified(book, kind, one)
            except UserError as error:
                remedy = "type its row below the last one there, or write another workbook"
                raise UserError(error.what, place=error.place, remedy=remedy) from None


@garbage_collection.paused()
def _built(path: Path, asked: Request, found: Found, databases: Databases) -> str:
    """Build a new workbook of the plans, through the CSV that `planner build --scenarios` reads."""
    workload = {WORKLOAD: asked.template.name} if asked.template.name in swept_templates() else {}
    rows = []
    for name, plan in zip(_names(found.plans), found.plans, strict=True):
        subject = {"model": plan.subject.model or "", "hardware": plan.subject.hardware or ""}
        rows.append({"scenario": identifier(name), "name": name, **subject, **workload, **_typed(asked, plan)})
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = csvfile.written([columns, *([row.get(name, "") for name in columns] for row in rows)])
    listed = csvfile.sheet_of(text.encode(), Path("plans.csv"))
    templates = [] if workload else [str(asked.template.path)]
    package = Package.from_bytes(build(plan_of([], [], templates, listed, [], databases)), str(path))
    name = put_search(package, asked, found, [row["scenario"] for row in rows])
    write_atomically(path, package.to_bytes())
    return f"wrote {counted(len(rows), 'scenario')} and the sheet {name}"


def _added(path: Path, asked: Request, found: Found) -> str:
    """Add the plans as scenarios of a workbook, except those that it has already with exactly these inputs.

    Every input of the template is set, whatever other scenarios have.
    """
    ids, there, updated = list[str](), list[str](), False
    with in_place(path) as package:
        for name, plan in zip(_names(found.plans), found.plans, strict=True):
            inputs = {row.name: _text(row.default) for row in asked.template.of_kind("input")}
            settings = {**inputs, **_typed(asked, plan)}
            if same := _same(Book(package), asked, plan, settings):
                ids.append(same)
                there.append(same)
                continue
            workload = asked.template.name if asked.template.name in swept_templates() else None
            addition = NewScenario(
                _free(Book(package), name), plan.subject.model, plan.subject.hardware, settings, workload=workload
            )
            added = add(package, addition)
            ids.append(added.id)
            updated = updated or added.updated is not None
        sheet = put_search(package, asked, found, ids)
        backup = kept_beside(path) if updated else None
    new = [each for each in ids if each not in there]
    notes = [
        f"added {', '.join([*new, f'the sheet {sheet}'])}",
        *([f"{', '.join(there)} there already"] if there else []),
    ]
    return "; ".join([*notes, *([f"the file as it was: {backup}"] if backup else [])])


def _same(book: Book, asked: Request, plan: FoundPlan, settings: Mapping[str, str]) -> str:
    """The id of the scenario with a plan's model, chip and inputs, and no other overrides; blank if there is none."""
    wanted = {MODEL: plan.subject.model or "", CHIP: plan.subject.hardware or "", **settings}
    read = [row.name for kind in LOOKUPS for row in asked.template.of_kind(kind)]
    rows = {name: line.row for name, line in book.inputs.by_name.items() if name in {*read, *wanted}}
    for column in book.inputs.columns:
        cells = ((book.inputs.sheet.value(row, column), wanted.get(name, "")) for name, row in rows.items())
        if all(_alike(value, text) for value, text in cells):
            return book.said(ID, column)
    return ""


def _alike(value: object, text: str) -> bool:
    """Whether a cell's value equals a setting; a blank cell equals a blank one."""
    try:
        return value == float(text)
    except ValueError:
        return ("" if value is None else value) == text


def _typed(asked: Request, plan: FoundPlan) -> dict[str, str]:
    """The typed values of a plan: the command's, the varied ones, and those that follow."""
    known = {**asked.given, **plan.moved, **plan.results.given}
    return {name: _text(value) for name, value in known.items()}


def _text(value: Value) -> str:
    return MISSING if value is None else exact_text(value)


def _free(book: Book, name: str) -> str:
    """The name, with a number appended if a scenario of the workbook has it."""
    return f"{name} {free_identifier(book, name).removeprefix(identifier(name)).strip('_')}".strip()


def _names(plans: Sequence[FoundPlan]) -> list[str]:
    """The name of each plan: model, chips, ways, and chips that prefill alone, with a number after repeated ones."""
    found: list[str] = []
    for plan in plans:
        ways = [
            f"{name.partition('_')[2] if name in KINDS else 'prefill'} {value:g}"
            for name in (*KINDS, APART)
            if isinstance(value := plan.moved.get(name), float) and value > 1
        ]
        chips = plan.results.value("n_chips") if "n_chips" in plan.results else None
        on = f"{chips:g} {plan.subject.hardware}" if isinstance(chips, float) and plan.subject.hardware else ""
        parts = filter(None, (f"{plan.subject.model or ''} {on}".strip(), *ways))
        name = ", ".join(parts)[:LONGEST] or "plan"
        alike = sum(other == name or other.startswith(f"{name} #") for other in found)
        found.append(f"{name} #{alike + 1}" if alike else name)
    return found


NEAR = 1e-9  # relative tolerance between a scenario's cells and the search's results


def put_search(package: Package, asked: Request, found: Found, ids: Sequence[str]) -> str:
    """Add the sheet Search to a package, in place; `ids` are the plans' scenarios. Returns the sheet's name."""
    plans, book = chosen_plans(asked, found), Book(package)
    keys = [(id(each.subject), each.moved) for each in plans]
    places = [keys.index((id(plan.subject), plan.moved)) for plan in found.plans]
    became, now = dict(zip(places, ids, strict=True)), _now(book, asked, [each.row for each in found.objectives])
    _warn_of_differences(book, asked, found, ids)
    return put(package, NAME, PURPOSE, lambda page: fill(page, asked, found, plans, became, now))


def _warn_of_differences(book: Book, asked: Request, found: Found, ids: Sequence[str]) -> None:
    """Warn of scenarios whose cells differ from the search's numbers, since the workbook has databases of its own."""
    table = _table(book, asked)
    if table is None or ID not in table.by_name:
        return
    columns = {table.sheet.text(table.by_name[ID].row, at): at for at in table.columns}
    for each in found.objectives:
        if (line := table.by_name.get(each.row.name)) is None:
            continue
        for plan, id in zip(found.plans, ids, strict=True):
            value = table.sheet.value(line.row, columns[id]) if id in columns else None
            searched = plan.results.value(each.row.name)
            if not isinstance(value, (int, float)) or not isinstance(searched, float):
                continue
            if not isclose(value, searched, rel_tol=NEAR):
                is_now, was = worded(each.row, float(value)), worded(each.row, searched)
                why = "a model, a chip or a formula in it is another than the search has read"
                progress.warn(f"{each.row.name} of {id} is {is_now} in {book.package.name} and not {was}: {why}")
                return


def _table(book: Book, asked: Request) -> LineTable | None:
    return next((each for each in book.calculations if book.templates[each.sheet.name] == asked.template.name), None)


def _now(book: Book, asked: Request, rows: Sequence[Row]) -> Now | None:
    """A function for the formula of a row in a scenario, by id; None if the workbook lacks what these rows need."""
    table = _table(book, asked)
    shown = {row.name: constant(row.display, row.unit).name for row in rows if head(row).factor != 1}
    if table is None or not {ID, *(row.name for row in rows)} <= table.by_name.keys():
        return None
    if not set(shown.values()) <= book.inputs.by_name.keys():
        return None
    first, last = (column_letters(each) for each in (table.columns[0] - 1, table.columns[-1] + SPARE_SCENARIOS))
    constants = f"{quoted(book.inputs.sheet.name)}!${column_letters(book.inputs.head.fourth)}"

    def across(name: str) -> str:
        row = table.by_name[name].row
        return f"{quoted(table.sheet.name)}!${first}${row}:${last}${row}"

    def now(row: Row, at: int) -> str:
        over = f"/{constants}${book.inputs.by_name[shown[row.name]].row}" if row.name in shown else ""
        return f'IFERROR(INDEX({across(row.name)},MATCH($A{at},{across(ID)},0)){over},"")'

    return now
