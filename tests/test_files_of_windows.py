"""Files as Windows has them: an open one can be neither replaced nor removed, and locks are of another module."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from planner.errors import UserError
from planner.xlsx import atomic
from planner.xlsx.atomic import locked, write_atomically

Refuse = Callable[[int], None]


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written as on Windows; what this process has open can't be removed or moved."""
    if os.name != "nt":
        monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=lambda *_: None))
    monkeypatch.setattr(atomic, "WINDOWS", True)
    monkeypatch.setattr(atomic, "_SCANNED_S", 0.3)
    opened = dict[str, int]()
    really_open, really_unlink, really_replace = os.open, Path.unlink, Path.replace

    def open_and_note(path: Path, *given: int) -> int:
        opened[str(path)] = really_open(path, *given)
        return opened[str(path)]

    def refuse_open(path: Path) -> None:
        if str(path) in opened and is_open(opened[str(path)]):
            raise PermissionError(13, "Access is denied", str(path))

    def unlink(path: Path, missing_ok: bool = False) -> None:
        refuse_open(path)
        really_unlink(path, missing_ok)

    def replace(path: Path, target: Path) -> Path:
        refuse_open(path)
        return really_replace(path, target)

    monkeypatch.setattr(os, "open", open_and_note)
    monkeypatch.setattr(Path, "unlink", unlink)
    monkeypatch.setattr(Path, "replace", replace)


def is_open(handle: int) -> bool:
    """Whether a handle is of an open file."""
    try:
        os.fstat(handle)
    except OSError:
        return False
    return True


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Let the next so many moves be refused, as where another program has the file open."""
    really = Path.replace

    def refuse(count: int) -> None:
        left = iter(range(count))

        def replace(path: Path, target: Path) -> Path:
            if next(left, None) is not None:
                raise PermissionError(13, "Access is denied", str(target))
            return really(path, target)

        monkeypatch.setattr(Path, "replace", replace)

    return refuse


def test_a_file_is_written_and_nothing_is_left(tmp_path: Path) -> None:
    """Under the lock a file is made and replaced; neither a temporary file nor the lock stays."""
    path = tmp_path / "plan.csv"
    for data in (b"old", b"new"):
        with locked(path):
            write_atomically(path, data)
        assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_open_in_another_program_stays(tmp_path: Path, refused: Refuse) -> None:
    """One line says who must let go of it; the old file is whole, and nothing else is left."""
    path = tmp_path / "plan.csv"
    path.write_bytes(b"old")
    refused(10**6)
    with pytest.raises(UserError, match=r"plan\.csv: another program has the file open; close it there, in Excel"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_virus_scanner_is_waited_for(tmp_path: Path, refused: Refuse) -> None:
    """What opens each new file for a moment doesn't end a command."""
    path = tmp_path / "plan.csv"
    path.write_bytes(b"old")
    refused(3)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_killed_writers_file_goes_when_it_is_old(tmp_path: Path) -> None:
    """No lock tells there whether a temporary file's writer lives: one of an hour ago is cleared, a new one stays."""
    old, new = (tmp_path / f".plan.csv.{letter * 12}.tmp" for letter in "ab")
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    write_atomically(tmp_path / "plan.csv", b"new")
    assert {path.name for path in tmp_path.iterdir()} == {"plan.csv", new.name}
