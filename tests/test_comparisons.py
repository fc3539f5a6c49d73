"""What a failed check says of its comparisons."""

from __future__ import annotations

from planner.formulas import library
from planner.formulas.comparisons import Compared, in_numbers


def test_a_text_that_should_be_another_is_said_once() -> None:
    """Of `<>` what it is; of `=` what is wanted too."""
    told = {"stack": Compared("Stack", "text", "ideal")}
    assert in_numbers('IF(stack<>"ideal",1,0)', told.__getitem__) == "Stack is ideal"
    assert in_numbers('IF(stack="default",1,0)', told.__getitem__) == "Stack is ideal, not default"


def test_a_prompt_is_held_to_the_models_context() -> None:
    """Of what a plan serves either the context or the prompt can be too long, and that alone is said."""
    check = library.load("inference").row("check_context").formula
    known = {"max_context": 8192.0, "context_len": 8192.0, "prompt_len": 9000.0}
    said = in_numbers(check, lambda name: Compared(name, "1", known[name]))
    assert said == "prompt_len = 9,000 > 8,192 = max_context"
