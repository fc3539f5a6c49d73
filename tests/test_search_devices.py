"""Many plans by JAX: the numbers of numpy, on one device and on several."""

from __future__ import annotations

import csv
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import environment

SAME = 1e-14
SERVING = (
    "inference -m deepseek-v3 -H h200-sxm --over serve_data=1,2,8,16 batch=1..97 prompt_len=100,8192 --set n_chips=16"
)
TRAINING = "training -m llama3-8b -H tpu-v5p --over n_chips=4..512*2 remat=block,none,minimal n_microbatches=1,3,8"


def swept(question: str, folder: Path, devices: int, *options: str) -> str:
    """The table of a sweep by a process that sees so many devices; compiled programs are kept in `folder`."""
    output = folder / f"{devices}.csv"
    forced = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}", "XDG_CACHE_HOME": str(folder)}
    command = [sys.executable, "-m", "planner", "sweep", *question.split(), *options, "-o", str(output), "--force"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=os.environ | environment() | forced, check=False
    )
    assert done.returncode == 0, done.stderr
    return output.read_text(encoding="utf-8")


@pytest.mark.parametrize("question", [SERVING, TRAINING], ids=["serving", "training"])
def test_jax_gives_what_numpy_gives(question: str, tmp_path: Path) -> None:
    """Every number of a sweep by JAX is numpy's within 1e-14, and N/A where that is."""
    found, wanted = (
        list(csv.reader(swept(question, tmp_path, 1, "--backend", backend).splitlines()))
        for backend in ("jax", "numpy")
    )
    assert found[0] == wanted[0]
    assert len(found) == len(wanted) > 70
    for one, other in zip(found[1:], wanted[1:], strict=True):
        for mine, theirs in zip(one, other, strict=True):
            assert mine == theirs or math.isclose(float(mine), float(theirs), rel_tol=SAME), (one, other)


@pytest.mark.slow
def test_eight_devices_give_what_one_gives(tmp_path: Path) -> None:
    """A count of plans that eight devices don't divide is shared out among them, to the bit what one device gives."""
    one, eight = (swept(SERVING, tmp_path, devices, "--backend", "jax") for devices in (1, 8))
    assert (len(one.splitlines()) - 1) % 8 == 0
    assert eight == one
    odd = SERVING.replace("1..97", "1..9").replace("prompt_len=100,8192", "prompt_len=100")
    assert (len(swept(odd, tmp_path, 1, "--backend", "jax").splitlines()) - 1) % 8 == 4
    assert swept(odd, tmp_path, 8, "--backend", "jax") == swept(odd, tmp_path, 1, "--backend", "jax")


@pytest.mark.slow
def test_compiled_programs_are_kept(tmp_path: Path) -> None:
    """What JAX compiled lies in planner's folder of the user's caches, for the next run."""
    swept(TRAINING, tmp_path, 1, "--backend", "jax")
    assert list((tmp_path / "planner" / "jax").iterdir())
