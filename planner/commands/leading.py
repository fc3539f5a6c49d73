"""What `planner calc` says first: what to expect and how sure that is, why it is not the ideal, and runs alike."""

from __future__ import annotations

from collections.abc import Iterator

from planner import table
from planner.catalog.databases import Databases
from planner.formulas import expected
from planner.formulas.evaluation import Results
from planner.formulas.expected import Lead, Made
from planner.formulas.explanation import missing
from planner.formulas.spoken import between, spoken
from planner.validation.nearest import Nearest, nearest

TITLES = ["", "expected", "80 % of published runs", "bound"]


def lines(results: Results, model: str | None, hardware: str | None, databases: Databases) -> list[str]:
    """The head of a plan as lines of text; none for a template that leads with nothing."""
    found = expected.lead(results.template.name, results.template.by_name)
    if found is None:
        return []
    near = nearest(results.template, results.value, hardware or "", databases)
    stack, calibration = (_text(results, name) for name in ("stack", "calibration_id"))
    said = [*_plan(results, model, hardware), *_headlines(found, results), *_memory(found, results)]
    said += expected.notes(stack, calibration, near.own if near else None)
    if stack != expected.IDEAL:
        is_one = len(found.made) == 1
        said += [line for made in found.made for line in _made(made, results, is_one=is_one)]
    return said + (_near(near) if near else [])


def _text(results: Results, name: str) -> str | None:
    value = results.value(name)
    return value if isinstance(value, str) else None


def _plan(results: Results, model: str | None, hardware: str | None) -> Iterator[str]:
    """What the numbers are of: `Expected of training: llama3-70b on 512 h100-sxm, stack default`."""
    chips = results.value("n_chips")
    count = f"{table.shown(chips)} " if isinstance(chips, float) and hardware else ""
    what = " on ".join(text for text in (model, f"{count}{hardware}" if hardware else "") if text)
    yield f"What to expect of {results.template.name}{f', {what}' if what else ''}, stack {results.value('stack')}:"


def _headlines(found: Lead, results: Results) -> list[str]:
    """What to expect, its range and the bound, a line each; below them why one is N/A."""
    rows = [
        [each.headline.label, spoken(each.expected, each.headline.unit),
         between(each.low, each.high, each.headline.unit, each.expected),
         spoken(each.bound, each.headline.unit, each.expected)]
        for each in expected.answers(found, results.number)
    ]  # fmt: skip
    lacking = missing(results, [each.name for each in found.headlines])
    why = [f"N/A because {', '.join(lacking)}: --set a value"] if lacking else []
    return [*table.aligned(TITLES, rows, right=("expected", "bound")).splitlines(), *why]


def _memory(found: Lead, results: Results) -> Iterator[str]:
    """Whether the memory of a chip is enough, and by how much it is not."""
    if not found.check:
        return
    needed, room = results.number(expected.NEEDED), results.number(expected.ROOM)
    if needed is None or room is None:
        yield "Memory: can't be told"
        return
    each = f"{spoken(needed, 'byte')} of {spoken(room, 'byte')} on a chip"
    if results.value(found.check) == 0:
        yield f"Memory: does not fit, {each}: {spoken(needed - room, 'byte')} too much"
    else:
        yield f"Memory: fits, {each}"


def _made(made: Made, results: Results, *, is_one: bool) -> list[str]:
    """The parts of a time: a table for a template's only one, a line for each of several."""
    parts = expected.parts(made, results.number)
    if not parts:
        return []
    if is_one:
        rows = [[part.label, spoken(part.seconds, "s"), _share(part.share)] for part in parts]
        title = f"Why not the ideal? The expected {made.label} of {spoken(results.number(made.name), 's')} is made of"
        return ["", title, *table.aligned(["", "time", "share"], rows, right=("time", "share")).splitlines()[1:]]
    words = ", ".join(f"{part.label.lower()} {spoken(part.seconds, 's')} ({_share(part.share)})" for part in parts)
    return [f"Why not the ideal? {made.label.capitalize()}: {words}"]


def _share(share: float) -> str:
    return f"{share:.0%}".replace("%", " %") if share >= 0.01 else "under 1 %"


def _near(found: Nearest) -> list[str]:
    """The nearest runs as a table; a column in which all are alike or blank is left out."""
    columns = {
        "run": [run.run.id for run in found.runs],
        "model": [run.model for run in found.runs],
        "chip": [run.run.hardware for run in found.runs],
        **{label: [table.shown(run.sizes[at]) for run in found.runs] for at, label in enumerate(found.sizes)},
        "what": [run.what for run in found.runs],
        "reported": [spoken(run.run.measured, run.unit) for run in found.runs],
        "expected": [spoken(run.expected, run.unit, run.run.measured) for run in found.runs],
        "off by": [f"{run.expected / run.run.measured - 1:+.0%}".replace("%", " %") for run in found.runs],
    }
    titles = [title for title, cells in columns.items() if title not in ("model", "what") or len(set(cells)) > 1]
    rows = list(zip(*(columns[title] for title in titles), strict=True))
    right = [*found.sizes, "reported", "expected", "off by"]
    title = "Runs like yours: the published runs nearest to this plan, and what is expected of each"
    return ["", title, *table.aligned(titles, rows, right=right).splitlines()]
