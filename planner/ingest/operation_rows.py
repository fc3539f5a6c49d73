"""The operations of a profile over all devices, as the sheet and the terminal list them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.ingest.peaks import Peaks, lost_by
from planner.profiles.profile import Operation, Profile, pooled

MOST = 400  # operations that have a row
_NUMBER = re.compile(r"\.\d+$")


@dataclass(frozen=True)
class Row:
    """An operation over all devices, or several that differ in their number alone: `fusion (64 alike)`."""

    one: Operation
    name: str
    share: float | None  # of the time of all operations, which may overlap
    efficiency: float | None
    bound: str
    lacking: str

    @property
    def intensity(self) -> float | None:
        """FLOP a byte; None where one of them isn't known."""
        return self.one.flops / self.one.bytes if self.one.flops and self.one.bytes else None

    @property
    def achieved(self) -> float | None:
        """FLOP/s of the median run of what computes; None where its FLOPs aren't known."""
        is_drawn = self.one.part == "compute" and self.one.median > 0
        return self.one.flops / self.one.median if self.one.flops and is_drawn else None


def rows(profile: Profile, peaks: Peaks) -> list[Row]:
    """The operations over all devices, those that take the most time of their own first.

    Of more than have room those that differ in their number alone, as the layers of a model do, are one row.
    """
    everything = sum(operation.self_time for operation in profile.operations)
    found = pooled(profile.operations)
    names = {_same(each): [each.name] for each in found}
    if len(found) > MOST:
        names.clear()
        for each in found:
            names.setdefault(_same(_unnumbered(each)), []).append(each.name)
        found = pooled(map(_unnumbered, found))
    return [_row(each, names[_same(each)], peaks, everything, profile.lacks) for each in found]


def _unnumbered(one: Operation) -> Operation:
    return replace(one, name=_NUMBER.sub("", one.name), expression="")


def _same(one: Operation) -> tuple[object, ...]:
    """What tells an operation from every other."""
    return one.program, one.name, one.category, one.result, one.operands, one.expression


def _row(one: Operation, names: Sequence[str], peaks: Peaks, everything: float, lacks: Mapping[str, str]) -> Row:
    lost = lost_by(one, peaks)
    return Row(
        one=one,
        name=names[0] if len(names) == 1 else f"{one.name} ({len(names)} alike)",
        share=one.self_time / everything if everything else None,
        efficiency=lost.efficiency if lost else None,
        bound=lost.bound if lost else "",
        lacking="; ".join(_lacking(one, peaks, lacks)),
    )


def _lacking(one: Operation, peaks: Peaks, lacks: Mapping[str, str]) -> Iterator[str]:
    """Why cells of an operation are empty."""
    for fact, there in (("flops", one.flops), ("bytes", one.bytes), ("shapes", one.result or one.operands)):
        if not there and one.part == "compute":
            yield f"{fact}: {lacks.get(fact, 'the file has none for it')}"
    if peaks.why and (one.flops or one.bytes):
        yield f"roofline: {peaks.why}"
