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
    ("all-to-all", r"all[-_ ]?to[-_ ]?all|moea2a(?:dispatch|combine)"),
    ("permute", r"collective[-_ ]?permute|ppermute|send[-_]?recv|memcpy ?p(?:to|2)p"),
    ("broadcast", r"collective[-_ ]?broadcast|(?:nccl|rccl)\w*broadcast"),
    ("send", r"^%?(?:send|recv)(?:-done|-start)?(?:[.\d]*$|[. =])"),
    (
        "collective",
        r"async[-_]collective|\bcollective(?:[-_]|$)|\b(?:n|r|u|ms)?ccl|nccl(?:Dev)?Kernel|rccl|nvshmem|c10d::"
        r"|userbuffers|(?:deep|hybrid)_?ep|\bmori::|ep(?:dispatch|combine)(?:int(?:ra|er)node|lowlatency)",
    ),
)
_COMPILED = tuple((name, re.compile(pattern, re.I)) for name, pattern in _COLLECTIVES)
INDUCTOR = r"^triton_(?!tem)[a-z]+_fused"  # a kernel that torch.compile names after the operators around it
_FUSED_COMPUTE = re.compile(rf"(?:matmul|gemm|dot|conv)\w*(?:all[-_]?reduce|scatter)|{INDUCTOR}", re.I)
_COPY = re.compile(
    r"memcpy ?\(?(?:h|d|host|device|pinned|pageable)[\w ]*(?:to|2| -> )|(?:\b|_|copy)(?:h2d|d2h|htod|dtoh)"
    r"|copy(?:host|device)to|copy_?buffer|infeed|outfeed|host[-_ ]?transfer|transfer(?:to|from)device"
    r"|copy(?:to|from)host",
    re.I,
)
_ON_DEVICE = re.compile(r"(?:\b|copy|memcpy ?)d(?:evice)?(?: ?to ?|2| ?-> ?)d|memset|fillbuffer", re.I)
_ASYNC = re.compile(r"[-_](?:start|done)(?![\w-])|\basync-update\b")
_WAIT = re.compile(r"^%?(?:barrier-cores|dependency-wait|async-(?:start|done|update))\b", re.I)
HOST_MEMORY = "S(5)"  # in a layout: the memory space that is the host's


def collective(name: str, category: str = "", opcode: str = "") -> str:
    """The kind of collective that an operation is, as all-gather; empty for what is none.

    The opcode is the surest, then the name, then the category; one that tells the kind is better than one that only
    tells a collective. A matmul that a collective is fused with computes, and so does a kernel beside it that
    torch.compile names after it.
    """
    found = ""
    for text in (opcode, name, category):
        if text and not _FUSED_COMPUTE.search(text):
            kind = next((kind for kind, pattern in _COMPILED if pattern.search(text)), "")
            if kind not in ("", _COMPILED[-1][0]):
                return kind
            found = found or kind
    return found


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
