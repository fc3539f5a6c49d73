"""A formula copied down its column into thousands of rows: only the numbers of rows change from copy to copy."""

from __future__ import annotations

from typing import NamedTuple

from planner.xlsx.address import column_of, coordinates
from planner.xlsx.references import Corner, Reference, copied, reference, split


def moved(formula: str, origin: str, target: str) -> str:
    """The formula of `origin` (without =) as it reads in `target`; what would leave the sheet is #REF!."""
    (row, column), (to_row, to_column) = coordinates(origin), coordinates(target)
    return copied(formula, to_row - row, to_column - column)


class Downward(NamedTuple):
    """A formula that is copied down its column, into thousands of rows.

    `texts` stand around the numbers of rows that move along, each `by` so many rows below the copy; where there are no
    texts a whole row moves.
    """

    formula: str
    origin: str
    texts: tuple[str, ...]
    by: tuple[int, ...]

    def at(self, row: int) -> str:
        """The formula as it reads in a row below its origin, as `moved` has it."""
        if not self.texts:
            return moved(self.formula, self.origin, f"{column_of(self.origin)}{row}")
        if self.reads_own_row:
            return str(row).join(self.texts)
        numbers = (f"{row + offset}{text}" for offset, text in zip(self.by, self.texts[1:], strict=True))
        return self.texts[0] + "".join(numbers)

    @property
    def reads_own_row(self) -> bool:
        """Whether all that moves along with it is the number of its own row."""
        return bool(self.texts) and not any(self.by)


def downward(formula: str, origin: str) -> Downward:
    """The formula of `origin` (without =), ready to be copied down."""
    row, texts, by = coordinates(origin)[0], [""], list[int]()
    for at, text in enumerate(split(formula)):
        found = reference(text) if at % 2 else None
        if found is None:
            texts[-1] += text
            continue
        if not found.first.column:
            return Downward(formula, origin, (), ())
        texts[-1] += found.prefix
        for colon, corner in _corners(found):
            if corner.row_fixed or not corner.row:
                texts[-1] += f"{colon}{corner}"
            else:
                texts[-1] += f"{colon}{corner._replace(row=0)}"
                by.append(corner.row - row)
                texts.append("")
    return Downward(formula, origin, tuple(texts), tuple(by))


def _corners(found: Reference) -> list[tuple[str, Corner]]:
    """The corners, each with the colon before it."""
    return [("", found.first)] + ([(":", found.last)] if found.is_range else [])
