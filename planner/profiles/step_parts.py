"""Classifies operations into the parts of a step, and computes the time of each part when operations overlap.

Name, category and opcode are all used, because each alone misses some operations. For example, a TPU files
`async-collective-start` under "custom fusion", and a GPU's kernel is named after its library.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from planner.profiles.planes import Integers
from planner.profiles.profile import Part

HOLDERS = ("while", "conditional", "call")  # control flow, which only contains other operations

_COLLECTIVES = (
    ("reduce-scatter", r"(?:reduce|psum)[-_ ]?scatter"),
    (
        "all-reduce",
        r"all[-_ ]?reduce|cross_device_reduce|multimem_.*reduce|\bpsum|(?:one|two)_?shot.*reduce",
    ),
    ("all-gather", r"all[-_ ]?gather"),
    ("all-to-all", r"all[-_ ]?(?:to|2)[-_ ]?all|moea2a(?:dispatch|combine)|(?<![a-z0-9])a2a(?![a-z0-9])"),
    ("permute", r"collective[-_ ]?permute|ppermute|send[-_]?recv|memcpy ?p(?:to|2)p"),
    ("broadcast", r"collective[-_ ]?broadcast|(?:nccl|rccl)\w*broadcast"),
    ("send", r"^%?(?:send|recv)(?:-done|-start)?(?:[.\d]*$|[. =])"),
    (
        "collective",
        r"async[-_]collective|\bcollective(?:[-_]|$)|\b(?:n|r|u|ms)?ccl|nccl(?:Dev)?Kernel|rccl|nvshmem|c10d::"
        r"|userbuffers|(?:deep|hybrid|nixl)_?ep|\bmori::|ep(?:dispatch|combine)(?:int(?:ra|er)node|lowlatency)",
    ),
)
_COMPILED = tuple((name, re.compile(pattern, re.I)) for name, pattern in _COLLECTIVES)
INDUCTOR = r"^triton_(?!tem)[a-z]+_fused"  # a kernel that torch.compile names after neighbouring operators
_FUSED_COMPUTE = re.compile(
    r"(?:matmul|gemm|dot|conv)\w*(?:all[-_]?reduce|scatter|all[-_]?gather)"
    rf"|(?:all[-_]?(?:gather|reduce|to[-_]?all)|reduce[-_]?scatter|collective)_(?:\w*_)?(?:matmul|gemm)|{INDUCTOR}",
    re.I,
)
_COPY = re.compile(
    r"memcpy ?\(?(?:h|d|host|device|pinned|pageable)[\w ]*(?:to|2| -> )|(?:\b|_|copy)(?:h2d|d2h|htod|dtoh)"
    r"|copy(?:host|device)to|copy_?buffer|infeed|outfeed|host[-_ ]?transfer|transfer(?:to|from)device"
    r"|copy(?:to|from)host",
    re.I,
)
_ASYNC = re.compile(r"[-_](?:start|done)(?![\w-])|\basync-update\b")
_WAIT = re.compile(r"^%?(?:barrier-cores|dependency-wait|async-(?:start|done|update))\b", re.I)
HOST_MEMORY = "S(5)"  # the host's memory space in a layout


def collective(name: str, category: str = "", opcode: str = "") -> str:
    """The kind of collective that an operation is, such as all-gather; empty for none.

    The opcode is most reliable, then the name, then the category; a specific kind takes precedence over an unspecific
    collective. A matmul fused with a collective counts as compute, and so does a neighbouring kernel that torch.compile
    names after the collective.
    """
    found = ""
    for text in filter(None, (opcode, name, category)):
        kind = _collective_in(text)
        if kind not in ("", _COMPILED[-1][0]):
            return kind
        found = found or kind
    return found


@lru_cache(maxsize=1 << 14)  # a profile has thousands of operations of a few opcodes and categories
def _collective_in(text: str) -> str:
    """The kind of collective that a text names; empty for none."""
    if _FUSED_COMPUTE.search(text):
        return ""
    return next((kind for kind, pattern in _COMPILED if pattern.search(text)), "")


def part(name: str, category: str = "", opcode: str = "", expression: str = "") -> Part:
    """The part that an operation's time counts as: compute, communication, copy or wait.

    On a GPU, copies include those within the device. Of the HLO operation `copy`, which may be any kernel, only
    transfers to or from the host count. `expression` is the HLO text, whose layouts show where a copy goes.
    """
    if category == "convolution fusion":  # uses the matmul unit, whatever collective it is fused with
        return "compute"
    if collective(name, category, opcode):
        return "communication"
    asynchronous = bool(_ASYNC.search(name) or _ASYNC.search(opcode) or _ASYNC.search(category))
    if _COPY.search(name):
        return "copy"
    if opcode in ("infeed", "outfeed") or category in ("infeed", "outfeed", "host send", "host recv"):
        return "copy"
    if asynchronous and "copy" in f"{name} {category} {opcode}" and HOST_MEMORY in expression:
        return "copy"
    if asynchronous or _WAIT.search(name):
        return "wait"
    return "compute"


COMPUTE, COMMUNICATION, COPY, WAIT, CONTROL, GAP = range(6)  # each moment counts as the first of these that covers it
LAYERS = {"compute": COMPUTE, "communication": COMMUNICATION, "copy": COPY, "wait": WAIT}


@dataclass(frozen=True, slots=True)
class Segments:
    """Time cut at every begin and end: `edges` in ps, and the part that counts between each two of them."""

    edges: Integers
    labels: npt.NDArray[np.int8]

    def within(self, begin: Integers, end: Integers) -> npt.NDArray[np.float64]:
        """Picoseconds of each label in ordered disjoint windows with edges among `edges`; shape [windows, 6]."""
        owner = np.searchsorted(begin, self.edges[:-1], "right") - 1
        inside = (owner >= 0) & (self.edges[:-1] < end[owner])
        cell = owner[inside] * (GAP + 1) + self.labels[inside]
        length = np.diff(self.edges)[inside]
        sums = np.bincount(cell, length, len(begin) * (GAP + 1)).astype(np.float64)
        return sums.reshape(len(begin), GAP + 1)


def segments(begin: Integers, end: Integers, layers: npt.NDArray[np.int8], cuts: Integers) -> Segments:
    """The part that counts at each moment, from intervals and their layers, also cut at `cuts`."""
    edges = np.sort(np.concatenate([begin, end, cuts]))
    edges = edges[np.append(True, np.diff(edges) > 0)]
    labels = np.full(max(len(edges) - 1, 0), GAP, np.int8)
    for layer in (CONTROL, WAIT, COPY, COMMUNICATION, COMPUTE):
        chosen = layers == layer
        if chosen.any():
            change = np.bincount(np.searchsorted(edges, begin[chosen]), minlength=len(edges))
            change = change - np.bincount(np.searchsorted(edges, end[chosen]), minlength=len(edges))
            labels[np.cumsum(change)[:-1] > 0] = layer
    return Segments(edges, labels)


def union(begin: Integers, end: Integers) -> int:
    """Picoseconds in which at least one interval is active. The intervals must be sorted by begin."""
    if not len(begin):
        return 0
    until = np.maximum.accumulate(end)
    before = np.concatenate([begin[:1], until[:-1]])
    return int(np.maximum(0, end - np.maximum(begin, before)).sum())


def merged(begin: Integers, end: Integers) -> tuple[Integers, Integers]:
    """The union of intervals as disjoint begins and ends. The intervals must be sorted by begin."""
    if not len(begin):
        return begin, end
    until = np.maximum.accumulate(end)
    cuts = np.flatnonzero(begin[1:] > until[:-1])
    return begin[np.append(0, cuts + 1)], until[np.append(cuts, len(until) - 1)]


def self_times(begin: Integers, end: Integers, parents: npt.NDArray[np.bool_]) -> Integers:
    """Each interval's time without nested intervals, attributed to the innermost that may contain others (`parents`).

    The intervals must be sorted by begin, and for equal begins by descending length.
    """
    own = end - begin
    if not len(begin) or not parents.any() or bool((np.maximum.accumulate(end)[:-1] <= begin[1:]).all()):
        return own
    times = own.tolist()
    open_ones: list[tuple[int, int]] = []  # (end, position)
    for at, (low, high, holds) in enumerate(zip(begin.tolist(), end.tolist(), parents.tolist(), strict=True)):
        while open_ones and open_ones[-1][0] <= low:
            open_ones.pop()
        if open_ones and high <= open_ones[-1][0]:
            times[open_ones[-1][1]] -= high - low
        if holds:
            open_ones.append((high, at))
    return np.maximum(np.array(times, np.int64), 0)
