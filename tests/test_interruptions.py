"""A command that ends early: one line, what was written by then, and no other file that is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from planner import progress
from planner.xlsx.atomic import write_atomically
from tests.commands import run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


INTERRUPTED = """
import os, pathlib, signal, sys
from planner import cli, progress
from planner.xlsx import atomic
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
flush = atomic._flush_folder
def pressed(folder):
    flush(folder)
    {pressed}
atomic._flush_folder = pressed
from planner.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("pressed", "why"),
    [
        ("os.kill(os.getpid(), signal.SIGINT)", "interrupted"),
        ("raise OSError(5, 'Input/output error')", "Input/output error"),
    ],
)
def test_what_was_written_is_said(tmp_path: Path, pressed: str, why: str) -> None:
    """Ctrl-C, or a fault of the system, right behind the replacement: the line says that the file was written."""
    program = [sys.executable, "-c", INTERRUPTED.format(pressed=pressed)]
    words = ["templates", "page", "matmul", "mlp", "--to", "pages"]
    done = subprocess.run([*program, *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    (first,) = (tmp_path / "pages").iterdir()
    assert done.returncode == 2
    assert why in done.stderr
    assert done.stderr.endswith(f"; pages/{first.name} was written\n")
    assert done.stderr.count("\n") == 1


def test_the_record_is_of_what_happened(tmp_path: Path) -> None:
    """A replacement that fails is none; two are named; what was put back is none; a new command begins anew."""
    one, two = tmp_path / "1", tmp_path / "2"
    with progress.cleared():
        assert progress.outcome() == "nothing was changed"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Path, "replace", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                write_atomically(one, b"x")
        assert progress.outcome() == "nothing was changed"
        write_atomically(one, b"x")
        assert progress.outcome() == f"{one} was written"
        write_atomically(two, b"x")
        assert progress.outcome() == f"{one} and {two} were written"
        progress.put_back(one)
        assert progress.outcome() == f"{two} was written"
        two.unlink()
        assert progress.outcome() == "nothing was changed"
    with progress.cleared():
        assert progress.outcome() == "nothing was changed"


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


BEGUN = """
import signal
from planner.__main__ import main
handle = signal.signal
def told(*handler):
    before = handle(*handler)
    if before is not signal.SIG_IGN:
        signal.signal = handle
        print("begun", flush=True)
    return before
signal.signal = told
main()
"""  # says so once Ctrl-C is handled, or ignored again


EARLY = [0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3]
LATE = [0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0]


@pytest.mark.parametrize("moment", [*EARLY, *(pytest.param(at, marks=pytest.mark.slow) for at in LATE)])
def test_ctrl_c_at_any_moment_is_one_line(tmp_path: Path, moment: float) -> None:
    """From the handling of it to 2 s: one line and exit code 2 or, behind the end, none; no other file is left."""
    command = [sys.executable, "-c", BEGUN, "build", "-o", "plan.xlsx"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=_heard
    ) as begun:
        assert begun.stdout is not None
        assert begun.stderr is not None
        begun.stdout.readline()
        try:
            begun.wait(moment)
        except subprocess.TimeoutExpired:
            begun.send_signal(signal.SIGINT)
        said = begun.stderr.read()
    written = [path.name for path in tmp_path.iterdir()]
    assert "Traceback" not in said
    if begun.returncode == 0:
        assert (said, written) == ("", ["plan.xlsx"])
    else:
        assert begun.returncode == 2
        outcome = "plan.xlsx was written" if written else "nothing was changed"
        assert said == f"Error: interrupted; {outcome}\n"
        assert written in ([], ["plan.xlsx"])


def _heard() -> None:
    """Ctrl-C reaches the program though the tests were begun in the background, where it is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_ctrl_c_that_is_ignored_stays_so(tmp_path: Path) -> None:
    """A program in the background, which its shell told to ignore Ctrl-C, goes on."""
    program = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + BEGUN
    command = [sys.executable, "-c", program, "models", "list"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as begun:
        assert begun.stdout is not None
        assert begun.stderr is not None
        begun.stdout.readline()
        begun.send_signal(signal.SIGINT)
        assert "llama3-8b" in begun.stdout.read()
        assert begun.stderr.read() == ""
    assert begun.returncode == 0


def test_an_interruption_that_python_wraps_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a class is made, as in an import, arrives as the cause of a RuntimeError: one line all the same."""

    def interrupted(*_: object) -> None:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr("planner.cli.Lazy.get_command", interrupted)
    done = run("build")
    assert (done.exit_code, done.output) == (2, "Error: interrupted; nothing was changed\n")


def test_an_interruption_that_a_library_makes_another_error_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """openpyxl catches whatever ends the check of a value and raises a TypeError; any other stays an error."""

    def interrupted(*_: object) -> None:
        try:
            raise KeyboardInterrupt
        except BaseException:
            raise TypeError("expected <class 'CellRange'>")  # noqa: B904 (as openpyxl does)

    monkeypatch.setattr("planner.cli.Lazy.get_command", interrupted)
    done = run("build")
    assert (done.exit_code, done.output) == (2, "Error: interrupted; nothing was changed\n")
    monkeypatch.setattr("planner.cli.Lazy.get_command", lambda *_: 1 / 0)
    assert isinstance(run("build").exception, ZeroDivisionError)
