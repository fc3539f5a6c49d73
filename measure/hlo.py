"""Which operations a compiled program holds, by its text: whether XLA kept what is to be timed."""

from __future__ import annotations

import re
from collections.abc import Sequence

_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.-]+) .*\{$", re.MULTILINE)
_CALLED = re.compile(r"(?:body|calls|to_apply|condition|computation|branch_computations)=\{?((?:%?[\w.-]+(?:, )?)+)\}?")
_BODY = re.compile(r"\bwhile\(.*\bbody=%?([\w.-]+)")


def missing(operations: Sequence[str], text: str) -> list[str]:
    """Those of the operations, such as `all-gather`, that the text holds neither whole nor as a start."""
    return [name for name in operations if not re.search(rf" {re.escape(name)}(?:-start)?\(", text)]


def in_loop(text: str) -> str:
    """The text of what runs within the loops of a program, computations that they call among it."""
    computations = _computations(text)
    waiting, seen = [name for body in computations.values() for name in _BODY.findall(body)], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen and name in computations:
            seen.add(name)
            called = _CALLED.findall(computations[name])
            waiting += [each.strip().lstrip("%") for names in called for each in names.split(",")]
    return "\n".join(computations[name] for name in seen)


def _computations(text: str) -> dict[str, str]:
    starts = list(_COMPUTATION.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return {start[1]: text[start.start() : end] for start, end in zip(starts, ends, strict=True)}
