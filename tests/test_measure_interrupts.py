"""Ctrl-C at any moment of `planner measure`: one line, nothing half-written, and what was measured is kept."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from planner.measure import clock, interrupts
from planner.measure.measurements_csv import read_measurements
from planner.measure.timing import LoopTime, Timing, summarize
from tests import commands
from tests.backfills import rows
from tests.commands import printed_by

STEADY = summarize([2e-3] * 7)
CANNED = Timing("cpu", STEADY, 1.0, 1e-5, loop=LoopTime(STEADY, 15, 3.0, 1e-4), device=STEADY)
WHILE_IT_LOADS = """
import os, signal, sys
class Press:
    def find_spec(self, name, *_):
        if name == "jaxlib.xla_client":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Press())
from planner.cli import main
main()
"""


@pytest.fixture(autouse=True)
def as_at_a_terminal() -> Iterator[None]:
    """SIGINT is heard here and in what is started: a run in the background is told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    """Ctrl-C, as the system says it."""
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`planner measure` in which so many cases take no time, and Ctrl-C is pressed in the next one."""

    def run(n_done: int, *words: str) -> Result:
        left = iter(range(n_done))

        def timed(*_: object, **__: object) -> Timing:
            if next(left, None) is None:
                press()
                interrupts.check()
            return CANNED

        monkeypatch.setattr(clock, "time_workload", timed)
        return commands.run("measure", *words)

    return run


def test_while_jax_loads(plan: Path) -> None:
    """Pressed inside an import that it would break: one line, exit code 2, the file as it was."""
    before = plan.read_bytes()
    command = [sys.executable, "-c", WHILE_IT_LOADS, "measure", str(plan)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "Error: interrupted; nothing was changed\n")
    assert plan.read_bytes() == before


def test_before_the_first_time_nothing_is_written(plan: Path, tmp_path: Path, measure: Callable[..., Result]) -> None:
    """The workbook keeps every byte, no CSV is made, and the command says that it failed."""
    before, csv = plan.read_bytes(), tmp_path / "m.csv"
    for words in ([str(plan), "--csv", str(csv)], ["--suite", "quick", "--csv", str(csv)]):
        done = measure(0, *words)
        assert done.exit_code == 2
        assert "interrupted before anything was measured" in done.output.splitlines()[-1]
    assert plan.read_bytes() == before
    assert not csv.exists()


def test_what_was_measured_is_kept(plan: Path, tmp_path: Path, measure: Callable[..., Result]) -> None:
    """Two cases in the workbook and in the CSV, the third says why it has no time, the others are as they were."""
    assert "2 measured, 1 interrupted; 2 updated" in printed_by(measure(2, str(plan), "--csv", str(tmp_path / "m.csv")))
    times = [row.number_in("measured_time") for row in rows(plan)]
    assert times == [2e-3, 2e-3, *[None] * (len(times) - 2)]
    assert rows(plan)[2].text("flags").startswith("interrupted: stopped by the user")
    assert [row.status for row in read_measurements(tmp_path / "m.csv")] == ["measured", "measured", "interrupted"]


def test_it_does_not_end_the_writing(
    plan: Path, measure: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Pressed again and again while the workbook is written: it is written."""
    from planner.compare import landing

    edit = landing.edit
    monkeypatch.setattr(landing, "edit", lambda *given: (press(), press(), edit(*given))[2])
    assert measure(1, str(plan)).exit_code == 0
    assert rows(plan)[0].number_in("measured_time") == 2e-3


def test_it_is_noted_even_where_it_is_swallowed() -> None:
    """Python drops what is raised in a callback from C; the note stays, and the next check raises it."""
    with interrupts.noted():
        press()
        with pytest.raises(KeyboardInterrupt), interrupts.noted():
            interrupts.check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    interrupts.check()


def test_pressed_twice_it_is_raised_at_once() -> None:
    """Someone does not want to wait for a compiler."""
    with interrupts.noted():
        press()
        with pytest.raises(KeyboardInterrupt):
            press()
