"""What a failed check says of its comparisons."""

from __future__ import annotations

from planner.formulas.comparisons import Compared, in_numbers


def test_a_text_that_should_be_another_is_said_once() -> None:
    """Of `<>` what it is; of `=` what is wanted too."""
    told = {"stack": Compared("Stack", "text", "ideal")}
    assert in_numbers('IF(stack<>"ideal",1,0)', told.__getitem__) == "Stack is ideal"
    assert in_numbers('IF(stack="default",1,0)', told.__getitem__) == "Stack is ideal, not default"
