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
from planner.workbook.calculation import CalculationSheet
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


def write_basis(writer: LineWriter, each: Lines) -> None:
    """Write closed lines on whether the fitted runs are like a workload's plan, or in what it differs from all of them.

    Each line has what is known so far, the last one the answer. A template without this information has no lines.
    """
    sheet, known = each.sheet, each.sheet.template.by_name
    if EXTRAPOLATED not in known:
        return

    def add(label: str, words: str, beyond: str = "") -> str:
        said = (f"{sheet.page.name}: {label}", "text", "", "", beyond)
        return writer.add(said, f'IFERROR({words},"{UNTOLD}")')

    chip, counts, stack, fitted_for, tells = (
        sheet.here(name) for name in ("chip_calibration", "calibration_id", "stack", "fitted_for", OWN_RUNS_TELL)
    )
    of_others = ",".join(f'{counts}="{family}"' for family in FAMILIES)
    last = add("fitted runs", f'IF({counts}={chip},"{LIKE}",IF({tells}=0,"{UNTOLD_OWN}","{LIKE_OWN}"))')
    last = add("runs of the chip", f'IF(OR({of_others}),"{MEDIAN}",{last})')
    for name in (name for name in reversed(BEYOND) if name in known):
        condition = f'IF({sheet.here(name)}=1,"{UNLIKE} "&$E{writer.at},{last})'
        last = add(f"no fitted run has {BEYOND[name]}", condition, BEYOND[name])
    is_elsewhere = f'AND({counts}={chip},{fitted_for}<>"{NO_CALIBRATION}")'
    of_other = f'{last}&"; "&{stack}&" is fitted for "&{fitted_for}&" alone"'
    last = add("stack of other chips", f"IF({is_elsewhere},{of_other},{last})")
    add("what is expected", f'IF({stack}="{IDEAL}","{BOUNDS}",{last})')
    _write_sizes(writer, sheet)
    each.basis = writer.at - 1


def _write_sizes(writer: LineWriter, sheet: CalculationSheet) -> None:
    """Write lines that add what a plan's sizes leave open: memory for far longer sequences, for shorter ones or without
    the copies of the cache that the expected time reads, tokens that may take far longer, or an uneven split.

    The expected module says the same of a single plan.
    """
    known = sheet.template.by_name
    if known.keys() >= set(CACHE):
        cache, prompt, answer, mean = (sheet.here(name) for name in CACHE)
        long = f'"; memory is for "&FIXED({cache},0)&" tokens, sequences have "&FIXED({prompt}+{answer},0)'
        _add(writer, sheet, "memory for longer sequences", f"{cache}>{UNUSED:g}*({prompt}+{answer})", long)
        _add(writer, sheet, "memory for shorter sequences", f"{mean}>{writer.units.threshold(MUCH)}*{cache}", long)
    if known.keys() >= set(SHARED):
        held, read = (sheet.here(name) for name in SHARED)
        copied = f'"; memory shares the cache among "&FIXED({held},0)&" chips, times among "&FIXED({read},0)'
        is_copied = f'AND({sheet.here("stack")}<>"{IDEAL}",{read}<{held})'
        _add(writer, sheet, "copies of the cache that memory doesn't have", is_copied, copied)
    if known.keys() >= set(DRAFTS):
        drafts, step, token = (sheet.here(name) for name in (DRAFTS[0], "decode_step_time_expected", DRAFTS[-1]))
        share = f'FIXED({token}/{step},2)&" of a decode step"'
        _add(writer, sheet, "drafts", f"{drafts}>0", f'"; times without drafts, with which a token takes "&{share}')
    if known.keys() >= set(DEMAND):
        asked, token, replicas, batch, most = (sheet.here(name) for name in DEMAND)
        condition = f"AND({asked}>{SLACK:g}*{token},{batch}<{most},{replicas}>1)"
        larger = f'"; tokens may take "&FIXED({asked}/{token},1)&" times as long: a larger batch needs fewer replicas"'
        _add(writer, sheet, "small batch", condition, larger)
    if known.keys() >= set(SPLIT):
        sequences, *shared = (sheet.here(name) for name in SPLIT)
        said = (f"{sheet.page.name}: sequences of a data way", "1", "", "", "of a microbatch, on average")
        before = writer.at - 1
        mean = writer.add(said, "/".join([sequences, *shared]), "plan_formula", SAID)
        most = f"ROUNDUP(ROUND({mean},2),0)"  # 2.0000000001 is an even split
        uneven = f'"; sequences don\'t split evenly: "&{most}&" at most, "&FIXED({mean},1)&" on average"'
        _add(writer, sheet, "uneven split", f"AND({mean}>=1,ROUND({most}/{mean},2)>1)", uneven, before)


def _add(writer: LineWriter, sheet: CalculationSheet, label: str, condition: str, words: str, before: int = 0) -> None:
    """Write a line with the text of row `before`, by default the one above, and `words` if the condition holds."""
    last = f"{HERE}{before or writer.at - 1}"
    said = (f"{sheet.page.name}: {label}", "text", "", "", "")
    writer.add(said, f'{last}&IFERROR(IF({condition},{words},""),"")')
