"""The closed grammar of a template's formula: text -> tokens -> tree -> names, cell text.

The grammar is a subset of Excel's, with Excel's precedence: a sign binds tighter than `%`, then `^`
(left-associative), then `* /`, `+ -`, and comparisons. So `-2^2` is 4 and `2^3^2` is 64.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from planner.errors import nearest

# Function name -> fewest and most arguments (None: any number).
FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "MIN": (1, None), "MAX": (1, None), "SUM": (1, None), "IF": (3, 3), "AND": (1, None), "OR": (1, None),
    "NOT": (1, 1), "ROUND": (2, 2), "ROUNDUP": (2, 2), "ROUNDDOWN": (2, 2), "SQRT": (1, 1), "LOG": (2, 2),
    "EXP": (1, 1), "ABS": (1, 1), "NA": (0, 0),
}  # fmt: skip
# Further functions in the cells that planner writes, which templates may not use.
CELL_FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "INDEX": (2, 3),
    "MATCH": (3, 3),
    "IFERROR": (2, 2),
    "ISNA": (1, 1),
}
LOGICAL = frozenset({"AND", "OR", "NOT"})
COMPARISONS = frozenset({"=", "<>", "<", ">", "<=", ">="})
# How tightly an operator between two operands binds.
_BINDS = {**dict.fromkeys(COMPARISONS, 1), "&": 2, "+": 3, "-": 3, "*": 4, "/": 4, "^": 5}
SIGNS = {
    **{"=<": "write <=", "=>": "write >=", "==": "write =", "!=": "write <>"},
    **{"&&": "write AND(one,other)", "||": "write OR(one,other)"},
}
"""The remedy for two signs that other languages have."""
DEEPEST = 100  # most levels of a tree, far fewer than Python's stack allows

_TOKEN = re.compile(
    r"""(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<text>"(?:[^"]|"")*")
      | (?P<op><>|<=|>=|[-+*/^%=<>(),&])
      | (?P<space>\s+)""",
    re.VERBOSE,
)


class FormulaError(ValueError):
    """A fault in a formula's text: `what` is wrong at character `start` (0-based), and the `remedy`."""

    def __init__(self, what: str, start: int, remedy: str = "") -> None:
        self.what, self.start, self.remedy = what, start, remedy
        super().__init__(f"{what} at character {start + 1}" + (f"; {remedy}" if remedy else ""))


@dataclass(frozen=True)
class Node:
    """A node of the tree; `start` and `end` delimit its text in the formula."""

    start: int
    end: int


@dataclass(frozen=True)
class Number(Node):
    """A number literal."""

    value: float


@dataclass(frozen=True)
class Text(Node):
    """A text literal, without its quotes."""

    value: str


@dataclass(frozen=True)
class Name(Node):
    """A machine name."""

    name: str


@dataclass(frozen=True)
class Unary(Node):
    """A prefix `+` or `-`, or a postfix `%`."""

    op: str
    operand: Node


@dataclass(frozen=True)
class Binary(Node):
    """An operator between two operands."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Call(Node):
    """A function and its arguments."""

    function: str
    args: tuple[Node, ...]


def children(node: Node) -> tuple[Node, ...]:
    """The direct children of `node`."""
    match node:
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Call(args=args):
            return args
    return ()


def walk(node: Node) -> Iterator[Node]:
    """`node` and every node below it, in reading order of their starts."""
    yield node
    for child in children(node):
        yield from walk(child)


def names_of(node: Node) -> tuple[str, ...]:
    """The names below a node, each once, in reading order."""
    return tuple(dict.fromkeys(each.name for each in walk(node) if isinstance(each, Name)))


def is_logical(node: Node) -> bool:
    """Whether the node's value is TRUE or FALSE, which is only allowed as a condition."""
    if isinstance(node, Call):
        return node.function in LOGICAL
    return isinstance(node, Binary) and node.op in COMPARISONS


@dataclass(frozen=True)
class Formula:
    """A parsed formula: its text and its tree."""

    text: str
    root: Node

    @cached_property
    def spans(self) -> list[Name]:
        """Every occurrence of a name, in reading order."""
        return [node for node in walk(self.root) if isinstance(node, Name)]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names that it reads, each once, in reading order."""
        return names_of(self.root)

    @cached_property
    def _pieces(self) -> tuple[tuple[str, str], ...]:
        """The text split at its names: (text before, name) pairs, and the rest with a blank name."""
        pieces, done = [], 0
        for node in self.spans:
            pieces.append((self.text[done : node.start], node.name))
            done = node.end
        return (*pieces, (self.text[done:], ""))

    def substitute(self, to: Mapping[str, str] | Callable[[str], str]) -> str:
        """The text with every name replaced, and nothing else: the formula of a cell."""
        replace = to if callable(to) else to.__getitem__
        return "".join([text + replace(name) if name else text for text, name in self._pieces])

    def of(self, node: Node) -> str:
        """The text of a node."""
        return self.text[node.start : node.end]


@lru_cache(maxsize=1 << 14)
def parse(text: str, *, whole_text: bool = False, cells: bool = False) -> Formula:
    """Parse a formula (without a leading `=`).

    `whole_text` allows the formula to be a single text literal, as an include's argument may be. `cells` is for a
    cell's formula with names in place of references: it may also have `CELL_FUNCTIONS`, `&`, and texts and comparisons
    anywhere. Raises FormulaError with the character at fault.
    """
    root = _Parser(text, cells).parse()
    if not (cells or (whole_text and isinstance(root, Text))):
        _check_places(root)
    return Formula(text, root)


def _check_places(root: Node) -> None:
    """Check that text literals occur only next to `=` or `<>`, and logical values only as conditions."""
    if is_logical(root):
        raise FormulaError("a comparison is no value", root.start, "write IF(..., 1, 0)")

    def visit(node: Node) -> None:
        for index, child in enumerate(children(node)):
            if isinstance(child, Text) and not (isinstance(node, Binary) and node.op in ("=", "<>")):
                raise FormulaError("text may stand only beside = or <>", child.start)
            condition = isinstance(node, Call) and (node.function in LOGICAL or (node.function == "IF" and index == 0))
            if is_logical(child) and not condition:
                raise FormulaError("a comparison is no value", child.start, "write IF(..., 1, 0)")
            visit(child)

    if isinstance(root, Text):
        raise FormulaError("text may stand only beside = or <>", root.start)
    visit(root)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def _tokens(text: str, cells: bool) -> list[_Token]:
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or (match[0] == "&" and not cells):
            what = "a text without its closing quote" if text[at] == '"' else f"unexpected {text[at]!r}"
            raise FormulaError(what, at, SIGNS.get(text[at : at + 2], ""))
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(_Token(kind, match.group(), at))
        at = match.end()
    return [*tokens, _Token("end", "", len(text))]


class _Parser:
    """Recursive descent; operators between two operands are read by how tightly they bind."""

    def __init__(self, text: str, cells: bool = False) -> None:
        self.tokens = _tokens(text, cells)
        self.at = 0
        self.functions = FUNCTIONS | CELL_FUNCTIONS if cells else FUNCTIONS

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def take(self, *ops: str) -> _Token | None:
        token = self.token
        if token.kind == "op" and token.text in ops:
            self.at += 1
            return token
        return None

    def parse(self) -> Node:
        if self.token.kind == "end":
            raise FormulaError("the formula is empty", 0)
        try:
            root = self.operation()
        except RecursionError:
            raise FormulaError("the formula nests too deeply", 0, "split it into rows") from None
        if self.token.kind != "end":
            function = self.token.text.upper()
            remedy = f"write {function}(one,other)" if function in ("AND", "OR") else ""
            raise FormulaError(f"unexpected {self.token.text!r}", self.token.start, remedy)
        if _depth(root) > DEEPEST:
            raise FormulaError("the formula nests too deeply", 0, "split it into rows")
        return root

    def operation(self, least: int = 1) -> Node:
        """An operand, with the operators after it that bind at least so tightly; equal ones go from left to right."""
        left = self.percent()
        while (binds := _BINDS.get(self.token.text, 0)) >= least:
            op = self.token.text
            self.at += 1
            right = self.operation(binds + 1)
            left = Binary(left.start, right.end, op, left, right)
        return left

    def percent(self) -> Node:
        operand = self.signed()
        while token := self.take("%"):
            operand = Unary(operand.start, token.end, "%", operand)
        return operand

    def signed(self) -> Node:
        if token := self.take("+", "-"):
            operand = self.signed()
            return Unary(token.start, operand.end, token.text, operand)
        return self.primary()

    def primary(self) -> Node:
        token = self.token
        if opening := self.take("("):
            inner = self.operation()
            closing = self._expect(")")
            return _widened(inner, opening.start, closing.end)
        if token.kind in ("op", "end"):
            found = f"found {token.text!r}" if token.text else "the formula ends"
            before = self.tokens[self.at - 1].text if self.at else ""
            remedy = SIGNS.get(before + token.text, "")
            raise FormulaError(f"a number, a name or a function is wanted, {found}", token.start, remedy)
        self.at += 1
        if token.kind == "number":
            return Number(token.start, token.end, float(token.text))
        if token.kind == "text":
            return Text(token.start, token.end, token.text[1:-1].replace('""', '"'))
        if self.token.kind == "op" and self.token.text == "(":
            return self._call(token)
        return Name(token.start, token.end, token.text)

    def _call(self, name: _Token) -> Node:
        if name.text not in self.functions:
            raise FormulaError(f"unknown function {name.text}", name.start, nearest(name.text, self.functions))
        self._expect("(")
        args: list[Node] = []
        if not (closing := self.take(")")):
            args.append(self.operation())
            while self.take(","):
                args.append(self.operation())
            closing = self._expect(")")
        fewest, most = self.functions[name.text]
        if len(args) < fewest or (most is not None and len(args) > most):
            wanted = str(fewest) if fewest == most else f"{fewest} or more"
            raise FormulaError(f"{name.text} takes {wanted} arguments, not {len(args)}", name.start)
        return Call(name.start, closing.end, name.text, tuple(args))

    def _expect(self, op: str) -> _Token:
        token = self.take(op)
        if token is None:
            found = repr(self.token.text) if self.token.text else "the end"
            raise FormulaError(f"{op!r} is wanted, found {found}", self.token.start)
        return token


def _depth(root: Node) -> int:
    depth, level = 0, [root]
    while level:
        depth, level = depth + 1, [child for node in level for child in children(node)]
    return depth


def _widened(node: Node, start: int, end: int) -> Node:
    """The node with its parentheses included in its text; a bare name keeps its span for substitution."""
    if isinstance(node, Name):
        return Unary(start, end, "()", node)
    values = {name: getattr(node, name) for name in node.__dataclass_fields__}
    return type(node)(**{**values, "start": start, "end": end})
