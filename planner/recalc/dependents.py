"""The dependents of an edit, directly or indirectly: only these need the engine, the others keep their saved values.

In doubt a formula counts as reached, as with defined names on an edited sheet, INDIRECT, tables and 3-D references. So
the engine may get more formulas than necessary, but never fewer.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from planner.recalc.alike_formulas import FORMULA_CELL, OWN_ROW, AlikeRows, RowFormula, alike_rows, row_formula, text_of
from planner.recalc.engine import Address, Sheets
from planner.recalc.formula_reads import Reads, SheetFormulas, formulas_of, leading_to, names_of, readers
from planner.xlsx.address import Area, column_letters, column_number, coordinates, folded, in_quotes
from planner.xlsx.markup import unescaped
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import SheetXml

_OWN = rb'(?: [\w:]+="[^"<]*")*'
_FORMULA = re.compile(rb"<f" + _OWN + rb"(?:/>|>([^<]*)</f>)")
_WITHOUT_VALUE = re.compile(rb"</f>(?:<v></v>|<v/>)?</c>")  # the end of a formula cell without a value
_AND_TEXT = re.compile(rb"<f" + _OWN + rb"/>(?:<v></v>|<v/>)?</c>")  # the same if the formula's text is in the anchor
_MARKS = b't="dataTable"', b't="shared"'
_ELSEWHERE = r"!\$?[A-Za-z]+\$?\d+(?::\$?[A-Za-z]+\$?\d+)?"
_OWN_ROWS = re.compile(_ELSEWHERE + r"|[A-Za-z]\$?(\d+)(?::\$?[A-Za-z]+\$?(\d+))?")  # rows read on its own sheet
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")  # names of sheets, and texts
_UNCLEAR = re.compile(r"[A-Za-z] *: *\$?[A-Za-z]|\d *: *\$?\d|: *[A-Za-z.]+\(|\) *:|\d#")  # B:B, 5:5, A1:INDEX(), A1#


@dataclass(frozen=True)
class Dependents:
    """The addresses of formulas that an edit may reach, by sheet; None for all formulas of a sheet.

    `rows` are those of the edited sheet, if its formulas could be parsed.
    """

    cells: Mapping[str, Collection[str] | None]
    rows: Sequence[AlikeRows] = ()

    def refs(self, name: str) -> Collection[str] | None:
        """The addresses of a sheet's formulas that may be reached; None for all."""
        return self.cells.get(name, ())

    def formulas(self, sheets: Sheets) -> Iterator[Address]:
        """(sheet, address) of every formula that may be reached."""
        for name, refs in self.cells.items():
            sheet = sheets[name]
            cells = sheet.cells.items() if refs is None else ((ref, sheet.cell(ref)) for ref in refs)
            yield from ((name, ref) for ref, cell in cells if cell is not None and cell.kind)

    def may_reach(self, name: str, ref: str) -> bool:
        """Whether a cell's formula may be reached."""
        refs = self.refs(name)
        return refs is None or ref in refs

    def without(self, known: Collection[Address]) -> Dependents:
        """The dependents except those with `known` values; a sheet with none left is dropped."""
        if not known:
            return self
        left = {
            name: None if refs is None else dict.fromkeys(ref for ref in refs if (name, ref) not in known)
            for name, refs in self.cells.items()
        }
        return Dependents({name: refs for name, refs in left.items() if refs is None or refs})

    def reduced(self, package: Package) -> Package:
        """The workbook with every other formula replaced by its saved value."""
        smaller = replace(package, parts=dict(package.parts))
        for name, part in package.sheets().items():
            refs, xml = self.refs(name), package.parts[part]
            if refs is not None:
                smaller.replace(part, FORMULA_CELL.sub(_kept(refs), xml) if refs else _FORMULA.sub(b"", xml))
        return smaller


def _kept(refs: Collection[str]) -> Callable[[re.Match[bytes]], bytes]:
    known = {ref.encode() for ref in refs}
    return lambda match: match[0] if match[2] + match[3] in known else match[1]


def dependents(
    package: Package, sheets: Sheets, cells: Collection[Address], new_rows: Mapping[str, tuple[set[int], set[int]]]
) -> Dependents:
    """The dependents of an edit of `cells`: sheet by sheet, and column by column within the edited sheet.

    `new_rows` has the row numbers and columns of added rows, by sheet.
    """
    if any(sheet.is_plain and _lacks_values(sheet.xml) for sheet in sheets.values()):
        return Dependents(dict.fromkeys(sheets))  # a formula without a value gets one after any edit
    edited = {name for name, _ in cells} | set(new_rows)
    alike = alike_rows(sheets[min(edited)]) if len(edited) == 1 else None
    texts = {
        name: formulas_of(_FORMULA.findall(sheet.xml) if alike is None or name not in edited else _patterns(alike))
        for name, sheet in sheets.items()
    }
    # What a data table reads is not in a formula's text, and of a shared formula only the anchor has the text.
    tables, shared = ([name for name, each in sheets.items() if mark in each.xml] for mark in _MARKS)
    opaque = {*tables, *(name for name, sheet in sheets.items() if not sheet.is_plain or texts[name].is_opaque)}
    names = names_of(package)
    (name, *_) = edited
    numbers, columns = new_rows.get(name, (set[int](), set[int]()))
    places = [coordinates(ref) for _, ref in cells]
    numbers, columns = numbers | {row for row, _ in places}, columns | {column for _, column in places}
    if alike is not None and not opaque and not shared:
        rows = _reached_rows(alike, name, numbers, columns, frozenset())
        elsewhere = None if rows is None else _elsewhere(_at(rows, numbers, columns), name, alike, sheets, texts, names)
        if rows is not None and elsewhere is not None:
            return Dependents(elsewhere | {name: _refs(rows)}, rows)
    reached, leading = readers(texts, edited | opaque, names)
    if alike is None or name in opaque or texts[name].mention((), leading):
        return Dependents(dict.fromkeys(each for each in sheets if each in reached))
    others = frozenset(folded(other) for other in reached if other != name)
    rows = _reached_rows(alike, name, numbers, columns, others)
    found: dict[str, Collection[str] | None] = {each: None for each in sheets if each in reached}
    return Dependents(found) if rows is None else Dependents(found | {name: _refs(rows)}, rows)


def _refs(rows: Iterable[AlikeRows]) -> Collection[str]:
    return dict.fromkeys(f"{column}{row}" for alike in rows for row in alike.numbers for column in alike.patterns)


def _at(rows: Iterable[AlikeRows], edited: Collection[int], columns: Collection[int]) -> dict[int, list[int]]:
    """For each column, the sorted numbers of the rows whose cells are edited or may be reached."""
    found = {column: set(edited) for column in columns}
    for alike in rows:
        for letters in alike.patterns:
            found.setdefault(column_number(letters), set()).update(alike.numbers)
    return {column: sorted(numbers) for column, numbers in found.items()}


def _elsewhere(
    at: Mapping[int, Sequence[int]],
    name: str,
    alike: Sequence[AlikeRows],
    sheets: Sheets,
    texts: Mapping[str, SheetFormulas],
    names: Mapping[str, Reads],
) -> dict[str, Collection[str] | None] | None:
    """The dependents on other sheets of cells of one sheet, given as rows by column (`at`); whole rows are reached.

    `alike` are that sheet's formulas. None if this can't be determined so precisely: a third sheet, or the first again,
    reads such a row, or a defined name refers to one.
    """

    def is_among(area: Area) -> bool:
        return any(
            bisect_left(numbers, area.top) < bisect_right(numbers, area.bottom)
            for column, numbers in at.items()
            if area.left <= column <= area.right
        )

    found: dict[str, Collection[str] | None] = {}
    for other, text in texts.items():
        if other == name or not any(map(is_among, text.areas(folded(name)))):
            continue
        rows = _rows_reading(sheets[other], folded(other), folded(name), is_among)
        every = {**texts, name: formulas_of(_own_formulas(alike, folded(other)))}
        areas = [area for on, each in every.items() if on != other for area in each.areas(folded(other))]
        if rows is None or any(not rows.keys().isdisjoint(area.rows) for area in areas):
            return None
        found[other] = dict.fromkeys(ref for refs in rows.values() for ref in refs)
    leading = leading_to(names, {folded(each) for each in (name, *found)})
    return None if any(text.mention((), leading) for text in texts.values()) else found


def _own_formulas(alike: Iterable[AlikeRows], other: str) -> Iterator[bytes]:
    """One formula for each pattern of alike rows, or all of them if it refers to the sheet `other` in its own row."""
    for rows in alike:
        for pattern in rows.patterns.values():
            is_own = OWN_ROW in pattern and in_quotes(other) in folded(unescaped(pattern.decode()))
            yield from (pattern.replace(OWN_ROW, b"%d" % row) for row in (rows.numbers if is_own else rows.numbers[:1]))


def _rows_reading(
    sheet: SheetXml, own: str, edited: str, is_among: Callable[[Area], bool]
) -> dict[int, list[str]] | None:
    """By row, a sheet's formulas that read `edited` cells for which `is_among` holds, or read such a row.

    None unless every formula is plain and has references with determined rows.
    """
    formulas = FORMULA_CELL.findall(sheet.xml)
    reads, refs, reached = defaultdict[int, set[tuple[int, int]]](set), defaultdict[int, list[str]](list), set[int]()
    for _, column, digits, raw in formulas:
        row, text = int(digits), _QUOTED.sub(_but_texts, unescaped(raw.decode()))
        if _UNCLEAR.search(text):
            return None
        refs[row].append(f"{column.decode()}{row}")
        reads[row].update((int(first), int(last or first)) for first, last in _OWN_ROWS.findall(text) if first)
        read = formulas_of([raw])
        reads[row].update((area.top, area.bottom) for area in read.areas(own))
        if row not in reached and any(map(is_among, read.areas(edited))):
            reached.add(row)
    found = reached
    while found:
        numbers = sorted(found)
        found = {
            row
            for row in reads.keys() - reached
            if any(bisect_left(numbers, min(ends)) < bisect_right(numbers, max(ends)) for ends in reads[row])
        }
        reached = reached | found
    return {row: refs[row] for row in sorted(reached)} if len(formulas) == sheet.n_formulas else None


def _but_texts(quoted: re.Match[str]) -> str:
    """The name of a sheet as it is; a text, which may look like a range, as a blank one."""
    return quoted[0] if quoted[0].startswith("'") else '""'


def _lacks_values(xml: bytes) -> bool:
    """Whether any formula has no saved value; an empty text is one."""
    ends = (match.start() for pattern in (_WITHOUT_VALUE, _AND_TEXT) for match in pattern.finditer(xml))
    starts = (xml.rfind(b"<c ", 0, end) for end in ends)
    return any(b' t="str"' not in xml[start : xml.find(b">", start)] for start in starts)


def _patterns(rows: Iterable[AlikeRows]) -> list[bytes]:
    """One formula for each pattern of alike rows, that of the first row."""
    return [pattern.replace(OWN_ROW, b"%d" % alike.numbers[0]) for alike in rows for pattern in alike.patterns.values()]


class _OwnReads(NamedTuple):
    """The columns of its own sheet that a formula reads, or 0 for other sheets; `own` if it reads only its own row."""

    left: int
    right: int
    own: bool


def _reached_rows(
    rows: Iterable[AlikeRows], name: str, edited: Collection[int], columns: Collection[int], others: Collection[str]
) -> list[AlikeRows] | None:
    """The formulas of a sheet that edits of some rows and columns, or the sheets `others`, may reach.

    A formula that reads only its own row is reached only by edits of that row. None if the formulas can't be parsed.
    """
    reads: dict[int, set[_OwnReads]] = {}
    first_row = {each: alike.numbers[0] for alike in rows for each in alike.patterns.items()}
    for (column, pattern), row in first_row.items():
        formula = row_formula(text_of(pattern, row), row, name)
        if formula is None or (OWN_ROW in pattern and any(str(row) in sheet for sheet, _ in formula.areas)):
            return None  # the rows of such a pattern may name different sheets
        reads.setdefault(column_number(column), set()).update(_own_reads(formula, row, folded(name), others))
    every = {column_letters(column): whole for column, whole in _reached_columns(reads, columns).items()}
    found: list[AlikeRows] = []
    for alike in rows:
        for is_edited in (True, False):
            reached = {at: text for at, text in alike.patterns.items() if at in every and (is_edited or every[at])}
            numbers = [number for number in alike.numbers if (number in edited) == is_edited]
            if reached and numbers:
                found.append(AlikeRows(reached, numbers))
    return found


def _reached_columns(reads: Mapping[int, Collection[_OwnReads]], edited: Collection[int]) -> dict[int, bool]:
    """The columns that may be reached: True in every row, False only in the edited rows."""
    found = dict.fromkeys(edited, False)
    changed = True
    while changed:
        changed = False
        for column, each in reads.items():
            for left, right, own in each:
                from_all = [whole for at, whole in found.items() if left <= at <= right]
                if left and not from_all:
                    continue
                whole = not own or any(from_all)
                if column not in found or (whole and not found[column]):
                    found[column] = whole or found.get(column, False)
                    changed = True
    return found


def _own_reads(formula: RowFormula, row: int, name: str, others: Collection[str]) -> set[_OwnReads]:
    """What a row's formula reads of its own sheet, and an entry with columns 0 if it reads one of `others`.

    The names are folded. Two sheets may fold to one name, and then both count.
    """
    areas = [(folded(sheet), area) for sheet, area in formula.areas]
    found = {_OwnReads(area.left, area.right, area.top == area.bottom == row) for on, area in areas if on == name}
    found |= {_OwnReads(column, column, True) for column in formula.columns}
    if any(on in others for on, _ in areas) or (formula.columns and name in others):
        found.add(_OwnReads(0, 0, False))
    return found
