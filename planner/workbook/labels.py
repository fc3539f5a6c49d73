"""Labels as a sentence has them."""

from __future__ import annotations


def within(label: str) -> str:
    """A label within a sentence: a small first letter, but for an abbreviation."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]
