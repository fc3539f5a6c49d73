"""What the workbook, the report and the command line lead with: the same numbers, with the same bounds and parts."""

from __future__ import annotations

import pytest

from planner.formulas import library
from planner.formulas.expected import LEADS
from planner.formulas.headlines import bounds, headlines, parts
from planner.formulas.text import parse


@pytest.mark.parametrize("name", ["training", "inference", "collectives"])
def test_every_surface_leads_with_the_same_numbers(name: str) -> None:
    """What calc and the report lead with leads on Dashboard too, in the same order and with its range."""
    shown = {each.row.name: each for each in headlines(library.load(name))}
    led = [each.name for each in LEADS[name].headlines]
    assert [row for row in shown if row in led] == led
    for each in LEADS[name].headlines:
        assert [row.name for row in shown[each.name].range] == [each.low, each.high]
        bound = shown[each.name].bound
        assert bound
        if len(parse(each.bound).names) == 1:
            assert bound.name == each.bound


@pytest.mark.parametrize("name", ["training", "inference"])
def test_every_surface_makes_a_step_of_the_same_parts(name: str) -> None:
    """The parts of Dashboard's waterfall are those of the report's, in whatever order; none of collectives."""
    template = library.load(name)
    told = dict(reversed(LEADS[name].made[0].parts))  # the first of each label
    assert {row.name for row in parts(template)} == set(told.values())
    assert parts(library.load("collectives")) == []


def test_a_template_without_headlines_shows_its_first_outputs() -> None:
    """A template that dashboard.csv doesn't name has its outputs, without bounds; each explains itself."""
    template = library.load("matmul")
    outputs = [row.name for row in template.of_kind("output")]
    assert [each.row.name for each in headlines(template)] == outputs[:12]
    assert bounds(template) == outputs[:12]


def test_what_explains_a_headline_is_its_bound() -> None:
    """Of an expected number the bound is looked into for what binds; of one without a bound the number itself."""
    found = bounds(library.load("inference"))
    assert "decode_step_time" in found
    assert "memory_bytes_per_chip" in found
    assert not [name for name in found if name.endswith("_expected")]
