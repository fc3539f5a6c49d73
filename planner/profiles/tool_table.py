"""The output of a profiler's tool in terms of a profile, and the parsing of its rows from JSON or CSV.

The button «Export as CSV» of xprof and TensorBoard writes labels as column titles, or the columns' ids.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from planner.errors import UserError
from planner.profiles.json_document import unpacked
from planner.profiles.profile import Operation, Program, Step

Row = dict[str, Any]


@dataclass
class ToolTable:
    """The content of one tool's file. `format` is the tool's name. `idle` is in seconds over all cores.

    `tells_communication` says that its steps separate communication from compute, as a GPU's overview does.
    """

    format: str
    operations: list[Operation] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    device: str | None = None
    cores: int | None = None
    idle: float | None = None
    peak_flops: float | None = None
    peak_bandwidth: float | None = None
    facts: dict[str, str] = field(default_factory=dict)
    tells_communication: bool = False


def columns(page: Row) -> list[str]:
    """The column names of a table in Google Charts format."""
    found = page.get("cols")
    return [str(each.get("id")) for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def properties(page: Row) -> Row:
    """The properties of a table besides its rows."""
    found = page.get("p")
    return found if isinstance(found, dict) else {}


def rows(page: Row) -> Iterator[Row]:
    """The rows of a table as column -> value."""
    names, listed = columns(page), page.get("rows")
    for row in listed if isinstance(listed, list) else []:
        cells = row.get("c") if isinstance(row, dict) else None
        if isinstance(cells, list):
            values = [cell.get("v") if isinstance(cell, dict) else None for cell in cells]
            yield dict(zip(names, values, strict=False))


class TableError(UserError):
    """A tool's table contains an impossible number; ignoring it would falsify the profile."""


def number(row: Row, key: str) -> float:
    """A number in a row, possibly written as text; 0 if missing or not a number.

    Raises TableError for text that contains digits but is not a number.
    """
    value = row.get(key)
    if isinstance(value, str) and any(map(str.isdigit, value)):
        value = typed = _value(key, value)
        if isinstance(typed, str):
            raise TableError(f"{typed!r} of {key} is no number", remedy="write it in digits and a point: 1234.5")
    return float(value) if isinstance(value, int | float) and isfinite(value) else 0.0


def time(row: Row, key: str) -> float:
    """A time or count in a row, in the column's unit, read as `number` does. Raises TableError for a negative one."""
    value = number(row, key)
    if value < -_ROUNDING:
        raise TableError(f"{value:g} of {key} is below 0, as no time or count is", remedy="export the table again")
    return max(value, 0.0)


_LABELS = {
    "Program id": "program_id", "HLO op category": "category", "HLO op name": "hlo_op_name",
    "HLO op text": "hlo_op_expression", "Framework op name": "tf_op_name", "TF op name": "tf_op_name",
    "#Occurrences": "occurrences", "# Occurrences": "occurrences", "Total time (us)": "total_time",
    "Total Time (us)": "total_time", "Avg. time (us)": "avg_time", "Total self time (us)": "total_self_time",
    "Total self-time (us)": "total_self_time", "Model GFLOP/s": "model_flop_rate",
    "Model FLOP Rate (GFLOP/s)": "model_flop_rate", "Normalized GFLOP/s": "normalized_flop_rate",
    "Measured memory BW (GiB/s)": "measured_memory_bw", "Memory BW (GiB/s)": "measured_memory_bw",
    "Measured Memory BW (GBytes/Sec)": "measured_memory_bw", "HBM BW (GiB/s)": "hbm_bw",
    "Host/device": "host_or_device", "Operation Type": "type", "Operation Name": "operation", "Step": "step",
    "Category": "category", "Operation": "operation", "Include Infeed/Outfeed": "include_infeed_outfeed",
    "Program ID": "hlo_module_id", "Roofline efficiency (%)": "roofline_efficiency",
    "TPU core type": "core_type",
}  # fmt: skip
_TEXTS = {"program_id", "category", "hlo_op_name", "hlo_op_expression", "tf_op_name", "host_or_device", "type",
          "operation", "step", "hlo_module_id", "core_type"}  # fmt: skip
_ENOUGH = 4  # known columns needed to recognise a table
_ROUNDING = 1e-3  # tolerance for a negative difference
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
HEAD = 4096  # bytes at the beginning of a file that identify it


def is_csv(head: bytes) -> bool:
    """Whether a file begins with known column titles of such a table."""
    first = head.decode("utf-8-sig", "replace").partition("\n")[0].rstrip("\r")
    try:
        heads = next(csv.reader([first]), [])
    except csv.Error:  # a control character: not a text file
        return False
    return len({_id(each) for each in heads} & set(_LABELS.values())) >= _ENOUGH


def csv_page(path: Path) -> Row:
    """A CSV table converted to the Google Charts page of the tools' JSON. Raises csv.Error, OSError and EOFError."""
    with unpacked(path) as stream, io.TextIOWrapper(stream, "utf-8-sig", "replace", newline="") as text:
        listed = csv.reader(text)
        names = [_id(each) for each in next(listed, [])]
        rows = [{"c": [{"v": _value(name, cell)} for name, cell in zip(names, row, strict=False)]} for row in listed]
    return {"cols": [{"id": name} for name in names], "rows": rows}


def _id(head: str) -> str:
    return _LABELS.get(head.strip(), head.strip())


def _value(name: str, cell: str) -> Any:
    if name in _TEXTS or not cell:
        return cell
    if cell.lower() in ("true", "false"):
        return cell.lower() == "true"
    try:
        value = float(cell.replace(",", "") if _THOUSANDS.fullmatch(cell.strip()) else cell)
    except ValueError:
        return cell
    return value if isfinite(value) else None
