"""The charts of Comparison draw times of the plan's chips alone; others stand in their rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.xlsx.cellvalue import CellError
from tests.backfills import backfill, keys, measurement, rows


def drawn(path: Path) -> list[tuple[str, bool]]:
    """The chip of each measured row, and whether a chart draws its time."""
    measured = [row for row in rows(path) if row.number_in("measured_time")]
    return [(row.text("hardware_id"), not isinstance(row.value("chart_measured"), CellError)) for row in measured]


def test_a_time_of_the_plans_chip_is_drawn(plan: Path) -> None:
    """As it is measured, with a device of that chip or of a name that nobody gave."""
    backfill(plan, measurement(keys(plan)[0]), measurement(keys(plan)[1], device_kind=""))
    assert drawn(plan) == [("tpu-v5e", True), ("tpu-v5e", True)]


@pytest.mark.parametrize(
    ("columns", "chip"),
    [({"hardware_id": "tpu-v6e"}, "tpu-v6e"), ({"device_kind": "NVIDIA H100 80GB HBM3"}, "tpu-v5e"),
     ({"hardware_id": "", "device_kind": "cpu"}, "tpu-v5e")],
)  # fmt: skip
def test_a_time_of_other_hardware_is_shown_and_not_drawn(plan: Path, columns: dict[str, str], chip: str) -> None:
    """A row of another chip than the plan's, and one of its chip whose device is another: in the sheet, in no chart."""
    backfill(plan, measurement(keys(plan)[0]), measurement(keys(plan)[1], 2e-3, **columns))
    assert sorted(drawn(plan)) == sorted([("tpu-v5e", True), (chip, False)])
    assert 2e-3 in [row.number_in("measured_time") for row in rows(plan)]


def test_only_the_first_rows_chip_has_a_place_by_dimension(plan: Path) -> None:
    """The bound of another chip is no part of the line of this one."""
    backfill(plan, measurement(keys(plan)[0], hardware_id="tpu-v6e"))
    own, other = (next(row for row in rows(plan) if row.text("hardware_id") == chip) for chip in ("tpu-v5e", "tpu-v6e"))
    assert own.number_in("chart_dimension") == 128
    assert other.number_in("chart_dimension") == 1
