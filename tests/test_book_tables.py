"""Tables of How to Scale Your Model, line by line, with the chips that the book itself uses.

`cases/book_tables.csv` has a line for each number: the arithmetic with the book's own figures, which the template gives
exactly, and what the book prints, within its rounding. `docs/differences.md` says what other figures of a chip change.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from planner import data
from planner.catalog.databases import Databases
from planner.formulas import input_values
from planner.formulas.library import load
from planner.formulas.lookups import facts
from planner.formulas.partial import Prepared, Results
from tests.test_cases import HERE, read, worked_out

BOOK = data.folder("hardware_db") / "scaling_book.csv"
DIFFERENCES = HERE.parent / "docs" / "differences.md"
LINES = read(HERE / "cases" / "book_tables.csv")
prepared_for = functools.cache(
    lambda name, model, chip, chips: Prepared(
        load(name), facts(load(name), model or None, chip or None, Databases(hardware_csv=chips, only=True))
    )
)


def results(line: dict[str, str], chips: Path | None) -> Results:
    """A line's plan with the chips of a database: the book's, or the shipped one."""
    template = load(line["template"])
    given = input_values.values(template, [setting for setting in line["settings"].split(";") if setting])
    return prepared_for(line["template"], line["model"], line["hardware"], chips).results(given)


@pytest.mark.parametrize("line", [pytest.param(each, id=f"{each['table']}: {each['line']}") for each in LINES])
def test_line(line):
    """The template's row is the arithmetic with the book's figures, and that is what the book prints."""
    exact = worked_out(line["arithmetic"])
    assert results(line, BOOK).value(line["output"]) == pytest.approx(exact, rel=1e-9)
    assert exact == pytest.approx(float(line["printed"]), rel=float(line["tolerance"]))


def test_a_wide_rounding_is_explained():
    """Where the print is off by more than 3%, the line says why."""
    assert [line["line"] for line in LINES if float(line["tolerance"]) > 0.03 and not line["note"]] == []


@pytest.mark.parametrize(
    "table", ["ch. 6 LLaMA-3-70B on TPU v5p", "ch. 7 LLaMA-2-13B on 8 TPU v5e", "ch. 8 LLaMA-3-70B on TPU v5e",
              "ch. 12 GPUs: H100", "ch. 12 GPUs: DeepSeek-V3 layout"],
)  # fmt: skip
def test_the_tables_are_there(table):
    """Each of the book's tables has lines."""
    assert len([line for line in LINES if line["table"].startswith(table)]) >= 8


def test_deepseek_layout():
    """64 expert ways, 16 stages and two copies are 2,048 chips, over which 256 experts split evenly; a batch of
    15,360 sequences keeps them busy, and a token goes to eight nodes at most. 16 stages don't share 61 layers evenly:
    the longest has 4, and sets the pace.
    """
    (line,) = (line for line in LINES if line["line"] == "64 expert ways, 16 stages, 2 copies")
    plan = results(line | {"settings": f"{line['settings']};n_microbatches=60"}, BOOK)
    assert [plan.value(name) for name in ("check_mesh", "check_experts", "check_batch", "check_stages")] == [1, 1, 1, 1]
    assert plan.value("longest_stage_layers") == 4
    assert plan.value("stage_imbalance") == pytest.approx(4 / ((61 + plan.number("head_layers")) / 16), rel=1e-12)
    assert plan.value("expert_groups") == 8


ROW = re.compile(
    r"^\| (?P<what>.+?) \| `(?P<plan>.+?)` \| (?P<book>[-\d.,e]+) \| (?P<ours>[-\d.,e]+) \| (?P<why>.+?) \|$", re.M
)
DIFFERING = [match.groupdict() for match in ROW.finditer(DIFFERENCES.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("row", [pytest.param(row, id=row["what"]) for row in DIFFERING])
def test_a_difference_is_as_the_page_says(row):
    """Both numbers of a line of docs/differences.md are what the plan gives, to the digits that it shows."""
    template, model, chip, *rest = row["plan"].split()
    given, output = " ".join(rest).removeprefix("--set ").rpartition("--get ")[::2]
    line = {
        "template": template, "model": model.strip("-"), "hardware": chip, "settings": ";".join(given.split()),
        "output": output,
    }  # fmt: skip
    for column, chips in (("book", BOOK), ("ours", None)):
        value = results(line, chips).value(output)
        shown = row[column].replace(",", "")
        assert isinstance(value, float)
        digits = len(re.sub(r"e.*|[-.]", "", shown).lstrip("0"))
        assert float(f"{value:.{digits}g}") == float(shown), (column, value)


def test_the_page_has_differences():
    """The page has a line for each figure in which the databases differ."""
    assert len(DIFFERING) >= 20
