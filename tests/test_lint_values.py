"""Rules that compare: names with formulas, cached values with a recalculation, inputs with their validations."""

from __future__ import annotations

import pytest

from planner.book.workbook import Book
from planner.xlsx.address import address
from tests.seeded import ALL, Seeded
from tests.test_lint import faults, fixture_built, fixture_plan, fixture_rows, fixture_whole, places, rules  # noqa: F401

SLOW = pytest.mark.slow


def test_names_that_say_something_else(plan: Seeded) -> None:
    """A formula in names edited, its cells not."""
    plan.type("Serve", plan.at("Serve", "decode_flops", "D"), "batch*prefill_flops/prompt_len")
    assert faults(plan.found()) == ({21}, {f"Serve!{plan.at('Serve', 'decode_flops')}"})


def test_cells_that_say_something_else(plan: Seeded) -> None:
    """All scenarios' formulas edited alike, the names not."""
    plan.formulas("Serve", "decode_flops", "{0}{batch}*{0}{flop_per_mac}")
    found = plan.recalculated()
    assert rules(found) == {21}
    assert "batch*forward_flops_per_token" in found[0].what


def test_each_form_of_names(plan: Seeded) -> None:
    """A lookup, an override, a dtype, an input, a constant or a match that is another than its cell's."""
    wrong = {
        "hbm_bytes": "override or hardware[hardware_id].hbm_bandwidth",
        "hbm_bandwidth": "hardware[hardware_id].hbm_bandwidth",
        "peak_flops": "override or hardware[hardware_id].peak[kv_dtype]",
        "n_layers": "override or models[model_id].n_layer",
        "weight_element_bytes": "dtypes[kv_dtype].bytes_per_element",
        "batch": "Inputs[n_chips]",
        "flop_per_mac": "Inputs[train_multiple]",
        "model_row": "MATCH(hardware_id,models,0)",
        "decode_flops": "batch*no_such_row",
        "prefill_flops": "prompt_len**",
    }
    for name, names in wrong.items():
        plan.type("Serve", plan.at("Serve", name, "D"), names)
    found = [finding for finding in plan.found() if finding.rule != 24]  # a check reads names that are none any more
    assert rules(found) == {21}
    assert places(found) == {f"Serve!{plan.at('Serve', name)}" for name in wrong}


def test_names_of_the_chosen_step(whole: Seeded) -> None:
    """On Operations a name of another sheet is looked up in the chosen scenario's column."""
    for name, names in (("step_tokens", "step_sequences*step_kv_len"), ("gate_matrices", "n_layers-1")):
        whole.type("Operations", whole.at("Operations", name, "E"), names)
    found = whole.found()
    assert rules(found) == {21}
    assert len(places(found)) == 2


@pytest.mark.parametrize(
    ("sheet", "name"), [("Dashboard", "max_batch"), pytest.param("Checks", "serve.check_cost", marks=SLOW)]
)
def test_a_link_to_another_row(plan: Seeded, sheet: str, name: str) -> None:
    """A headline and a check that are named for one row and read the next."""
    row = plan._rows["Serve"][name.rpartition(".")[2]]
    for column in ALL:
        plan.formula(sheet, plan.at(sheet, name, column), f"Serve!{column}{row + 1}")
    assert 21 in rules(plan.recalculated()) <= {21, 24}  # another headline may be without a check


def test_a_missing_cached_value(plan: Seeded) -> None:
    """A formula as a program writes it that does not calculate."""
    plan.formula("Serve", plan.at("Serve", "decode_flops"), "F15*F105", cached="")
    names = plan.at("Serve", "decode_flops")
    found = [finding for finding in plan.found() if finding.rule == 22]
    assert places(found) == {f"Serve!{names}"}


def test_what_recalc_cannot_compute_is_to_be_opened(plan: Seeded) -> None:
    """An array formula without a value, and what reads it, are for a spreadsheet program; others are for recalc."""
    plan.formula("Log", "A30", "ROW(A31)", cached="31")
    plan.edit(plan.part("Log"), "<f>ROW(A31)</f><v>31</v>", '<f t="array" ref="A30:A31">B30:B31*2</f>')
    plan.edit(plan.part("Log"), "</row></sheetData>", '</row><row r="40"><c r="A40"><f>A30</f></c>'
              '<c r="B40"><f>1+1</f></c></row></sheetData>')  # fmt: skip
    found = [(each.cells, "planner recalc on" in each.remedy) for each in plan.found() if each.rule == 22]
    assert found == [(("B40",), True), (("A30", "A40"), False)]


def test_an_error_is_traced_to_its_cause(plan: Seeded) -> None:
    """A division by zero is reported where it arises, not in the cells that read it."""
    plan.type("Inputs", plan.at("Inputs", "memory_efficiency", "G"), 0)
    found = plan.recalculated()
    assert rules(found) == {22, 27}  # 0 is out of range too
    cause, typed = plan.at("Serve", "decode_step_time_calibrated", "G"), plan.at("Inputs", "memory_efficiency", "G")
    again = {place for place in places(found) if place.startswith("Constraints!")}  # its parts divide by it too
    assert places(found) - again == {f"Serve!{cause}", f"Inputs!{typed}"}


def test_an_unknown_id_is_no_missing_number(plan: Seeded) -> None:
    """#N/A of a model that the database hasn't: the lookup is named, and the choice is not in its list."""
    plan.type("Inputs", plan.at("Inputs", "model_id", "H"), "no-such-model")
    found = plan.recalculated()
    assert rules(found) == {22, 27}
    assert f"Serve!{plan.at('Serve', 'model_row', 'H')}" in places(found)


def test_a_missing_number_is_no_fault(plan: Seeded) -> None:
    """#N/A of a blank in a database, of a blank input, of a blank choice (noted), and of a typed #N/A."""
    for name, value in (("price_per_chip_hour", "#N/A"), ("batch", None), ("model_id", None)):
        plan.type("Inputs", plan.at("Inputs", name, "G"), value)
    plan.type("Hardware", "H10", None)
    found = [finding for finding in plan.recalculated() if finding.kind != "override"]
    assert [(finding.severity, finding.name) for finding in found] == [("note", "model_id")]


@pytest.mark.parametrize("wrong", ["1", pytest.param("139003428864.5", marks=SLOW), "139003428865"])
def test_a_stale_value(plan: Seeded, wrong: str) -> None:
    """A cached value that its formula does not give, be it by little."""
    ref, part = plan.at("Serve", "forward_flops_per_token"), plan.part("Serve")
    cell = plan.package.parts[part].decode().split(f'r="{ref}"')[1].split("</c>")[0]
    plan.edit(part, cell, cell.replace("<v>139003428864</v>", f"<v>{wrong}</v>"))
    found = plan.found()
    assert rules(found) == {23}
    assert f"Serve!{ref}" in places(found)


def test_any_error_equals_any_other(plan: Seeded) -> None:
    """A saved #VALUE! where the recalculation gives #N/A is no stale value."""
    plan.type("Inputs", plan.at("Inputs", "batch"), "#N/A")
    plan.recalculated()
    ref, part = plan.at("Serve", "decode_flops"), plan.part("Serve")
    cell = plan.package.parts[part].decode().split(f'r="{ref}"')[1].split("</c>")[0]
    plan.edit(part, cell, cell.replace("#N/A", "#VALUE!"))
    assert rules(plan.found()) == set()


def test_stale_values_are_told_from_the_start(plan: Seeded) -> None:
    """An input typed by a program that does not calculate: the cells that read it first, and how many follow."""
    plan.type("Inputs", plan.at("Inputs", "batch", "G"), 64)
    found = plan.found()
    assert rules(found) == {23}
    assert places(found) == {f"Serve!{plan.at('Serve', 'batch', 'G')}"}
    (note,) = [finding for finding in found if finding.severity == "note"]
    assert "Serve" in note.what


def test_what_the_engine_cannot_compute_is_counted(plan: Seeded) -> None:
    """A function that the engine doesn't know is skipped with a note, on a sheet where it is free."""
    plan.formula("Log", "A30", "_xlfn.NO_SUCH_FUNCTION(1)", cached="5")
    plan.formula("Log", "A31", "ROW(A31)", cached="31")  # the engine takes it for a circle, which it is not
    found = plan.found()
    assert rules(found) == set()
    assert "2 cells were not recalculated" in found[0].what


def test_clocks_may_move(plan: Seeded) -> None:
    """A clock of the analyst's, and what reads it, need not be as saved."""
    plan.formula("Log", "A30", "NOW()", cached="1")
    plan.formula("Log", "A31", "A30+1", cached="2")
    assert rules(plan.found()) == set()


def test_a_headline_without_a_check(plan: Seeded) -> None:
    """A headline whose check reads something else."""
    plan.formulas("Serve", "check_max_batch", "IF({0}{batch}>0,1,0)")
    for sheet, name in (("Serve", "check_max_batch"), ("Checks", "serve.check_max_batch")):
        plan.type(sheet, plan.at(sheet, name, "D"), "IF(batch>0,1,0)")
    assert faults(plan.recalculated()) == ({24}, {f"Dashboard!{plan.at('Dashboard', 'max_batch', 'C')}"})


@pytest.mark.parametrize(
    ("sheet", "ref"),
    [("Serve", "C1"), *(pytest.param(sheet, "C1", marks=SLOW) for sheet in ("Comparison", "Hardware"))],
)
def test_a_header_without_the_master_check(plan: Seeded, sheet: str, ref: str) -> None:
    """A sheet that no longer says how many checks fail."""
    plan.type(sheet, ref, 0)
    assert faults(plan.recalculated()) == ({24}, {f"{sheet}!{ref}"})


def test_a_cover_without_the_master_check(plan: Seeded) -> None:
    """A Cover that no longer says how many checks fail."""
    xml = plan.package.parts[plan.part("Cover")].decode()
    ref = xml.split("<f>SUM(")[0].rpartition('<c r="')[2].partition('"')[0]
    plan.type("Cover", ref, 0)
    assert rules(plan.recalculated()) == {24}


@pytest.mark.parametrize(
    ("name", "value"), [("batch", -1), pytest.param("n_chips", "many", marks=SLOW), ("kv_dtype", "int3")]
)
def test_an_input_out_of_range(plan: Seeded, name: str, value: str | float) -> None:
    """A typed value that the input's validation does not let in; what it leads to is another rule's."""
    ref = plan.at("Inputs", name)
    plan.type("Inputs", ref, value)
    found = plan.recalculated()
    assert 27 in rules(found) <= {22, 27, 32}
    assert f"Inputs!{ref}" in places(found)


def test_a_validation_in_the_extension(plan: Seeded) -> None:
    """A list of another sheet's ids as Excel saves it, apart from the plain validations, counts like them."""
    part, ref = plan.part("Inputs"), plan.at("Inputs", "model_id")
    xml = plan.package.parts[part].decode()
    plain = next(piece for piece in xml.split("</dataValidation>") if f'sqref="{ref}:' in piece)
    plain = plain[plain.rindex("<dataValidation ") :]
    source = plain.split("<formula1>")[1].split("</formula1>")[0]
    area = plain.split('sqref="')[1].split('"')[0]
    plan.edit(part, f"{plain}</dataValidation>", "")
    assert rules(plan.found()) == {27}
    extended = (
        '<extLst><ext uri="{CCE6A557-97BC-4b89-ADB6-D9C93CAAB3DF}" xmlns:x="urn:x14"><x:dataValidations>'
        f'<x:dataValidation type="list" prompt="Choose"><x:formula1><x:f>{source}</x:f></x:formula1>'
        f"<x:sqref>{area}</x:sqref></x:dataValidation></x:dataValidations></ext></extLst></worksheet>"
    )
    plan.edit(part, "</worksheet>", extended)
    assert plan.found() == []
    plan.type("Inputs", ref, "no-such-model")
    assert 27 in rules(plan.recalculated())


def test_an_input_without_a_validation(plan: Seeded) -> None:
    """An input whose message is gone."""
    part, first = plan.part("Inputs"), plan.at("Inputs", "n_chips", "F")
    validation = next(
        piece for piece in plan.package.parts[part].decode().split("<dataValidation ") if f'sqref="{first}:' in piece
    )
    plan.edit(part, validation, validation.replace(f'sqref="{first}:', 'sqref="ZZ14:'))
    assert rules(plan.found()) == {27}


def test_a_scenario_without_a_number(plan: Seeded) -> None:
    """A scenario all of whose headlines are N/A is a fault at the cell where that begins; one with a number isn't."""
    for column, names in (("G", ("n_layers", "d_model")), ("H", ("hbm_bandwidth",))):
        for name in names:
            plan.type("Inputs", plan.at("Inputs", name, column), "#N/A")
    (found,) = [finding for finding in plan.recalculated() if finding.kind == "missing_number"]
    assert (found.rule, found.severity, found.scenario) == (32, "fault", "llama3_70b_on_h100_sxm")
    assert found.place == f"Inputs!{plan.at('Inputs', found.name, 'G')}"
    assert found.name in ("n_layers", "d_model")


def test_an_implausible_number_is_noted(plan: Seeded) -> None:
    """Of Inputs and of a database, with what may be meant; a note is no finding, and a usual number none."""
    plan.type("Inputs", plan.at("Inputs", "prompt_len", "G"), 2e9)
    cell = plan.at("Inputs", "peak_flops", "F")
    plan.type("Inputs", cell, 600)
    found = [finding for finding in plan.recalculated() if finding.rule == 34]
    assert {finding.severity for finding in found} == {"note"}
    assert {finding.place for finding in found} == {f"Inputs!{plan.at('Inputs', 'prompt_len', 'G')}", f"Inputs!{cell}"}
    assert any("= 600 FLOP/s/chip: 600 TFLOP/s, perhaps? write 600TFLOP/s" in finding.what for finding in found)


def test_numbers_of_a_chip_that_do_not_fit_are_noted(plan: Seeded) -> None:
    """A bandwidth of Hardware that slipped by 1,000, at its cell, with what was perhaps meant."""
    base = Book(plan.package).databases["hardware"]
    row = next(row for row in base.rows if base.sheet.text(row, base.id_column) == "h100-sxm")
    cell = address(row, base.columns["hbm_bandwidth"])
    plan.type("Hardware", cell, 3.35e9)
    found = [finding for finding in plan.recalculated() if finding.rule == 34]
    assert [(finding.severity, finding.place) for finding in found] == [("note", f"Hardware!{cell}")]
    assert "3.35TB/s, perhaps?" in found[0].what


def _listed(plan: Seeded, source: str) -> None:
    """Hold the inputs of `batch` to a list."""
    part, first = plan.part("Inputs"), plan.at("Inputs", "batch")
    xml = plan.package.parts[part].decode()
    (old,) = [piece for piece in xml.split("<dataValidation ") if f'sqref="{first}:' in piece]
    area = old.split('sqref="')[1].split('"')[0]
    new = f'type="list" prompt="Choose" sqref="{area}"><formula1>{source}</formula1></dataValidation>'
    plan.edit(part, old, new + old.partition("</dataValidation>")[2])


def test_a_list_of_large_numbers(plan: Seeded) -> None:
    """Numbers of a list are told apart to their last digit, however they are spelt."""
    _listed(plan, '"1000000,1e6,2000000.0"')
    for column, value in zip(ALL, (1000000, 2000000, 1000001), strict=True):
        plan.type("Inputs", plan.at("Inputs", "batch", column), value)
    refused = [finding.place for finding in plan.found() if finding.rule == 27]
    assert refused == [f"Inputs!{plan.at('Inputs', 'batch', 'H')}"]


def test_a_list_that_moves_with_its_cell(plan: Seeded) -> None:
    """A list without $ is another one beside each cell, as a spreadsheet reads it."""
    _listed(plan, "F400:F401")
    for column, value in zip(ALL, (5, 6, 7), strict=True):
        plan.type("Inputs", f"{column}400", value)
        plan.type("Inputs", plan.at("Inputs", "batch", column), value)
    assert not [finding for finding in plan.found() if finding.rule == 27]


def test_a_check_that_says_false_fails(plan: Seeded) -> None:
    """A comparison that a person typed over a check gives TRUE or FALSE."""
    ref = plan.at("Checks", "serve.check_cost")
    plan._put("Checks", ref, ' t="b"', "<f>1=2</f><v>0</v>")
    assert [finding.place for finding in plan.found() if finding.kind == "failed_check"] == [f"Checks!{ref}"]


def test_a_note_among_the_ids_of_scenarios(plan: Seeded) -> None:
    """The cell beside the scenarios' ids is in the list of the scenario shown, and counted on Cover: it stays blank."""
    plan.type("Inputs", "E4", "agreed in June")
    (found,) = plan.recalculated()
    assert (found.sheet, found.cell, found.rule) == ("Inputs", "E4", 27)
    assert found.what == "scenario_id: agreed in June is out of range: a blank cell is wanted"
    assert found.remedy.startswith("empty the cell")
