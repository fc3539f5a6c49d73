"""Sentences that a reader needs about a plan's expected numbers.

These are caveats, such as that they are extrapolated, and explanations of numbers that seem to contradict each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from planner.catalog import Value
from planner.catalog.hardware_columns import NO_CALIBRATION
from planner.formulas import thresholds
from planner.formulas.beyond_links import of_nodes
from planner.formulas.headlines import OF_ANY_RUNS, OF_RUNS, headline_template, leading
from planner.formulas.slices import of_one_axis, of_rings, of_the_slice
from planner.formulas.template import Template
from planner.number_text import percent, shown, spoken
from planner.terminal_table import counted

IDEAL = "ideal"
FAMILIES = {"gpu": "GPUs", "tpu": "TPUs"}
"""Calibrations for chips without published runs, and the chips of which they are the median."""
FITTED = {"tpu": " of TPUs", "neuron": ""}  # by the start of a calibration: whose runs it is fitted to, if not GPUs'
DRAFTS = (
    "n_draft_tokens", "acceptance_rate", "draft_time", "speculative_step_time", "tokens_per_verify",
    "speculative_token_time",
)  # fmt: skip
"""Rows of drafts: how many, how likely each is accepted, its time; that of a step with them, its tokens, one's time."""
EXTRAPOLATED = "is_extrapolated"
"""The row that is 1 if a plan is outside the range of the fitted runs; `notes` says in what."""
BEYOND = {
    "beyond_chips": "so many chips",
    "beyond_tensor": "so many tensor ways",
    "beyond_pipeline": "so many stages",
    "beyond_context": "so many context ways",
    "beyond_tokens": "so small a microbatch",
    "beyond_kind": "experts",
    "beyond_attention": "sparse attention",
}
"""Rows that are 1 if a plan is outside the range of the fitted runs, and in what."""
OWN_RUNS_TELL = "own_runs_tell"
"""The row that is 0 if a stack is fitted to the user's own runs, but to none of the plan's workload; older workbooks
lack it.
"""
MUCH = "much_longer"
"""The threshold: the least ratio of a context to the cache's length to be mentioned."""
UNUSED = 2.0
"""Least ratio of the cache's length to the longest sequence to be mentioned."""
DEMAND = ("target_token_time", "time_per_output_token_expected", "busy_replicas", "batch", "max_batch")
"""Rows of the time that a token may take and takes, of a fleet's replicas, of the batch and the largest in memory."""
SLACK = 2.0
"""Least ratio of the time that a token may take to that which it takes to be mentioned."""
LEAST = 1.01
"""Numbers with a smaller ratio look equal to a reader."""

FAR = 1.5
"""Least ratio of two numbers that are close enough by themselves."""

TWICE = 2.0
"""Ratio of a first token with the batch full to one without load from which the server's part of it is told."""

Numbers = Callable[[str], float | None]
"""From a formula in names to its value in a plan, in SI units; None for N/A."""


def chip_calibration(value: Callable[[str], Value]) -> Value:
    """The shipped calibration of a plan's chip, whichever its stack uses; older workbooks have only one."""
    return value("chip_calibration") or value("calibration_id")


def is_own_calibration(value: Callable[[str], Value]) -> bool:
    """Whether a plan's stack has a calibration of its own, as one that is fitted to a user's runs."""
    return value("calibration_id") != chip_calibration(value)


def of_runs(value: Callable[[str], Value], *, is_own: bool = False) -> str:
    """What the range of a plan holds, for headings: published runs, or with a user's own calibration (`is_own`) runs.

    `value` gives a plan's row by name.
    """
    return OF_ANY_RUNS if is_own or is_own_calibration(value) else OF_RUNS


def notes(value: Callable[[str], Value], own_runs: int | None, kind: str = "") -> Iterator[str]:
    """The caveats of a plan's numbers: that they are bounds, for a chip with few published runs, or extrapolated.

    `value` gives a plan's row by name, None if it is missing; `own_runs` is the number of published runs of its chip's
    calibration for this template, `kind` its chip's, blank if it isn't known.
    """
    calibration = chip_calibration(value)
    is_own = is_own_calibration(value)
    is_told = value(OWN_RUNS_TELL) != 0
    if value("stack") == IDEAL:
        yield "stack=ideal: these are the bounds. Nothing is lost but by waiting; no published run is faster."
    elif is_own and is_told:
        yield f"Fitted to runs of your own: the stack {value('stack')} has its own calibration for {calibration}."
    elif is_own:
        yield (
            f"None of the runs that the stack {value('stack')} is fitted to is of this workload: it is expected as "
            f"shipped for {calibration}, but for what it shares with them."
        )
    elif calibration in FAMILIES and not own_runs and kind not in ("", *FAMILIES):
        yield (
            f"No published runs of this chip, which is neither GPU nor TPU: the median of {FAMILIES[calibration]} "
            f"stands for it, and the wider range is of {FAMILIES[calibration]}."
        )
    elif calibration in FAMILIES:
        how_many = "Few" if own_runs else "No"
        yield f"{how_many} published runs of this chip: the median of {FAMILIES[calibration]}, with a wider range."
    elif own_runs == 0:
        yield "No published runs of this kind on this chip: fitted to other chips' runs, with a wider range."
    if not is_own and (other := value("fitted_for")) not in (None, NO_CALIBRATION):
        yield f"The stack {value('stack')} is fitted to runs on chips of {other}: on this chip its fit isn't used."
    yield from _of_the_cache(value)
    yield from _of_the_drafts(value)
    tokens, step = value("train_tokens"), value("batch_tokens")
    if isinstance(tokens, float) and isinstance(step, float) and step > tokens:
        yield f"The run of {tokens:,.0f} tokens is less than a step of {step:,.0f}: set train_tokens."
    yield from _of_the_prediction_layers(value)
    yield from of_the_batch(value)
    yield from of_the_slice(value, kind)
    yield from of_rings(value, kind)
    yield from of_one_axis(value, kind)
    yield from _of_the_switch(value)
    yield from of_nodes(value)
    yield from _of_the_target(value)
    if value(EXTRAPOLATED) == 1:
        beyond = " or ".join(words for name, words in BEYOND.items() if value(name) == 1)
        if is_own and is_told:
            yield f"Extrapolated: too few of your runs, to which the expected numbers are fitted, have {beyond}."
        else:
            family = next((said for start, said in FITTED.items() if str(calibration).startswith(start)), " of GPUs")
            yield f"Extrapolated: no run{family} that the expected numbers are fitted to has {beyond}."


def _of_the_prediction_layers(value: Callable[[str], Value]) -> Iterator[str]:
    """A sentence if a model has layers of multi-token prediction, and the plan trains none of them."""
    layers = value("model_mtp_layers")
    if isinstance(layers, float) and layers > 0 and value("n_mtp_layers") == 0:
        yield f"The plan leaves out multi-token prediction, which the model has: n_mtp_layers={layers:.0f} trains it."


def of_the_batch(value: Callable[[str], Value]) -> Iterator[str]:
    """A sentence if the sequences of a training step don't split evenly over its data ways and microbatches.

    The expected step takes an even split, so that it follows smoothly as a plan's sizes change. Less than a sequence a
    way fails a check of the template.
    """
    sequences, ways, microbatches = (value(name) for name in ("batch_sequences", "data_ways", "n_microbatches"))
    if not (isinstance(sequences, float) and isinstance(ways, float) and isinstance(microbatches, float)):
        return
    mean = sequences / (ways * microbatches) if ways * microbatches else 0.0
    busiest = math.ceil(round(mean, 2))  # 2.0000000001 is an even split
    if mean >= 1 and round(busiest / mean, 2) > 1:
        split = f"{shown(ways, '1')} data ways" + (f" of {shown(microbatches, '1')} microbatches" * (microbatches > 1))
        yield (
            f"{shown(sequences, '1')} sequences don't split evenly over {split}: the busiest takes {busiest:,}, the "
            f"mean is {shown(mean, '1')}. The expected step is that of the mean."
        )


def _of_the_switch(value: Callable[[str], Value]) -> Iterator[str]:
    """A sentence if collectives of a node are planned without the reductions that its switch makes by default."""
    is_in_node = value("all_reduce_n_nodes") == 1 and value("all_reduce_time_expected")
    if is_in_node and value("all_reduce_may_reduce") == 1 and value("has_sharp") == 0:
        yield "The expected all-reduce is a ring's. NCCL lets this chip's switch reduce (NVLS): has_sharp=1."


def _of_the_target(value: Callable[[str], Value]) -> Iterator[str]:
    """A sentence if a fleet's replicas could take more requests: its tokens may take far longer than they do."""
    known = [each for name in DEMAND if isinstance(each := value(name), float)]
    if len(known) < len(DEMAND):
        return
    asked, token, replicas, batch, most = known
    if replicas > 1 and batch < most and asked > SLACK * token:
        yield (
            f"A replica decodes {counted(int(batch), 'sequence')} at a time. A token takes {spoken(token, 's')} and "
            f"may take {spoken(asked, 's')}: a larger batch needs fewer replicas, and --solve batch "
            f"--for time_per_output_token_expected={asked:g}s finds the largest."
        )


def of_the_context(value: Callable[[str], Value]) -> Iterator[str]:
    """A sentence if the memory is for another context than the sequences have; `value` as in `notes`."""
    prompt, mean, answer, cache_len = (
        value(name) for name in ("prompt_len", "mean_context_len", "generate_len", "context_len")
    )
    longest = prompt + answer if isinstance(prompt, float) and isinstance(answer, float) else None
    if isinstance(cache_len, float):
        memory = f"Memory is that of a context of {cache_len:,.0f} tokens, and"
        if isinstance(prompt, float) and prompt > cache_len:
            yield f"{memory} the prompt has {prompt:,.0f}: set context_len."
        elif isinstance(mean, float) and mean > thresholds.number(MUCH) * cache_len:
            last = "" if longest is None else f", {longest:,.0f} in the end"
            yield f"{memory} sequences have {mean:,.0f} on average{last}: set context_len."
        elif longest is not None and cache_len > UNUSED * longest:
            yield f"{memory} sequences have {longest:,.0f} at most: set context_len."


def _of_the_cache(value: Callable[[str], Value]) -> Iterator[str]:
    """A sentence if the memory is for another cache than the sequences have, or than the expected time reads."""
    yield from of_the_context(value)
    copies = value("copies_too_many")
    if isinstance(copies, float) and copies > 0 and value("check_fits_memory") == 0:
        yield (
            f"The chips of a group hold {shown(copies + 1, '1')} copies of the cache, which has fewer heads: "
            "serve_data shares it among groups, cache_by_batch=1 among all chips."
        )
    shared, read = value("kv_chips"), value("cache_chips")
    if value("stack") != IDEAL and isinstance(shared, float) and isinstance(read, float) and read < shared:
        yield (
            f"Memory shares the cache among {shared:,.0f} chips, the expected time among {read:,.0f}, as servers that "
            "split heads keep copies: set kv_head_sharding=1 for copies in both, cache_by_batch=1 for none."
        )


def _of_the_drafts(value: Callable[[str], Value]) -> Iterator[str]:
    """A sentence if a plan has draft tokens, which no headline counts: what they make of a decode step."""
    known = [each for name in DRAFTS if isinstance(each := value(name), float)]
    if len(known) == len(DRAFTS) and known[0] > 0:
        count, chance, time, step, tokens, token = known
        yield (
            f"These times are without drafts. With {counted(int(count), 'draft token')} of {spoken(time, 's')}, each "
            f"accepted with a chance of {percent(chance, 0)}, a step of {spoken(step, 's')} makes {shown(tokens, '1')} "
            f"tokens: {spoken(token, 's')} each. No published run is behind that."
        )


def agreements(template: Template, number: Numbers) -> Iterator[str]:
    """A sentence for each pair of numbers that a reader would compare and find contradictory."""
    named_headlines = {each.row.name for each in leading(headline_template(template), template.by_name)}
    if "time_per_output_token_expected" in named_headlines:
        yield from _of_a_token(number)
    if "output_tokens_per_second_expected" in named_headlines:
        yield from _of_a_second(number)
    if "time_to_first_token_full_expected" in named_headlines:
        yield from _of_a_first_token(number)
    if "mfu_expected" in named_headlines:
        yield from _of_utilisation(number)
        yield from _of_recomputation(number)
        yield from _of_fsdp(number)
        yield from _of_slices(number)


def _of_a_token(number: Numbers) -> Iterator[str]:
    """Why a token takes longer than a decode step."""
    step, prefills = number("mean_step_time_expected"), number("prefills_between_expected")
    context, parts = number("mean_context_len"), number("busy_parts")
    waiting, groups = number("waiting_prompts"), number("lockstep_groups")
    others = waiting and groups and parts and waiting * groups * parts  # groups that share experts hold it up too
    whose = "the other sequence's prefill" if others == 1 else f"the {shown(others, '1')} other sequences' prefills"
    if step and prefills and prefills > (LEAST - 1) * step:
        yield (
            f"A token takes a decode step, {spoken(step, 's')} at the mean context of {shown(context, '1')}, and "
            f"{spoken(prefills, 's')} of {whose} between steps."
        )


def _of_a_second(number: Numbers) -> Iterator[str]:
    """Why there are fewer tokens per second than the time per token suggests: the batch's prefills take time."""
    time, rate = number("query_time_expected"), number("output_tokens_per_second_expected")
    token, batch, length = number("time_per_output_token_expected"), number("batch"), number("generate_len")
    if not (time and rate and token and batch and batch / token > LEAST * rate):
        return
    tokens = "1 token" if length == 1 else f"{shown(length, '1')} tokens"
    answers = f"The answer of {tokens}" if batch == 1 else f"The {shown(batch, '1')} answers of {tokens}"
    each, take = ("", "takes") if batch == 1 else ("each ", "take")
    if number("is_apart"):
        own = spoken(number("answers_time_expected"), "s")
        slower = "caches on their way" if time == number("transfers_time") else "chips of their own that prefill"
        yield f"{answers} {take} {own}, and the {slower} {spoken(time, 's')}: these set the rate."
    else:
        yield f"{answers}, {each}with its prefill, {take} {spoken(time, 's')}: {spoken(rate, '1')} tokens a second."


def _of_a_first_token(number: Numbers) -> Iterator[str]:
    """Why a first token takes longer with the batch full though little waits, and how long it may take at most."""
    alone, full = number("time_to_first_token_expected"), number("time_to_first_token_full_expected")
    server = number("server_time")
    if alone and full and server and full > TWICE * alone and server > (full - alone) / 2:
        yield (
            f"Of the time to first token with the batch full, {spoken(server, 's')} are the server's "
            "(request_overhead and request_token_overhead); without load it is the engine's alone."
        )
    together = number("prefill_batch_time_expected")
    if full and together and together > FAR * full:
        yield (
            "With the batch full, prompts come as answers end. Where they come together, as in benchmarks of one "
            f"length, the last waits for all of them: up to {spoken(together, 's')}."
        )


def _of_utilisation(number: Numbers) -> Iterator[str]:
    """Why MFU is less than the share of the work at peak."""
    matmuls, work = number("matmul_train_flops/total_peak"), number("work_part_time")
    if matmuls and work and work > LEAST * matmuls:
        yield (
            f"MFU counts the matmuls alone, {spoken(matmuls, 's')} at the peak; with attention the work is "
            f"{spoken(work, 's')}."
        )


def _of_recomputation(number: Numbers) -> Iterator[str]:
    """Why the bound includes more recomputation than the parts of the expected step."""
    full, fitted = number("remat_flops/total_peak"), number("repeated_part_time")
    if full and fitted and full > LEAST * fitted:
        yield (
            f"Repeating what `remat` doesn't keep takes {spoken(fitted, 's')}, fitted to runs; the bound has "
            f"all of its work at the peak, {spoken(full, 's')}."
        )


def _of_fsdp(number: Numbers) -> Iterator[str]:
    """Why the tokens from which FSDP is compute-bound aren't those at which the plan's own times are equal.

    FSDP's communication doesn't depend on a plan's tokens, and its compute is proportional to them.
    """
    block, own = number("critical_tokens_per_chip_fsdp"), number("tokens_per_chip*fsdp_comm_time/compute_time")
    experts, active = number("n_experts"), number("n_experts_active")
    if not (block and own and max(block / own, own / block) > FAR):
        return
    of_experts = (
        f" of {experts:,.0f} experts, {active:,.0f} for each token," if experts and active and experts > 1 else ""
    )
    yield (
        f"FSDP's {block:,.0f} tokens of a chip count the matmuls of a feed-forward block{of_experts} alone: with "
        f"attention, the other layers, recomputation and its mesh, this plan is compute-bound from {own:,.0f}."
    )


def _of_slices(number: Numbers) -> Iterator[str]:
    """What slices send each other over DCN, which the expected step leaves out."""
    step, sent = number("step_time_expected"), number("dcn_comm_time")
    if step and sent and sent > (LEAST - 1) * step:
        yield (
            f"Communication over DCN, {spoken(sent, 's')}, is in the bound alone: the expected step takes it to be "
            "hidden."
        )
