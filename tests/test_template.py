"""A template's file: what it loads to, what each fault says, and that the shipped ones keep the rules."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from planner import csvfile
from planner.errors import UserError
from planner.formulas import library
from planner.formulas.template import CALCULATED, COLUMNS, DISPLAY, checked, name_fault, read_rows
from planner.formulas.text import Call, walk
from planner.formulas.units import parse_unit

HEADER = ",".join(COLUMNS) + "\n"


def test_a_template_loads(load):
    """Rows come in order with their defaults, lookups and names read."""
    template = load(
        "tokens 1 input 4", "kind text input bf16", "per_token FLOP constant 2e3",
        "layers 1 model n_layers", "peak FLOP/s/chip hardware peak[kind]", "bytes_held byte dtype kind",
        "work FLOP calc tokens*per_token", "twice FLOP output work+work",
    )  # fmt: skip
    rows = template.by_name
    assert [row.name for row in template.rows][:2] == ["tokens", "kind"]
    assert (rows["tokens"].default, rows["kind"].default, rows["per_token"].default) == (4.0, "bf16", 2000.0)
    assert (rows["layers"].column, rows["peak"].column) == (("n_layers", None), ("peak", "kind"))
    assert (rows["peak"].reads, rows["bytes_held"].reads) == (("kind",), ("kind",))
    assert rows["work"].reads == ("tokens", "per_token")


def test_a_blank_default_is_na(load):
    """An input without a default is N/A, never 0."""
    template = load("tokens 1 input", "kind text input")
    assert [row.default for row in template.rows] == [None, None]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["aaa 1 inptu 4"], "mine.csv, line 2: aaa: unknown kind 'inptu'; did you mean input?"),
        (["aaa bytes input 4"], "mine.csv, line 2: aaa: unknown unit 'bytes'; did you mean byte?"),
        (["aaa 1 input 4,000"], "mine.csv, line 2: aaa: '4,000' is no number; "
                                "write 0.5 or 1e12, or leave it blank for N/A"),
        (["aaa 1 input 4_000"], "mine.csv, line 2: aaa: '4_000' is no number; "
                                "write 0.5 or 1e12, or leave it blank for N/A"),
        (["aaa 1 input nan"], "mine.csv, line 2: aaa: 'nan' is no number; "
                              "write 0.5 or 1e12, or leave it blank for N/A"),
        (["aaa 1 input 1e999"], "mine.csv, line 2: aaa: '1e999' is more than a cell can hold"),
        (["aaa 1 constant"], "mine.csv, line 2: aaa: a constant needs its number in the formula column"),
        (["aaa 1 calc"], "mine.csv, line 2: aaa: the formula is empty"),
        (["aaa byte dtype"], "mine.csv, line 2: aaa: the formula is empty"),
        (["kind text input", "aaa 1 dtype kind"],
         "mine.csv, line 3: aaa: a dtype is bytes per element: its unit is byte, not 1"),
        (["tokens 1 input", "aaa byte dtype tokens"],
         "mine.csv, line 3: aaa: tokens is no text row; name a row that holds a dtype"),
        (["tokens 1 input", "aaa 1 hardware peak[tokens]"],
         "mine.csv, line 3: aaa: tokens is no text row; name a row that holds a dtype"),
        (["aaa 1 hardware peak[kidn]", "kind text input"],
         "mine.csv, line 2, column formula, character 1: aaa: unknown name kidn"),
        (["aaa 1 hardware peak-bf16"],
         "mine.csv, line 2: aaa: 'peak-bf16' is no column name; write column or column[dtype_row]"),
        (["aaa 1 model n-layers"],
         "mine.csv, line 2: aaa: 'n-layers' is no column name; write column or column[dtype_row]"),
        (["aaa 1 model n_layers[kind]"],
         "mine.csv, line 2: aaa: 'n_layers[kind]' is no column of a model; only a chip's are selected by dtype"),
        (["aaa 1 input", "aaa 1 input"],
         "mine.csv, line 3: aaa: the name stands in line 2 already; names are unique"),
        (["tokens 1 input", "aaa 1 calc tokens*tokesn"],
         "mine.csv, line 3, column formula, character 8: aaa: unknown name tokesn; did you mean tokens?"),
        (["max_len 1 input", "aaa 1 calc max_len*len"],
         "mine.csv, line 3, column formula, character 9: aaa: unknown name len; did you mean max_len?"),
        (["tokens 1 input", "aaa 1 calc tokens*bbb", "bbb 1 input"],
         "mine.csv, line 3, column formula, character 8: aaa: bbb stands below, in line 4; "
         "names refer upward: move that row up"),
        (["aaa 1 calc 1+aaa"],
         "mine.csv, line 2, column formula, character 3: aaa: the formula refers to its own row"),
        (["aaa 1 calc MNI(0,1)"],
         "mine.csv, line 2, column formula, character 1: aaa: unknown function MNI; did you mean MIN?"),
        (["tokens 1 input", "aaa 1 calc tokens+"],
         "mine.csv, line 3, column formula, character 8: aaa: "
         "a number, a name or a function is wanted, the formula ends"),
        (["tokens 1 input", "aaa 1 calc tokens>0"],
         "mine.csv, line 3, column formula, character 1: aaa: a comparison is no value; write IF(..., 1, 0)"),
        (["time s input", "work FLOP input", "aaa s calc time+work"],
         "mine.csv, line 4, column formula, character 6: aaa: units don't agree: time is s and work is FLOP"),
        (["time s input", "aaa FLOP calc time"],
         "mine.csv, line 3: aaa: declared FLOP, but time is s; correct the one or the other"),
        (["tokens 1 input", "aaa 1 calc 2*tokens"],
         "mine.csv, line 3, column formula, character 1: aaa: the number 2 in a formula; make it a constant row"),
        (["tokens 1 input", "aaa 1 calc tokens^3"],
         "mine.csv, line 3, column formula, character 8: aaa: the number 3 in a formula; make it a constant row"),
        (["tokens 1 input", "aaa 1 calc LOG(tokens,10)"],
         "mine.csv, line 3, column formula, character 12: aaa: the number 10 in a formula; "
         "make it a constant row"),
        (["tokens 1 input", "aaa 1 calc LOG(2,tokens)"],
         "mine.csv, line 3, column formula, character 5: aaa: the number 2 in a formula; make it a constant row"),
        (["tokens 1 input", "aaa 1 calc tokens+1%"],
         "mine.csv, line 3, column formula, character 8: aaa: the number 1 in a formula; make it a constant row"),
        (["tokens 1 input", "aaa 1 calc tokens*(1+1)"],
         "mine.csv, line 3, column formula, character 8: aaa: an operator between two numbers; "
         "make it a constant row"),
    ],
)  # fmt: skip
def test_a_fault_is_named(fault, rows, message):
    """Each fault is one line: file, line, character, the name or unit at fault, and the remedy."""
    assert fault(*rows) == message


def test_a_constant_says_where_it_is_from(tmp_path: Path) -> None:
    """One without a source is refused at its line and column, as `planner check` would find it in the workbook."""
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEADER}aaa,A,1,input,4,,\nbbb,B,1,constant,2,,\n", encoding="utf-8")
    with pytest.raises(UserError) as error:
        library.load(str(path))
    said = f"{path}, line 3, column source: bbb: a constant needs a source; say where its number is from"
    assert error.value.line() == said


@pytest.mark.parametrize("formula", ["1-aaa", "0*aaa", "aaa^2", "LOG(aaa,2)", "IF(aaa>0,1,0)", "MAX(0,aaa)"])
def test_literals_that_are_allowed(load, formula):
    """0 and 1 anywhere, 2 as an exponent and as a LOG's base."""
    assert load("aaa 1 input 4", f"bbb 1 calc {formula}").row("bbb").formula == formula


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("tokens", None), ("d_ff", None), ("a_1", None), ("wrap_x2", None),
        ("B", "'B' is no machine name"), ("Tokens", "'Tokens' is no machine name"), ("ab", "'ab' is no machine name"),
        ("2tokens", "'2tokens' is no machine name"), ("d-ff", "'d-ff' is no machine name"),
        ("fp8", "'fp8' reads as a cell address"), ("h100", "'h100' reads as a cell address"),
        ("max", "'max' is a function's name"), ("roundup", "'roundup' is a function's name"),
        ("true", "'true' is a function's name"),
    ],
)  # fmt: skip
def test_names(name, wrong):
    """A name is lower case, three characters or more, and reads neither as a cell nor as a function."""
    assert name_fault(name) == wrong


def test_a_row_is_said_in_the_unit_that_people_use(tmp_path):
    """The optional column display names it, where that is not the row's unit; both headers are a template's."""
    path = tmp_path / "mine.csv"
    path.write_text("name,label,unit,kind,formula,source,note,display\naaa,A,s,input,4,,,ms\nbbb,B,s,input,4,,,\n")
    assert [(row.name, row.said_in) for row in library.load(path).rows] == [("aaa", "ms"), ("bbb", "s")]
    assert library.is_template(path)


@pytest.mark.parametrize(
    ("unit", "display", "wrong"),
    [
        ("s", "GB", "GB is no unit of what is counted in s"),
        ("text", "ms", "unknown unit 'text'"),
        ("byte", "GX", "unknown unit 'GX'"),
    ],
)
def test_a_unit_of_another_kind_is_a_fault(tmp_path, unit, display, wrong):
    """A row that can't be said in the unit of its column display is told by file, line and column."""
    path = tmp_path / "mine.csv"
    path.write_text(f"name,label,unit,kind,formula,source,note,display\naaa,A,{unit},input,,,,{display}\n")
    with pytest.raises(UserError, match=f"mine.csv, line 2, column display: aaa: {wrong}"):
        library.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.csv: the file is empty; its first line names the columns"),
        ("name,label,unit,kind,formula,source\n", "mine.csv, line 1: column 'note' is missing; add it to the header"),
        ("name,label,units,kind,formula,source,note\n",
         "mine.csv, line 1: column 'unit' is missing; did you mean units? rename it to unit"),
        (HEADER.replace(",", ";"),
         "mine.csv, line 1: the columns are separated by semicolons; save it with commas: LibreOffice asks "
         "for the separator (Edit filter settings), Excel takes the list separator of the system's region"),
        (HEADER + "aaa,A,1,calc,MIN(0,1),test,\n",
         "mine.csv, line 2: 8 cells, but the header has 7 columns; put a text that holds a comma in double quotes"),
        (HEADER + "aaa,A,1,input,4\n",
         "mine.csv, line 2: 5 cells, but the header has 7 columns; give a blank cell its comma too"),
        (HEADER + "aaa,,1,input,4,,\n", "mine.csv, line 2: aaa: the label is empty; write what a reader calls it"),
        (HEADER + "\naaa,A,1,input,4,,\nB,B,1,input,4,,\n",
         "mine.csv, line 4: B: 'B' is no machine name; names match [a-z][a-z0-9_]*, three letters or more"),
        (HEADER + "aaa,A\x01,1,input,4,,\n",
         "mine.csv, line 2, column label: the text holds control characters; delete them"),
        (HEADER + 'aaa,A,1,input,4,"several\nlines \x0b",\n',
         "mine.csv, line 3, column source: the text holds control characters; delete them"),
        (HEADER + "aaa,A,1,input,4,,\uffff\n",
         "mine.csv, line 2, column note: the text holds control characters; delete them"),
        (HEADER.replace("note", "no\x1fte") + "aaa,A,1,input,4,,\n",
         "mine.csv, line 1, column 7: the text holds control characters; delete them"),
        (HEADER + 'aaa,"A,1,input,4,,\n',
         "mine.csv, line 2: not a CSV row: unexpected end of data; close every double quote"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_template(tmp_path, text, message):
    """A fault of the file itself is named with its line."""
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        library.load(path)
    assert str(caught.value).replace(f"{tmp_path}{os.sep}", "") == message


def test_an_unknown_template_names_the_nearest():
    """A misspelt template is named with the nearest."""
    with pytest.raises(UserError) as caught:
        library.load("matmull")
    assert str(caught.value) == "no template 'matmull'; did you mean matmul?"


def test_an_unknown_row_names_the_nearest():
    """A misspelt row is named with the nearest."""
    with pytest.raises(UserError) as caught:
        library.load("matmul").row("flosp")
    assert str(caught.value) == "matmul has no row 'flosp'; did you mean flops?"


@pytest.fixture(params=library.names())
def shipped(request):
    """Each template that is shipped."""
    return library.load(request.param)


def test_a_shipped_template_is_proved(shipped):
    """Every row, laid out, reads names above it, and its unit is the declared one."""
    units = {}
    for row in shipped.rows:
        assert row.name not in units
        if row.kind in CALCULATED and not row.formula.startswith('"'):
            checked(dataclasses.replace(row), units, {})
        units[row.name] = parse_unit(row.unit)


def test_a_shipped_row_is_short(shipped):
    """Before prefixes a formula has at most 120 characters, 8 names and one IF, on one line (rule 16)."""
    rows, _ = read_rows(shipped.path)
    for row in rows:
        if row.kind in CALCULATED:
            ifs = [node for node in walk(row.expression.root) if isinstance(node, Call) and node.function == "IF"]
            assert len(row.formula) <= 120, row.name
            assert len(row.expression.names) <= 8, row.name
            assert len(ifs) <= 1, row.name
            assert "\n" not in row.formula, row.name


def test_a_shipped_row_has_a_label_of_its_own(shipped):
    """No two rows of a sheet are called the same (rule 9)."""
    labels = [row.label.lower() for row in shipped.rows]
    assert len(labels) == len(set(labels)), [label for label in labels if labels.count(label) > 1]


def test_a_shipped_number_has_a_source(shipped):
    """Every constant and every formula says where it is from (rule 11)."""
    rows, _ = read_rows(shipped.path)
    assert [row.name for row in rows if row.kind in ("constant", *CALCULATED) and not row.source] == []


def test_a_shipped_check_is_one_or_zero(shipped):
    """A check is IF(..., 1, 0), never a bare comparison."""
    for row in shipped.of_kind("check"):
        assert row.formula.startswith("IF("), row.name
        assert row.formula.endswith(",1,0)"), row.name


def test_a_shipped_file_is_plain(shipped):
    """A shipped CSV is UTF-8 with LF line ends, and ends in one."""
    data = shipped.path.read_bytes()
    assert b"\r" not in data
    assert data.endswith(b"\n")
    assert csvfile.read(shipped.path).header in (COLUMNS, (*COLUMNS, DISPLAY))


def test_a_template_without_rows(fault):
    """A header alone is no template."""
    assert fault() == "mine.csv: there are no rows below the header; add a row for each quantity"


def test_a_file_with_the_name_of_a_shipped_plan_has_its_rows(write):
    """Dashboard, Sweep and reports read a plan's rows by name, so that a file without them is refused in one line."""
    with pytest.raises(UserError, match=r"^\S*goodput.csv: it has the name of a shipped plan, and lacks .* rows, such"):
        library.load(write("n_chips chip input 8", name="goodput"))
    assert set(library.load(write("n_chips chip input 8", name="matmul")).by_name) == {"n_chips"}
