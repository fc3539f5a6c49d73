"""Files of a user: what is refused before it is read, what a command that ends early says of them and leaves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from planner import progress, regularfile
from planner.errors import UserError
from planner.report.documents import rendered
from planner.xlsx import atomic
from planner.xlsx.atomic import locked, write_atomically
from tests.commands import refusal, run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, devices and signals of POSIX")

ROOT = Path(__file__).resolve().parents[1]
Planner = Callable[..., Result]


@pytest.fixture
def odd(tmp_path: Path) -> Iterator[dict[str, str]]:
    """By kind: a path that leads to no regular file, and the word that names it."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    (tmp_path / "folder.csv").mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        here = Path.cwd()
        os.chdir(tmp_path)  # the name of a socket is short
        bound.bind("socket.csv")
        os.chdir(here)
        yield {
            "pipe": "a pipe", "loop": "Too many levels of symbolic links", "zero": "a device",
            "folder": "a folder", "socket": "a socket",
        }  # fmt: skip


READERS = {
    "template": ["calc", "{}"],
    "models": ["models", "list", "--file", "{}"],
    "hardware": ["calc", "matmul", "-H", "x", "--hardware-csv", "{}"],
    "scenarios": ["build", "--scenarios", "{}"],
    "config": ["models", "add", "{}", "--to", "mine.csv"],
    "database": ["models", "add", "config.json", "--to", "{}"],
}


@pytest.mark.parametrize("kind", ["pipe", "loop", "zero", "folder", "socket"])
@pytest.mark.parametrize("words", READERS.values(), ids=READERS)
def test_what_is_no_regular_file_is_refused(
    planner: Planner, odd: dict[str, str], words: list[str], kind: str, tmp_path: Path
) -> None:
    """One line that names the path and what stands there; nothing is read of it, and nothing is written."""
    config = ROOT / "tests" / "data" / "hf" / "llama3-8b.json"
    (tmp_path / "config.json").write_bytes(config.read_bytes())
    before = sorted(path.name for path in tmp_path.iterdir())
    said = refusal(planner(*(word.format(f"{kind}.csv") for word in words)))
    assert said.startswith(f"Error: {kind}.csv: ")
    assert odd[kind] in said or "something else than a file" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("kind", ["pipe", "loop", "zero", "folder", "socket"])
@pytest.mark.parametrize("command", ["recalc", "show", "check", "update", "report"])
def test_a_workbook_that_is_no_regular_file_is_refused(
    planner: Planner, odd: dict[str, str], command: str, kind: str, tmp_path: Path
) -> None:
    """A workbook's path too: one line, no lock and no temporary file beside it."""
    assert kind in odd
    further = ["-o", "report.md"] if command == "report" else []
    before = sorted(path.name for path in tmp_path.iterdir())
    assert refusal(planner(command, f"{kind}.csv", *further)).startswith(f"Error: {kind}.csv: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_measurements_that_are_no_regular_file_are_refused(planner: Planner, odd: dict[str, str]) -> None:
    """`backfill` says what stands in the place of its measurements."""
    for kind, word in odd.items():
        done = planner("backfill", "plan.xlsx", f"{kind}.csv")
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
        assert f"{kind}.csv" in done.stderr
        assert word in done.stderr


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        (READERS["template"], "16 MiB"),
        (READERS["config"], "16 MiB"),
        (READERS["models"], "1 GiB"),
        (READERS["scenarios"], "1 GiB"),
    ],
)
def test_a_file_too_large_is_refused(planner: Planner, tmp_path: Path, words: list[str], limit: str) -> None:
    """One line states the size beyond which nothing is read; the file is one of holes, and takes no room."""
    with (tmp_path / "huge.csv").open("wb") as file:
        file.truncate((regularfile.SMALL if limit == "16 MiB" else regularfile.LARGE) + 1)
    said = refusal(planner(*(word.format("huge.csv") for word in words)))
    assert said.startswith(f"Error: huge.csv: larger than {limit}, the most that is read of ")


@pytest.mark.parametrize("kind", ["pipe", "loop", "zero", "folder", "socket"])
def test_a_house_style_that_is_no_regular_file_is_refused(odd: dict[str, str], kind: str, tmp_path: Path) -> None:
    """The template of a report is read as any other file of a user."""
    with pytest.raises(UserError, match=odd[kind]):
        rendered("report.html", tmp_path / f"{kind}.csv", {}, {}, escapes=True)


def test_a_file_that_grows_meanwhile_is_refused(tmp_path: Path) -> None:
    """The size counts that is read, not the one that was seen first."""
    path = tmp_path / "grows.csv"
    path.write_bytes(b"12345")
    assert regularfile.read_bytes(path, largest=5) == b"12345"
    with pytest.raises(UserError, match="larger than"):
        regularfile.read_bytes(path, largest=4)


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


KILLED = (
    "import os, signal, sys, pathlib, planner.xlsx.atomic as atomic\n"
    "atomic.os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
    "atomic.write_atomically(pathlib.Path(sys.argv[1]), bytes(1000))"
)


def test_what_a_killed_process_left_is_cleared(tmp_path: Path) -> None:
    """The next write of the file removes its temporary one, and no other file that looks alike."""
    plan, link = tmp_path / "plan.xlsx", tmp_path / ".plan.xlsx.aaaaaaaaaaaa.tmp"
    subprocess.run([sys.executable, "-c", KILLED, str(plan)], check=False, cwd=ROOT)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".plan.xlsx.")
    others = [".other.xlsx.0123456789ab.tmp", ".plan.xlsx.0123456789ab.tmp2", ".plan.xlsx.mine.tmp", "x.plan.xlsx.tmp"]
    for name in others:
        (tmp_path / name).touch()
    link.symlink_to(others[0])
    write_atomically(tmp_path / "another.xlsx", b"x")
    assert left.exists()
    write_atomically(plan, b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, link.name, "another.xlsx", "plan.xlsx"])


def test_what_another_writes_now_is_left_alone(tmp_path: Path) -> None:
    """A temporary file whose writer is at work stays: both writes end, and the last one counts."""
    plan = tmp_path / "plan.xlsx"

    def meanwhile(_: Path) -> None:
        write_atomically(plan, b"theirs")

    write_atomically(plan, b"ours", check=meanwhile)
    assert plan.read_bytes() == b"ours"
    assert list(tmp_path.iterdir()) == [plan]


def test_it_is_cleared_under_the_lock_of_the_command_too(tmp_path: Path) -> None:
    """A command that holds the file's lock clears what is left as any other."""
    plan = tmp_path / "plan.xlsx"
    (tmp_path / ".plan.xlsx.0123456789ab.tmp").touch()
    with locked(plan):
        write_atomically(plan, b"new")
    assert list(tmp_path.iterdir()) == [plan]


def test_a_file_that_is_cleared_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the making of a temporary file and its lock another writer may take it for a left-over."""
    plan, taken, times = tmp_path / "plan.xlsx", atomic.is_taken, iter(range(9))

    def late(handle: int) -> bool:
        if next(times) == 0:
            (path,) = tmp_path.glob("*.tmp")
            path.unlink()
        return taken(handle)

    monkeypatch.setattr(atomic, "is_taken", late)
    write_atomically(plan, b"new")
    assert plan.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [plan]


def test_a_hard_link_is_named_before_it_parts(planner: Planner, write: Callable[..., Path], tmp_path: Path) -> None:
    """Of a file with two names the one is written; one line names it and says that the other keeps the old content."""
    (tmp_path / "pages").mkdir()
    page, other = tmp_path / "pages" / "mine.md", tmp_path / "other.md"
    page.write_text("old")
    os.link(page, other)
    write("work FLOP input 1")
    done = planner("templates", "page", "mine.csv", "--to", "pages")
    assert done.exit_code == 0
    assert done.stderr == "Warning: pages/mine.md has another name (hard links): there the old content stays\n"
    assert other.read_text() == "old"
    assert page.read_text() != "old"
    assert planner("templates", "page", "mine.csv", "--to", "pages").stderr == ""


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


def test_a_link_and_its_file_have_one_lock(tmp_path: Path) -> None:
    """Who reaches a file by a link waits for who reaches it by its name."""
    plan, other = tmp_path / "plan.xlsx", tmp_path / "other.xlsx"
    plan.touch()
    other.symlink_to(plan)
    with locked(plan), pytest.raises(UserError, match="another planner is writing"), locked(other, patience_s=0):
        pass


def test_a_long_name_of_many_bytes_is_written(tmp_path: Path) -> None:
    """A system counts a name's bytes: 76 ideographs are 228 of 255."""
    plan = tmp_path / f"{'计' * 76}.xlsx"
    with locked(plan):
        write_atomically(plan, b"new")
    assert (plan.read_bytes(), list(tmp_path.iterdir())) == (b"new", [plan])
