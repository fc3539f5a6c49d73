"""Pairs the rows or columns of a sheet that have no name by what they hold, as the lines of two texts in a diff."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from difflib import SequenceMatcher

from planner.align.matched import Matched, Token


def align(one: Matched, two: Matched, *, by_row: bool) -> None:
    """Give unnamed rows (or columns) equal tokens on both sides where their contents match."""
    ours, theirs = (list(_unnamed(side, by_row=by_row)) for side in (one, two))
    known, also = (side.rows if by_row else side.columns for side in (one, two))
    known.update({number: ("own", number) for number, _ in ours})
    added: Numbered = []
    for here, there, is_paired in _blocks(ours, theirs):
        if is_paired:
            also.update({other: ("own", number) for (number, _), (other, _) in zip(here, there, strict=True)})
        else:
            _pair(here, there, also)
            added += ((other, text) for other, text in there if other not in also)
    kept = set(also.values())
    _pair_moved([each for each in ours if known[each[0]] not in kept], added, also)
    also.update({other: ("added", other) for other, _ in added if other not in also})


Numbered = list[tuple[int, str]]
"""Rows or columns: number and content as one text."""


def _blocks(ours: Numbered, theirs: Numbered) -> Iterator[tuple[Numbered, Numbered, bool]]:
    """Both lists cut into the blocks of a diff, with whether the entries of a block pair up one to one."""
    texts, others = ([text for _, text in numbered] for numbered in (ours, theirs))
    if texts == others:
        yield ours, theirs, True
        return
    matcher = SequenceMatcher(None, texts, others, autojunk=False)
    for how, start, stop, other_start, other_stop in matcher.get_opcodes():
        here, there = ours[start:stop], theirs[other_start:other_stop]
        yield here, there, how == "equal" or (how == "replace" and len(here) == len(there))


def _pair(here: Numbered, there: Numbered, also: dict[int, Token]) -> None:
    """Pair rows of two blocks of different lengths whose first cell is equal: lines of which a number changed."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for number, text in here:
        waiting[text.split("\t")[0]].append(number)
    for other, text in there:
        if numbers := waiting.get(text.split("\t")[0]):
            also[other] = ("own", numbers.pop(0))


def _pair_moved(gone: Numbered, added: Numbered, also: dict[int, Token]) -> None:
    """Pair removed and added rows of equal content, where it is unique on both sides: such a row was moved."""
    counts = [Counter(text for _, text in each) for each in (gone, added)]
    before = {text: number for number, text in gone if counts[0][text] == counts[1][text] == 1}
    also.update({number: ("own", before[text]) for number, text in added if text in before})


def _unnamed(side: Matched, *, by_row: bool) -> Iterator[tuple[int, str]]:
    """Yields each row (or column) that has content but no token, with its content as one text."""
    sheet, known = side.sheet, side.rows if by_row else side.columns
    if all(number in known for number in (side.filled_rows if by_row else side.filled_columns)):
        return
    contents: dict[int, list[str]] = defaultdict(list)
    for at in sorted(side.filled):
        number = at[0] if by_row else at[1]
        if number not in known and (by_row or at[1] not in side.columns_within.get(at[0], ())):
            contents[number].append("=" if at in sheet.patterns else str(sheet.value(*at)))
    for area in side.arrays:
        numbers = area.rows if by_row else area.columns
        for number in (number for number in numbers if number not in known):
            contents[number].append(f"={number - numbers[0]}")
    for number in sorted(contents):
        yield number, "\t".join(contents[number])
