"""Edits of a small workbook made in its XML, each with what must be there after an update of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from planner.xlsx.address import address, column_letters, coordinates
from planner.xlsx.markup import Edit, apply_edits, element_end, escaped
from planner.xlsx.moved_cells import with_moved_formulas
from planner.xlsx.moved_parts import move, move_around_rows
from planner.xlsx.moves import Moves, SheetMoves, Track
from planner.xlsx.opc import Package
from planner.xlsx.relationships import add_part, link
from planner.xlsx.sheetedit import with_values
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import add_sheet
from planner.xlsx.worksheet import Worksheet

SHEET, OWN = "Mine", "My sheet"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"
X14 = "http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"
OPEN = "application/vnd.openxmlformats-officedocument"
_NOTES = "application/vnd.openxmlformats-officedocument.spreadsheetml.comments+xml"


@dataclass
class Marks:
    """What a person did: by the machine name and the column of a cell, or by what only they would write."""

    inputs: dict[tuple[str, int], float] = field(default_factory=dict)
    typed_over: dict[tuple[str, int], float] = field(default_factory=dict)
    formulas: dict[tuple[str, int], str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)
    notes: dict[tuple[str, int], str] = field(default_factory=dict)
    reads: dict[str, str] = field(default_factory=dict)  # a cell of the own sheet -> the name that its formula reads
    names: dict[str, str] = field(default_factory=dict)  # a defined name -> the machine name of its row
    rules: dict[str, str] = field(default_factory=dict)  # a number in a rule -> the machine name of its row
    charts: dict[str, str] = field(default_factory=dict)  # a number in a chart -> the machine name of the row drawn
    controls: dict[str, str] = field(default_factory=dict)  # a control's value -> the machine name of the row linked


class Desk:
    """A workbook under a person's hand; `rows` are the rows of the template's sheet by machine name."""

    def __init__(self, package: Package, random: Random) -> None:
        self.package, self.random, self.marks, self.count = package, random, Marks(), 1000
        self.look()

    def look(self) -> None:
        """Find the rows again."""
        plan = read_plan(self.package)
        self.rows = {row.name: row.row for row in plan.tables[SHEET]}
        self.calculated = {row.name: row.row for row in plan.tables[SHEET] if not row.text.startswith("Inputs[")}
        self.inputs = {row.name: row.row for row in plan.inputs}
        self.overrides = {row.name: row.row for row in plan.overrides}
        self.at = scenario_columns(plan)

    def number(self) -> int:
        """A number that nobody else writes."""
        self.count += 1
        return self.count

    def put(self, sheet: str, row: int, column: int, content: str | float, formula: bool = False) -> None:
        """Type into a cell, over whatever is in it; its format stays."""
        part, ref = self.package.sheets()[sheet], address(row, column)
        xml = SheetXml(self.package.parts[part])
        cell = xml.cells.get(ref)
        if cell is None:
            new = with_values(xml, {ref: None if formula else content})
            self.package.replace(part, new)
            if not formula:
                return
            xml = SheetXml(new)
            cell = xml.cells.get(ref)
            assert cell is not None, "it was made"
        style = f' s="{cell.style or 0}"'
        if formula:
            held = f"<f>{escaped(str(content))}</f>"
        else:
            is_text = isinstance(content, str)
            held = f"<is><t>{content}</t></is>" if is_text else f"<v>{content}</v>"
            style += ' t="inlineStr"' if is_text else ""
        end = element_end(xml.xml, *cell.span)
        edit = Edit(cell.span[0], end, f'<c r="{ref}"{style}>{held}</c>'.encode())
        self.package.replace(part, apply_edits(xml.xml, [edit]))


def scenario_columns(plan: Plan) -> dict[int, int]:
    """Where both scenarios stand on the template's sheet, by where they were built."""
    cells = plan.tables[SHEET][0].cells.values()
    return dict(zip((6, 7), sorted(entry.spot.column for entry in cells), strict=True))


def an_override(desk: Desk) -> None:
    """A number in place of what the database says."""
    name, column = desk.random.choice(list(desk.overrides)), desk.random.choice((6, 7))
    desk.marks.inputs[name, column] = desk.number()
    desk.put("Inputs", desk.overrides[name], column, desk.count)


def an_input(desk: Desk) -> None:
    """A number on Inputs."""
    name, column = desk.random.choice(list(desk.inputs)), desk.random.choice((6, 7))
    desk.marks.inputs[name, column] = desk.number()
    desk.put("Inputs", desk.inputs[name], column, desk.count)


def a_number_over_a_formula(desk: Desk) -> None:
    """A number typed over a calculated row's formula."""
    name, column = desk.random.choice(list(desk.calculated)), desk.random.choice((6, 7))
    desk.marks.formulas.pop((name, column), None)
    desk.marks.typed_over[name, column] = desk.number()
    desk.put(SHEET, desk.rows[name], desk.at[column], desk.count)


def another_formula(desk: Desk) -> None:
    """A formula of a person's in the place of planner's."""
    name, column = desk.random.choice(list(desk.calculated)), desk.random.choice((6, 7))
    desk.marks.typed_over.pop((name, column), None)
    desk.marks.formulas[name, column] = f"*{desk.number()}"
    there = desk.at[column]
    desk.put(SHEET, desk.rows[name], there, f"{column_letters(there)}4*{desk.count}", formula=True)


def a_text(desk: Desk) -> None:
    """Another note of a row."""
    name = desk.random.choice(list(desk.rows))
    desk.marks.texts[name] = f"text {desk.number()}"
    desk.put(SHEET, desk.rows[name], 5, desk.marks.texts[name])


def a_column_beside(desk: Desk) -> None:
    """A text right of the scenarios."""
    name = desk.random.choice(list(desk.rows))
    desk.marks.beside.append(f"beside {desk.number()}")
    desk.put(SHEET, desk.rows[name], 12 + desk.count % 50, desk.marks.beside[-1])


def a_row_below(desk: Desk) -> None:
    """A row of a person's below the table."""
    desk.marks.beside.append(f"below {desk.number()}")
    desk.put(SHEET, max(desk.rows.values()) + 3 + desk.count % 20, 1, desk.marks.beside[-1])


def a_row_between(desk: Desk) -> None:
    """A row put in among planner's, as a program does that leads every reference along, and something typed there."""
    at = desk.random.choice(list(desk.rows.values())) + 1
    known = {row: row + (row >= at) for row in range(1, max(desk.rows.values()) + 400)}
    put_in(desk.package, SheetMoves(SHEET, Track(known)))
    desk.look()
    desk.marks.beside.append(f"between {desk.number()}")
    desk.put(SHEET, at, 1, desk.marks.beside[-1])


def a_column_between(desk: Desk) -> None:
    """A column put in between both scenarios, and something typed there."""
    at = desk.at[7]
    known = {column: column + (column >= at) for column in range(1, 400)}
    put_in(desk.package, SheetMoves(SHEET, Track(), Track(known)))
    desk.look()
    desk.marks.beside.append(f"between {desk.number()}")
    desk.put(SHEET, desk.random.choice(list(desk.rows.values())), at, desk.marks.beside[-1])


def put_in(package: Package, *inserted: SheetMoves) -> None:
    """Move the cells of sheets as a program does where a person puts rows or columns in; every reference follows."""
    parts, moves = package.sheets(), Moves({each.name: each for each in inserted})
    moved = {each.name: _moved(SheetXml(package.parts[parts[each.name]]), each, moves) for each in inserted}
    move(package, moves, moved)
    for name, xml in moved.items():
        package.replace(parts[name], xml)


def _moved(sheet: SheetXml, inserted: SheetMoves, moves: Moves) -> bytes:
    """The XML of a sheet whose own cells move too."""
    xml, _ = with_moved_formulas(sheet, inserted.name, moves)
    moved = Worksheet(xml)
    move_around_rows(moved.root, inserted.name, moves)

    def there(match: re.Match[bytes]) -> bytes:
        if match[1] == b"row":
            return b'<row r="%d"' % inserted.rows(int(match[2]))
        return b'<c r="%b"' % address(*inserted.cell(*coordinates(match[2].decode()))).encode()

    moved.rows = re.sub(rb'<(row|c) r="([A-Z]*[0-9]+)"', there, moved.rows)
    return moved.xml()


def a_sheet(desk: Desk) -> None:
    """A sheet with plain, shared, array and data-table formulas that read planner's rows."""
    if OWN in desk.package.sheets():
        return
    names = [desk.random.choice(list(desk.rows)) for _ in range(4)]
    plain, shared, array, table = (desk.rows[name] for name in names)
    cells = (
        f'<row r="1"><c r="A1"><f>{SHEET}!F{plain}*2</f></c><c r="B1"><f>SUM({SHEET}!F{plain}:G{plain})</f></c></row>'
        f'<row r="2"><c r="A2"><f t="shared" ref="A2:B2" si="0">{SHEET}!F{shared}+1</f></c>'
        f'<c r="B2"><f t="shared" si="0"/></c></row>'
        f'<row r="3"><c r="A3"><f t="array" ref="A3:B3">{SHEET}!F{array}:G{array}*3</f></c><c r="B3"><v>0</v></c></row>'
        f'<row r="4"><c r="A4"><f>{SHEET}!F{table}</f></c></row>'
        '<row r="5"><c r="A5"><v>1</v></c><c r="B5"><f t="dataTable" ref="B5:B6" r1="D1"/><v>0</v></c>'
        '</row><row r="6"><c r="A6"><v>2</v></c><c r="B6"><v>0</v></c></row>'
    )
    xml = f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'
    add_sheet(desk.package, OWN, xml.encode(), None)
    read = {"A1": 0, "B1": 0, "A2": 1, "B2": 1, "A3": 2, "A4": 3}
    desk.marks.reads |= {ref: names[at] for ref, at in read.items()}


def a_defined_name(desk: Desk) -> None:
    """A name for a cell of planner's."""
    name = desk.random.choice(list(desk.rows))
    called = f"my_name_{desk.number()}"
    part = desk.package.workbook_part()
    xml = desk.package.parts[part]
    new = f'<definedName name="{called}">{SHEET}!$F${desk.rows[name]}</definedName></definedNames>'.encode()
    desk.package.replace(part, xml.replace(b"</definedNames>", new, 1))
    desk.marks.names[called] = name


def a_rule(desk: Desk) -> None:
    """A conditional format on a row."""
    name = desk.random.choice(list(desk.rows))
    row, part = desk.rows[name], desk.package.sheets()[SHEET]
    area = f"F{row}:{column_letters(desk.at[7])}{row}"
    rule = (f'<conditionalFormatting sqref="{area}"><cfRule type="cellIs" priority="9" operator="greaterThan">'
            f"<formula>{desk.number()}</formula></cfRule></conditionalFormatting>").encode()  # fmt: skip
    xml = desk.package.parts[part]
    at = xml.find(b"<conditionalFormatting")
    desk.package.replace(part, xml[:at] + rule + xml[at:])
    desk.marks.rules[str(desk.count)] = name


def a_note(desk: Desk) -> None:
    """A note on a cell."""
    part = desk.package.sheets()[SHEET]
    if any(found.kind == "comments" for found in desk.package.relationships(part)):
        return
    name, column = desk.random.choice(list(desk.rows)), desk.random.choice((6, 7))
    desk.marks.notes[name, column] = f"note {desk.number()}"
    ref = address(desk.rows[name], desk.at[column])
    xml = (f'<comments xmlns="{MAIN}"><authors><author>Ann</author></authors><commentList><comment ref="{ref}" '
           f'authorId="0"><text><t>note {desk.count}</t></text></comment></commentList></comments>')  # fmt: skip
    notes = add_part(desk.package, "xl/comments1.xml", xml.encode(), _NOTES)
    link(desk.package, part, "comments", notes)


def a_chart(desk: Desk) -> None:
    """A chart of a row on the template's sheet."""
    part = desk.package.sheets()[SHEET]
    if any(found.kind == "drawing" for found in desk.package.relationships(part)):
        return
    name = desk.random.choice(list(desk.rows))
    row, last = desk.rows[name], column_letters(desk.at[7])
    chart = (f'<c:chartSpace xmlns:c="{CHART}"><c:v>{desk.number()}</c:v>'
             f"<c:f>{SHEET}!$F${row}:${last}${row}</c:f></c:chartSpace>")  # fmt: skip
    target = add_part(desk.package, "xl/charts/mine1.xml", chart.encode(), f"{OPEN}.drawingml.chart+xml")
    drawing = add_part(
        desk.package, "xl/drawings/mine1.xml", f'<wsDr xmlns="{DRAWING}"/>'.encode(), f"{OPEN}.drawing+xml"
    )
    link(desk.package, drawing, "chart", target)
    sheet = Worksheet(desk.package.parts[part])
    sheet.link("drawing", link(desk.package, part, "drawing", drawing))
    desk.package.replace(part, sheet.xml())
    desk.marks.charts[str(desk.count)] = name


def a_control(desk: Desk) -> None:
    """A form control linked to a cell."""
    name, part = desk.random.choice(list(desk.rows)), desk.package.sheets()[SHEET]
    xml = (f'<formControlPr xmlns="{X14}" objectType="Spin" val="{desk.number()}" '
           f'fmlaLink="{SHEET}!$F${desk.rows[name]}"/>')  # fmt: skip
    kind = "application/vnd.ms-excel.controlproperties+xml"
    link(desk.package, part, "ctrlProp", add_part(desk.package, "xl/ctrlProps/mine1.xml", xml.encode(), kind))
    desk.marks.controls[str(desk.count)] = name


ALL: tuple[Callable[[Desk], None], ...] = (
    an_input, a_number_over_a_formula, another_formula, a_text, a_column_beside, a_row_below, a_row_between, a_sheet,
    a_defined_name, a_rule, a_note, an_override, a_column_between, a_chart, a_control,
)  # fmt: skip


def losses(marks: Marks, package: Package, plan: Plan, said: str) -> list[str]:
    """What of a person's work isn't there after an update; `said` is all that the update told."""
    lost: list[str] = []
    sheet = plan.book.sheets[SHEET]
    texts = {sheet.text(*at): at for at in sheet.cells if sheet.text(*at)}
    rows = {sheet.text(row, 3): row for row, column in sheet.cells if column == 3 and sheet.text(row, 3)}
    typed = {(row.name, entry.spot.column): entry.value for row in (*plan.inputs, *plan.overrides)
             for entry in row.cells.values()}  # fmt: skip
    inputs, at = plan.book.sheets["Inputs"], scenario_columns(plan)
    named = {inputs.text(row, 3): row for row, column in inputs.cells if column == 3}
    for (name, column), value in marks.inputs.items():
        there = typed.get((name, column)) if (name, column) in typed else inputs.value(named.get(name, 0), column)
        lost += [] if there == value else [f"input {name} {value}: {there}"]
    for (name, column), value in marks.typed_over.items():
        there = sheet.value(rows.get(name, 0), at[column])
        lost += [] if there == value else [f"typed over {name} {value}: {there}"]
    for (name, column), end in marks.formulas.items():
        cell = rows.get(name, 0), at[column]
        found = sheet.patterns.get(cell)
        lost += [] if found and found.at(*cell).endswith(end) else [f"formula {name} {end}"]
    lost += [f"text {name}" for name, text in marks.texts.items() if sheet.text(rows.get(name, 0), 5) != text]
    lost += [f"own text {text}" for text in marks.beside if text not in texts]
    return lost + _lost_readers(marks, package, plan, rows, said)


def _lost_readers(marks: Marks, package: Package, plan: Plan, rows: dict[str, int], said: str) -> list[str]:
    """What read a row of planner's, which stand in `rows` now, and reads another one."""
    lost: list[str] = []
    at = scenario_columns(plan)
    own = plan.book.sheets.get(OWN)
    for ref, name in marks.reads.items():
        text = own.xml.cells[ref].formula or (own.patterns[1, 1] and "") if own else ""
        if ref == "B2" and own:
            text = own.patterns[2, 2].at(2, 2)
        if name in rows:
            lost += [] if re.search(rf"(?<![0-9]){rows[name]}\b", text) else [f"{ref} reads {name}: {text}"]
        else:
            lost += [] if "#REF!" in text and f"{OWN}!{ref}" in said else [f"{ref} read {name}, gone: {text}"]
    workbook = package.parts[package.workbook_part()].decode()
    for called, name in marks.names.items():
        match = re.search(rf'name="{called}"[^>]*>([^<]*)<', workbook)
        wanted = f"$F${rows[name]}" if name in rows else "#REF!"
        lost += [] if match and wanted in match[1] else [f"name {called} of {name}: {match and match[1]}"]
    xml = package.parts[package.sheets()[SHEET]].decode()
    for number, name in marks.rules.items():
        match = re.search(rf'sqref="([^"]*)"[^>]*><(?:\w+:)?cfRule[^>]*><(?:\w+:)?formula>{number}<', xml)
        if name in rows:
            there = match and match[1] == f"F{rows[name]}:{column_letters(at[7])}{rows[name]}"
            lost += [] if there else [f"rule {number} of {name}: {match and match[1]}"]
    for (name, column), text in marks.notes.items():
        found = [note.ref for note in plan.notes if note.text == text]
        wanted = address(rows[name], at[column]) if name in rows else None
        lost += [] if found and wanted in (None, found[0]) else [f"note of {name}: {found}"]
    for number, name in marks.charts.items():
        text = next((xml.decode() for xml in package.parts.values() if f":v>{number}<".encode() in xml), "")
        wanted = f"$F${rows[name]}:${column_letters(at[7])}${rows[name]}<" if name in rows else "#REF!<"
        lost += [] if wanted in text else [f"chart {number} of {name}: {text}"]
    for number, name in marks.controls.items():
        text = next((xml.decode() for xml in package.parts.values() if f'val="{number}"'.encode() in xml), "")
        wanted = f'$F${rows[name]}"' if name in rows else "#REF!"
        lost += [] if wanted in text else [f"control {number} of {name}: {text}"]
    return lost
