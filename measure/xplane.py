"""The profiler's .xplane.pb read from its bytes: planes, lines, events and stats, in picoseconds.

A reader of our own, because JAX's ProfileData leaves out the stats of event metadata (hlo_category,
flops, bytes_accessed) and rounds to ns, and the xprof package brings fifty others. Fields as in
tsl/profiler/protobuf/xplane.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.errors import Place, UserError

Value = float | int | str | bytes
Stats = dict[str, Value]
Fields = dict[int, list[Any]]  # by number: an int for a varint, else the bytes


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


@dataclass(frozen=True, slots=True)
class Line:
    """Events of one thread, stream or queue."""

    name: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Plane:
    """A device, or a host's threads."""

    name: str
    stats: Stats
    lines: tuple[Line, ...]


def read(path: Path) -> tuple[Plane, ...]:
    """The planes of a profile. Raises UserError when the file can't be read as one."""
    planes: tuple[Plane, ...] = ()
    try:
        planes = parse(path.read_bytes())
    except OSError as error:
        raise UserError(f"can't be read: {error.strerror}", place=Place(path)) from None
    except (ValueError, TypeError, IndexError, struct.error):
        pass  # no profile, or a damaged one
    if not planes:
        remedy = "if it was copied as text, copy it again as binary"
        raise UserError("this is not a profile (XSpace)", place=Place(path), remedy=remedy)
    return planes


def parse(data: bytes) -> tuple[Plane, ...]:
    """The planes of a serialized XSpace."""
    return tuple(_plane(_grouped(plane)) for plane in _grouped(memoryview(data)).get(1, []))


def _plane(fields: Fields) -> Plane:
    names = {key: _text(value, 2) for key, value in _entries(fields.get(5, []))}
    kinds = {key: _kind(value, names) for key, value in _entries(fields.get(4, []))}
    lines = tuple(_line(_grouped(line), kinds, names) for line in fields.get(3, []))
    return Plane(_text(fields, 2), _stats(fields.get(6, []), names), lines)


def _kind(fields: Fields, names: dict[int, str]) -> tuple[str, Stats]:
    """What all events of one metadata entry share: name and stats."""
    return _text(fields, 2), _stats(fields.get(5, []), names)


def _line(fields: Fields, kinds: dict[int, tuple[str, Stats]], names: dict[int, str]) -> Line:
    begin_ps = _int(fields, 3) * 1000  # the line's timestamp is in ns, its events' offsets in ps
    events = []
    for blob in fields.get(4, []):
        event = _grouped(blob)
        name, shared = kinds.get(_int(event, 1), ("", {}))
        stats = shared | _stats(event.get(4, []), names)
        events.append(Event(name, begin_ps + _int(event, 2), _int(event, 3), stats))
    return Line(_text(fields, 2) or _text(fields, 11), tuple(events))


def _stats(blobs: list[Any], names: dict[int, str]) -> Stats:
    """Each stat by its name; a reference stands for the name of another stat."""
    found: Stats = {}
    for blob in blobs:
        fields = dict(_fields(blob))
        key = fields.pop(1, 0)
        for number, raw in fields.items():  # one: the value's kind decides its number
            found[names.get(key, str(key))] = _value(number, raw, names)
    return found


def _value(number: int, raw: Any, names: dict[int, str]) -> Value:
    """A stat's value by its field: 2 double, 3 uint64, 4 int64, 5 text, 6 bytes, 7 a stat's name."""
    match number:
        case 2:
            return float(struct.unpack("<d", raw)[0])
        case 3:
            return int(raw)
        case 4:
            return raw - (1 << 64) if raw >> 63 else int(raw)
        case 5:
            return str(raw, "utf-8", "replace")
        case 7:
            return names.get(raw, "")
    return bytes(raw)


def _entries(blobs: list[Any]) -> Iterator[tuple[int, Fields]]:
    """The entries of a map: field 1 is the key, field 2 the message."""
    for blob in blobs:
        entry = dict(_fields(blob))
        yield entry.get(1, 0), _grouped(entry.get(2, memoryview(b"")))


def _grouped(data: memoryview) -> Fields:
    """The fields of a message by number, in order."""
    found: Fields = {}
    for number, value in _fields(data):
        found.setdefault(number, []).append(value)
    return found


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Number and raw value of each field of a message, as they come."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if wire == 2:
            size, at = _varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")
        if at + size > end:
            raise ValueError("a field longer than its message")
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """The number at a position, seven bits a byte, lowest first, and the position after it."""
    byte = data[at]
    at += 1
    if byte < 0x80:
        return byte, at
    value, shift = byte & 0x7F, 7
    while shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a varint of more than ten bytes")


def _int(fields: Fields, number: int) -> int:
    return int(fields.get(number, [0])[-1])


def _text(fields: Fields, number: int) -> str:
    return str(fields.get(number, [b""])[-1], "utf-8", "replace")
