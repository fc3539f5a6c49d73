"""An edited workbook brought to today's templates and databases, with all that a person did in it.

The workbook is built anew with the same scenarios and cases; its own cells take the place of the old ones, sheet by
sheet, and what a person typed, added and formatted stays with the rows and columns that it belongs to. A person's
sheets and every part that planner knows nothing of stay as they are, but for references to cells that have moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from planner import __version__, progress
from planner.editing import frames, parts
from planner.editing.history import digests
from planner.editing.keys import LOG, Keyed, keyed
from planner.editing.outcome import Updated
from planner.editing.rebuilt import plan_of
from planner.editing.rows import restyled, with_drawing, with_formulas
from planner.editing.signatures import Signer
from planner.editing.tracks import Tracks, tracks
from planner.editing.transplant import Merge, Side, is_own
from planner.errors import Place, UserError
from planner.lint.book import Book, Sheet
from planner.lint.pattern import Position
from planner.reading import read_plan
from planner.recalc import recalculate
from planner.workbook.book import build, build_date
from planner.xlsx.address import address
from planner.xlsx.atomic import write_atomically
from planner.xlsx.locked import locked
from planner.xlsx.moves import Moves, SheetMoves, Track
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import Content, SheetXml
from planner.xlsx.stylesheet import of_package, taken_in

CALCULATION = "calculation "
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
    """Bring a package up to date, in place."""
    return _Update(package, templates, models_csv, hardware_csv).run()


class _Update:
    def __init__(
        self, package: Package, templates: Sequence[str], models_csv: Path | None, hardware_csv: Path | None
    ) -> None:  # fmt: skip
        self.package, self.done = package, Updated()
        progress.step("reading the workbook")
        reading = read_plan(package)
        _refuse(reading.book)
        self.done.notes = len(reading.notes)
        plan = plan_of(reading, templates, models_csv, hardware_csv)
        progress.step("building it anew")
        self.fresh_package = Package.from_bytes(build(plan), package.name)
        self.book, self.fresh_book = reading.book, Book(self.fresh_package)
        self.fresh = self._side(self.fresh_book)
        self.old = replace(self._side(self.book), known=frozenset(digests(self.fresh)))
        self.names = self._final_names()

    def _side(self, book: Book) -> Side:
        sheets = keyed(book)
        styles = of_package(book.package)
        if styles is None:
            raise UserError("the workbook has no styles", place=Place(book.package.name), remedy="save it once more")
        return Side(book, sheets, styles[1].looks, Moves({}), Signer(sheets))

    @property
    def paired(self) -> list[str]:
        """The kinds of sheets that both have, but for the Log."""
        return [kind for kind in self.fresh.sheets if kind in self.old.sheets and kind != LOG]

    def run(self) -> Updated:
        """Move, merge, and put the parts together."""
        progress.step("bringing your work over")
        found = {kind: self._tracks(kind) for kind in self.paired}
        self._lead(found)
        styles, dxfs = self._styles()
        new = {kind: self.fresh.sheets[kind] for kind in self.fresh.sheets if kind not in self.old.sheets}
        merged = {kind: self._merged(kind, found, styles, dxfs) for kind in self.paired}
        others = dict(self._others())
        own = set(self.book.sheets) - {each.sheet.name for each in self.old.sheets.values()}
        self.done.own_sheets = [name for name in self.book.sheets if name in own]
        parts_of, sheets = self.package.sheets(), self.old.sheets
        for kind, xml in merged.items():
            self.package.replace(parts_of[sheets[kind].sheet.name], xml)
        for part, xml in others.items():
            self.package.replace(part, xml)
        parts.move_names(self.package, self.old.moves)
        self._draw()
        for kind in new:
            self._add(kind, styles, dxfs)
        parts.take_names(self.package, self.fresh_package, self.fresh.moves, self.done.new_sheets)
        parts.drop_calculation_chain(self.package)
        if self.done.is_needed:
            self._log()
        progress.step("computing every formula")
        self.done.recalculated = recalculate(self.package)
        progress.clear()
        return self.done

    def _final_names(self) -> dict[str, str]:
        """The name of each kind of sheet in the end: the old one's, or a fresh one that no sheet has."""
        taken = {name.lower() for name in self.book.sheets}
        names: dict[str, str] = {}
        for kind, each in self.fresh.sheets.items():
            name = self.old.sheets[kind].sheet.name if kind in self.old.sheets else each.sheet.name
            number = 1
            while kind not in self.old.sheets and name.lower() in taken:
                number += 1
                name = f"{each.sheet.name}_{number}"
            taken.add(name.lower())
            names[kind] = name
        return names

    def _tracks(self, kind: str) -> Tracks:
        old, fresh = self.old.sheets[kind], self.fresh.sheets[kind]
        found = tracks(old, fresh, lambda row, column: is_own(self.old, old, (row, column)), self._homes(kind))
        name = self.names[kind]
        self.done.own_rows += [f"{name} row {found.old_rows(row)}" for row in found.own_rows]
        self.done.own_columns += [f"{name}!{address(1, found.columns(column))[:-1]}" for column in found.own_columns]
        if kind != "cover":
            self.done.new_rows += [
                f"{name}: {fresh.rows[row]}" for row in found.new_rows if not _is_heading(fresh.rows[row])
            ]
            self.done.gone_rows += [f"{name}: {old.rows.get(row, row)}" for row in found.gone_rows
                                    if not _is_heading(old.rows.get(row, ""))]  # fmt: skip
        return found

    def _homes(self, kind: str) -> dict[str, str]:
        """The rows that a calculation sheet has no more and another one has: name -> kind of sheet."""
        if not kind.startswith(CALCULATION):
            return {}
        own = self.fresh.sheets[kind].row_of
        return {key: other for other, each in reversed(list(self.fresh.sheets.items()))
                if other.startswith(CALCULATION) and other != kind and other in self.old.sheets
                for key in each.row_of if key not in own and not _is_heading(key)}  # fmt: skip

    def _lead(self, found: Mapping[str, Tracks]) -> None:
        """Where every reference of either workbook leads in the end."""
        old: dict[str, SheetMoves] = {name: SheetMoves(name) for name in self.book.sheets}
        fresh: dict[str, SheetMoves] = {}
        for kind, each in self.fresh.sheets.items():
            rows = found[kind].fresh_rows if kind in found else Track()
            fresh[each.sheet.name] = SheetMoves(self.names[kind], rows)
        for kind, track in found.items():
            keyed_sheet, elsewhere = self.old.sheets[kind], {}
            homes = self._homes(kind)
            for row in track.gone_rows:
                home = homes.get(keyed_sheet.rows.get(row, ""))
                if home is not None:
                    target = self.fresh.sheets[home].row_of[keyed_sheet.rows[row]]
                    elsewhere[row] = (self.names[home], found[home].fresh_rows(target))
            old[keyed_sheet.sheet.name] = SheetMoves(self.names[kind], track.old_rows, track.columns, elsewhere)
        self.old, self.fresh = replace(self.old, moves=Moves(old)), replace(self.fresh, moves=Moves(fresh))

    def _styles(self) -> tuple[Mapping[int, int], Mapping[int, int]]:
        own, other = of_package(self.package), of_package(self.fresh_package)
        assert own is not None, "its looks were read"
        assert other is not None, "its looks were read"
        taken = taken_in(own[1], other[1], range(len(other[1].looks)), range(len(other[1].raw("dxfs"))))
        self.package.replace(own[0], taken.xml)
        return taken.formats, taken.differential

    def _merged(
        self, kind: str, found: Mapping[str, Tracks], styles: Mapping[int, int], dxfs: Mapping[int, int]
    ) -> bytes:  # fmt: skip
        old, fresh, name = self.old.sheets[kind], self.fresh.sheets[kind], self.names[kind]
        merge = Merge(
            self.old, self.fresh, kind, found[kind], styles, self.done.kept, name, self._moved_in(kind, found)
        )
        rows, area = merge.sheet_data()
        before, _, behind = frames.split(old.sheet.xml.xml)
        fresh_before, _, fresh_behind = frames.split(fresh.sheet.xml.xml)
        rules = {frames.signature(fresh, self.fresh.signer, rule) for rule in frames.Tail.of(fresh_behind).rules}
        known = frames.is_known(old, self.old.signer, rules)
        own_rules = {frames.moved(rule, old.sheet.name, self.old.moves): not known(rule)
                     for rule in frames.Tail.of(behind).rules}  # fmt: skip
        prefix = old.sheet.xml._prefix
        mine = frames.moved(behind, old.sheet.name, self.old.moves)
        theirs = frames.moved(fresh_behind, fresh.sheet.name, self.fresh.moves)
        tail, count = frames.joined(mine, theirs, lambda rule: not own_rules.get(rule, True), dxfs, prefix)
        self.done.rules += count
        head = frames.columns(frames.moved(before, old.sheet.name, self.old.moves), fresh_before, prefix)
        return frames.with_cells(head + b"<%bsheetData/>" % prefix + tail, rows, area)

    def _moved_in(self, kind: str, found: Mapping[str, Tracks]) -> dict[Position, tuple[Keyed, Position]]:
        """What a person put into rows that stand on this sheet now, and on another before."""
        moved: dict[Position, tuple[Keyed, Position]] = {}
        for other in self.paired:
            homes, keyed_sheet = self._homes(other), self.old.sheets[other]
            for row in found[other].gone_rows:
                if homes.get(keyed_sheet.rows.get(row, "")) != kind:
                    continue
                target = self.fresh.sheets[kind].row_of[keyed_sheet.rows[row]]
                for column in keyed_sheet.scenario_columns():
                    at = row, column
                    if at in keyed_sheet.sheet.cells and is_own(self.old, keyed_sheet, at):
                        final = found[kind].fresh_rows(target), found[other].columns(column)
                        moved[final] = keyed_sheet, at
                        said = f"{keyed_sheet.sheet.name}!{address(*at)} ({keyed_sheet.rows[row]})"
                        self.done.remarks.append(f"{said} stands at {self.names[kind]}!{address(*final)} now")
        return moved

    def _others(self) -> Iterator[tuple[str, bytes]]:
        """A person's sheets and the Log with their references led on, and all that hangs on sheets and charts."""
        if self.old.moves.is_idle:
            return
        ours = {self.old.sheets[kind].sheet.name for kind in self.paired}
        for name, part in self.package.sheets().items():
            if name not in ours:
                yield part, self._own_sheet(self.book.sheets[name])
            track = self.old.moves.of(name)
            for found in self.package.relationships(part):
                if found.target not in self.package.parts:
                    continue
                data = self.package.parts[found.target]
                if found.kind in ("comments", "threadedComment", "table"):
                    yield found.target, frames.comments(data, track)
                elif found.kind == "vmlDrawing":
                    yield found.target, frames.boxes(data, track)
                elif found.kind == "drawing":
                    yield found.target, frames.anchors(data, track)
        for part, data in list(self.package.parts.items()):
            if re.search(r"/(charts|chartex)/chart[^/]*\.xml$", part, re.IGNORECASE):
                yield part, frames.chart(data, self.old.moves)
            elif "pivotCacheDefinition" in part and part.endswith(".xml"):
                yield part, frames.pivot_source(data, self.old.moves)

    def _own_sheet(self, sheet: Sheet) -> bytes:
        """A sheet of a person's: only what refers to cells that have moved is other than it was."""
        before, rows, behind = frames.split(sheet.xml.xml)
        new: dict[bytes, bytes] = {}
        for at, cell in sheet.cells.items():
            if cell.formula is None:
                continue
            own = cell.formula or sheet.patterns[at].at(*at)
            text = self.old.moves.formula(own, sheet.name)
            if text != own and cell.kind in ("normal", "shared"):
                new[cell.ref.encode()] = text.encode()
        if new:
            shared = {cell.ref: sheet.patterns[at].at(*at) for at, cell in sheet.cells.items() if cell.kind == "shared"}
            contents = {ref: self.old.moves.formula(text, sheet.name) for ref, text in shared.items()}
            contents |= {ref.decode(): text.decode() for ref, text in new.items()}
            rows = with_formulas(sheet, contents)
        moved = frames.moved(before, sheet.name, self.old.moves), frames.moved(behind, sheet.name, self.old.moves)
        return moved[0] + rows + moved[1]

    def _draw(self) -> None:
        """Charts of a fresh sheet on a sheet that had no drawing."""
        for kind in self.paired:
            part = self.package.sheets()[self.old.sheets[kind].sheet.name]
            fresh_part = self.fresh_package.sheets()[self.fresh.sheets[kind].sheet.name]
            theirs = [link.target for link in self.fresh_package.relationships(fresh_part) if link.kind == "drawing"]
            mine = [link for link in self.package.relationships(part) if link.kind == "drawing"]
            if theirs and mine:
                if _charts(self.fresh_package, theirs[0]) != _charts(self.package, mine[0].target):
                    self.done.remarks.append(f"the charts of {self.names[kind]} are those that were there")
            elif theirs:
                identifier = parts.copy_drawing(self.package, self.fresh_package, part, theirs[0], self.fresh.moves)
                self.package.replace(part, with_drawing(self.package.parts[part], identifier))

    def _add(self, kind: str, styles: Mapping[int, int], dxfs: Mapping[int, int]) -> None:
        """A sheet that the old workbook has not."""
        fresh, name = self.fresh.sheets[kind], self.names[kind]
        fresh_part = self.fresh_package.sheets()[fresh.sheet.name]
        order = list(self.fresh_package.sheets())
        before = order[: order.index(fresh.sheet.name)]
        kinds = {each.sheet.name: other for other, each in self.fresh.sheets.items()}
        there = self.package.sheets()
        behind = next((self.names[kinds[known]] for known in reversed(before)
                       if known in kinds and self.names[kinds[known]] in there), None)  # fmt: skip
        head, rows, tail = frames.split(fresh.sheet.xml.xml)
        xml = (frames.moved(head, fresh.sheet.name, self.fresh.moves)
               + restyled(with_formulas(fresh.sheet, {
                   cell.ref: self.fresh.moves.formula(cell.formula or "", fresh.sheet.name)
                   for cell in fresh.sheet.cells.values() if cell.formula}), styles)
               + frames._DXF.sub(lambda match: match[1] + b"%d" % dxfs[int(match[2])],
                                 frames.moved(tail, fresh.sheet.name, self.fresh.moves)))  # fmt: skip
        del rows
        drawings = [link.target for link in self.fresh_package.relationships(fresh_part) if link.kind == "drawing"]
        xml = re.sub(rb"<drawing\b[^>]*/>", b"", xml)
        part = parts.add_sheet(self.package, name, xml, behind)
        if drawings:
            identifier = parts.copy_drawing(self.package, self.fresh_package, part, drawings[0], self.fresh.moves)
            self.package.replace(part, with_drawing(self.package.parts[part], identifier))
        self.done.new_sheets.append(name)

    def _log(self) -> None:
        """A line below the others of the Log."""
        log = self.old.sheets.get(LOG)
        if log is None:
            return
        part = self.package.sheets()[log.sheet.name]
        sheet = SheetXml(self.package.parts[part])
        last = max((row for row, _ in log.sheet.cells if log.sheet.value(row, 1) not in (None, "")), default=5)
        today = (build_date().date() - _FIRST_DAY).days
        contents: dict[str, Content] = {address(last + 1, 1): __version__, address(last + 1, 2): float(today),
                    address(last + 1, 3): "Updated by planner"}  # fmt: skip
        free = {
            ref: value for ref, value in contents.items() if ref not in sheet.cells or sheet.cells[ref].value is None
        }
        like = {ref: f"{ref[0]}{last}" for ref in free}
        self.package.replace(part, sheet.with_values(free, like))


def _refuse(book: Book) -> None:
    """Raise UserError for a workbook whose sheets can't be told."""
    for table, name in ((book.inputs, "Inputs"), (book.checks, "Checks"), (book.dashboard, "Dashboard")):
        if not table.lines:
            raise UserError(f"the sheet {name} is missing", place=Place(book.package.name),
                            remedy="planner export-inputs keeps what is typed; build anew with it")  # fmt: skip
    if not book.inputs.columns:
        raise UserError("there is no scenario", place=Place(book.package.name), remedy="build a new workbook")


def _is_heading(key: str) -> bool:
    return key.startswith(("above ", "top ", "label ", "titles", "case "))


def _charts(package: Package, drawing: str) -> int:
    return sum(link.kind == "chart" for link in package.relationships(drawing))
