"""Protobuf's wire format: decodes the fields of a message. Damaged bytes raise ValueError or IndexError."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

Value = float | int | str | bytes
Fields = dict[int, list[Any]]  # field number -> values: an int for a varint, else bytes
DAMAGED = (ValueError, TypeError, IndexError, struct.error, OverflowError)  # raised when reading damaged bytes


def field(data: memoryview, at: int) -> tuple[int, Any, int]:
    """The number and raw value of the field of a message that begins at a position, and the position after it."""
    tag, at = varint(data, at)
    wire = tag & 7
    if wire == 0:
        value, at = varint(data, at)
        return tag >> 3, value, at
    if wire == 2:
        size, at = varint(data, at)
    elif wire in (1, 5):
        size = 8 if wire == 1 else 4
    else:
        raise ValueError(f"wire type {wire}")
    after = at + size
    if after > len(data):
        raise ValueError("a field longer than its message")
    return tag >> 3, data[at:after], after


def fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """The number and raw value of each field of a message, in order."""
    at = 0
    while at < len(data):
        number, value, at = field(data, at)
        yield number, value


def messages(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The number and bytes of each field of a message that may be a message itself, in order."""
    return ((number, value) for number, value in fields(data) if isinstance(value, memoryview))


def grouped(data: memoryview) -> Fields:
    """The fields of a message grouped by number, in order."""
    found: Fields = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def entries(blobs: list[Any]) -> Iterator[tuple[int, Fields]]:
    """The entries of a map field: field 1 is the key, field 2 the message."""
    for blob in blobs:
        entry = dict(fields(blob))
        yield entry.get(1, 0), grouped(entry.get(2, memoryview(b"")))


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """The varint at a position (seven bits per byte, lowest first), and the position after it."""
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


def number(found: Fields, key: int) -> int:
    """A field's last value as a number; 0 if missing."""
    return int(found.get(key, [0])[-1])


def signed(raw: int) -> int:
    """The int64 of a varint."""
    return raw - (1 << 64) if raw >> 63 else raw


def text(found: Fields, key: int) -> str:
    """A field's last value as text; empty if missing."""
    return str(found.get(key, [b""])[-1], "utf-8", "replace")


def numbers(found: Fields, key: int) -> list[int]:
    """The int64 values of a repeated field, packed or not."""
    values: list[int] = []
    for raw in found.get(key, []):
        if isinstance(raw, int):
            values.append(signed(raw))
            continue
        at = 0
        while at < len(raw):
            value, at = varint(raw, at)
            values.append(signed(value))
    return values
