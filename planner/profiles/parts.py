"""Which part of a step an operation is, by its name, category and opcode: each alone misses some.

A TPU files `async-collective-start` under "custom fusion", a GPU's kernel bears the name of its library.
"""

from __future__ import annotations

import re

from planner.profiles.profile import Part

CONTROL = ("while", "conditional", "call")  # they only hold others, which run meanwhile

_COLLECTIVES = (
    ("reduce-scatter", r"(?:reduce|psum)[-_ ]?scatter"),
    (
        "all-reduce",
        r"all[-_ ]?reduce|cross_device_reduce|multimem_.*reduce|\bpsum|(?:one|two)_?shot.*reduce",
    ),
    ("all-gather", r"all[-_ ]?gather"),
    ("all-to-all", r"all[-_ ]?to[-_ ]?all"),
    ("permute", r"collective[-_ ]?permute|ppermute|send[-_]?recv|memcpy ?p(?:to|2)p"),
    ("broadcast", r"collective[-_ ]?broadcast|(?:nccl|rccl)\w*broadcast"),
    ("send", r"^%?(?:send|recv)(?:-done|-start)?(?:[.\d]*$|[. =])"),
    ("collective", r"async[-_]collective|\bcollective|\bn?r?ccl|ncclDevKernel|ncclKernel|nvshmem|rccl|deep_?ep|c10d::"),
)
_COMPILED = tuple((name, re.compile(pattern, re.I)) for name, pattern in _COLLECTIVES)
_FUSED_COMPUTE = re.compile(r"(?:matmul|gemm|dot|conv)\w*(?:all[-_]?reduce|scatter)", re.I)
_COPY = re.compile(
    r"memcpy ?\(?(?:h|d|host|device|pinned|pageable)[\w ]*(?:to|2| -> )|h2d|d2h|htod|dtoh|copy_?buffer|infeed|outfeed"
    r"|host[-_ ]?transfer|transfer(?:to|from)device|copy(?:to|from)host",
    re.I,
)
_ON_DEVICE = re.compile(r"(?:\b|memcpy ?)d(?:evice)?(?: ?to ?|2| ?-> ?)d|memset|fillbuffer", re.I)
_ASYNC = re.compile(r"[-_](?:start|done)(?![\w-])|\basync-update\b")
_WAIT = re.compile(r"^%?(?:barrier-cores|dependency-wait|async-(?:start|done|update))\b", re.I)
HOST_MEMORY = "S(5)"  # in a layout: the memory space that is the host's


def collective(name: str, category: str = "", opcode: str = "") -> str:
    """The kind of collective that an operation is, as all-gather; empty for what is none.

    The opcode is the surest, then the name, then the category. A matmul that a collective is fused with computes.
    """
    for text in (opcode, name, category):
        if text and not _FUSED_COMPUTE.search(text):
            for kind, pattern in _COMPILED:
                if pattern.search(text):
                    return kind
    return ""


def part(name: str, category: str = "", opcode: str = "", expression: str = "") -> Part:
    """What an operation's time is: it computes, communicates, copies from or to the host, or waits for something.

    `expression` is its HLO text, whose layouts say where a copy goes.
    """
    if category == "convolution fusion":  # the matmul unit works, with whatever collective it is fused
        return "compute"
    if collective(name, category, opcode):
        return "communication"
    asynchronous = bool(_ASYNC.search(name) or _ASYNC.search(opcode) or _ASYNC.search(category))
    if _COPY.search(name) and not _ON_DEVICE.search(name):
        return "copy"
    if opcode in ("infeed", "outfeed") or category in ("infeed", "outfeed", "host send", "host recv"):
        return "copy"
    if asynchronous and "copy" in f"{name} {category} {opcode}" and HOST_MEMORY in expression:
        return "copy"
    if asynchronous or _WAIT.search(name):
        return "wait"
    return "compute"
