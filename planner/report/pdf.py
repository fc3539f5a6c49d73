"""A report as a PDF through Typst, whose wheel brings its own fonts: nothing else need be installed.

The report's data go in as JSON, so that no text of a workbook is ever read as markup. The file is tagged for those who
read with their ears (PDF/UA) where every character has a glyph.
"""

from __future__ import annotations

import json
import re
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from planner.errors import Place, UserError
from planner.regularfile import SMALL, read_bytes
from planner.report.contents import ReportData, report_time
from planner.report.exports import plain
from planner.report.jinja_pages import PAGES, alike, grouped, swatch

_NO_GLYPH = re.compile(r'the text `"(.+?)"` could not be displayed with')


def pdf(report: ReportData, template: Path | None = None) -> tuple[bytes, str]:
    """The file, and a remark for the user, blank as a rule.

    A `template` is a Typst file in the place of ours, which it may import. Raises UserError where it is not sound.
    """
    import typst

    if template is not None:
        read_bytes(template, "a Typst file", SMALL)  # what can't be read is named better here than by Typst
    page = PAGES / "report.typ"
    given = {
        "report": json.dumps(_data(report), ensure_ascii=False),
        "page": f"/{page.relative_to(page.anchor).as_posix()}",
    }
    source = (template or page).resolve()
    stamp = int(report_time().timestamp())
    compiled = partial(typst.compile, str(source), root=source.anchor, format="pdf", sys_inputs=given, timestamp=stamp)
    try:
        try:
            return _bytes(compiled(pdf_standards="ua-1")), ""
        except typst.TypstError as error:
            found = _NO_GLYPH.search(str(error))
            if found is None:
                raise
            lacking = f"no font of this machine has {found[1]!r} and perhaps others, which are drawn as boxes"
            return _bytes(compiled()), f"{lacking}; install a font that has them"
    except typst.TypstError as error:
        if template is None:
            raise
        raise UserError(str(error).splitlines()[0], place=Place(template)) from error


def _data(report: ReportData) -> dict[str, Any]:
    """The report as JSON has it, with the drawings and what the page can't work out itself."""
    data: dict[str, Any] = plain(report)
    for picture, drawn in zip(data["pictures"], report.pictures, strict=True):
        picture["svg"] = drawn.svg
    for scenario, own in zip(data["scenarios"], report.scenarios, strict=True):
        for memory, figures in zip(scenario["memory"], own.memory, strict=True):
            memory["share"] = figures.share
        for each, number in zip(scenario["expected"], own.expected, strict=True):
            each["range"] = plain(number.range)
    for section, planned in zip(data["headlines"], report.headlines, strict=True):
        for each, number in zip(chain(*section["expected"]), chain(*planned.expected), strict=True):
            each["range"] = plain(number.range)
    marks = [swatch(index) for index in range(len(report.scenarios))]
    data["swatches"] = [mark.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ') for mark in marks]
    data["grouped"], data["alike"] = grouped(report.untold), plain(alike(report.failed))
    return data


def _bytes(made: Any) -> bytes:
    assert isinstance(made, bytes), "one PDF is one file"
    return made
