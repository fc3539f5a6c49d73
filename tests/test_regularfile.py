"""Files of a user: what is no regular file, or too large, is refused before it is read."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from planner import regularfile
from planner.errors import UserError
from planner.report.documents import rendered
from tests.commands import refusal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, devices and sockets of POSIX")

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
