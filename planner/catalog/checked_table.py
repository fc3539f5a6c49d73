"""A database file as a checked table: a row of values for each id, which is matched regardless of its spelling."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Generic, TypeVar

from planner import data
from planner.catalog.columns import Column, Value
from planner.errors import NEAR, UserError, closest, nearest

R = TypeVar("R")
T = TypeVar("T")
TABLES = {"model": "models", "hardware": "hardware", "dtype": "dtypes", "calibration": "calibration", "stack": "stacks"}
"""The database of each kind of lookup; its sheet has the same name with a capital."""
NOUNS = {
    "models": "model",
    "hardware": "accelerator",
    "dtypes": "dtype",
    "calibration": "calibration",
    "stacks": "stack",
}
LISTED = ("models", "hardware")
"""The tables that a command lists."""
OWN_FILES = {
    "models": "--models FILE reads one of your own, which planner models add makes of a config.json",
    "hardware": "--hardware-csv FILE reads one of your own",
}
"""The option that supplies a model or chip that no shipped table has."""


class Ids:
    """Matches texts with ids regardless of case and punctuation, so that Llama-3-70B is llama3-70b."""

    def __init__(self, ids: Collection[str]) -> None:
        self.ids = ids

    def meant(self, text: str) -> str | None:
        """The id as spelt in the table; None if there is none, or if several differ only in punctuation."""
        text = text.strip()
        if text in self.ids:
            return text
        return self._lowered.get(text.lower()) or self._lettered.get(_letters(text)) or None

    @cached_property
    def _lowered(self) -> dict[str, str]:
        """Each id by its lower-case form."""
        return {identifier.lower(): identifier for identifier in self.ids}

    @cached_property
    def _lettered(self) -> dict[str, str]:
        """Each id by its letters and digits alone; blank if several have the same."""
        found: dict[str, str] = {}
        for identifier in self.ids:
            letters = _letters(identifier)
            found[letters] = "" if letters in found else identifier
        return found


def _letters(text: str) -> str:
    return "".join(character for character in text.lower().replace("+", "plus") if character.isalnum())


def _untuned(repository: str) -> str:
    """The name of a Hugging Face repository without its owner and the word for how the model was tuned."""
    return re.sub(r"(?i)-(?:instruct|chat|it|hf|base|pt)\b", "", repository.rpartition("/")[2])


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9.]+", text.lower())


class ById(Mapping[str, T], Generic[R, T]):
    """What `read` makes of the row of each id, in file order, made on access."""

    def __init__(self, rows: Mapping[str, R], read: Callable[[R], T]) -> None:
        self._rows, self._read = rows, read

    def __getitem__(self, identifier: str) -> T:
        return self._read(self._rows[identifier])

    def __contains__(self, identifier: object) -> bool:
        return identifier in self._rows  # without making anything of its row

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


@dataclass(frozen=True)
class Table:
    """A database file: a row of values for each id, in file order. None is an unknown number (N/A).

    `sources` has the source of each row; `digests` the SHA-256 of each file by name; `filled` the
    blank cells of each row that planner fills in, by column, with the columns that they follow from (none: a default).
    """

    kind: str
    path: Path
    columns: tuple[Column, ...]
    rows: Mapping[str, dict[str, Value]]
    sources: Mapping[str, str]
    digests: Mapping[str, str]
    filled: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)

    def identify(self, text: str) -> str:
        """The id that a text means, by `Ids` or as the one Hugging Face repository of a row.

        Raises UserError naming the nearest id.
        """
        if (found := self._ids.meant(text)) is not None:
            return found
        if len(known := self._of_repository(text)) == 1:
            return known[0]
        raise UserError(f'no {NOUNS[self.kind]} "{text}"', remedy=self._remedy(text))

    def _of_repository(self, text: str) -> list[str]:
        """The ids of a Hugging Face repository, `owner/name`: their checkpoint's, or else their source's."""
        if "/" not in text:
            return []
        told = [each for each, row in self.rows.items() if str(row.get("hf_id") or "").lower() == text.lower()]
        return told or [each for each, source in self.sources.items() if text in source.split()]

    def has(self, text: str) -> bool:
        """Whether a text means one of the ids, as for `identify`."""
        return self._ids.meant(text) is not None

    @cached_property
    def _ids(self) -> Ids:
        return Ids(self.rows)

    @cached_property
    def _remedy(self) -> Callable[[str], str]:
        """The remedy for an unknown id, found once: thousands of runs may name the same."""
        return cache(self._meant)

    def _meant(self, text: str) -> str:
        """The remedy for an unknown id: the ids of the Hugging Face repository that it names, else the nearest.

        A config makes a row first.
        """
        if self.kind == "models" and text.lower().endswith(".json"):
            return f"planner models add {text} --to my.csv makes a row of a config, which --models my.csv reads"
        if near := self._of_repository(text) or self._of_alike(text) or self._named(text):
            return f"did you mean {' or '.join(near[:3])}?"
        remedy = nearest(text, self.rows)
        is_listed = remedy.endswith("...") and self.kind in LISTED
        if not is_listed:
            return remedy
        own = f", {OWN_FILES[self.kind]}" if self.path.parent in _folders() else ""
        return f"{remedy.removesuffix(', ...')} and others; planner {self.kind} list shows all{own}"

    def _of_alike(self, text: str) -> list[str]:
        """The ids of the checkpoints whose names are most similar to that of a Hugging Face repository."""
        if "/" not in text:
            return []
        known = {_untuned(str(row.get("hf_id") or identifier)): identifier for identifier, row in self.rows.items()}
        return [known[each] for each in closest(_untuned(text), known, 3, NEAR)]

    def _named(self, text: str) -> list[str]:
        """The ids of which each word of a text begins a word of the id or name; exact matches first."""
        words, found = _words(text), []
        for identifier, row in self.rows.items():
            known = [*_words(identifier), *_words(str(row.get("name") or ""))]
            if words and all(any(each.startswith(word) for each in known) for word in words):
                found.append((not set(words) <= set(known), len(identifier), identifier))
        return [identifier for *_, identifier in sorted(found, key=lambda each: each[:2])]

    def row(self, identifier: str) -> Mapping[str, Value]:
        """The row of an id, matched as by `identify`. Raises UserError as it does."""
        return self.rows[self.identify(identifier)]


def called(own: Path) -> str:
    """The name of a user's file among the shipped ones: `your models.csv` if one of these has the same name."""
    return f"your {own.name}" if own.name in _shipped() else own.name


@cache
def _shipped() -> frozenset[str]:
    """The names of the shipped files."""
    return frozenset(path.name for folder in _folders() for path in folder.glob("*.csv"))


def _folders() -> list[Path]:
    """The folders of the shipped files."""
    return [data.folder(name) for name in ("model_db", "hardware_db", "templates")]


def own_rows_first(own: Table, ours: Table) -> Table:
    """The user's table followed by the shipped one, without rows whose ids the user's table has."""
    kept = [identifier for identifier in ours.rows if not own.has(identifier)]
    return replace(
        own,
        rows=_followed(own.rows, ours.rows, kept),
        sources=_followed(own.sources, ours.sources, kept),
        digests={**own.digests, **ours.digests},
        filled=_followed(own.filled, ours.filled, [identifier for identifier in kept if identifier in ours.filled]),
    )


def _followed(first: Mapping[str, T], then: Mapping[str, T], kept: Iterable[str]) -> Mapping[str, T]:
    """A mapping followed by the `kept` keys of another."""
    places = {key: (first, key) for key in first} | {key: (then, key) for key in kept}
    return ById(places, lambda place: place[0][place[1]])
