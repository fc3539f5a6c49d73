"""Replicas of a model in the files of a profile: engines of data parallelism, each with ranks numbered from 0.

They wait for nothing of each other, so a step of each is a sample of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from planner.profiles.profile import RANKS, REPLICAS
from planner.profiles.sources import ProfileSource
from planner.spoken import few
from planner.terminal_table import counted

_NAMED = re.compile(r"(?<![a-z0-9])dp[-_]?(\d+)(?![a-z0-9])", re.I)  # as vLLM and SGLang name a trace: dp1, DP-1
_SAID = 4  # replicas that are named


def told_apart(parts: Sequence[ProfileSource]) -> list[ProfileSource]:
    """The files with their replica's name in each host's, and steps that no other replica has, where ranks come again.

    Which replica a file is of says its name; else each is one, if its run has one rank and they ran at the same time.
    Where neither tells them apart the files stay as they are.
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
    """Whether files that tell their ranks, and are no copies of each other, have one rank twice."""
    if not all(part.names_host and part.devices and part.format == "kineto" for part in parts):
        return False
    hosts = [host for part in parts for host in _hosts(part)]
    return len(set(hosts)) < len(hosts)


def _hosts(part: ProfileSource) -> set[str]:
    return {device.host for device in part.devices}


def _labels(parts: Sequence[ProfileSource]) -> list[str]:
    """What each file's replica is called: by the file's name, else by its place; all alike where nothing tells."""
    named = [found for part in parts if (found := _NAMED.search(part.path.name))]
    if len(named) == len(parts):
        return [f"dp{int(each[1])}" for each in named]
    alone = all(part.facts.get(RANKS) == "1" for part in parts)
    if alone and all(_together(one, other) for one, other in combinations(parts, 2)):
        return [f"replica {n}" for n in range(len(parts))]
    return [""] * len(parts)


def _together(one: ProfileSource, other: ProfileSource) -> bool:
    """Whether two captures ran at the same time, as none of one process do."""
    if one.when is None or other.when is None or one.devices == other.devices:
        return False
    return max(one.when[0], other.when[0]) < min(one.when[1], other.when[1])


def _of(part: ProfileSource, label: str, offset: int) -> ProfileSource:
    """A file of a replica: its name before each host's, its steps numbered from `offset`."""
    devices = [
        replace(
            device,
            host=f"{label} {device.host}",
            steps=tuple(replace(step, index=step.index + offset) for step in device.steps),
        )
        for device in part.devices
    ]
    return replace(part, devices=devices, facts=dict(part.facts), notes=list(part.notes))
