"""The summary that `planner calc` prints: expected numbers with ranges, what fits, what binds, similar published runs.

For a template without headlines, its outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from planner import terminal_table
from planner.catalog.databases import Databases
from planner.formulas import advice, expected
from planner.formulas.binding import of_headline
from planner.formulas.evaluation import Facts, Results
from planner.formulas.explanation import missing, reasons
from planner.formulas.headlines import Headline, fit, headline_template, headlines, leading
from planner.formulas.lookups import facts
from planner.formulas.template import Row, Template, read_rows
from planner.formulas.text import parse
from planner.number_text import PERCENT, between, percent, printed, spoken, within
from planner.validation.nearest import Nearest, nearest

TIMES = ("expected_time", "expected_time_low", "expected_time_high", "lower_bound_time")
"""Names of an operation's times in its template, headline first."""


def lines(
    results: Results, model: str | None, hardware: str | None, databases: Databases, *, in_full: bool
) -> list[str]:
    """The first screen of a plan as lines of text; with `in_full`, every row follows."""
    found = leading(headline_template(results.template), results.template.by_name)
    more = ["", "All rows:"] if in_full else _more(results)
    if not found:
        return [*_results(results, model, hardware), *more]
    near = nearest(results.template, results.value, hardware or "", databases)
    said = [_plan("What to expect of ", results, model, hardware), *_headlines(found, results, databases)]
    known = facts(results.template, model, hardware, databases)
    kind = str((known.hardware or {}).get("kind") or "")
    notes = list(expected.notes(results.known, near.own if near else None, kind))
    agreements = list(expected.agreements(results.template, results.number))
    said += [*notes, *([""] if agreements and not notes else []), *agreements]
    said += [*_fitting(results, known, found), *_binding(found, results)]
    if results.value("stack") != expected.IDEAL:
        said += _made([each for each in found if each.parts], results)
    return said + (_near(near) if near else []) + more


def asked(template: Template) -> list[str]:
    """The names of the rows shown on the first screen."""
    if not leading(headline_template(template), template.by_name):
        return [row.name for row in _shown(template)]
    groups = [(*each.rows, each.binds, each.target) for each in headlines(template)]
    found = [row.name for rows in groups for row in rows if row]
    parts = [name for each in headlines(template) for part in each.parts for name in parse(part.text).names]
    told = [name for name in expected.DRAFTS if name in template.by_name]
    return [*found, *parts, *told]


def _shown(template: Template) -> list[Row]:
    """The results of a template, with an operation's expected time and bound first.

    For a template without results, which is meant to be included, the rows that it calculates itself and that none of
    its rows reads, except under a prefix; for one that calculates nothing, all its rows.
    """
    times = [template.by_name[name] for name in TIMES if name in template.by_name]
    return list({row.name: row for row in (*times, *_results_of(template))}.values())


def _results_of(template: Template) -> list[Row]:
    if outputs := template.of_kind("output"):
        return outputs
    read = {name for row in template.rows if row.kind != "check" for name in row.reads}
    prefixes = tuple(f"{row.name}_" for row in read_rows(template.path)[0] if row.kind == "include")
    rows = [row for row in template.of_kind("calc") if row.template == template.name or row.name not in read]
    return [row for row in rows if not row.name.startswith(prefixes)] or list(template.rows)


def _plan(before: str, results: Results, model: str | None, hardware: str | None) -> str:
    """What the numbers are for: `What to expect of training, llama3-70b on 512 h100-sxm, stack default:`."""
    rows = results.template.by_name
    model, hardware = (
        text if results.template.of_kind(kind) else None for kind, text in (("model", model), ("hardware", hardware))
    )
    chips = results.value("n_chips") if "n_chips" in rows else None
    count = f"{terminal_table.digits(chips)} " if isinstance(chips, float) and hardware else ""
    what = " on ".join(text for text in (model, f"{count}{hardware}" if hardware else "") if text)
    stack = f", stack {results.value('stack')}" if "stack" in rows else ""
    return f"{before}{results.template.name}{f', {what}' if what else ''}{stack}:"


def _results(results: Results, model: str | None, hardware: str | None) -> list[str]:
    """The results of a template without headlines: label, number and name of each."""
    rows = _shown(results.template)
    body = [[row.label, _said(results, row), row.name] for row in rows]
    title = _plan("", results, model, hardware)
    return [title, *terminal_table.aligned(["", "", "name"], body, right=()).splitlines(), *_lacking(results, rows)]


def _said(results: Results, row: Row) -> str:
    """A row's value in everyday units."""
    unit = PERCENT if row.display == PERCENT else row.unit
    return printed(results.value(row.name), unit)


def _lacking(results: Results, rows: Sequence[Row]) -> list[str]:
    """A line on why some of these rows are N/A; empty if all are known."""
    names = [row.name for row in rows]
    lacking = missing(results, names) or dict.fromkeys(reasons(results, names).values())
    return _because(lacking)


def _because(lacking: Iterable[str]) -> list[str]:
    """The line on what rows lack; none if they lack nothing."""
    lacking = ", ".join(lacking)
    return [f"N/A because {lacking}: --set a value"] if lacking else []


def _headlines(found: Sequence[Headline[Row]], results: Results, databases: Databases) -> list[str]:
    """A line for each expected number, its range and bound; below them why one is N/A."""
    rows, has_targets = [], any(each.target for each in found)
    for each in found:
        number, low, high, bound = (results.number(row.name) for row in each.rows)
        is_ideal = results.value("stack") == expected.IDEAL  # bounds have no range
        said = "" if is_ideal else between(low, high, each.unit, number), spoken(bound, each.unit, number)
        asked = [spoken(results.number(each.target.name), each.unit, number) if each.target else ""]
        rows.append([each.label, spoken(number, each.unit), *said, *(asked if has_targets else [])])
    shown_rows = [each.row for each in found]
    has_own = databases.calibrations_csv is not None
    titles = ["", "expected", expected.of_runs(results.known, is_own=has_own), "bound"]
    titles += ["asked"] if has_targets else []
    right = ("expected", "bound", "asked")
    return [*terminal_table.aligned(titles, rows, right=right).splitlines(), *_lacking(results, shown_rows)]


def _memory(results: Results) -> Iterator[str]:
    """Whether a chip's memory is sufficient, and by how much it isn't."""
    plan = fit(results.template)
    if plan is None:
        return
    needed, room = results.number(plan.needed), results.number(plan.room.text)
    if needed is None or room is None:
        yield "Memory: can't be told"
        return
    each = f"{spoken(needed, 'byte')} of {spoken(room, 'byte')} on a chip{_at_least(plan.needed, results)}"
    if results.value(plan.check) == 0:
        yield f"Memory: does not fit, {each}: {spoken(needed - room, 'byte')} too much"
    else:
        yield f"Memory: fits, {each}"


def _at_least(needed: str, results: Results) -> str:
    """The lower bound of the required memory in words; empty if there is none."""
    bounds = [each.bound for each in headlines(results.template) if each.row.name == needed]
    least = results.number(bounds[0].name) if bounds and bounds[0] else None
    return "" if least is None else f", {spoken(least, 'byte')} at least"


def _fitting(results: Results, known: Facts, above: Sequence[Headline[Row]]) -> list[str]:
    """Whether the plan fits, and the headlines without a range, such as the largest batch that fits.

    Below them why some are N/A, unless the headlines `above` are so for the same reason.
    """
    plan = fit(results.template)
    elsewhere = {expected.EXTRAPOLATED, *([plan.needed] if plan else [])}
    others = [each for each in headlines(results.template) if not each.label and each.row.name not in elsewhere]
    change = advice.advised(results, known).words or advice.quicker(results, known)
    told = [f"What to change first: {change}"] if change else []
    said = [*_memory(results), *told, *_columns([(each.row.label, _said(results, each.row)) for each in others])]
    memory = [plan.needed, *parse(plan.room.text).names] if plan else []
    told_above = missing(results, [each.row.name for each in above])
    names = [*memory, *(each.row.name for each in others)]
    lacking = [each for each in missing(results, names) if each not in told_above]
    return ["", *said, *_because(lacking)] if said else []


def _binding(found: Sequence[Headline[Row]], results: Results) -> list[str]:
    """What binds each headline, and how far behind the next part is; of headlines with one bound the first is said."""
    first = {(each.bound or each.row).name: each for each in reversed(found)}
    told = [(each.label, words) for each in found if each in first.values() and (words := of_headline(each, results))]
    return ["", "What binds", *_columns(told)] if told else []


def _columns(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Lines of two columns without titles."""
    return terminal_table.aligned(["", ""], rows).splitlines()[1:]


def _made(made: Sequence[Headline[Row]], results: Results) -> list[str]:
    """The breakdown of each headline's time: a table if only one headline has parts, else a line each."""
    said: list[str] = []
    for each in made:
        parts = [(part.label, spoken(part.seconds, "s"), _share(part.share)) for part in each.shares(results.number)]
        if len(made) > 1 and parts:
            words = ", ".join(f"{label.lower()} {time} ({share})" for label, time, share in parts)
            said.append(f"Why not the ideal? {each.label}: {words}")
        elif parts:
            whole = spoken(results.number(each.row.name), each.unit)
            said.append(f"Why not the ideal? The expected {each.label.lower()} of {whole} is made of")
            said += terminal_table.aligned(["", "time", "share"], parts, right=("time", "share")).splitlines()[1:]
    return ["", *said] if said else []


def _share(share: float) -> str:
    return percent(share, 0) if share >= 0.01 else "under 1 %"


def _near(found: Nearest) -> list[str]:
    """The nearest runs as a table, without columns that are blank or have a single value, which the title states."""
    columns = list(zip(found.columns, *(run.cells for run in found.runs), strict=True))
    alike = {column[0].name: column[1].text for column in columns if len(set(column[1:])) == 1}
    useful = [column for column in columns if column[0].name not in ("what", "model") or column[0].name not in alike]
    titles, *rows = zip(*useful, strict=True)
    right = [title.label for title in titles if title.unit != "text"]
    said = terminal_table.aligned(
        [title.label for title in titles], [[cell.text for cell in row] for row in rows], right
    )
    title = "Runs like yours: the published runs nearest to this plan, and what is expected of each"
    left_out = ", ".join(filter(None, (within(alike.get("what", "")), alike.get("model", ""))))
    return ["", f"{title}; all of them: {left_out}" if left_out else title, *said.splitlines()]


def _more(results: Results) -> list[str]:
    """How to see more."""
    example = asked(results.template)[0]
    rows = terminal_table.counted(len(results.template.rows), "row")
    return ["", f"--all shows all {rows}, --why {example} explains a number."]
