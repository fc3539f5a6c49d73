"""Decides whether a profile's steps can be decode steps, rather than a repeated prefill or training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from planner.catalog import Value
from planner.ingest.first_page import short
from planner.profiles.profile import Profile
from planner.profiles.recognition import recognised
from planner.profiles.step_kinds import DECODE, PREFILL, phase
from planner.terminal_table import counted

_MANY = 32  # tokens per sequence, more than in a decode step, even with drafts and several experts


def no_decode_step(profile: Profile, inputs: Mapping[str, Value]) -> str:
    """Why the steps can't be decode steps of a plan with these inputs; empty if nothing contradicts it.

    Judged by the names of the program or marks, else by the tokens in the matmuls that take the most time.
    """
    name = profile.step_name
    which = phase(name)
    if which == DECODE:
        return ""
    if which == PREFILL:
        return f"they are called {short(name)}"
    batch, tokens = inputs.get("batch"), _tokens(profile)
    if not isinstance(batch, float) or tokens <= _MANY * batch:
        return ""
    together = f"{counted(round(batch), 'sequence')}{' together' if batch != 1 else ' at a time'}"
    return f"their matmuls are of {tokens:,} tokens or more, and the plan decodes {together}"


def _tokens(profile: Profile) -> int:
    """The least number of tokens in the matmuls with most of the steps' time; 0 if none is recognised.

    Which dimension of a matmul is its tokens isn't always known, so the smaller one is used.
    """
    stepping = profile.stepping
    ours = (each for each in profile.operations if not stepping or each.program == stepping)
    times: dict[int, float] = defaultdict(float)
    for found in recognised(ours).matmuls:
        one = found.operation
        if seconds := one.self_time if one.step_time is None else one.step_time:
            times[min(found.m, found.n)] += seconds
    return max(times, key=lambda tokens: times[tokens], default=0)
