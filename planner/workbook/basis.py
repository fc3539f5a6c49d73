"""What Dashboard says the expected numbers of a scenario rest on: runs like it or not, and which sizes contradict.

Closed lines, each with the text so far; the last has the answer, which the verdict repeats.
"""

from __future__ import annotations

from planner.catalog.hardware_columns import NO_CALIBRATION
from planner.formulas.expected import (
    BEYOND,
    DEMAND,
    DRAFTS,
    EXTRAPOLATED,
    FAMILIES,
    IDEAL,
    MUCH,
    OWN_RUNS_TELL,
    SLACK,
    UNUSED,
)
from planner.workbook.cell_styles import SAID
from planner.workbook.dashboard_lines import Lines, LineWriter
from planner.workbook.verdict import UNTOLD
from planner.xlsx.grid import HERE

LIKE, LIKE_OWN, BOUNDS = "not beyond the fitted runs", "as your own fit has them", "these are the bounds"
UNTOLD_OWN = "as shipped: your own fit has no run of such work"
UNLIKE, MEDIAN = "extrapolated: few or no fitted runs have", "no or few runs of this chip: others' median"
CACHE = ("context_len", "prompt_len", "generate_len", "mean_context_len")
"""Rows: the length for which the cache has memory, those of a prompt and an answer, and the mean length of both."""
SHARED = ("kv_chips", "cache_chips")
"""Rows of the chips that share the cache in memory, and of those that share it in the expected time."""
SPLIT = ("batch_sequences", "data_ways", "n_microbatches")
"""Rows of the sequences of a step, and of the ways and microbatches that share them."""


def write_basis(writer: LineWriter, each: Lines, at: int) -> int:
    """Write closed lines on whether the fitted runs are like a workload's plan, or in what it differs from all of them.

    Each line has what is known so far, the last one the answer. Returns the next free row; a template without this
    information has no lines.
    """
    sheet, known = each.sheet, each.sheet.template.by_name
    if EXTRAPOLATED not in known:
        return at
    chip, counts, stack, fitted_for, tells = (
        sheet.here(name) for name in ("chip_calibration", "calibration_id", "stack", "fitted_for", OWN_RUNS_TELL)
    )
    of_others = ",".join(f'{counts}="{family}"' for family in FAMILIES)
    lines = [
        ("fitted runs", "", f'IF({counts}={chip},"{LIKE}",IF({tells}=0,"{UNTOLD_OWN}","{LIKE_OWN}"))'),
        ("runs of the chip", "", f'IF(OR({of_others}),"{MEDIAN}",{HERE}{at})'),
    ]
    for place, name in enumerate([name for name in reversed(BEYOND) if name in known], start=at + len(lines)):
        condition = f'IF({sheet.here(name)}=1,"{UNLIKE} "&$E{place},{HERE}{place - 1})'
        lines.append((f"no fitted run has {BEYOND[name]}", BEYOND[name], condition))
    is_elsewhere = f'AND({counts}={chip},{fitted_for}<>"{NO_CALIBRATION}")'
    last = f"{HERE}{at + len(lines) - 1}"
    of_other = f'{last}&"; "&{stack}&" is fitted for "&{fitted_for}&" alone"'
    lines.append(("stack of other chips", "", f"IF({is_elsewhere},{of_other},{last})"))
    each.basis = at + len(lines)
    lines.append(("what is expected", "", f'IF({stack}="{IDEAL}","{BOUNDS}",{HERE}{each.basis - 1})'))
    for place, (label, beyond, words) in enumerate(lines, start=at):
        said = (f"{sheet.page.name}: {label}", "text", "", "", beyond)
        writer.line(place, said, f'IFERROR({words},"{UNTOLD}")', "plan_words")
    _write_sizes(writer, each)
    writer.close(range(at, each.basis + 1))
    return each.basis + 1


def _write_sizes(writer: LineWriter, each: Lines) -> None:
    """Write lines that add what a plan's sizes leave open: memory for far longer sequences, for shorter ones or without
    the copies of the cache that the expected time reads, tokens that may take far longer, or an uneven split.

    The expected module says the same of a single plan.
    """
    sheet, known = each.sheet, each.sheet.template.by_name
    if known.keys() >= set(CACHE):
        cache, prompt, answer, mean = (sheet.here(name) for name in CACHE)
        long = f'"; memory is for "&FIXED({cache},0)&" tokens, sequences have "&FIXED({prompt}+{answer},0)'
        _add(writer, each, "memory for longer sequences", f"{cache}>{UNUSED:g}*({prompt}+{answer})", long)
        _add(writer, each, "memory for shorter sequences", f"{mean}>{writer.units.threshold(MUCH)}*{cache}", long)
    if known.keys() >= set(SHARED):
        held, read = (sheet.here(name) for name in SHARED)
        copied = f'"; memory shares the cache among "&FIXED({held},0)&" chips, times among "&FIXED({read},0)'
        is_copied = f'AND({sheet.here("stack")}<>"{IDEAL}",{read}<{held})'
        _add(writer, each, "copies of the cache that memory doesn't have", is_copied, copied)
    if known.keys() >= set(DRAFTS):
        drafts, step, token = (sheet.here(name) for name in (DRAFTS[0], "decode_step_time_expected", DRAFTS[-1]))
        share = f'FIXED({token}/{step},2)&" of a decode step"'
        _add(writer, each, "drafts", f"{drafts}>0", f'"; times without drafts, with which a token takes "&{share}')
    if known.keys() >= set(DEMAND):
        asked, token, replicas, batch, most = (sheet.here(name) for name in DEMAND)
        condition = f"AND({asked}>{SLACK:g}*{token},{batch}<{most},{replicas}>1)"
        larger = f'"; tokens may take "&FIXED({asked}/{token},1)&" times as long: a larger batch needs fewer replicas"'
        _add(writer, each, "small batch", condition, larger)
    if known.keys() >= set(SPLIT):
        each.basis += 1
        sequences, *shared = (sheet.here(name) for name in SPLIT)
        said = (f"{sheet.page.name}: sequences of a data way", "1", "", "", "of a microbatch, on average")
        writer.line(each.basis, said, "/".join([sequences, *shared]), form=SAID)
        mean = f"{HERE}{each.basis}"
        most = f"ROUNDUP(ROUND({mean},2),0)"  # 2.0000000001 is an even split
        uneven = f'"; sequences don\'t split evenly: "&{most}&" at most, "&FIXED({mean},1)&" on average"'
        _add(writer, each, "uneven split", f"AND({mean}>=1,ROUND({most}/{mean},2)>1)", uneven, each.basis - 1)


def _add(writer: LineWriter, each: Lines, label: str, condition: str, words: str, before: int = 0) -> None:
    """Write a line with the text of row `before`, by default the one above, and `words` if the condition holds."""
    last = f"{HERE}{before or each.basis}"
    each.basis += 1
    said = (f"{each.sheet.page.name}: {label}", "text", "", "", "")
    writer.line(each.basis, said, f'{last}&IFERROR(IF({condition},{words},""),"")', "plan_words")
