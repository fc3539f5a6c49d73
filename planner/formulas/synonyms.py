"""Synonyms of templates and rows.

They are data: templates/about.csv describes each template, templates/aliases.csv maps words of the field to rows:
`alpha`, `ridge`, `TTFT`.
"""

from __future__ import annotations

from collections.abc import Container
from functools import cache

from planner import data

TEMPLATES = {
    **dict.fromkeys(("serving", "serve", "decode", "prefill"), "inference"),
    **dict.fromkeys(("train", "pretraining", "finetuning"), "training"),
}
"""Templates by synonym, in lower case."""


def about(template: str) -> str:
    """A sentence on what a template calculates; blank for one that isn't shipped."""
    return dict(_pairs("about", ("template", "about"))).get(template, "")


@cache
def aliases() -> dict[str, tuple[str, ...]]:
    """The names of the rows that each word or phrase, in lower case, means."""
    found: dict[str, tuple[str, ...]] = {}
    for alias, name in _pairs("aliases", ("alias", "name")):
        found[alias] = (*found.get(alias, ()), name)
    return found


def meant(word: str, known: Container[str]) -> list[str]:
    """The names in `known` that a word of the field means, each once; the word may have spaces or underscores."""
    said = word.strip().lower()
    called = (*aliases().get(said, ()), *aliases().get(said.replace("_", " "), ()))
    return [name for name in dict.fromkeys(called) if name in known]


def row_called(word: str, known: Container[str]) -> str:
    """The one name in `known` that a word is or means; the word itself if it means none or several."""
    names = [word] if word in known else meant(word, known)
    return names[0] if len(names) == 1 else word


@cache
def _pairs(name: str, columns: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((cells[columns[0]], cells[columns[1]]) for _, cells in data.table(name, columns).records())
