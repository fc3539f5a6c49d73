"""Every part of a workbook that we wrote is valid by ISO/IEC 29500 (transitional)."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lxml import etree

from planner.xlsx.opc import Package
from tests.workbooks import write_plan, write_small

SCHEMAS = Path(os.environ.get("PLANNER_SCHEMAS") or Path(__file__).parents[2] / "shared" / "schemas")
OVERRIDES = {"hbm_bandwidth": 1e12, "weight_bytes": 1e9}
OF_PART = {
    "xl/charts/chart": "dml-chart.xsd",
    "xl/drawings/drawing": "dml-spreadsheetDrawing.xsd",
    "xl/theme/": "dml-main.xsd",
    "[Content_Types].xml": "opc-contentTypes.xsd",
    "docProps/app.xml": "shared-documentPropertiesExtended.xsd",
    "xl/": "sml.xsd",
}


def schema_of(part: str) -> str | None:
    """The schema of a part by its name; None for a part whose schema is not at hand (core properties)."""
    if part.endswith(".rels"):
        return "opc-relationships.xsd"
    return next((schema for start, schema in OF_PART.items() if part.startswith(start)), None)


def invalid_parts(package: Package) -> Iterator[str]:
    """The parts that their schema doesn't accept, each with the first reason."""
    for part, data in package.parts.items():
        if (name := schema_of(part)) and not (schema := loaded(name)).validate(etree.fromstring(data)):
            yield f"{part}: {schema.error_log[0]}"


@functools.cache
def loaded(name: str) -> etree.XMLSchema:
    """A schema by its file."""
    return etree.XMLSchema(etree.parse(SCHEMAS / name))


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the ISO schemas are not beside the checkout (PLANNER_SCHEMAS)")
@pytest.mark.parametrize(
    ("write", "models", "chips", "settings"),
    [
        (write_small, ["gemma-7b", "mixtral-8x7b"], ["tpu-v5e"], OVERRIDES | {"workload": "all"}),
        pytest.param(write_plan, [], [], {}, marks=pytest.mark.slow),
        pytest.param(write_plan, ["gpt2", "deepseek-v3"], ["tpu-v5e"], OVERRIDES, marks=pytest.mark.slow),
    ],
)
def test_every_part_is_valid(
    tmp_path: Path, write: Callable[..., object], models: list[str], chips: list[str], settings: dict[str, object]
) -> None:
    """The sheets of the default workbook, and several models with overrides, validate part by part."""
    path = tmp_path / "plan.xlsx"
    write(path, models, chips, [], **settings)
    assert list(invalid_parts(Package.read(path))) == []
