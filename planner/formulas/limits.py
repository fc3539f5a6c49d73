"""What an input may be, told from its row: the same limits on the command line and in a workbook's validation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planner.formulas.template import Row

LARGEST = 1e30  # beyond it products overflow
VERBS = ("is_", "has_", "keeps_", "shares_", "scatters_")  # how the name of a yes or no begins
SWITCHES = ("axes_overlap", "kv_head_sharding")  # and those of the field's own terms
BOUNDED = frozenset({"efficiency", "mfu", "offload", "rate", "fraction"})  # of these, the inputs that are at most 1
SHARES = frozenset({"efficiency", "fraction", "share", "mfu", "offload", "rate"})  # words of a share's name
COUNTED = ("1", "chip")  # units in which things are counted
OR_ZERO = ("hop_latency", "zero_stage")  # inputs whose 0 means something, though their default is above it
STAGES = {"zero_stage": 3.0}  # inputs that name one of a few stages, from 0 to the last
PARTS = {"hbm_reserve_bytes": "hbm_bytes"}  # inputs that take a part of a whole, and leave something of it


class Limits(NamedTuple):
    """A flag is 0 or 1; a number is not below 0, above 0 where `is_positive`, and not above `most`.

    `is_stage`: one of the whole numbers from 0 to `most`.
    """

    is_flag: bool
    is_positive: bool
    most: float = LARGEST
    is_stage: bool = False

    def fault(self, number: float) -> str:
        """What is wrong with a number, or nothing."""
        if self.is_flag:
            return "" if number in (0, 1) else "1 is yes and 0 is no"
        if self.is_stage:
            fits = 0 <= number <= self.most and number == int(number)
            return "" if fits else f"a whole number from 0 to {self.most:g} is wanted"
        if number < 0 or (self.is_positive and number == 0):
            return "a number above 0 is wanted" if self.is_positive else "a number of at least 0 is wanted"
        return "" if number <= self.most else f"a number of at most {self.most:g} is wanted"


def limits(row: Row) -> Limits:
    """The limits of a row's value: what has a default above 0 is itself above 0; anything else may be 0.

    An efficiency, a rate or another such share of a plan is at most 1; one that is read off a profile may be more.
    """
    is_positive = row.kind == "input" and isinstance(row.default, float) and row.default > 0
    is_bounded = row.kind == "input" and is_share(row) and not BOUNDED.isdisjoint(row.name.split("_"))
    if row.kind == "input" and (last := stages(row.name)):
        return Limits(is_flag=False, is_positive=False, most=last, is_stage=True)
    most = 1.0 if is_bounded else LARGEST
    return Limits(is_flag(row.name, row.unit), is_positive and not row.name.endswith(OR_ZERO), most)


def stages(name: str) -> float | None:
    """The last stage, where a row of this name says one of a few."""
    return next((last for known, last in STAGES.items() if name.endswith(known)), None)


def wholes(given: Iterable[str]) -> list[str]:
    """The names of the numbers that some inputs are a part of."""
    return [PARTS[name] for name in given if name in PARTS]


def beyond(given: Iterable[str], values: Mapping[str, float | str | None]) -> str:
    """What is wrong with inputs beside other numbers, or nothing: a part that leaves nothing of its whole.

    `given` are the inputs that a user typed; `values` has those and what they are a part of, by name.
    """
    for name in given:
        part, whole = values.get(name), values.get(PARTS.get(name, ""))
        if isinstance(part, float) and isinstance(whole, float) and part >= whole:
            return f"{name}={part:,.0f}: nothing is left of {PARTS[name]}, which is {whole:,.0f}"
    return ""


def is_flag(name: str, unit: str) -> bool:
    """Whether a row of this name and unit is a yes or a no."""
    return unit == "1" and (name.startswith(VERBS) or name in SWITCHES)


def is_share(row: Row) -> bool:
    """Whether a row is a part of a whole, from 0 to 1, as an efficiency is."""
    return row.unit == "1" and not SHARES.isdisjoint(row.name.split("_"))


def is_whole(row: Row) -> bool:
    """Whether a row counts something, so that only whole numbers mean anything: chips, sequences, tokens, layers."""
    if row.unit not in COUNTED or is_share(row):
        return False
    if row.kind != "input":
        return row.kind == "model"
    return row.default is None or (isinstance(row.default, float) and row.default == int(row.default))
