"""A template computed in part: only what is wanted and what changes, to the bit what the whole gives."""

from __future__ import annotations

import random

import numpy as np
import pytest

from planner.formulas import library
from planner.formulas.evaluation import encoded, evaluate
from planner.formulas.input_values import is_whole, limits
from planner.formulas.lookups import facts
from planner.formulas.partial import partial
from planner.formulas.template import Row

CHIPS = ("h100-sxm", "tpu-v5p", "tpu-v5e", "a100-sxm-80")
SAME = 1e-14
MODELS = ("llama3-70b", "deepseek-v3", "gemma2-27b", "llama4-scout")


def tried(row: Row, rng: random.Random) -> list[float | str]:
    """Some values of an input that its limits allow; now and then one that makes no sense."""
    if row.unit == "text":
        return list(row.choices) or [str(row.default)]
    allowed = limits(row)
    if allowed.is_flag or allowed.is_stage:
        return [float(each) for each in range(int(1 if allowed.is_flag else allowed.most) + 1)]
    now = row.default if isinstance(row.default, float) and row.default else 1.0
    found = [now * 2.0 ** rng.randint(-3, 6) for _ in range(rng.randint(1, 4))]
    return (
        [float(max(1, round(each))) for each in found] if is_whole(row) else [min(each, allowed.most) for each in found]
    )


def random_plans(name: str, rng: random.Random):
    """Of a template random plans: what its lookups read, what is typed, and axes that broadcast, the latter as codes.

    And the rows that are asked of them, and what `evaluate` gives.
    """
    template = library.load(name)
    inputs = template.of_kind("input")
    found = facts(
        template, rng.choice(MODELS) if template.of_kind("model") else None,
        rng.choice(CHIPS) if template.of_kind("hardware") else None,
    )  # fmt: skip
    swept = rng.sample(inputs, min(len(inputs), rng.randint(1, 4)))
    axes = {}
    for at, row in enumerate(swept):
        axes[row.name] = np.array(tried(row, rng)).reshape([-1 if at == each else 1 for each in range(len(swept))])
    typed = {row.name: tried(row, rng)[0] for row in rng.sample(inputs, min(3, len(inputs)))}
    typed = {each: value for each, value in typed.items() if each not in axes}
    whole = evaluate(template, found, {**typed, **axes})
    rows = template.of_kind("output", "check", "calc")
    wanted = [row.name for row in rng.sample(rows, min(40, len(rows)))]
    codes = {each: encoded(template.row(each), value) for each, value in {**typed, **axes}.items()}
    return template, found, {each: codes[each] for each in typed}, {each: codes[each] for each in axes}, wanted, whole


@pytest.mark.parametrize("name", library.names())
def test_a_partial_template_gives_the_bits_of_the_whole_one_for_random_plans_of_every_template(name):
    """For random inputs as broadcasting axes, every output and check is to the bit what `evaluate` gives, also where
    one of the axes no longer changes."""
    rng = random.Random(name)
    for _ in range(4):
        template, found, given, axes, wanted, whole = random_plans(name, rng)
        left = partial(template, found, given, axes, wanted)
        first, *others = axes
        for part in (left(axes), left.knowing({first: axes[first]})({name: axes[name] for name in others})):
            for each in wanted:
                ours, theirs = np.broadcast_arrays(part[each], whole[each])
                assert np.array_equal(ours, theirs, equal_nan=True), (each, given, sorted(axes))


@pytest.mark.slow
@pytest.mark.parametrize("name", library.names())
def test_jax_gives_the_numbers_of_evaluate_for_random_plans_of_every_template(name):
    """Compiled by XLA each number is within 1e-14 of what `evaluate` gives, and N/A where that is.

    Where a formula takes 1 off EXP(x), as goodput's does, the last bit of EXP counts 1/x times as much in either.
    """
    import jax

    rng = random.Random(f"{name} by JAX")
    with jax.enable_x64(True):
        for _ in range(2):
            template, found, given, axes, wanted, whole = random_plans(name, rng)
            left = partial(template, found, given, axes, wanted, xp=jax.numpy)
            part = jax.jit(lambda moving, left=left: left(moving))(axes)
            lost = min([1.0, *np.ravel(whole["interval_work"])]) if "interval_work" in template.by_name else 1.0
            for each in wanted:
                ours, theirs = np.broadcast_arrays(np.asarray(part[each]), whole[each])
                np.testing.assert_allclose(
                    ours, theirs, rtol=SAME / lost, atol=0, err_msg=f"{each} {given} {sorted(axes)}"
                )
