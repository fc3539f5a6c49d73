"""A CSV read as a person wrote it: every fault named with file, line, column and remedy.

UTF-8 with or without a byte-order mark, commas, `.` decimals; LF or CRLF.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.errors import Place, UserError, nearest

_LINE = re.compile(r"[^\r\n]*(?:\r\n|[\r\n])|[^\r\n]+")
CELL_LIMIT = 32_767  # characters that a spreadsheet cell can hold


@dataclass(frozen=True)
class Sheet:
    """A CSV file's text and header; `records` yields its rows."""

    path: Path
    header: tuple[str, ...]
    text: str
    digest: str

    def records(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Each row that isn't blank as (line number, column -> text). Raises UserError as `rows` does."""
        for line, cells in self.rows():
            yield line, dict(zip(self.header, cells, strict=True))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Each row that isn't blank as (line number, a text for each column of the header).

        Raises UserError for a row with too few or too many cells, or a cell too long for a spreadsheet.
        """
        reader = _reader(self.text)
        next(reader)
        for cells in _rows(reader, self.path):
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(self.header):
                what = f"{len(cells)} cells, but the header has {len(self.header)} columns"
                raise UserError(
                    what,
                    place=Place(self.path, reader.line_num),
                    remedy="put a text that holds a comma in double quotes",
                )
            if max(map(len, cells)) > CELL_LIMIT:
                column, cell = next(pair for pair in zip(self.header, cells, strict=True) if len(pair[1]) > CELL_LIMIT)
                raise UserError(
                    f"{len(cell):,} characters", place=Place(self.path, reader.line_num, column),
                    remedy=f"a spreadsheet cell holds {CELL_LIMIT:,}",
                )  # fmt: skip
            yield reader.line_num, cells


def read(path: Path, *, required: Sequence[str] = (), known: Sequence[str] = ()) -> Sheet:
    """Read a CSV whose header has the `required` columns.

    Raises UserError: unreadable, not UTF-8, separated by semicolons or tabs, a column missing, misnamed
    (near one of `known`) or there twice.
    """
    data = _bytes(path)
    text = _decoded(data, path)
    if not text.strip():
        raise UserError("the file is empty", place=Place(path), remedy="its first line names the columns")
    header = tuple(cell.strip() for cell in next(_rows(_reader(text), path)))
    _check_header(header, path, required, known)
    return Sheet(path, header, text, hashlib.sha256(data).hexdigest())


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UserError("there is no such file", place=Place(path)) from None
    except IsADirectoryError:
        raise UserError("this is a folder, not a CSV file", place=Place(path)) from None
    except OSError as error:
        raise UserError(f"can't be read: {error.strerror}", place=Place(path)) from None


def _decoded(data: bytes, path: Path) -> str:
    remedy = "save it as CSV UTF-8 (comma delimited)"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UserError("this is UTF-16 text", place=Place(path), remedy=remedy)
    if data[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise UserError("this is a workbook, not a CSV file", place=Place(path), remedy=remedy)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"byte 0x{data[error.start]:02X} is not UTF-8", place=Place(path, line), remedy=remedy
        ) from None
    if "\0" in text:
        raise UserError("the file holds NUL characters", place=Place(path), remedy=remedy)
    return text


def _reader(text: str) -> Any:  # a csv.reader: the library does not export its type
    csv.field_size_limit(2**31 - 1)
    return csv.reader((line[0] for line in _LINE.finditer(text)), strict=True)  # a StringIO takes four times the memory


def _rows(reader: Any, path: Path) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        line = reader.line_num
        raise UserError(f"not a CSV row: {error}", place=Place(path, line), remedy="close every double quote") from None


def _check_header(header: Sequence[str], path: Path, required: Sequence[str], known: Sequence[str]) -> None:
    place = Place(path, 1)
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        mark = "semicolons" if ";" in header[0] else "tabs"
        raise UserError(f"the columns are separated by {mark}", place=place, remedy="save it with commas")
    for index, column in enumerate(header):
        if column in header[:index]:
            raise UserError(f"column {column!r} is there twice", place=place, remedy="keep one of the two")
    missing = [column for column in required if column not in header]
    if missing:
        extra = [column for column in header if column not in known]
        hint = nearest(missing[0], extra) if extra else ""
        remedy = f"{hint} rename it to {missing[0]}" if hint.startswith("did you mean") else "add it to the header"
        raise UserError(f"column {missing[0]!r} is missing", place=place, remedy=remedy)
