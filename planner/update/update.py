"""Updates an edited workbook to the present templates and databases and keeps the user's edits: a three-way merge.

*Theirs* is the workbook that planner would build now, with the same scenarios and cases (`fresh.py`).
*Ours* is the file. *Base* is what planner last wrote, as recorded on the Cover (`base.py`; without a record
`unremembered.py`). Rows, columns and scenarios of the three are matched by their keys, and each row and column of the
file and of the fresh workbook gets its position in the new one (`threeway.py`, `places.py`). Then planner's sheets are
written again (`merge.py`), each cell by what `judge.py` says: if ours equals theirs or base, the cell is theirs;
otherwise the user changed it, ours is kept and listed, with both if theirs differs from base too. References are moved
along, on the user's sheets and in all other parts too; those whose cells are gone become #REF! and are listed. New
sheets and charts are added (`new_sheets.py`), notes follow rows that moved to other sheets, and every formula is
computed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from planner import __version__, garbage_collection, progress
from planner.align.keys import CALCULATION, keyed
from planner.book.added_sheets import added
from planner.book.lost_precedents import narrower, own_readers, reordered, sought
from planner.book.problem_book import ProblemBook, open_book
from planner.book.rowkeys import COVER, LOG, VERDICTS
from planner.book.scenario_charts import draw_all, moved_in_front
from planner.book.tables import KINDS, TITLES
from planner.book.verdict_rows import are_closed, open_rows
from planner.book.workbook import Book
from planner.book.wrong_links import wrong_links
from planner.catalog.databases import Databases
from planner.compare.comparison_sheet import NO_NAMES, SHEET, UNDO_NAMES, found_in
from planner.dates import cell_number, made_now
from planner.errors import Place, UserError
from planner.formulas.sweeps import swept_templates
from planner.recalc import recalculate
from planner.update import new_sheets
from planner.update.base import lacks_lines
from planner.update.changed_inputs import INPUTS, read_by
from planner.update.fresh import Coming, Fresh, drafted, not_given, plan_of
from planner.update.merge import merged
from planner.update.outcome import Updated
from planner.update.places import is_filled
from planner.update.sweep_rows import retyped
from planner.update.threeway import ThreeWay, merge_of
from planner.workbook.layout import sheet_name
from planner.workbook.memory import Memory, remembered
from planner.workbook.saving import mend
from planner.workbook.workloads import WORKLOAD
from planner.xlsx.address import Spot, address, coordinates
from planner.xlsx.atomic import kept_beside, locked, write_atomically
from planner.xlsx.comments import Note, notes, put_note, take_note
from planner.xlsx.moved_parts import move
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import Content, with_values
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.styles import take_all
from planner.xlsx.workbook_part import (
    counts_from_1904,
    drop_calculation_chain,
    name_new_columns,
    refuse_strict,
    take_names,
)
from planner.xlsx.xmltree import every

_NO_MEMORY = "Cover doesn't say what planner wrote last, so its labels, formulas and notes came in place of all there"
_GIVE_AGAIN = (
    "which you didn't give now: your rows stay, but where a shipped one has the same id, that one counts; planner "
    "update with --models, --hardware-csv, --calibrations or --template reads them again"
)


def update_file(
    path: Path, templates: Sequence[str] = (), databases: Databases | None = None, output: Path | None = None
) -> tuple[Updated, Path | None]:
    """Update the workbook at `path` in place and keep a backup beside it. Returns the outcome and the backup's path.

    With `output` the result is written there instead, even if there was nothing to update; `path` stays as it was.
    Raises UserError for what can't be carried over safely, and as reading and writing do.
    """
    with locked(path):
        package = Package.read(path)
        updated = update(package, templates, databases)
        if not updated.is_needed:
            if output is not None:
                write_atomically(output, path.read_bytes())
            return updated, None
        if output is not None:
            package.write(output)
            return updated, None
        backup = kept_beside(path)
        package.write(path)
    return updated, backup


def update(
    package: Package,
    templates: Sequence[str] = (),
    databases: Databases | None = None,
    coming: Coming | None = None,
    read: Book | None = None,
) -> Updated:
    """Update a package in place, and add the sheets that a `coming` scenario needs. Returns the outcome.

    `read` is its workbook if that was read already. Raises UserError as `update_file` does, and then nothing is
    changed.
    """
    databases = databases or Databases()
    with garbage_collection.paused():
        progress.step("reading the workbook")
        book = read or open_book(package)
        memory = remembered(book.designed.get("Cover"))
        _refuse_unfit(book, memory)
        progress.step("laying it out anew")
        plan = plan_of(book, templates, databases, coming)
        absent = not_given(book, plan)
        made = drafted(replace(plan, also_made_from=absent, axes=retyped(memory, book.designed)), memory)
        there = notes(package)
        links = [str(each.spot) for each in wrong_links(book)]
        done = Updated(links=links, notes=len(there))
        is_whole = memory is not None and memory.is_same(made.memory) and not lacks_lines(memory, keyed(book))
        done.is_needed = bool(links or moved_in_front(book)) or are_closed(book) or not is_whole
        if done.is_needed:
            progress.step("bringing your work over")
            if memory is None:
                done.remarks.append(_NO_MEMORY)
            if absent:
                names = " and ".join(sorted(name for files in absent.values() for name in files))
                done.remarks.append(f"It was also made from {names}, {_GIVE_AGAIN}")
            _bring(merge_of(book, memory, Fresh.of(made), done, databases), there)
            mend(package)
            progress.step("computing every formula")
            done.recalculated = recalculate(package)
    progress.clear()
    return done


def _bring(merge: ThreeWay, there: Sequence[Note]) -> None:
    """Write the merge into the file's package, and move notes with their rows."""
    lost = _lost_notes(merge, there)
    ways = [(take_note(merge.package, way.note.sheet, way.note.ref), way.target) for way in lost if way.target]
    _join(merge)
    for note, target in ways:
        put_note(merge.package, note, *target)
    merge.done.remarks += (way.said for way in lost)


def _join(merge: ThreeWay) -> None:
    """Merge the parts of both packages into the file's."""
    draw_all(merge.package, merge.ours.book, max(merge.ours.book.dashboard.columns))
    package, ours = merge.package, {merge.ours.sheets[kind].sheet.name for kind in merge.kinds}
    styles, dxfs = take_all(package, merge.fresh.package)
    merges = {merge.ours.sheets[kind].sheet.name: merged(merge, kind, styles, dxfs) for kind in merge.kinds}
    book = merge.ours.book
    gone = {merge.ours.sheets[kind].sheet.name: merge.gone_names(kind) for kind in merge.kinds}
    readers = [*own_readers(book), *merge.kept]
    lost = [
        *_read_of_another_kind(merge),
        *narrower(book, readers, merge.ours.moves),
        *reordered(readers, merge.ours.moves),
        *sought(readers, gone),
    ]
    merge.done.remarks += [*map(str, move(package, merge.ours.moves, ours, merge.drawn_moves)), *lost]
    known = {each.sheet.name for each in merge.ours.sheets.values()}
    merge.done.moments = [each.sheet.name for each in added(merge.ours.book.sheets.values()) if each.is_as_written]
    others = known.union(merge.done.moments)
    merge.done.own_sheets = [name for name in merge.ours.book.sheets if name not in others]
    parts_of = package.sheets()
    for name, xml in merges.items():
        package.replace(parts_of[name], xml)
    _open_verdicts(merge)
    new_sheets.draw(merge)
    for kind in merge.new_kinds:
        new_sheets.add(merge, kind, styles, dxfs)
    take_names(package, merge.fresh.package, merge.fresh.moves, merge.done.new_sheets)
    name_new_columns(package)
    drop_calculation_chain(package)
    _log(merge)
    _date_cover(merge)


def _open_verdicts(merge: ThreeWay) -> None:
    """Open Cover's rows with the verdicts of scenarios, also of those that a user added by hand."""
    if COVER in merge.places:
        fresh, places = merge.fresh.sheets[COVER], merge.places[COVER]
        rows = [places.fresh_rows(row) for row, key in fresh.rows.items() if key.startswith(f"{VERDICTS} ")]
        open_rows(merge.package, merge.names[COVER], rows, len(merge.ours.book.inputs.columns))


def _read_of_another_kind(merge: ThreeWay) -> Iterator[str]:
    """Remarks on the user's formulas and defined names that read an input that became a constant or vice versa."""
    book, moves, inputs = merge.ours.book, merge.ours.moves, merge.ours.sheets[INPUTS]
    if not moves.of(inputs.sheet.name).redirections:
        return
    for name in book.own_sheets:
        for at, formula in book.sheets[name].patterns.items():
            yield from read_by(str(Spot(name, *at)), formula.at(*at), name, moves, inputs)
    for named in every(book.package.tree(book.package.workbook_part()), "definedName"):
        yield from read_by(f"the name {named.get('name')}", named.text or "", "", moves, inputs)


def _log(merge: ThreeWay) -> None:
    """Append a line to the Log."""
    log = merge.ours.sheets.get(LOG)
    if log is None:
        return
    part = merge.package.sheets()[log.sheet.name]
    sheet = SheetXml(merge.package.parts[part])
    filled = [(at, cell) for at, cell in log.sheet.cells.items() if is_filled(log, *at)]
    last = max((row for (row, column), cell in filled if column == 1 and not cell.kind), default=5)
    reached = (area.bottom for area in sheet.arrays.values() if area.left <= 3)  # by arrays of the user's
    below = max([row for (row, column), _ in filled if column <= 3] + [*reached], default=5) + 1
    today = cell_number(made_now().date(), since_1904=counts_from_1904(merge.package))
    line: tuple[Content, ...] = (__version__, today, "Updated by planner")
    contents = {address(below, column): value for column, value in enumerate(line, 1)}
    like = {ref: f"{ref[0]}{last}" for ref in contents}
    merge.package.replace(part, with_values(sheet, contents, like))


def _date_cover(merge: ThreeWay) -> None:
    """Have the date on Cover count from 1904 where the workbook does; the fresh one counts from 1900."""
    cover, today = merge.ours.sheets.get(COVER), made_now().date()
    if cover is None or not counts_from_1904(merge.package):
        return
    part = merge.package.sheets()[cover.sheet.name]
    sheet, date = SheetXml(merge.package.parts[part]), cell_number(today, since_1904=True)
    dated = {ref: date for ref, cell in sheet.cells.items() if cell.value == cell_number(today) and not cell.kind}
    merge.package.replace(part, with_values(sheet, dated))


def _refuse_unfit(book: Book, memory: Memory | None) -> None:
    """Raise UserError for a workbook that can't be updated: Strict Open XML, worked problems, a missing sheet."""
    place = Place(book.package.name)
    refuse_strict(book.package)
    if isinstance(book, ProblemBook):
        remedy = "planner build --template book -o book.xlsx builds it again"
        raise UserError("the workbook of worked problems has no scenarios", place=place, remedy=remedy)
    tables = {"Inputs": book.inputs, "Checks": book.checks, "Dashboard": book.dashboard}
    missing = {name: name for name, table in tables.items() if not table.lines}
    # Scenarios are meant for one workload or another, each of a sheet; other sheets are read by Checks and Dashboard.
    needed = {*swept_templates()} if WORKLOAD in book.inputs.by_name else set[str]()
    needed |= {kind.removeprefix(CALCULATION) for kind in (memory.sheets if memory else ())}
    missing |= {f"of the template {name}": sheet_name(name) for name in book.without_sheet if name in needed}
    if untitled := next((sheet for sheet in missing.values() if sheet in book.sheets), ""):
        kind = untitled.lower() if untitled in tables else "calculation"
        titles = ", ".join([*TITLES, *(title for title, titled in KINDS.items() if titled == kind)])
        what = f"the sheet {untitled} has no row of titles any more"
        raise UserError(what, place=place, remedy=f"undo what deleted them, or type them again: {titles}")
    comparison = book.designed.get(SHEET)
    if comparison is not None and found_in(book.package, book.parsed) is None:
        raise UserError(NO_NAMES.format(comparison.name), place=place, remedy=UNDO_NAMES)
    if missing:
        remedy = "planner export-inputs keeps what is typed; build anew with it"
        raise UserError(f"the sheet {next(iter(missing))} is missing", place=place, remedy=remedy)
    if not book.inputs.columns:
        raise UserError("there is no scenario", place=place, remedy="build a new workbook")


@dataclass(frozen=True)
class Way:
    """A note whose row left its sheet: the cell to which it moves on another sheet, or None, and the remark on it."""

    note: Note
    target: tuple[str, str] | None
    said: str


def _lost_notes(merge: ThreeWay, notes: Sequence[Note]) -> list[Way]:
    """The notes whose row left their sheet, and where each goes.

    A note follows its row to another sheet if there is a free cell for it; else it stays on its sheet, in its cell or
    the next one without a note.
    """
    kinds = {merge.ours.sheets[kind].sheet.name: kind for kind in merge.kinds}
    lost = [
        note
        for note in notes
        if note.sheet in kinds and coordinates(note.ref)[0] in merge.places[kinds[note.sheet]].gone_rows
    ]
    taken = {_after(merge, note) for note in notes if note not in lost}
    found: list[Way] = []
    for note in lost:
        kind = kinds[note.sheet]
        named = merge.ours.sheets[kind].rows.get(coordinates(note.ref)[0], "")
        who, target = f"the note on {note.sheet}!{note.ref} ({named})", _target(merge, kind, note, named)
        if target is not None and target not in taken:
            taken.add(target)
            found.append(Way(note, target, f"{who} is at {'!'.join(target)} now"))
            continue
        home = merge.homes(kind).get(named)
        where = f"is on {merge.names[home]}" if home else "is no more"
        there = _after(merge, note)
        free = _free(there, taken)
        taken.add(free)
        found.append(Way(note, None if free == there else free, f"{who} is at {'!'.join(free)}: its row {where}"))
    return found


def _free(at: tuple[str, str], taken: Container[tuple[str, str]]) -> tuple[str, str]:
    """The first cell from `at` to the right that has no note."""
    (row, column), name = coordinates(at[1]), at[0]
    return next(spot for step in count() if (spot := (name, address(row, column + step))) not in taken)


def _after(merge: ThreeWay, note: Note) -> tuple[str, str]:
    """The final sheet and cell of a note that stays on its sheet."""
    moves = merge.ours.moves.of(note.sheet)
    return moves.name, address(*moves.cell(*coordinates(note.ref)))


def _target(merge: ThreeWay, kind: str, note: Note, named: str) -> tuple[str, str] | None:
    """The sheet and cell of the note's row and column on the sheet that has them now; None if there is none."""
    home = merge.homes(kind).get(named)
    column = merge.ours.sheets[kind].columns.get(coordinates(note.ref)[1], "")
    if home is None or column not in merge.fresh.sheets[home].column_of:
        return None
    row = merge.places[home].fresh_rows(merge.fresh.sheets[home].row_of[named])
    return merge.names[home], address(row, merge.column(home, column))
