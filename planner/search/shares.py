"""A table that several processes write together: a folder in which each has a Parquet part, read as one table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from planner.errors import Place, UserError
from planner.processes import Processes
from planner.search import tables
from planner.search.sweep import Column, Part
from planner.xlsx.atomic import clear_left_over, written_atomically

PARTS = "part-*-of-*.parquet"


def check_writable(folder: Path) -> None:
    """Raise UserError for a name that is not Parquet's, and for a file in the folder's place."""
    tables.check_writable(folder)
    if folder.suffix.lower() != ".parquet":
        remedy = "name it .parquet, or set JAX_NUM_PROCESSES=1"
        raise UserError("several processes write a Parquet part each", place=Place(folder), remedy=remedy)
    if folder.is_file():
        remedy = "choose another with -o, or remove it"
        raise UserError("several processes write a folder, and this is a file", place=Place(folder), remedy=remedy)


def write(folder: Path, among: Processes, columns: Sequence[Column], parts: Iterable[Part]) -> int:
    """Write this process's rows as its part of the folder; returns how many rows all parts have.

    The parts come to their places when all are whole, and those that stood there before go; else none does. Part after
    part they have the rows in the order of one process. Raises UserError on all processes where one fails.
    """
    path = folder / f"part-{among.index:05d}-of-{among.count:05d}.parquet"
    try:
        with among.agreed():
            folder.mkdir(exist_ok=True)
            with written_atomically(path) as temporary:
                with among.agreed():
                    count = tables.write_parquet(temporary, columns, parts)
                with among.agreed():
                    for old in folder.glob(PARTS):
                        old.unlink(missing_ok=True)
                counts = among.gather(count)
    except BaseException:
        clear(folder)
        raise
    return sum(counts)


def clear(output: Path) -> None:
    """Remove what a process that was killed left half-written, and a folder that holds nothing."""
    clear_left_over(output)
    with suppress(OSError):
        output.rmdir()
