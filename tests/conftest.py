"""What the tests of templates share."""

from __future__ import annotations

import csv
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import settings

from planner.errors import UserError
from planner.formulas import library
from planner.formulas.template import COLUMNS, Template
from tests import commands, read_once
from tests.hf_configs import Run, add_config
from tests.short_data import of_few_cases, of_few_rows, of_serve_alone
from tests.workbooks import write_comparison

Write = Callable[..., Path]
OBJECTS = 3_000_000  # that are made before the youngest are walked: those of some tests' workbooks


def pytest_configure(config: pytest.Config) -> None:
    """Everyday, where slow tests are left out, a property is tried on fewer examples; a busy machine fails none."""
    settings.register_profile("everyday", max_examples=25, deadline=None)
    settings.register_profile("full", deadline=None)
    settings.load_profile("everyday" if "not slow and" in config.option.markexpr else "full")


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: Python's collector need not walk it with every test's cells.

    It is asked less often too, since the workbooks of a test are tens of thousands of objects without a cycle; but for
    those of openpyxl, which are cycles: rarer still, and processes grow to gigabytes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS, 5, 5)


def pytest_sessionfinish() -> None:
    """The process ends: what is left goes with it, and pytest need not have it walked five times."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests run in one process, and the longest files first."""
    from tests.scheduling import LongestFirst

    return LongestFirst(config, log)


read_once.install()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a template file of rows such as `work FLOP calc macs*flop_per_mac`: name, unit, kind and formula.

    Its label is the name and its source is "test"; an include has `.` for its name or a prefix, and no unit.
    """

    def write_rows(*rows: str, name: str = "mine") -> Path:
        path = tmp_path / f"{name}.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(COLUMNS)
            for row in rows:
                named, unit, kind, *formula = row.split(maxsplit=3)
                writer.writerow([named, named, "" if kind == "include" else unit, kind, *(formula or [""]), "test", ""])
        return path

    return write_rows


@pytest.fixture
def load(write: Write) -> Callable[..., Template]:
    """Load a template of such rows; keywords are further templates beside it."""

    def load_rows(*rows: str, **others: list[str]) -> Template:
        for name, lines in others.items():
            write(*lines, name=name)
        return library.load(write(*rows))

    return load_rows


@pytest.fixture
def fault(load: Callable[..., Template], tmp_path: Path) -> Callable[..., str]:
    """The one-line error that loading such rows must end in, with the folder left out."""

    def fault_of(*rows: str, **others: list[str]) -> str:
        with pytest.raises(UserError) as caught:
            load(*rows, **others)
        return str(caught.value).replace(f"{tmp_path}{os.sep}", "")

    return fault_of


@pytest.fixture(scope="module")
def short_data() -> Iterator[None]:
    """While a file's tests run the shipped databases have a few rows, and sweeps one axis: half of a workbook's cells.

    For `pytestmark = pytest.mark.usefixtures("short_data")`. For some tests of a file: `of_few_rows()`.
    """
    with of_few_rows():
        yield


@pytest.fixture(scope="module")
def few_cases() -> Iterator[None]:
    """While a file's tests run a Comparison begins with few cases."""
    with of_few_cases():
        yield


@pytest.fixture(scope="module")
def swept_serve() -> Iterator[None]:
    """While a file's tests run the template `serve` of `tests.swept_serving` is swept, and no other."""
    with of_serve_alone():
        yield


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small workbook with a Comparison."""
    path = tmp_path_factory.mktemp("built") / "plan.xlsx"
    write_comparison(path)
    return path.read_bytes()


@pytest.fixture
def plan(built: bytes, tmp_path: Path) -> Path:
    """A copy of it."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(built)
    return path


@pytest.fixture
def planner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run `planner` with some words, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return commands.run


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `planner models add` on a config in a folder of its own, for mine.csv there."""
    monkeypatch.chdir(tmp_path)
    return add_config
