"""How numbers of one plan agree that seem to contradict each other, in sentences with the plan's own numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.formulas.headlines import leading
from planner.formulas.template import Template
from planner.spoken import shown, spoken

LEAST = 1.01
"""Numbers that are nearer to each other than this look alike to a reader."""

Numbers = Callable[[str], float | None]
"""What a formula in names of rows is in a plan, in SI units; None for N/A."""


def sentences(template: Template, number: Numbers) -> Iterator[str]:
    """A sentence for each two headlines or parts of a plan that a reader would hold against each other."""
    told = {each.row.name for each in leading(template.name, template.by_name)}
    if "time_per_output_token_expected" in told:
        yield from _of_a_token(number)
    if "output_tokens_per_second_expected" in told:
        yield from _of_a_second(number)
    if "mfu_expected" in told:
        yield from _of_utilisation(number)
        yield from _of_recomputation(number)


def _of_a_token(number: Numbers) -> Iterator[str]:
    """Why a token takes longer than a decode step."""
    step, prefills = number("mean_step_time_expected"), number("prefills_between_expected")
    context, others = number("mean_context_len"), number("waiting_prompts")
    if step and prefills and prefills > (LEAST - 1) * step:
        yield (
            f"A token takes a decode step, {spoken(step, 's')} at the mean context of {shown(context, '1')}, and "
            f"{spoken(prefills, 's')} of the {shown(others, '1')} other sequences' prefills between steps."
        )


def _of_a_second(number: Numbers) -> Iterator[str]:
    """Why fewer tokens come in a second than the time of one suggests: the batch's own prefills take time too."""
    time, rate = number("query_time_expected"), number("output_tokens_per_second_expected")
    token, batch, length = number("time_per_output_token_expected"), number("batch"), number("generate_len")
    if not (time and rate and token and batch and batch / token > LEAST * rate):
        return
    answers = f"The {shown(batch, '1')} answers of {shown(length, '1')} tokens"
    if number("is_apart"):
        own = spoken(number("answers_time_expected"), "s")
        yield f"{answers} take {own}, and the chips of their own that prefill {spoken(time, 's')}: these set the rate."
    else:
        yield f"{answers}, each with its prefill, take {spoken(time, 's')}: {spoken(rate, '1')} tokens a second."


def _of_utilisation(number: Numbers) -> Iterator[str]:
    """Why MFU is less than the share of the work at the peak."""
    matmuls, work = number("matmul_train_flops/total_peak"), number("work_part_time")
    if matmuls and work and work > LEAST * matmuls:
        yield (
            f"MFU counts the matmuls alone, {spoken(matmuls, 's')} at the peak; with attention the work is "
            f"{spoken(work, 's')}."
        )


def _of_recomputation(number: Numbers) -> Iterator[str]:
    """Why the bound has more recomputation than the parts of the expected step."""
    full, fitted = number("remat_flops/total_peak"), number("repeated_part_time")
    if full and fitted and full > LEAST * fitted:
        yield (
            f"Repeating what `remat` doesn't keep takes {spoken(fitted, 's')}, fitted to published runs; the bound has "
            f"all of its work at the peak, {spoken(full, 's')}."
        )
