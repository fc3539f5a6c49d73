"""Explains a number: its formula in names, then in numbers, and recursively its
precedents down to inputs and sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from planner import terminal_table
from planner.catalog import given_by
from planner.catalog.checked_table import TABLES
from planner.formulas.binding import constraint, what_binds
from planner.formulas.evaluation import Facts, Results
from planner.formulas.lookups import only_on
from planner.formulas.reached import names_read, node
from planner.formulas.template import BY_ID, CALCULATED, LOOKUPS, Row

TOPOLOGY = "topology"
KNOWN_NETWORKS = "switch, mesh, pcie, ring, 2d_torus or 3d_torus"
FITTED = ("calibration", "stack")
"""Kinds of rows whose numbers are fitted to published runs, or are priors."""


def in_names(row: Row) -> str:
    """A row's formula in names: `a*b`, `hardware[hardware_id].hbm_bytes`, `dtypes[kv_dtype]`."""
    if row.kind in CALCULATED:
        return row.formula
    if row.kind in BY_ID:
        return f"{TABLES[row.kind]}[{row.column[1]}].{row.column[0]}"
    if row.kind in ("model", "hardware"):
        column, selector = row.column
        table_name = "models[model_id]" if row.kind == "model" else "hardware[hardware_id]"
        return f"{table_name}.{column}" + (f"[{selector}]" if selector else "")
    return ""


def explain(results: Results, names: Sequence[str], facts: Facts, depth: int | None) -> str:
    """The derivation of some rows as indented text, followed by the fitted numbers that they use with their sources.

    `depth` is the number of levels below each of the names; None for all. Raises UserError for an unknown name.
    """
    tree = _Tree(results, facts, depth)
    for name in names:
        tree.grow(results.template.row(name))
    return "\n".join([*tree.lines, *_fitted(results, names, facts)])


def _fitted(results: Results, names: Sequence[str], facts: Facts) -> list[str]:
    """The calibration and stack factors on which some numbers depend, as lines."""
    reached = results.template.closure(names)
    rows = [row for row in results.template.rows if row.name in reached and row.kind in FITTED and row.unit != "text"]
    rows = [row for row in rows if row.name not in (*results.given, *names)]
    if not rows:
        return []
    body = [
        [f"  {row.name}", terminal_table.digits(results.value(row.name)), row.unit, _fitted_on(results, row, facts)]
        for row in rows
    ]
    head = ["  name", "value", "unit", "where it is from"]
    return ["", "It rests on these fitted numbers:", *terminal_table.aligned(head, body, right=("value",)).splitlines()]


def _fitted_on(results: Results, row: Row, facts: Facts) -> str:
    """The source of a number of a calibration or a stack."""
    identifier = results.value(str(row.column[1]))
    origin = facts.origins.get((row.kind, f"{identifier}.{row.column[0]}"))
    return origin or facts.said(row.kind, identifier)


def origin(results: Results, row: Row, facts: Facts) -> str:
    """The source of a row: of a looked-up number its database row and source, of any other that of its formula."""
    if row.name in results.given:
        return "given"
    if row.kind in BY_ID:
        return _fitted_on(results, row, facts)
    if row.kind in LOOKUPS:
        return facts.origin(row.kind, _column(results, row))
    return terminal_table.joined(row.source, row.note)


def missing(results: Results, names: Iterable[str]) -> list[str]:
    """The inputs and lookups that make any of these rows N/A, each as a phrase that says what to do.

    Lookups that only apply to chips of another network, or to another way to pay, are left out.
    """
    return _phrases(results, blanks(results, names))


def blanks(results: Results, names: Iterable[str]) -> list[Row]:
    """These inputs and lookups themselves."""
    needed = {row.name for row in _causes(results, names, _unknown)}
    leaves = [row for row in _causes(results, names, _unknown_anywhere) if row.kind in ("input", *LOOKUPS)]
    leaves = [row for row in leaves if row.name in needed or _setting(results, row)]  # a setting may take the branch
    return [row for row in leaves if not _elsewhere(results, row)]


def _elsewhere(results: Results, row: Row) -> str:
    """The choice for which a lookup's number is needed, if the plan has another choice; else blank."""
    setting, text = only_on(row)
    chosen = results.value(setting) if setting in results.template.by_name else None
    return "" if text in ("", chosen) else text


def reasons(results: Results, names: Iterable[str]) -> dict[str, str]:
    """For each row that is N/A, why: what is missing, or the formula that gives N/A."""
    unknown = [name for name in names if results.value(name) is None]
    return {
        name: ", ".join(missing(results, [name]) or _phrases(results, _causes(results, [name], _unknown)))
        for name in unknown
    }


def _causes(results: Results, names: Iterable[str], unknown_of: Callable[[Results, Row], list[str]]) -> Iterator[Row]:
    """The rows where the N/A of some rows begins: they are N/A but the precedents that count aren't."""
    waiting = list(dict.fromkeys(name for name in names if results.value(name) is None))
    seen = set(waiting)
    while waiting:
        row = results.template.row(waiting.pop(0))
        unknown = unknown_of(results, row)
        waiting += [name for name in unknown if name not in seen]
        seen |= set(unknown)
        if not unknown:
            yield row


def _unknown_anywhere(results: Results, row: Row) -> list[str]:
    """The precedents of a row that are N/A; none if it is typed."""
    return [] if row.name in results.given else [name for name in row.reads if results.value(name) is None]


def _unknown(results: Results, row: Row) -> list[str]:
    """The precedents of a row that are N/A, without those of an IF's branch that isn't taken; none if it is typed."""
    unknown = _unknown_anywhere(results, row)
    if not unknown or row.kind not in CALCULATED:
        return unknown
    known = {name: node(value) for name in row.reads if (value := results.value(name)) is not None}
    read = names_read(row.formula, known)
    return [name for name in unknown if name in read] or unknown  # what is multiplied by 0 isn't read, but N/A


def _phrases(results: Results, rows: Iterable[Row]) -> list[str]:
    """What rows lack, each said once, with the settings that choose another."""
    settings: dict[str, list[str]] = {}
    for row in rows:
        settings.setdefault(_missing(results, row), []).extend(filter(None, [_setting(results, row)]))
    return [said + _choosing(list(dict.fromkeys(chosen))) for said, chosen in settings.items()]


def _choosing(settings: Sequence[str]) -> str:
    """Which settings choose another, in brackets; blank if there are none."""
    chooses = "chooses" if len(settings) == 1 else "choose"
    return f" (--set {' and '.join(settings)} {chooses} another)" if settings else ""


def _setting(results: Results, row: Row) -> str:
    """The setting that chooses which row or number a lookup reads, blank if none does."""
    if row.kind not in LOOKUPS or row.name in results.given or not row.column[1] or _elsewhere(results, row):
        return ""
    return row.column[1] if row.kind == "hardware" else _naming(results, results.template.row(row.column[1]))


def _missing(results: Results, row: Row) -> str:
    """What a row lacks whose precedents are known: an input its value, a lookup its row or number."""
    if other := _elsewhere(results, row):
        setting = only_on(row)[0]
        return f"{row.name} is {f'of a {other}' if setting == TOPOLOGY else f'for {setting}={other}'} alone"
    if row.kind == "input":
        return f"{row.name} is not set"
    if row.name in results.given:
        return f"{row.name} is given as N/A"
    if row.kind in CALCULATED:
        _, said, why = row.note.partition("N/A ")
        return f"{row.name} is {said}{why}" if said else f"{row.name} is N/A by its formula ({row.formula})"
    if row.kind in BY_ID and row.column[1]:  # these tables have no blanks: the row is missing
        return f"there is no {row.kind} {results.value(row.column[1])!r}"
    if row.kind == "hardware" and row.column[1]:
        return f"the chip has no {_column(results, row)} in the hardware table"
    others = given_by(row.column[0]) if row.kind == "hardware" else ()
    if others == ("network",):
        others = (f"a network of {KNOWN_NETWORKS}",)  # one of another kind doesn't
    giving = f" ({' and '.join(others)} would give it)" if others else ""
    return f"{row.name} is not in the {row.kind} table{giving}"


def _naming(results: Results, row: Row) -> str:
    """The row that was typed or looked up with the text that a row has: itself, or the one that its formula chose."""
    if row.kind not in CALCULATED or row.name in results.given:
        return row.name
    text = results.value(row.name)
    return next((name for name in reversed(row.reads) if results.value(name) == text), "")


def failed(results: Results) -> list[Row]:
    """The failed checks."""
    return [row for row in results.template.of_kind("check") if results.value(row.name) == 0]


@dataclass
class _Tree:
    """Rows with their precedents as indented lines, down to a depth (None: unlimited).

    `cut` is the level at which the depth cut off a row's precedents: at a higher level, the row is explained again.
    """

    results: Results
    facts: Facts
    depth: int | None
    lines: list[str] = field(default_factory=list)
    explained: set[str] = field(default_factory=set)
    cut: dict[str, int] = field(default_factory=dict)

    def grow(self, row: Row, level: int = 0) -> None:
        """Add the lines of a row at this level."""
        indent = "  " * level
        unit = "" if row.unit in ("1", "text") else f" {row.unit}"
        head = f"{indent}{row.name} = {terminal_table.digits(self.results.value(row.name))}{unit}"
        if row.name in self.explained and level >= self.cut.get(row.name, 0):
            self.lines.append(f"{head}  (explained above)")
            return
        self.explained.add(row.name)
        self.cut.pop(row.name, None)
        self.lines.append(f"{head}  ({terminal_table.joined(row.label, row.source, row.note)})")
        self.lines += [f"{indent}  {line}" for line in self.made(row)]
        reads = () if row.name in self.results.given else row.reads
        for name in reads if level != self.depth else ():
            self.grow(self.results.template.row(name), level + 1)
        if reads and (level == self.depth or self.cut.keys() & set(reads)):
            self.cut[row.name] = level

    def made(self, row: Row) -> Iterator[str]:
        """Yields a row's derivation: its formula, or its source."""
        if row.name in self.results.given:
            yield "= typed with --set" if row.kind == "input" else "= overridden with --set"
            return
        if row.kind in ("input", "constant"):
            yield f"= {'default' if row.kind == 'input' else 'constant'} of {row.template}"
            return
        yield f"= {in_names(row)}"
        if row.kind in CALCULATED:
            yield f"= {_in_numbers(self.results, row)}"
            yield from (f"bound by {words}" for words in _bound(self.results, row))
        elif row.kind in LOOKUPS and row.kind != "dtype":
            yield f"= {origin(self.results, row, self.facts)}"


def _bound(results: Results, row: Row) -> Iterator[str]:
    """What binds a row with competing parts, and how far the next part is."""
    each = constraint(row, results.template.by_name)
    found = what_binds(each, results.number) if each else None
    if each is not None and found is not None:
        yield found.words("above" if each.is_largest else "below")


def _column(results: Results, row: Row) -> str:
    """The database column that a lookup read, with its dtype if it has one."""
    column, selector = row.column
    return f"{column}_{results.value(selector)}" if selector else column


def _in_numbers(results: Results, row: Row) -> str:
    def number(name: str) -> str:
        value = results.value(name)
        text = terminal_table.digits(value).replace(",", "")
        return f'"{value}"' if isinstance(value, str) else f"({text})" if text.startswith("-") else text

    return row.expression.substitute(number)
