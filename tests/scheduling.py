"""How xdist shares the tests out: a file's tests in one process, and the longest files first."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling

# Files that take 3 s and more, the longest first; most have few tests. By the number of tests, as xdist has it, those
# would come last, and the other workers would wait for the last of them.
LONG = (
    "test_validation_fit", "test_update_rows", "test_style", "test_runs_table", "test_update_databases",
    "test_report_workloads", "test_ingest", "test_update_merge", "test_update", "test_sweep", "test_fit_told",
    "test_export_inputs", "test_scenario_reach", "test_built_form", "test_scenario_add", "test_programs",
    "test_scenario_purpose", "test_runs_told", "test_update_typed_cells", "test_diff", "test_scenario_remove",
    "test_lint_values", "test_report", "test_workbook", "test_dashboard_basis", "test_diff_grown", "test_pictures",
    "test_report_search", "test_advice", "test_report_failing", "test_report_changes", "test_lint_edited", "test_lint",
    "test_sensitivity", "test_validation", "test_api", "test_diff_headlines", "test_runs_removed", "test_cli",
    "test_update_unremembered", "test_backfill", "test_fit", "test_links", "test_first_failure", "test_likely_unit",
    "test_check", "test_best_plan", "test_training_memory", "test_added_sheet", "test_report_expected",
    "test_interruptions", "test_update_own_cells", "test_update_sweep_rows", "test_update_worked",
    "test_profiles_facts", "test_backfill_naming", "test_measure_clock", "test_fit_host", "test_search",
    "test_search_sheet", "test_solve", "test_backfill_forms", "test_sharing", "test_unit_proof", "test_measure_cases",
)  # fmt: skip
LONG_WITH_SLOW = ("test_search_devices", "test_evaluate")
"""Files whose slow tests take minutes, nearly all of it for XLA, and stay together: with them, before the others."""
PARTED = (
    "test_workbook", "test_edits_by_libreoffice", "test_edits_update", "test_update_random", "test_edits",
    "test_edits_by_hand", "test_validation_page",
)  # fmt: skip
"""Files whose slow tests take minutes together and share little: each test by itself, and before all others."""


class LongestFirst(LoadFileScheduling):  # type: ignore[misc]  # xdist's types are not exported
    """As `--dist loadfile`, so that the workbook that a file's tests share is built once; long files begin first."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, _ = nodeid.partition("::")
        return nodeid if not self._is_everyday() and file.endswith(tuple(f"/{name}.py" for name in PARTED)) else file

    def _is_everyday(self) -> bool:
        return "not slow and" in self.config.option.markexpr

    def _assign_work_unit(self, node: Any) -> None:
        for name in reversed(LONG if self._is_everyday() else (*LONG_WITH_SLOW, *LONG)):
            if (file := f"tests/{name}.py") in self.workqueue:
                self.workqueue.move_to_end(file, last=False)
        for scope in [scope for scope in self.workqueue if "::" in scope][::-1]:
            self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)
