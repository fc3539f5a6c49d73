"""The block of Dashboard that marks the cheapest scenario of a workload that fits and fails no check.

Scenarios are compared if they have the same model and the same demand, whose inputs templates/dashboard.csv lists as
`problem`. The intermediate cells are a closed block below each workload's lines.
"""

from __future__ import annotations

from planner.formulas.headlines import problem
from planner.workbook import layout
from planner.workbook.cell_styles import GREEN, PALE_GREEN, number_format
from planner.workbook.dashboard_lines import Lines, LineWriter
from planner.workbook.page import Live
from planner.xlsx.address import address
from planner.xlsx.grid import HERE

BEST, FAILS = "Cheapest that passes", "Does not pass"


def write(writer: LineWriter, each: Lines, n_failed: int, at: int) -> int:
    """The working of a workload that has a cost, from row `at` on; `n_failed` is the row that counts failed checks.

    Returns the row below it.
    """
    if not each.cost or not each.fits or not problem(each.template):
        return at
    sheet, columns = each.sheet, writer.plan.columns
    key, passes, cost, cheaper, best, least, beside = range(at, at + 7)

    def over(row: int) -> str:
        return columns.across("", row).removeprefix("!")

    asked = "&".join(f'" "&{sheet.here(name)}' for name in problem(each.template) if name in sheet.template.by_name)
    same = f"{over(key)}={HERE}{key}"
    times = f'FIXED({HERE}{cost}/{HERE}{least},2)&"x the cheapest\'s cost"'
    lines = (
        (key, "what is asked for", "text", "", f'IFERROR({HERE}{layout.MODEL_ROW}&{asked},"")'),
        (passes, "passes", "1", "passes",
         f"IFERROR(IF(AND({HERE}{each.fits}=1,{HERE}{n_failed}=0,{HERE}{each.cost}>0),1,0),0)"),
        (cost, "cost of what passes", "1", "compared", f"IF({HERE}{passes}=1,{HERE}{each.cost},0)"),
        (cheaper, "that pass and are cheaper", "1", "cheaper",
         f"SUMPRODUCT(({same})*{over(passes)}*({over(cost)}<{HERE}{cost}))"),
        (best, "is the cheapest that passes", "1", "best", f"IF({HERE}{passes}=1,IF({HERE}{cheaper}=0,1,0),0)"),
        (least, "cost of the cheapest that passes", "1", "least",
         f"IFERROR(SUMPRODUCT(({same})*{over(best)}*{over(cost)})/SUMPRODUCT(({same})*{over(best)}),0)"),
        (beside, "beside the others", "text", "beside",
         f'IF(SUMPRODUCT(({same})*1)<2,"",IF({HERE}{passes}=0,"{FAILS}",IF({HERE}{best}=1,"{BEST}",{times})))'),
    )  # fmt: skip
    for row, label, unit, name, formula in lines:
        is_text = unit == "text"
        named = f"{each.template}.{name}" if name else ""
        writer.describe(row, (f"{sheet.page.name}: {label}", unit, named, "", "of one problem"))
        writer.across(row, formula, "plan_words" if is_text else "plan_formula", "@" if is_text else number_format("1"))
    writer.close(range(at, beside + 1))
    each.beside = beside
    return beside + 1


def tell(writer: LineWriter, beside: int, told: int) -> None:
    """Say on top of the sheet which scenario is the best; `told` is the row of what it costs in words."""
    page, columns = writer.page, writer.plan.columns
    names, places, words = (columns.across("", row).removeprefix("!") for row in (layout.TITLE_ROW, beside, told))
    found = f'MATCH("{BEST}",{places},0)'
    best = f'IFERROR("{BEST}: "&INDEX({names},1,{found})&", "&INDEX({words},1,{found}),"")'
    page.put(1, layout.FIRST_SCENARIO, Live(best), "plan_text", "@")
    first = address(beside, layout.FIRST_SCENARIO)
    page.colour(columns.area(beside, beside), f'{first}="{BEST}"', ink=GREEN, fill=PALE_GREEN, bold=True)
