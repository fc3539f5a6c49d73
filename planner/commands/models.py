"""`planner models`: the models of the database."""

from __future__ import annotations

from planner.commands.listing import Loader, group


def _loader() -> Loader:
    from planner import catalog

    return catalog.load_models


command = group(
    "models", _loader, ("name", "n_layers", "d_model", "n_experts", "n_params_published"),
    "List the models, or show one with its sources.",
)  # fmt: skip
