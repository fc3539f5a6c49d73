"""Faults in what formulas read and call, in the parts of the file, and in what is used."""

from __future__ import annotations

from tests.seeded import Seeded
from tests.test_lint import faults, fixture_built, fixture_plan, fixture_rows, fixture_whole, places, rules  # noqa: F401

RELATIONSHIPS = "xl/_rels/workbook.xml.rels"


def test_a_reference_that_points_down(plan: Seeded) -> None:
    """A row that reads one below it."""
    plan.formulas("Serve", "decode_attention_flops", "{0}{batch}*{0}{prefill_flops}")
    plan.type("Serve", plan.at("Serve", "decode_attention_flops", "D"), "batch*prefill_flops")
    assert faults(plan.recalculated()) == ({15}, {f"Serve!{plan.at('Serve', 'decode_attention_flops')}"})


def test_a_circle(plan: Seeded) -> None:
    """Cells that read each other, on a sheet where formulas are free; the way round is told."""
    for ref, read in (("A30", "A31"), ("A31", "A32"), ("A32", "A30")):
        plan.formula("Log", ref, f"{read}+1")
    found = plan.found()
    assert rules(found) == {15}
    assert "Log!A30 -> Log!A31 -> Log!A32 -> Log!A30" in found[0].what


def test_a_broken_reference(plan: Seeded) -> None:
    """A cell that was deleted under a formula."""
    plan.formula("Log", "A30", "Inputs!#REF!*2")
    assert faults(plan.recalculated()) == ({15}, {"Log!A30"})


def test_a_sheet_renamed_without_its_formulas(plan: Seeded) -> None:
    """As openpyxl renames a sheet: each formula that reads the old name is broken, which is said once and no more."""
    plan.edit(plan.package.workbook_part(), 'name="Hardware"', 'name="Our chips"')
    found = plan.found()
    assert {finding.rule for finding in found if "reads the sheet Hardware" in finding.what} == {15}
    assert 21 not in rules(found)


def test_what_a_table_of_cases_reads_and_calls(whole: Seeded) -> None:
    """A case that reads Checks, a defined name, or a function that is volatile, new, or not on the list."""
    names = '<definedNames><definedName name="my_rate">Inputs!$F$14</definedName>'
    whole.edit(whole.package.workbook_part(), "<definedNames>", names)
    wrong = {
        "B9": ("Checks!F10", 15),
        "B33": ("TODAY()", 17),
        "B34": ("AVERAGE(I9)", 17),
        "B35": ("_xlfn.XLOOKUP(I9,I9,I9)", 17),
        "B36": ("my_rate*1", 19),
    }
    for ref, (formula, _) in wrong.items():
        whole.formula("Roofline", ref, formula)
    found = [each for each in whole.recalculated() if each.severity == "fault"]
    assert {(each.place, each.rule) for each in found} == {
        (f"Roofline!{ref}", rule) for ref, (_, rule) in wrong.items()
    }


def test_foreign_parts(plan: Seeded) -> None:
    """A link to another workbook, a connection, macros."""
    space = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    for kind in ("externalLink", "connections", "vbaProject"):
        link = f'<Relationship Id="{kind}" Type="{space}/{kind}" Target="{kind}.bin"/></Relationships>'
        plan.edit(RELATIONSHIPS, "</Relationships>", link)
    found = plan.found()
    assert rules(found) == {18, 33}  # and none of these parts is there
    assert len([each for each in found if each.rule == 18]) == 3


def test_defined_names(plan: Seeded) -> None:
    """A name that reads as an address, is not legal, points nowhere, or exists twice."""
    wrong = {
        "FP8": "$F$10",
        "R1C1": "$F$10",
        "1st_input": "$F$10",
        "lost_cell": "#REF!",
        "a_rate": "$F$1",
        "A_Rate": "$F$1",
    }
    names = "".join(f'<definedName name="{name}">Inputs!{text}</definedName>' for name, text in wrong.items())
    plan.edit(plan.package.workbook_part(), "<definedNames>", f"<definedNames>{names}")
    found = plan.found()
    assert rules(found) == {19}
    faults = [finding for finding in found if finding.severity == "fault"]
    assert len(faults) == len(wrong) - 1  # of the two that are one name the second is reported


def test_a_printed_area_of_gnumerics(plan: Seeded) -> None:
    """Gnumeric saves a sheet of which all is printed with a Print_Area of #REF!, which nobody can mend."""
    name = '<definedNames><definedName name="_xlnm.Print_Area" localSheetId="0">#REF!</definedName>'
    plan.edit(plan.package.workbook_part(), "<definedNames>", name)
    assert plan.found() == []


def test_a_dead_input(plan: Seeded) -> None:
    """An input that nothing reads; the row has no validation either."""
    row = plan._rows["Inputs"]["relative_tolerance"] + 30
    for column, value in zip("ABCE", ("Unused rate", "1", "unused_rate", "A guess"), strict=True):
        plan.type("Inputs", f"{column}{row}", value)
    plan.type("Inputs", f"D{row}", 5)
    assert faults(plan.found()) == ({20}, {f"Inputs!C{row}"})
