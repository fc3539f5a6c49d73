"""What the workbook, the report and the command line lead with, of which templates/dashboard.csv is the only home."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.formulas import library
from planner.formulas.headlines import better, bounds, fit, headline_template, headlines, leaders, leading, memory_check
from planner.formulas.solving import parse_target
from planner.formulas.text import parse

LEADING = ["training", "inference", "collectives", "matmul", "fleet", "goodput"]


@pytest.mark.parametrize("name", LEADING)
def test_what_leads_has_its_range_and_bound(name: str) -> None:
    """What calc and the report lead with stands on Dashboard too, each number with least, most, and bound."""
    template = library.load(name)
    led = leading(name, template.by_name)
    assert list(leaders()) == LEADING
    assert leaders()[name] == led[0].row.name
    assert [each for each in headlines(template) if each.label] == led
    for each in led:
        assert [row.name for row in each.range] == [f"{each.row.name}_low", f"{each.row.name}_high"]
        assert each.bound is not None
        assert {(row.unit, row.display) for row in each.rows} == {(each.row.unit, each.row.display)}


@pytest.mark.parametrize("name", LEADING)
def test_parts_are_rows_or_have_a_label(name: str) -> None:
    """Every part reads rows of the template; those of a whole plan are rows, which the workbook can draw."""
    template = library.load(name)
    for part in [part for each in headlines(template) for part in each.parts]:
        assert part.label
        assert set(parse(part.text).names) <= template.by_name.keys()
        assert part.text in template.by_name or not memory_check(name)


def test_a_whole_plan_has_a_check_of_its_memory() -> None:
    """It is a check of the template; a part of a plan, such as a collective, has none."""
    for name in ("training", "inference"):
        assert library.load(name).row(memory_check(name)).kind == "check"
    assert [memory_check(name) for name in ("collectives", "matmul", "mlp")] == ["", "", ""]


def test_a_template_that_lacks_a_row_leads_with_nothing() -> None:
    """A number is never led with without its range or its bound; Dashboard shows what there is."""
    rows = dict(library.load("training").by_name)
    for name in ("step_time_expected_low", "mfu_bound", "train_cost_expected"):
        assert leading("training", {key: row for key, row in rows.items() if key != name}) == []


def test_a_template_without_headlines_shows_its_first_outputs() -> None:
    """A template that dashboard.csv doesn't name has its outputs, without bounds; each explains itself."""
    template = library.load("chip")
    outputs = [row.name for row in template.of_kind("output")]
    assert len(outputs) > 12
    assert [each.row.name for each in headlines(template)] == outputs[:12]
    assert bounds(template) == outputs[:12]
    assert leading("chip", template.by_name) == []


def test_what_explains_a_headline_is_its_bound() -> None:
    """Of an expected number the bound is looked into for what binds; of one without a bound the number itself."""
    found = bounds(library.load("inference"))
    assert "decode_step_time" in found
    assert "memory_bytes_per_chip" in found
    assert not [name for name in found if name.endswith("_expected")]


@pytest.mark.parametrize("name", ["training", "inference", "fleet", "goodput"])
def test_a_template_of_ones_own_leads_with_the_plan_that_it_includes(name: str, tmp_path: Path) -> None:
    """It has the headlines of the outermost whole plan, whether it fits, and behind them its own outputs."""
    path = tmp_path / "board.csv"
    lines = ("name,label,unit,kind,formula,source,note", f".,Plan,,include,{name}(),,",
             "own_chips,Own chips,chip,output,n_chips,,")  # fmt: skip
    path.write_text("\n".join(lines), encoding="utf-8")
    template, shipped = library.load(path), library.load(name)
    assert headline_template(template) == name
    shown = [each.row.name for each in headlines(template)]
    assert shown == [*(each.row.name for each in headlines(shipped)), "own_chips"]
    assert fit(template) == fit(shipped)


def test_a_part_under_a_prefix_leads_nothing(tmp_path: Path) -> None:
    """A plan that is included under a prefix is a part of many: the template shows its first outputs."""
    path = tmp_path / "twice.csv"
    lines = ("name,label,unit,kind,formula,source,note", "one,One,,include,inference(),,",
             "total,Total,s,output,one_decode_step_time,,")  # fmt: skip
    path.write_text("\n".join(lines), encoding="utf-8")
    template = library.load(path)
    assert (headline_template(template), fit(template)) == ("twice", None)


@pytest.mark.parametrize(
    ("template", "name", "unit", "way", "sense"),
    [
        ("goodput", "time_between_failures", "s", "more", ">="),
        ("goodput", "checkpoint_interval", "s", "", "<="),
        ("fleet", "n_replicas", "1", "less", "<="),
        ("inference", "max_batch", "1", "more", ">="),
        ("inference", "critical_batch", "1", "", ">="),
        ("inference", "decode_step_time_bound", "s", "less", "<="),
        ("training", "mfu_expected_low", "%", "more", ">="),
        ("training", "train_cost_expected", "USD", "less", "<="),
        ("matmul", "flops", "FLOP", "", "<="),
    ],
)
def test_a_target_and_a_change_agree_on_what_is_better(
    template: str, name: str, unit: str, way: str, sense: str
) -> None:
    """A time is to be short, but that between failures long; a target `name=value` asks for the better way, and where
    neither is, for at most of a cost.
    """
    assert better(template, name, unit) == way
    assert parse_target(library.load(template), f"{name}=0.5").sense == sense
