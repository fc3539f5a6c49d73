"""The rows of a table that hold the same formulas, each reading its own row: found once, computed together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planner.xlsx.sheetxml import SheetXml

OWN_ROW = b"\1"  # in a pattern: the number of the formula's own row; no XML holds this character
_PLAIN = re.compile(rb'<c r="([A-Z]+)[0-9]+"(?: [\w:]+="[^"<]*")*><f(?: aca="[a-z0-9]+")?>([^<]*)</f>')
_BETWEEN = b"\n<"  # a formula, as the file has it, holds no <


class LikeRows(NamedTuple):
    """Rows that are alike: in each column the pattern of its formula, and the numbers of the rows."""

    patterns: Mapping[str, bytes]
    numbers: list[int]


def like_rows(sheet: SheetXml) -> list[LikeRows] | None:
    """The rows of a sheet that hold formulas; None where not every formula is a plain one, written as usual."""
    if not sheet.is_plain:
        return None
    xml, found, n_formulas = sheet.xml, dict[bytes, list[int]](), 0
    for number, start, end in sheet.row_spans:
        formulas = _PLAIN.findall(xml, start, end)
        if formulas:
            n_formulas += len(formulas)
            key = _BETWEEN.join([column + _BETWEEN + text for column, text in formulas])
            found.setdefault(key.replace(b"%d" % number, OWN_ROW), []).append(number)
    if n_formulas != sheet.n_formulas:
        return None
    return [LikeRows(dict(_pairs(key.split(_BETWEEN))), numbers) for key, numbers in found.items()]


def grouped(formulas: Iterable[tuple[int, Mapping[str, bytes]]]) -> list[LikeRows]:
    """Rows of formulas, as the file would have them, by what they hold; each is given with its number."""
    found: dict[tuple[tuple[str, bytes], ...], list[int]] = {}
    for number, texts in formulas:
        digits = b"%d" % number
        key = tuple([(column, text.replace(digits, OWN_ROW)) for column, text in texts.items()])
        found.setdefault(key, []).append(number)
    return [LikeRows(dict(key), numbers) for key, numbers in found.items()]


def _pairs(pieces: list[bytes]) -> Iterable[tuple[str, bytes]]:
    return zip((column.decode() for column in pieces[::2]), pieces[1::2], strict=True)
