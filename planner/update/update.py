"""An edited workbook brought to today's templates and databases, with all that a person did in it.

The workbook is built anew with the same scenarios and cases; its own cells take the place of the old ones, sheet by
sheet, and what a person typed, added and formatted stays with the rows and columns that it belongs to. A person's
sheets and every part that planner knows nothing of stay as they are, but for references to cells that have moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from planner import __version__, progress
from planner.align.keys import LOG
from planner.book.reading import read_plan
from planner.book.workbook import Book
from planner.errors import Place, UserError
from planner.recalc import recalculate
from planner.update import newcomers, notes
from planner.update.merging import merged
from planner.update.outcome import Updated
from planner.update.pairing import Pair, paired
from planner.update.rebuilt import plan_of
from planner.workbook.book import build, build_date
from planner.xlsx.address import address
from planner.xlsx.atomic import write_atomically
from planner.xlsx.comments import put_note, take_note
from planner.xlsx.defined_names import take_names
from planner.xlsx.locked import locked
from planner.xlsx.moved_parts import move
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import Content, with_values
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.styles import Stylesheet, taken_in
from planner.xlsx.workbook_part import drop_calculation_chain

_FIRST_DAY = date(1899, 12, 30)  # of a workbook's dates


def update_file(
    path: Path, templates: Sequence[str] = (), models_csv: Path | None = None, hardware_csv: Path | None = None,
    output: Path | None = None,
) -> tuple[Updated, Path | None]:  # fmt: skip
    """Bring the workbook at `path` up to date, in place, and keep the old one beside it; returns where that is.

    With `output` the new one is written there instead, a copy where nothing is to be done; in place, nothing is.
    Raises UserError for what can't be carried over safely, and as reading and writing do.
    """
    with locked(path):
        package = Package.read(path)
        old = path.read_bytes()
        updated = update(package, templates, models_csv, hardware_csv)
        if not updated.is_needed:
            if output is not None:
                write_atomically(output, old)
            return updated, None
        if output is not None:
            package.write(output)
            return updated, None
        backup = _backup(path)
        write_atomically(backup, old)
        package.write(path)
    return updated, backup


def _backup(path: Path) -> Path:
    """A name beside the file that is free: `plan.bak.xlsx`, `plan.bak2.xlsx`."""
    number = 1
    while True:
        name = path.with_name(f"{path.stem}.bak{number if number > 1 else ''}{path.suffix}")
        if not name.exists():
            return name
        number += 1


def update(
    package: Package, templates: Sequence[str] = (), models_csv: Path | None = None, hardware_csv: Path | None = None
) -> Updated:  # fmt: skip
    """Bring a package up to date, in place. Raises UserError as `update_file` does, and then nothing is changed."""
    progress.step("reading the workbook")
    reading = read_plan(package)
    if reading.stale:  # rows of some sheets are told by texts that formulas fetch
        recalculate(package)
        reading = read_plan(package)
    _refuse(reading.book)
    plan = plan_of(reading, templates, models_csv, hardware_csv)
    progress.step("building it anew")
    fresh = Package.from_bytes(build(plan), package.name)
    progress.step("bringing your work over")
    done = Updated(notes=len(reading.notes))
    pair = paired(reading.book, Book(fresh), done)
    lost = notes.ways(pair, reading.notes)
    on_the_way = [(take_note(package, way.note.sheet, way.note.ref), way.target) for way in lost if way.target]
    _join(pair)
    for note, target in on_the_way:
        put_note(package, note, *target)
    done.remarks += (way.said for way in lost)
    progress.step("computing every formula")
    done.recalculated = recalculate(package)
    progress.clear()
    return done


def _join(pair: Pair) -> None:
    """Put the parts of both workbooks together in the edited one."""
    package, ours = pair.package, {pair.old.sheets[kind].sheet.name for kind in pair.kinds}
    styles, dxfs = _styles(pair)
    merges = {pair.old.sheets[kind].sheet.name: merged(pair, kind, styles, dxfs) for kind in pair.kinds}
    remarks = map(str, move(package, pair.old.moves, ours))
    pair.done.remarks += remarks
    known = {each.sheet.name for each in pair.old.sheets.values()}
    pair.done.own_sheets = [name for name in pair.old.book.sheets if name not in known]
    parts_of = package.sheets()
    for name, xml in merges.items():
        package.replace(parts_of[name], xml)
    newcomers.draw(pair)
    for kind in pair.new_kinds:
        newcomers.add(pair, kind, styles, dxfs)
    take_names(package, pair.fresh_package, pair.fresh.moves, pair.done.new_sheets)
    drop_calculation_chain(package)
    if pair.done.is_needed:
        _log(pair)


def _styles(pair: Pair) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """Take the fresh workbook's formats in; returns the numbers that they have then."""
    own, other = Stylesheet.of(pair.package), Stylesheet.of(pair.fresh_package)
    assert own is not None, "its looks were read"
    assert other is not None, "its looks were read"
    taken = taken_in(own[1], other[1], range(len(other[1].looks)), range(len(other[1].all("dxfs"))))
    pair.package.put_tree(own[0], own[1].root)
    return taken.formats, taken.differential


def _log(pair: Pair) -> None:
    """A line below the others of the Log."""
    log = pair.old.sheets.get(LOG)
    if log is None:
        return
    part = pair.package.sheets()[log.sheet.name]
    sheet = SheetXml(pair.package.parts[part])
    last = max((row for row, _ in log.sheet.cells if log.sheet.value(row, 1) not in (None, "")), default=5)
    today = (build_date().date() - _FIRST_DAY).days
    contents: dict[str, Content] = {address(last + 1, 1): __version__, address(last + 1, 2): float(today),
                address(last + 1, 3): "Updated by planner"}  # fmt: skip
    free = {ref: value for ref, value in contents.items() if ref not in sheet.cells or sheet.cells[ref].value is None}
    like = {ref: f"{ref[0]}{last}" for ref in free}
    pair.package.replace(part, with_values(sheet, free, like))


def _refuse(book: Book) -> None:
    """Raise UserError for a workbook whose sheets can't be told."""
    for table, name in ((book.inputs, "Inputs"), (book.checks, "Checks"), (book.dashboard, "Dashboard")):
        if not table.lines:
            raise UserError(f"the sheet {name} is missing", place=Place(book.package.name),
                            remedy="planner export-inputs keeps what is typed; build anew with it")  # fmt: skip
    if not book.inputs.columns:
        raise UserError("there is no scenario", place=Place(book.package.name), remedy="build a new workbook")
