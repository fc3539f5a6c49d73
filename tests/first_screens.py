"""What `planner calc` prints of some plans."""

from __future__ import annotations

from tests.commands import run

TRAINING = ["training", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=512"]
SERVING = ["inference", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=8", "batch=32"]


def calc(*words: str) -> str:
    """What `planner calc` prints."""
    done = run("calc", *words)
    assert done.exit_code == 0, done.output
    return done.stdout
