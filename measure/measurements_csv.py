"""Reads and writes measurements.csv: one row per measured case, in SI units, readable without workbook or JAX.

The columns are the fields of `records.Measurement`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isfinite, nan
from pathlib import Path
from typing import Any

from planner import csvfile
from planner.csvfile import looks_like
from planner.errors import Place, UserError, nearest
from planner.measure.records import SCHEMA, STATUSES, TYPES, VERSION, Measurement
from planner.xlsx.atomic import locked, write_atomically

REQUIRED = ("case_key", "hardware_id", "t_median")
FOUND_BY = ("case_id", "case_key", "template", "hardware_id", "status", "method")  # surrounding blanks are stripped
AMOUNTS = (
    "t_mad",
    "t_dispatch",
    "compile_time",
    "flops",
    "memory_bytes",
    "temp_bytes",
    "achieved_flops",
    "achieved_bandwidth",
)  # like counts never negative; a time computed as a difference may be


def write_measurements(path: Path, rows: Iterable[Measurement]) -> None:
    """Write measurements.csv atomically: UTF-8, every column, floats in full precision.

    Raises UserError as `write_atomically` does.
    """
    cells = ([_cell(getattr(row, name)) for name in SCHEMA] for row in rows)
    write_atomically(path, csvfile.written([SCHEMA, *cells]).encode())


def keep_measurements(path: Path, rows: Iterable[Measurement], key_now: Callable[[str], str]) -> list[Measurement]:
    """Write each row into measurements.csv as soon as it arrives, replacing an older row of the same experiment.

    `key_now` normalises a case key, so that rows written with an older form of the key count as the same case. A row
    without a time doesn't replace an older time of its case; rows that another process writes meanwhile stay. If
    Ctrl-C comes before the first time, the file is left unchanged. Returns the new rows.
    """
    kept: dict[tuple[str, ...], Measurement] = {}
    done: list[Measurement] = []
    has_time, known = False, _state(path)

    def put(row: Measurement) -> None:
        experiment = row.experiment(key_now)
        old = kept.get(experiment)
        if row.status == "measured" or old is None or old.status != "measured":
            kept[experiment] = row

    def read() -> None:
        kept.clear()
        for row in (*(read_measurements(path) if path.exists() else ()), *done):
            put(row)

    def write() -> None:
        nonlocal known
        with locked(path):
            if _state(path) != known:  # another process wrote rows meanwhile
                read()
            write_measurements(path, kept.values())
            known = _state(path)

    read()
    for row in rows:
        done.append(row)
        put(row)
        has_time = has_time or row.status == "measured"
        if has_time:
            write()
    if done and not has_time and done[-1].status != "interrupted":
        write()
    return done


def _state(path: Path) -> tuple[int, int] | None:
    """What tells whether a file was written again; None for none."""
    return (found.st_ino, found.st_mtime_ns) if path.exists() and (found := path.stat()) else None


def read_measurements(path: Path) -> list[Measurement]:
    """The rows of a measurements.csv, written by planner or by hand. The `REQUIRED` columns must be present.

    Raises UserError with the line and column of an unreadable cell.
    """
    return [row for _, row in numbered(path)]


def numbered(path: Path) -> list[tuple[int, Measurement]]:
    """The rows of the file, each with its line number. Raises UserError as `read_measurements` does."""
    sheet = csvfile.read(path, known=tuple(SCHEMA))
    unknown = [name for name in sheet.header if name not in SCHEMA]
    if unknown and (other := looks_like(sheet.header, tuple(SCHEMA))):
        raise UserError("these are no measurements", place=Place(path, 1), remedy=other)
    if not any(map(_is_converted, unknown)):  # renaming t_median_ms would be wrong advice
        csvfile.require(sheet.header, path, REQUIRED, tuple(SCHEMA))
    for name in sorted(unknown, key=_is_converted, reverse=True):
        what = f"unknown column {name!r}" if name else f"column {sheet.header.index(name) + 1} has no name"
        raise UserError(what, place=Place(path, 1), remedy=_remedy(name) if name else "name it, or delete it")
    return [(line, _row(cells, path, line)) for line, cells in sheet.records()]


def _row(cells: Mapping[str, str], path: Path, line: int) -> Measurement:
    values: dict[str, Any] = {}
    for name, text in cells.items():
        if text and not text.isspace():
            try:
                values[name] = _value(name, text)
            except UserError as error:
                raise error.at(Place(path, line, name)) from None
    return Measurement(**values)


def _is_converted(name: str) -> bool:
    """Whether an unknown column is a known name with a suffix, such as a unit."""
    return _beginning(name) is not None


def _beginning(name: str) -> str | None:
    """The known column whose name is a prefix of an unknown one."""
    return next((known for known in sorted(SCHEMA, key=len, reverse=True) if name.startswith(known)), None)


def _remedy(name: str) -> str:
    """The remedy for an unknown column: convert it if it has a unit as suffix, otherwise the closest known name."""
    column = _beginning(name)
    if column is None:
        return nearest(name, SCHEMA)
    return f"did you mean {column}? it is in {SCHEMA[column][0]}: convert it if need be, and name it {column}"


def _cell(value: str | float) -> str:
    """A value as written to the file. Text that a spreadsheet could take for a formula is quoted.

    Characters that a CSV cell can't hold, which a host or compiler may report, are removed.
    """
    if isinstance(value, str):
        text = csvfile.holdable(value)
        return f"'{text}" if text.startswith((*csvfile.FORMULA_STARTS, "'")) else text
    return repr(value) if isfinite(value) and not (isinstance(value, int) and value == 0) else ""  # count 0: unknown


def _value(name: str, text: str) -> str | float:
    """A cell's text converted to its column's type: the inverse of `_cell`."""
    kind = TYPES[name]
    if kind is str:
        text = (text.strip() if name in FOUND_BY else text).removeprefix("'")
        if name == "status" and text not in STATUSES:
            raise UserError(f"unknown status {text!r}", remedy=nearest(text, STATUSES))
        return text
    try:
        number = float(text) if text.isascii() and "_" not in text else nan  # Python reads 1_000, nobody else
    except ValueError:
        number = nan
    if not isfinite(number) or (kind is int and not number.is_integer()):
        wanted = "a whole number" if kind is int else "a number"
        unit = SCHEMA[name][0]
        raise UserError(
            f"{text!r} is not {wanted}",
            remedy=f"write it{'' if unit == '1' else f' in {unit}'} with digits and a point",
        )
    if name == "schema" and number != VERSION:
        raise UserError(f"the columns are of version {number:g}, not {VERSION}", remedy="use the planner that wrote it")
    if number < 0 and (kind is int or name in AMOUNTS):
        raise UserError(f"{text!r} is negative", remedy="write 0 or more, or leave it blank")
    return int(number) if kind is int else number
