"""Requests of a search as `planner optimize` makes them, and the rows that they ask for."""

from __future__ import annotations

from planner.catalog.databases import Databases
from planner.search.request import request

STEP, COST, TOKEN = "step_time_expected", "cost_per_million_tokens_expected", "time_per_output_token_expected"


def asked(template, model, chips, settings=(), overs=(), wheres=()):
    """A request as the command makes it."""
    return request(template, [model] if model else [], chips, settings, overs, wheres, Databases())
