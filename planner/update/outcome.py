"""What an update kept and changed, as data and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.recalc import Recalculated
from planner.spoken import few


@dataclass
class Updated:
    """What became of the workbook: a person's work that stands in the new one, and what planner changed."""

    typed: list[str] = field(default_factory=list)
    typed_over: list[str] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)
    both: list[str] = field(default_factory=list)
    own_cells: int = 0
    formats: int = 0
    renewed: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    own_sheets: list[str] = field(default_factory=list)
    moments: list[str] = field(default_factory=list)
    own_rows: list[str] = field(default_factory=list)
    own_columns: list[str] = field(default_factory=list)
    kept_rows: list[str] = field(default_factory=list)
    unasked: list[str] = field(default_factory=list)
    new_rows: list[str] = field(default_factory=list)
    gone_rows: list[str] = field(default_factory=list)
    new_sheets: list[str] = field(default_factory=list)
    notes: int = 0
    rules: int = 0
    remarks: list[str] = field(default_factory=list)
    is_needed: bool = True
    recalculated: Recalculated | None = None


def lines(updated: Updated, most: int | None = None, rest: str = "; --all lists them") -> list[str]:
    """A line for each kind of thing, with the first `most` of each sheet; None for all.

    What a person typed and counts no more is listed in full; `rest` says where what is left out of the remarks is.
    """
    if not updated.is_needed:
        return ["nothing to update"]
    note = f"; {updated.recalculated.note}" if updated.recalculated else ""
    said = [
        ("Kept what is typed", updated.typed),
        ("Kept, typed over a formula", updated.typed_over),
        ("Kept, formulas that you changed", updated.formulas),
        ("Kept, texts that you wrote", updated.texts),
        ("Kept, sheets of yours", updated.own_sheets),
        ("Kept as they were, values of one moment", updated.moments),
        ("Kept, cells that you emptied", updated.cleared),
        ("Kept, rows of yours", updated.own_rows),
        ("Kept for what you did there, rows that are no more", updated.kept_rows),
        ("Typed, but the template asks for it no more", updated.unasked),
        ("Kept, columns of yours", updated.own_columns),
        ("New sheets", updated.new_sheets),
        ("New rows", updated.new_rows),
        ("Rows that are no more", updated.gone_rows),
        ("Newer numbers", updated.numbers),
        ("Newer formulas and texts", updated.renewed),
        ("Kept yours where planner's changed too", updated.both),
    ]
    counts = {
        "note": updated.notes,
        "cell in a format of yours": updated.formats,
        "cell of yours": updated.own_cells,
        "rule of yours": updated.rules,
    }
    also = ", ".join(f"{count:,} {_plural(what, count)}" for what, count in counts.items() if count)
    listed = [f"{what}: {_listed(items, None if items is updated.unasked else most)}" for what, items in said if items]
    looks = [f"Please look at: {remark}" for remark in updated.remarks[:most]]
    if len(updated.remarks) > len(looks):
        looks.append(f"and at {len(updated.remarks) - len(looks):,} more{rest}")
    return [f"updated{note}", *listed, *([f"Kept also: {also}"] if also else []), *looks]


def _listed(items: Sequence[str], most: int | None) -> str:
    """The things, those of one sheet together and counted."""
    sheets: dict[str, list[str]] = {}
    for item in items:
        sheet, mark, rest = _parted(item)
        sheets.setdefault(sheet if mark else "", []).append(rest if mark else item)
    return "; ".join(_of_sheet(sheet, found, most) for sheet, found in sheets.items())


def _parted(item: str) -> tuple[str, str, str]:
    """A cell's sheet and address, a row's sheet and name; no sheet where a thing names none."""
    marks = [mark for mark in ("!", ": ") if mark in item.split(" (")[0]]
    return item.partition(marks[0]) if marks else (item, "", "")


def _of_sheet(sheet: str, items: Sequence[str], most: int | None) -> str:
    return (f"{sheet} " if sheet else "") + few(items, len(items) if most is None else most)


def _plural(what: str, count: int) -> str:
    first, blank, rest = what.partition(" ")
    return what if count == 1 else f"{first}s{blank}{rest}"
