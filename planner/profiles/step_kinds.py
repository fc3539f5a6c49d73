"""Kinds of a server's steps (prefill, decode or both at once), identified by names of marks, programs and kernels.

Servers write the number of requests of each batch into its mark (`execute_context_2(96)_generation_0(0)` of vLLM,
`_forward_step 7: 2 ctx reqs, 0 gen reqs` of TensorRT-LLM), or name its kind (`step[DECODE bs=8]` of SGLang, a program
`jit_prefill`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

PREFILL, DECODE, MIXED = "prefill", "decode", "mixed"
PHASES = (PREFILL, DECODE, MIXED)
_COUNTS = re.compile(  # number of requests in prefill and decode: digits, or # for an unknown number
    r"(?:context|new|prefill)_?(\d+|#).*?(?:generation|cached|decode)_?(\d+|#)"
    r"|(\d+|#) ctx reqs,.*?(\d+|#) gen reqs",
    re.I,
)
_PREFILL = re.compile(r"prefill|(?<!draft_)extend(?!ed)", re.I)
_DECODE = re.compile(r"decode(?!r)|target_verify|\bjit_+generate(?!d)", re.I)  # the last is for MaxText's engine
_MIXED = re.compile(r"step\[\s*mixed\b", re.I)
_KERNELS = (  # paged attention kernels for many tokens of a sequence, or for one
    (PREFILL, re.compile(r"prefill|context_?attention|fmha\w*context\b|mla_pfl", re.I)),
    (
        DECODE,
        re.compile(
            r"decode(?!r)|(?<!ragged_)paged_?attention|masked_?multihead|fmha\w*forgen|splitkv_mla|mla_dec"
            r"|_fwd_grouped_kernel_stage|(?:^|[\d:])pa_(?:bf|fp)16_",
            re.I,
        ),
    ),
)


@lru_cache(maxsize=1 << 12)
def phase(name: str) -> str:
    """The serving phase that a name indicates: `prefill`, `decode` or `mixed`; empty for none."""
    if counts := _COUNTS.search(name):
        prefills, decodes = (each.strip("0") != "" for each in counts.groups() if each)
        return _of(prefills, decodes)
    return MIXED if _MIXED.search(name) else _of(bool(_PREFILL.search(name)), bool(_DECODE.search(name)))


def phase_of_kernels(names: Iterable[str]) -> str:
    """The phase of a step by the names of its kernels; empty if they are the same in both phases."""
    phases = {which for name in names for which, words in _KERNELS if words.search(name)}
    return _of(PREFILL in phases, DECODE in phases)


def _of(prefills: bool, decodes: bool) -> str:
    return MIXED if prefills and decodes else PREFILL if prefills else DECODE if decodes else ""


def is_asked(name: str, asked: str) -> bool:
    """Whether steps of this name match the request, which is a phase or a part of the name; blank matches all."""
    word = asked.strip().lower()
    return phase(name) == word if word in PHASES else word in name.lower()


def unnumbered(name: str) -> str:
    """A name with each number replaced by #, which identifies the kind.

    A 0 is kept where it counts requests of a phase.
    """
    counts = _COUNTS.search(name)
    since = counts.start() if counts else len(name)
    return re.sub(r"#?(\d+)", lambda each: "0" if each.start() >= since and not int(each[1]) else "#", name)
