"""Searches by words in everything that has a name: rows of all templates, templates, models and chips."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from planner import catalog
from planner.catalog import Table
from planner.formulas import library
from planner.formulas.synonyms import about, aliases
from planner.formulas.template import Template

_WORD = re.compile(r"[^\s_,;:()]+")


@dataclass(frozen=True)
class NamedThing:
    """A thing with a name: its kind, its label, and where it occurs.

    `kind` is row, template, model or chip. `also` are synonyms, `note` a remark; `is_brought` says that a row comes
    from an included template, under its prefix.
    """

    kind: str
    name: str
    label: str
    unit: str = ""
    places: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    note: str = ""
    is_brought: bool = False

    @cached_property
    def words(self) -> frozenset[str]:
        """Its name and the name's parts, and the words of its label, unit and synonyms, in lower case."""
        texts = (self.name, self.label, self.unit, *self.also)
        parts = (word for text in texts for word in (text, *_WORD.findall(text), *re.split(r"[-_\s]", text)))
        return frozenset(word.lower() for word in parts)

    def rank(self, words: Sequence[str]) -> tuple[float, ...] | None:
        """How well it matches some words, less is better; None if it doesn't."""
        phrase = " ".join(words)
        if phrase in (self.name.lower(), self.name.lower().replace("_", " ")):
            level = 0
        elif phrase in self.also:
            level = 1
        elif self.words.issuperset(words):
            level = 2
        elif all(any(own.startswith(word) for own in self.words) for word in words):
            level = 3
        elif all(word in f"{self.name} {self.label} {self.note}".lower() for word in words):
            level = 4
        else:
            return None
        return level, self.is_brought, len(_WORD.findall(f"{self.name} {self.label}"))


def found(text: str) -> dict[str, list[NamedThing]]:
    """The matches of some words by kind, best first; the kind with the best match comes first."""
    words = text.lower().split()
    ranked = [(rank, at, each) for at, each in enumerate(everything()) if (rank := each.rank(words)) is not None]
    groups: dict[str, list[NamedThing]] = {}
    for _, _, each in sorted(ranked, key=lambda one: one[:2]):
        groups.setdefault(each.kind, []).append(each)
    return groups


@cache
def everything() -> tuple[NamedThing, ...]:
    """Every row (once, however many templates have it), template, model and chip; cached for the process."""
    shelf = library.shelf()
    templates = (NamedThing("template", template.name, about(template.name)) for template in shelf)
    models = _of_table("model", catalog.load_models(), "vendor")
    chips = _of_table("chip", catalog.load_hardware(), "vendor", "kind")
    return (*_rows(shelf), *templates, *models, *chips)


def _rows(shelf: Sequence[Template]) -> Iterator[NamedThing]:
    """The rows of all templates; rows of the same name are one, described where they are written."""
    names = {template.name: template.by_name for template in shelf}
    places: dict[str, list[str]] = {}
    for template in shelf:
        for row in template.rows:
            places.setdefault(row.name, []).append(template.name)
    also: dict[str, list[str]] = {}
    for alias, meant in aliases().items():
        for name in meant:
            also.setdefault(name, []).append(alias)
    for name, templates in places.items():
        row = names[templates[0]][name]
        written = names.get(row.template, {}).get(name)
        row, is_brought = written or row, written is None
        yield NamedThing(
            "row", name, row.label, row.unit, tuple(templates), tuple(also.get(name, ())), row.note, is_brought
        )


def _of_table(kind: str, table: Table, *columns: str) -> Iterator[NamedThing]:
    for identifier, cells in table.rows.items():
        note = " ".join(str(cells[column]) for column in columns if cells.get(column))
        yield NamedThing(kind, identifier, str(cells.get("name") or ""), note=note)
