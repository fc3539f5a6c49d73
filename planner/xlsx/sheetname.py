"""The names of sheets: as a reference has them, and as two are compared."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_LIKE_CELL = re.compile(r"[A-Za-z]{1,3}[0-9]+|[Rr][0-9]*[Cc][0-9]*|[Rr]|[Cc]|TRUE|FALSE", re.IGNORECASE)


def quoted(sheet: str) -> str:
    """A sheet's name as a reference has it: in quotes where it needs them."""
    plain = _PLAIN.fullmatch(sheet) and not _LIKE_CELL.fullmatch(sheet)
    return sheet if plain else "'" + sheet.replace("'", "''") + "'"


def unquoted(prefix: str) -> str:
    """The sheet that a reference's prefix, with its ! or without, names: `Inputs!`, `'My sheet'!`."""
    name = prefix.removesuffix("!")
    return name[1:-1].replace("''", "'") if name.startswith("'") else name


def folded(text: str) -> str:
    """A name, or a text that holds names, without its capitals, in whatever alphabet: so names are compared."""
    return text.casefold()
