"""The grammar: what a formula means, what its cell holds, and what each fault says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.formulas.evaluation import run
from planner.formulas.text import FUNCTIONS, FormulaError, Name, parse, walk
from tests.differential import by_formualizer, by_numpy, differences, formula, scenarios


@st.composite
def formulas(draw):
    """A formula of the grammar."""
    return formula(lambda options: draw(st.sampled_from(options)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-2^2", 4), ("0-2^2", -4), ("(-2)^2", 4), ("2^3^2", 64), ("2^-1", 0.5), ("2^-1^2", 0.25),
        ("50%", 0.5), ("2^50%", 2**0.5), ("-50%", -0.5), ("5%%", 0.0005), ("8%*2", 0.16),
        ("--1", 1), ("+-+3", -3), ("2--1", 3), ("2*-3", -6), ("1-2-3", -4), ("8/4/2", 1), ("2*3^2", 18),
        ("1+2*3", 7), ("(1+2)*3", 9), ("1e3", 1000), ("1.5E-2", 0.015), (".5", 0.5), ("5.", 5),
        ("IF(1+1=2,5,6)", 5), ("IF(2*3>=6,1,0)", 1), ("IF(1<>2,1,0)", 1), ("IF((1<2),1,0)", 1),
        ("IF(-1<1,1,0)", 1), ('IF("BF16"="bf16",1,0)', 1), ('IF("a""b"<>"a",1,0)', 1),
        ("MIN(3,1,2)", 1), ("SUM(1,MAX(2,3),4)", 8), ("IF(AND(1,NOT(0),OR(0,1)),7,8)", 7),
    ],
)  # fmt: skip
def test_value(text, value):
    """Precedence, signs, percent and functions are Excel's."""
    assert run(parse(text), {}) == pytest.approx(value, rel=1e-15)


@settings(derandomize=True, deadline=None, max_examples=3 * settings().max_examples)
@given(formulas(), st.integers(0, 50))
def test_formualizer_reads_it_alike(text, seed):
    """Any formula has the value that an independent parser and engine give its cell."""
    table = scenarios(4, seed)
    ours, delicate = by_numpy([text], table)
    assert not differences([text], table, ours, by_formualizer([text], table), delicate)


@settings(derandomize=True, deadline=None)
@given(formulas())
def test_names_stand_where_they_are_said_to(text):
    """Every name's span is that name in the text, and replacing names by themselves changes no byte."""
    parsed = parse(text)
    names = [node for node in walk(parsed.root) if isinstance(node, Name)]
    assert all(text[node.start : node.end] == node.name for node in names)
    assert parsed.substitute(lambda name: name) == text
    assert set(parsed.names) == {node.name for node in names}


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("len*max_len*len", "$B$1*$B$2*$B$1"),
        ("  MAX( len ,max_len )  ", "  MAX( $B$1 ,$B$2 )  "),
        ("(len)+((max_len))", "($B$1)+(($B$2))"),
        ('IF(len="len",-len,max_len%)', 'IF($B$1="len",-$B$1,$B$2%)'),
        ("1e0*len", "1e0*$B$1"),
    ],
)
def test_a_cell_holds_the_text(text, cell):
    """A cell is the row's text with its names replaced; spaces, brackets, numbers and quoted texts stay."""
    assert parse(text).substitute({"len": "$B$1", "max_len": "$B$2"}) == cell


def test_names_are_listed_once():
    """The names of a formula, each once, in reading order."""
    assert parse("beta*alpha+MIN(beta,gamma)").names == ("beta", "alpha", "gamma")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the formula is empty at character 1"),
        ("   ", "the formula is empty at character 1"),
        ("aaa+", "a number, a name or a function is wanted, the formula ends at character 5"),
        ("*aaa", "a number, a name or a function is wanted, found '*' at character 1"),
        ("=aaa", "a number, a name or a function is wanted, found '=' at character 1"),
        ("MIN(1,)", "a number, a name or a function is wanted, found ')' at character 7"),
        ("aaa bbb", "unexpected 'bbb' at character 5"),
        ("aaa)", "unexpected ')' at character 4"),
        ("1.2.3", "unexpected '.3' at character 4"),
        ("(aaa", "')' is wanted, found the end at character 5"),
        ("MIN(1;2)", "unexpected ';' at character 6"),
        ("A1:B2", "unexpected ':' at character 3"),
        ("aaa&bbb", "unexpected '&' at character 4"),
        ("{1}", "unexpected '{' at character 1"),
        ("$B$1", "unexpected '$' at character 1"),
        ('IF(aaa="x,1,0)', "a text without its closing quote at character 8"),
        ("MNI(1,2)", "unknown function MNI at character 1; did you mean MIN?"),
        ("1+sqrt(1)", "unknown function sqrt at character 3; did you mean SQRT?"),
        ("INDEX(1,2)", "unknown function INDEX at character 1; "
                       "known: ABS, AND, EXP, IF, LOG, MAX, MIN, NA, ..."),
        ("IF(1,2)", "IF takes 3 arguments, not 2 at character 1"),
        ("1+LOG(8)", "LOG takes 2 arguments, not 1 at character 3"),
        ("NA(1)", "NA takes 0 arguments, not 1 at character 1"),
        ("MAX()", "MAX takes 1 or more arguments, not 0 at character 1"),
        ("aaa>1", "a comparison is no value at character 1; write IF(..., 1, 0)"),
        ("1+(aaa>1)", "a comparison is no value at character 3; write IF(..., 1, 0)"),
        ("SUM(aaa>1,1)", "a comparison is no value at character 5; write IF(..., 1, 0)"),
        ("NOT(aaa)", "a comparison is no value at character 1; write IF(..., 1, 0)"),
        ("-AND(aaa)", "a comparison is no value at character 2; write IF(..., 1, 0)"),
        ("IF(aaa,bbb>1,0)", "a comparison is no value at character 8; write IF(..., 1, 0)"),
        ("IF(1<aaa<2,1,0)", "a comparison is no value at character 4; write IF(..., 1, 0)"),
        ('"bf16"', "text may stand only beside = or <> at character 1"),
        ('IF(aaa,"x",0)', "text may stand only beside = or <> at character 8"),
        ('IF(aaa<"x",1,0)', "text may stand only beside = or <> at character 8"),
        ('1+"x"', "text may stand only beside = or <> at character 3"),
        ('-"x"', "text may stand only beside = or <> at character 2"),
        ("+".join(["aaa"] * 5000), "the formula nests too deeply at character 1; split it into rows"),
        ("(" * 5000 + "aaa" + ")" * 5000, "the formula nests too deeply at character 1; split it into rows"),
    ],
)  # fmt: skip
def test_fault(text, message):
    """Every fault is named with its character and, where there is one, the remedy."""
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert str(caught.value) == message


def test_whole_text():
    """A formula may be one quoted text where an include's argument is read, and nowhere else."""
    assert parse('"all_gather"', whole_text=True).root.value == "all_gather"
    assert parse('"a ""b"" c"', whole_text=True).root.value == 'a "b" c'
    with pytest.raises(FormulaError):
        parse('"all_gather"&1', whole_text=True)


@pytest.mark.parametrize("text", ["MIN(aaa,bbb)" + "+aaa" * 90, "(" * 50 + "aaa" + ")" * 50, "-" * 90 + "aaa"])
def test_what_a_person_writes_is_not_too_deep(text):
    """A long sum, many brackets and many signs are read."""
    assert parse(text).text == text


def test_the_grammar_is_closed():
    """Exactly the design's functions are known."""
    numeric = {"MIN", "MAX", "SUM", "ABS", "SQRT", "LOG", "EXP", "ROUND", "ROUNDUP", "ROUNDDOWN", "NA"}
    assert set(FUNCTIONS) == numeric | {"IF", "AND", "OR", "NOT"}
