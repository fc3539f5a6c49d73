"""Descriptions and synonyms as data: a sentence for each template, and other words for its rows.

templates/about.csv says what each shipped template calculates, templates/aliases.csv which rows the words of the field
mean: `alpha`, `ridge`, `TTFT`.
"""

from __future__ import annotations

from functools import cache

from planner import csvfile, data


def about(template: str) -> str:
    """What a template calculates, in a sentence; blank for one that is not shipped."""
    return dict(_pairs("about.csv", ("template", "about"))).get(template, "")


@cache
def aliases() -> dict[str, tuple[str, ...]]:
    """For each word or phrase, in lower case, the names of the rows that it means."""
    found: dict[str, tuple[str, ...]] = {}
    for alias, name in _pairs("aliases.csv", ("alias", "name")):
        found[alias] = (*found.get(alias, ()), name)
    return found


@cache
def _pairs(file: str, columns: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    sheet = csvfile.read(data.folder("templates") / file, required=columns, known=columns)
    return tuple((cells[columns[0]], cells[columns[1]]) for _, cells in sheet.records())
