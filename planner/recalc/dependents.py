"""Which formulas an edit may reach, from what they read: the others need no engine, for their saved values stay.

What can't be told counts as reached: a name that leads to an edited sheet, INDIRECT, a table, a reference over several
sheets. So the engine may be given more than need be, and never less.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from planner.recalc.engine import Address, Sheets
from planner.recalc.row_formulas import FORMULA_CELL, OWN_ROW, AlikeRows, RowFormula, alike_rows, row_formula, text_of
from planner.xlsx.address import column_letters, column_number, coordinates, folded, unquoted
from planner.xlsx.opc import Package
from planner.xlsx.references import pieces
from planner.xlsx.xmltree import every

_OWN = rb'(?: [\w:]+="[^"<]*")*'
_FORMULA = re.compile(rb"<f" + _OWN + rb"(?:/>|>([^<]*)</f>)")
_WITHOUT_VALUE = re.compile(rb"<c(" + _OWN + rb")><f" + _OWN + rb"(?:/>|>[^<]*</f>)(?:<v></v>|<v/>)?</c>")
_OPEN = (b"</f></c>", b"</f><v></v>", b"<v/>", b"/></c>")  # what a formula without a value ends in
_END = "\0"  # of a formula among others: no XML holds this character either
_COMPUTED = frozenset({"indirect", "offset"})  # functions that compute an address
_MAY_BE_OPAQUE = re.compile(r"\[|indirect\(|offset\(|:[^!\0\"]*'!|:[\w.]*!")  # the least that such a formula holds


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

    def reduced(self, package: Package, sheets: Sheets) -> Package:
        """The workbook with every other formula turned into its saved value."""
        smaller = replace(package, parts=dict(package.parts))
        for name, part in package.sheets().items():
            refs, xml = self.refs(name), sheets[name].xml
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
        name: _text(_FORMULA.findall(sheet.xml) if alike is None or name not in edited else _patterns(alike))
        for name, sheet in sheets.items()
    }
    opaque = {name for name, sheet in sheets.items() if not sheet.is_plain or texts[name].is_opaque}
    opaque |= {name for name, sheet in sheets.items() if b't="dataTable"' in sheet.xml}  # its inputs are no text
    reached, leading = _readers(texts, edited | opaque, _names(package))
    found: dict[str, Collection[str] | None] = {name: None for name in sheets if name in reached}
    (name, *_) = edited
    if alike is not None and name not in opaque and not texts[name].mention((), leading):
        numbers, columns = new_rows.get(name, (set[int](), set[int]()))
        places = [coordinates(ref) for _, ref in cells]
        numbers, columns = numbers | {row for row, _ in places}, columns | {column for _, column in places}
        others = frozenset(folded(other) for other in reached if other != name)
        rows = _reached_rows(alike, name, numbers, columns, others)
        if rows is not None:
            refs = (f"{column}{row}" for alike in rows for row in alike.numbers for column in alike.patterns)
            return Dependents(found | {name: dict.fromkeys(refs)}, rows)
    return Dependents(found)


def _lacks_values(xml: bytes) -> bool:
    """Whether a formula has no saved value; an empty text is one."""
    return any(end in xml for end in _OPEN) and any(
        b' t="str"' not in match[1] for match in _WITHOUT_VALUE.finditer(xml)
    )


class _Reads(NamedTuple):
    """What a formula reads: other sheets and names, in lower case; `is_opaque` where that can't be determined."""

    sheets: frozenset[str]
    names: frozenset[str]
    is_opaque: bool


@lru_cache(maxsize=1 << 14)
def _reads(formula: str) -> _Reads:
    found = pieces(formula)
    references = [piece.reference for piece in found if piece.reference is not None]
    words = [folded(piece.text.rstrip("(")) for piece in found if piece.kind in ("name", "function")]
    sheets = [reference.sheet for reference in references] + [unquoted(word.rpartition("!")[0]) for word in words]
    is_opaque = any(piece.kind == "table" or (piece.kind == "name" and set("[:") & set(piece.text)) for piece in found)
    return _Reads(
        frozenset(folded(sheet) for sheet in sheets if sheet),
        frozenset(word.rpartition("!")[2] for word in words),
        is_opaque or not _COMPUTED.isdisjoint(words) or any(reference.is_foreign for reference in references),
    )


@dataclass(frozen=True)
class _Formulas:
    """Formulas, each with its folded text; only those are read whose text holds a word that is looked for."""

    plain: str
    low: str

    @property
    def is_opaque(self) -> bool:
        """Whether some formula's references can't be determined."""
        return bool(_MAY_BE_OPAQUE.search(self.low)) and any(
            _reads(plain).is_opaque for plain, low in self._lines() if _MAY_BE_OPAQUE.search(low)
        )

    def mention(self, sheets: Collection[str], names: Collection[str]) -> bool:
        """Whether one reads a cell of these sheets, or uses one of the names."""
        words = [*(name.replace("'", "''") for name in sheets), *names]
        if not any(word in self.low for word in words):
            return False
        lines = (_reads(plain) for plain, low in self._lines() if any(word in low for word in words))
        return any(not reads.sheets.isdisjoint(sheets) or not reads.names.isdisjoint(names) for reads in lines)

    def _lines(self) -> set[tuple[str, str]]:
        return set(zip(self.plain.split(_END), self.low.split(_END), strict=True))


def _text(formulas: Iterable[bytes]) -> _Formulas:
    text = html.unescape(_END.encode().join(formulas).decode())
    return _Formulas(text, folded(text))


def _patterns(rows: Iterable[AlikeRows]) -> list[bytes]:
    """Formulas for those of rows that are alike, with the number of the first row."""
    return [pattern.replace(OWN_ROW, b"%d" % alike.numbers[0]) for alike in rows for pattern in alike.patterns.values()]


def _names(package: Package) -> dict[str, _Reads]:
    """The workbook's defined names, folded, and what the formula reads that each stands for."""
    return {
        folded(element.get("name", "")): _reads(element.text or "")
        for element in every(package.tree(package.workbook_part()), "definedName")
    }


def _readers(
    texts: Mapping[str, _Formulas], changed: Collection[str], names: Mapping[str, _Reads]
) -> tuple[set[str], set[str]]:
    """The sheets that read one of those, through others and names too, themselves included; and the names."""
    reached, leading = set(changed), set[str]()
    while True:
        sheets = frozenset(map(folded, reached))
        while more := {
            name
            for name, reads in names.items()
            if name not in leading
            and (reads.is_opaque or not reads.sheets.isdisjoint(sheets) or not reads.names.isdisjoint(leading))
        }:
            leading |= more
        found = {name for name in texts.keys() - reached if texts[name].mention(sheets, leading)}
        if not found:
            return reached, leading
        reached |= found


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
