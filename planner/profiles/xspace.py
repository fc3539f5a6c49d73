"""Reads the profiler's .xplane.pb: planes, lines, events and stats, in picoseconds.

A reader of our own, because JAX's ProfileData omits the stats of event metadata (hlo_category, flops, bytes_accessed)
and rounds to ns, and the xprof package brings fifty dependencies. Fields as in tsl/profiler/protobuf/xplane.proto. The
file is memory-mapped and pages already read are released, so that a file of gigabytes takes no more memory than the
data that is kept.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.errors import Place, UserError
from planner.profiles import wire
from planner.profiles.planes import Event, EventBlock, Integers, Kinds, Plane, Stats
from planner.profiles.wire import Fields, Value

BLOCK = 2 << 20  # bytes of events to read at once
EVENT = 4 << 3 | 2  # protobuf tag of a line's events
_SINCE_1970 = 10**21  # ps, some 30 years: a line that begins later uses Unix time instead of the capture's
REMEDY = "if it was copied as text or cut short, copy it again as binary"


def read(path: Path, progress_to: Callable[[str], None] = lambda _: None) -> tuple[Plane, ...]:
    """The planes of a profile. `progress_to` is called with progress messages.

    Raises UserError if the file isn't a profile.
    """
    planes: tuple[Plane, ...] = ()
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            data = _FileBytes(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")
        planes = _planes(data, progress_to)
    except OSError as error:
        raise UserError(f"can't be read: {error.strerror}", place=Place(path)) from None
    except wire.DAMAGED:
        pass  # not a profile, or damaged
    if not any(plane.name for plane in planes):
        raise UserError("this is not a profile (XSpace), or it is damaged", place=Place(path), remedy=REMEDY)
    return planes


def _planes(data: _FileBytes, progress_to: Callable[[str], None]) -> tuple[Plane, ...]:
    planes, seen = [], 0
    for number, view in wire.messages(data.view):
        seen += len(view)
        if number == 1:
            progress_to(f"{seen / len(data.view):.0%} of the planes found")
            planes.append(_plane(data, view))
    begins = [line.begin_ps for plane in planes for line in plane.lines if isinstance(line, EventLine)]
    base = min((begin for begin in begins if begin > _SINCE_1970), default=0)
    return tuple(_later(plane, base) for plane in planes) if base else tuple(planes)


def _later(plane: Plane, base: int) -> Plane:
    """The plane with its times relative to a later origin, since picoseconds since 1970 don't fit into 64 bits."""
    lines = (
        replace(line, begin_ps=line.begin_ps - base) if isinstance(line, EventLine) and line.begin_ps >= base else line
        for line in plane.lines
    )
    return replace(plane, lines=tuple(lines))


def _plane(data: _FileBytes, view: memoryview) -> Plane:
    """A plane from its message: what describes it is read, its lines are only found."""
    described: Fields = {}
    for number, value in wire.messages(view):
        if number in (2, 3, 6):
            described.setdefault(number, []).append(value)
    metadata = _Metadata(data, view)
    stats = _read_stats(described.get(6, []), metadata.names)
    found = tuple(_line(data, line, metadata) for line in described.get(3, []))
    made = Plane(wire.text(described, 2), stats, found, lambda: metadata.kinds, metadata.forget)
    metadata.forget()
    return made


def _line(data: _FileBytes, view: memoryview, metadata: _Metadata) -> EventLine:
    """A line from its message: its name and begin, which are stored before and after its events."""
    described: Fields = {}
    for _, others, _ in _scanned(data, view):
        for number, value in others:
            described.setdefault(number, []).append(value)
    begin_ps = wire.number(described, 3) * 1000  # the line's timestamp is in ns, its events' offsets in ps
    return EventLine(wire.text(described, 2) or wire.text(described, 11), begin_ps, metadata, data, view)


class _FileBytes:
    """The bytes of a file as they are needed."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self._mapped = data
        self.view = memoryview(data)

    def release(self) -> None:
        """Give the memory back that holds what was read of a mapped file; it can be read again."""
        if isinstance(self._mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True)
class EventLine:
    """The events of one thread, stream or queue, read on demand."""

    name: str
    begin_ps: int
    _metadata: _Metadata = field(repr=False)
    _data: _FileBytes = field(repr=False)
    _view: memoryview = field(repr=False)  # its message

    @property
    def kinds(self) -> Kinds:
        """The names and stats shared by its plane's events, by id."""
        return self._metadata.kinds

    @property
    def events(self) -> Iterator[Event]:
        """Each event, with all its stats."""
        for blob in self._blobs():
            event = wire.grouped(blob)
            name, shared = self._metadata.kinds.get(wire.number(event, 1), ("", {}))
            stats = shared | _read_stats(event.get(4, []), self._metadata.names)
            begin = self.begin_ps + wire.signed(wire.number(event, 2))
            yield Event(name, begin, wire.number(event, 3), stats)

    def blocks(self) -> Iterator[EventBlock]:
        """The events without their own stats, in blocks; a hundred times as fast as `events`."""
        for tags, _, after in _scanned(self._data, self._view):
            if not tags:
                continue
            low = tags[0]
            data = np.frombuffer(bytes(self._view[low:after]) + bytes(16), np.uint8)
            at = np.array(tags, np.int64) - low
            size, at = _varints(data, at, np.full(len(at), after - low), EVENT)
            end = at + size
            found = []
            for tag in (1 << 3, 2 << 3, 3 << 3):  # the fields are optional but in order
                value, at = _varints(data, at, end, tag)
                found.append(value)
            kinds, offset, duration = found
            begin = offset + self.begin_ps
            yield EventBlock(kinds, begin, begin + duration)

    def _blobs(self) -> Iterator[memoryview]:
        for tags, _, _ in _scanned(self._data, self._view):
            for tag in tags:
                size, at = wire.varint(self._view, tag + 1)
                yield self._view[at : at + size]


class _Metadata:
    """The metadata of a plane's events, read on demand because a pod's profile has thousands of planes."""

    def __init__(self, data: _FileBytes, plane: memoryview) -> None:
        self._data, self._plane = data, plane

    def _blobs(self, wanted: int) -> list[memoryview]:
        """The plane message's fields with this number."""
        return [value for number, value in wire.messages(self._plane) if number == wanted]

    @cached_property
    def names(self) -> dict[int, str]:
        """The names of stats, by id."""
        return {key: wire.text(value, 2) for key, value in wire.entries(self._blobs(5))}

    @cached_property
    def kinds(self) -> Kinds:
        """The names and stats of events, by id."""
        return {key: _kind(value, self.names) for key, value in wire.entries(self._blobs(4))}

    def forget(self) -> None:
        """Release the memory; the metadata is read again if needed."""
        self.__dict__.pop("kinds", None)
        self.__dict__.pop("names", None)
        self._data.release()


def _scanned(data: _FileBytes, view: memoryview) -> Iterator[tuple[list[int], list[tuple[int, Any]], int]]:
    """For successive chunks of a line: where events begin, its other fields, and where the last event ends.

    A chunk's memory is released when the next one is requested.
    """
    at, end = 0, len(view)
    while at < end:
        events: list[int] = []
        others: list[tuple[int, Any]] = []
        stop = min(at + BLOCK, end)
        while at < stop:
            if view[at] == EVENT:
                events.append(at)
                size = view[at + 1]
                if size < 0x80:
                    at += size + 2
                else:
                    size, at = wire.varint(view, at + 1)
                    at += size
            else:
                number, value, at = wire.field(view, at)
                others.append((number, value))
        if at > end:
            raise ValueError("a field longer than its message")
        yield events, others, at
        data.release()


def _varints(data: npt.NDArray[np.uint8], at: Integers, end: Integers, tag: int) -> tuple[Integers, Integers]:
    """The varint after a tag at each position that has the tag, else 0; and the positions after them."""
    has = (at < end) & (data[at] == tag)
    at = at + has
    value = np.zeros(len(at), np.int64)
    more = has
    for shift in range(0, 70, 7):
        if not more.any():
            return value, at
        byte = data[at]
        value |= np.where(more, (byte & 0x7F).astype(np.int64) << shift, 0)
        at = at + more
        more = more & (byte > 0x7F)
        if (at > end).any():
            raise ValueError("a field longer than its message")
    raise ValueError("a varint of more than ten bytes")


def _kind(found: Fields, names: dict[int, str]) -> tuple[str, Stats]:
    """What all events of one metadata entry have in common: name and stats. The display name is stored as a stat."""
    stats = _read_stats(found.get(5, []), names)
    if shown := wire.text(found, 4):
        stats.setdefault("display_name", shown)
    return wire.text(found, 2), stats


def _read_stats(blobs: list[Any], names: dict[int, str]) -> Stats:
    """The stats by name; a reference is replaced by the name of the stat it refers to."""
    found: Stats = {}
    for blob in blobs:
        parts = dict(wire.fields(blob))
        key = parts.pop(1, 0)
        for number, raw in parts.items():  # a single field: its number is the value's type
            found[names.get(key, str(key))] = _value(number, raw, names)
    return found


def _value(number: int, raw: Any, names: dict[int, str]) -> Value:
    """A stat's value according to its field number: 2 double, 3 uint64, 4 int64, 5 text, 6 bytes, 7 name of a stat."""
    match number:
        case 2:
            return float(struct.unpack("<d", raw)[0])
        case 3:
            return int(raw)
        case 4:
            return wire.signed(raw)
        case 5:
            return str(raw, "utf-8", "replace")
        case 7:
            return names.get(raw, "")
    return bytes(raw)
