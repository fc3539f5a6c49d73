"""`planner validate` counts each run under its model's kind, dense or a mixture of experts, also without a number."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.commands import command
from tests.validations import HEADER

SETTINGS = "n_chips=8 mesh_fsdp=8 batch_tokens=131072 seq_len=4096"
RUNS = (
    ("a", "llama3-8b", SETTINGS),
    ("b", "llama3-8b", "n_chps=8"),
    ("c", "mixtral-8x7b", SETTINGS),
    ("d", "mixtral-8x7b", "n_chps=8"),
    ("e", "Mixtral-8x7B", "stack=magic"),
    ("f", "llama9", SETTINGS),
)


def test_a_run_without_a_number_counts_under_its_model(tmp_path: Path) -> None:
    """Runs with a fault are N/A of their model's kind; of an unknown model they have a line of their own."""
    path = tmp_path / "runs.csv"
    lines = [f"{name},train,training,{model},h100-sxm,{how},step_time_expected,3,s,mine" for name, model, how in RUNS]
    path.write_text("\n".join([HEADER, *lines, ""]), encoding="utf-8")
    said = command("validate", path)
    counts = dict(re.findall(r"^train, (\S.*?\S)  +(\d+ +\d+) ", said, re.MULTILINE))
    assert {name: [int(each) for each in found.split()] for name, found in counts.items()} == {
        "dense": [2, 1],
        "mixture of experts": [3, 2],
        "model not known": [1, 1],
    }
    mixes = json.loads(command("validate", path, "--json"))["mixes"]["train"]
    assert {name: each["n_na"] for name, each in mixes.items()} == {"dense": 1, "moe": 2, "unknown": 1}
