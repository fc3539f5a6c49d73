"""Files are replaced as a whole: what a killed process left, what another writes, and other names of the file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from planner.errors import UserError
from planner.xlsx import atomic
from planner.xlsx.atomic import locked, write_atomically

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and links of POSIX")

ROOT = Path(__file__).resolve().parents[1]
Planner = Callable[..., Result]


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
