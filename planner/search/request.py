"""The request of a sweep or search: template, models, chips, settings, varied inputs, conditions.

The values of --over are a list, `1,2,8`, that may hold ranges: `1..1000`, `2^7..2^16`, `8..4096*2`, `0..1+0.1`. A range
goes up by 1, by a step (`+`) or a factor (`*`); if both ends are powers of one number, by powers. Numbers may have
units, as in `--set`: `10ms..100ms*2`.

What plans must meet (--where) is a formula of the templates' grammar: `step_time_expected<4s`. A number alone on one
side of a comparison is read as `--set` reads it: in the unit of the other side, or its own unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner import typed_numbers
from planner.catalog import Value
from planner.catalog.databases import Databases
from planner.errors import UserError
from planner.formulas import asking, library
from planner.formulas.evaluation import Facts, code
from planner.formulas.headlines import headlines, memory_check
from planner.formulas.input_values import is_whole, limits, meant, values
from planner.formulas.lookups import facts
from planner.formulas.template import Row, Template
from planner.formulas.text import COMPARISONS, Binary, Formula, FormulaError, Name, Unary, parse, walk
from planner.formulas.units import ONE, parse_unit, unit_of
from planner.processes import ALONE, Processes
from planner.search.space import Axis

MOST = 10_000_000  # values of one input
NEAR = 1e-9  # how far beyond its end, relative, a range's last value may be by rounding
_STEPPED = re.compile(r"(?P<last>.*[^eE*+\s])\s*(?P<sign>[*+])\s*(?P<by>[^*+]+)")
_DASHED = re.compile(r"(\d[\w.]*(?<![eE]))\s*[-:]\s*(\d[\w.]*)")  # as ranges are written elsewhere
_POWER = re.compile(r"\s*(?P<base>\d+)\s*\^\s*(?P<exponent>\d+)\s*")


@dataclass(frozen=True)
class Subject:
    """A model on a chip, either of which may be none, and what the template's lookups read of them."""

    model: str | None
    hardware: str | None
    facts: Facts

    @property
    def said(self) -> str:
        """`llama3-70b on h100-sxm`."""
        return " on ".join(each for each in (self.model, self.hardware) if each)


@dataclass(frozen=True)
class Request:
    """A template with a row for each condition, its subjects, what is typed, and the axes in the order of --over.

    The plans are shared out `among` the processes of the command.
    """

    template: Template
    subjects: Sequence[Subject]
    given: Mapping[str, Value]
    axes: Sequence[Axis]
    conditions: Sequence[str]
    backend: str = "numpy"
    among: Processes = ALONE

    @property
    def moving(self) -> set[str]:
        """The names that --over moves."""
        return {name for axis in self.axes for name in axis.columns}


def request(
    template: str, models: Sequence[str], chips: Sequence[str], settings: Iterable[str], overs: Iterable[str],
    wheres: Sequence[str], databases: Databases, backend: str = "numpy", among: Processes = ALONE,
) -> Request:  # fmt: skip
    """What the options of a command ask for. `backend` is what computes it: `numpy` or `jax`; `among` who share it.

    Raises UserError for unknown names, values and units, and for what is both typed and moved.
    """
    loaded, conditions = with_conditions(library.load(template), wheres)
    texts = _named(overs)
    models, chips = (
        [
            *(name for each in named for name in each.split(",") if name),
            *(name.strip() for name in texts.pop(kind, "").split(",") if name.strip()),
        ]
        for kind, named in (("model", models), ("hardware", chips))
    )
    given = values(loaded, settings)
    axes = []
    for name, text in texts.items():
        row = loaded.row(name)
        if name in given:
            raise UserError(f"{name} is both set and varied", remedy=f"leave out --set {name} or --over {name}")
        axes.append(Axis({row.name: values_over(row, text)}))
    subjects = [
        Subject(model, chip, facts(loaded, model, chip, databases))
        for model in dict.fromkeys(models) or (None,)
        for chip in dict.fromkeys(chips) or (None,)
    ]
    return Request(loaded, subjects, given, axes, conditions, backend, among)


def _named(overs: Iterable[str]) -> dict[str, str]:
    """`name=SPEC` texts as a mapping. Raises UserError for a text without either, or a name given twice."""
    found: dict[str, str] = {}
    for over in overs:
        name, equals, text = (part.strip() for part in over.partition("="))
        if not (name and equals and text):
            what = f"--over {over!r} has no values" if name and equals else f"--over {over!r} is not name=values"
            raise UserError(what, remedy=f"write --over {name if name and equals else 'batch'}=1..64")
        if name in found:
            raise UserError(f"--over {name} is given twice", remedy=f"write --over {name}={found[name]},{text}")
        found[name] = text
    return found


def wanted(template: Template, names: Sequence[str]) -> list[str]:
    """The rows that are asked for; of none named the template's headlines, and whether the plan fits in memory."""
    if names:
        return asking.named(template, names)
    led = [each.row.name for each in headlines(template) if each.label or not each.has_range]
    fits = memory_check(template.name)
    return [*dict.fromkeys([*led, *([fits] if fits in template.by_name else [])])]


def values_over(row: Row, text: str) -> np.ndarray:
    """The values of a row in the order in which they are typed, each once: float64, codes for texts.

    Raises UserError for what is no value of the row, an empty or a falling range, and one of too many values.
    """
    found: dict[float, None] = {}
    for piece in text.split(","):
        if not piece.strip():
            raise UserError(f"--over {row.name}={text}: a value is missing", remedy=f"write --over {row.name}=1,2,4")
        for value in _range(row, piece.strip()) if ".." in piece and row.unit != "text" else [_one(row, piece)]:
            found[value] = None
    return np.array(list(found))


def _one(row: Row, text: str) -> float:
    """A value as a number; N/A is none that a plan can be swept over."""
    if ends := _DASHED.fullmatch(text.strip()) if row.unit != "text" else None:
        raise UserError(f"--over {row.name}={text} is no range", remedy=f"write --over {row.name}={ends[1]}..{ends[2]}")
    value = meant(row, text.strip())
    if value is None:
        raise UserError(f"--over {row.name}={text}: N/A is no value", remedy="name numbers, or a range such as 1..8")
    return code(value) if isinstance(value, str) else value


def _range(row: Row, text: str) -> list[float]:
    first_text, _, rest = text.partition("..")
    powers = _POWER.fullmatch(first_text), _POWER.fullmatch(rest)
    stepped = _STEPPED.fullmatch(rest)
    sign, by = ("*", powers[0]["base"]) if powers[0] and powers[1] else ("+", "1")
    if not (powers[0] and powers[1] and powers[0]["base"] == powers[1]["base"]):
        sign, by = (stepped["sign"], stepped["by"]) if stepped else ("", "")
        rest = stepped["last"] if stepped else rest
    first, last = _one(row, first_text), _one(row, rest)
    if last < first:
        raise UserError(f"--over {row.name}={text}: the range ends before it begins", remedy="write the smaller first")
    if not sign and not (is_whole(row) and first == int(first)):
        remedy = f"write {first_text}..{rest}+STEP, or *FACTOR"
        raise UserError(f"--over {row.name}={text}: {row.name} is no count, and the step is not given", remedy=remedy)
    factor = float(by) if sign == "*" and _is_number(by) else None
    step = meant(row, by) if sign == "+" else 1.0
    if (sign == "*" and (factor is None or factor <= 1 or first <= 0)) or not isinstance(step, float) or step <= 0:
        remedy = "write a factor above 1 from a number above 0, or a step above 0"
        raise UserError(f"--over {row.name}={text}: the range has no end", remedy=remedy)
    end = last * (1 + NEAR)
    count = math.log(end / first) / math.log(factor) + 1 if factor else (end - first) / step + 1
    if count > MOST:
        raise UserError(f"--over {row.name}={text}: more than {MOST:,} values", remedy="name fewer, or a wider step")
    each = np.arange(int(count))
    found = first * factor**each if factor else first + step * each
    fault = limits(row).fault(float(found[-1]))
    if fault:
        raise UserError(f"--over {row.name}={text}: {fault}")
    return [float(value) for value in found]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


_LITERAL = re.compile(
    r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:\s*[A-Za-z$\u00b5\u03bc]+(?:/[A-Za-z]+(?!\w))*(?![\w(]))?"
)
_TEXT = re.compile(r'"[^"]*"')


def with_conditions(template: Template, wheres: Sequence[str]) -> tuple[Template, list[str]]:
    """The template with a row for each condition, which is 1 where it holds, and the names of these rows.

    Raises UserError for a fault of the text, a name that the template hasn't, and units that don't agree.
    """
    rows, names = list(template.rows), []
    for number, text in enumerate(wheres, 1):
        made = _Condition(template, text, f"where_{number}").rows()
        rows += made
        names.append(made[-1].name)
    return replace(template, rows=tuple(rows)), names


class _Condition:
    def __init__(self, template: Template, text: str, name: str) -> None:
        self.template, self.text, self.name = template, text, name
        self.literals: dict[str, str] = {}
        self.units = {row.name: parse_unit(row.unit) for row in template.rows}

    def rows(self) -> list[Row]:
        """A constant for each number that has a unit, and the condition itself."""
        try:
            marked = self._marked()
            parse(marked, cells=True)  # a fault is told as it stands in the text, and not in the IF about it
            formula = self._parsed(marked)
            constants = {name: row for each in walk(formula.root) if isinstance(each, Binary)
                         for name, row in self._compared(formula, each)}  # fmt: skip
            kept = {name: name if name in constants else text for name, text in self.literals.items()}
            if loose := next((text for name, text in kept.items() if name != text and not _is_plain(text)), None):
                raise UserError(f"--where {self.text!r}: {loose} stands alone on no side of a comparison")
            final = self._parsed(formula.substitute(lambda name: kept.get(name, name)))
            self.units |= {name: parse_unit(row.unit) for name, row in constants.items()}
            unit_of(final, self.units)
        except FormulaError as error:
            raise UserError(f"--where {self.text!r}: {error.what}", remedy=error.remedy) from None
        return [*constants.values(), Row(self.name, self.text, "1", "calc", final.text)]

    def _marked(self) -> str:
        """The text with a name in the place of each number outside quotes."""

        def mark(match: re.Match[str]) -> str:
            name = f"{self.name}_number_{len(self.literals) + 1}"
            self.literals[name] = match[0]
            return name

        pieces, at = [], 0
        for quoted in _TEXT.finditer(self.text):
            pieces += [_LITERAL.sub(mark, self.text[at : quoted.start()]), quoted[0]]
            at = quoted.end()
        return "".join([*pieces, _LITERAL.sub(mark, self.text[at:])])

    def _parsed(self, text: str) -> Formula:
        formula = parse(text if text.startswith("IF(") and text.endswith(",1,0)") else f"IF({text},1,0)")
        for name in formula.names:
            if name not in self.literals:
                self.template.row(name)
        return formula

    def _compared(self, formula: Formula, node: Binary) -> list[tuple[str, Row]]:
        """The constant that a number alone on one side of a comparison is."""
        if node.op not in COMPARISONS:
            return []
        found = []
        for one, other in ((node.left, node.right), (node.right, node.left)):
            one = one.operand if isinstance(one, Unary) and one.op == "()" else one
            if isinstance(one, Name) and one.name in self.literals:
                side = parse(formula.of(other))
                plain = {name: ONE for name in side.names if _is_plain(self.literals.get(name, ""))}
                if (self.literals.keys() & set(side.names)) - plain.keys():
                    continue
                unit = str(unit_of(side, self.units | plain) or "1")
                text = self.literals[one.name]
                try:
                    value = typed_numbers.read(text, unit)
                except UserError as error:
                    raise UserError(f"--where {self.text!r}: {error.what}", remedy=error.remedy) from None
                found.append((one.name, Row(one.name, text, unit, "constant", repr(value))))
        return found


def _is_plain(text: str) -> bool:
    return typed_numbers.PLAIN.fullmatch(text) is not None
