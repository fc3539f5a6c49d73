"""Caveats of expected numbers: that they are bounds, for a chip with few published runs, or extrapolated."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.catalog import Value

IDEAL = "ideal"
FAMILIES = {"gpu": "GPUs", "tpu": "TPUs"}
"""Calibrations that stand for chips of which no run is published, and of which chips they are the median."""
EXTRAPOLATED = "is_extrapolated"
"""The row that is 1 where a plan lies outside of the fitted runs; `notes` says where."""
BEYOND = {
    "beyond_chips": "so many chips", "beyond_tensor": "so many tensor ways", "beyond_pipeline": "so many stages",
    "beyond_context": "so many context ways", "beyond_tokens": "so small a microbatch", "beyond_kind": "experts",
}  # fmt: skip
"""Rows that are 1 where a plan lies outside of the fitted runs, and what it has that none of them has."""


def chip_calibration(value: Callable[[str], Value]) -> Value:
    """The shipped calibration of a plan's chip, whichever its stack has; an older workbook knows no other."""
    return value("chip_calibration") or value("calibration_id")


def notes(value: Callable[[str], Value], own_runs: int | None) -> Iterator[str]:
    """What a reader must know of a plan's numbers, in sentences.

    `value` gives the plan's rows by name, None for one that it lacks, `own_runs` is how many published runs of its
    chip's calibration there are for this template.
    """
    calibration = chip_calibration(value)
    is_own = value("calibration_id") != calibration
    if value("stack") == IDEAL:
        yield "stack=ideal: these are the bounds. Nothing is lost in them; no published run is faster."
    elif is_own:
        yield f"Fitted to runs of your own: the stack {value('stack')} has its own calibration for {calibration}."
    elif calibration in FAMILIES:
        how_many = "Few" if own_runs else "No"
        yield f"{how_many} published runs of this chip: the median of {FAMILIES[calibration]}, with a wider range."
    elif own_runs == 0:
        yield "No published runs of this kind on this chip: fitted to other chips' runs, with a wider range."
    prompt, held = value("prompt_len"), value("context_len")
    if isinstance(prompt, float) and isinstance(held, float) and prompt > held:
        yield f"Memory is that of a context of {held:,.0f} tokens, and the prompt has {prompt:,.0f}: set context_len."
    tokens, step = value("train_tokens"), value("batch_tokens")
    if isinstance(tokens, float) and isinstance(step, float) and step > tokens:
        yield f"The run of {tokens:,.0f} tokens is less than a step of {step:,.0f}: set train_tokens."
    if value(EXTRAPOLATED) == 1:
        beyond = " or ".join(words for name, words in BEYOND.items() if value(name) == 1)
        kind = "yours" if is_own else "TPUs" if str(calibration).startswith("tpu") else "GPUs"
        if value("serve_most_chips") == 0 and not is_own:
            yield f"Extrapolated: no run that serves on {kind} is published."
        else:
            yield f"Extrapolated: no run of {kind} that the expected numbers are fitted to has {beyond}."
