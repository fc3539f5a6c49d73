"""What `planner check` tells apart: each kind of finding, its words, its JSON and the exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from planner.catalog.databases import Databases
from planner.check.run import as_text, check
from planner.xlsx.opc import Package
from tests.commands import run
from tests.seeded import ALL, Seeded
from tests.test_lint import fixture_built, fixture_plan, fixture_rows  # noqa: F401
from tests.workbooks import by_name, cached, retype, type_in, write_small

KEYS = {"kind", "severity", "rule", "sheet", "cell", "cells", "name", "scenario", "what", "remedy", "before", "after"}


def told(plan: Seeded, folder: Path) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of the command; every entry has the keys that are promised."""
    path = folder / "plan.xlsx"
    plan.package.write(path)
    done = run("check", path, "--json")
    found: dict[str, Any] = json.loads(done.output)
    assert found.keys() == {"file", "clean", "findings", "overrides", "notes", "rules_checked"}
    assert all(entry.keys() == KEYS for entry in (*found["findings"], *found["overrides"], *found["notes"]))
    return done.exit_code, found


def kinds(found: dict[str, Any]) -> set[str]:
    """The kinds of the findings."""
    return {entry["kind"] for entry in found["findings"]}


def test_a_check_that_fails(plan: Seeded, tmp_path: Path) -> None:
    """A plan that doesn't fit: the scenario, the check in words, and the numbers that it compares; exit code 1."""
    plan.type("Inputs", plan.at("Inputs", "n_chips", "F"), 1)
    plan.recalculated()
    code, found = told(plan, tmp_path)
    entry = next(entry for entry in found["findings"] if "memory" in entry["what"])
    assert (code, entry["kind"], entry["scenario"]) == (1, "failed_check", "llama3_70b_on_tpu_v5e")
    assert ": Largest batch in memory = -46.17 ≤ 0" in entry["what"]
    assert "it asks for IF(" in entry["remedy"]


def test_a_stale_workbook_fails_its_checks_too(plan: Seeded, tmp_path: Path) -> None:
    """The check is recalculated: that it still holds in the file as saved is another finding, and no excuse."""
    plan.type("Inputs", plan.at("Inputs", "n_chips", "F"), 1)
    found = told(plan, tmp_path)[1]
    assert kinds(found) == {"failed_check", "stale_value"}
    stale = [entry for entry in found["findings"] if entry["kind"] == "stale_value"]
    assert all(entry["before"] != entry["after"] for entry in stale)


def test_the_last_line_counts_the_overrides_that_are_listed(plan: Seeded) -> None:
    """Those in their own cells apart, for they are no findings; beside a check that fails, and where all is clean."""
    plan.type("Inputs", plan.at("Inputs", "hbm_bytes", "F"), 64e9)
    plan.recalculated()
    assert "plan.xlsx: clean (and 1 override in its own cell) by rules" in as_text(check(plan.package))
    plan.type("Inputs", plan.at("Inputs", "n_chips", "F"), 1)
    plan.recalculated()
    report = check(plan.package)
    faults = len(report.of("fault"))
    assert f": {faults} findings and 0 overrides (and 1 override in its own cell) by rules" in as_text(report)


def test_an_override_in_its_cell_is_listed_and_no_finding(plan: Seeded, tmp_path: Path) -> None:
    """It is what the cell is for: exit code 0; a number typed over a formula is an override with exit code 1."""
    plan.type("Inputs", plan.at("Inputs", "hbm_bytes", "F"), 64e9)
    plan.recalculated()
    code, found = told(plan, tmp_path)
    (entry,) = found["overrides"]
    assert (code, found["clean"], entry["severity"], entry["name"]) == (0, True, "note", "hbm_bytes")
    plan.type("Serve", plan.at("Serve", "decode_flops", "G"), 5)
    plan.recalculated()
    code, found = told(plan, tmp_path)
    assert (code, {entry["severity"] for entry in found["overrides"]}) == (1, {"note", "override"})


def test_an_error_at_its_first_cell(plan: Seeded, tmp_path: Path) -> None:
    """One finding for a chain of errors, with how many cells it reaches."""
    for ref, formula in (("A30", "1/0"), ("A31", "A30+1"), ("A32", "A31+1")):
        plan.formula("Log", ref, formula)
    plan.recalculated()
    code, found = told(plan, tmp_path)
    (entry,) = found["findings"]
    assert (code, entry["kind"], entry["cell"], entry["after"]) == (1, "error_value", "A30", "#DIV/0!")
    assert "reaches 2 more cells" in entry["what"]


def test_broken_references_of_a_column_are_one_finding(plan: Seeded, tmp_path: Path) -> None:
    """A cell that is gone, a sheet and a name that aren't there: each with every cell that is broken so."""
    for ref, formula in (("A30", "#REF!*2"), ("A31", "#REF!*3"), ("B30", "Lost!A1"), ("C30", "no_such_name*2")):
        plan.formula("Log", ref, formula)
    plan.recalculated()
    found = told(plan, tmp_path)[1]
    broken = {tuple(entry["cells"]) for entry in found["findings"] if entry["kind"] == "broken_reference"}
    assert broken == {("A30", "A31"), ("B30",), ("C30",)}


def test_a_number_typed_as_text(plan: Seeded, tmp_path: Path) -> None:
    """It is out of range, and said in words, even where its validation was pasted over."""
    part = plan.part("Inputs")
    xml = plan.package.parts[part].decode()
    start, end = xml.index("<dataValidations"), xml.index("</dataValidations>") + len("</dataValidations>")
    plan.package.replace(part, (xml[:start] + xml[end:]).encode())
    plan.type("Inputs", plan.at("Inputs", "batch", "F"), "32")
    plan.recalculated()
    (entry,) = (entry for entry in told(plan, tmp_path)[1]["findings"] if entry["kind"] == "out_of_range")
    assert "the text '32' stands where a number is wanted" in entry["what"]
    assert (entry["name"], entry["scenario"]) == ("batch", "llama3_70b_on_tpu_v5e")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("1\N{NO-BREAK SPACE}000", "the text '1 000' stands where a number is wanted"),
        ("10ms", "the text '10ms' stands where a number is wanted"),
        ("  \N{NO-BREAK SPACE}", "nothing but blanks is typed there"),
    ],
)
def test_a_text_that_is_no_number_is_named(plan: Seeded, tmp_path: Path, typed: str, said: str) -> None:
    """By what it looks like, be it blanks alone, and not as a value that is out of range."""
    plan.type("Inputs", plan.at("Inputs", "batch", "F"), typed)
    plan.recalculated()
    (entry,) = (entry for entry in told(plan, tmp_path)[1]["findings"] if entry["kind"] == "out_of_range")
    assert f"batch of llama3_70b_on_tpu_v5e: {said}" in entry["what"]


def test_a_column_of_notes_is_held_to_no_limits(plan: Seeded, tmp_path: Path) -> None:
    """A text beside the scenarios, where the validations of their rows are for scenarios to come, is no finding."""
    plan.type("Inputs", plan.at("Inputs", "weight_dtype", "K"), "per board")
    plan.type("Inputs", plan.at("Inputs", "batch", "K"), -1)
    plan.recalculated()
    assert [entry for entry in told(plan, tmp_path)[1]["findings"] if entry["kind"] == "out_of_range"] == []


def test_the_title_of_a_column_of_notes_is_no_id(plan: Seeded, tmp_path: Path) -> None:
    """A text in the row of the ids makes no scenario of a column beside them that has no name, model or chip."""
    plan.type("Inputs", plan.at("Inputs", "scenario_id", "I"), "My notes")
    plan.type("Inputs", plan.at("Inputs", "batch", "I"), "ask Ana")
    plan.recalculated()
    found = told(plan, tmp_path)[1]
    assert [entry["what"] for entry in (*found["findings"], *found["notes"]) if entry["sheet"] == "Inputs"] == []


def test_the_odd_formula_is_the_override(plan: Seeded, tmp_path: Path) -> None:
    """Where most scenarios were changed the row's text in names tells which formula is the row's own."""
    for column in ALL[:2]:
        plan.formula("Serve", plan.at("Serve", "decode_flops", column), f"{plan.at('Serve', 'batch', column)}*7")
    plan.recalculated()
    found = told(plan, tmp_path)[1]
    assert {entry["cell"] for entry in found["overrides"]} == {
        plan.at("Serve", "decode_flops", column) for column in ALL[:2]
    }


def with_own_model(path: Path, **numbers: object) -> Package:
    """A workbook whose scenario has a model typed in the first empty row of Models: these numbers by column."""
    package = Package.read(path)
    models, inputs = cached(path)["Models"], by_name(cached(path), "Inputs")
    columns = {str(name): ref[:-1] for ref, name in models.items() if ref.rstrip("5").isalpha() and name}
    row = next(at for at in range(6, 999) if not models.get(f"A{at}"))
    typed = {f"{columns[name]}{row}": value for name, value in {"id": "own", "source": "a sketch", **numbers}.items()}
    for sheet, cells in (("Models", typed), ("Inputs", {f"F{inputs['model_id']}": "own"})):
        type_in(package, sheet, cells)
    return package


def test_an_own_row_with_blanks_is_named_with_all_of_them(tmp_path: Path) -> None:
    """One line says how many columns the row lacks and names a few; a copied row, changed as docs/analysts.md says,
    lacks none, and no check fails.
    """
    path = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["tpu-v5e"], ["inference"], n_chips=16, batch=8)
    few = {"n_layers": 24.0, "d_model": 2048.0, "d_ff": 5632.0, "n_heads": 16.0, "n_kv_heads": 4.0, "vocab": 32000.0}
    (found,) = (each for each in check(with_own_model(path, **few)).found if each.kind == "missing_number")
    assert re.search(r"; Models lacks (\w+, ){3}\w+ and \d\d more$", found.what)
    assert "--models" in found.remedy
    row = {**Databases().models.rows["llama3-8b"], "n_layers": 40.0}
    advised = {"n_full_attention_layers": 40.0, "n_params_published": None}
    whole = check(with_own_model(path, **{**row, **advised})).found
    assert {each.kind for each in whole if each.severity == "fault"} == {"stale_value"}
    forgot = [each for each in check(with_own_model(path, **row)).found if each.kind == "failed_check"]
    assert len(forgot) == 2
    assert any("clear n_params_published" in each.remedy for each in forgot)


def test_a_choice_by_its_name_elsewhere_is_told_the_one_here(tmp_path: Path) -> None:
    """What others call full recomputation --set takes and a cell doesn't: the finding says what to type instead."""
    path = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["h100-sxm"], ["training_layout"])
    retype(path, remat="full")
    said = " ".join(run("check", path).output.split())
    assert "full is out of range: it is not in the list" in said
    assert "; type block, as it is called here" in said


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("Full ", "the text 'Full', with a blank before or after it, is out of range"),
        ("Full ", "; type block, as it is called here"),
        ("blok", "; type block, if that is meant"),
        ("block ", "; type block, if that is meant"),
        ("everything", "; type another value"),
    ],
)
def test_what_a_list_lacks_is_told_what_it_has(tmp_path: Path, typed: str, said: str) -> None:
    """A misspelt choice, and one with a blank that nobody sees, are told the choice that is meant."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["h100-sxm"], ["training_layout"])
    retype(path, remat=typed)
    assert said in " ".join(run("check", path).output.split())


def test_an_id_that_is_a_number_is_told(tmp_path: Path) -> None:
    """2024 typed as a scenario's id is a number, and the text 2024 on other sheets another thing: it is told."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["h100-sxm"], ["training_layout"])
    retype(path, scenario_id=2024.0)
    said = " ".join(run("check", path).output.split())
    assert (
        "Inputs!F4: the id 2024 is a number, and a text on other sheets: no lookup finds it; type a text, such as s2024"
        in said
    )
