"""Planes, lines and events as plain data, from whatever format of a profile; times are in picoseconds."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from planner.profiles.wire import Value

Stats = dict[str, Value]
Integers = npt.NDArray[np.int64]
Kinds = dict[int, tuple[str, Stats]]


@dataclass(frozen=True)
class Plane:
    """A device, or the threads of a host."""

    name: str
    stats: Stats
    lines: tuple[AnyLine, ...]
    kinds: Callable[[], Kinds] = field(repr=False)  # the names and stats of its events' metadata, by id
    forget: Callable[[], None] = field(default=lambda: None, repr=False)  # frees what can be reread

    def line(self, *names: str) -> AnyLine | None:
        """The first line with one of these names."""
        return next((line for name in names for line in self.lines if line.name == name), None)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that ran: name, begin and duration in ps, its stats over those of its metadata."""

    name: str
    start_ps: int
    duration_ps: int
    stats: Stats

    @property
    def end_ps(self) -> int:
        """When it ended, in ps."""
        return self.start_ps + self.duration_ps


class EventBlock(NamedTuple):
    """Some events of a line in its order: their metadata's id, begin and end in ps, one array each."""

    kinds: Integers
    begin: Integers
    end: Integers


class AnyLine(Protocol):
    """Events of one thread, stream or queue, from whatever format."""

    @property
    def name(self) -> str:
        """What the file calls it."""

    @property
    def kinds(self) -> Kinds:
        """The names and stats shared by events, by id."""

    @property
    def events(self) -> Iterator[Event]:
        """Each event with all its stats."""

    def blocks(self) -> Iterator[EventBlock]:
        """The events without their own stats, in blocks."""


class Columns:
    """Rows of whole numbers that are added one by one, kept as columns."""

    def __init__(self, count: int) -> None:
        self._columns = tuple(array("q") for _ in range(count))

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, *row: int) -> None:
        """Add a row."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)

    def arrays(self) -> list[Integers]:
        """The columns as arrays."""
        return [np.array(column, np.int64) for column in self._columns]


def host_events(planes: Iterable[Plane]) -> Iterator[Event]:
    """The events of all host threads."""
    lines = (line for plane in planes if plane.name.startswith("/host:") for line in plane.lines)
    return (event for line in lines for event in line.events)
