"""Every part of a workbook that we wrote is valid by ISO/IEC 29500 (transitional)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planner.xlsx.opc import Package
from tests.workbooks import write_plan

SCHEMAS = Path(os.environ.get("PLANNER_SCHEMAS") or Path(__file__).parents[2] / "shared" / "schemas")
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


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the ISO schemas are not beside the checkout (PLANNER_SCHEMAS)")
def test_every_part_is_valid(tmp_path: Path) -> None:
    """The default workbook, and one of several models with overrides, validate part by part."""
    from lxml import etree

    schemas: dict[str, etree.XMLSchema] = {}
    faults = []
    for number, settings in enumerate(({}, {"hbm_bandwidth": 1e12, "weight_bytes": 1e9})):
        path = tmp_path / f"{number}.xlsx"
        write_plan(path, ["gpt2", "deepseek-v3"] if settings else [], ["tpu-v5e"] if settings else [], **settings)
        for part, data in Package.read(path).parts.items():
            name = schema_of(part)
            if name is None:
                continue
            if name not in schemas:
                schemas[name] = etree.XMLSchema(etree.parse(SCHEMAS / name))
            if not schemas[name].validate(etree.fromstring(data)):
                faults.append(f"{part}: {schemas[name].error_log[0]}")
    assert faults == []
