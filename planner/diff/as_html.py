"""A Difference as one self-contained HTML file, without scripts, fonts or pictures from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from planner.diff.as_text import LEADING, NOTHING, OTHERS, each, left_out, parted, percent, sections
from planner.diff.differences import Difference, OutcomeChange

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2937; --quiet: #4b5563; --paper: #ffffff; --line: #d1d5db;
  --better: #11734b; --worse: #b42318; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e5e7eb; --quiet: #b6bcc6; --paper: #111827; --line: #374151; --better: #5fd39b; --worse: #ff8f85; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1.5rem 1rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.files, caption { color: var(--quiet); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .4rem; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
th, td { overflow-wrap: break-word; } td.label { min-width: 11rem; }
td.name { min-width: 8rem; overflow-wrap: anywhere; }
td.n, th.n { text-align: right; } td.n { white-space: nowrap; }
.better { color: var(--better); } .worse { color: var(--worse); }
li { margin: .2rem 0; }
@media print { body { max-width: none; padding: 0; } .scroll { overflow: visible; } tr { break-inside: avoid; } }
"""

COLOURS = "green is better, red is worse"

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>What changed</h1>
<p class="files">from <b>{old}</b> to <b>{new}</b></p>
{body}
</main>
</body>
</html>
"""


def as_html(found: Difference) -> str:
    """The whole page. Every text of a workbook is escaped."""
    old, new = escape(found.old), escape(found.new)
    return _PAGE.format(title=f"{old} and {new}", style=_STYLE, old=old, new=new, body="\n".join(_body(found)))


def _body(found: Difference) -> Iterator[str]:
    leading, others, unmeant = parted(found.headlines)
    if found.is_empty:
        yield f"<p>There are {NOTHING}.</p>"
    else:
        yield "<h2>Headlines</h2>"
        yield from _headlines(leading, LEADING) if leading else ("<p>No headline moved.</p>",)
    for title, texts in sections(found):
        yield f"<h2>{escape(title)}</h2>"
        yield "<ul>"
        yield from (f"<li>{escape(text)}</li>" for text in texts)
        yield "</ul>"
    if others:
        yield "<h2>Other numbers of Dashboard</h2>"
        yield from _headlines(others, OTHERS)
    if unmeant:
        yield f"<p>{escape(left_out(unmeant))}.</p>"
    yield from (f"<p>{escape(text)}</p>" for text in found.unsure)


def _headlines(changes: list[OutcomeChange], caption: str) -> Iterator[str]:
    yield '<div class="scroll"><table>'
    colours = f"; {COLOURS}" if any(change.verdict for change in changes) else ""
    yield f"<caption>{caption}{colours}</caption>"
    titles = (("Change", "n"), ("Headline", ""), ("Scenario", ""), ("Before", "n"), ("After", "n"))
    heads = "".join(f'<th scope="col" class="{kind}">{title}</th>' for title, kind in titles)
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for change in changes:
        before, after = each(change.old, change.new, change.said_in or change.unit)
        label = (change.label or change.name) + (f" ({change.sheet})" if change.sheet else "")
        kind = "" if change.unit == "text" else "n"
        cells = (
            (percent(change), f"n {change.verdict}".rstrip()),
            (label, "label"),
            (change.scenario, "name"),
            (before, kind),
            (after, kind),
        )
        yield "<tr>" + "".join(f'<td class="{kind}">{escape(text)}</td>' for text, kind in cells) + "</tr>"
    yield "</tbody></table></div>"
