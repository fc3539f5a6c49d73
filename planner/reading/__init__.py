"""A planning workbook, however edited, read into plain data: `read_plan(path)` gives a `Plan`."""

from planner.reading.plan import Check, Entry, Headline, Note, Plan, Quantity, Scenario, Spot, Stale
from planner.reading.read import read_plan

__all__ = ["Check", "Entry", "Headline", "Note", "Plan", "Quantity", "Scenario", "Spot", "Stale", "read_plan"]
