"""Groups that serve a plan's batch on the same chips quicker, beyond what published runs could doubt: by trying.

Tensor ways beyond the cache's heads read copies of it; groups of chips (`serve_data`) each attend with sequences of
their own. Which number of groups is best has no formula: each that divides the chips of a stage is tried, with experts
on the chips of a group and over all. Where the difference lies within the range of published runs, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from planner.formulas.evaluation import Facts, Results, encoded
from planner.formulas.expected import IDEAL
from planner.formulas.explanation import failed
from planner.formulas.following import divisors
from planner.formulas.headlines import RANGE, headline_template, leading
from planner.formulas.partial import partial
from planner.number_text import spoken, within

STEP, TOKEN = "decode_step_time_expected", "time_per_output_token_expected"  # both must be quicker
DATA, TENSOR, EXPERT = "serve_data", "serve_tensor", "serve_expert"
READ = ("n_chips", "serve_pipeline", "node_size", "n_experts", DATA, TENSOR, EXPERT)
MOST_CHIPS = 2**20  # beyond it divisors take too long
WORTH = 0.05  # smallest relative change to mention


def quicker(results: Results, facts: Facts) -> str:
    """The groups to type and what they change, as in `Data ways of serving (serve_data) 8: decode step 40 ms → 20 ms`.

    Blank if a check fails, if it is no plan of serving, or if with no other groups both a decode step and a token are
    quicker than the low ends of their ranges.
    """
    template, ends = results.template, {name: name + RANGE[0] for name in (STEP, TOKEN)}
    if not template.by_name.keys() >= {*ends, *ends.values(), *READ} or failed(results):
        return ""
    layouts, lows = list(_layouts(results)), {name: results.number(end) for name, end in ends.items()}
    if not layouts or results.value("stack") == IDEAL:
        return ""
    times = [each for each in leading(headline_template(template), template.by_name) if each.unit == "s"]
    checks = [row.name for row in template.of_kind("check")]
    given = {name: encoded(template.row(name), results.value(name)) for name in results.given}
    wanted = (STEP, TOKEN, *(each.row.name for each in times), *checks)
    moved = dict(zip((DATA, TENSOR, EXPERT), np.array(layouts).T, strict=True))
    fixed = {name: value for name, value in given.items() if name not in moved}
    found = partial(template, facts, fixed, moved, wanted)(moved)
    holds = [*(found[name] != 0 for name in checks), *(found[name] < (low or 0.0) for name, low in lows.items())]
    passes = np.logical_and.reduce([np.broadcast_to(each, len(layouts)) for each in holds])
    if not passes.any():
        return ""
    best = int(np.argmin(np.where(passes, found[TOKEN], np.inf)))
    after = {name: float(np.broadcast_to(found[name], len(layouts))[best]) for name in wanted}
    others = [name for name in moved if moved[name][best] != results.number(name)]
    typed = [f"{template.row(name).named} {moved[name][best]:,.0f}" for name in others]
    said = [
        f"{within(each.label)} {spoken(now, 's')} \N{RIGHTWARDS ARROW} {spoken(after[each.row.name], 's', now)}"
        for each in times
        if (now := results.number(each.row.name)) and abs(after[each.row.name] / now - 1) >= WORTH
    ]
    return f"{', with '.join(typed)}: {'; '.join(said)}"


def _layouts(results: Results) -> Iterator[tuple[float, float, float]]:
    """Other groups, tensor ways (0 where they follow) and expert ways of a plan's chips.

    A group has no more chips than now, or than a node.
    """
    known: Mapping[str, float] = {name: results.number(name) or 0.0 for name in READ}
    stage = known["n_chips"] / (known["serve_pipeline"] or 1.0)
    if stage != int(stage) or not 1 < stage <= MOST_CHIPS or not known[DATA]:
        return
    most = max(stage / known[DATA], known["node_size"])
    experts = [1.0, stage] if known["n_experts"] > 1 else [known[EXPERT]]
    for data in map(float, divisors(int(stage))):
        for expert in dict.fromkeys((known[EXPERT], *experts)):
            if stage / data <= most and (data, expert) != (known[DATA], known[EXPERT]):
                yield data, stage / data if known[TENSOR] else 0.0, expert
