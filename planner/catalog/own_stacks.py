"""Stacks of a person's own: those lines of a file of calibrations that are of a stack and not of a calibration.

A stack that is fitted to runs has the name of its calibration: the file's lines of that name give both, the factors of
the stack with `fitted_for`, the chips' calibration that it stands for, and the parameters. `--set stack=NAME` takes the
stack of any file that the command reads.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from planner import csvfile
from planner.catalog.columns import Field, UnfitCellError, Value, parse
from planner.catalog.hardware_columns import STACK_FIELDS
from planner.catalog.table import Table
from planner.errors import Place, UserError

OF_STACKS = {each.name: each for each in STACK_FIELDS if each.name not in ("id", "source", "note")}
"""What a line of a stack may say, by the name of its parameter."""
COLUMNS = ("calibration", "parameter", "value")

_files: list[Path] = []


def known_files(path: Path | None = None) -> tuple[Path, ...]:
    """The files of calibrations that this process reads; one that is given is one of them from now on."""
    if path is not None and path not in _files:
        _files.append(path)
    return tuple(_files)


def own_stacks(path: Path, shipped: Table) -> Table:
    """The stacks of a file of calibrations, as the shipped table has them; what a line leaves out is as by default.

    Raises UserError for a line that its column can't hold, and for the name of a shipped stack.
    """
    rows: dict[str, dict[str, Value]] = {}
    sources: dict[str, str] = {}
    sheet = csvfile.read(path, required=COLUMNS)
    for line, cells in sheet.records():
        identifier, name = cells["calibration"].strip(), cells["parameter"].strip()
        if name not in OF_STACKS:
            continue
        place = Place(path, line)
        if shipped.has(identifier):
            what, remedy = f"the stack {identifier!r} is a shipped one", "give yours a name of its own"
            raise UserError(what, place=replace(place, column="calibration"), remedy=remedy)
        if identifier not in rows:
            rows[identifier] = {**shipped.rows["default"], "name": identifier, "source": "", "note": ""}
            sources[identifier] = path.name
        rows[identifier][name] = _value(OF_STACKS[name], cells["value"], replace(place, column="value"))
        if told := cells.get("sources", "").strip():
            rows[identifier]["source"] = sources[identifier] = told
    return replace(shipped, path=path, rows=rows, sources=sources, digests={path.name: sheet.digest})


def _value(field: Field, text: str, place: Place) -> Value:
    try:
        return parse(field, text)
    except UnfitCellError as error:
        raise UserError(error.what, place=place, remedy=error.remedy) from None
