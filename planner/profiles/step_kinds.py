"""Kinds of a server's steps, of prefill, of decode or of both at once, by what marks, programs and kernels are called.

Servers count the requests of each batch in its mark (`execute_context_2(96)_generation_0(0)` of vLLM, `_forward_step 7:
2 ctx reqs, 0 gen reqs` of TensorRT-LLM) or name what it is (`step[DECODE bs=8]` of SGLang, `jit_prefill` of a program).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

PREFILL, DECODE, MIXED = "prefill", "decode", "mixed"
PHASES = (PREFILL, DECODE, MIXED)
_COUNTS = re.compile(  # of requests in prefill and in decode: digits, or # for some
    r"(?:context|new|prefill)_?(\d+|#).*?(?:generation|cached|decode)_?(\d+|#)"
    r"|(\d+|#) ctx reqs,.*?(\d+|#) gen reqs",
    re.I,
)
_PREFILL = re.compile(r"prefill|(?<!draft_)extend(?!ed)", re.I)
_DECODE = re.compile(r"decode(?!r)|target_verify|\bjit_+generate(?!d)", re.I)  # the last is MaxText's engine's
_MIXED = re.compile(r"step\[\s*mixed\b", re.I)
_KERNELS = (  # of attention, that read a cache by its pages for many tokens of a sequence, or for one
    (PREFILL, re.compile(r"prefill|context_?attention|fmha\w*context\b|mla_pfl", re.I)),
    (
        DECODE,
        re.compile(
            r"decode(?!r)|(?<!ragged_)paged_?attention|masked_?multihead|fmha\w*forgeneration|splitkv_mla|mla_dec"
            r"|_fwd_grouped_kernel_stage",
            re.I,
        ),
    ),
)


@lru_cache(maxsize=1 << 12)
def phase(name: str) -> str:
    """Which phase of serving a name is of: `prefill`, `decode` or `mixed`; empty where it tells none."""
    if counts := _COUNTS.search(name):
        prefills, decodes = (each.strip("0") != "" for each in counts.groups() if each)
        return _of(prefills, decodes)
    return MIXED if _MIXED.search(name) else _of(bool(_PREFILL.search(name)), bool(_DECODE.search(name)))


def phase_of_kernels(names: Iterable[str]) -> str:
    """Which phase a step is of by the names of its kernels; empty where they are the same in both."""
    told = {which for name in names for which, words in _KERNELS if words.search(name)}
    return _of(PREFILL in told, DECODE in told)


def _of(prefills: bool, decodes: bool) -> str:
    return MIXED if prefills and decodes else PREFILL if prefills else DECODE if decodes else ""


def is_asked(name: str, asked: str) -> bool:
    """Whether steps of a name are those that a person asked for, by a phase or by a part of the name; blank: all."""
    word = asked.strip().lower()
    return phase(name) == word if word in PHASES else word in name.lower()


def unnumbered(name: str) -> str:
    """A name with # for each number: the kind of what is numbered; a 0 stays where it counts requests of a phase."""
    counts = _COUNTS.search(name)
    since = counts.start() if counts else len(name)
    return re.sub(r"#?(\d+)", lambda each: "0" if each.start() >= since and not int(each[1]) else "#", name)
