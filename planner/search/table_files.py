"""Writes tables to files part by part, in bounded memory, completely or not at all: .csv and .parquet, also .xlsx.

Several processes write a folder together, with a Parquet part of each, to be read as one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from planner.csvfile import guarded
from planner.errors import Place, UserError
from planner.formulas.expected import EXTRAPOLATED
from planner.formulas.headlines import fit
from planner.number_text import EXACT
from planner.processes import ALONE, Processes
from planner.search.computing import Plans
from planner.search.found import Found
from planner.search.request import Request
from planner.search.space import PlanSpace
from planner.search.sweep import Part, SweepColumn, texts
from planner.xlsx.atomic import clear_left_over, write_atomically, written_atomically

ENDINGS = (".csv", ".parquet", ".xlsx")
PARTS = "part-*-of-*.parquet"
TRIED = 1024  # numbers of a column sampled to see whether values repeat


def write(
    path: Path, asked: Request, columns: Sequence[SweepColumn], parts: Iterable[Part], among: Processes = ALONE
) -> int:
    """Write the table to `path` in the format of its suffix; returns the number of rows. Raises UserError.

    With several processes, each writes its own rows, and the total number is returned.
    """
    if among.count > 1:
        return _write_shared(path, among, columns, parts)
    if path.suffix.lower() == ".xlsx":
        from planner.search.plans_sheet import workbook

        made, count = workbook(asked, columns, parts)
        write_atomically(path, made)
        return count
    with written_atomically(path) as temporary:
        return (_csv if path.suffix.lower() == ".csv" else write_parquet)(temporary, columns, parts)


def write_found(path: Path, asked: Request, found: Found) -> int:
    """Write the plans found by a search to `path`; returns their number. Raises UserError."""
    if path.suffix.lower() == ".xlsx":
        from planner.search.search_sheet import workbook

        made, count = workbook(asked, found)
        write_atomically(path, made)
        return count
    columns, part = plans_table(asked, found)
    return write(path, asked, columns, [part])


def check_writable(path: Path, among: Processes = ALONE) -> None:
    """Raise UserError for an unknown suffix, and if the library for it isn't installed.

    For several processes, also for a suffix other than Parquet's, and for a file in place of the folder.
    """
    if path.suffix.lower() not in ENDINGS:
        raise UserError(f"a table's name ends in {', '.join(ENDINGS)}", place=Place(path), remedy="name it so")
    if path.suffix.lower() == ".parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            remedy = "pip install 'llm-planner[parquet]', or write a .csv"
            raise UserError("Parquet needs pyarrow, which is not installed", place=Place(path), remedy=remedy) from None
    elif among.count > 1:
        remedy = "name it .parquet, or set JAX_NUM_PROCESSES=1"
        raise UserError("several processes write a Parquet part each", place=Place(path), remedy=remedy)
    if among.count > 1 and path.is_file():
        remedy = "choose another with -o, or remove it"
        raise UserError("several processes write a folder, and this is a file", place=Place(path), remedy=remedy)


def _csv(path: Path, columns: Sequence[SweepColumn], parts: Iterable[Part]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(column.name for column in columns) + "\n")
        for part in parts:
            cells = [_cells(part[column.name]) for column in columns]
            count += len(cells[0])
            if cells[0]:
                file.write("\n".join(map(",".join, zip(*cells, strict=True))) + "\n")
    return count


def _cells(array: np.ndarray) -> list[str]:
    """The numbers or texts of a column as cells: numbers with all digits, whole ones without a fraction."""
    if array.dtype == object:
        return ["N/A" if text is None else _quoted(guarded(text)) for text in array]
    if len(array) > TRIED and len(np.unique(array[:TRIED])) < TRIED // 2:  # repeated values are formatted once
        few, places = np.unique(array, return_inverse=True)
        if len(few) < len(array) // 2:
            texts = _cells(few)
            return [texts[place] for place in places.tolist()]
    whole = (array == np.rint(array)) & (np.abs(array) < EXACT)
    if whole.all():
        return list(map(str, array.astype(np.int64).tolist()))
    numbers = array.tolist()
    if whole.any() or np.isnan(array).any():
        return [
            "N/A" if each != each else str(int(each)) if at else repr(each)
            for each, at in zip(numbers, whole.tolist(), strict=True)
        ]
    return list(map(repr, numbers))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\r\n') else text


def write_parquet(path: Path, columns: Sequence[SweepColumn], parts: Iterable[Part]) -> int:
    """Write the table as Parquet to a path that nobody reads yet; returns the number of rows."""
    import pyarrow
    import pyarrow.parquet

    kinds = {column.name: pyarrow.string() if column.unit == "text" else pyarrow.float64() for column in columns}
    fields = [
        pyarrow.field(name, kinds[name], metadata={"unit": unit, "label": row.label if row else name})
        for name, unit, row in ((column.name, column.unit, column.row) for column in columns)
    ]
    schema, count = pyarrow.schema(fields), 0
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for part in parts:
            arrays = [pyarrow.array(part[field.name], type=field.type, from_pandas=True) for field in fields]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            count += len(arrays[0])
    return count


def _write_shared(folder: Path, among: Processes, columns: Sequence[SweepColumn], parts: Iterable[Part]) -> int:
    """Write this process's rows as its part of the folder; returns the number of rows of all parts.

    All parts are moved into place, replacing earlier ones, when all are complete; otherwise none is. In the order of
    parts, the rows are in the order of a single process. Raises UserError on all processes if one fails.
    """
    path = folder / f"part-{among.index:05d}-of-{among.count:05d}.parquet"
    try:
        with among.agreed():
            folder.mkdir(exist_ok=True)
            with written_atomically(path) as temporary:
                with among.agreed():
                    count = write_parquet(temporary, columns, parts)
                with among.agreed():
                    for old in folder.glob(PARTS):
                        old.unlink(missing_ok=True)
                counts = among.gather(count)
    except BaseException:
        clear(folder)
        raise
    return sum(counts)


def clear(output: Path) -> None:
    """Remove half-written files of killed processes, and an empty folder."""
    clear_left_over(output)
    with suppress(OSError):
        output.rmdir()


TIE = "is_tie"  # the column with 1 for plans indistinguishable from the best


def plans_table(asked: Request, found: Found) -> tuple[list[SweepColumn], Part]:
    """The columns and rows: model, chip, tie, varied inputs, objectives with ranges, memory, extrapolation.

    With several objectives, the whole front.
    """
    template = asked.template
    objectives = [each.row.name for each in found.objectives]
    ranges = [row.name for each in found.objectives for row in each.rows(template)[1:]]
    moved = [name for name in found.plans[0].moved if name not in objectives]
    memory = fit(template)
    others = [*ranges, *([memory.needed] if memory else []), EXTRAPOLATED]
    shown = [*objectives, *(name for name in others if name in template.by_name)]
    columns = [SweepColumn(name) for name in ("model", "hardware")]
    columns += [SweepColumn(name, template.row(name)) for name in dict.fromkeys([*moved, *shown])]
    count = sum(len(each.ranks) for each in found.chosen)
    is_text = {column.name: column.unit == "text" for column in columns}
    table = {name: np.empty(count, dtype=object if text else np.float64) for name, text in is_text.items()}
    table[TIE] = np.empty(count)
    for each in found.chosen:
        space = PlanSpace([each.moved])
        plans = Plans(template, each.subject.facts, asked.given, space, [*dict.fromkeys([*moved, *shown])])
        table["model"][each.ranks], table["hardware"][each.ranks] = each.subject.model, each.subject.hardware
        table[TIE][each.ranks] = each.is_tie
        for block, rows in plans.each(lambda _, rows: rows):
            ranks = each.ranks[block.start : block.start + block.count]
            for name, array in rows.items():
                table[name][ranks] = block.flat(texts(array) if is_text[name] else array)
    ties = [SweepColumn(TIE, None, "1")] if len(objectives) == 1 else []
    return [*columns[:2], *ties, *columns[2:]], table
