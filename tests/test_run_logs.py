"""Logs and results of engines, which no command reads: each is named, with the number of it that can be recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from planner.run_logs import recognized
from tests import engine_logs, training_logs
from tests.commands import refusal

LOGS = engine_logs.LOGS | training_logs.LOGS


@pytest.mark.parametrize("name", LOGS)
def test_the_number_to_record_is_told(name: str) -> None:
    """What the text is, and the number of its steps or requests as options of `planner record`."""
    text, kind, options = LOGS[name]
    found = recognized(text.encode())
    assert found is not None
    assert found == (kind, f"planner record writes the time that it tells into a workbook: {options}")


@pytest.mark.parametrize("command", ["ingest", "validate", "fit"])
@pytest.mark.parametrize("name", ["vllm bench serve", "llama-bench, JSON", "torchtitan, in colour", "genai-perf, CSV"])
def test_each_command_names_it(planner: Callable[..., Result], tmp_path: Path, command: str, name: str) -> None:
    """One line, where a profile or a CSV of runs is wanted."""
    text, kind, options = LOGS[name]
    path = tmp_path / "run.json"
    path.write_text(text, encoding="utf-8")
    said = refusal(planner(command, str(path)))
    assert f"this is {kind}, and no " in said
    assert said.rstrip().endswith(options)


def test_a_long_preamble_does_not_hide_a_log(planner: Callable[..., Result], tmp_path: Path) -> None:
    """Thousands of settings before the first step."""
    path = tmp_path / "train.log"
    path.write_text("".join(f"setting_{n} = {n}\n" for n in range(5000)) + LOGS["MaxText"][0])
    assert "this is a log of training, and no profile" in planner("ingest", str(path)).stderr


def test_medians_behind_megabytes_of_requests_are_found(planner: Callable[..., Result], tmp_path: Path) -> None:
    """`vllm bench serve --save-detailed` writes every request's tokens before the medians."""
    path = tmp_path / "detailed.json"
    tokens = ", ".join(["0.0077123456789"] * 140_000)
    path.write_text(f'{{"max_concurrency": 64, "itls": [{tokens}], "median_ttft_ms": 73.88, "median_tpot_ms": 7.96}}')
    for command in ("ingest", "validate"):
        said = planner(command, str(path)).stderr.rstrip()
        assert said.endswith("--time 7.96ms --of tpot or --time 73.88ms --of time_to_first_token_full")


def test_a_csv_of_runs_with_a_word_of_logs_is_a_csv(planner: Callable[..., Result], tmp_path: Path) -> None:
    """A misspelt column is told as such, although the runs are of the time to the first token."""
    path = tmp_path / "runs.csv"
    path.write_text("idd,kind,source,template,hardware,settings,output,measured\na,ttft,me,inference,h100,x=1,ttft,1\n")
    assert "column 'id' is missing; did you mean idd? rename it to id" in planner("validate", str(path)).stderr
