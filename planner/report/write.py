"""Writes a report in the format of the file's suffix; a Markdown page's drawings go into a folder next to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from planner import progress
from planner.errors import Place, UserError
from planner.report import svg
from planner.report.contents import Picture, ReportData
from planner.report.documents import html, markdown, pdf
from planner.report.exports import as_csv, as_json
from planner.report.report_data import report_data
from planner.terminal_table import counted
from planner.xlsx.atomic import refuse_if_unwritable, write_atomically

FORMATS = (".html", ".htm", ".pdf", ".md", ".csv", ".json")
STYLED = (".html", ".htm", ".pdf", ".md")


def write(file: Path, output: Path, template: Path | None = None) -> list[str]:
    """Write a report on the workbook `file` to `output`; returns lines for the user.

    Raises UserError for an unknown suffix, a template for a format without templates, an output that is the workbook
    itself, and as `report_data` does; nothing is written then.
    """
    ending = output.suffix.lower()
    if ending not in FORMATS:
        raise UserError("a report's name ends in .html, .pdf, .md, .csv or .json", place=Place(output))
    if template is not None and ending not in STYLED:
        raise UserError(f"a {ending} report has no template", place=Place(template), remedy="leave out --template")
    if output.exists() and output.resolve() == file.resolve():
        raise UserError("the report would replace the workbook", place=Place(output))
    report = report_data(file)
    data, remark, files = made(report, output, template)
    with written_beside(output, files):
        write_atomically(output, data)
    said = [counted(len(report.scenarios), "scenario"), counted(len(report.failed), "failed check")]
    if ending != ".md" and report.pictures:
        said.append(counted(len(report.pictures), "picture"))
    elif files:
        said.append(f"{counted(len(files), 'picture')} in {folder_of(output).name}")
    notes = (f"Note: {text}" for text in (*report.warnings, remark) if text)
    return [*notes, f"Wrote {output}: {', '.join(said)}."]


def made(report: ReportData, output: Path, template: Path | None = None) -> tuple[bytes, str, dict[str, bytes]]:
    """The bytes of `output`, a remark, and the files beside it by name. Raises UserError for a faulty template."""
    ending = output.suffix.lower()
    if ending == ".pdf":
        return *pdf(report, template), {}
    if ending in (".csv", ".json"):
        return (as_csv if ending == ".csv" else as_json)(report).encode(), "", {}
    if ending != ".md":
        return html(report, template).encode(), "", {}
    names = {picture.id: f"{picture.id}.svg" for picture in report.pictures}
    links = {own: quote(f"{folder_of(output).name}/{name}") for own, name in names.items()}
    text = markdown(report, template, links)
    shown = [picture for picture in report.pictures if links[picture.id] in text]
    return text.encode(), "", {names[picture.id]: alone(picture) for picture in shown}


FAMILY = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',Arial,sans-serif"
_FONT = re.compile(r'font-family="[^"]*"')
_SIZE = re.compile(r'viewBox="0 0 (\S+) (\S+)"')
WIDE, MARGIN = 560, 10


def folder_of(page: Path) -> Path:
    """The folder of a page's files: `plan_files` next to `plan.md`."""
    return page.with_name(f"{page.stem}_files")


def alone(picture: Picture) -> bytes:
    """A drawing as a standalone file: on white, in a font that every browser has."""
    begin, rest = _FONT.sub(f'font-family="{FAMILY}"', picture.svg, count=1).split(">", 1)
    wide, high = (float(side) + 2 * MARGIN for side in _SIZE.findall(begin)[0])
    sides = f'width="{wide:g}" height="{high:g}"'
    begin = _SIZE.sub(f'viewBox="-{MARGIN} -{MARGIN} {wide:g} {high:g}"', begin)
    ground = f'<rect x="-{MARGIN}" y="-{MARGIN}" {sides} fill="{svg.PAPER}"/>'
    return f'{begin} width="{WIDE}">{ground}{rest}\n'.encode()


@contextmanager
def written_beside(page: Path, files: Mapping[str, bytes]) -> Iterator[None]:
    """Write files into the page's folder, each atomically; if the block fails, all are restored.

    A page that can't be replaced is refused first, so that no other file is touched. Raises UserError as
    `write_atomically` does, and OSError if the folder can't be created or one of its files not read.
    """
    refuse_if_unwritable(page)
    folder = folder_of(page)
    is_new = bool(files) and not folder.exists()
    old: dict[Path, bytes | None] = {}  # previous content of each file that was touched
    try:
        if is_new:
            folder.mkdir()
        for name, data in files.items():
            path = folder / name
            before = path.read_bytes() if path.exists() else None
            if before != data:
                refuse_if_unwritable(path)
                old[path] = before
                write_atomically(path, data)
        yield
    except BaseException:
        for path, before in old.items():
            with suppress(OSError, UserError):  # restore the others too, and report the first fault
                write_atomically(path, before) if before is not None else path.unlink(missing_ok=True)
                progress.put_back(path)
        if is_new and folder.is_dir():
            folder.rmdir()
        raise
