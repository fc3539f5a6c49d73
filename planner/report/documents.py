"""Renders a report as a document, ours or a house style: HTML and Markdown through Jinja, PDF through Typst.

HTML contains its style, script and drawings and needs no network. Markdown is what code hosts render: tables, and
drawings from files next to it. Each format escapes its own texts. Typst's wheel includes its fonts, so nothing else
needs to be installed. Typst receives the report's data as JSON, so that no text of a workbook is read as markup. The
PDF is tagged for screen readers (PDF/UA) if every character has a glyph.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.dates import made_now
from planner.errors import Place, UserError
from planner.regularfile import SMALL, read_bytes
from planner.report import svg
from planner.report.contents import CheckResult, Figure, FigureTable, ReportData
from planner.report.exports import plain
from planner.report.svg import Drawing

if TYPE_CHECKING:
    from jinja2 import Environment

PAGES = Path(__file__).parent / "pages"
_SAID = "variable_begin", "block_begin"  # Jinja's token types that begin an expression or statement
_FAULTS = (TypeError, ValueError, AttributeError, ArithmeticError, LookupError, MemoryError, RecursionError)
"""What a house template may raise when it is rendered, besides Jinja's own errors."""


def page(name: str) -> str:
    """The text of one of the shipped pages."""
    return (PAGES / name).read_text(encoding="utf-8")


def rendered(
    name: str,
    template: Path | None,
    values: Mapping[str, Any],
    filters: Mapping[str, Callable[..., Any]],
    *,
    escapes: bool,
) -> str:
    """The shipped page `name`, or `template` instead of it, filled with `values`.

    A house template can include shipped pages by name, and files next to it. It runs in a sandbox. Raises UserError
    with file and line if it can't be read or rendered.
    """
    import jinja2

    data = b"" if template is None else read_bytes(template, "a Jinja page", SMALL)
    environment = _shipped(escapes) if template is None else _environment(template.resolve().parent, escapes)
    environment.filters |= dict(filters)
    wanted = template.name if template is not None else name
    try:
        if template is not None:
            lexed = environment.lex(data.decode(), filename=str(template))
            if not any(kind in _SAID for _, kind, _ in lexed):
                what = "this is no Jinja page: nothing of the report stands in it"
                remedy = 'begin with {% extends "' + name + '" %}, or say {{ report.title }}'
                raise UserError(what, place=Place(template), remedy=remedy)
        return environment.get_template(wanted).render(**values)
    except jinja2.TemplateSyntaxError as error:
        raise UserError(str(error.message), place=Place(error.filename or wanted, error.lineno)) from error
    except (jinja2.TemplateError, *_FAULTS) as error:
        if template is None:
            raise
        raise UserError(f"{error}", place=Place(template, _line(error, template))) from error


@cache
def _shipped(escapes: bool) -> Environment:
    """The environment of the shipped pages, cached with their compiled form; users' pages may change."""
    return _environment(None, escapes)


def _environment(folder: Path | None, escapes: bool) -> Environment:
    """An environment that looks for pages in a folder first, then among the shipped ones."""
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(
        loader=jinja2.FileSystemLoader([folder, PAGES] if folder else [PAGES]),
        autoescape=escapes,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )


def _line(error: BaseException, template: Path) -> int | None:
    """The last line of the template in the error's traceback."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(template.resolve()):
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


_URL = re.compile(r"(https?://[^\s<>\"'();,]+[^\s<>\"'();,.])")
_CODE = re.compile(r"`([^`]+)`")


def html(report: ReportData, template: Path | None = None) -> str:
    """The HTML page. Raises UserError as `rendered` does."""
    from markupsafe import Markup, escape

    script = page("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    ids = [scenario.id for scenario in report.scenarios]

    def scenario_of(table: FigureTable, row: tuple[Figure, ...]) -> int | None:
        """The scenario that a row is of, in a table that has one for each."""
        own = row[0].value
        is_scenario = table.columns[0].name == "scenario" and ids.count(str(own)) == 1
        return ids.index(str(own)) if is_scenario else None

    def marked(found: re.Pattern[str], element: str, text: str) -> Markup:
        """A text with everything that a pattern matches wrapped in an element."""
        parts = enumerate(found.split(text))  # every second part is a match
        return Markup("").join(Markup(element).format(part) if at % 2 else escape(part) for at, part in parts)

    values = _common_values(report) | {
        "sections": _sections(report),
        "swatches": [Markup(swatch(index)) for index in range(len(report.scenarios))],
        "scenario_of": scenario_of,
        "css": Markup(page("report.css")),
        "script": Markup(script),
        "script_digest": f"sha256-{digest}",
    }
    filters: dict[str, Callable[..., Any]] = {
        "linked": partial(marked, _URL, '<a href="{0}" rel="noopener noreferrer">{0}</a>'),
        "code": partial(marked, _CODE, "<code>{}</code>"),
        "drawing": Markup,
    }
    return rendered("report.html", template, values, filters, escapes=True)


def _common_values(report: ReportData) -> dict[str, Any]:
    """The values that HTML and Markdown pages have in common."""
    failed, untold = alike(report.failed), grouped(report.untold)
    return {"report": report, "untold": untold, "failed": failed, "of_runs": report.of_runs}


def grouped(checks: tuple[CheckResult, ...]) -> list[tuple[str, list[str], list[str]]]:
    """Checks without a result, grouped by reason: (reason, labels of the checks, scenarios)."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for check in checks:
        labels, names = found.setdefault(check.why, ({}, {}))
        labels[check.label], names[check.scenario] = None, None
    return [(why, list(labels), list(names)) for why, (labels, names) in found.items()]


def alike(checks: tuple[CheckResult, ...]) -> list[tuple[CheckResult, list[str], list[str]]]:
    """Failed checks grouped by the numbers that they compare: (first check, scenarios, cells)."""
    found: dict[tuple[str, str], list[CheckResult]] = {}
    for check in checks:
        found.setdefault((check.label, check.numbers), []).append(check)
    return [(same[0], [each.scenario for each in same], [each.cell for each in same]) for same in found.values()]


def swatch(index: int) -> str:
    """A scenario's marker as in the drawings."""
    drawing = Drawing(14)
    svg.mark(drawing, index, 7, 7, 4.6, class_=svg.kind("f", index))
    return f'<svg class="swatch" viewBox="0 0 14 14" aria-hidden="true">{"".join(drawing.parts)}</svg>'


def _sections(report: ReportData) -> list[tuple[str, str]]:
    """The navigation links of the page, to the sections that it has."""
    found = [
        ("checks", "Summary", True),
        ("headlines", "Numbers", bool(report.headlines)),
        ("pictures", "Pictures", bool(report.pictures)),
        ("near", "Runs like yours", bool(report.near)),
        ("search", "Which plan", bool(report.searches)),
        *((own.title.lower().replace(" ", "-"), own.title, True) for own in report.own),
        ("sweep", "Sweep", bool(report.sweeps)),
        ("comparison", "Measured", bool(report.accuracy)),
        ("assumptions", "Assumptions", True),
        ("provenance", "Provenance", True),
    ]
    return [(id, title) for id, title, there in found if there]


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~$@&])")
_BEGINS = re.compile(r"^(\s*)([-+=]|\d+[.)])")
_SCHEME = re.compile(r"\b(https?|ftp)(?=://)|\b(www)(?=\.)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def markdown(report: ReportData, template: Path | None = None, links: Mapping[str, str] | None = None) -> str:
    """The Markdown text; `links` maps picture ids to their files. Raises UserError as `rendered` does."""
    values = _common_values(report) | {"links": links or {}}
    filters = {"md": escaped, "mdcode": lambda text: text.replace("`", "'")}
    text = rendered("report.md", template, values, filters, escapes=False)
    return re.sub(r"\n{3,}", "\n\n", text).lstrip("\n")


def escaped(text: str) -> str:
    """A text escaped so that it is shown literally on one line, in a table cell or elsewhere, without markup."""
    line = _CONTROL.sub(" ", str(text)).strip()
    line = _SPECIAL.sub(r"\\\1", line).replace("\\&", "&amp;").replace("\\<", "&lt;").replace("\\>", "&gt;")
    line = line.replace("\\@", "@\N{WORD JOINER}") if "@" in line else line
    line = _BEGINS.sub(r"\1\\\2", line) if not re.match(r"\d", line) else re.sub(r"^(\d+)([.)])(\s)", r"\1\\\2\3", line)
    return _SCHEME.sub(lambda match: f"{match[0]}\N{WORD JOINER}", line)


_NO_GLYPH = re.compile(r'the text `"(.+?)"` could not be displayed with')


def pdf(report: ReportData, template: Path | None = None) -> tuple[bytes, str]:
    """The file, and a remark for the user, which is usually blank.

    A `template` is a Typst file used instead of ours, which it may import. Raises UserError if it is faulty.
    """
    import typst

    if template is not None:
        read_bytes(template, "a Typst file", SMALL)  # gives a clearer error than Typst if unreadable
    page = PAGES / "report.typ"
    given = {
        "report": json.dumps(_data(report), ensure_ascii=False),
        "page": f"/{page.relative_to(page.anchor).as_posix()}",
    }
    source = (template or page).resolve()
    stamp = int(made_now().timestamp())
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
    """The report as JSON-compatible data, with the drawings and values that the page can't compute itself."""
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
