"""How texts wrap in cells: the lines that one takes in so many letters, and the height of its row."""

from __future__ import annotations

import re

LINE_HEIGHT, PER_WIDTH = 13.0, 1.15  # points a line, letters a unit of width
BOLD_PER_WIDTH = 1.05  # the same of letters that may be bold
LEAST_LETTERS = 8  # of a line, in however narrow a column
_WORDS = re.compile(r"[^\s/-]*[\s/-]+|[^\s/-]+")  # a line ends after a blank, a hyphen or a slash


def height_of(text: str, letters: float) -> float:
    """The height in points of a row with a text in lines of so many letters; 0 if one line has room for it."""
    line = max(int(letters), LEAST_LETTERS)
    lines = lines_of(text, line) if len(text) > line else 1
    return LINE_HEIGHT * lines + 2 if lines > 1 else 0.0


def lines_of(text: str, letters: int) -> int:
    """How many lines of so many letters a text takes, broken as in spreadsheets: a longer word is split."""
    lines, used = 1, 0
    for word in _WORDS.findall(text):
        if used and used + len(word.rstrip()) > letters:
            lines, used = lines + 1, 0
        used += len(word)
        if len(word) > letters:
            lines, used = lines + (used - 1) // letters, (used - 1) % letters + 1
    return lines
