"""Removes cell values that the engine can't parse, one of which would make it refuse the whole workbook.

Such a cell becomes one without a value, and so do its dependents.
"""

from __future__ import annotations

import re
from dataclasses import replace

from planner.recalc.engine_formulas import UNKNOWN
from planner.xlsx.opc import Package

_CELL = re.compile(
    rb"""(<((?:[\w.-]+:)?)c\b[^<>]*?)\st="([^"<>]*)"([^<>]*(?<!/)>)((?:(?!</(?:[\w.-]+:)?c>).)*+)(?=</)""", re.DOTALL
)
_FORMULA = re.compile(rb"<(?:[\w.-]+:)?f\b[^<>]*(?:/>|>[^<]*</(?:[\w.-]+:)?f>)")
_VALUE = re.compile(rb"<(?:[\w.-]+:)?v>([^<]*)</")
_TEXTS = re.compile(rb"<(?:[\w.-]+:)?si[\s>/]")
_KINDS = frozenset({b"n", b"b", b"d", b"str", b"inlineStr"})
_ERRORS = frozenset({b"#DIV/0!", b"#N/A", b"#NAME?", b"#NULL!", b"#NUM!", b"#REF!", b"#VALUE!"})


def with_readable_values(package: Package) -> Package:
    """The package without cell values that are a missing shared string, an unknown error or an unknown type."""
    shared = package.linked(package.workbook_part(), "sharedStrings")
    n_texts = sum(len(_TEXTS.findall(package.parts[part])) for part in shared)

    def given(cell: re.Match[bytes]) -> bytes:
        before, prefix, kind, behind, content = cell.groups()
        value = _VALUE.search(content)
        text = value[1].strip() if value else b""
        if not text or kind in _KINDS or (kind == b"e" and text in _ERRORS):
            return cell[0]
        if kind == b"s" and text.isdigit() and int(text) < n_texts:
            return cell[0]
        formula = _FORMULA.search(content)
        name = prefix + b"f"
        return before + behind + (formula[0] if formula else b"<%b>%b()</%b>" % (name, UNKNOWN.encode(), name))

    sheets = {part: _CELL.sub(given, package.parts[part]) for part in package.sheets().values()}
    return replace(package, parts={**package.parts, **sheets})
