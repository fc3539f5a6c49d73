"""Notes whose row stands on another sheet now: each follows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planner.book.notes import Note
from planner.update.pairing import Pair
from planner.xlsx.address import address, coordinates


@dataclass(frozen=True)
class Way:
    """A note whose row is not on its sheet any more: the cell that it follows it to, or None, and what to say of it."""

    note: Note
    target: tuple[str, str] | None
    said: str


def ways(pair: Pair, notes: Iterable[Note]) -> list[Way]:
    """The notes that have lost their row. One stays where no such cell is on the other sheet, or has a note already."""
    notes = list(notes)
    kinds = {pair.old.sheets[kind].sheet.name: kind for kind in pair.kinds}
    lost = [note for note in notes if note.sheet in kinds
            and coordinates(note.ref)[0] in pair.tracks[kinds[note.sheet]].gone_rows]  # fmt: skip
    taken = {_after(pair, note) for note in notes if note not in lost}
    found: list[Way] = []
    for note in lost:
        kind = kinds[note.sheet]
        named = pair.old.sheets[kind].rows.get(coordinates(note.ref)[0], "")
        who, target = f"the note on {note.sheet}!{note.ref} ({named})", _target(pair, kind, note, named)
        if target is not None and target not in taken:
            taken.add(target)
            found.append(Way(note, target, f"{who} is at {'!'.join(target)} now"))
            continue
        home = pair.homes(kind).get(named)
        where = f"is on {pair.names[home]}" if home else "is no more"
        found.append(Way(note, None, f"{who} is at {'!'.join(_after(pair, note))}: its row {where}"))
    return found


def _after(pair: Pair, note: Note) -> tuple[str, str]:
    """Where a note is in the end that stays on its sheet."""
    moves = pair.old.moves.of(note.sheet)
    return moves.name, address(*moves.cell(*coordinates(note.ref)))


def _target(pair: Pair, kind: str, note: Note, named: str) -> tuple[str, str] | None:
    """The sheet and the cell of the note's row and column on the sheet that has them now."""
    home = pair.homes(kind).get(named)
    column = pair.old.sheets[kind].columns.get(coordinates(note.ref)[1], "")
    if home is None or column not in pair.fresh.sheets[home].column_of:
        return None
    row = pair.tracks[home].fresh_rows(pair.fresh.sheets[home].row_of[named])
    return pair.names[home], address(row, pair.column(home, column))
