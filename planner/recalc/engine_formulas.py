"""Rewrites formulas for the engine: constructs that it misreads become ones that it computes as other programs do."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from planner.xlsx.address import MAX_COLUMN, MAX_ROW, folded, quoted
from planner.xlsx.references import Corner, Piece, Reference, pieces, reference, rewritten
from planner.xlsx.workbook_part import ExcelTable

_APART = re.compile(r""""[^"]*"|'[^']*'|\[[^\]]*\]|\s*:\s*""")
CALLS = r"\b(?:SUMIF|AVERAGEIF|HYPERLINK|TEXT)\("
"""Functions that may be misread."""
_CALLS = re.compile(CALLS, re.IGNORECASE)
_EXPONENT = re.compile(r'".*E[+-].*"', re.IGNORECASE | re.DOTALL)
UNKNOWN = "NOT_COMPUTED"
"""An unknown function, wrapped around what the engine would compute wrongly; it still sees the precedents."""
_PART = re.compile(r"\[((?:[^\]\[']|'.)*)\]")  # a specifier of a structured reference: `[#Data]`, `[Chips]`
_ESCAPED = re.compile("'(.)")  # an escaped character in a column specifier
_PAIRS = {")": "(", "}": "{"}


def given(formula: str, elsewhere: Collection[str] = ()) -> str:
    """A formula, without its =, rewritten for the engine.

    Ranges go from top left to bottom right, without blanks around the colon. `elsewhere` are the sheets of other
    workbooks that the engine knows, folded; other external references and unknown brackets are replaced, since they
    would make it refuse the whole workbook or give #REF!.
    """
    closed = _APART.sub(lambda match: ":" if match[0].strip() == ":" else match[0], formula)
    ordered = rewritten(closed, Reference.in_order)
    if "[" in ordered:
        known = "".join("0" if _is_nowhere(piece, elsewhere) else piece.text for piece in pieces(ordered))
        ordered = ordered if known == ordered else f"{UNKNOWN}({known})"
    return _with_calls(ordered) if _CALLS.search(ordered) else ordered


def _is_nowhere(piece: Piece, elsewhere: Collection[str]) -> bool:
    """Whether a token refers to something that the engine lacks, in another workbook or in brackets."""
    sheet = piece.reference.sheet if piece.reference else ""
    return piece.kind in ("reference", "name", "table") and "[" in piece.text and folded(sheet) not in elsewhere


def without_tables(formula: str, row: int, tables: Mapping[str, ExcelTable]) -> str:
    """A formula in `row` with structured references replaced by addresses; `tables` are by folded name.

    The engine only knows whole columns of a table: for it a reference to the formula's own row, or to the total below,
    is circular. Row 0 means a formula shared by several rows.
    """
    if not any(name in folded(formula) for name in tables):
        return formula

    def given_piece(piece: Piece) -> str:
        name, _, inside = piece.text.partition("[")
        table = tables.get(folded(name)) if piece.kind in ("table", "name") else None
        return (_area(table, inside[:-1], row) if table else "") or piece.text

    return "".join(map(given_piece, pieces(formula)))


def _area(table: ExcelTable, inside: str, row: int) -> str:
    """The address of a structured reference's brackets; blank if it can't be determined."""
    parts = _PART.findall(inside) if inside.startswith("[") else [inside] * bool(inside)
    top, left, bottom, right = table.area
    first, last = top + table.header_row, bottom - table.totals_row
    nowhere = (1, 0)
    lines = {
        "#all": (top, bottom),
        "#data": (first, last),
        "#headers": (top, first - 1),
        "#totals": (last + 1, bottom),
        "#this row": (row, row) if first <= row <= last else nowhere,
    }
    named = [lines.get(folded(part), nowhere) for part in parts if part.startswith("#")] or [(first, last)]
    known = [folded(head) for head in table.columns]
    heads = [folded(_ESCAPED.sub(r"\1", part)) for part in parts if not part.startswith("#")]
    if len(heads) > 2 or not set(heads) <= set(known) or any(begin > end for begin, end in named):
        return ""
    columns = [left + known.index(head) for head in heads] or [left, right]
    corners = (Corner(end([line[at] for line in named]), end(columns), True, True) for at, end in enumerate((min, max)))
    one, other = corners
    return str(Reference(f"{quoted(table.sheet)}!", one, other, one != other))


def _with_calls(formula: str) -> str:
    """The formula with each call rewritten by `_call`; unchanged if its brackets don't match."""
    opened, parts = [""], [[""]]  # stacks: open brackets, and the arguments of each
    for piece in pieces(formula):
        if piece.kind == "function" or piece.text in _PAIRS.values():
            opened.append(piece.text)
            parts.append([""])
        elif piece.text in _PAIRS:
            name, arguments = opened.pop(), parts.pop()
            if name[-1:] != _PAIRS[piece.text]:
                return formula
            parts[-1][-1] += _call(name, arguments) + piece.text
        elif piece.text == "," and opened[-1]:
            parts[-1].append("")
        else:
            parts[-1][-1] += piece.text
    whole = "".join(parts[0][0]) if len(parts) == 1 else formula
    return f"{UNKNOWN}({formula})" if UNKNOWN in whole else whole


def _call(name: str, arguments: list[str]) -> str:
    """A call without its closing bracket; HYPERLINK becomes its text, SUMIF's sum range gets the criteria's shape.

    TEXT with an exponent format is wrapped in UNKNOWN.
    """
    called = name[:-1].upper()
    if called == "HYPERLINK" and len(arguments) == 2:
        link, shown = arguments
        return f"IF(ISERROR({link}),{link},{shown}"
    if called in ("SUMIF", "AVERAGEIF") and len(arguments) == 3:
        arguments[2] = _shaped(arguments[0], arguments[2])
    if called == "TEXT" and _EXPONENT.search(arguments[-1]):
        name = f"{UNKNOWN}("
    return name + ",".join(arguments)


def _shaped(tested: str, summed: str) -> str:
    """The sum range as spreadsheet programs read it: from its first cell on, in the shape of the criteria range.

    The engine reads it so too, but doesn't see that these cells must be computed first.
    """
    one, other = reference(tested.strip()), reference(summed.strip())
    if one is None or other is None or one.is_foreign or other.is_foreign:
        return summed
    first, start, last = _filled(other.first, 1, 1), _filled(one.first, 1, 1), _filled(one.last, MAX_ROW, MAX_COLUMN)
    row = _end(first.row + last.row - start.row, start.row_fixed - first.row_fixed - last.row_fixed + 1, MAX_ROW)
    column = _end(
        first.column + last.column - start.column,
        start.column_fixed - first.column_fixed - last.column_fixed + 1,
        MAX_COLUMN,
    )
    if row is None or column is None:
        return summed
    return str(Reference(other.prefix, first, Corner(row[0], column[0], row[1], column[1]), True))


def _filled(end: Corner, row: int, column: int) -> Corner:
    """A corner of a reference with `row` for a whole column, or `column` for a whole row, fixed in copies."""
    return Corner(
        end.row or row, end.column or column, end.row_fixed or not end.row, end.column_fixed or not end.column
    )


def _end(number: int, moves: int, most: int) -> tuple[int, bool] | None:
    """A row or column that is `moves` further in the next copy, and whether `$` fixes it.

    None if it can't be expressed.
    """
    if number >= most:
        return most, True
    return (number, not moves) if moves in (0, 1) else None
