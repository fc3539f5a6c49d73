"""A page of the documentation as a script: files that it shows, cells that a reader types, commands and their output,
and what is typed at Python's prompt.

A comment of Markdown, which no reader sees, says what the text around it asks a reader to do:

    <!-- file: users.csv -->                                the block below is a file of that name
    <!-- type: plan.xlsx, weight_dtype of SCENARIO, int8 -->   that is typed into a row of Inputs, or chosen there
    <!-- have: profile -->                                 a folder with a profile of two hosts
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from planner.book.read_plan import read_plan
from planner.cli import group
from planner.recalc import edit
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests import sample_profile

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
COLUMNS = "100"
"""How wide the terminal is in which the pages' commands were run: some commands wrap their text."""
STEP = re.compile(r"^<!-- (file|type|have): (.*?) -->\n|^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, kind: str) -> list[str]:
    """The fenced blocks of a kind on a page, in order."""
    return [step[4] for step in STEP.finditer(page.read_text(encoding="utf-8")) if step[3] == kind]


def follow(page: Path, folder: Path) -> None:
    """Do in `folder` what a page says, in its order; each command must print what stands below it."""
    name, session = "", dict[str, Any]()
    for step in STEP.finditer(page.read_text(encoding="utf-8")):
        told, what, kind, body = step.groups()
        if told == "file":
            name = what
        elif told == "type":
            file, row, value = what.split(", ")
            name_of_row, _, scenario = row.partition(" of ")
            type_in(folder / file, name_of_row, scenario, value)
        elif told == "have":
            sample_profile.write(folder / what)
        elif kind == "console":
            for command in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                line, _, shown = command.partition("\n")
                printed = run(line, folder)
                assert matches(printed, shown), f"$ {line}\n{printed}\nbut {page.name} shows\n{shown}"
        elif kind == "pycon":
            prompt(body, session, folder, page.name)
        elif name:
            (folder / name).write_text(body, encoding="utf-8")
            name = ""


def prompt(body: str, session: dict[str, Any], folder: Path, page: str) -> None:
    """Type in `folder` what a block of Python has behind its prompts; each must print what stands below it."""
    test = doctest.DocTestParser().get_doctest(body, session, page, None, None)
    runner, told = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), list[str]()
    with contextlib.chdir(folder):
        failed, _ = runner.run(test, out=told.append, clear_globs=False)
    session.update(test.globs)
    assert not failed, "".join(told)


def run(line: str, folder: Path) -> str:
    """What a command line prints, stdout and stderr together; `planner` itself runs in this process."""
    words = shlex.split(line)
    if words[0] == "cp":
        shutil.copyfile(folder / words[1], folder / words[2])
        return ""
    if words[0] == "planner":
        with contextlib.chdir(folder):
            ran = CliRunner(env={"COLUMNS": COLUMNS}).invoke(group, words[1:], prog_name="planner")
        assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.exception
        return ran.output
    assert words[:3] == ["python", "-m", "planner"], line
    done = subprocess.run(
        [sys.executable, *words[1:]], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=environment(), check=False,
    )  # fmt: skip
    return done.stdout


def environment() -> dict[str, str]:
    """The environment in which `python -m planner` is this checkout's."""
    return os.environ | {"PYTHONPATH": str(ROOT)}


def matches(printed: str, shown: str) -> bool:
    """Whether the output is what the page shows; `...` stands for lines, or a part of a line, that vary."""
    lines = [
        r"(.*\n)*" if line.strip() == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
        for line in shown.strip("\n").split("\n")
    ]
    return re.fullmatch("".join(lines), printed.strip("\n") + "\n") is not None


def type_in(path: Path, name: str, scenario: str, value: str) -> None:
    """Type a value into a scenario's cell of Inputs as an analyst does in a spreadsheet, which then recalculates."""
    package = Package.read(path)
    rows = {row.name: row for row in read_plan(package).inputs}
    spot = rows[name].cells[scenario].spot
    content = float(value) if re.fullmatch(r"[\d.e+-]+", value) else value
    edit(package, parse_sheets(package), spot.sheet, {spot.ref: content})
    package.write(path)
