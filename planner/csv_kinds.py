"""Recognizes by its columns what a CSV holds, for the error where another kind of CSV is wanted."""

from __future__ import annotations

from collections.abc import Collection

from planner.errors import closest

KINDS = (
    (frozenset({"case_key", "t_median"}), "measurements", "planner backfill or planner fit"),
    (frozenset({"template", "output", "measured"}), "runs", "planner validate or planner fit"),
    (frozenset({"template", "output", "settings"}), "runs", "planner validate or planner fit"),
    (frozenset({"calibration", "parameter", "value"}), "calibrations", "--calibrations"),
    (frozenset({"scenario", "model", "hardware"}), "scenarios", "--scenarios"),
    (frozenset({"n_layers", "d_model"}), "models", "--models"),
    (frozenset({"hbm_bytes", "hbm_bandwidth"}), "accelerators", "--hardware-csv"),
)
"""The columns by which a CSV is recognized, what it holds, and what reads it; the first that fits counts."""
LIKE = 0.8  # how alike a misspelled column is to the one that is meant


def looks_like(header: Collection[str], wanted: Collection[str]) -> str:
    """Which kind of CSV has these columns, if it isn't the `wanted` kind, and the option that reads it, in words.

    Misspelled columns count. Blank if the kind is unknown, or the wanted one.
    """
    for columns, held, option in KINDS:
        if all(column in header or closest(column, header, 1, LIKE) for column in columns):
            return "" if columns <= set(wanted) else f"this looks like a CSV of {held}, which {option} reads"
    return ""
