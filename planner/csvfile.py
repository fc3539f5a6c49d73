"""Reads CSV files written by people; every error names the file, line, column and remedy.

UTF-8 with or without a byte-order mark, commas, `.` decimals; LF or CRLF.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner import progress, regularfile, run_logs
from planner.errors import Place, UserError, closest, nearest

_CONTROLS = bytes(set(range(1, 32)) - {9, 10, 13})  # characters that a workbook can't hold
_NONE = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")  # U+FFFE and U+FFFF, noncharacters that it can't hold either
BOM = b"\xef\xbb\xbf"
_STEP = 100_000  # rows between two progress messages
_CHUNK = 2**20  # bytes to check at a time, so that a large file isn't held twice
CELL_LIMIT = 32_767  # characters that a spreadsheet cell can hold


@dataclass(frozen=True)
class CsvFile:
    """A CSV file's bytes and header; `records` yields its rows."""

    path: Path
    header: tuple[str, ...]
    data: bytes
    digest: str
    has_controls: bool = False

    @property
    def text(self) -> str:
        """The whole file as text, without its byte-order mark."""
        return self.data.decode("utf-8-sig")

    def records(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Each non-blank row as (line number, column -> text). Raises UserError as `rows` does."""
        for line, cells in self.rows():
            yield line, dict(zip(self.header, cells, strict=True))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Each non-blank row as (line number, cells in header order).

        Raises UserError for a row with too few or too many cells, or for a cell that a spreadsheet can't hold: too
        long, or with control characters.
        """
        reader = _reader(self.data)
        next(reader)
        for number, cells in enumerate(_rows(reader, self.path), 1):
            if any(cell.strip() for cell in cells):
                if len(cells) != len(self.header) or max(map(len, cells)) > CELL_LIMIT:
                    raise self._misfit(cells, reader.line_num)
                if self.has_controls:
                    self._check_controls(cells, reader.line_num)
                yield reader.line_num, cells
            if number % _STEP == 0:
                progress.step(f"reading {self.path}: {number:,} rows")

    def _check_controls(self, cells: Sequence[str], line: int) -> None:
        for column, cell in zip(self.header, cells, strict=True):
            if _has_controls(cell.encode()):
                raise _controlled(Place(self.path, line, column))

    def _misfit(self, cells: Sequence[str], line: int) -> UserError:
        """The error for a row whose width differs from the header's, or with a cell that is too long."""
        if len(cells) != len(self.header):
            what = f"{len(cells)} cells, but the header has {len(self.header)} columns"
            quoted = "put a text that holds a comma in double quotes"
            remedy = quoted if len(cells) > len(self.header) else "give a blank cell its comma too"
            return UserError(what, place=Place(self.path, line), remedy=remedy)
        column, cell = next(pair for pair in zip(self.header, cells, strict=True) if len(pair[1]) > CELL_LIMIT)
        what, remedy = f"{len(cell):,} characters", f"a spreadsheet cell holds {CELL_LIMIT:,}"
        return UserError(what, place=Place(self.path, line, column), remedy=remedy)


def read(
    path: Path,
    *,
    required: Sequence[str] = (),
    known: Sequence[str] = (),
    largest: int = regularfile.LARGE,
) -> CsvFile:
    """Read a CSV of at most `largest` bytes whose header has the `required` columns.

    Raises UserError if it isn't a regular file, is too large, unreadable, a web page or a pointer file, not UTF-8, or
    separated by semicolons or tabs, or if a column is missing, misnamed (close to one of `known`) or duplicated.
    """
    return sheet_of(regularfile.read_bytes(path, largest=largest), path, required, known)


def sheet_of(data: bytes, path: Path, required: Sequence[str] = (), known: Sequence[str] = ()) -> CsvFile:
    """A CSV given as bytes; error messages call it `path`. Raises UserError as `read` does."""
    _check_encoding(data, path)
    if not data.removeprefix(BOM).strip():
        raise UserError("the file is empty", place=Place(path), remedy="its first line names the columns")
    if left := regularfile.not_fetched(data):
        raise UserError(left[0], place=Place(path), remedy=left[1])
    header = tuple(cell.strip() for cell in next(_rows(_reader(data), path)))
    may_be_log = set(required).isdisjoint(header) and (required or _has_controls(data[: run_logs.MOST]))
    if may_be_log and (log := run_logs.recognized(run_logs.ends(io.BytesIO(data)))):
        raise UserError(f"this is {log[0]}, and no such CSV", place=Place(path), remedy=log[1])
    _check_header(header, path)
    require(header, path, required, known)
    return CsvFile(path, header, data, hashlib.sha256(data).hexdigest(), _has_controls(data))


def written(rows: Iterable[Iterable[object]]) -> str:
    """The CSV text of these rows, the first of which is the header."""
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # characters that begin a formula in spreadsheets
_UNHELD = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def holdable(text: str) -> str:
    """A text made to fit a cell: truncated, with blanks for control and invalid characters."""
    return _UNHELD.sub(" ", text)[: CELL_LIMIT - 1]  # leaves room for a quote in front


def guarded(text: str) -> str:
    """A text with an apostrophe in front if a spreadsheet program would take it for a formula when opening the CSV."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) or unguarded(text) != text else text


def unguarded(text: str) -> str:
    """A text of the CSV without that apostrophe."""
    return text[1:] if text.startswith("'") and text[1:].lstrip("'").startswith(FORMULA_STARTS) else text


def _has_controls(data: bytes) -> bool:
    """Whether the bytes contain control characters. Deleting and comparing lengths is ten times as fast as a search."""
    if any(none in data for none in _NONE):
        return True
    pieces = (data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))
    return any(len(piece.translate(None, _CONTROLS)) != len(piece) for piece in pieces)


def _controlled(place: Place) -> UserError:
    return UserError("the text holds control characters", place=place, remedy="delete them")


def _check_encoding(data: bytes, path: Path) -> None:
    """Raise UserError for anything but UTF-8 text: another encoding, a workbook, other binary data."""
    remedy = "save it as CSV UTF-8 (comma delimited)"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UserError("this is UTF-16 text", place=Place(path), remedy=remedy)
    if data[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise UserError("this is a workbook, not a CSV file", place=Place(path), remedy=remedy)
    if b"\0" in data:
        raise UserError("the file holds NUL characters", place=Place(path), remedy=remedy)
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _CHUNK):
        kept = len(decoder.getstate()[0])
        try:
            decoder.decode(data[start : start + _CHUNK], final=start + _CHUNK >= len(data))
        except UnicodeDecodeError as error:
            at = start - kept + error.start
            line = data.count(b"\n", 0, at) + 1
            what = f"byte 0x{data[at]:02X} is not UTF-8"
            raise UserError(what, place=Place(path, line), remedy=remedy) from None


def _reader(data: bytes) -> Any:  # a csv.reader: the library does not export its type
    csv.field_size_limit(2**31 - 1)
    return csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline=""), strict=True)


def _rows(reader: Any, path: Path) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        line = reader.line_num
        raise UserError(f"not a CSV row: {error}", place=Place(path, line), remedy="close every double quote") from None


_WITH_COMMAS = (
    "save it with commas: LibreOffice asks for the separator (Edit filter settings), Excel takes the list separator of "
    "the system's region"
)


def _check_header(header: Sequence[str], path: Path) -> None:
    place = Place(path, 1)
    if not any(header):
        remedy = "delete it: the first line names the columns"
        raise UserError("the first line is blank", place=place, remedy=remedy)
    if header[0].lower().startswith("sep="):
        raise UserError("the first line names the separator, which only Excel reads", place=place, remedy="delete it")
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        mark = "semicolons" if ";" in header[0] else "tabs"
        raise UserError(f"the columns are separated by {mark}", place=place, remedy=_WITH_COMMAS)
    for index, column in enumerate(header):
        if _has_controls(column.encode()):
            raise _controlled(Place(path, 1, index + 1))
        if column and column in header[:index]:
            raise UserError(f"column {column!r} is there twice", place=place, remedy="keep one of the two")


def require(header: Sequence[str], path: Path, required: Sequence[str], known: Sequence[str]) -> None:
    """Raise UserError if a `required` column is missing, naming a column not in `known` that may be meant."""
    missing = [column for column in required if column not in header]
    if missing:
        extra = [column for column in header if column not in known]
        hint = nearest(missing[0], extra) if extra else ""
        others = f", and {', '.join(missing[1:])} too" if missing[1:] else ""
        add = f"add it to the header{others}"
        renamed = f"{hint} rename it to {missing[0]}" if hint.startswith("did you mean") else add
        remedy = looks_like(header, required) or renamed
        raise UserError(f"column {missing[0]!r} is missing", place=Place(path, 1), remedy=remedy)


KINDS = (
    (frozenset({"case_key", "t_median"}), "measurements", "planner backfill or planner fit"),
    (frozenset({"template", "output", "measured"}), "runs", "planner validate or planner fit"),
    (frozenset({"template", "output", "settings"}), "runs", "planner validate or planner fit"),
    (frozenset({"calibration", "parameter", "value"}), "calibrations", "--calibrations"),
    (frozenset({"scenario", "model", "hardware"}), "scenarios", "--scenarios"),
    (frozenset({"n_layers", "d_model"}), "models", "--models"),
    (frozenset({"hbm_bytes", "hbm_bandwidth"}), "accelerators", "--hardware-csv"),
)
"""The columns by which a CSV is recognized, what it holds, and what reads it; the first that fits counts."""
LIKE = 0.8  # how alike a misspelled column is to the one that is meant


def looks_like(header: Collection[str], wanted: Collection[str]) -> str:
    """Which kind of CSV has these columns, if it isn't the `wanted` kind, and the option that reads it, in words.

    Misspelled columns count. Blank if the kind is unknown, or the wanted one.
    """
    for columns, held, option in KINDS:
        if all(column in header or closest(column, header, 1, LIKE) for column in columns):
            return "" if columns <= set(wanted) else f"this looks like a CSV of {held}, which {option} reads"
    return ""
