"""A tool's table as xprof's and TensorBoard's button «Export as CSV» writes it: heads are labels, or a column's ids."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from planner.profiles.json_document import unpacked
from planner.profiles.tool_table import Row

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
}  # fmt: skip
_TEXTS = {"program_id", "category", "hlo_op_name", "hlo_op_expression", "tf_op_name", "host_or_device", "type",
          "operation", "step", "hlo_module_id"}  # fmt: skip
_ENOUGH = 4  # columns that are known


def is_table(head: bytes) -> bool:
    """Whether a file begins as such a table does: with the heads of columns that are known."""
    first = head.decode("utf-8-sig", "replace").partition("\n")[0].rstrip("\r")
    try:
        heads = next(csv.reader([first]), [])
    except csv.Error:  # a control character: no text at all
        return False
    return len({_id(each) for each in heads} & set(_LABELS.values())) >= _ENOUGH


def page(path: Path) -> Row:
    """The table as a page of Google's charts, which the tools' JSON holds. Raises csv.Error, OSError and EOFError."""
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
        return float(cell.replace(",", ""))
    except ValueError:
        return cell
