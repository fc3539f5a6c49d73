"""What people call templates and rows.

Descriptions and synonyms are data: templates/about.csv says what each template calculates, templates/aliases.csv
which rows the words of the field mean: `alpha`, `ridge`, `TTFT`.
"""

from __future__ import annotations

from collections.abc import Container
from functools import cache

from planner import data

TEMPLATES = {
    **dict.fromkeys(("serving", "serve", "decode", "prefill"), "inference"),
    **dict.fromkeys(("train", "pretraining", "finetuning"), "training"),
}
"""What people call a template, by a word in small letters."""


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


def meant(word: str, known: Container[str]) -> list[str]:
    """The names among `known` that a word of the field means, with blanks or underscores in it; each once."""
    said = word.strip().lower()
    called = (*aliases().get(said, ()), *aliases().get(said.replace("_", " "), ()))
    return [name for name in dict.fromkeys(called) if name in known]


def row_called(word: str, known: Container[str]) -> str:
    """The one name among `known` that a word is or means; the word itself where it means none, or several."""
    names = [word] if word in known else meant(word, known)
    return names[0] if len(names) == 1 else word


@cache
def _pairs(name: str, columns: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((cells[columns[0]], cells[columns[1]]) for _, cells in data.table(name, columns).records())
