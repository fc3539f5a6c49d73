"""A report written to a file: the format is that of its name's ending."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from planner.errors import Place, UserError
from planner.report.beside import alone, folder_of, link_to, name_of, written_beside
from planner.report.data import ReportData
from planner.report.gather import gather
from planner.xlsx.atomic import write_atomically

Files = dict[str, bytes]
Made = tuple[bytes, str, Files]  # the file, a remark for the user, and what lies in a folder beside it


def _html(report: ReportData, template: Path | None, output: Path) -> Made:  # noqa: ARG001 (as the others)
    from planner.report.html import html

    return html(report, template).encode(), "", {}


def _markdown(report: ReportData, template: Path | None, output: Path) -> Made:
    from planner.report.markdown import markdown

    links = {picture.id: link_to(output, picture) for picture in report.pictures}
    text = markdown(report, template, links)
    shown = [picture for picture in report.pictures if links[picture.id] in text]
    return text.encode(), "", {name_of(picture): alone(picture) for picture in shown}


def _pdf(report: ReportData, template: Path | None, output: Path) -> Made:  # noqa: ARG001 (as the others)
    from planner.report.typeset import pdf

    return *pdf(report, template), {}


def _csv(report: ReportData, template: Path | None, output: Path) -> Made:  # noqa: ARG001 (as the others)
    from planner.report.spreadsheet import as_csv

    return as_csv(report).encode(), "", {}


def _json(report: ReportData, template: Path | None, output: Path) -> Made:  # noqa: ARG001 (as the others)
    from planner.report.jsonfile import as_json

    return as_json(report).encode(), "", {}


FORMATS: dict[str, Callable[[ReportData, Path | None, Path], Made]] = {
    ".html": _html, ".htm": _html, ".pdf": _pdf, ".md": _markdown, ".csv": _csv, ".json": _json,
}  # fmt: skip
STYLED = (".html", ".htm", ".pdf", ".md")


def write(file: Path, output: Path, template: Path | None = None) -> list[str]:
    """Report the workbook `file` into `output`; returns lines for the user.

    Raises UserError for an ending that is no format's, a template where the format has none, an output that is
    the workbook itself, and as `gather` does; nothing is then written.
    """
    ending = output.suffix.lower()
    if ending not in FORMATS:
        raise UserError("a report's name ends in .html, .pdf, .md, .csv or .json", place=Place(output))
    if template is not None and ending not in STYLED:
        raise UserError(f"a {ending} report has no template", place=Place(template), remedy="leave out --template")
    if output.exists() and output.resolve() == file.resolve():
        raise UserError("the report would replace the workbook", place=Place(output))
    report = gather(file)
    data, remark, files = FORMATS[ending](report, template, output)
    with written_beside(output, files):
        write_atomically(output, data)
    said = f"{len(report.failed)} failed checks" if len(report.failed) != 1 else "1 failed check"
    count = len(report.scenarios)
    drawn = _drawn(len(report.pictures), "") if ending != ".md" else _drawn(len(files), f" in {folder_of(output).name}")
    lines = [f"Wrote {output}: {count} scenario{'s' if count != 1 else ''}, {said}{drawn}."]
    return [*(f"Note: {text}" for text in (*report.warnings, remark) if text), *lines]


def _drawn(count: int, where: str) -> str:
    """How many pictures there are, and where; nothing of none."""
    return f", {count} picture{'s' if count != 1 else ''}{where}" if count else ""
