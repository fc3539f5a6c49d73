"""Speed as ratios within one run: each command of ours against something that everybody has.

    python benchmarks/ratios.py [--formulas 100000]

Each pair is run in turn, A B A B ..., and the median of the ratios is printed, so that a machine whose speed drifts
gives the same answer. The build is compared with XlsxWriter writing the same cells with the same values and formats.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import reports

ROUNDS = 5


def process(*command: str) -> Callable[[], float]:
    """CPU seconds of a whole process, its children's included."""

    def run() -> float:
        import resource

        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)

    return run


def call(function: Callable[[], object]) -> Callable[[], float]:
    """CPU seconds of a function in this process."""

    def run() -> float:
        begin = time.process_time()
        function()
        return time.process_time() - begin

    return run


def ratio(name: str, ours: Callable[[], float], theirs: Callable[[], float], goal: float, rounds: int = ROUNDS) -> None:
    """Print the median ratio of two timings taken in turn, beside the goal."""
    pairs = [(ours(), theirs()) for _ in range(rounds + 1)][1:]  # the first warms up
    mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    share = statistics.median(a / b for a, b in pairs)
    print(f"{name:58} {mine:8.3f} s {other:8.3f} s  {share:5.2f}  (goal {goal:g})", flush=True)


MODULES = """
import sys
from planner.cli import main
try: main()
except SystemExit: pass
print(*(name for name in sys.modules if name != "__main__"))
"""
IMPORTS = """
import importlib, sys
from contextlib import suppress
from planner import garbage_collection
with garbage_collection.paused():
    for name in sys.argv[1:]:
        with suppress(ImportError): importlib.import_module(name)
"""


def build_beyond_imports(rounds: int = 7) -> tuple[float, float]:
    """CPU seconds of `planner build`, start to end, and what of it is left beyond the imports; medians in turn.

    The imports are a process of their own that imports, as the command does, every module that it has at its end.
    """
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("build", "--force", "-o", f"{folder}/plan.xlsx")
        told = subprocess.run((sys.executable, "-c", MODULES, *arguments), check=True, capture_output=True, text=True)
        build = process(sys.executable, "-m", "planner", *arguments)
        imports = process(sys.executable, "-c", IMPORTS, *told.stdout.splitlines()[-1].split())
        pairs = [(build(), imports()) for _ in range(rounds + 1)][1:]
    return statistics.median(a for a, _ in pairs), statistics.median(a - b for a, b in pairs)


def large_plan(formulas: int):  # type: ignore[no-untyped-def]
    """A plan of at least so many formula cells: models on chips."""
    from planner import catalog
    from planner.workbook.scenarios import plan_of

    models, chips = list(catalog.load_models().rows), list(catalog.load_hardware().rows)

    def of(scenarios: int):  # type: ignore[no-untyped-def]
        plan = plan_of(models[: -(-scenarios // len(chips))], chips, (), None, ())
        return dataclasses.replace(plan, scenarios=plan.scenarios[:scenarios])

    few, more = (count_formulas(of(scenarios)) for scenarios in (2, 12))
    return of(2 + max(0, -(-10 * (formulas - few) // (more - few))))


def count_formulas(plan) -> int:  # type: ignore[no-untyped-def]
    """The formula cells of a plan's workbook."""
    import io

    import openpyxl

    from planner.workbook.book import build

    book = openpyxl.load_workbook(io.BytesIO(build(plan)), read_only=True)
    return sum(cell.data_type == "f" for sheet in book for row in sheet.iter_rows() for cell in row)


def looks(cell) -> dict[str, object]:  # type: ignore[no-untyped-def]
    """A cell's look as XlsxWriter names it."""
    font, fill = cell.font, cell.fill
    look = {"num_format": cell.number_format, "bold": bool(font.bold), "font_name": font.name, "font_size": font.sz,
            "locked": bool(cell.protection.locked), "text_wrap": bool(cell.alignment.wrap_text)}  # fmt: skip
    if font.color is not None and isinstance(font.color.rgb, str):
        look["font_color"] = f"#{font.color.rgb[2:]}"
    if fill.fill_type == "solid":
        look["bg_color"] = f"#{fill.fgColor.rgb[2:]}"
    return look


def same_cells(data: bytes, target: Path) -> Callable[[], None]:
    """A function that writes the cells of a built workbook, with values and formats, through XlsxWriter."""
    import io

    import openpyxl

    with_formulas = openpyxl.load_workbook(io.BytesIO(data))
    with_values = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    styles: dict[int, dict[str, object]] = {}
    sheets = []
    for sheet in with_formulas:
        cells = []
        for cell in (cell for row in sheet.iter_rows() for cell in row if cell.value is not None):
            styles.setdefault(cell.style_id, looks(cell))
            value = with_values[sheet.title].cell(cell.row, cell.column).value
            cells.append((cell.row - 1, cell.column - 1, cell.value, value, cell.style_id))
        sheets.append((sheet.title, cells))

    def write() -> None:
        import xlsxwriter

        book = xlsxwriter.Workbook(str(target))
        formats = {number: book.add_format(look) for number, look in styles.items()}
        for title, cells in sheets:
            sheet = book.add_worksheet(title)
            for row, column, content, value, number in cells:
                if isinstance(content, str) and content.startswith("="):
                    sheet.write_formula(row, column, content, formats[number], value)
                else:
                    sheet.write(row, column, content, formats[number])
        book.close()

    return write


def main() -> None:
    """Print every ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--formulas", type=int, default=100_000)
    formulas = parser.parse_args().formulas
    bare = "import click\n@click.group()\ndef g(): pass\n@g.command()\ndef a(): pass\ng()"
    python, planner = sys.executable, [sys.executable, "-m", "planner"]
    print(f"{'ours against theirs, CPU':58} {'ours':>10} {'theirs':>10}  ratio")
    ratio(
        "planner --help / a bare click program",
        process(*planner, "--help"),
        process(python, "-c", bare + "", "--help"),
        1.3,
    )
    ratio("planner calc / import pandas", process(*planner, "calc", "inference", "-m", "llama3-70b", "-H", "tpu-v5e"),
          process(python, "-c", "import pandas"), 1.0)  # fmt: skip
    from planner.workbook.book import build

    whole, beyond = build_beyond_imports()
    print(f"{'planner build, of which beyond its imports':58} {whole:8.3f} s {beyond:8.3f} s  (goal 1 s)", flush=True)
    plan = large_plan(formulas)
    data = build(plan)
    with tempfile.TemporaryDirectory() as folder:
        theirs = same_cells(data, Path(folder) / "theirs.xlsx")
        name = f"build of {len(plan.scenarios)} scenarios, {count_formulas(plan):,} formulas / XlsxWriter"
        ratio(name, call(lambda: build(plan)), call(theirs), 0.7, rounds=3)
    reports.main()


if __name__ == "__main__":
    main()
