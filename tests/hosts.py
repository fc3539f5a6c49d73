"""Processes on this machine that JAX joins as if each were a host."""

from __future__ import annotations

import functools
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from planner.processes import ADDRESS, COUNT, INDEX
from tests.folders import shared_folder
from tests.pages import environment


@functools.cache
def caches() -> Path:
    """The user's caches of the commands that the tests of a process start.

    Most of what such a command takes is XLA's work; a program that an earlier one had compiled is not compiled anew.
    """
    return shared_folder()


def together(
    commands: Sequence[Sequence[str]], folder: Path, devices: int = 1, **others: str
) -> list[subprocess.CompletedProcess[str]]:  # fmt: skip
    """What Python processes print and how they end that are joined, each with its own arguments and so many devices."""
    if os.name == "nt":
        pytest.skip("JAX joins processors of Linux and macOS alone")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    every = os.environ | environment() | {
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}", "XDG_CACHE_HOME": str(caches()),
        "JAX_PLATFORMS": "cpu", ADDRESS: address, COUNT: str(len(commands)), **others,
    }  # fmt: skip
    started = [
        subprocess.Popen(
            [sys.executable, *command], cwd=folder, env={INDEX: str(index)} | every, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for index, command in enumerate(commands)
    ]  # fmt: skip
    try:
        said = [process.communicate(timeout=300) for process in started]
    finally:
        for process in started:
            process.kill()
    return [
        subprocess.CompletedProcess(process.args, process.returncode, *each)
        for process, each in zip(started, said, strict=True)
    ]
