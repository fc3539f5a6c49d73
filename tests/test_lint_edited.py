"""What an analyst may do freely, what other programs write, and how the command reports."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape, unescape

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.workbook.defined_name import DefinedName

from planner.check.run import check
from planner.xlsx.address import coordinates
from planner.xlsx.moved_parts import move
from planner.xlsx.moves import Moves, SheetMoves
from planner.xlsx.opc import Package
from planner.xlsx.pattern import pattern
from planner.xlsx.workbook_part import add_sheet
from tests.backfills import backfill, measurement, rows
from tests.commands import run
from tests.libreoffice import needs_libreoffice
from tests.read_once import recalculate_once
from tests.seeded import ALL, Seeded
from tests.test_lint import fixture_built, fixture_plan, fixture_rows, places  # noqa: F401
from tests.workbooks import copy_scenario_of, resave, write_comparison, write_plan
from tests.xlsx_samples import sheet


def saved(path: Path) -> Package:
    """The workbook as a program that calculates saves it."""
    package = Package.read(path)
    recalculate_once(package)
    package.write(path)
    return package


def test_cases_pasted_as_values_are_overrides(tmp_path: Path) -> None:
    """Where values replace the formulas of all cases, each is told; not so where planner itself wrote a case so."""
    path = tmp_path / "plan.xlsx"
    write_comparison(path)
    own = measurement("collective|array_bytes=4096,axis_size=4,collective=all_gather")
    assert "1 appended" in backfill(path, own).output
    package, before = Package.read(path), check(Package.read(path)).of("override")
    part = package.sheets()["Comparison"]
    package.replace(part, re.sub(rb"<f[ >].*?</f>|<f [^>]*/>", b"", package.parts[part]))
    found = check(package).of("override")
    *pasted, values_only = rows(path)
    assert (before, values_only.text("template")) == ([], "collective")
    assert [coordinates(each.cell)[0] for each in found] == [row.number for row in pasted]
    assert all("values are typed over the formulas of the case" in each.what for each in found)


@pytest.mark.parametrize(
    ("formula", "relative"),
    [
        ("F10*F$9", "R[-1]C[0]*R9C[0]"),
        ('IF( Inputs!$D$7="F10", 1E3, 1.50)', 'IF(Inputs!R7C4="F10",1000,1.5)'),
        (
            "SUM('My sheet'!A1:B2,C:C,$3:$3)",
            "SUM('My sheet'!R[-10]C[-5]:R[-9]C[-4],R1C[-3]:R1048576C[-3],R3C1:R3C16384)",
        ),
        ("LOG10(FP8_x)+TPU1!A11", "LOG10(FP8_x)+TPU1!R[0]C[-5]"),
        ("Inputs!#REF!", "Inputs!#REF!"),
    ],
)
def test_patterns(formula: str, relative: str) -> None:
    """A formula relative to F11; texts, names and functions that look like addresses stay as they are."""
    found = pattern(formula, 11, 6)
    assert found.text == relative
    assert pattern(found.at(11, 6), 11, 6) is found
    assert found.is_broken == ("#REF!" in formula)


def test_what_an_analyst_adds_is_no_breach(built: bytes, tmp_path: Path) -> None:
    """Sheets, a scenario, rows, columns, names, notes, a chart, a copied sheet: none is a finding or an override."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(built)
    book = openpyxl.load_workbook(path)
    typed = {"scenario_id": "mine", "hardware_id": "h100-sxm", "n_chips": 4}
    copy_scenario_of(book, 8, 9, typed, calculated=["Serve"])
    own, sheet = book.create_sheet("My sheet", 2), book["Serve"]
    row = next(row for row in range(1, sheet.max_row) if sheet.cell(row, 3).value == "batch")
    own["A1"], own["B1"] = 12.5, f"=AVERAGE(Serve!F{row}:I{row})*my_rate+NOW()*0"
    own["B2"] = "=1.07*Inputs!F14"
    book.defined_names["my_rate"] = DefinedName("my_rate", attr_text="'My sheet'!$A$1")
    below, right = sheet.max_row + 3, 12
    sheet.cell(below, 1, "My margin")
    for column in range(6, 10):
        sheet.cell(below, column, 0.2)
        sheet.cell(below + 1, column, f"=2*{sheet.cell(below, column).coordinate}")
    sheet.cell(20, right, "look here")
    sheet.cell(21, right, 7)
    sheet["F20"].comment = Comment("why?", "me")
    chart = BarChart()
    chart.add_data(Reference(book["Dashboard"], min_col=6, max_col=9, min_row=27))
    own.add_chart(chart)
    copied = book.copy_worksheet(sheet)
    copied["F20"] = 5
    book.save(path)
    report = check(resave(path))
    assert [finding for finding in report.found if finding.severity != "note"] == []


@pytest.mark.parametrize("name", ["My inputs", "Bob's plan"])
def test_a_sheet_may_be_renamed(built: bytes, name: str) -> None:
    """A name with a blank or a quote that an analyst gave is no breach; Inputs', and links left behind, are noted."""
    package = Package.from_bytes(built, "plan.xlsx")
    sheet = "Inputs" if name == "My inputs" else "Serve"
    quoted = name.replace("'", "''")
    moves = Moves({each: SheetMoves(name if each == sheet else each) for each in package.sheets()})
    for each, part in package.sheets().items():
        xml = package.parts[part].decode()
        formula = re.compile(r"(<f>|<formula1>)([^<]*)(<)")
        package.replace(
            part,
            formula.sub(
                lambda found, each=each: found[1] + escape(moves.formula(unescape(found[2]), each)) + found[3], xml
            ).encode(),
        )
    workbook = package.workbook_part()
    xml = (
        package.parts[workbook]
        .decode()
        .replace(f'name="{sheet}"', f'name="{name}"')
        .replace(f"{sheet}!", f"'{quoted}'!")
    )
    package.replace(workbook, xml.encode())
    found = check(package)
    assert found.of("fault") == []
    assert {each.rule for each in found.of("note")} == ({1, 35} if sheet == "Inputs" else {35})


def test_a_sheet_that_mirrors_a_renamed_one(plan: Seeded) -> None:
    """A person's sheet in front, whose formulas fetch the titles of the Comparison that has another name, is theirs."""
    title, purpose = (f'<row r="{row}"><c r="A{row}" t="str"><f>Results!A{row}</f><v>{text}</v></c></row>'
                      for row, text in enumerate(("Comparison", "Each case"), start=1))  # fmt: skip
    move(plan.package, Moves({"Comparison": SheetMoves("Results")}), [])
    add_sheet(plan.package, "Mine", sheet(title + purpose).encode(), "Cover")
    assert [each for each in plan.found() if each.severity != "note" and each.rule in (1, 6)] == []


@pytest.mark.parametrize("front", ["Dashboard", "Checks"])
def test_a_front_sheet_may_read_a_sheet_of_a_persons(plan: Seeded, front: str) -> None:
    """A cell beside planner's lines that reads an own sheet makes no calculation sheet of it, whatever its header."""
    add_sheet(plan.package, "Mine", sheet('<row r="3"><c r="A3"><v>1</v></c></row>').encode(), "Log")
    plan.formula(front, "T90", "Mine!A3", cached="1")
    assert [each for each in plan.found() if each.severity != "note"] == []


def test_a_case_may_be_moved(plan: Seeded) -> None:
    """Rule 15: in the Comparison, what reads a fixed case that was moved below is noted, and is no breach."""
    part = plan.part("Comparison")
    xml = plan.package.parts[part].decode()
    moved = re.sub(r"(<f>[^<]*[A-Z])\$6(?=[^<]*</f>)", r"\g<1>$8", xml)
    assert moved != xml
    plan.package.replace(part, moved.encode())
    found = [each for each in plan.found() if each.rule == 15]
    assert {each.severity for each in found} == {"note"}
    assert all(each.place.startswith("Comparison!") for each in found)


def test_an_own_row_of_inputs_is_held_to_no_list(plan: Seeded) -> None:
    """A number in a row that a person put among the inputs, over which a validation for dtypes spreads."""
    row = plan.at("Inputs", "kv_dtype", "")
    plan.type("Inputs", f"C{row}", None)
    plan.type("Inputs", f"F{row}", 3)
    assert not [each for each in plan.found() if each.kind == "out_of_range"]


def test_a_blank_input_is_noted(plan: Seeded) -> None:
    """An input that is blank says so, and how many headlines are N/A for it."""
    cell = f"G{plan.at('Inputs', 'batch', '')}"
    plan.type("Inputs", cell, None)
    notes = [each.what for each in plan.found() if each.place == f"Inputs!{cell}"]
    assert len(notes) == 1
    assert re.fullmatch(r"batch of \w+ is blank, and so \d+ headlines are N/A", notes[0])


def test_shared_formulas(plan: Seeded) -> None:
    """A row that Excel has saved as one shared formula is the same row; one of another master is not."""
    part = plan.part("Serve")
    cells = {column: plan.at("Serve", "decode_flops", column) for column in ALL}
    span = f"{cells['F']}:{cells['H']}"
    for column, ref in cells.items():
        old = plan.package.parts[part].decode().split(f'r="{ref}"')[1].split("<f>")[1].split("</f>")[0]
        shared = f'<f t="shared" ref="{span}" si="3">{old}</f>' if column == "F" else '<f t="shared" si="3"/>'
        xml = plan.package.parts[part].decode()
        head, _, tail = xml.partition(f'r="{ref}"')
        plan.package.replace(part, (head + f'r="{ref}"' + tail.replace(f"<f>{old}</f>", shared, 1)).encode())
    assert plan.found() == []
    plan.edit(part, '<f t="shared" si="3"/>', "<f>1*1</f>")
    assert f"Serve!{cells['G']}" in places(plan.found())


@pytest.mark.slow
@needs_libreoffice
def test_a_workbook_that_libreoffice_has_saved_is_clean(tmp_path: Path) -> None:
    """Formulas, names and values as another program writes them are still the same."""
    path, out = tmp_path / "plan.xlsx", tmp_path / "saved"
    write_plan(path)
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    convert = ["--headless", "--convert-to", "xlsx", "--outdir", str(out), str(path)]
    subprocess.run([shutil.which("soffice") or "", profile, *convert], check=True, capture_output=True, timeout=180)
    assert check(Package.read(out / "plan.xlsx")).is_clean


def command(*args: object) -> tuple[int, str]:
    """Exit code and output of `planner check`."""
    done = run("check", *args)
    return done.exit_code, done.output


def test_the_command_groups_by_rule(plan: Seeded, tmp_path: Path) -> None:
    """Clean is 0; a fault and an override are listed apart, each with place and remedy, and the code is 1."""
    path = tmp_path / "plan.xlsx"
    plan.package.write(path)
    assert command(path)[0] == 0
    plan.type("Serve", plan.at("Serve", "decode_flops", "G"), 5)
    plan.type("Serve", plan.at("Serve", "n_layers", "A"), None)
    recalculate_once(plan.package)
    plan.package.write(path)
    code, output = command(path)
    assert code == 1
    assert "Rule 9: Every row has a label" in output
    assert "Overrides: values typed where the template has a formula" in output
    assert "1 finding and 1 override" in output


def test_the_command_writes_json(plan: Seeded, tmp_path: Path) -> None:
    """One object: the file, findings, overrides, and the rules that were checked."""
    path, ref = tmp_path / "plan.xlsx", plan.at("Serve", "decode_flops", "G")
    plan.type("Serve", ref, 5)
    recalculate_once(plan.package)
    plan.package.write(path)
    code, output = command(path, "--json")
    told = json.loads(output)
    assert (code, told["file"], told["findings"], told["notes"]) == (1, str(path), [], [])
    assert set(told["rules_checked"]) >= {9, 21, 24}
    (override,) = told["overrides"]
    assert (override["rule"], override["sheet"], override["cell"], override["severity"]) == (
        14,
        "Serve",
        ref,
        "override",
    )
    assert override["what"].startswith("5 is typed over =")


def test_a_long_list_is_cut(plan: Seeded, tmp_path: Path) -> None:
    """Of many findings of one rule the first are shown, and the rest are counted."""
    for name in list(plan._rows["Serve"])[:30]:
        plan.type("Serve", plan.at("Serve", name, "A"), None)
    plan.package.write(tmp_path / "plan.xlsx")
    output = command(tmp_path / "plan.xlsx")[1]
    assert "and 10 more; --json lists them all" in output


def test_formulas_without_values_are_one_line(plan: Seeded, tmp_path: Path) -> None:
    """As openpyxl saves it: one line says how many formulas, the first of them, and what to do; JSON has all."""
    path = tmp_path / "plan.xlsx"
    plan.package.write(path)
    book = openpyxl.load_workbook(path)
    book.save(path)
    formulas = sum(cell.data_type == "f" for sheet in book for row in sheet.iter_rows() for cell in row)
    code, output = command(path)
    (line,) = [line for line in output.splitlines() if "cached value" in line]
    assert code == 1
    assert line.startswith(f"  Cover!A5, B5, C5 and {formulas - 3:,} more on ")
    assert "run planner recalc" in output
    found = json.loads(command(path, "--json")[1])["findings"]
    assert sum(len(entry["cells"]) for entry in found if entry["rule"] == 22) == formulas


def test_values_over_many_formulas_are_one_line(plan: Seeded, tmp_path: Path) -> None:
    """A dozen overrides are told with their values; of more the first cells are named and the others counted."""
    calculated = (name for name in plan._rows["Serve"] if name.startswith("n_params_"))
    names = sorted(calculated, key=plan._rows["Serve"].__getitem__)[1:14]
    for count, lines in ((12, 12), (13, 1)):
        for name in names[:count]:
            plan.type("Serve", plan.at("Serve", name, "G"), 5)
        plan.package.write(tmp_path / "plan.xlsx")
        told = command(tmp_path / "plan.xlsx")[1].partition("Overrides: values")[2].partition("\n\n")[0]
        assert told.count(" typed over ") == lines
    first, second, third = (plan.at("Serve", name, "G") for name in names[:3])
    assert f"Serve!{first}, {second}, {third} and 10 more: a value is typed over the row's formula; " in told


def test_what_cannot_be_checked_is_one_line(tmp_path: Path) -> None:
    """A file that is missing, that is no workbook, or that planner did not build: exit code 2, and why."""
    foreign, text = tmp_path / "foreign.xlsx", tmp_path / "text.xlsx"
    openpyxl.Workbook().save(foreign)
    text.write_text("no workbook", encoding="utf-8")
    for path, why in ((tmp_path / "none.xlsx", "no such file"), (text, "it is a text"), (foreign, "header of Inputs")):
        code, output = command(path)
        assert code == 2
        assert why in output
        assert len(output.splitlines()) == 1


def test_any_terminal_can_show_the_findings(plan: Seeded, tmp_path: Path) -> None:
    """Texts of the workbook that a Windows console has no letters for."""
    path = tmp_path / "plan.xlsx"
    plan.type("Serve", plan.at("Serve", "decode_flops", "B"), "秒 → \u0394")
    plan.package.write(path)
    for option in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "planner", "check", str(path), *option],
            env={**os.environ, "PYTHONIOENCODING": "cp1252"}, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        assert b"decode_flops" in done.stdout
