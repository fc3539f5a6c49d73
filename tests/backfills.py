"""What the tests of backfill share: a CSV of measurements for a workbook, and what is in it afterwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from click.testing import Result
from lxml import etree

from planner.compare import comparison_sheet as comparison
from planner.compare.comparison_sheet import CaseRow, ComparisonSheet
from planner.measure.measurements_csv import write_measurements
from planner.measure.records import Measurement
from planner.xlsx.address import address
from planner.xlsx.cellvalue import Value
from planner.xlsx.drawings import charts_of
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.xmltree import Element, every
from tests.commands import run

ROW = Measurement(
    run_id="r1", timestamp="2026-05-01T10:00:00+00:00", source="microbench", platform="tpu", hardware_id="tpu-v5e",
    device_kind="TPU v5 lite", t_median=1e-3, t_mad=1e-5, n_samples=9, method="profiler", jax="0.10.2",
)  # fmt: skip


def rows(path: Path) -> list[CaseRow]:
    """The rows of a workbook's Comparison."""
    return list(comparison.find(Package.read(path)).rows)


def keys(path: Path) -> list[str]:
    """The key of each row."""
    return [row.text("case_key") for row in rows(path)]


def measurement(key: str, seconds: float = 1e-3, **columns: object) -> Measurement:
    """A measured row of this case."""
    return replace(ROW, **{"case_key": key, "t_median": seconds, "t_mad": abs(seconds) / 100, **columns})  # type: ignore[arg-type]


def backfill(path: Path, *measured: Measurement) -> Result:
    """Run the command with these measurements in a CSV beside the workbook."""
    csv = path.with_suffix(".csv")
    write_measurements(csv, measured)
    return run("backfill", path, csv)


def changed(before: bytes, path: Path) -> set[str]:
    """The parts that differ, in more than the values that a chart keeps of its cells."""
    old, new = Package.from_bytes(before, "before.xlsx"), Package.read(path)
    assert list(old.parts) == list(new.parts)
    differ = {name for name in old.parts if old.parts[name] != new.parts[name]}
    charts = differ & set(charts_of(old))
    return differ - {name for name in charts if _bare(old.tree(name)) == _bare(new.tree(name))}


def _bare(chart: Element) -> bytes:
    """A chart without the values that it keeps."""
    for kept in every(chart, "numCache", "strCache"):
        kept.clear()
    return etree.tostring(chart, method="c14n")


def typed_into(sheet: ComparisonSheet, number: int, **values: Value) -> bytes:
    """The XML of a Comparison with these values, by machine name, typed into a row."""
    return with_values(sheet.xml, {address(number, sheet.columns[name]): value for name, value in values.items()})
