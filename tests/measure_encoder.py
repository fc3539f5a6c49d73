"""A writer of tiny .xplane.pb profiles for the tests: the inverse of planner.profiles.xspace, kept apart from it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Stats = Mapping[str, float | int | str | bytes]


@dataclass(frozen=True)
class Span:
    """An event to write: ps since its line began, its own stats and those of its metadata."""

    name: str
    offset_ps: int
    duration_ps: int
    stats: Stats = field(default_factory=dict)
    shared: Stats = field(default_factory=dict)


def space(
    planes: Mapping[str, Mapping[str, Sequence[Span]]], plane_stats: Stats | None = None, begin_ns: int = 1000
) -> bytes:
    """A serialized XSpace from plane name -> line name -> events; every line begins at 1 us, or at `begin_ns`."""
    return b"".join(_message(1, _plane(name, lines, plane_stats or {}, begin_ns)) for name, lines in planes.items())


def _plane(name: str, lines: Mapping[str, Sequence[Span]], plane_stats: Stats, begin_ns: int) -> bytes:
    names: dict[str, int] = {}
    kinds = list(dict.fromkeys((s.name, tuple(s.shared.items())) for spans in lines.values() for s in spans))
    body = b"".join(_message(3, _line(line, spans, kinds, names, begin_ns)) for line, spans in lines.items())
    for number, (kind, shared) in enumerate(kinds, start=1):
        stats = b"".join(_message(5, _stat(key, value, names)) for key, value in shared)
        body += _entry(4, number, _message(2, kind.encode()) + stats)
    body += b"".join(_message(6, _stat(key, value, names)) for key, value in plane_stats.items())
    body += b"".join(_entry(5, number, _message(2, key.encode())) for key, number in names.items())
    return _message(2, name.encode()) + body


def _line(
    name: str, spans: Sequence[Span], kinds: list[tuple[str, tuple]], names: dict[str, int], begin_ns: int
) -> bytes:
    body = _message(2, name.encode()) + _number(3, begin_ns)
    for span in spans:
        kind = kinds.index((span.name, tuple(span.shared.items()))) + 1
        stats = b"".join(_message(4, _stat(key, value, names)) for key, value in span.stats.items())
        event = _number(1, kind) + _number(2, span.offset_ps) + _number(3, span.duration_ps) + stats
        body += _message(4, event)
    return body


def _stat(key: str, value: float | int | str | bytes, names: dict[str, int]) -> bytes:
    head = _number(1, names.setdefault(key, len(names) + 1))
    match value:
        case float():
            return head + _varint(2 << 3 | 1) + struct.pack("<d", value)
        case int():
            return head + (_number(4, value) if value < 0 else _number(3, value))
        case str():
            return head + _message(5, value.encode())
    return head + _message(6, value)


def _entry(field_number: int, key: int, value: bytes) -> bytes:
    return _message(field_number, _number(1, key) + _message(2, _number(1, key) + value))


def _message(field_number: int, body: bytes) -> bytes:
    return _varint(field_number << 3 | 2) + _varint(len(body)) + body


def _number(field_number: int, value: int) -> bytes:
    return _varint(field_number << 3) + _varint(value % (1 << 64))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
