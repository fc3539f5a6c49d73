"""Many plans by JAX: the numbers of numpy, on one device and on several, by one process and by several."""

from __future__ import annotations

import csv
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

from tests.commands import command
from tests.hosts import caches, together
from tests.pages import environment

SAME = 1e-14
SERVING = (
    "inference -m deepseek-v3 -H h200-sxm --over serve_data=1,2,8,16 batch=1..97 prompt_len=100,8192 --set n_chips=16"
)
MATMUL = "matmul -H h100-sxm a100-sxm-80 --over tokens=1..20 compute_dtype=bf16,fp8 d_in=100,8192 --set d_out=4096"
TRAINING = "training -m llama3-8b -H tpu-v5p --over n_chips=4..512*2 remat=block,none,minimal n_microbatches=1,3,8"


def swept(question: str, folder: Path, devices: int, *options: str, kept: Path | None = None) -> str:
    """The table of a sweep by a process that sees so many devices; compiled programs are kept in `kept`."""
    output = folder / f"{devices}.csv"
    forced = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}", "XDG_CACHE_HOME": str(kept or caches())}
    command = [sys.executable, "-m", "planner", "sweep", *question.split(), *options, "-o", str(output), "--force"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=os.environ | environment() | forced, check=False
    )
    assert done.returncode == 0, done.stderr
    return output.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(MATMUL, id="matmul"),
        pytest.param(SERVING, id="serving", marks=pytest.mark.slow),
        pytest.param(TRAINING, id="training", marks=pytest.mark.slow),
    ],
)
def test_jax_gives_what_numpy_gives(question: str, tmp_path: Path) -> None:
    """Every number of a sweep by JAX is numpy's within 1e-14, and N/A where that is."""
    plain = tmp_path / "numpy.csv"
    command("sweep", *question.split(), "--backend", "numpy", "-o", plain)
    by_jax = swept(question, tmp_path, 1, "--backend", "jax")
    found, wanted = (list(csv.reader(text.splitlines())) for text in (by_jax, plain.read_text(encoding="utf-8")))
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
    one, eight = (swept(odd, tmp_path, devices, "--backend", "jax") for devices in (1, 8))
    assert (len(one.splitlines()) - 1) % 8 == 4
    assert eight == one


@pytest.mark.slow
def test_compiled_programs_are_kept(tmp_path: Path) -> None:
    """What JAX compiled lies in planner's folder of the user's caches, for the next run."""
    swept(TRAINING, tmp_path, 1, "--backend", "jax", kept=tmp_path)
    assert list((tmp_path / "planner" / "jax").iterdir())


SEVERAL = (
    SERVING.replace("h200-sxm", "h200-sxm tpu-v5p")
    + " --where time_per_output_token_bound<=50ms --get kv_time topology"
)
BEST = (
    "optimize training -m llama3-8b -H tpu-v5p h100-sxm --set n_chips=16 --minimize train_cost_expected --top 9"
    " --over batch_tokens=2^18..2^20"
)
FRONT = (
    "optimize inference -m llama3-70b -H h100-sxm tpu-v6e --minimize cost_per_million_tokens_expected"
    " --and time_per_output_token_expected --top 9"
)


def joined(question: str, folder: Path, *, processes: int = 2, devices: int = 1) -> list[tuple[int, str, str]]:
    """How each of some joined processes of one command by JAX ends, and what it says on both streams."""
    command = ["-m", "planner", *question.split(), "--backend", "jax"]
    return [
        (done.returncode, done.stdout, done.stderr) for done in together([command] * processes, folder, devices)
    ]  # fmt: skip


@pytest.mark.slow
def test_two_processes_write_the_rows_of_one(tmp_path: Path) -> None:
    """The parts of two processes with 8 devices each are, to the bit and in order, the table of one with one."""
    whole = joined(f"sweep {SEVERAL} -o one.parquet", tmp_path, processes=1)
    assert whole[0][0] == 0, whole
    (code, said, _), silent = joined(f"sweep {SEVERAL} -o two.parquet", tmp_path, devices=8)
    assert (code, silent) == (0, (0, "", ""))
    one = pandas.read_parquet(tmp_path / "one.parquet")
    assert said == f"Wrote two.parquet: {len(one):,} of 1,552 plans, {len(one.columns)} columns, in 2 parts.\n"
    parts = sorted((tmp_path / "two.parquet").iterdir())
    assert [part.name for part in parts] == ["part-00000-of-00002.parquet", "part-00001-of-00002.parquet"]
    assert all(len(pandas.read_parquet(part)) > 100 for part in parts)
    assert {*one["hardware"]} == {"h200-sxm", "tpu-v5p"}
    pandas.testing.assert_frame_equal(pandas.read_parquet(tmp_path / "two.parquet"), one, check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("question", [BEST, FRONT], ids=["best", "front"])
def test_two_processes_find_the_plans_of_one(question: str, tmp_path: Path) -> None:
    """The first of two processes prints and writes what one process does, and the other nothing."""
    ((code, said, warned),) = joined(f"{question} -o one.csv", tmp_path, processes=1)
    assert code == 0, warned
    first, second = joined(f"{question} -o two.csv", tmp_path)
    assert first == (0, said.replace("one.csv", "two.csv"), warned)
    assert second == (0, "", "")
    assert (tmp_path / "two.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()


@pytest.mark.slow
def test_what_only_some_processes_cannot_write_leaves_nothing_on_any(tmp_path: Path) -> None:
    """An output that exists for one process, or is no Parquet, is the same line on both, and no part is left."""
    existing = tmp_path / "there.parquet"
    existing.mkdir()
    command = ["-m", "planner", "sweep", *SERVING.split(), "--backend", "jax", "-o"]
    for outputs, said in (  # what differs between hosts, what is alike, and what fails where the part is begun
        (("new.parquet", "there.parquet"), "process 1 on .*: there.parquet: the file exists; "),
        (("new.csv", "new.csv"), "new.csv: several processes write a Parquet part each; name it .parquet, "),
        (("new.parquet", "no/new.parquet/x.parquet"), "process 1 on .*"),
    ):
        for done in together([[*command, output] for output in outputs], tmp_path):
            assert done.returncode == 2
            assert done.stdout == ""
            assert re.match(f"Error: {said}", done.stderr)
            assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there.parquet"]
    assert not list(existing.iterdir())


@pytest.mark.slow
def test_a_folder_of_parts_is_replaced_with_force_alone(tmp_path: Path) -> None:
    """Without --force the parts stay; with it those of more processes go, and what others put there stays."""
    question = SERVING.replace("batch=1..97", "batch=1..3")
    folder = tmp_path / "out.parquet"
    folder.mkdir()
    for name in ("part-00000-of-00003.parquet", "part-00002-of-00003.parquet", "mine.txt"):
        (folder / name).write_text("old")
    for code, said, fault in joined(f"sweep {question} -o out.parquet", tmp_path):
        assert (code, said, fault.count("\n")) == (2, "", 1)
    assert {path.read_text() for path in folder.iterdir()} == {"old"}
    assert joined(f"sweep {question} -o out.parquet --force", tmp_path)[0][0] == 0
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["mine.txt", "part-00000-of-00002.parquet", "part-00001-of-00002.parquet"]


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_no_part_on_any_host(tmp_path: Path) -> None:
    """Where one of two processes is killed at its work, the other says so in a line, and the folder is gone."""
    kill = "import os, planner.search.table_files as tables; tables.write_parquet = lambda *_: os.kill(os.getpid(), 9)"
    run = "import sys; sys.argv[0] = 'planner'; from planner import processes; processes.LOST_S = 5; {}; " \
          "from planner.__main__ import main; main()"  # fmt: skip
    arguments = ["sweep", *SERVING.split(), "--backend", "jax", "-o", "out.parquet"]
    other, dead = together([["-c", run.format(each or "None"), *arguments] for each in ("", kill)], tmp_path)
    assert (dead.returncode, other.returncode) == (2, 2)
    assert dead.stderr == "Error: the process was ended by SIGKILL\n"
    assert re.fullmatch("Error: .*process.* of this command ended early; .*\n", other.stderr)
    assert not (tmp_path / "out.parquet").exists()
