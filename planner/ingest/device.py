"""Which chip of the hardware table a profile is of: by its name in the file, or as a person says; never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.catalog import Table, Value
from planner.errors import UserError, closest
from planner.measure.devices import matching
from planner.profiles.profile import Profile

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Chip:
    """A profile's chip: its row of the hardware table, blank where that isn't known; what the file calls it; why."""

    id: str
    called: str
    why: str = ""
    row: dict[str, Value] | None = None

    @property
    def said(self) -> str:
        """The chip for a person: what the file calls it and which row that is."""
        if not self.id:
            return f"{self.called} ({self.why})"
        return self.id if self.called in (UNKNOWN, self.id) else f"{self.called}: {self.id}"

    @property
    def named(self) -> str:
        """The device of its measurements: as the file calls it, else the chip that a person says it is."""
        return self.id if self.id and self.called == UNKNOWN else self.called

    def number(self, name: str) -> float | None:
        """A number of its row; None where there is none."""
        value = (self.row or {}).get(name)
        return float(value) if isinstance(value, (int, float)) else None


def chip_of(profile: Profile, said: str, hardware: Table) -> Chip:
    """The chip of a profile; `said` is what a person says it is, blank for nothing.

    Raises UserError for a chip that the table hasn't, and where the file bears the name of another one.
    """
    called = profile.device or UNKNOWN
    kinds = {key: str(row.get("jax_device_kind") or "") for key, row in hardware.rows.items()}
    named = matching(called, kinds) if profile.device else ()
    if said:
        wanted = hardware.identify(said)
        if named and wanted not in named:
            what = f"the profile is of {called}, which is {' or '.join(named)} and not {wanted}"
            raise UserError(what, remedy="leave --device away, or give the profile of that chip")
        return Chip(wanted, called, row=dict(hardware.rows[wanted]))
    if len(named) == 1:
        return Chip(named[0], called, row=dict(hardware.rows[named[0]]))
    why = "several chips are called so" if named else _why(profile, kinds)
    return Chip("", called, f"{why}; say it with --device")


def _why(profile: Profile, kinds: Mapping[str, str]) -> str:
    if profile.device:
        near = closest(profile.device, kinds.values())
        return f"the hardware table has no chip that is called so{f'; the closest: {near[0]}' if near else ''}"
    return profile.lacks.get("device", "the file names no device")
