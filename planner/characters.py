"""What is printed where not every character can be: a console or a pipe of an older code page, as of Windows.

Python would write a question mark, of which the bars of `planner sensitivity` and a comparison lose their meaning.
"""

from __future__ import annotations

import codecs

LIKE_IT = "planner.like_it"
"""The name of the handler of errors, for `stream.reconfigure(errors=LIKE_IT)`."""
_PLAIN = {
    "≤": "<=", "≥": ">=", "≠": "<>", "→": "->", "◄": "<", "►": ">", "█": "#", "░": "-", "│": "|", "…": "...",
    "·": "*", "×": "x", "−": "-", "–": "-", "—": "-", "µ": "u", "μ": "u", "’": "'", "‘": "'", "“": '"', "”": '"',
}  # fmt: skip


def plain(text: str) -> str:
    """The text in ASCII: signs as those that mean the same, letters without their accents, `?` for any other."""
    return "".join(_PLAIN.get(each) or _without_marks(each) for each in text)


def _without_marks(character: str) -> str:
    import unicodedata

    parts = unicodedata.normalize("NFKD", character)
    return "".join(part for part in parts if part.isascii()) or "?"


def _like_it(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return plain(error.object[error.start : error.end]), error.end


codecs.register_error(LIKE_IT, _like_it)
