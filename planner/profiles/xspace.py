"""The profiler's .xplane.pb read from its bytes: planes, lines, events and stats, in picoseconds.

A reader of our own, because JAX's ProfileData leaves out the stats of event metadata (hlo_category, flops,
bytes_accessed) and rounds to ns, and the xprof package brings fifty others. Fields as in
tsl/profiler/protobuf/xplane.proto. The file is mapped, and what was read of it is given back, so that one of
gigabytes takes no more memory than what is kept of it.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from planner.errors import Place, UserError
from planner.profiles import wire
from planner.profiles.wire import Fields
from planner.profiles.xspace_lines import (
    AnyLine,
    Event,
    EventLine,
    FileBytes,
    Kinds,
    KindsInMemory,
    Metadata,
    Stats,
    read_stats,
    scanned,
)

_SINCE_1970 = 10**21  # ps, some 30 years: a line that begins so late has a clock of the world, and not of the capture
REMEDY = "if it was copied as text or cut short, copy it again as binary"


@dataclass(frozen=True)
class Plane:
    """A device, or a host's threads."""

    name: str
    stats: Stats
    lines: tuple[AnyLine, ...]
    metadata: Metadata | KindsInMemory = field(repr=False)

    @property
    def kinds(self) -> Kinds:
        """Names and stats of its events' metadata, by id."""
        return self.metadata.kinds

    def line(self, *names: str) -> AnyLine | None:
        """The first line of one of these names."""
        return next((line for name in names for line in self.lines if line.name == name), None)


def host_events(planes: Iterable[Plane]) -> Iterator[Event]:
    """The events of all threads of the hosts."""
    lines = (line for plane in planes if plane.name.startswith("/host:") for line in plane.lines)
    return (event for line in lines for event in line.events)


def read(path: Path, told: Callable[[str], None] = lambda _: None) -> tuple[Plane, ...]:
    """The planes of a profile; `told` hears how far it is. Raises UserError when the file can't be read as one."""
    planes: tuple[Plane, ...] = ()
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            data = FileBytes(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")
        planes = _planes(data, told)
    except OSError as error:
        raise UserError(f"can't be read: {error.strerror}", place=Place(path)) from None
    except wire.DAMAGED:
        pass  # no profile, or a damaged one
    if not any(plane.name for plane in planes):
        raise UserError("this is not a profile (XSpace), or it is damaged", place=Place(path), remedy=REMEDY)
    return planes


def _planes(data: FileBytes, told: Callable[[str], None]) -> tuple[Plane, ...]:
    planes = []
    for number, begin, end in wire.messages(data.view, 0, len(data.view)):
        if number == 1:
            told(f"{end / max(len(data.view), 1):.0%} of the planes found")
            planes.append(_plane(data, begin, end))
    begins = [line.begin_ps for plane in planes for line in plane.lines if isinstance(line, EventLine)]
    base = min((begin for begin in begins if begin > _SINCE_1970), default=0)
    return tuple(_later(plane, base) for plane in planes) if base else tuple(planes)


def _later(plane: Plane, base: int) -> Plane:
    """A plane whose times since 1970 count from a later time: no number of 64 bits holds so many picoseconds."""
    lines = (
        replace(line, begin_ps=line.begin_ps - base) if isinstance(line, EventLine) and line.begin_ps >= base else line
        for line in plane.lines
    )
    return replace(plane, lines=tuple(lines))


def _plane(data: FileBytes, begin: int, end: int) -> Plane:
    """A plane between two places: what describes it is read, its lines are only found."""
    described: Fields = {}
    lines = []
    for number, low, high in wire.messages(data.view, begin, end):
        if number == 3:
            lines.append((low, high))
        elif number in (2, 6):
            described.setdefault(number, []).append(data.view[low:high])
    metadata = Metadata(data, begin, end)
    stats = read_stats(described.get(6, []), metadata.names)
    found = tuple(_line(data, low, high, metadata) for low, high in lines)
    made = Plane(wire.text(described, 2), stats, found, metadata)
    metadata.forget()
    return made


def _line(data: FileBytes, begin: int, end: int, metadata: Metadata) -> EventLine:
    """A line: its name and begin, which stand around its events."""
    described: Fields = {}
    for _, others, _ in scanned(data, begin, end):
        for low, high in others:
            for number, value in wire.fields(data.view[low:high]):
                described.setdefault(number, []).append(value)
    begin_ps = wire.number(described, 3) * 1000  # the line's timestamp is in ns, its events' offsets in ps
    return EventLine(wire.text(described, 2) or wire.text(described, 11), begin_ps, metadata, data, (begin, end))
