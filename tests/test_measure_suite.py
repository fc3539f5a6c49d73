"""`planner measure --suite`: our own cases into a CSV, without a workbook; flags side by side; nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from planner.compare import comparison_cases as cases
from planner.compare import measuring
from planner.compare.case_keys import complete_key
from planner.compare.landing import latest
from planner.errors import UserError
from planner.formulas import library
from planner.measure.measurements_csv import keep_measurements, read_measurements, write_measurements
from planner.measure.records import Measurement
from planner.measure.timed_cases import Case, measure_cases
from planner.measure.timing import BRISK, Rules
from tests.commands import run

QUICK = Rules(warmup_s=0.0, sample_s=0.0, contested_s=0.0, loop_s=0.003, profiled_calls=3)
MEASURED = Measurement(case_key="k", hardware_id="tpu-v5e", t_median=1.0, status="measured")

KEYED = {
    "attention": "activation_dtype batch compute_dtype head_dim is_causal is_fused kv_dtype kv_len n_chips n_heads "
    "n_kv_heads query_len",
    "collective": "array_bytes axis_size collective exchange_fabric_share has_sharp has_wraparound hop_latency "
    "inner_ways leaf_nodes n_axes ragged_fraction routed_choices",
    "elementwise": "element_bytes is_fused n_chips n_elements n_operands n_ops",
    "host_copy": "element_bytes is_to_device n_chips n_elements",
    "matmul": "activation_dtype compute_dtype d_in d_out epilogue_passes n_chips n_matmuls output_dtype tokens "
    "weight_dtype",
    "matmul_activation": "activation_dtype compute_dtype d_in d_out is_fused n_chips n_matmuls output_dtype tokens "
    "weight_dtype",
    "mlp": "activation_dtype compute_dtype d_ff d_model mlp_matrices n_chips tokens weight_dtype",
    "sharded_matmul": "activation_dtype compute_dtype d_in d_in_ways_left d_in_ways_right d_out d_out_ways "
    "has_wraparound hop_latency inner_ways is_overlapped leaf_nodes n_axes n_chips n_matmuls output_dtype "
    "scatters_output shares_axis tokens tokens_ways weight_dtype",
    "sharded_step": "activation_dtype batch compute_dtype d_ff d_model has_sharp has_wraparound hop_latency is_causal "
    "is_training kv_dtype kv_len leaf_nodes mesh_data mesh_fsdp mesh_tensor mlp_matrices n_heads n_kv_heads n_layers "
    "qk_nope_dim query_len timed_layers vocab weight_dtype",
    "step": "activation_dtype batch compute_dtype d_ff d_model is_causal is_training kv_dtype kv_len mlp_matrices "
    "n_chips n_heads n_kv_heads n_layers qk_nope_dim query_len timed_layers vocab weight_dtype",
}
"""What the keys of cases have named since 0.2.0, by template."""


def test_every_case_of_the_suites_can_be_predicted_and_run() -> None:
    """Keys differ, both suites have cases, and the quick one is part of the full one."""
    from planner.measure.cases import workload

    full = cases.load("full")
    assert len({case.key for case in full}) == len(full)
    assert {case.key for case in cases.load("quick")} < {case.key for case in full}
    for case in full:
        if case.template.name == "host_copy":
            continue
        assert workload(case.template.name, case.inputs).array_bytes > 0, case.label


@pytest.mark.parametrize("template", sorted(cases.SHAPES))
def test_a_case_has_the_key_that_it_had(template: str) -> None:
    """The inputs of a template that is measured, in its cases' keys: those of measurements that were taken before.

    A newer one, which an include may bring unseen, would give each case another key: bind it in the include, or add it
    here and let `complete_key` find the older rows.
    """
    assert set(library.load(template).inputs({})) - {"stack"} == set(KEYED[template].split())


def test_the_course_sweep_is_there() -> None:
    """Seven sizes with their batches, as the slides have them."""
    sweep = [case.inputs for case in cases.load("full") if case.label.startswith("Course") and case.on == "accelerator"]
    assert [(case["tokens"], case["n_matmuls"]) for case in sweep] == [
        (128, 64000), (256, 16000), (512, 4000), (640, 3000), (768, 2000), (1024, 1000), (2048, 250),
    ]  # fmt: skip


@pytest.mark.slow
def test_the_suite_into_a_csv_needs_no_spreadsheet(tmp_path: Path) -> None:
    """A process of its own: one case measured, a second run updates in place, and no openpyxl or formualizer."""
    path = tmp_path / "m.csv"
    code = (
        "import sys; from planner.cli import group; group(sys.argv[1:], standalone_mode=False);"
        "assert not {'openpyxl', 'formualizer', 'pandas'} & set(sys.modules), sorted(sys.modules)"
    )
    command = [sys.executable, "-c", code, "measure", "--suite", "quick", "--case", "Matmul 128", "--csv", str(path)]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "1/1 Matmul 128 bf16: " in done.stderr
    (row,) = read_measurements(path)
    assert row.flops == 2 * 128**3
    assert row.status == "measured"


def test_an_older_time_survives_a_failure(tmp_path: Path) -> None:
    """Rows are kept by case, chip and flags; what fails now leaves what was measured before."""
    path = tmp_path / "m.csv"
    other = replace(MEASURED, case_key="other")
    write_measurements(path, [MEASURED, other])
    failed = replace(MEASURED, status="failed", reason="out of memory")
    faster = replace(MEASURED, case_key="other", t_median=0.5)
    flagged = replace(MEASURED, xla_flags="--a")
    keep_measurements(path, [failed, faster, flagged], complete_key)
    assert [(row.case_key, row.t_median, row.xla_flags) for row in read_measurements(path)] == [
        ("k", 1.0, ""), ("other", 0.5, ""), ("k", 1.0, "--a"),
    ]  # fmt: skip


def test_a_case_that_was_typed_in_another_order_is_replaced(tmp_path: Path) -> None:
    """A key means its inputs in any order: a row of one's own is the case's, and another case's stays."""
    path = tmp_path / "m.csv"
    typed = "matmul|weight_dtype=bf16,activation_dtype=bf16|tokens=8.0,d_in=4"
    written = "matmul|activation_dtype=bf16,weight_dtype=bf16|d_in=4,tokens=8"
    write_measurements(path, [replace(MEASURED, case_key=key) for key in (typed, "my own|b,a", "my|stack=b,a=1")])
    new = [replace(MEASURED, case_key=key, t_median=0.5) for key in (written, "my|stack=c,a=1")]
    keep_measurements(path, new, complete_key)
    assert [(row.case_key, row.t_median) for row in read_measurements(path)] == [
        (written, 0.5), ("my own|b,a", 1.0), ("my|stack=b,a=1", 1.0), ("my|stack=c,a=1", 0.5),
    ]  # fmt: skip


def test_a_case_of_an_older_key_is_replaced(tmp_path: Path) -> None:
    """A key that lacks an input, or has one that the template sets now, is the case's: its row is replaced.

    Where an earlier planner left both keys in the file, one row is left.
    """
    path = tmp_path / "m.csv"
    now = next(case.key for case in cases.load("quick") if case.template.name == "attention")
    older = now.replace(",n_chips=1", "")
    oldest = older.replace("|batch=", "|has_narrow_weights=0,batch=")
    assert len({now, older, oldest}) == 3
    for before in ([older], [oldest], [oldest, now]):
        write_measurements(path, [replace(MEASURED, case_key=key) for key in before])
        keep_measurements(path, [replace(MEASURED, case_key=now, t_median=0.5)], complete_key)
        assert [(row.case_key, row.t_median) for row in read_measurements(path)] == [(now, 0.5)]


def test_every_row_is_in_the_file_at_once(tmp_path: Path) -> None:
    """A process that is killed in the third case leaves two."""
    path = tmp_path / "m.csv"

    def rows() -> Iterator[Measurement]:
        yield MEASURED
        yield replace(MEASURED, case_key="second")
        assert len(read_measurements(path)) == 2
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        keep_measurements(path, rows(), complete_key)
    assert [row.case_key for row in read_measurements(path)] == ["k", "second"]


def test_what_another_process_writes_meanwhile_stays(tmp_path: Path) -> None:
    """Two that measure on one host, or hosts that share a folder, write into one file."""
    path = tmp_path / "m.csv"

    def rows() -> Iterator[Measurement]:
        yield MEASURED
        keep_measurements(path, [replace(MEASURED, case_key="theirs")], complete_key)
        yield replace(MEASURED, case_key="second")

    keep_measurements(path, rows(), complete_key)
    assert {row.case_key for row in read_measurements(path)} == {"k", "theirs", "second"}


@pytest.mark.parametrize("words", [[], ["--suite", "quick"], ["plan.xlsx", "--suite", "quick", "--csv", "m.csv"]])
def test_a_workbook_or_a_suite_with_a_csv(words: list[str]) -> None:
    """Anything else is a matter of usage."""
    done = run("measure", *words)
    assert done.exit_code == 2
    assert "give a workbook, or --suite" in done.output


def test_a_workbook_names_its_own_chips() -> None:
    """-H beside a workbook would be ignored: it is refused."""
    done = run("measure", "plan.xlsx", "-H", "tpu-v5e")
    assert done.exit_code == 2
    assert "each row names its chip" in done.output


def test_an_unknown_case_and_another_chip_are_refused() -> None:
    """With the labels that are most like it and the way to all, and with what the machine is."""
    with pytest.raises(UserError, match=r"the closest: Matmul 128 bf16, .*; planner measure --suite quick --list"):
        measuring.of_suite("quick", ["Add 4M", "Matmull 128 bf16"])
    with pytest.raises(UserError, match="this machine is no tpu-v5e"):
        measuring.of_suite("quick", [], "tpu-v5e")
    with pytest.raises(UserError, match=r'no accelerator "laptop"; .* --hardware-csv FILE reads one of your own'):
        measuring.of_suite("quick", [], "laptop")


def test_the_cases_are_listed() -> None:
    """Label and key of each that the texts mean, and nothing is measured."""
    done = run("measure", "--suite", "quick", "--list", "--case", "Add 4M", "--case", "MLP 256")
    called = {line.split("  ")[0] for line in done.output.splitlines()}
    assert called == {"Add 4M fp32", "MLP 256 x 512 x 2048"}


def test_flags_go_to_who_knows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """libtpu's to LIBTPU_INIT_ARGS, all others to XLA_FLAGS, behind what stands there."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_old=1")
    monkeypatch.delenv("LIBTPU_INIT_ARGS", raising=False)
    assert measuring.environment("--xla_tpu_a=2 --xla_b=3") == {
        "XLA_FLAGS": "--xla_old=1 --xla_b=3", "LIBTPU_INIT_ARGS": "--xla_tpu_a=2",
    }  # fmt: skip
    assert measuring.environment("") == {}


@pytest.mark.slow
def test_variants_stand_side_by_side(tmp_path: Path) -> None:
    """The same case twice, with its flags; each in a process of its own."""
    path = tmp_path / "m.csv"
    flags = ["--flags", "", "--flags", "--xla_cpu_enable_fast_math=true"]
    words = ["measure", "--suite", "quick", "--case", "Matmul 128", "--csv", str(path), *flags]
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    subprocess.run([sys.executable, "-m", "planner", *words], check=True, capture_output=True, env=environment)
    assert [row.xla_flags for row in read_measurements(path)] == ["", "--xla_cpu_enable_fast_math=true"]


def test_flags_that_stop_the_program_are_told() -> None:
    """XLA ends the process at a flag that it doesn't know."""
    with pytest.raises(UserError, match="nothing was measured under the flags '--xla_no_such=1'"):
        measuring.under_flags(["--xla_no_such=1"], ["--suite", "quick", "--case", "Matmul 128"])


@pytest.mark.slow
def test_a_step_of_many_layers_is_extrapolated_and_says_so() -> None:
    """Two of eight layers are run, and one alone; the method names it and the time is that of eight."""
    shape = {"batch": 1, "query_len": 16, "kv_len": 16, "d_model": 128, "n_heads": 4, "n_kv_heads": 2,
             "qk_nope_dim": 32, "d_ff": 512, "n_layers": 8, "timed_layers": 2}  # fmt: skip
    (row,) = measure_cases([Case("k", "step", shape, flops=1e6)], kinds={}, rules=BRISK)
    assert row.status == "measured", row.reason
    assert row.method.endswith("extrapolated from 2 of 8 layers")
    assert row.achieved_flops == pytest.approx(1e6 / row.t_median)


def test_one_case_measured_twice_counts_once() -> None:
    """The later of two; a failure never replaces a time."""
    skipped: list[tuple[str, str]] = []
    early, late = (replace(MEASURED, timestamp=f"2026-01-0{day}") for day in (1, 2))
    failed = replace(MEASURED, status="failed", timestamp="2026-01-03")
    assert latest([late, failed, early], skipped) == [late]
    assert len(skipped) == 2


@pytest.mark.slow
@pytest.mark.quiet
def test_the_quick_suite_takes_less_than_two_minutes(tmp_path: Path) -> None:
    """On a CPU host from nothing, every case measured."""
    path = tmp_path / "m.csv"
    command = [sys.executable, "-m", "planner", "measure", "--suite", "quick", "--csv", str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert {row.status for row in read_measurements(path)} == {"measured"}


@pytest.mark.slow
@pytest.mark.quiet
@pytest.mark.parametrize("size", [512, 1024, 2048])
def test_the_three_times_agree(size: int) -> None:
    """Loop, call and profile of an fp32 matmul within 20 %, in the median of five runs."""
    dtypes = {f"{role}_dtype": "fp32" for role in ("weight", "activation", "output", "compute")}
    inputs = {"tokens": size, "d_in": size, "d_out": size, **dtypes}
    rows = list(measure_cases([Case("k", "matmul", inputs)] * 5, kinds={}))
    for name in ("t_wall_call", "t_device"):
        ratios = sorted(row.t_loop / getattr(row, name) for row in rows)
        assert 0.8 <= ratios[2] <= 1.25, (name, ratios)
