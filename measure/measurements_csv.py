"""measurements.csv: a row for each measured case, in SI units, readable without workbook or JAX.

The columns are the fields of `records.Measurement`.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from math import isclose, isfinite, isnan, nan
from pathlib import Path
from sys import float_info
from typing import Any

from planner import csvfile, progress
from planner.errors import Place, UserError, nearest
from planner.measure.records import SCHEMA, STATUSES, TYPES, VERSION, Measurement, case_key

REQUIRED = ("case_key", "hardware_id", "t_median")
FOUND_BY = ("case_id", "case_key", "template", "hardware_id", "status", "method")  # blanks around these don't count
AMOUNTS = ("t_mad", "flops", "memory_bytes")  # as counts they are never negative; a time by differences may be
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")
ROUNDING = 1e-6  # numbers of one row agree to this
SI = "write seconds, FLOP/s and byte/s"


def write_measurements(path: Path, rows: Iterable[Measurement]) -> None:
    """Write measurements.csv: UTF-8, every column, floats to the last digit; whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SCHEMA)
    writer.writerows([_cell(getattr(row, name)) for name in SCHEMA] for row in rows)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text.getvalue(), encoding="utf-8", newline="")
        progress.replacing(path, temporary)
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"can't be written: {error.strerror}", place=Place(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


def keep_measurements(path: Path, rows: Iterable[Measurement]) -> list[Measurement]:
    """Put each row into measurements.csv as soon as it is there, over one of its experiment.

    A row that was not measured leaves an older time of its case alone; where Ctrl-C came before the
    first time, the file is as it was. Returns the new rows.
    """
    kept = {row.experiment: row for row in read_measurements(path)} if path.exists() else {}
    done: list[Measurement] = []
    has_time = False
    for row in rows:
        done.append(row)
        old = kept.get(row.experiment)
        if row.status == "measured" or old is None or old.status != "measured":
            kept[row.experiment] = row
        has_time = has_time or row.status == "measured"
        if has_time:
            write_measurements(path, kept.values())
    if done and not has_time and done[-1].status != "interrupted":
        write_measurements(path, kept.values())
    return done


def read_measurements(path: Path) -> list[Measurement]:
    """The rows of a measurements.csv, ours or typed by hand; `REQUIRED` columns must be there.

    Raises UserError with the line and column of what can't be read.
    """
    return [row for _, row in _numbered(path)]


def checked_measurements(path: Path) -> list[Measurement]:
    """The rows of a measurements.csv as `planner backfill` takes them: units and keys can be right.

    Raises UserError with the line: wrong columns or values, numbers that contradict each other (as
    they do where one was converted to another unit), or a key that is not that of the case beside
    it.
    """
    rows = _numbered(path)
    if not rows:
        raise UserError("there are no rows below the header", place=Place(path), remedy="planner measure writes some")
    for line, row in rows:
        for column, what, remedy in _faults(row):
            raise UserError(what, place=Place(path, line, column), remedy=remedy)
    return [row for _, row in rows]


def _numbered(path: Path) -> list[tuple[int, Measurement]]:
    """The rows of the file, each with its line."""
    sheet = csvfile.read(path, known=tuple(SCHEMA))
    unknown = [name for name in sheet.header if name not in SCHEMA]
    if not any(map(_is_converted, unknown)):  # of t_median_ms nobody is told to rename it
        csvfile.require(sheet.header, path, REQUIRED, tuple(SCHEMA))
    for name in sorted(unknown, key=_is_converted, reverse=True):
        what = f"unknown column {name!r}" if name else f"column {sheet.header.index(name) + 1} has no name"
        raise UserError(what, place=Place(path, 1), remedy=_meant(name) if name else "name it, or delete it")
    return [(line, _row(cells, path, line)) for line, cells in sheet.records()]


def _row(cells: Mapping[str, str], path: Path, line: int) -> Measurement:
    values: dict[str, Any] = {}
    for name, text in cells.items():
        if text and not text.isspace():
            try:
                values[name] = _value(name, text)
            except UserError as error:
                raise UserError(error.what, place=Place(path, line, name), remedy=error.remedy) from None
    return Measurement(**values)


def _is_converted(name: str) -> bool:
    """Whether an unknown column is a known one with something behind it, as a unit is."""
    return _beginning(name) is not None


def _beginning(name: str) -> str | None:
    """The known column whose name an unknown one begins with."""
    return next((known for known in sorted(SCHEMA, key=len, reverse=True) if name.startswith(known)), None)


def _meant(name: str) -> str:
    """What to do about an unknown column: a known one with a unit behind it is to be converted."""
    column = _beginning(name)
    if column is None:
        return nearest(name, SCHEMA)
    return f"did you mean {column}? it is in {SCHEMA[column][0]}: convert it if need be, and name it {column}"


def _cell(value: str | float) -> str:
    """A value as it stands in the file; text that could be taken for a formula is quoted."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    return "" if isnan(value) else repr(value)


def _value(name: str, text: str) -> str | float:
    """A cell's text as its column's type: the inverse of `_cell`."""
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
        raise UserError(f"{text!r} is not {wanted}", remedy="write it with digits and a point")
    if number < 0 and (kind is int or name in AMOUNTS):
        raise UserError(f"{text!r} is negative", remedy="write 0 or more, or leave it blank")
    if name == "schema" and number != VERSION:
        raise UserError(f"the columns are of version {number:g}, not {VERSION}", remedy="use the planner that wrote it")
    return int(number) if kind is int else number


def _faults(row: Measurement) -> Iterator[tuple[str, str, str]]:
    """Column, fault and remedy of what can't be right."""
    if not row.case_key.strip():
        yield "case_key", "the key is empty", "every row names its case"
    if row.template and row.inputs and row.inputs != "{}":
        own = _own_key(row)
        if own is None:
            yield "inputs", "it is no JSON of inputs", 'write {"name": value, ...}, or leave it blank'
        elif own != row.case_key:
            yield "case_key", "it is not the key of the template and inputs beside it", f"it would be {own}"
    if row.status == "measured":
        yield from _unit_faults(row)


def _own_key(row: Measurement) -> str | None:
    try:
        return case_key(row.template, json.loads(row.inputs))
    except (ValueError, AttributeError, TypeError, RecursionError):  # of many brackets
        return None


def _unit_faults(row: Measurement) -> Iterator[tuple[str, str, str]]:
    if not (isfinite(row.t_median) and row.t_median >= float_info.min):  # below it a cell holds 0
        yield "t_median", "a measured row needs a time above 0", "write seconds, or another status"
        return
    same = {"wall": row.t_wall_call, "loop": row.t_loop, "profiler": row.t_device}.get(row.method, row.t_median)
    if not _agree(same, row.t_median):
        yield "t_median", f"{row.t_median:g} is not the time by {row.method}, {same:g}", SI
    if row.t_min > row.t_median * (1 + ROUNDING) or row.t_p90 < row.t_median * (1 - ROUNDING):
        yield "t_median", f"{row.t_median:g} is not between t_min and t_p90", SI
    for column, work in (("achieved_flops", row.flops), ("achieved_bandwidth", row.memory_bytes)):
        achieved = getattr(row, column)
        if not _agree(achieved, work / row.t_median):
            yield column, f"{achieved:g} is not the work over t_median, {work / row.t_median:g}", SI


def _agree(one: float, other: float) -> bool:
    """Whether two numbers are the same, or one is unknown."""
    return isnan(one) or isnan(other) or isclose(one, other, rel_tol=ROUNDING)
