"""Notes whose row stands on another sheet now: each follows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planner.book.notes import Note
from planner.update.threeway import ThreeWay
from planner.xlsx.address import address, coordinates


@dataclass(frozen=True)
class Way:
    """A note whose row is not on its sheet any more: the cell that it follows it to, or None, and what to say of it."""

    note: Note
    target: tuple[str, str] | None
    said: str


def ways(merge: ThreeWay, notes: Iterable[Note]) -> list[Way]:
    """The notes that have lost their row. One stays where no such cell is on the other sheet, or has a note already."""
    notes = list(notes)
    kinds = {merge.ours.sheets[kind].sheet.name: kind for kind in merge.kinds}
    lost = [note for note in notes if note.sheet in kinds
            and coordinates(note.ref)[0] in merge.tracks[kinds[note.sheet]].gone_rows]  # fmt: skip
    taken = {_after(merge, note) for note in notes if note not in lost}
    found: list[Way] = []
    for note in lost:
        kind = kinds[note.sheet]
        named = merge.ours.sheets[kind].rows.get(coordinates(note.ref)[0], "")
        who, target = f"the note on {note.sheet}!{note.ref} ({named})", _target(merge, kind, note, named)
        if target is not None and target not in taken:
            taken.add(target)
            found.append(Way(note, target, f"{who} is at {'!'.join(target)} now"))
            continue
        home = merge.homes(kind).get(named)
        where = f"is on {merge.names[home]}" if home else "is no more"
        found.append(Way(note, None, f"{who} is at {'!'.join(_after(merge, note))}: its row {where}"))
    return found


def _after(merge: ThreeWay, note: Note) -> tuple[str, str]:
    """Where a note is in the end that stays on its sheet."""
    moves = merge.ours.moves.of(note.sheet)
    return moves.name, address(*moves.cell(*coordinates(note.ref)))


def _target(merge: ThreeWay, kind: str, note: Note, named: str) -> tuple[str, str] | None:
    """The sheet and the cell of the note's row and column on the sheet that has them now."""
    home = merge.homes(kind).get(named)
    column = merge.ours.sheets[kind].columns.get(coordinates(note.ref)[1], "")
    if home is None or column not in merge.fresh.sheets[home].column_of:
        return None
    row = merge.tracks[home].fresh_rows(merge.fresh.sheets[home].row_of[named])
    return merge.names[home], address(row, merge.column(home, column))
