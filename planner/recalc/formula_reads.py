"""What formulas read, found in their text: other sheets, areas and names. A sheet's
formulas are searched as one text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from planner.xlsx.address import Area, folded, in_quotes, quoted, unquoted
from planner.xlsx.markup import unescaped
from planner.xlsx.opc import Package
from planner.xlsx.references import pieces
from planner.xlsx.workbook_part import tables
from planner.xlsx.xmltree import every

_END = "\0"  # separates formulas: a character that XML doesn't allow
_COMPUTED = frozenset({"indirect", "offset", "sumif", "averageif"})
"""Functions that compute an address, or read beyond it: SUMIF(A1:A9,1,B1) adds up B1:B9."""
_BETWEEN = frozenset(":!#")  # operators that form a range: A1:INDEX(...), S!$a$1, A1#
_SIGNS = ("[", *(f"{name}(" for name in _COMPUTED))  # an opaque formula contains one of these, in lower case
_RANGE_SIGNS = re.compile(  # alternatives begin with a fixed character, which is fast to search
    r":(?:(?<=[\s)]:)|[^!\0\"]*'!|[\w.]*!|[\s($]*(?:\(|[a-z_][\w.]*\()|\s)|#(?<=\d#)"
)
_MAY_BE_SMALL = re.compile(r"!\$?[A-Za-z]*[a-z]")  # Comparison!hk6, which is a cell, or a sheet's own name


class Reads(NamedTuple):
    """What a formula reads, in lower case: other sheets, areas of them, and names.

    `is_opaque` if this can't be determined.
    """

    sheets: frozenset[str]
    areas: frozenset[tuple[str, Area]]
    names: frozenset[str]
    is_opaque: bool


@lru_cache(maxsize=1 << 14)
def reads_of(formula: str) -> Reads:
    """What a formula, without its =, reads."""
    found = pieces(formula)
    references = [piece.reference for piece in found if piece.reference is not None]
    words = [folded(piece.text.rstrip("(")) for piece in found if piece.kind in ("name", "function")]
    sheets = [reference.sheet for reference in references] + [unquoted(word.rpartition("!")[0]) for word in words]
    is_opaque = any(
        piece.kind == "table"
        or (piece.kind == "name" and set("[:!") & set(piece.text))
        or (piece.kind == "operator" and piece.text in _BETWEEN)
        for piece in found
    )
    return Reads(
        frozenset(folded(sheet) for sheet in sheets if sheet),
        frozenset((folded(each.sheet), each.area) for each in references if each.sheet),
        frozenset(word.rpartition("!")[2] for word in words),
        is_opaque or not _COMPUTED.isdisjoint(words) or any(reference.is_foreign for reference in references),
    )


def may_read_further(formula: str) -> bool:
    """Whether a formula may read other cells than those that it names."""
    return _is_likely(formula, folded(formula)) and reads_of(formula).is_opaque


def _is_likely(plain: str, low: str) -> bool:
    """Whether some formulas, given as text and as folded text, may be opaque and need a closer look."""
    return any(sign in low for sign in _SIGNS) or bool(_RANGE_SIGNS.search(low) or _MAY_BE_SMALL.search(plain))


@dataclass(frozen=True)
class SheetFormulas:
    """The formulas of a sheet with their folded text; only those that contain a searched word are parsed."""

    plain: str
    low: str

    @property
    def is_opaque(self) -> bool:
        """Whether any formula's references can't be determined."""
        return _is_likely(self.plain, self.low) and any(
            reads_of(plain).is_opaque for plain, low in self._lines if _is_likely(plain, low)
        )

    def mention(self, sheets: Collection[str], names: Collection[str]) -> bool:
        """Whether any formula reads a cell of these sheets, or uses one of the names."""
        return any(
            not reads.sheets.isdisjoint(sheets) or not reads.names.isdisjoint(names)
            for reads in self._having([*map(in_quotes, sheets), *names])
        )

    def areas(self, sheet: str) -> set[Area]:
        """The areas of `sheet` that they read."""
        return {area for reads in self._having([in_quotes(sheet)]) for on, area in reads.areas if on == sheet}

    def _having(self, words: Collection[str]) -> Iterator[Reads]:
        """What the formulas read that contain one of these words."""
        if any(word in self.low for word in words):
            yield from (reads_of(plain) for plain, low in self._lines if any(word in low for word in words))

    @cached_property
    def _lines(self) -> set[tuple[str, str]]:
        return set(zip(self.plain.split(_END), self.low.split(_END), strict=True))


def formulas_of(formulas: Iterable[bytes]) -> SheetFormulas:
    """The formulas given as XML text."""
    text = unescaped(_END.encode().join(formulas).decode())
    return SheetFormulas(text, folded(text))


def names_of(package: Package) -> dict[str, Reads]:
    """The workbook's defined names and tables, folded, with what each reads."""
    defined = {
        folded(element.get("name", "")): reads_of(element.text or "")
        for element in every(package.tree(package.workbook_part()), "definedName")
    }
    return defined | {folded(table.name): reads_of(f"{quoted(table.sheet)}!{table.area}") for table in tables(package)}


def readers(
    texts: Mapping[str, SheetFormulas], changed: Collection[str], names: Mapping[str, Reads]
) -> tuple[set[str], set[str]]:
    """All sheets that depend on the `changed` ones, including these, and the defined names that refer to them."""
    reached = set(changed)
    while True:
        sheets = frozenset(map(folded, reached))
        leading = leading_to(names, sheets)
        found = {name for name in texts.keys() - reached if texts[name].mention(sheets, leading)}
        if not found:
            return reached, leading
        reached |= found


def leading_to(names: Mapping[str, Reads], sheets: Collection[str]) -> set[str]:
    """The names that refer to one of these sheets, directly or through other names."""
    leading = set[str]()
    while more := {
        name
        for name, reads in names.items()
        if name not in leading
        and (reads.is_opaque or not reads.sheets.isdisjoint(sheets) or not reads.names.isdisjoint(leading))
    }:
        leading |= more
    return leading
