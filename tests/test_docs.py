"""The documentation is true: the guide's commands are run and their outputs compared."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli import COMMANDS

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CSV_FILES = {"scenario,": "scenarios.csv", "id,": "tiny.csv", "name,": "users.csv"}


def run(line: str, folder: Path) -> str:
    """What a command line prints, stdout and stderr together."""
    words = shlex.split(line)
    assert words[0] == "planner", line
    done = subprocess.run(
        [sys.executable, "-m", "planner", *words[1:]], cwd=folder, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    return done.stdout


def matches(printed: str, shown: str) -> bool:
    """Whether the output is what the page shows; `...` stands for lines, or a part of a line, that vary."""
    lines = [
        r"(.*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
        for line in shown.strip("\n").split("\n")
    ]
    return re.fullmatch("".join(lines), printed.strip("\n") + "\n") is not None


def test_guide_commands_print_what_the_guide_shows(tmp_path: Path) -> None:
    """Each console block of the guide, run in order in one folder, prints what stands below it."""
    for kind, body in BLOCK.findall((ROOT / "docs/guide.md").read_text(encoding="utf-8")):
        if kind == "csv":
            name = next(name for start, name in CSV_FILES.items() if body.startswith(start))
            (tmp_path / name).write_text(body, encoding="utf-8")
        for command in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:] if kind == "console" else []:
            line, _, shown = command.partition("\n")
            printed = run(line, tmp_path)
            assert matches(printed, shown), f"$ {line}\n{printed}\nbut the guide shows\n{shown}"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme(command: str) -> None:
    """The README names every command."""
    assert f"planner {command}" in (text := (ROOT / "README.md").read_text(encoding="utf-8")) or command in text


def test_readme_begins_with_the_two_blocks() -> None:
    """The README's first shell block builds, its second one tests."""
    shell = [body for kind, body in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")) if kind == "sh"]
    assert len(shell) == 2
    assert "planner build" in shell[0]
    assert "pytest" in shell[1]
