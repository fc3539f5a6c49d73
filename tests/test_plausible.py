"""What numbers usually are, what is doubted, and that nothing of ours is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planner import progress
from planner.catalog import load_calibrations, load_dtypes, load_hardware, load_models, load_stacks
from planner.formulas import library
from planner.formulas.input_values import LOOKED_AT, is_whole, limits, values
from planner.plausible import _usual, doubt
from planner.scaled_units import parsed
from tests.catalogs import DENSE, load_csv
from tests.test_cases import MAPPED, WORKS, load, settings_of

CHIP = "id,topology,peak_bf16,hbm_bytes,hbm_bandwidth,link_bandwidth,max_chips"
UNIT_CASES = {"train_tokens = 1:", "peak_flops = 1 FLOP"}  # a source's trick: per token, or per FLOP/s


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Nothing is left to say before or after a test."""
    with progress.cleared():
        yield
    progress._forget()


@pytest.mark.parametrize(
    ("name", "unit", "value", "says"),
    [
        ("peak_bf16", "FLOP/s/chip", 600, "600 FLOP/s/chip: 600 TFLOP/s, perhaps? write 600TFLOP/s"),
        ("hbm_bandwidth", "byte/s/chip", 819, "819 byte/s/chip: 819 GB/s, perhaps? write 819GB/s"),
        ("hbm_bandwidth", "byte/s/chip", 3.35, "write 3.35TB/s"),
        ("hbm_bytes", "byte/chip", 80, "80 byte/chip: 80 GB, perhaps? write 80GB"),
        ("dcn_bandwidth", "byte/s/chip", 25, "write 25GB/s"),
        ("hop_latency", "s", 1, "1 s: 1 us, perhaps? write 1us"),
        ("clock_rate", "1/s", 1.75, "write 1.75GHz"),
        ("train_tokens", "1", 15, "write 15T"),
        ("n_chips", "chip", 0.5, "0.5 chip is no whole number; a part of a chip is meant only where"),
        ("context_len", "1", 0.5, "0.5 is no whole number; tokens are counted"),
        ("prompt_len", "1", 1e9, "1,000,000,000 is not from 1 to 100,000,000; ten times the longest context"),
        ("expert_imbalance", "1", 0.5, "0.5 is not from 1 to 50; the busiest chip has no less than the mean"),
        ("chunk_len", "1", 100.5, "100.5 is no whole number; tokens are counted"),
        ("redundant_experts", "1", 2.5, "2.5 is no whole number; copies are counted"),
        ("n_draft_tokens", "1", 1.5, "1.5 is no whole number; tokens are counted"),
        ("price_per_chip_hour", "USD/h/chip", 5000, "5,000 USD/h/chip is not from 0.01 to 1,000 USD/h/chip"),
    ],
)
def test_what_is_doubted(name: str, unit: str, value: float, says: str) -> None:
    """A number beyond what is usual, with the unit in which it would be as usual as can be, or the limits."""
    assert says in doubt(name, unit, value)


@pytest.mark.parametrize(
    ("name", "unit", "value"),
    [("peak_bf16", "FLOP/s/chip", 6e14), ("hbm_reserve_bytes", "byte/chip", 0), ("n_chips", "chip", 8),
     ("context_len", "1", 8192), ("array_bytes", "byte", 3), ("hbm_bytes", "byte", 3), ("no_such_row", "1", 1e25)],
)  # fmt: skip
def test_what_is_not_doubted(name: str, unit: str, value: float) -> None:
    """A usual number, 0, and what nothing is said of: another name, or this one in another unit."""
    assert doubt(name, unit, value) == ""


def test_a_setting_that_is_there_twice_is_told() -> None:
    """The last of two values counts, and is told with the other; the same value twice is none."""
    assert values(load("inference"), ["batch=3", "n_chips=8", "batch=5", "n_chips=8"])["batch"] == 5
    assert progress.warnings() == ["batch is set twice: 5 counts, not 3"]


def test_a_load_over_the_mean_is_no_count() -> None:
    """What has usual parts isn't counted, though its default is whole; a switch and a share are held to be one."""
    rows = {**load("fleet").by_name, **load("goodput").by_name}
    assert not any(is_whole(rows[name]) for name in ("expert_imbalance", "service_variation", "checkpoint_exposed"))
    assert all(is_whole(rows[name]) for name in ("batch", "chunk_len", "n_draft_tokens"))
    assert limits(rows["cache_by_batch"]).fault(0.3) == "1 is yes and 0 is no"
    assert limits(rows["checkpoint_exposed"]).fault(5) == "a number of at most 1 is wanted; write 5% or 0.05"


def test_the_limits_are_in_order_and_have_reasons() -> None:
    """Of each row: least, typical and most rise, the unit is known, and the reason is said."""
    for usual in _usual().values():
        assert usual.least <= usual.typical <= usual.most
        assert usual.reason
        parsed(usual.unit)


def test_each_name_is_one_of_the_templates_or_tables() -> None:
    """A limit of a name that nothing bears would hold nothing."""
    rows = {
        (row.name, row.unit) for name in library.names() for row in library.load(name).rows if row.kind in LOOKED_AT
    }
    columns = {(column.name, column.unit) for table in (load_models(), load_hardware()) for column in table.columns}
    natural = {("n_params_total_published", "1")}  # of a models CSV, read to derive another
    for name, usual in _usual().items():
        assert name == usual.unit or (name, usual.unit) in rows | columns | natural


def test_nothing_of_ours_is_doubted() -> None:
    """The shipped tables, the defaults of the templates' inputs, and the problems of the source works."""
    for read in (load_models, load_hardware, load_dtypes, load_stacks, load_calibrations):
        read()
    for name in library.names():
        for row in library.load(name).of_kind("input"):
            assert not isinstance(row.default, float) or not doubt(row.name, row.unit, row.default), row
    for case in (case for work in WORKS for case in MAPPED[work]):
        values(load(case["template"]), settings_of(case))
    doubted = [text for text in progress._State.warned if not text.startswith(tuple(UNIT_CASES))]
    assert doubted == []


def test_a_csv_is_told_with_line_and_column(tmp_path: Path) -> None:
    """A doubtful number is a warning, one with a unit is said as it was read, each once; the values are in SI."""
    rows = "a,switch,600,80,819,100GB/s,8\nb,switch,600TFLOP/s,96GiB,3.35TB/s,100GB/s,8"
    table = load_csv(tmp_path, f"{CHIP}\n{rows}", "hardware")
    assert table.row("b")["hbm_bytes"] == 96 * 2**30
    place = f"{tmp_path / 'mine.csv'}, line"
    assert f"{place} 3, column hbm_bytes: 96GiB, read as 103,079,215,104 byte/chip" in progress._State.remarked
    assert sum("column link_bandwidth" in text for text in progress._State.remarked) == 1
    assert list(progress._State.warned) == [
        f"{place} 2, column peak_bf16: 600 FLOP/s/chip: 600 TFLOP/s, perhaps? write 600TFLOP/s",
        f"{place} 2, column hbm_bytes: 80 byte/chip: 80 GB, perhaps? write 80GB",
        f"{place} 2, column hbm_bandwidth: 819 byte/s/chip: 819 GB/s, perhaps? write 819GB/s",
    ]


def test_of_very_many_the_first_are_told(tmp_path: Path) -> None:
    """A file in other units than SI is not a thousand lines."""
    rows = "\n".join(f"c{at},switch,{600 + at},96GiB,3.35TB/s,100GB/s,8" for at in range(1000))
    load_csv(tmp_path, f"{CHIP}\n{rows}", "hardware")
    assert len(progress._State.warned) < 30
    assert list(progress._State.warned)[-1].endswith("are not listed")


def test_counts_of_a_model_are_typed_alike(tmp_path: Path) -> None:
    """Arithmetic and prefixes in a models CSV give whole numbers, and a part of one is refused as before."""
    cells = DENSE | {"vocab": "128k", "d_ff": "4*64"}
    table = load_csv(tmp_path, ",".join(cells) + "\n" + ",".join(cells.values()))
    assert (table.row("tiny")["vocab"], table.row("tiny")["d_ff"]) == (128000, 256)


def test_of_many_numbers_with_a_unit_a_few_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a CSV's six numbers with a unit the first three are said as read, and how many more there are, of five all;
    what was typed beside them is said, and so is every doubt.
    """
    progress.say_warnings()
    capsys.readouterr()
    row = "a,switch,{},96GiB,3.35TB/s,100GB/s,8\nb,switch,600TFLOP/s,{},3.35TB/s,100GB/s,8"
    for peak, memory, lines in (("600e12", "80", 4), ("300TFLOP/s", "80GB", 4)):
        load_csv(tmp_path, f"{CHIP}\n{row.format(peak, memory)}", "hardware")
        progress.remark("batch = 8k, read as 8,000")
        progress.say_warnings()
        *said, typed = (line for line in capsys.readouterr().err.splitlines() if not line.startswith("Warning: "))
        assert typed == "batch = 8k, read as 8,000"
        assert len(said) == lines
        assert all(", read as " in line for line in said[:3])
    assert said[3] == f"{tmp_path / 'mine.csv'}: 3 more numbers with a unit were read likewise"
