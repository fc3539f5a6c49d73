"""What `planner update` prints: short enough to be read, whatever an upgrade brought."""

from __future__ import annotations

from planner.update.outcome import Updated, lines


def test_long_lists_stand_below_each_other() -> None:
    """Those of several sheets have lines of their own, on which short ones share one; a short list is one line."""
    rows = [f"{sheet}: a_row_with_a_long_name_{at}" for sheet in ("Training", "Inference") for at in range(9)]
    (said,) = (
        line for line in lines(Updated(new_rows=[*rows, "Dtypes: int4", "Stacks: mine"]), 4) if "New rows" in line
    )
    names = ", ".join(f"a_row_with_a_long_name_{at}" for at in range(4))
    assert said.split("\n    ") == [
        "New rows:", f"Training {names} and 5 more", f"Inference {names} and 5 more", "Dtypes int4; Stacks mine",
    ]  # fmt: skip
    assert "New rows: Dtypes int4; Stacks mine" in lines(Updated(new_rows=["Dtypes: int4", "Stacks: mine"]), 4)


def test_newer_formulas_are_counted() -> None:
    """Of a sheet with more than a few, how many there are; with --all each cell."""
    cells = ["Inputs!C1", *(f"Sweep!D{row}" for row in range(8004))]
    assert "Newer formulas and texts: Inputs C1; Sweep 8,004 cells" in lines(Updated(renewed=cells), 4)
    assert "8,004" not in "".join(lines(Updated(renewed=cells)))


def test_what_a_person_typed_is_listed_further() -> None:
    """Of the same number of each, three times as many of a person's."""
    rows = [f"Inputs!F{row} (n_chips: {row})" for row in range(10, 30)]
    said = "\n".join(lines(Updated(typed=rows, renewed=rows), 4))
    assert "F21 (n_chips: 21) and 8 more" in said
    assert "F22" not in said


def test_several_of_a_kind_are_in_the_plural() -> None:
    """A noun of two words ends in s, not its first word."""
    updated = Updated(times=8, notes=1, formats=2, own_cells=1, rules=3)
    also = "Kept also: 8 measured times, 1 note, 2 cells in a format of yours, 1 cell of yours, 3 rules of yours"
    assert also in lines(updated)
