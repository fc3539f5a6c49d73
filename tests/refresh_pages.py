"""What the documentation's commands print now, written into its pages: `python -m tests.refresh_pages docs/guide.md`.

For whoever changed a number on purpose: read the difference before it is committed.
"""

from __future__ import annotations

import doctest
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests import pages, sample_profile


def refreshed(page: Path, folder: Path) -> str:
    """The text of a page whose commands, run in order in `folder`, print what stands below them.

    Lines of `...` go on standing for what they stood for: the lines around them are found again by their words.
    """
    text, name, session, done = page.read_text(encoding="utf-8"), "", dict[str, Any](), list[str]()
    end = 0
    for step in pages.STEP.finditer(text):
        told, what, kind, body = step.groups()
        if told == "file":
            name = what
        elif told == "type":
            file, row, value = what.split(", ")
            row_name, _, scenario = row.partition(" of ")
            pages.type_in(folder / file, row_name, scenario, value)
        elif told == "have":
            sample_profile.write(folder / what)
        elif kind in ("console", "pycon"):
            new = _console(body, folder) if kind == "console" else _prompt(body, session, folder)
            done += [text[end : step.start(4)], new]
            end = step.end(4)
        elif name:
            (folder / name).write_text(body, encoding="utf-8")
            name = ""
    return "".join([*done, text[end:]])


def _console(body: str, folder: Path) -> str:
    head, *commands = re.split(r"^\$ ", body, flags=re.MULTILINE)
    said = [head]
    for command in commands:
        line, _, shown = command.partition("\n")
        printed = pages.run(line, folder)
        said.append(f"$ {line}\n{shown if pages.matches(printed, shown) else anew(printed, shown)}")
    return "".join(said)


def _prompt(body: str, session: dict[str, Any], folder: Path) -> str:
    found: list[tuple[str, str]] = []

    class Told(doctest.DocTestRunner):
        def report_failure(self, *told: Any) -> None:
            *_, example, got = told
            found.append((example.want, got))

    test = doctest.DocTestParser().get_doctest(body, session, "page", None, None)
    with pages.contextlib.chdir(folder):
        Told(optionflags=doctest.ELLIPSIS).run(test, out=lambda _: None, clear_globs=False)
    session.update(test.globs)
    for want, got in found:
        body = body.replace(want, anew(got, want), 1)
    return body


def anew(printed: str, shown: str) -> str:
    """The output with the lines left out that the page leaves out."""
    lines, at, said = printed.strip("\n").split("\n"), 0, list[str]()
    chunks = re.split(r"^\s*\.\.\.\n", shown.strip("\n") + "\n", flags=re.MULTILINE)
    for number, chunk in enumerate(chunks):
        wanted = chunk.strip("\n").split("\n") if chunk.strip() else []
        if number:
            said.append("...")
        if not wanted:
            continue
        begin, end = (_place(each, lines, at) for each in (wanted[0], wanted[-1]))
        first = 0 if number == 0 else begin if begin is not None else end if end is not None else at
        if end is None:  # gone, such as the line of a run that was among the nearest: as many lines as before
            end = min(first + len(wanted), len(lines)) - 1
        last = len(lines) - 1 if number == len(chunks) - 1 else max(first, end)
        said += lines[first : last + 1]
        at = last + 1
    return "\n".join(said) + "\n"


def _place(line: str, lines: list[str], start: int) -> int | None:
    """Where the line of the same words stands, whatever its numbers."""
    return next((at for at in range(start, len(lines)) if _words(lines[at]) == _words(line)), None)


def _words(line: str) -> list[str]:
    return [word for word in re.findall(r"[A-Za-z_]+", line) if len(word) > 2]


if __name__ == "__main__":
    for each in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as folder:
            each.write_text(refreshed(each, Path(folder)), encoding="utf-8")
