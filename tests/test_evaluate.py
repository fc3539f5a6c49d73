"""A template as a function of arrays: Excel's arithmetic, the same in numpy, JAX and two spreadsheets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import settings

from planner.errors import UserError
from planner.formulas import library
from planner.formulas.evaluation import Facts, Results, code, evaluate, leaves_of, run, text_of
from planner.formulas.partial import partial
from planner.formulas.text import parse
from tests.differential import by_formualizer, by_jax, by_libreoffice, by_numpy, differences, sample, scenarios
from tests.libreoffice import needs_libreoffice

# Measured in LibreOffice 7.4 and formualizer 0.13, where both agree; None is N/A, which any error counts as.
EDGES = {
    # rounding goes by 15 significant digits, so that what is whole but for rounding errors is whole
    "ROUNDUP(LOG(2^29,2),0)": 29, "ROUNDUP(LOG(1000,10),0)": 3, "ROUNDUP(LOG(125,5),0)": 3,
    "ROUNDDOWN(LOG(243,3),0)": 5, "ROUNDDOWN((0.3-0.1)*10,0)": 2, "ROUNDDOWN(4.35*100,0)": 435,
    "ROUNDUP(1.1*1.1*100,0)": 121, "ROUNDDOWN(2.999999999999999,0)": 3, "ROUNDUP(3.000000000000001,0)": 3,
    "ROUNDDOWN(2.99999999,0)": 2, "ROUNDUP(3.00000001,0)": 4, "ROUND(1.005,2)": 1.01, "ROUND(2.499999999999,0)": 2,
    "ROUND(1234567890123.4,0)": 1234567890123, "ROUND(2.5,0)": 3, "ROUND(-2.5,0)": -3, "ROUND(15,-1)": 20,
    "ROUNDUP(-1.2,0)": -2, "ROUNDDOWN(-1.8,0)": -1, "ROUNDUP(1234.5678,-2)": 1300, "ROUNDDOWN(8.29,1.9)": 8.2,
    "ROUNDUP(0,0)": 0, "ROUNDUP(0.0000000000001,0)": 1, "ROUNDUP(LOG(0.5,2),0)": -1,
    # numbers beyond float64's fractions stay
    "ROUNDDOWN(123456789012345,0)": 123456789012345, "ROUNDDOWN(1e20,3)": 1e20, "ROUNDUP(1e300,2)": 1e300,
    "ROUND(1234.5,310)": 1234.5,
    # comparisons
    "IF(1=1+1e-13,1,0)": 0, "IF(1<1+1e-13,1,0)": 1, "IF(1e12<1e12+0.4,1,0)": 1, "IF(1=1+1e-12,1,0)": 0,
    "IF(2=2,1,0)": 1, 'IF("BF16"="bf16",1,0)': 1, 'IF("ab"<>"AB",1,0)': 0,
    # N/A propagates, save from the branch that IF does not take
    "NA()": None, "NA()+1": None, "0*NA()": None, "NA()^0": None, "1^NA()": None, "-NA()": None, "NA()%": None,
    "IF(NA()>1,1,0)": None, "IF(NA()=NA(),1,0)": None, "IF(NA()<>0,1,0)": None, "IF(NA(),1,0)": None,
    "MIN(NA(),5)": None, "MAX(1,NA())": None, "SUM(1,NA())": None, "ABS(NA())": None, "ROUNDUP(NA(),0)": None,
    "ROUNDUP(1,NA())": None, "SQRT(NA())": None, "LOG(NA(),2)": None, "LOG(2,NA())": None, "EXP(NA())": None,
    "IF(AND(1>0,NA()>0),1,0)": None, "IF(AND(1<0,NA()>0),1,0)": None, "IF(OR(1>0,NA()>0),1,0)": None,
    "IF(NOT(NA()>0),1,0)": None, "IF(1>0,5,NA())": 5, "IF(1<0,NA(),6)": 6, "IF(1>0,NA(),6)": None,
    # what has no value is N/A
    "1/0": None, "0/0": None, "2^1024": None, "1e308*10": None, "1e308+1e308": None, "EXP(1000)": None,
    "SQRT(-1)": None, "LOG(0,2)": None, "LOG(-8,2)": None, "LOG(8,0)": None, "LOG(8,1)": None, "0^-1": None,
    # conditions
    "IF(2,5,6)": 5, "IF(0,5,6)": 6, "IF(NOT(3),5,6)": 6, "IF(AND(0,1),1,0)": 0, "IF(OR(0,-1),1,0)": 1,
    # powers
    "LOG(8,0.5)": -3, "(-2)^3": -8, "0^2": 0, "EXP(-1000)": 0,
}  # fmt: skip


def value(text, **names):
    """A formula's value, None for N/A."""
    with np.errstate(all="ignore"):
        number = float(run(parse(text), {name: np.float64(of) for name, of in names.items()}))
    return None if math.isnan(number) else number


@pytest.mark.parametrize(("text", "expected"), EDGES.items(), ids=str)
def test_edge(text, expected):
    """The edge cases have the values that spreadsheets give them."""
    assert value(text) == (expected if expected is None else pytest.approx(expected, rel=1e-15))


@pytest.mark.parametrize("exponent", [0, 1, 3, 29, 31, 40, 63, -10])
def test_logarithms_of_powers_are_whole(exponent):
    """The logarithm of a power of 2 or 10 is its exponent, to the last digit."""
    assert value("LOG(2^exponent,2)", exponent=exponent) == exponent
    assert value("LOG(power,10)", power=float(f"1e{exponent}")) == exponent


def test_a_text_is_spelt_as_it_was_last():
    """Texts that differ in case are one, and a table has the spelling of what was asked for now, not of before."""
    assert code("Bf16") == code("bf16")
    assert text_of(code("Bf16")) == "Bf16"
    assert text_of(code("bf16")) == "bf16"


def same_edges(by_engine):
    """The edge cases have these values in an engine; their formulas read no names, so one scenario will do."""
    formulas, table = list(EDGES), {"kind": [None]}
    expected = np.array([[np.nan if number is None else number] for number in EDGES.values()])
    assert not differences(formulas, table, expected, by_engine(formulas, table))


def test_edges_in_formualizer():
    """The table of edge cases is what formualizer computes."""
    same_edges(by_formualizer)


@pytest.mark.slow
@needs_libreoffice
def test_edges_in_libreoffice(tmp_path):
    """The table of edge cases is what LibreOffice computes."""
    same_edges(lambda formulas, table: by_libreoffice(formulas, table, tmp_path))


def test_edges_in_jax():
    """The table of edge cases is what JAX computes."""
    same_edges(by_jax)


def agree(by_other, count, seed):
    """Nothing on which numpy and another engine disagree, over random formulas and 16 scenarios of values."""
    formulas, table = sample(count, seed), scenarios(16, seed)
    ours, delicate = by_numpy(formulas, table)
    assert delicate.mean() < 0.1  # what is left out is the exception
    assert 0.1 < np.isnan(ours).mean() < 0.4  # numbers and N/A are both tried
    assert not differences(formulas, table, ours, by_other(formulas, table), delicate)


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_formulas_in_formualizer(seed):
    """A cell and the array function agree on random formulas and values: everyday 1,500 formulas, else 6,000."""
    agree(by_formualizer, 20 * settings().max_examples, seed)


def test_formulas_in_jax():
    """JAX and numpy agree on random formulas and values: everyday 25 formulas, else 100."""
    agree(by_jax, settings().max_examples, 7)


@pytest.mark.slow
@needs_libreoffice
@pytest.mark.parametrize("seed", [5, 6])
def test_formulas_in_libreoffice(seed, tmp_path):
    """LibreOffice and the array function agree on thousands of random formulas and values."""
    agree(lambda formulas, table: by_libreoffice(formulas, table, tmp_path), 2000, seed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("IF(0.1+0.2=0.3,1,0)", 1), ("IF(0.1+0.2>0.3,1,0)", 0), ("IF(0.1+0.2<=0.3,1,0)", 1),
        ("IF(1<1+1e-15,1,0)", 0), ("ROUNDDOWN(1234567890123.7,0)", 1234567890123),
        ("ROUNDUP(123456789012.2,0)", 123456789013), ("ROUNDDOWN(999999999999.9,0)", 999999999999), ("0^0", None),
    ],
)  # fmt: skip
def test_where_spreadsheets_part(text, expected):
    """Where they differ, we compare as LibreOffice does, round as Excel and formualizer do, and 0^0 is Excel's."""
    assert value(text) == expected


def test_arrays_are_scalars_side_by_side():
    """A sweep's element is what the formula gives for that element's values alone."""
    formulas, table = sample(50, 11), scenarios(16, 11)
    together, _ = by_numpy(formulas, table)
    for index in range(16):
        alone, _ = by_numpy(formulas, {name: [values[index]] for name, values in table.items()})
        np.testing.assert_array_equal(together[:, index], alone[:, 0])


CHIP = {"peak_bf16": 100.0, "peak_int8": 200.0, "peak_fp8": None, "hbm_bandwidth": 10.0, "note": "text"}
BYTES = {"bf16": 2.0, "int8": 1.0, "fp8": 1.0}
DTYPES = {"dtype": {name: {"bytes_per_element": size} for name, size in BYTES.items()}}
ROWS = [
    "tokens 1 input 4", "kind text input bf16", "peak FLOP/s/chip hardware peak[kind]",
    "hbm_bandwidth byte/s/chip hardware", "layers 1 model n_layers", "element_bytes byte dtype kind",
    "held byte calc tokens*layers*element_bytes", "time s*chip output held/hbm_bandwidth",
]  # fmt: skip


@pytest.fixture
def small(load):
    """A template with a row of each kind."""
    return load(*ROWS)


@pytest.fixture
def facts():
    """A model, a chip and dtypes for it."""
    return Facts(model={"n_layers": 3.0}, hardware=CHIP, by_id=DTYPES)


def on_jax(template, facts, given=None):
    """Every row as a search on JAX's devices computes it: of all that is typed or looked up nothing stays."""
    import jax
    import jax.numpy as jnp

    spelling = {}
    leaves = leaves_of(template, facts, given or {}, spelling)
    with jax.enable_x64(True):
        left = partial(template, facts, {}, leaves, template.by_name, xp=jnp)
        arrays = {name: np.asarray(array) for name, array in jax.jit(lambda moving: left(moving))(leaves).items()}
    return Results(template, arrays, given or {}, spelling)


BY = {"numpy": evaluate, "jax": on_jax}


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_a_plan(small, facts, backend):
    """Inputs, lookups, dtypes and formulas are read; a text chooses the chip's column, whatever its case."""
    evaluate = BY[backend]
    results = evaluate(small, facts, {"kind": "INT8"})
    assert (results.value("peak"), results.value("element_bytes"), results.value("time")) == (200.0, 1.0, 1.2)
    assert evaluate(small, facts).value("time") == 2.4


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_a_sweep(small, facts, backend):
    """Arrays of numbers and of texts broadcast, and N/A stays with its scenario."""
    given = {"tokens": np.array([1.0, 2.0, np.nan, 4.0]), "kind": ["bf16", "int8", "bf16", "fp16"]}
    results = BY[backend](small, facts, given)
    np.testing.assert_allclose(results["time"], [0.6, 0.6, np.nan, np.nan], rtol=1e-15)
    np.testing.assert_array_equal(results["peak"], [100.0, 200.0, 100.0, np.nan])


def test_a_blank_is_na_and_never_zero(small, facts):
    """A column that the database leaves blank, and a dtype that it hasn't, are N/A."""
    results = evaluate(small, facts, {"kind": "fp8"})
    assert (results.value("peak"), results.value("time")) == (None, 1.2)
    assert evaluate(small, facts, {"kind": None}).value("element_bytes") is None
    assert evaluate(small, facts, {"tokens": None}).value("time") is None


def test_any_row_can_be_overridden(small, facts):
    """A value given for a lookup, a dtype's bytes or a formula stands in its place, and what depends on it follows."""
    results = evaluate(small, facts, {"layers": 5, "hbm_bandwidth": 1})
    assert results.value("time") == 4 * 5 * 2
    assert evaluate(small, facts, {"element_bytes": 0.5}).value("held") == 6
    assert evaluate(small, facts, {"held": 100}).value("time") == 10
    assert evaluate(small, facts, {"held": None}).value("time") is None


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"tokesn": 4}, "mine has no row 'tokesn'; did you mean tokens?"),
        ({"tokens": "four"}, "line 2: tokens: 'four' is no number; its unit is 1"),
        ({"kind": 4}, "line 3: kind: 4 is no text"),
        ({"tokens": [1, "two"]}, "line 2: tokens: 'two' is no number; its unit is 1"),
    ],
)
def test_a_wrong_value_is_named(small, facts, given, wrong):
    """A name that is not there, a text for a number and a number for a text are refused."""
    with pytest.raises(UserError) as caught:
        evaluate(small, facts, given)
    assert str(caught.value).endswith(wrong)


@pytest.mark.parametrize(
    ("facts", "wrong"),
    [
        (Facts(hardware=CHIP, by_id=DTYPES),
         " reads a model's n_layers; name one with -m MODEL, or --set layers=..."),
        (Facts(model={"n_layers": 3.0}, by_id=DTYPES),
         " reads a chip's hbm_bandwidth; "
         "name one with -H CHIP, or --set hbm_bandwidth=... peak=..."),
        (Facts(model={"n_layer": 3.0}, hardware=CHIP, by_id=DTYPES),
         "layers: the model table has no column n_layers; did you mean n_layer?"),
    ],
)  # fmt: skip
def test_a_missing_table_or_column_is_named(small, facts, wrong):
    """A template that reads a model or a chip says which column, and how to give it."""
    with pytest.raises(UserError) as caught:
        evaluate(small, facts)
    assert str(caught.value).endswith(wrong)


def test_a_table_that_is_not_read_is_not_needed(small):
    """With every lookup typed, no model and no chip are named."""
    given = {"layers": 2, "hbm_bandwidth": 1, "peak": 1}
    assert evaluate(small, Facts(by_id=DTYPES), given).value("time") == 16


@pytest.mark.slow
@pytest.mark.parametrize("name", library.names())
def test_jax_and_numpy_agree_on_the_templates(name):
    """Every row of every shipped template is the same in JAX, for every model on a chip."""
    from planner import catalog
    from planner.catalog.databases import Databases
    from planner.formulas.lookups import by_id

    models, chips = catalog.load_models(), catalog.load_hardware()
    ids = list(models.rows)
    model = {column: [models.rows[each][column] for each in ids] for column in models.rows[ids[0]]}
    template = library.load(name)
    facts = Facts(model=model, hardware=dict(chips.row("tpu-v5e")), by_id=by_id(template, Databases()))
    ours, theirs = evaluate(template, facts), on_jax(template, facts)
    for row in template.rows:
        np.testing.assert_allclose(theirs[row.name], ours[row.name], rtol=1e-12, err_msg=row.name)
