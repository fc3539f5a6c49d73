"""How xdist shares the tests out: a file's tests in one process, and the longest files first."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling

# Files that take 1.5 s and more, the longest first; most have few tests. By the number of tests, as xdist has it, those
# would come last, and the other workers would wait for the last of them.
LONG = (
    "test_style", "test_update_merge", "test_lint_values", "test_report", "test_export_inputs", "test_lint_edited",
    "test_diff", "test_scenario_add", "test_built_form", "test_lint", "test_update_databases", "test_update_notes",
    "test_measure_clock", "test_cli", "test_check", "test_safe_files", "test_measure_cases", "test_sweep",
    "test_report_command", "test_evaluate", "test_cases", "test_lint_form", "test_workbook", "test_measuring",
    "test_pictures", "test_measure_flops", "test_report_drawing", "test_scenario_reach", "test_report_failing",
    "test_update_worked", "test_scenarios", "test_update", "test_lint_references", "test_recalc", "test_edits",
)  # fmt: skip


class LongestFirst(LoadFileScheduling):  # type: ignore[misc]  # xdist's types are not exported
    """As `--dist loadfile`, so that the workbook that a file's tests share is built once; long files begin first."""

    def _assign_work_unit(self, node: Any) -> None:
        for name in reversed(LONG):
            if (file := f"tests/{name}.py") in self.workqueue:
                self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)
