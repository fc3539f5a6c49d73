"""What an input may be, told from its row: the same limits on the command line and in a workbook's validation."""

from __future__ import annotations

from typing import NamedTuple

from planner.template import Row

LARGEST = 1e30  # beyond it products overflow


class Limits(NamedTuple):
    """A flag is 0 or 1; a number is not below 0, and above 0 where `is_positive`."""

    is_flag: bool
    is_positive: bool

    def fault(self, number: float) -> str:
        """What is wrong with a number, or nothing."""
        if self.is_flag:
            return "" if number in (0, 1) else "1 is yes and 0 is no"
        if number < 0 or (self.is_positive and number == 0):
            return "a number above 0 is wanted" if self.is_positive else "a number of at least 0 is wanted"
        return "" if number <= LARGEST else f"a number of at most {LARGEST:g} is wanted"


def limits(row: Row) -> Limits:
    """The limits of a row's value: what has a default above 0 is itself above 0; anything else may be 0."""
    is_flag = row.unit == "1" and row.name.startswith(("is_", "has_"))
    return Limits(is_flag, row.kind == "input" and isinstance(row.default, float) and row.default > 0)
