"""`planner hardware`: the accelerators of the database."""

from __future__ import annotations

from planner.commands.listing import Loader, group


def _loader() -> Loader:
    from planner import catalog

    return catalog.load_hardware


command = group(
    "hardware", _loader, ("name", "peak_bf16", "hbm_bytes", "hbm_bandwidth"),
    "List the accelerators, or show one with its sources.",
)  # fmt: skip
