"""User errors: one line with what is wrong, where, and the remedy."""

from __future__ import annotations

import difflib
import heapq
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_COMPARED = 4000  # most names to compare a text with
NEAR = 0.6  # least similarity of a text to the name that was meant


@dataclass(frozen=True)
class Place:
    """The location of an error: a file, and in it a 1-based line and column, a sheet or a cell."""

    path: str | Path | None = None
    line: int | None = None
    column: str | int | None = None
    cell: str | None = None
    sheet: str | None = None

    def __str__(self) -> str:
        parts = [] if self.path is None else [str(self.path)]
        parts += [] if self.line is None else [f"line {self.line}"]
        parts += [] if self.column is None else [f"column {self.column}"]
        parts += [] if self.sheet is None else [f"sheet {self.sheet}"]
        parts += [] if self.cell is None else [f"cell {self.cell}"]
        return ", ".join(parts)


class UserError(Exception):
    """An error in the user's input. The command prints it as one line and exits with 2.

    `what` says what is wrong, `place` where, `remedy` what to do about it.
    """

    def __init__(self, what: str, *, place: Place | None = None, remedy: str = "") -> None:
        self.what, self.place, self.remedy = what, place, remedy
        super().__init__(self.line())

    def at(self, place: Place) -> UserError:
        """The same error with a place."""
        return UserError(self.what, place=place, remedy=self.remedy)

    def line(self) -> str:
        """The whole message on one line: `place: what; remedy`."""
        where = f"{self.place}: " if self.place and str(self.place) else ""
        then = f"; {self.remedy}" if self.remedy else ""
        return " ".join(f"{where}{self.what}{then}".split())


@contextmanager
def placed(place: Place) -> Iterator[None]:
    """Meanwhile a UserError gets this place."""
    try:
        yield
    except UserError as error:
        raise error.at(place) from None


def closest(name: str, known: Iterable[str], count: int = 4, cutoff: float = 0.3) -> list[str]:
    """Up to `count` known names most similar to a text, ignoring case, most similar first.

    Names that begin with the text come first: h200 means h200-sxm, not h20. `cutoff` is the least similarity, from 0 to
    1.
    """
    lowered = {known_name.lower(): known_name for known_name in sorted(set(known))}
    possible, name = list(lowered), name.lower()
    if len(possible) > _COMPARED:  # comparing takes about 10 us per name: prefilter very many by first letters
        possible.sort()
        at = max(0, bisect_left(possible, name) - _COMPARED // 2)
        possible = possible[at : at + _COMPARED]
    alike = difflib.get_close_matches(name, possible, n=count, cutoff=cutoff)
    return [lowered[match] for match in sorted(alike, key=lambda match: not match.startswith(name))]


def nearest(name: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """The remedy that suggests the nearest known name; if none is similar `otherwise`, or else a list of a few."""
    names = set(known)
    close = closest(name, names, 3, NEAR)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    if otherwise is not None:
        return otherwise
    shown = ", ".join(heapq.nsmallest(8, names)) + (", ..." if len(names) > 8 else "")
    return f"known: {shown}" if names else ""
