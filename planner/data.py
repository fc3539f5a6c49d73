"""Where the data folders are: beside the package in a checkout, inside it when installed from a wheel."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


def folder(name: str) -> Path:
    """The folder of `templates`, `hardware_db` or `model_db`."""
    try:
        module = import_module(f"planner.{name}")
    except ModuleNotFoundError:
        module = import_module(name)  # a checkout that is on the path and not installed
    return Path(module.__path__[0])
