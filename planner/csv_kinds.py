"""Recognizes by its columns what a CSV holds, for the error where another kind of CSV is wanted."""

from __future__ import annotations

from collections.abc import Collection

KINDS = (
    (frozenset({"template", "output", "measured"}), "runs", "planner validate or planner fit"),
    (frozenset({"calibration", "parameter", "value"}), "calibrations", "--calibrations"),
    (frozenset({"scenario", "model", "hardware"}), "scenarios", "--scenarios"),
    (frozenset({"n_layers", "d_model"}), "models", "--models"),
    (frozenset({"hbm_bytes", "hbm_bandwidth"}), "accelerators", "--hardware-csv"),
)
"""The columns by which a CSV is recognized, what it holds, and what reads it; the first that fits counts."""


def looks_like(header: Collection[str], wanted: Collection[str]) -> str:
    """What the columns of a CSV look like and which option reads it, where others are `wanted`.

    Blank for columns of no known kind, and for those of the kind that is wanted.
    """
    for columns, held, option in KINDS:
        if columns <= set(header):
            return "" if columns <= set(wanted) else f"this looks like a CSV of {held}, which {option} reads"
    return ""
