"""Formulas of the grammar at random, and what each engine makes of them."""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import formualizer
import numpy as np
import openpyxl
from openpyxl.utils import get_column_letter

from planner.formulas.arrays import Arithmetic
from planner.formulas.evaluation import code, compiled
from planner.formulas.text import parse

NEAR = 1e-9  # numbers nearer than this, and not equal, are left to the table of measured edge cases
CANCELLED = 1e-3  # a sum that is this much less than its parts has lost digits
TOLERANCE = 1e-12

# What a number (#), a condition (?) and a text ($) may be made of. Children stand without brackets, so that
# precedence is tried wherever operators meet.
SHAPES = {
    "#": [
        "#+#", "#-#", "# * #", "#/#", "#^2", "#^#", "-#", "+#", "#%", "(#)", "( # - # )", "MIN(#,#)",
        "MAX(#, #,#)", "SUM(#,#,#)", "ABS(#)", "SQRT(#)", "LOG(#,2)", "LOG(#,#)", "EXP(#)", "ROUND(#,0)",
        "ROUND(#,2)", "ROUNDUP(#,0)", "ROUNDUP(LOG(#,2),0)", "ROUNDDOWN(#,0)", "ROUNDDOWN(#,-1)",
        "IF(?,#,#)", "IF(?, #, NA())",
    ],
    "?": ["#<#", "#<=#", "#>#", "#>=#", "#=#", "#<>#", "$=$", "$<>$", "AND(?,?)", "OR(?, ?)", "NOT(?)", "(?)", "#"],
    "$": ["kind", '"bf16"', '"Int8"'],
}  # fmt: skip
LEAVES = {
    "#": ["alpha", "beta", "gamma_2", "alpha", "beta", "gamma_2", "0", "1", "2", "0.5", "10", "1e3", "3."],
    "?": ["alpha>beta", "gamma_2=1", "alpha", 'kind="bf16"', "NOT(beta<0)"],
    "$": SHAPES["$"],
}
# The names' values, one scenario a row: exact powers, near-integers, negatives, texts, and N/A.
_TRIED = [0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -8.0, 10.0, 1000.0, 2.0**29, 1e12, 1 / 3, 0.1, 0.3, 2.5,
          1 - 2.0**-53, 3 + 2.0**-51, 29.000000000000004, 1e-6, None]  # fmt: skip
_TEXTS = ["bf16", "BF16", "int8", None]
Table = Mapping[str, Sequence[float | str | None]]


def formula(pick: Callable[[Sequence[str]], str], depth: int = 3, mark: str = "#") -> str:
    """A formula of the grammar; `pick` chooses from a list."""
    shape = pick(SHAPES[mark] if depth else LEAVES[mark])
    return re.sub(r"[#?$]", lambda found: formula(pick, depth - 1, found.group()), shape) if depth else shape


def sample(count: int, seed: int) -> list[str]:
    """So many different formulas, always the same ones for a seed."""
    rng = random.Random(seed)
    drawn = (formula(rng.choice, rng.choice((1, 2, 3))) for _ in itertools.count())
    found: dict[str, None] = {}
    while len(found) < count:
        found[next(drawn)] = None
    return list(found)


def scenarios(count: int, seed: int) -> Table:
    """Values of the names for so many scenarios, always the same ones for a seed."""
    rng = random.Random(seed)
    table: Table = {name: [rng.choice(_TRIED) for _ in range(count)] for name in ("alpha", "beta", "gamma_2")}
    return {**table, "kind": [rng.choice(_TEXTS) for _ in range(count)]}


def encoded(table: Table) -> dict[str, np.ndarray]:
    """The table as arrays: NaN for N/A, codes for texts."""

    def number(value: float | str | None) -> float:
        return code(value) if isinstance(value, str) else np.nan if value is None else value

    return {name: np.array([number(value) for value in values]) for name, values in table.items()}


class Cautious(Arithmetic):
    """Numpy's arithmetic that marks as `delicate` what hangs on the last digits, where engines part company."""

    def __init__(self) -> None:
        super().__init__(np)
        self.delicate: np.ndarray | bool = False
        self._inexact = False  # once a logarithm is met, a difference of exactly 0 is luck
        minus, total = self.operators["-"], self.functions["SUM"]
        self.operators["-"] = lambda a, b: self._cancelled(minus(a, b), a, b)
        self.functions["SUM"] = lambda *parts: self._cancelled(total(*parts), *parts)

    def add(self, a, b):
        return self._cancelled(super().add(a, b), a, b)

    def power(self, a, b):
        result = super().power(a, b)
        self._mark((a < 0) & ((b != np.rint(b)) | self._inexact))
        self._mark(((a == 0) & (b == 0)) | ((a != 0) & (result == 0)))
        return result

    def log(self, a, base):
        for number in (a, base):
            self._mark((np.abs(number - 1) < CANCELLED) & ((number != 1) | self._inexact))
        self._inexact = True
        return super().log(a, base)

    def _cancelled(self, result, *parts):
        small = np.abs(result) < CANCELLED * functools.reduce(np.maximum, map(np.abs, parts))
        self._mark(small & ((result != 0) | self._inexact))
        return result

    def _equal(self, a, b):
        self._mark((a != b) & (np.abs(a - b) <= NEAR * np.maximum(np.abs(a), np.abs(b))))
        return super()._equal(a, b)

    def _rounded(self, a, digits, whole):
        scaled = np.abs(a) * 10.0**digits
        near = np.rint(2 * scaled) / 2
        self._mark((scaled != near) & (np.abs(scaled - near) <= NEAR * scaled))
        self._mark((scaled > 1e11) & (scaled != np.rint(scaled)))
        return super()._rounded(a, digits, whole)

    def _finite(self, a):
        self._mark((a != 0) & (np.abs(a) < 1e-290))
        return super()._finite(a)

    def _mark(self, where) -> None:
        self.delicate = self.delicate | where


def by_numpy(formulas: Sequence[str], table: Table) -> tuple[np.ndarray, np.ndarray]:
    """The value of each formula in each scenario, and whether it is delicate."""
    arrays, values, delicate = encoded(table), [], []
    shape = len(table["kind"])
    for text in formulas:
        arithmetic = Cautious()
        with np.errstate(all="ignore"):
            values.append(np.broadcast_to(compiled(parse(text).root, arithmetic)(arrays), shape))
        delicate.append(np.broadcast_to(arithmetic.delicate, shape))
    return np.array(values), np.array(delicate)


def by_jax(formulas: Sequence[str], table: Table) -> np.ndarray:
    """The same, compiled by JAX in float64."""
    import jax
    import jax.numpy as jnp

    def every(arrays):
        return [compiled(parse(text).root, Arithmetic(jnp))(arrays) for text in formulas]

    with jax.enable_x64(True), np.errstate(all="ignore"):
        values = jax.jit(every)(encoded(table))
    return np.array([np.broadcast_to(np.asarray(value), len(table["kind"])) for value in values])


def by_formualizer(formulas: Sequence[str], table: Table) -> np.ndarray:
    """The same, by formualizer: a scenario a row, a name or a formula a column."""
    book = formualizer.Workbook()
    book.add_sheet("S")
    for row, column, content in _cells(formulas, table):
        if isinstance(content, str) and content.startswith("="):
            book.set_formula("S", row, column, content)
        else:
            book.set_value("S", row, column, content)
    book.evaluate_all()
    return _answers(formulas, table, lambda row, column: book.get_value("S", row, column))


def by_libreoffice(formulas: Sequence[str], table: Table, tmp: Path) -> np.ndarray:
    """The same, by LibreOffice."""
    from tests.libreoffice import recalculated

    book = openpyxl.Workbook()
    book.active.title = "S"
    for row, column, content in _cells(formulas, table):
        book.active.cell(row, column).value = content
    book.save(tmp / "formulas.xlsx")
    cells = recalculated(tmp / "formulas.xlsx", tmp)["S"]
    return _answers(formulas, table, lambda row, column: cells.get(f"{get_column_letter(column)}{row}"))


def _cells(formulas: Sequence[str], table: Table):
    """(row, column, content) of each cell; N/A is the formula =NA()."""
    names, parsed = list(table), [parse(text) for text in formulas]
    for index in range(len(table["kind"])):
        row = index + 1
        for column, name in enumerate(names, 1):
            yield row, column, "=NA()" if table[name][index] is None else table[name][index]
        addresses = {name: f"${get_column_letter(column)}{row}" for column, name in enumerate(names, 1)}
        for column, formula in enumerate(parsed, len(names) + 1):
            yield row, column, "=" + formula.substitute(addresses)


def _answers(formulas: Sequence[str], table: Table, value_at: Callable[[int, int], object]) -> np.ndarray:
    """The formulas' values as an array; any error is N/A."""

    def number(value: object) -> float:
        return float(value) if isinstance(value, (int, float)) else np.nan

    rows, columns = range(1, len(table["kind"]) + 1), range(len(table) + 1, len(table) + len(formulas) + 1)
    return np.array([[number(value_at(row, column)) for row in rows] for column in columns])


def differences(
    formulas: Sequence[str], table: Table, ours: np.ndarray, theirs: np.ndarray, leave_out: np.ndarray | bool = False
) -> list[str]:
    """What two engines disagree on, in words."""
    alike = np.isclose(ours, theirs, rtol=TOLERANCE, atol=0, equal_nan=True)
    return [
        f"{formulas[at]} with { {name: values[scenario] for name, values in table.items()} }: "
        f"{ours[at, scenario]!r}, not {theirs[at, scenario]!r}"
        for at, scenario in np.argwhere(~(alike | leave_out))
    ]
