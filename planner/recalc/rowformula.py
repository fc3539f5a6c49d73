"""A formula as a function of its row: what the engine gives for it, where there is no doubt about that.

Most formulas of a table read cells of their own row and fixed ones elsewhere. Thousands of rows then share one
function, which costs a hundredth of what the engine takes to load them. Whatever is not certain raises `UnsureError`,
and the row is left to the engine: a function that isn't known, a text in arithmetic, a division by zero, numbers that
are all but equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.recalc import operators as ops
from planner.recalc.likerows import OWN_ROW
from planner.recalc.operators import UnsureError
from planner.recalc.scope import TOKEN, unescaped
from planner.xlsx.address import Area, column_number
from planner.xlsx.cellvalue import Value
from planner.xlsx.sheetname import unquoted

Row = Mapping[int, Value]  # column -> what stands there; N/A is NaN
Function = Callable[[Row], Value]
Fixed = Callable[
    [str, Area], list[list[Value]]
]  # sheet and area -> its cells, row by row; UnsureError where they may change


@dataclass
class RowFormula:
    """What a formula gives in a row, and the columns of its row that it reads."""

    value: Function
    reads: set[int] = field(default_factory=set)


@dataclass
class _Token:
    kind: str
    text: str
    reference: Mapping[str, str | None] | None = None


def row_formula(pattern: bytes, row: int, sheet: str, fixed: Fixed) -> RowFormula | None:
    """The function of a formula in `sheet`; None where it isn't known how to compute it.

    In `pattern`, as the file has it, `OWN_ROW` stands for the number of its row. The function serves every row with
    this pattern, unless `is_shared` says that the number is a part of something else.
    """
    own = OWN_ROW.decode()
    if not is_shared(pattern, sheet):
        pattern, own = pattern.replace(OWN_ROW, b"%d" % row), str(row)
    try:
        return _Parser(unescaped(pattern), own, sheet, fixed).formula()
    except (UnsureError, IndexError, KeyError, ValueError):
        return None


def is_shared(pattern: bytes, sheet: str) -> bool:
    """Whether the number of the row stands in the pattern only as that of references to cells of the row itself."""
    try:
        tokens = _tokens(unescaped(pattern))
    except UnsureError:
        return False
    own = OWN_ROW.decode()
    for token in tokens:
        if own not in token.text:
            continue
        if token.reference is None or (token.reference["sheet"] or sheet) != sheet:
            return False
        if any(own in row and row != own for row in (token.reference["top"] or "", token.reference["bottom"] or "")):
            return False
    return True


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise UnsureError
        at = match.end()
        groups = match.groupdict()
        kind = next((name for name in ("text", "function", "logical", "number", "error") if groups[name]), "operator")
        if groups["left"] or groups["first"]:
            sheet = groups["sheet"]
            groups["sheet"] = None if sheet is None else unquoted(sheet)
            found.append(_Token("reference", match[0], groups))
        elif not match[0].isspace():
            found.append(_Token(kind, match[0]))
    joined: list[_Token] = []
    for token in found:  # the characters of <= and the like come one by one
        if joined and joined[-1].text + token.text in ("<=", ">=", "<>"):
            joined[-1] = _Token("operator", joined[-1].text + token.text)
        else:
            joined.append(token)
    return [*joined, _Token("end", "")]


LEVELS = (("=", "<>", "<", ">", "<=", ">="), ("&",), ("+", "-"), ("*", "/"), ("^",))


class _Parser:
    """Recursive descent over Excel's levels of precedence; UnsureError for what it doesn't know.

    `own` is how the number of the formula's own row is written.
    """

    def __init__(self, text: str, own: str, sheet: str, fixed: Fixed) -> None:
        self.tokens, self.at = _tokens(text), 0
        self.own, self.sheet, self.fixed = own, sheet, fixed
        self.reads: set[int] = set()

    def formula(self) -> RowFormula:
        value = self.level(0)
        if self.tokens[self.at].kind != "end":
            raise UnsureError
        return RowFormula(value, self.reads)

    def take(self, *texts: str) -> str:
        token = self.tokens[self.at]
        if token.kind == "operator" and token.text in texts:
            self.at += 1
            return token.text
        return ""

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise UnsureError

    def level(self, number: int) -> Function:
        if number == len(LEVELS):
            return self.signed()
        left = self.level(number + 1)
        while operator := self.take(*LEVELS[number]):
            left = _binary(ops.OPERATORS[operator], left, self.level(number + 1))
        return left

    def signed(self) -> Function:
        if sign := self.take("+", "-"):
            inner = self.signed()
            return inner if sign == "+" else (lambda row: ops.subtract(0.0, inner(row)))
        value = self.primary()
        while self.take("%"):
            value = _binary(ops.divide, value, lambda _: 100.0)
        return value

    def primary(self) -> Function:
        if self.take("("):
            inner = self.level(0)
            self.expect(")")
            return inner
        token = self.tokens[self.at]
        self.at += 1
        match token.kind:
            case "number":
                number = float(token.text)
                return lambda _: number
            case "text":
                text = token.text[1:-1].replace('""', '"')
                return lambda _: text
            case "logical":
                truth = token.text == "TRUE"
                return lambda _: truth
            case "reference":
                return self.reference(token)
            case "function":
                return self.call(token.text[:-1])
        raise UnsureError

    def reference(self, token: _Token) -> Function:
        on, area, is_own = self.area(token)
        if area.top != area.bottom or area.left != area.right:
            raise UnsureError
        if is_own:
            column = area.left
            self.reads.add(column)
            return lambda row: row[column]
        value = self.fixed(on, area)[0][0]
        return lambda _: value

    def area(self, token: _Token) -> tuple[str, Area, bool]:
        """The sheet and the cells that a reference means; and whether they are those of the formula's own row, 0."""
        assert token.reference is not None
        part = token.reference
        if not part["left"]:
            raise UnsureError  # whole columns
        on = part["sheet"] or self.sheet
        top, bottom = part["top"] or "", part["bottom"] or part["top"] or ""
        is_own = on == self.sheet and top == bottom == self.own
        if not is_own and OWN_ROW.decode() in (top, bottom):
            raise UnsureError  # from a fixed row to the formula's own
        rows = (0, 0) if is_own else (int(top), int(bottom))
        columns = column_number(part["left"]), column_number(part["right"] or part["left"])
        return on, Area(min(rows), min(columns), max(rows), max(columns)), is_own

    def call(self, name: str) -> Function:
        if name in ("INDEX", "MATCH"):
            return self.lookup(name)
        arguments = []
        if not self.take(")"):
            arguments.append(self.level(0))
            while self.take(","):
                arguments.append(self.level(0))
            self.expect(")")
        return ops.function(name, arguments)

    def lookup(self, name: str) -> Function:
        """INDEX of fixed cells, and MATCH among them, exactly."""
        wanted: Function = lambda _: None  # noqa: E731
        if name == "MATCH":
            wanted = self.level(0)
            self.expect(",")
        token = self.tokens[self.at]
        self.at += 1
        if token.kind != "reference":
            raise UnsureError
        on, area, is_own = self.area(token)
        if is_own:
            raise UnsureError
        cells, places = self.fixed(on, area), []
        while self.take(","):
            places.append(self.level(0))
        self.expect(")")
        if name == "INDEX" and len(places) in (1, 2):
            return ops.index(cells, places)
        if name == "MATCH" and len(places) == 1 and places[0]({}) == 0.0 and 1 in (len(cells), len(cells[0])):
            return ops.match([value for line in cells for value in line], wanted)
        raise UnsureError


def _binary(operator: Callable[[Value, Value], Value], left: Function, right: Function) -> Function:
    return lambda row: operator(left(row), right(row))
