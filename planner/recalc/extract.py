"""A large sheet as small as the engine needs it: the formulas that it is asked for, and the columns that they read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from planner.recalc.scope import TOKEN, is_opaque, qualifiers
from planner.xlsx.address import column_letters, column_number, coordinates
from planner.xlsx.cellvalue import Value, written_value
from planner.xlsx.markup import escaped
from planner.xlsx.sheetname import folded, unquoted
from planner.xlsx.sheetxml import SheetXml

_START = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
_END = b"</sheetData></worksheet>"


def columns_read(texts: Iterable[tuple[str, str]], name: str, leading: Collection[str]) -> set[int] | None:
    """The columns of the sheet `name` that formulas, each given with its own sheet, read; None where it can't be told.

    `leading` are the defined names that may lead there, folded.
    """
    target, found = folded(name), set[int]()
    words = tuple(qualifiers([name]))
    for on, text in texts:
        plain = folded(text)
        if is_opaque(plain) or any(word in plain for word in leading):
            return None
        if folded(on) == target or any(word in plain for word in words):
            columns = _columns(text, on, target)
            if columns is None:
                return None
            found |= columns
    return found


def _columns(text: str, on: str, target: str) -> set[int] | None:
    found, at = set[int](), 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            return None
        at = token.end()
        left = token["left"] or token["first"]
        sheet = unquoted(token["sheet"]) if token["sheet"] else on
        if left is None or folded(sheet) != target:
            continue
        right = (token["last"] if token["first"] else token["right"]) or left
        low, high = sorted((column_number(left), column_number(right)))
        found.update(range(low, high + 1))
    return found


def extract(
    sheet: SheetXml, columns: Collection[int] | None, formulas: Mapping[str, str], changes: Mapping[str, Value]
) -> bytes:  # fmt: skip
    """A sheet's XML with these formulas, and besides with values alone: those of some columns, or of all.

    `changes` are what cells hold instead of what the file has, by address.
    """
    if columns is None:
        cells = {ref: cell.value for ref, cell in sheet.cells.items()}
    else:
        sheet.load(columns)
        letters = [column_letters(column) for column in columns]
        refs = (f"{column}{row}" for row in sheet.row_numbers for column in letters)
        cells = {ref: cell.value for ref in refs if (cell := sheet.cell(ref)) is not None}
    wanted = changes.keys() if columns is None else [ref for ref in changes if coordinates(ref)[1] in columns]
    cells |= {ref: changes[ref] for ref in wanted}
    rows: dict[int, list[tuple[int, bytes]]] = {}
    for ref in cells.keys() | formulas.keys():
        row, column = coordinates(ref)
        rows.setdefault(row, []).append((column, _cell(ref, cells.get(ref), formulas.get(ref))))
    body = (b'<row r="%d">%b</row>' % (row, b"".join(xml for _, xml in sorted(rows[row]))) for row in sorted(rows))
    return _START + b"".join(body) + _END


def _cell(ref: str, value: Value, formula: str | None) -> bytes:
    if formula is not None:
        return b'<c r="%b"><f>%b</f></c>' % (ref.encode(), escaped(formula).encode())
    if value is None:
        return b""
    type_, text = written_value(value)
    if type_ == "str":
        return b'<c r="%b" t="inlineStr"><is><t xml:space="preserve">%b</t></is></c>' % (ref.encode(), text)
    return b'<c r="%b" t="%b"><v>%b</v></c>' % (ref.encode(), type_.encode(), text)
