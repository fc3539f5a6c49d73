"""Keys of cases: canonical, the same however a number was typed, and readable back into a case."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.measure.records import case_key, inputs_json, parse_key

MATMUL = {"tokens": 2048, "d_in": 512, "weight_dtype": "bf16", "activation_dtype": "int8"}
KEY = "matmul|activation_dtype=int8,weight_dtype=bf16|d_in=512,tokens=2048"


def test_key_is_dtypes_then_parameters_sorted():
    """The text that finds a row without the workbook."""
    assert case_key("matmul", MATMUL) == KEY


@pytest.mark.parametrize("tokens", [2048, 2048.0, "2048", "2048.0", " 2048 ", np.float64(2048)])
def test_key_does_not_depend_on_how_a_number_is_typed(tokens):
    """A cell's float, a CSV's text and a Python int are one number."""
    inputs = dict(reversed(MATMUL.items())) | {"tokens": tokens, "weight_dtype": "BF16"}
    assert case_key("Matmul", inputs) == KEY


def test_key_leaves_out_what_is_not_there():
    """N/A, NaN and blank say nothing; False is 0."""
    assert case_key("e", {"aaa": None, "bbb": math.nan, "ccc": "", "ddd": False}) == "e|ddd=0"


def test_key_keeps_separators_apart():
    """A text that holds the key's own marks can't pass for another case."""
    assert case_key("e", {"aaa": "x,bbb=1"}) != case_key("e", {"aaa": "x", "bbb": 1})
    assert case_key("e", {"aaa": 0.1}) == "e|aaa=0.1"


@given(st.dictionaries(st.sampled_from(["aa", "bb", "c_dtype"]), st.floats(-1e300, 1e300)))
def test_equal_inputs_have_equal_keys(inputs):
    """In whatever order they come, and through their own text."""
    shuffled = {name: repr(inputs[name]) for name in reversed(inputs)}
    assert case_key("t", inputs) == case_key("t", shuffled)


def test_a_key_reads_back_into_its_case():
    """Template, texts and numbers; a text with the key's own marks too."""
    assert parse_key(KEY) == ("matmul", MATMUL)
    assert parse_key(case_key("step", {"model": "a,b|c=d", "n_layers": 0.5})) == (
        "step", {"model": "a,b|c=d", "n_layers": 0.5},
    )  # fmt: skip
    assert parse_key("copy") == ("copy", {})


@pytest.mark.parametrize("text", ["", "matmul|x", "matmul|=1", "matmul|a=1,a=2", "my own run", "matmul|"])
def test_what_is_no_key_is_refused(text):
    """Another text than a case's key can't be taken for one."""
    with pytest.raises(ValueError, match="is no"):
        parse_key(text)


def test_inputs_as_json():
    """Sorted, whole numbers whole, N/A as null."""
    assert inputs_json({"b": 2.0, "a": None, "c": math.nan, "d": "x", "e": 0.5}) == (
        '{"a": null, "b": 2, "c": null, "d": "x", "e": 0.5}'
    )
