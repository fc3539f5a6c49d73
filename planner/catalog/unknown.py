"""The columns of a user's file that nothing reads: said once, so that a figure is never left out unseen."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from planner import progress

MEANT = {
    "top_k": "moe_top_k", "experts_per_token": "moe_top_k", "num_experts_per_tok": "moe_top_k",
    "num_experts": "moe_experts",
    "window_size": "sliding_window", "hbm_gb": "hbm_bytes", "memory_gb": "hbm_bytes", "memory": "hbm_bytes",
    "bandwidth": "hbm_bandwidth", "tflops": "peak_bf16", "price": "price_per_chip_hour", "cost": "price_per_chip_hour",
}  # fmt: skip
"""Other words for a column, as configs and data sheets have them."""
OWN = ("note", "comment", "_")  # how the name of an analyst's own column begins, of which nothing need be said
MOST = 6  # columns that one line names
CLOSE = 0.6  # similarity from which a known column may be the one that was meant


def is_own(name: str) -> bool:
    """Whether a column is an analyst's own by its name, whatever known one it is like."""
    return name.lower().startswith(OWN)


def warn_of_unknown(path: Path, unknown: Sequence[str], known: Sequence[str], notes: Sequence[str] = ()) -> None:
    """One warning that names the columns which aren't read, each with the known one that may be meant.

    `notes` are columns of the shipped file that describe and aren't read either.
    """
    strange = [name for name in unknown if name not in notes and not is_own(name)]
    if not strange:
        return
    shown = ", ".join(_with_known(name, known) for name in strange[:MOST])
    more = f" and {len(strange) - MOST} more" if len(strange) > MOST else ""
    many = "s" if len(strange) > 1 else ""
    progress.warn(f"{path}: column{many} not read: {shown}{more}; rename, or begin the name of a note with note_")


def _with_known(name: str, known: Sequence[str]) -> str:
    near = nearest_columns(name, known)
    return f"{name} (did you mean {' or '.join(near)}?)" if near else name


def nearest_columns(name: str, known: Sequence[str]) -> list[str]:
    """The known columns that a name may mean: those with all its words, else those that share most letters."""
    if MEANT.get(name.lower()) in known:
        return [MEANT[name.lower()]]
    words = {word for word in name.lower().split("_") if word}
    holding = [other for other in known if words and words <= set(other.lower().split("_"))]
    if holding:
        return sorted(holding, key=len)[:2]
    lowered = {other.lower(): other for other in known}
    return [lowered[match] for match in get_close_matches(name.lower(), lowered, n=2, cutoff=CLOSE)]
