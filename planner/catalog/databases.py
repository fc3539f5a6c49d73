"""The databases that a command reads: the shipped ones, preceded or replaced by the user's rows."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from planner import catalog
from planner.catalog.calibrations import known_files
from planner.catalog.checked_table import TABLES, Table


@dataclass(frozen=True)
class Databases:
    """The tables of a command, each loaded on first access.

    The user's files precede the shipped rows; with `only` they replace them. Each table raises UserError for a fault in
    its file.
    """

    models_csv: Path | None = None
    hardware_csv: Path | None = None
    calibrations_csv: Path | None = None
    only: bool = False

    def __post_init__(self) -> None:
        known_files(self.calibrations_csv)  # so that its stacks are known values

    @cached_property
    def models(self) -> Table:
        return catalog.load_models(self.models_csv, only=self.only)

    @cached_property
    def hardware(self) -> Table:
        return catalog.load_hardware(self.hardware_csv, only=self.only, is_calibrated=True)

    @cached_property
    def dtypes(self) -> Table:
        return catalog.load_dtypes()

    @cached_property
    def calibration(self) -> Table:
        return catalog.load_calibrations(self.calibrations_csv, only=self.only)

    @cached_property
    def stacks(self) -> Table:
        return catalog.load_stacks(self.calibrations_csv)

    def of_kinds(self, kinds: Container[str]) -> list[Table]:
        """The tables for lookups of some kinds (`model`, `dtype`, ...), in sheet order."""
        return [getattr(self, name) for kind, name in TABLES.items() if kind in kinds]

    @property
    def own(self) -> frozenset[str]:
        """The kinds of tables for which the user gave a file."""
        given = {"models": self.models_csv, "hardware": self.hardware_csv, "calibration": self.calibrations_csv}
        return frozenset(kind for kind, path in given.items() if path is not None)

    @property
    def own_ids(self) -> dict[str, frozenset[str]]:
        """The ids in the user's files that no shipped table has, by kind of table."""
        stacks = {"stacks"} if self.calibrations_csv else set()  # a calibrations file may define stacks too
        kinds, shipped = self.own | stacks, Databases()
        return {kind: frozenset(getattr(self, kind).rows) - frozenset(getattr(shipped, kind).rows) for kind in kinds}
