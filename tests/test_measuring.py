"""`planner measure` on this host: medians land in the Comparison, and nothing else in the file changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.compare import comparison_sheet as comparison
from planner.compare import landing, measuring
from planner.compare.comparison_cases import is_meant
from planner.errors import UserError
from planner.measure import timing
from planner.xlsx.opc import Package
from tests.backfills import typed_into
from tests.commands import refused, run, untouched
from tests.workbooks import cached, write_comparison

COLLECTIVE = ["collective|array_bytes=65536,axis_size=2,collective=all_gather"]
ONLY = ("--case", "Add 4M")
QUICK = timing.Rules(warmup_s=0.0, sample_s=0.0, contested_s=0.0, loop_s=0.003, profiled_calls=3)


@pytest.mark.parametrize(
    ("text", "is_it"),
    [("4 KiB", False), ("64 KiB", True), ("64 KiB over 2", True), ("all-gather", True), ("gather", True), ("KIB", True),
     ("64 K", False), ("over 2 (data)", True), ("collective", True), ("65536", True), ("5536", False)],
)  # fmt: skip
def test_a_case_is_meant_by_whole_words(text: str, is_it: bool) -> None:
    """4 KiB is a part of `64 KiB` as letters go, and another payload."""
    assert is_meant(text, "All-gather 64 KiB over 2 (data)", COLLECTIVE) == is_it


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A small workbook as built, after a measurement of one case, and after a second one."""
    folder = tmp_path_factory.mktemp("measured")
    path, built, once = folder / "plan.xlsx", folder / "built.xlsx", folder / "once.xlsx"
    write_comparison(path)
    built.write_bytes(path.read_bytes())
    for kept in (once, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(timing, "STANDARD", QUICK)  # what becomes of the times is the same for hasty ones
            done = run("measure", path, *ONLY)
        assert done.exit_code == 0, done.output
        assert "1 row predicts tpu-v5e and was timed on cpu: flagged other_hardware" in done.output
        first = done.output.splitlines()[0]  # before minutes are spent on it
        assert first.startswith("1 row predicts tpu-v5e and this machine is cpu: times taken here are flagged")
        if kept:
            kept.write_bytes(path.read_bytes())
    return built, once, path


def case(path: Path) -> comparison.CaseRow:
    """The row of the measured case."""
    return next(row for row in comparison.find(Package.read(path)).rows if row.text("case_label") == "Add 4M fp32")


def test_the_median_and_what_follows_are_there(measured: tuple[Path, Path, Path]) -> None:
    """The row has a time, a spread, samples, a device, a run; its ratio is measured over predicted."""
    row = case(measured[2])
    time, predicted = row.number_in("measured_time"), row.number_in("predicted_time")
    assert time is not None
    assert predicted is not None
    assert time > 0
    assert row.number_in("n_samples") >= 7  # type: ignore[operator]
    assert row.text("device") == "cpu"
    assert row.text("run_id")
    assert landing.OTHER_HARDWARE in row.text("flags")
    assert row.number_in("time_ratio") == pytest.approx(time / predicted, rel=1e-12)
    assert row.number_in("achieved_bandwidth") == pytest.approx(row.number_in("memory_bytes") / time, rel=1e-12)  # type: ignore[operator]


def test_only_the_comparison_changes(measured: tuple[Path, Path, Path]) -> None:
    """Every part but Comparison's sheet and charts is byte for byte what was built; only that case's cells are new."""
    built, _, path = measured
    before, after = Package.read(built), Package.read(path)
    part = before.sheets()["Comparison"]
    drawing = {name for name in before.parts if name.startswith("xl/charts/") and b"Comparison" in before.parts[name]}
    changed_parts = {name for name in before.parts if before.parts[name] != after.parts[name]}
    assert part in changed_parts <= {part, *drawing}
    number = str(case(path).number)
    old, new = cached(built)["Comparison"], cached(path)["Comparison"]
    changed = {ref for ref in old.keys() | new.keys() if old.get(ref) != new.get(ref)}
    assert changed
    assert all(ref.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == number for ref in changed)


def test_a_second_run_updates_in_place(measured: tuple[Path, Path, Path]) -> None:
    """Measuring again replaces the run and adds no row."""
    _, once, path = measured
    assert case(once).text("run_id") != case(path).text("run_id")
    assert len(comparison.find(Package.read(once)).rows) == len(comparison.find(Package.read(path)).rows)


def test_an_unknown_case_is_refused_with_the_closest(measured: tuple[Path, Path, Path]) -> None:
    """A few labels instead of every key, and how to see all."""
    done = refused("measure", measured[0], "--case", "ad 4M")
    assert "the closest: Add 4M fp32" in done
    assert f"planner measure {measured[0]} --list shows all" in done
    assert "activation_dtype" not in done


def test_a_workbook_without_comparison_is_refused(tmp_path: Path) -> None:
    """A workbook that has no Comparison is refused in one line, and stays as it was."""
    import openpyxl

    path = tmp_path / "other.xlsx"
    openpyxl.Workbook().save(path)
    with untouched(path):
        done = refused("measure", path)
        assert "has no Comparison sheet" in done


def test_the_sheet_is_found_by_its_marker(measured: tuple[Path, Path, Path]) -> None:
    """A Comparison that an analyst renamed is found by its defined name."""
    package = Package.read(measured[0])
    part = package.workbook_part()
    renamed = (
        package.parts[part].replace(b'name="Comparison"', b'name="Vergleich"').replace(b"Comparison!", b"Vergleich!")
    )
    package.replace(part, renamed)
    assert comparison.find(package).name == "Vergleich"


def test_an_unknown_template_names_the_cell(measured: tuple[Path, Path, Path]) -> None:
    """A row whose template is unknown is named by sheet and row, with the nearest template."""
    package = Package.read(measured[0])
    sheet = comparison.find(package)
    package.replace(sheet.part, typed_into(sheet, sheet.rows[0].number, template="matmull"))
    with pytest.raises(UserError, match=r"Comparison.*matmull.*matmul"):
        measuring.planned_in(package)
