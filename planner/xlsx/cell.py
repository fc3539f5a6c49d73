"""A cell and a row as the file has them, with their places in its XML."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from planner.xlsx.cellvalue import Value, parsed_value

Span = tuple[int, int]
"""The byte offsets at which expat reports an element's start and its end."""


class Cell(Protocol):
    """A cell as the file has it.

    `type` is its attribute t, `text` what its <v> or <is> holds, None without one. `formula` is None for a
    typed value, and empty where the text of a shared formula stands in another cell. `kind` is normal,
    shared, array or dataTable, and empty where there is no formula; `area` is the range that the latter two fill.
    """

    @property
    def ref(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def text(self) -> str | None: ...
    @property
    def formula(self) -> str | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def area(self) -> str: ...
    @property
    def span(self) -> Span: ...
    @property
    def formula_span(self) -> Span | None: ...
    @property
    def value_span(self) -> Span | None: ...
    @property
    def value(self) -> Value:
        """The typed value, or the cached one of a formula; None where there is none."""


class ScannedCell(NamedTuple):
    """A cell with everything read out of it."""

    ref: str
    type: str
    text: str | None
    formula: str | None
    kind: str
    area: str
    span: Span
    formula_span: Span | None
    value_span: Span | None

    @property
    def value(self) -> Value:
        """The typed value, or the cached one of a formula; None where there is none."""
        return parsed_value(self.type, self.text)


class Row(NamedTuple):
    """A row; its cells begin at `first` in the list of all cells."""

    number: int
    span: Span
    first: int
