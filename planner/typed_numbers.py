"""Parses numbers as people type them: `10ms`, `8k`, `96GiB`, `600TFLOP/s`, `8*128*8192`, `2^20`, `40%`.

Numbers, parentheses and + - * / ^ with a spreadsheet's precedence; a unit may follow a number, a parenthesis or the
whole: `8*80GB`, `3/4 GB`. A number without a unit is in the template's. If bytes are impossible, B is a billion: `200B
tokens`. Decimals are computed exactly and rounded once, so that 3ms is exactly the float 0.003.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fractions import Fraction
from math import isinf
from typing import NamedTuple

from planner import progress
from planner.errors import UserError
from planner.scaled_units import Powers, combined, converted, is_scale, parsed

PLAIN = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
LONGEST, DEEPEST = 120, 12  # most characters and nested parentheses of a typed number
_MOST_DIGITS = 400  # largest decimal exponent: beyond it a float is 0 or infinite
_MOST_BITS = 1 << 14  # bits of a power's result
_WHOLE = 1e15  # whole numbers below this are shown in full
_SYMBOL = "[A-Za-z\u00b5\u03bc$%]+"
_TOKEN = re.compile(
    rf"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<unit>{_SYMBOL}(?:\s+{_SYMBOL})?(?:\s*[*/]\s*{_SYMBOL})*)|(?P<op>[-+*/^()])|(?P<space>\s+)"
)
_SEPARATED = re.compile("[0-9][,'_ \u00a0\u202f][0-9]")
_BILLIONS = re.compile(r"(?<=[0-9.])\s*B(?![A-Za-z])")
_SUCH_AS = (("byte", "GB"), ("FLOP", "TFLOP"), ("USD", "$"), ("s", "ms"))


class _Quantity(NamedTuple):
    """A number in SI with the powers of its symbols; `size` is the factor of the unit directly behind it."""

    number: Fraction
    powers: Powers = ()
    size: Fraction | None = None


def read(text: str, unit: str) -> float:
    """The number in a text, in a template's `unit`: `10ms` is 0.01 for s.

    Raises UserError, with what to write instead, for text that isn't a number and for a unit of another quantity.
    """
    text = text.strip()
    if PLAIN.fullmatch(text):
        if isinf(float(text)):
            raise UserError(f"{text!r} is too large: not a finite number", remedy="write N/A for a missing number")
        return float(text)
    if _SEPARATED.search(text) or not any("0" <= each <= "9" for each in text):
        raise _no_number(text, unit)
    if len(text) > LONGEST or text.count("(") > DEEPEST:
        raise UserError(f"{text[:20]!r}... is too long for a number", remedy="work it out, and type what it comes to")
    try:
        return _value(text, unit)
    except ValueError as error:
        if unit == "1" and (billions := _BILLIONS.sub("G", text)) != text:
            with suppress(ValueError, ArithmeticError):
                return _value(billions, unit)
        what, _, remedy = str(error).partition("; ")
        raise UserError(
            what, remedy=remedy or _completed(text, unit) or f"write a number in {_such_as(unit)}"
        ) from None
    except (OverflowError, ZeroDivisionError) as error:
        what = "divides by 0" if isinstance(error, ZeroDivisionError) else "is too large"
        raise UserError(f"{text!r} {what}") from None


def _value(text: str, unit: str) -> float:
    """The number in a text, in `unit`; without a unit of its own it is taken to be in `unit`. Raises ValueError."""
    quantity, units = _Parser(text, unit).whole(), _units_of(text)
    if not quantity.powers and all(is_scale(each) for each in units):
        return float(quantity.number)
    return float(quantity.number * converted(quantity.powers, unit, ", ".join(units) or text))


def _completed(text: str, unit: str) -> str:
    """The text completed with a missing rest of the unit, such as `2.5USD/h`; blank if that isn't a number either."""
    rest = unit.partition("/")[2].removesuffix("chip").rstrip("/")
    try:
        _value(f"{text}/{rest}", unit)
    except (ArithmeticError, ValueError):
        return ""
    return f"write {text}/{rest}"


def is_scaled(text: str) -> bool:
    """Whether a number was typed with a unit or arithmetic."""
    return PLAIN.fullmatch(text.strip()) is None


def echo(name: str, text: str, unit: str, value: float, file: str = "") -> None:
    """Record a remark on how a number was read that wasn't typed as a plain one; `file` names the file that has it."""
    if is_scaled(text):
        progress.remark(f"{name} = {text}, read as {said(value, unit)}", file)


def said(value: float, unit: str) -> str:
    """A number in full precision with its unit: `103,079,215,104 byte/chip`."""
    number = f"{value:,.0f}" if value == int(value) and abs(value) < _WHOLE else f"{value:.15g}"
    return number if unit == "1" else f"{number} {unit}"


def _no_number(text: str, unit: str) -> UserError:
    remedy = f"write a number in {_such_as(unit)}"
    if _SEPARATED.search(text):
        remedy = "write a point for decimals and no thousands separators"
    return UserError(f"{text!r} is no number", remedy=remedy)


def _such_as(unit: str) -> str:
    """A unit with an example of a number: `byte/s, such as 80GB/s`."""
    return "plain digits, such as 0.5, 8k, 70B or 1e12" if unit == "1" else f"{unit}, such as {such_as(unit)}"


def such_as(unit: str) -> str:
    """An example of a number in a unit: `80GB/s`, `8k`."""
    for symbol, scaled in _SUCH_AS:
        if re.match(rf"{symbol}\b", unit):
            return f"{2 if symbol == 'USD' else 80}{scaled}{unit.removeprefix(symbol).removesuffix('/chip')}"
    return "8k"


def _units_of(text: str) -> list[str]:
    """The units in a text, as written."""
    return list(dict.fromkeys(match["unit"] for match in _TOKEN.finditer(text) if match["unit"]))


class _Parser:
    """A recursive-descent parser with a method for each level of precedence.

    Raises ValueError naming the offending part.
    """

    def __init__(self, text: str, unit: str) -> None:
        self.text, self.unit, self.tokens, self.at = text, unit, list[tuple[str, str]](), 0
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"{text[at]!r} has no place in a number")
            if match.lastgroup != "space":
                self.tokens.append((match.lastgroup or "", match[0]))
            at = match.end()

    def take(self, *wanted: str) -> str:
        """The next token if it is one of these operators or kinds, else nothing."""
        if self.at < len(self.tokens):
            kind, text = self.tokens[self.at]
            if text in wanted or kind in wanted:
                self.at += 1
                return text
        return ""

    def whole(self) -> _Quantity:
        quantity = self.sum()
        if self.at < len(self.tokens):
            raise ValueError(f"{self.tokens[self.at][1]!r} is unexpected in {self.text!r}")
        return quantity

    def sum(self) -> _Quantity:
        left = self.product()
        while op := self.take("+", "-"):
            right = self.product()
            if left.powers != right.powers:
                raise ValueError(f"{self.text!r} adds what is of different units; give each number its unit")
            left = _Quantity(left.number + right.number if op == "+" else left.number - right.number, left.powers)
        return left

    def product(self) -> _Quantity:
        left = self.power()
        while op := self.take("*", "/"):
            unit = self.take("unit")  # tokens/s, 1/s
            right = _of(Fraction(1), unit) if unit else self.power()
            if op == "/" and right.size is not None and not unit and not left.powers and self.is_wanted(right.powers):
                number, powers = left.number / (right.number / right.size) * right.size, right.powers  # 3/4 GB
            else:
                sign = 1 if op == "*" else -1
                number, powers = left.number * right.number**sign, combined(left.powers, right.powers, sign)
            left = _Quantity(number, powers)
        return left

    def is_wanted(self, powers: Powers) -> bool:
        """Whether a quantity with these powers can have the wanted unit."""
        try:
            return bool(converted(powers, self.unit, ""))
        except ValueError:
            return False

    def power(self) -> _Quantity:
        base = self.signed()
        while self.take("^"):
            exponent = self.signed()
            if base.powers or exponent.powers or exponent.number.denominator != 1:
                raise ValueError(f"{self.text!r}: a power is of plain numbers, to a whole one; write 2^20")
            bits = base.number.numerator.bit_length() + base.number.denominator.bit_length()
            if bits * abs(exponent.number) > _MOST_BITS:
                raise OverflowError
            base = _Quantity(base.number ** int(exponent.number))
        return base

    def signed(self) -> _Quantity:
        sign = 1
        while op := self.take("+", "-"):
            sign = -sign if op == "-" else sign
        quantity = self.primary()
        return quantity._replace(number=sign * quantity.number)

    def primary(self) -> _Quantity:
        before = self.take("$")
        if self.take("("):
            quantity = self.sum()
            if not self.take(")"):
                raise ValueError(f"{self.text!r} lacks a closing bracket")
            number = quantity.number
            if quantity.powers:
                return quantity
        elif digits := self.take("number"):
            if abs(int(re.split("[eE]", digits + "e0")[1])) > _MOST_DIGITS:
                raise OverflowError
            number = Fraction(digits)
        else:
            found = repr(self.tokens[self.at][1]) if self.at < len(self.tokens) else "the end"
            raise ValueError(f"a number is wanted before {found} in {self.text!r}")
        if not before:
            return _of(number, self.take("unit"))
        scale = self.take("unit")  # $2 million
        if scale and not is_scale(scale):
            raise ValueError(f"{scale!r} is unexpected in {self.text!r}")
        return _of(number * (parsed(scale)[0] if scale else 1), before)


def _of(number: Fraction, unit: str) -> _Quantity:
    """A number times a unit, which may be blank."""
    if not unit:
        return _Quantity(number)
    size, powers = parsed(unit)
    return _Quantity(number * size, powers, size)
