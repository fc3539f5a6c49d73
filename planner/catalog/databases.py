"""Which databases a command reads: the shipped ones, with a person's own rows before them or in their place."""

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
    """The tables of a command, each read when it is first asked for.

    A person's own file adds its rows before ours; with `only` it stands in the place of ours.
    Each table raises UserError for a fault in its file.
    """

    models_csv: Path | None = None
    hardware_csv: Path | None = None
    calibrations_csv: Path | None = None
    only: bool = False

    def __post_init__(self) -> None:
        known_files(self.calibrations_csv)  # its stacks may be typed

    @cached_property
    def models(self) -> Table:
        return catalog.load_models(self.models_csv, only=self.only)

    @cached_property
    def hardware(self) -> Table:
        return catalog.load_hardware(self.hardware_csv, only=self.only)

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
        """The tables that lookups of some kinds (`model`, `dtype`, ...) read, in the order of their sheets."""
        return [getattr(self, name) for kind, name in TABLES.items() if kind in kinds]

    @property
    def own(self) -> frozenset[str]:
        """The kinds of tables that a person gave a file for."""
        given = {"models": self.models_csv, "hardware": self.hardware_csv, "calibration": self.calibrations_csv}
        return frozenset(kind for kind, path in given.items() if path is not None)

    @property
    def own_ids(self) -> dict[str, frozenset[str]]:
        """The ids of a person's files that no shipped table has, by the kind of table."""
        stacks = {"stacks"} if self.calibrations_csv else set()  # a file of calibrations may have them too
        kinds, shipped = self.own | stacks, Databases()
        return {kind: frozenset(getattr(self, kind).rows) - frozenset(getattr(shipped, kind).rows) for kind in kinds}
