"""Pages through Jinja: ours, or a house style that extends them. Texts are escaped by the page's format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from planner.errors import Place, UserError
from planner.regularfile import SMALL, read_bytes

PAGES = Path(__file__).parent / "pages"
_SAID = "variable_begin", "block_begin"  # how what a page says of a report begins, as Jinja calls it


def page(name: str) -> str:
    """The text of one of our own pages."""
    return (PAGES / name).read_text(encoding="utf-8")


def rendered(
    name: str,
    template: Path | None,
    values: Mapping[str, Any],
    filters: Mapping[str, Callable[..., Any]],
    *,
    escapes: bool,
) -> str:
    """Our page `name`, or the `template` in its place, filled with `values`.

    A template of the house finds ours by name, and those beside it. It runs in a sandbox.
    Raises UserError with file and line where it can't be read or filled.
    """
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    data = b"" if template is None else read_bytes(template, "a Jinja page", SMALL)
    folders = [PAGES] if template is None else [template.resolve().parent, PAGES]
    environment = ImmutableSandboxedEnvironment(
        loader=jinja2.ChoiceLoader([jinja2.FileSystemLoader(folder) for folder in folders]),
        autoescape=escapes, undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
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
    except (jinja2.TemplateError, TypeError, ValueError, AttributeError, UnicodeDecodeError, RecursionError) as error:
        if template is None:
            raise
        raise UserError(f"{error}", place=Place(template, _line(error, template))) from error


def _line(error: BaseException, template: Path) -> int | None:
    """The last line of the template that the error passed through."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(template.resolve()):
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
