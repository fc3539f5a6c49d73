"""The unit checker, proved on the shipped templates: systematic faults are caught, and what can't be is listed."""

from __future__ import annotations

import pytest

from planner.formulas import library
from planner.formulas.units import ONE, parse_unit
from tests.mutations import Mutation, dropped, scopes, swapped_operators, wrong_names

TEMPLATES = [name for name in library.names() if library.load(name).of_kind("calc", "output")]


@pytest.mark.parametrize("every", [50, pytest.param(1, marks=pytest.mark.slow)])
def test_wrong_units_names_are_caught(every: int) -> None:
    """Of all names replaced by one of another unit, in all templates, at least 98 % are refused; of every fiftieth too.

    What is not is a name that is only compared with 0, which takes any unit.
    """
    made = wrong_names(map(library.load, TEMPLATES), every)
    found = [(mutation, mutation.is_caught(units)) for mutation, units in made]
    missed = [mutation for mutation, caught in found if not caught]
    assert len(found) > 1000
    assert len(missed) <= 0.02 * len(found), [f"{each.row.name}: {each.what}" for each in missed][:20]
    assert all("0" in mutation.row.formula for mutation in missed), "missed although nothing is compared with 0"


@pytest.mark.parametrize("name", TEMPLATES)
def test_swapped_operators_are_caught(name: str) -> None:
    """Every * made / and the reverse, where the right operand has a unit, is refused."""
    for row, units in scopes(library.load(name)):
        for mutation in swapped_operators(row, units):
            assert mutation.is_caught(units), f"{row.name}: {mutation.what}"


@pytest.mark.parametrize("name", TEMPLATES)
def test_dropped_factors_with_a_unit_are_caught(name: str) -> None:
    """Every factor with a unit left out of its product is refused: n_chips, flop_per_mac, seconds_per_hour."""
    for row, units in scopes(library.load(name)):
        for factor in [
            each for each in row.expression.names if units[each] != ONE and units[each] != parse_unit("text")
        ]:
            for mutation in dropped(row, units, factor):
                assert mutation.is_caught(units), f"{row.name}: {mutation.what}"


def test_factor_rows_keep_units_apart() -> None:
    """Bits for bytes, FLOP for FLOP/s, per chip for total, hours for seconds: none fits where the other is meant."""
    pairs = [("bit", "byte"), ("FLOP", "FLOP/s"), ("byte/s/chip", "byte/s"), ("h", "s"), ("USD/h", "USD")]
    for one, other in pairs:
        assert parse_unit(one) != parse_unit(other)
        row = library.load("traffic").row("memory_time")
        units = {"memory_bytes": parse_unit(one), "n_chips": ONE, "hbm_bandwidth": parse_unit(other)}
        mutation = Mutation(row, "unit", f"{one} for {other}", "memory_bytes+hbm_bandwidth")
        assert mutation.is_caught(units)
