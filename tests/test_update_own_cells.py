"""What a person put on planner's sheets, in ways of writing that the file has and planner doesn't."""

from __future__ import annotations

import re
from pathlib import Path

from planner.update.update import update_file
from planner.xlsx.opc import Package
from tests.workbooks import CHIPS, few_rows, write_small

MORE = few_rows(("llama3-8b", "mixtral-8x7b"), CHIPS[:3])


def put(path: Path, sheet: str, pattern: str, new: str) -> None:
    """Rewrite a place of a sheet's XML."""
    package = Package.read(path)
    part = package.sheets()[sheet]
    xml, count = re.subn(pattern, new, package.parts[part].decode(), count=1)
    assert count == 1
    package.replace(part, xml.encode())
    package.write(path)


def xml_of(path: Path, sheet: str) -> str:
    """A sheet's XML."""
    package = Package.read(path)
    return package.parts[package.sheets()[sheet]].decode()


def test_a_shared_formula_keeps_the_operator_that_is_a_space(tmp_path: Path) -> None:
    """Every cell of a shared formula is written with the spaces that it has: between two ranges one is an operator."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["inference"])
    shared = ' t="shared" si="77"'
    put(path, "Inputs", '(<row r="11".*?)</row>',
        rf'\1<c r="M11"><f ref="M11:M12"{shared}>SUM($F$5:$F$20 F11:G11)</f></c></row>')  # fmt: skip
    put(path, "Inputs", '(<row r="12".*?)</row>', rf'\1<c r="M12"><f{shared}/></c></row>')
    update_file(path, [], MORE)
    found = re.findall(r'<c r="M1\d"[^>]*><f>(.*?)</f>', xml_of(path, "Inputs"))
    assert found == ["SUM($F$5:$F$20 F11:G11)", "SUM($F$5:$F$20 F12:G12)"]
