"""Which formulas an edit may reach, from what they read: the others need no engine, for their saved values stay.

What can't be told counts as reached: a name that leads to an edited sheet, INDIRECT, a table, a reference over several
sheets. So the engine may be given more than need be, and never less.
"""

from __future__ import annotations

import html
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
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import SheetXml

_OWN = rb'(?: [\w:]+="[^"<]*")*'
_FORMULA = re.compile(rb"<f" + _OWN + rb"(?:/>|>([^<]*)</f>)")
_WITHOUT_VALUE = re.compile(rb"</f>(?:<v></v>|<v/>)?</c>")  # what a formula without a value ends in
_AND_TEXT = re.compile(rb"<f" + _OWN + rb"/>(?:<v></v>|<v/>)?</c>")  # that of one whose text stands in another cell
_ELSEWHERE = r"!\$?[A-Za-z]+\$?\d+(?::\$?[A-Za-z]+\$?\d+)?"
_OWN_ROWS = re.compile(_ELSEWHERE + r"|[A-Za-z]\$?(\d+)(?::\$?[A-Za-z]+\$?(\d+))?")  # of its sheet that a formula reads
_UNCLEAR = re.compile(r"[A-Za-z] *: *\$?[A-Za-z]|\d *: *\$?\d|: *[A-Za-z.]+\(|\) *:|\d#")  # B:B, 5:5, A1:INDEX(), A1#


@dataclass(frozen=True)
class Dependents:
    """For each sheet with formulas that may be reached their addresses; None where it is every one.

    Of the sheet that was edited, where its formulas can be read, `rows` are those that may be reached.
    """

    cells: Mapping[str, Collection[str] | None]
    rows: Sequence[AlikeRows] = ()

    def refs(self, name: str) -> Collection[str] | None:
        """The addresses of a sheet's formulas that may be reached; None where it is every one."""
        return self.cells.get(name, ())

    def formulas(self, sheets: Sheets) -> Iterator[Address]:
        """The sheet and the address of every formula that may be reached."""
        for name, refs in self.cells.items():
            sheet = sheets[name]
            cells = sheet.cells.items() if refs is None else ((ref, sheet.cell(ref)) for ref in refs)
            yield from ((name, ref) for ref, cell in cells if cell is not None and cell.kind)

    def may_reach(self, name: str, ref: str) -> bool:
        """Whether the formula of a cell may be reached."""
        refs = self.refs(name)
        return refs is None or ref in refs

    def without(self, known: Collection[Address]) -> Dependents:
        """The formulas but those whose values are known; a sheet that has none left is not in it."""
        if not known:
            return self
        left = {
            name: None if refs is None else dict.fromkeys(ref for ref in refs if (name, ref) not in known)
            for name, refs in self.cells.items()
        }
        return Dependents({name: refs for name, refs in left.items() if refs is None or refs})

    def reduced(self, package: Package) -> Package:
        """The workbook with every other formula turned into its saved value."""
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
    """What an edit of these cells may reach: sheet by sheet, and in the edited sheet column by column.

    `new_rows` are the numbers and the columns of rows that the edit adds, by sheet.
    """
    if any(sheet.is_plain and _lacks_values(sheet.xml) for sheet in sheets.values()):
        return Dependents(dict.fromkeys(sheets))  # such a formula is given one, whatever was edited
    edited = {name for name, _ in cells} | set(new_rows)
    alike = alike_rows(sheets[min(edited)]) if len(edited) == 1 else None
    texts = {
        name: formulas_of(_FORMULA.findall(sheet.xml) if alike is None or name not in edited else _patterns(alike))
        for name, sheet in sheets.items()
    }
    opaque = {name for name, sheet in sheets.items() if not sheet.is_plain or texts[name].is_opaque}
    opaque |= {name for name, sheet in sheets.items() if b't="dataTable"' in sheet.xml}  # its inputs are no text
    names = names_of(package)
    (name, *_) = edited
    numbers, columns = new_rows.get(name, (set[int](), set[int]()))
    places = [coordinates(ref) for _, ref in cells]
    numbers, columns = numbers | {row for row, _ in places}, columns | {column for _, column in places}
    is_shared = any(b't="shared"' in sheet.xml for sheet in sheets.values())  # few of its cells say what they read
    if alike is not None and not opaque and not is_shared:
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
    """The numbers of the rows, in order, in which each column's cells are edited or may be reached."""
    found = {column: set(edited) for column in columns}
    for alike in rows:
        for letters in alike.patterns:
            found.setdefault(column_number(letters), set()).update(alike.numbers)
    return {column: sorted(numbers) for column, numbers in found.items()}


def _elsewhere(
    at: Mapping[int, Sequence[int]], name: str, alike: Sequence[AlikeRows], sheets: Sheets,
    texts: Mapping[str, SheetFormulas], names: Mapping[str, Reads],
) -> dict[str, Collection[str] | None] | None:  # fmt: skip
    """The formulas of other sheets that may be reached from cells of one, rows by their column; by whole rows.

    `alike` are the formulas of that one.

    None where that can't be told so closely: where yet another sheet, or the first one, reads such a row, or a name
    leads there.
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
    """One formula for each pattern of alike rows, or all of them where it names the sheet `other` in its own row."""
    for rows in alike:
        for pattern in rows.patterns.values():
            is_own = OWN_ROW in pattern and in_quotes(other) in folded(html.unescape(pattern.decode()))
            yield from (pattern.replace(OWN_ROW, b"%d" % row) for row in (rows.numbers if is_own else rows.numbers[:1]))


def _rows_reading(
    sheet: SheetXml, own: str, edited: str, is_among: Callable[[Area], bool]
) -> dict[int, list[str]] | None:
    """The formulas of a sheet's rows that read certain cells of the `edited` one, or such a row in turn, by their row.

    None where not every formula is a plain one, with references that tell their rows.
    """
    formulas = FORMULA_CELL.findall(sheet.xml)
    reads, refs, reached = defaultdict[int, set[tuple[int, int]]](set), defaultdict[int, list[str]](list), set[int]()
    for _, column, digits, raw in formulas:
        row, text = int(digits), html.unescape(raw.decode())
        if _UNCLEAR.search(text):
            return None
        refs[row].append(f"{column.decode()}{row}")
        reads[row].update((int(first), int(last or first)) for first, last in _OWN_ROWS.findall(text) if first)
        read = formulas_of([raw])
        reads[row].update((area.top, area.bottom) for area in read.areas(own))
        if row not in reached and any(map(is_among, read.areas(edited))):
            reached.add(row)
    while more := {
        row
        for row in reads.keys() - reached
        if any(min(ends) <= each <= max(ends) for ends in reads[row] for each in reached)
    }:
        reached |= more
    return {row: refs[row] for row in sorted(reached)} if len(formulas) == sheet.n_formulas else None


def _lacks_values(xml: bytes) -> bool:
    """Whether a formula has no saved value; an empty text is one."""
    ends = (match.start() for pattern in (_WITHOUT_VALUE, _AND_TEXT) for match in pattern.finditer(xml))
    starts = (xml.rfind(b"<c ", 0, end) for end in ends)
    return any(b' t="str"' not in xml[start : xml.find(b">", start)] for start in starts)


def _patterns(rows: Iterable[AlikeRows]) -> list[bytes]:
    """Formulas for those of rows that are alike, with the number of the first row."""
    return [pattern.replace(OWN_ROW, b"%d" % alike.numbers[0]) for alike in rows for pattern in alike.patterns.values()]


class _OwnReads(NamedTuple):
    """Columns of its own sheet that a formula reads, or 0 for other sheets; `own` where it is its own row alone."""

    left: int
    right: int
    own: bool


def _reached_rows(
    rows: Iterable[AlikeRows], name: str, edited: Collection[int], columns: Collection[int], others: Collection[str]
) -> list[AlikeRows] | None:
    """The formulas of a sheet that edits of some of its rows, in some columns, may reach, or another sheet that does.

    A formula that reads only its own row is reached by an edit of that row. None where the formulas can't be read.
    """
    reads: dict[int, set[_OwnReads]] = {}
    first_row = {each: alike.numbers[0] for alike in rows for each in alike.patterns.items()}
    for (column, pattern), row in first_row.items():
        formula = row_formula(text_of(pattern, row), row, name)
        if formula is None or (OWN_ROW in pattern and any(str(row) in sheet for sheet, _ in formula.areas)):
            return None  # the rows of such a pattern may name different sheets
        reads.setdefault(column_number(column), set()).update(_own_reads(formula, row, folded(name), others))
    every = {column_letters(column): whole for column, whole in _reached_columns(reads, columns).items()}
    return [
        AlikeRows(patterns, numbers)
        for alike in rows
        for is_edited in (True, False)
        if (patterns := {at: text for at, text in alike.patterns.items() if at in every and (is_edited or every[at])})
        and (numbers := [number for number in alike.numbers if (number in edited) == is_edited])
    ]


def _reached_columns(reads: Mapping[int, Collection[_OwnReads]], edited: Collection[int]) -> dict[int, bool]:
    """The columns that may be reached: True in every row, False in those edited alone."""
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
    """What the formula of this row reads of its own sheet, and whether it reads one of the others.

    The names are folded. Two sheets may fold to one name, and then both count.
    """
    areas = [(folded(sheet), area) for sheet, area in formula.areas]
    found = {_OwnReads(area.left, area.right, area.top == area.bottom == row) for on, area in areas if on == name}
    found |= {_OwnReads(column, column, True) for column in formula.columns}
    if any(on in others for on, _ in areas) or (formula.columns and name in others):
        found.add(_OwnReads(0, 0, False))
    return found
