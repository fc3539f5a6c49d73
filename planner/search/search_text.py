"""The terminal output of a sweep or a search."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from planner import progress
from planner.formulas import expected
from planner.formulas.binding import of_headline
from planner.formulas.explanation import missing
from planner.formulas.headlines import OF_ANY_RUNS, OF_RUNS, RANGE, fit, headline_template, headlines, memory_check
from planner.formulas.slices import of_the_slice
from planner.formulas.template import Template
from planner.number_text import percent, spoken
from planner.search import layout_space
from planner.search.extrapolated import extrapolated
from planner.search.found import Found, FoundPlan, alike, differing
from planner.search.ranking import chances, off
from planner.search.request import Request
from planner.search.serving_layouts import BATCHES
from planner.search.sweep import SweepColumn, SweptPlans, worded
from planner.terminal_table import aligned, counted

FIRST = 20  # lines of a table to print
CACHED = "context_len"  # the input with the tokens of a sequence that memory is counted for
LENGTHS = {CACHED, "prompt_len", "generate_len"}
REFUSERS = 4  # most rejecting checks to name
HBM, RESERVE = "hbm_bytes", "hbm_reserve_bytes"
SPARE = 0.1  # of a chip's memory: what vLLM keeps free, gpu_memory_utilization 0.9
TEXTS = ("model", "hardware", "remat", "extrapolated", "what binds", "plan")


def first_lines(sweep: SweptPlans) -> Iterator[str]:
    """The first lines of a table with units, and the number of plans."""
    rows: list[list[str]] = []
    for part in sweep.parts():
        columns = [part[column.name] for column in sweep.columns]
        rows += [
            list(cells)
            for cells in zip(*map(SweepColumn.cells, sweep.columns, [each[:FIRST] for each in columns]), strict=True)
        ]
        if len(rows) >= FIRST:
            break
    progress.clear()
    yield from table(sweep.columns, rows[:FIRST])
    if sweep.count > FIRST <= len(rows):
        yield f"The first {FIRST} of {sweep.count:,} plans; -o table.csv writes all."


def of_sweep(sweep: SweptPlans) -> Iterator[str]:
    """A sentence if the memory of a sweep's plans is for another context than their sequences have, and none varies."""
    asked, varied = sweep.asked, {name for axis in sweep.asked.axes for name in axis.columns}
    if CACHED in asked.template.closure(sweep.wanted) and varied.isdisjoint(LENGTHS):
        yield from expected.of_the_context(FoundPlan.of(asked, asked.subjects[0], {}).results.known)


def table(columns: Sequence[SweepColumn], rows: Sequence[Sequence[str]]) -> list[str]:
    """An aligned table with its column names above."""
    names = [column.name for column in columns]
    return aligned(names, rows, right=[column.name for column in columns if column.unit != "text"]).splitlines()


def of_search(asked: Request, found: Found) -> Iterator[str]:
    """The result of a search as lines: how many plans were tried and refused, the best plans with what binds them."""
    template, several = asked.template, len(found.objectives) > 1
    told = refusers(found)
    yield f"{counted(found.tried, 'plan')} tried, {passed(asked, found)}{':' if told else '.'}"
    for name, count in told:
        named = "" if name in asked.conditions else f" ({name})"
        yield f"  refused by {template.row(name).label}{named}: {count:,}"
    if more := unnamed(found):
        yield f"  {more}"
    for subject, refuser in found.empty:
        yield f"  of {subject.said} no plan passes; {template.row(refuser).label} refuses most"
    if found.unknown:
        names = " or ".join(each.row.name for each in found.objectives)
        yield f"  left out, as {names} is N/A: {left_out(asked, found)}"
    if several:
        along = (
            f"than the {found.front:,} of the front; {len(found.plans):,} along it" if found.front > 1 else "than this"
        )
        yield f"No plan is better in all of these {along}:"
    else:
        each = found.objectives[0]
        said = worded(each.row, found.best if each.is_least else -found.best)
        yield f"Best {each.row.name}: {said}; {tied(asked, found)}:"
    columns = _columns(asked, found)
    yield ""
    titles = [title for title, _ in columns]
    rows = list(zip(*(cells for _, cells in columns), strict=True))
    yield from aligned(titles, rows, right=[title for title in titles if title not in TEXTS]).splitlines()
    if same := in_all(template, found.plans):
        yield f"In all of them: {same}."
    most = float(BATCHES[-1])
    if found.plans[0].moved.get(layout_space.BATCH) == most:
        more = f"--over {layout_space.BATCH}={most:.0f}..{16 * most:.0f}*2"
        yield f"The best plan has the largest batch that was tried, {most:,.0f}: {more} tries larger ones."
    yield from of_the_slices(found)
    yield from _nearly_full(found)
    yield from expected.of_the_batch(found.plans[0].results.known)
    yield from expected.of_the_context(found.plans[0].results.known)
    yield from _untold_memory(found)
    if found.of_each:
        yield from _of_each(asked, found)


def of_the_slices(found: Found) -> Iterator[str]:
    """A sentence for each number of chips of the best plans that no slice of their chip has."""
    said = (
        of_the_slice(
            plan.results.known, str((plan.subject.facts.hardware or {}).get("kind")), plan.subject.hardware or ""
        )
        for plan in found.plans
    )
    yield from dict.fromkeys(line for lines in said for line in lines)


def memory_left(plan: FoundPlan) -> float | None:
    """The bytes of a chip's memory that a plan neither uses nor keeps free; None if they are unknown."""
    memory = fit(plan.results.template)
    return plan.results.number(f"{memory.room.text}-{memory.needed}") if memory else None


def _nearly_full(found: Found) -> Iterator[str]:
    """A line if a listed plan that keeps nothing free fills a chip that far, and what would keep some free."""
    for at, plan in enumerate(found.plans):
        if (left := memory_left(plan)) is None or not {HBM, RESERVE} <= plan.results.template.by_name.keys():
            continue
        whole, kept = map(plan.results.number, (HBM, RESERVE))
        if whole and kept == 0 and left < SPARE * whole:
            which = f"Plan {rank}" if (rank := _rank(found, at)).isdigit() else f"The {rank} plan"
            free = f"--set {RESERVE}={SPARE * whole / 1e9:.1f}GB keeps a tenth free"
            yield (
                f"{which} leaves {spoken(left, 'byte')} of a chip's {spoken(whole, 'byte')} to buffers and "
                f"fragmentation: {free}."
            )
            return


def _untold_memory(found: Found) -> Iterator[str]:
    """A line for each chip whose listed plans may or may not fit in memory, with what is missing to know it."""
    untold: dict[str, str] = {}
    for plan in (*found.plans, *found.of_each):
        check = memory_check(headline_template(plan.results.template))
        if check and plan.results.value(check) is None:
            untold[plan.subject.hardware or plan.subject.said] = ", ".join(missing(plan.results, [check]))
    for chip, why in untold.items():
        yield f"Whether plans of {chip} fit in memory can't be told: {why}."


def passed(asked: Request, found: Found) -> str:
    """How many plans pass every check and condition, and how many fail one or more, in words."""
    said = f"{found.passed:,} pass{'es' * (found.passed == 1)} every check{' and condition' * bool(asked.conditions)}"
    if not (failing := found.tried - found.passed):
        return said
    fail = "fails" if failing == 1 else "fail"
    return f"{said}, {failing:,} {fail} {'one' if len(found.refused) == 1 else 'one or more'}"


def in_all(template: Template, plans: Sequence[FoundPlan]) -> str:
    """The varied inputs that some plans share, in words; blank if there are none."""
    return ", ".join(f"{name} {worded(template.row(name), value)}" for name, value in alike(plans).items())


def left_out(asked: Request, found: Found) -> str:
    """How many plans have an objective that is N/A, and what is missing for which chips."""
    has_models = "model" in asked.several
    said = [f"{found.unknown:,}"]
    for why, subjects in found.why.items():
        chips = (each.said if has_models or not each.hardware else each.hardware for each in subjects)
        said.append(f"{why} ({', '.join(chips)})")
    return "; ".join(said)


def tied(asked: Request, found: Found) -> str:
    """How many plans are tied with the best, and up to which deviation."""
    if math.isnan(found.bar):
        many = f"{found.ties:,} plans have it, among which --and NAME chooses, the simplest first"
        return "no other plan has it" if found.ties == 1 else many
    bar, end = (percent(abs(off(each, found.best) or 0.0)) for each in (found.bar, found.end))
    other = f", or {end} on another chip or model" if len(asked.subjects) > 1 and end != bar else ""
    if found.ties == 1:
        return f"no other plan is within {bar} of it{other}"
    within = f"within {bar} of it{other}, which published runs can't tell apart"
    return f"{found.ties:,} plans are {within}, the simplest first"


def _of_each(asked: Request, found: Found) -> Iterator[str]:
    """The same as lines of text."""
    aim, rows = found.objectives[0], []
    for plan, chance in chances(found):
        said = [worded(aim.row, plan.results.value(row.name)) for row in aim.rows(asked.template)]
        between = f"{said[1]} to {said[2]}" if len(said) == len(RANGE) + 1 else ""
        rows.append([plan.subject.said, said[0], between, "" if chance is None else percent(chance, 0)])
    yield ""
    held = {expected.of_runs(plan.results.known, is_own=asked.is_own) for plan, _ in chances(found)}
    of_runs = OF_ANY_RUNS if OF_ANY_RUNS in held else OF_RUNS
    yield from aligned(["the best of each", aim.row.name, of_runs, "chance that it beats the first"], rows).splitlines()


def _columns(asked: Request, found: Found) -> list[tuple[str, list[str]]]:
    """The columns of the table of plans, each with its title."""
    template, plans = asked.template, found.plans
    columns = [("plan", [_rank(found, at) for at in range(len(plans))])]
    columns += [(kind, [getattr(plan.subject, kind) for plan in plans]) for kind in asked.several]
    columns += [
        (name, [worded(template.row(name), plan.results.value(name)) for plan in plans])
        for name in dict.fromkeys([*differing(plans), *(each.row.name for each in found.objectives)])
    ]
    if len(found.objectives) == 1:
        aim = found.objectives[0]
        costs = (float(aim.cost(plan.results[aim.row.name])) for plan in plans)
        columns.append(("off the best", [percent(off(cost, found.best), signed=True) for cost in costs]))
    memory = fit(template)
    if memory and memory.needed not in dict(columns):
        row = template.row(memory.needed)
        columns.append(("memory", [worded(row, plan.results.value(row.name)) for plan in plans]))
    if memory:
        row = template.row(memory.needed)
        columns.append(("memory left", [worded(row, memory_left(plan)) for plan in plans]))
    optional = {
        "extrapolated": [extrapolated(asked, plan) for plan in plans],
        "what binds": [binds(asked, found, plan) for plan in plans],
    }
    return [*columns, *((title, cells) for title, cells in optional.items() if any(cells))]


def refusers(found: Found) -> list[tuple[str, int]]:
    """The checks that refused the most plans, with the number of each."""
    return found.refused.most_common(REFUSERS)


def unnamed(found: Found) -> str:
    """How many further checks refused plans; blank if `refusers` has all."""
    more = len(found.refused) - REFUSERS
    return f"and by {counted(more, 'more check')}" if more > 0 else ""


def _rank(found: Found, at: int) -> str:
    """`simplest` for the first plan of a single objective with ties, else the plan's number."""
    return "simplest" if at == 0 and len(found.objectives) == 1 and found.ties > 1 else str(at + 1)


def binds(asked: Request, found: Found, plan: FoundPlan) -> str:
    """What binds a plan: its objective, or the first headline with a constraint."""
    leading = headlines(asked.template)
    own = [each for each in leading if each.row.name == found.objectives[0].row.name]
    return next((words for each in (*own, *leading) if (words := of_headline(each, plan.results))), "")
