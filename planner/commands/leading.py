"""What `planner calc` says first: what to expect and how sure that is, why it is not the ideal, and runs alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner import table
from planner.catalog.databases import Databases
from planner.formulas import expected
from planner.formulas.evaluation import Results
from planner.formulas.explanation import missing
from planner.formulas.headlines import Headline, leading, memory_check
from planner.formulas.template import Row
from planner.formulas.text import parse
from planner.spoken import between, percent, spoken
from planner.validation.nearest import Nearest, nearest

TITLES = ["", "expected", "80 % of published runs", "bound"]
NEEDED, ROOM = "memory_bytes_per_chip", "hbm_bytes-hbm_reserve_bytes"


def lines(results: Results, model: str | None, hardware: str | None, databases: Databases) -> list[str]:
    """The head of a plan as lines of text; none for a template that leads with nothing."""
    found = leading(results.template.name, results.template.by_name)
    if not found:
        return []
    near = nearest(results.template, results.value, hardware or "", databases)
    said = [*_plan(results, model, hardware), *_headlines(found, results), *_memory(results)]
    said += expected.notes(results.value, near.own if near else None)
    if results.value("stack") != expected.IDEAL:
        made = [each for each in found if each.parts]
        said += [line for each in made for line in _made(each, results, is_one=len(made) == 1)]
    return said + (_near(near) if near else [])


def _plan(results: Results, model: str | None, hardware: str | None) -> Iterator[str]:
    """What the numbers are of: `Expected of training: llama3-70b on 512 h100-sxm, stack default`."""
    chips = results.value("n_chips")
    count = f"{table.shown(chips)} " if isinstance(chips, float) and hardware else ""
    what = " on ".join(text for text in (model, f"{count}{hardware}" if hardware else "") if text)
    yield f"What to expect of {results.template.name}{f', {what}' if what else ''}, stack {results.value('stack')}:"


def _headlines(found: Sequence[Headline[Row]], results: Results) -> list[str]:
    """What to expect, its range and the bound, a line each; below them why one is N/A."""
    rows = []
    for each in found:
        number, low, high, bound = (results.number(row.name) for row in each.rows)
        is_ideal = results.value("stack") == expected.IDEAL  # of what is no run there is no range
        said = "" if is_ideal else between(low, high, each.unit, number), spoken(bound, each.unit, number)
        rows.append([each.label, spoken(number, each.unit), *said])
    lacking = missing(results, [each.row.name for each in found])
    why = [f"N/A because {', '.join(lacking)}: --set a value"] if lacking else []
    return [*table.aligned(TITLES, rows, right=("expected", "bound")).splitlines(), *why]


def _memory(results: Results) -> Iterator[str]:
    """Whether the memory of a chip is enough, and by how much it is not."""
    check = memory_check(results.template.name)
    if not {check, NEEDED, *parse(ROOM).names} <= results.template.by_name.keys():
        return
    needed, room = results.number(NEEDED), results.number(ROOM)
    if needed is None or room is None:
        yield "Memory: can't be told"
        return
    each = f"{spoken(needed, 'byte')} of {spoken(room, 'byte')} on a chip"
    if results.value(check) == 0:
        yield f"Memory: does not fit, {each}: {spoken(needed - room, 'byte')} too much"
    else:
        yield f"Memory: fits, {each}"


def _made(made: Headline[Row], results: Results, *, is_one: bool) -> list[str]:
    """The parts of a time: a table for a template's only one, a line for each of several."""
    parts = [(each.label, spoken(each.seconds, "s"), _share(each.share)) for each in made.shares(results.number)]
    if not parts:
        return []
    if is_one:
        whole = spoken(results.number(made.row.name), made.unit)
        title = f"Why not the ideal? The expected {made.label.lower()} of {whole} is made of"
        return ["", title, *table.aligned(["", "time", "share"], parts, right=("time", "share")).splitlines()[1:]]
    words = ", ".join(f"{label.lower()} {time} ({share})" for label, time, share in parts)
    return [f"Why not the ideal? {made.label}: {words}"]


def _share(share: float) -> str:
    return percent(share, 0) if share >= 0.01 else "under 1 %"


def _near(found: Nearest) -> list[str]:
    """The nearest runs as a table; a column in which all are alike or blank is left out."""
    columns = list(zip(found.columns, *(run.cells for run in found.runs), strict=True))
    told = [column for column in columns if column[0].name not in ("model", "what") or len(set(column[1:])) > 1]
    titles, *rows = zip(*told, strict=True)
    right = [title.label for title in titles if title.unit != "text"]
    said = table.aligned([title.label for title in titles], [[cell.text for cell in row] for row in rows], right)
    title = "Runs like yours: the published runs nearest to this plan, and what is expected of each"
    return ["", title, *said.splitlines()]
