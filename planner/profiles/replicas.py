"""Distinguishes replicas of a model in a profile's files: data-parallel engines, each with ranks numbered from 0.

Replicas don't wait for each other, so a step of each is a sample of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from planner.number_text import few
from planner.profiles.profile import RANKS, REPLICAS
from planner.profiles.profile_source import ProfileSource
from planner.terminal_table import counted

_NAMED = re.compile(r"(?<![a-z0-9])dp[-_]?(\d+)(?![a-z0-9])", re.I)  # in trace names of vLLM and SGLang: dp1, DP-1
_SAID = 4  # replicas that a note names


def distinguished(parts: Sequence[ProfileSource]) -> list[ProfileSource]:
    """The files with the replica's name in each host's, and step numbers of their own, if files repeat ranks.

    A file's name says which replica it is of; else each file is one, if runs have one rank and ran at the same time. If
    neither distinguishes them, the files are returned unchanged.
    """
    if not _come_again(parts):
        return list(parts)
    labels = _labels(parts)
    if len({(label, host) for label, part in zip(labels, parts, strict=True) for host in _hosts(part)}) < len(
        [host for part in parts for host in _hosts(part)]
    ):
        return list(parts)
    order = list(dict.fromkeys(labels))
    beyond = 1 + max((step.index for part in parts for each in part.devices for step in each.steps), default=0)
    made = [_of(part, label, order.index(label) * beyond) for part, label in zip(parts, labels, strict=True)]
    made[0].facts[REPLICAS] = str(len(order))
    said = f"{counted(len(order), 'replica')} of the model ({few(order, _SAID)}): each one's steps count as its own"
    made[0].notes.append(said)
    return made


def _come_again(parts: Sequence[ProfileSource]) -> bool:
    """Whether a rank occurs twice in files that all state their ranks."""
    if not all(part.names_host and part.devices and part.format == "kineto" for part in parts):
        return False
    hosts = [host for part in parts for host in _hosts(part)]
    return len(set(hosts)) < len(hosts)


def _hosts(part: ProfileSource) -> set[str]:
    return {device.host for device in part.devices}


def _labels(parts: Sequence[ProfileSource]) -> list[str]:
    """The name of each file's replica, from the file's name, else from its position; blank for all if unclear."""
    named = [found for part in parts if (found := _NAMED.search(part.path.name))]
    if len(named) == len(parts):
        return [f"dp{int(each[1])}" for each in named]
    alone = all(part.facts.get(RANKS) == "1" for part in parts)
    if alone and all(_together(one, other) for one, other in combinations(parts, 2)):
        return [f"replica {n}" for n in range(len(parts))]
    return [""] * len(parts)


def _together(one: ProfileSource, other: ProfileSource) -> bool:
    """Whether two captures overlap in time, which captures of one process can't."""
    if one.when is None or other.when is None or one.devices == other.devices:
        return False
    return max(one.when[0], other.when[0]) < min(one.when[1], other.when[1])


def _of(part: ProfileSource, label: str, offset: int) -> ProfileSource:
    """A replica's file, with `label` before each host name, and steps numbered from `offset`."""
    devices = [
        replace(
            device,
            host=f"{label} {device.host}",
            steps=tuple(replace(step, index=step.index + offset) for step in device.steps),
        )
        for device in part.devices
    ]
    return replace(part, devices=devices, facts=dict(part.facts), notes=list(part.notes))
