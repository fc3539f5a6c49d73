"""What the files of this room share: how a cell is named, where it is looked up, and when two numbers agree."""

from __future__ import annotations

from collections.abc import Mapping

from planner.xlsx.sheetxml import SheetXml

Address = tuple[str, str]  # the sheet's name and the cell's address on it
Sheets = Mapping[str, SheetXml]

AGREEMENT = 1e-9  # of a saved number and the computed one, relative
