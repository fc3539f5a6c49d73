"""How many chips a profile is of: a TPU's profiler counts TensorCores, of which some chips have two."""

from __future__ import annotations

from dataclasses import dataclass

from planner.ingest.device import Chip
from planner.profiles.profile import CHIP_PLACE, CORES, RANKS, Profile
from planner.table import counted

NEAR = 0.15  # that a chip's peak may be off a whole number of its cores' peaks


@dataclass(frozen=True)
class Chips:
    """The chips of a profile; None where it isn't known of how many cores one is. `why` is what tells, in words."""

    count: int | None
    cores_each: int = 1
    why: str = ""


def chips_of(profile: Profile, chip: Chip) -> Chips:
    """The chips by what the file says of each device's place, by its cores' peak, or by the cores of its chip.

    A GPU is a chip. Where only one rank of several was traced, the chips are those of all ranks.
    """
    devices = profile.active or profile.devices
    n = int(profile.facts.get(CORES, len(devices)))
    if ranks := _ranks(profile):
        here = len({device.host for device in devices})
        return Chips(ranks, 1, f"{here} of {ranks} ranks {'is' if here == 1 else 'are'} in the profile")
    each = _by_place(profile) or _by_peak(profile, chip)
    if each is None and CORES in profile.facts:  # a tool's own count of cores
        each = chip.number("n_cores") or 1
    if each is None and (chip.row or {}).get("kind") == "gpu":
        each = 1
    if each is None and (cores := chip.number("n_cores") or 1) > 1:
        whose = f"a {chip.id} has {cores:,.0f} cores"
        return Chips(None, 1, f"the file doesn't tell whether its {counted(n, 'device')} are chips: {whose}")
    if not each or n % int(each):
        return Chips(None, int(each or 1))
    count, cores = n // int(each), int(each)
    return Chips(count, cores, f"{n} cores are {counted(count, 'chip')}" if cores > 1 else "")


def _ranks(profile: Profile) -> int:
    """The ranks of the run where its trace tells them and has fewer."""
    told = profile.facts.get(RANKS, "")
    found = int(told) if told.isdigit() else 0
    return found if found > len(profile.active) else 0


def _by_place(profile: Profile) -> float | None:
    """Devices per chip, by the chip that the file names for each; None where it names none."""
    devices = [device for device in profile.devices if device.operations or device.steps]
    places = {(device.host, device.facts[CHIP_PLACE]) for device in devices if CHIP_PLACE in device.facts}
    if not places or any(CHIP_PLACE not in device.facts for device in devices):
        return None
    return len(devices) / len(places) if len(devices) % len(places) == 0 else None


def _by_peak(profile: Profile, chip: Chip) -> float | None:
    """Devices per chip: the peak of the data sheet over the peak that the file states for a device."""
    whole, own = chip.number("peak_bf16"), next((each.peak_flops for each in profile.devices if each.peak_flops), None)
    if not whole or not own:
        return None
    times = whole / own
    return float(round(times)) if round(times) >= 1 and abs(times - round(times)) < NEAR else None
