"""What an update kept and changed, as data and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields

from planner.number_text import few
from planner.recalc import Recalculated
from planner.terminal_table import counted

WIDE = 120  # characters of a line on which several sheets stand
FURTHER = 3  # times as many typed values are listed
SAID = "said"  # the key of the text that precedes a list


@dataclass
class Updated:
    """What an update kept of the user's work and what it changed.

    Each list is printed as one line, in the order of the fields.
    """

    typed: list[str] = field(default_factory=list, metadata={SAID: "Kept what is typed"})
    typed_over: list[str] = field(default_factory=list, metadata={SAID: "Kept, typed over a formula"})
    formulas: list[str] = field(default_factory=list, metadata={SAID: "Kept, formulas that you changed"})
    texts: list[str] = field(default_factory=list, metadata={SAID: "Kept, texts that you wrote"})
    own_sheets: list[str] = field(default_factory=list, metadata={SAID: "Kept, sheets of yours"})
    moments: list[str] = field(default_factory=list, metadata={SAID: "Kept as they were, values of one moment"})
    cleared: list[str] = field(default_factory=list, metadata={SAID: "Kept, cells that you emptied"})
    own_rows: list[str] = field(default_factory=list, metadata={SAID: "Kept, rows of yours"})
    repeated: list[str] = field(default_factory=list, metadata={SAID: "Kept, but the row with the same id counts"})
    kept_rows: list[str] = field(
        default_factory=list, metadata={SAID: "Kept for what you did there, rows that are no more"}
    )
    unasked: list[str] = field(default_factory=list, metadata={SAID: "Typed, but the template asks for it no more"})
    own_columns: list[str] = field(default_factory=list, metadata={SAID: "Kept, columns of yours"})
    new_sheets: list[str] = field(default_factory=list, metadata={SAID: "New sheets"})
    new_rows: list[str] = field(default_factory=list, metadata={SAID: "New rows"})
    gone_rows: list[str] = field(default_factory=list, metadata={SAID: "Rows that are no more"})
    numbers: list[str] = field(default_factory=list, metadata={SAID: "Newer numbers"})
    renewed: list[str] = field(default_factory=list, metadata={SAID: "Newer formulas and texts"})
    both: list[str] = field(default_factory=list, metadata={SAID: "Kept yours where planner's changed too"})
    mended: list[str] = field(default_factory=list, metadata={SAID: "Planner's again, formulas at #REF!"})
    links: list[str] = field(default_factory=list, metadata={SAID: "Led right again, links that led astray"})
    left_behind: int = 0  # formulas of planner's that read where cells of `moved_sheets` were before
    moved_sheets: set[str] = field(default_factory=set)
    own_cells: int = 0
    formats: int = 0
    notes: int = 0
    rules: int = 0
    times: int = 0
    remarks: list[str] = field(default_factory=list)
    is_needed: bool = True
    recalculated: Recalculated | None = None


def lines(updated: Updated, most: int | None = None, rest: str = "; --all lists them") -> list[str]:
    """The outcome as text, a line per kind of thing, with the first `most` items of each sheet (None for all).

    Typed values get three times as many, and those that no longer count are listed in full. `rest` is appended to the
    count of remarks left out, and says where they are.
    """
    if not updated.is_needed:
        return ["nothing to update"]
    note = f"; {updated.recalculated.note}" if updated.recalculated else ""
    found = {
        each.name: (each.metadata[SAID], getattr(updated, each.name))
        for each in fields(updated)
        if SAID in each.metadata
    }
    counts = {
        ("measured time", ""): updated.times,
        ("note", ""): updated.notes,
        ("cell", " in a format of yours"): updated.formats,
        ("cell", " of yours"): updated.own_cells,
        ("rule", " of yours"): updated.rules,
    }
    also = ", ".join(f"{counted(count, what)}{which}" for (what, which), count in counts.items() if count)
    if most is not None:
        found["renewed"] = found["renewed"][0], list(_counted(updated.renewed, most))
    further = {"unasked": None, "typed": most and FURTHER * most}
    listed = [f"{what}:{_listed(items, further.get(name, most))}" for name, (what, items) in found.items() if items]
    remarks = [*_left_behind(updated), *updated.remarks]
    looks = [f"Please look at: {remark}" for remark in remarks[:most]]
    if len(remarks) > len(looks):
        looks.append(f"and at {len(remarks) - len(looks):,} more{rest}")
    return [f"updated{note}", *listed, *([f"Kept also: {also}"] if also else []), *looks]


def _left_behind(updated: Updated) -> Iterator[str]:
    """The remark on formulas that were left behind when cells moved, if there are any."""
    if updated.left_behind:
        sheets, read = " and ".join(sorted(updated.moved_sheets)), counted(updated.left_behind, "formula")
        yield (
            f"on {sheets} cells were moved by a program that leaves formulas as they were, such as openpyxl: {read} of "
            "planner's read the right cells again, but yours may not; rather move them in Excel or LibreOffice, in the "
            "file of before"
        )


def _listed(items: Sequence[str], most: int | None) -> str:
    """The items as text, grouped by sheet; on separate lines where one line would be wider than WIDE."""
    sheets: dict[str, list[str]] = {}
    for item in items:
        sheet, mark, rest = _parted(item)
        sheets.setdefault(sheet if mark else "", []).append(rest if mark else item)
    groups = [_of_sheet(sheet, found, most) for sheet, found in sheets.items()]
    rows = [""]
    for text in groups:
        together = "; ".join(filter(None, (rows[-1], text)))
        rows[-1:] = [together] if len(together) <= WIDE or not rows[-1] else [rows[-1], text]
    return f" {rows[0]}" if len(rows) == 1 else "".join(f"\n    {row}" for row in rows)


def _counted(cells: Sequence[str], most: int) -> Iterator[str]:
    """The cells; for a sheet with more than `most`, only their count."""
    counts = Counter(_parted(cell)[0] for cell in cells)
    yield from (cell for cell in cells if counts[_parted(cell)[0]] <= most)
    yield from (f"{sheet}!{count:,} cells" for sheet, count in counts.items() if count > most)


def _parted(item: str) -> tuple[str, str, str]:
    """An item as (sheet, separator, rest), for `Sheet!A1` or `Sheet: name`; (item, "", "") where it names no sheet."""
    marks = [mark for mark in ("!", ": ") if mark in item.split(" (")[0]]
    return item.partition(min(marks, key=item.index)) if marks else (item, "", "")


def _of_sheet(sheet: str, items: Sequence[str], most: int | None) -> str:
    return (f"{sheet} " if sheet else "") + few(items, len(items) if most is None else most)
