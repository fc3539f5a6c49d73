"""The first lines about a profile: the step, MFU, exposed communication, idle time and the largest waste.

Each is shown next to the corresponding part of the plan, if there is a plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.ingest.chips import Chips
from planner.ingest.operation_rows import OperationRow, Peaks, Waste, largest, rows
from planner.number_text import PERCENT, cut, percent, spoken
from planner.profiles.profile import HOW_FOUND, Profile, mean_parts, spread

SECONDS, COUNT = "s", "1"
GAPS = 3  # number of largest gaps to list
MUCH_BETWEEN = 1.05  # ratio of step distance to step time above which it is mentioned
NEARLY_ALL = 0.95  # share of the computing time from which its waste is known on the whole
LONGEST = 60  # most characters of an operation's name in a line
EXPOSED, IDLE, LOST = ("exposed_part_time",), ("bubble_part_time", "overhead_part_time"), ("efficiency_part_time",)


@dataclass(frozen=True)
class PlannedStep:
    """The plan's numbers for the profiled step, in seconds; `parts` are its parts by name, with labels.

    `is_other_chip` says that the profile is of another chip than the plan, so that the plan's MFU doesn't apply;
    `is_paced` that it plans how often a step ends, and not how long one takes from its begin, as of a first token.
    """

    label: str
    expected: float | None
    low: float | None = None
    high: float | None = None
    mfu: float | None = None  # expected MFU, with the plan's FLOPs
    parts: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    chips: float | None = None
    is_other_chip: bool = False
    is_paced: bool = False

    def part(self, names: tuple[str, ...]) -> tuple[str, float] | None:
        """The first of these parts that the plan has, as (label, seconds)."""
        return next((self.parts[name] for name in names if name in self.parts), None)

    def share(self, part: tuple[str, float] | None) -> float | None:
        """A part's fraction of the expected step; None if either is unknown."""
        return part[1] / self.expected if part and self.expected else None

    def utilisation(self, seconds: float) -> float | None:
        """The MFU of a step of this duration with the plan's FLOPs, chips and peak. None if unknown."""
        if self.is_other_chip or not self.mfu or not self.expected or seconds <= 0:
            return None
        return self.mfu * self.expected / seconds


@dataclass(frozen=True)
class PageLine:
    """A line: a number in SI (a fraction for %), or None with the reason as `note`; and the plan's number."""

    label: str
    measured: float | None
    unit: str
    plan: float | None = None
    planned: str = ""
    note: str = ""

    @property
    def said(self) -> str:
        """The measured number formatted for reading."""
        if self.unit == COUNT and self.measured is not None:
            return f"{self.measured:,.0f}"
        return percent(self.measured) if self.unit == PERCENT else spoken(self.measured, self.unit)


def lines(profile: Profile, plan: PlannedStep | None, peaks: Peaks, chips: Chips | None = None) -> list[PageLine]:
    """The first lines about a profile, most important first."""
    return [
        *_step(profile, plan),
        *_chips(chips, plan),
        _utilisation(profile, plan),
        *_communication(profile, plan),
        *_idle(profile, plan),
        *_host(profile),
        *_waste(profile, plan, peaks),
    ]


def short(name: str) -> str:
    """An operation's name, shortened to fit a line; a GPU kernel's name can have a thousand characters."""
    name = "".join(each if each.isprintable() else " " for each in name)
    return cut(name.removeprefix("void "), LONGEST)


def pace(profile: Profile) -> tuple[float, float, int] | None:
    """Median, interquartile range and number of what a run's step takes; None if the profile has no steps.

    It is as long as a step lasts on its device, or as from step to step where steps overlap much.
    """
    if not profile.step_times:
        return None
    lasting, distances = spread(profile.step_times), profile.step_distances
    apart = spread(distances) if distances else lasting
    return apart if _overlap(lasting[0], apart[0]) else lasting


def between_steps(profile: Profile) -> str:
    """A line on the time between steps, or on their overlap, if significant; otherwise blank.

    The step time in a log includes the time between steps, and counts overlapping time once.
    """
    times, distances = profile.step_times, profile.step_distances
    if not times or not distances:
        return ""
    step, whole = spread(times)[0], spread(distances)[0]
    if _overlap(step, whole):
        lasting = spoken(step, SECONDS, whole)
        return f"steps overlap: each lasts {lasting}, and one ends every {spoken(whole, SECONDS)}, as fast as a run is"
    if whole <= MUCH_BETWEEN * step:
        return ""
    return (
        f"{spoken(whole, SECONDS, step)} from step to step, {percent(1 - step / whole, 0)} of it between them: a "
        "log's time of a step and its tokens a second have that too"
    )


def _overlap(step: float, whole: float) -> bool:
    """Whether steps of this duration, of which one ends every `whole` seconds, overlap much on their device."""
    return step > MUCH_BETWEEN * whole


def _step(profile: Profile, plan: PlannedStep | None) -> Iterator[PageLine]:
    times = profile.step_times
    planned = apart = (plan.expected, f"expected: {plan.label}") if plan else (None, "")
    if not times:
        yield PageLine("Step time", None, SECONDS, *planned, profile.lacks.get("steps", "the profile has no step"))
        return
    median, deviation, n = spread(times)
    distances = profile.step_distances
    whole = spread(distances)[0] if distances else median
    if plan and plan.is_paced and _overlap(median, whole):
        planned = None, ""
    else:
        apart = None, ""
    said = [f"median of {n} steps" if n > 1 else "n = 1" if profile.found != "whole" else ""]
    said.append("on the device that takes longest for it" if _is_shared(profile, n) else "")
    note = ": ".join(filter(None, (", ".join(filter(None, said)), HOW_FOUND[profile.found])))
    note += f", {short(profile.step_name)}" if profile.step_name else ""
    yield PageLine("Step time", median, SECONDS, *planned, note)
    why = "" if n > 1 else "one step has no spread"
    in_range = ""
    if plan and plan.low is not None and plan.high is not None:
        in_range = f"expected from {spoken(plan.low, SECONDS, median)} to {spoken(plan.high, SECONDS, median)}"
    yield PageLine(
        "Step time: spread", deviation if n > 1 else None, SECONDS, None, in_range, why or "between its quartiles"
    )
    if _is_mean(profile):
        what = "over all steps and devices: what the parts of a step add up to"
        yield PageLine("Step time: mean", profile.step_parts.span, SECONDS, note=what)
    if distances:
        what = "they overlap on the device" if _overlap(median, whole) else "with what is between them"
        note = f"median from the end of a step to the end of the next: {what}"
        yield PageLine("From step to step", whole, SECONDS, *apart, note)
    yield PageLine("Steps", float(n), COUNT)


def _is_shared(profile: Profile, steps: int) -> bool:
    """Whether any of this number of steps ran on several devices, unlike those of replicas."""
    return sum(len(device.steps) for device in profile.devices) > steps


def _is_mean(profile: Profile) -> bool:
    """Whether the parts of a step are averaged over steps or devices."""
    return sum(len(device.steps) for device in profile.devices) > 1


def _chips(chips: Chips | None, plan: PlannedStep | None) -> Iterator[PageLine]:
    if chips is None or (chips.count is None and not chips.why):
        return
    planned = plan.chips if plan else None
    note = "; ".join(filter(None, [chips.why, other_chips(chips, plan)]))
    yield PageLine("Chips", chips.count, COUNT, planned, "chips of the plan" if planned else "", note)


def other_chips(chips: Chips, plan: PlannedStep | None) -> str:
    """What a number of chips other than the plan's may mean; blank if it is the plan's, or one is unknown."""
    if not chips.count or plan is None or not plan.chips or chips.count == plan.chips:
        return ""
    if chips.is_of(plan.chips):
        return "a part of the plan's chips, all of which its collectives join"
    if chips.count < plan.chips:
        return "a part of the plan's chips, or another run"
    return "more than the plan has: is it that run?"


def _utilisation(profile: Profile, plan: PlannedStep | None) -> PageLine:
    step = pace(profile)
    seconds = step[0] if step else None
    label = "MFU on the plan's FLOPs"
    if plan is None:
        return PageLine(label, None, PERCENT, note="no plan to take the FLOPs from: --into plan.xlsx --scenario ID")
    found = plan.utilisation(seconds) if seconds else None
    why = "" if found is not None else "the plan has no MFU of such a step" if seconds else "no step time"
    if plan.is_other_chip:
        why = "the profile is of another chip than the plan, whose peak it would be of"
    return PageLine(label, found, PERCENT, plan.mfu, "expected MFU" if plan.mfu else "", why)


def part(profile: Profile, name: str) -> float | None:
    """The seconds of a part of a step by name; None if the format doesn't separate it from others."""
    seconds: float | None = None if name in profile.lacks else getattr(profile.step_parts, name)
    return seconds


def parts_of(profile: Profile) -> str:
    """What the parts refer to; a tool without steps adds up all of them."""
    if not profile.step_times:
        return "of all steps"
    return "of the mean step" if _is_mean(profile) else "of the step"


def _communication(profile: Profile, plan: PlannedStep | None) -> Iterator[PageLine]:
    own = plan.part(EXPOSED) if plan else None
    label, parts, seconds = "Exposed communication", profile.step_parts, part(profile, "communication")
    why = profile.lacks.get("communication", "")
    yield PageLine(label, seconds, SECONDS, *_planned(own), why or f"{parts_of(profile)}, nothing computes meanwhile")
    share = plan.share(own) if plan else None
    reached = None if seconds is None or not parts.span else seconds / parts.span
    yield PageLine(f"{label}, of the step", reached, PERCENT, share, own[0] if own else "", why)


def _idle(profile: Profile, plan: PlannedStep | None) -> Iterator[PageLine]:
    parts, own = profile.step_parts, plan.part(IDLE) if plan else None
    why = "" if parts.gap is not None else profile.lacks.get("gap", "the format has no idle time")
    yield PageLine("Idle", parts.gap, SECONDS, *_planned(own), why or f"{parts_of(profile)}, nothing runs")
    share = plan.share(own) if plan else None
    yield PageLine("Idle, of the step", parts.idle, PERCENT, share, own[0] if own else "", why)
    whole = mean_parts([device.parts for device in profile.active])
    gaps = sorted((gap for device in profile.devices for gap in device.gaps), key=lambda gap: -gap.seconds)
    why = why or ("no operation has a time" if whole.idle is None else "its largest gaps:" if gaps else "")
    yield PageLine("Idle, of the whole profile", whole.idle, PERCENT, note=why)
    for number, gap in enumerate(gaps[:GAPS], start=1):
        between = f"between {short(gap.before) or 'the beginning'} and {short(gap.after) or 'the end'}"
        yield PageLine(f"Gap {number}", gap.seconds, SECONDS, note=between)


def _host(profile: Profile) -> Iterator[PageLine]:
    parts, of = profile.step_parts, parts_of(profile)
    yield PageLine("Exposed copies", parts.copy, SECONDS, note=f"{of}, nothing computes meanwhile")
    yield PageLine("Other waits", parts.wait, SECONDS, note=f"{of}: for what the profile doesn't tell")


def _waste(profile: Profile, plan: PlannedStep | None, peaks: Peaks) -> Iterator[PageLine]:
    own = plan.part(LOST) if plan else None
    listed = rows(profile, peaks)
    found = largest(profile, (replace(row.one, name=row.name) for row in listed), peaks)
    label = "Largest waste"
    if found is None:
        lacking = filter(None, ["no operation has FLOPs or bytes", profile.lacks.get("bytes")])
        yield PageLine(label, None, SECONDS, *_planned(own), peaks.why or ": ".join(lacking))
        return
    about = f"{_about(found, parts_of(profile))}{_told_share(listed)}"
    yield PageLine(label, found.wasted, SECONDS, *_planned(own), about)


def _about(found: Waste, of: str) -> str:
    return (
        f"{of}: {short(found.name)}, {percent(found.efficiency)} of its roofline, bound by {found.bound}; "
        "its time x (1 - efficiency)"
    )


def _told_share(listed: Sequence[OperationRow]) -> str:
    """Of which share of the computing time the waste is known, in words; blank if of nearly all."""
    computing = [row for row in listed if row.one.part == "compute"]
    known = sum(row.one.self_time for row in computing if row.efficiency is not None)
    share = known / (sum(row.one.self_time for row in computing) or 1.0)
    return f"; known of {percent(share)} of the time that computes" if share < NEARLY_ALL else ""


def _planned(own: tuple[str, float] | None) -> tuple[float | None, str]:
    return (own[1], own[0]) if own else (None, "")
