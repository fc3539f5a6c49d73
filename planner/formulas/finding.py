"""Search by words over everything that has a name: rows of all templates, templates, models and chips.

Descriptions and synonyms are data: templates/about.csv says what each template calculates, templates/aliases.csv
which rows the words of the field mean: `alpha`, `ridge`, `TTFT`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from planner import catalog, data
from planner.catalog import Table
from planner.errors import NEAR, closest, nearest
from planner.formulas import library
from planner.formulas.template import Template

_WORD = re.compile(r"[^\s_,;:()]+")


@dataclass(frozen=True)
class Named:
    """A thing with a name: what it is, what a reader calls it, and where it stands.

    `kind` is row, template, model or chip. `also` are other words for it, `note` what is said of it beside;
    `is_brought` says of a row that it is another template's, under the prefix of an include.
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
        """Its name, its parts, and the words of its label, its unit and its aliases."""
        texts = (self.name, self.label, self.unit, *self.also)
        parts = (word for text in texts for word in (text, *_WORD.findall(text), *re.split(r"[-_\s]", text)))
        return frozenset(word.lower() for word in parts)

    def rank(self, words: Sequence[str]) -> tuple[float, ...] | None:
        """How well it is what some words mean, the least the best; None where it is not."""
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


def found(text: str) -> dict[str, list[Named]]:
    """What some words mean, by kind: the likest first, and first the kind of which the likest is."""
    words = text.lower().split()
    ranked = [(rank, at, each) for at, each in enumerate(everything()) if (rank := each.rank(words)) is not None]
    groups: dict[str, list[Named]] = {}
    for _, _, each in sorted(ranked, key=lambda one: one[:2]):
        groups.setdefault(each.kind, []).append(each)
    return groups


@cache
def everything() -> tuple[Named, ...]:
    """Every row, each once however many templates have it; every template, model and chip: made once a process."""
    shelf = library.shelf()
    templates = (Named("template", template.name, about(template.name)) for template in shelf)
    models = _of_table("model", catalog.load_models(), "vendor")
    chips = _of_table("chip", catalog.load_hardware(), "vendor", "kind")
    return (*_rows(shelf), *templates, *models, *chips)


def _rows(shelf: Sequence[Template]) -> Iterator[Named]:
    """The rows of all templates: those of one name are one, described where it is written."""
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
        yield Named("row", name, row.label, row.unit, tuple(templates), tuple(also.get(name, ())), row.note, is_brought)


def _of_table(kind: str, table: Table, *columns: str) -> Iterator[Named]:
    for identifier, cells in table.rows.items():
        note = " ".join(str(cells[column]) for column in columns if cells.get(column))
        yield Named(kind, identifier, str(cells.get("name") or ""), note=note)


def meant(name: str, own: Collection[str]) -> str:
    """What to write for a name that a template hasn't, whose rows are `own`: the remedy of a message.

    What people call so here; the expected number of that name; the shipped templates that have it, without those that
    include another which has; else what is nearest, in this template or beyond it, or what begins so.
    """
    called = (*aliases().get(name.lower(), ()), *aliases().get(name.lower().replace("_", " "), ()))
    if here := dict.fromkeys(row for row in called if row in own):
        return f"here it is {' or '.join(here)}"
    if (likely := f"{name}_expected") in own:
        return f"did you mean {likely}?"
    shelf = library.shelf()
    if having := [template for template in shelf if name in template.by_name]:
        names = {each.name for each in having}
        first = [each.name for each in having if names & each.digests.keys() == {each.name}]
        return f"{', '.join(first)} {'has' if len(first) == 1 else 'have'} it"
    outer_first = sorted(shelf, key=lambda template: len(template.digests), reverse=True)
    there = {row: template.name for template in outer_first for row in template.by_name}
    best = closest(name, [*own, *there], 1, NEAR)
    if not best and (begun := sorted((row for row in own if row.startswith(f"{name}_")), key=len)):
        return f"did you mean {' or '.join(begun[:3])}?"
    return f"did you mean {best[0]}, which {there[best[0]]} has?" if {*best} - {*own} else nearest(name, own)


def about(template: str) -> str:
    """What a template calculates, in a sentence; blank for one that is not shipped."""
    return dict(_pairs("about", ("template", "about"))).get(template, "")


@cache
def aliases() -> dict[str, tuple[str, ...]]:
    """For each word or phrase, in lower case, the names of the rows that it means."""
    found: dict[str, tuple[str, ...]] = {}
    for alias, name in _pairs("aliases", ("alias", "name")):
        found[alias] = (*found.get(alias, ()), name)
    return found


@cache
def _pairs(name: str, columns: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((cells[columns[0]], cells[columns[1]]) for _, cells in data.table(name, columns).records())
