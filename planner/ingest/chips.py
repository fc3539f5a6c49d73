"""Identifies the chip of a profile in the hardware table, and the number of chips.

The chip is identified by its name in the file or by the user, never guessed. A TPU's profiler counts TensorCores, of
which some chips have two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner import errors
from planner.catalog import Table, Value
from planner.compare.row_of_measurement import called_so, device_kinds
from planner.errors import UserError, closest
from planner.profiles.profile import ALL_CORES, CHIP_PLACE, CORES, RANKS, REPLICAS, Profile
from planner.terminal_table import counted

UNKNOWN = "unknown"
NEAR = 0.15  # relative tolerance of a chip's peak or memory against a multiple of its cores'
_MEMORY = ("totalGlobalMem", "memory_size")  # a device's memory in bytes, as PyTorch and XLA state it


@dataclass(frozen=True)
class Chip:
    """A profile's chip: its hardware id (blank if unknown), its name in the file, and the reason if unknown."""

    id: str
    called: str
    why: str = ""
    row: dict[str, Value] | None = None

    @property
    def said(self) -> str:
        """The chip for a person: its name in the file and its row."""
        if not self.id:
            return f"{self.called} ({self.why})"
        return self.id if self.called in (UNKNOWN, self.id) else f"{self.called}: {self.id}"

    @property
    def named(self) -> str:
        """The device name for its measurements: the file's name for it, else the chip named by the user."""
        return self.id if self.id and self.called == UNKNOWN else self.called

    def number(self, name: str) -> float | None:
        """A number of its hardware row; None if there is none."""
        value = (self.row or {}).get(name)
        return float(value) if isinstance(value, (int, float)) else None


def chip_of(profile: Profile, said: str, hardware: Table) -> Chip:
    """The chip of a profile; `said` is the user's id for it, blank for none.

    Raises UserError for an id that isn't in the table, or if the file names another chip.
    """
    called = profile.device or UNKNOWN
    kinds = device_kinds(hardware)
    named = called_so(called, kinds) if profile.device else ()
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
        near = closest(profile.device, kinds.values(), cutoff=errors.NEAR)
        ids = " or ".join(called_so(near[0], kinds)) if near else ""
        return f"the hardware table has no chip that is called so{f'; the closest: {ids}, {near[0]}' if near else ''}"
    return profile.lacks.get("device", "the file names no device")


@dataclass(frozen=True)
class Chips:
    """The number of chips in a profile; None if the number of cores per chip is unknown. `why` explains it in words.

    `joined` are the devices that its collectives join, as far as the file tells: the most of one collective.
    """

    count: int | None
    cores_each: int = 1
    why: str = ""
    joined: int = 0

    def is_of(self, chips: float) -> bool:
        """Whether it may be of a run on so many chips: on as many, or on a part whose collectives join all of them."""
        if self.count is None or self.count == chips:
            return True
        return self.count < chips and chips in (self.joined, self.joined / self.cores_each)


WHOLE = Chips(1)
"""Of devices that are chips."""


def chips_of(profile: Profile, chip: Chip) -> Chips:
    """The number of chips, from each device's place in the file, the peak of its cores, or the cores of its chip.

    A GPU is one chip. If only one of several ranks was traced, the chips of all ranks are counted. Of several replicas
    of a model, the chips of one are counted, since a step is that of one replica.
    """
    replicas = int(profile.facts.get(REPLICAS, 1))
    found = replace(_of_replica(profile, chip, replicas), joined=_joined(profile))
    if replicas == 1 or not found.count:
        return found
    return replace(
        found, why="; ".join(filter(None, [found.why, f"{replicas} replicas of {counted(found.count, 'chip')}"]))
    )


def _of_replica(profile: Profile, chip: Chip, replicas: int) -> Chips:
    devices = profile.active or profile.devices
    n = int(profile.facts.get(CORES, len(devices))) // replicas
    each = _by_place(profile) or _by_peak(profile, chip) or _by_memory(profile, chip)
    if ranks := _ranks(profile, replicas):
        here = len({device.host for device in devices}) // replicas
        why = f"{here} of {ranks} ranks {'is' if here == 1 else 'are'} in the profile"
        if not each or each == 1 or ranks % int(each):
            return Chips(ranks, 1, why)
        count = ranks // int(each)
        return Chips(count, int(each), f"{why}; {ranks} devices are {counted(count, 'chip')}")
    if each is None and CORES in profile.facts:  # the number of cores according to a tool
        each = chip.number("n_cores") or 1
    if each is None and devices[0].name == ALL_CORES:
        return Chips(None, int(chip.number("n_cores") or 1), "the tool adds all cores up, and doesn't tell how many")
    if each is None and ((chip.row or {}).get("kind") == "gpu" or chip.number("n_cores") == 1):
        each = 1
    if each is None and (cores := chip.number("n_cores") or 1) > 1:
        whose = f"a {chip.id} has {cores:,.0f} cores"
        return Chips(None, 1, f"the file doesn't tell whether its {counted(n, 'device')} are chips: {whose}")
    if not each or n % int(each):
        return Chips(None, int(each or 1), f"{n} devices make no whole chips")
    count, cores = n // int(each), int(each)
    of = "devices" if (chip.row or {}).get("kind") == "gpu" else "cores"
    return Chips(count, cores, f"{n} {of} are {counted(count, 'chip')}" if cores > 1 else "")


def _joined(profile: Profile) -> int:
    """The devices of the largest collective: of all its groups, else of one."""
    return max((each.joined or each.group_size or 0 for each in profile.operations), default=0)


def _ranks(profile: Profile, replicas: int) -> int:
    """The number of ranks in the run, or in one of its replicas, if the trace states it and contains fewer."""
    stated = profile.facts.get(RANKS, "")
    found = int(stated) if stated.isdigit() else 0
    return found if found * replicas > len(profile.active) else 0


def _by_place(profile: Profile) -> float | None:
    """Devices per chip, from the chip that the file names for each device; None if it names none."""
    devices = [device for device in profile.devices if device.operations or device.steps]
    places = {(device.host, device.facts[CHIP_PLACE]) for device in devices if CHIP_PLACE in device.facts}
    if not places or any(CHIP_PLACE not in device.facts for device in devices):
        return None
    return len(devices) / len(places) if len(devices) % len(places) == 0 else None


def _by_peak(profile: Profile, chip: Chip) -> float | None:
    """Devices per chip: the data sheet's peak over the peak that the file states for a device."""
    whole, own = chip.number("peak_bf16"), next((each.peak_flops for each in profile.devices if each.peak_flops), None)
    if not whole or not own:
        return None
    times = whole / own
    return float(round(times)) if round(times) >= 1 and abs(times - round(times)) < NEAR else None


def _by_memory(profile: Profile, chip: Chip) -> float | None:
    """Devices per chip: the memory of a GPU's data sheet over that of a device, which may be a part of its chip.

    An MI250X is two devices, a partitioned GPU may be more. None if the file states no memory, or all of the chip's.
    """
    whole = chip.number("hbm_bytes") if (chip.row or {}).get("kind") == "gpu" else None
    stated = (each.facts.get(name, "") for each in profile.active for name in _MEMORY)
    own = next((int(text) for text in stated if text.isdigit() and int(text)), None)
    if not whole or not own:
        return None
    times = whole / own
    return float(round(times)) if round(times) > 1 and abs(times - round(times)) < NEAR else None
