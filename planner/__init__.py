"""Plan LLM training and serving in spreadsheets of live formulas, and compare the plans with measurements.

The functions of `__all__` are the Python API; each does what the command of its name does.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.api.build import build
    from planner.api.calc import calc
    from planner.api.catalog_tables import hardware, models
    from planner.api.read import read
    from planner.api.search import optimize, sweep
    from planner.api.sensitivity import sensitivity
    from planner.errors import UserError

__version__ = "0.2.0"
__all__ = [
    "UserError",
    "__version__",
    "build",
    "calc",
    "hardware",
    "models",
    "optimize",
    "read",
    "sensitivity",
    "sweep",
]

_ROOMS = {
    "UserError": "planner.errors",
    "build": "planner.api.build",
    "calc": "planner.api.calc",
    "hardware": "planner.api.catalog_tables",
    "models": "planner.api.catalog_tables",
    "optimize": "planner.api.search",
    "read": "planner.api.read",
    "sensitivity": "planner.api.sensitivity",
    "sweep": "planner.api.search",
}
"""The module of each public name, imported when the name is first used."""


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_ROOMS[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_ROOMS]


# `measure`, `templates` and the two databases are top-level folders of the repository, and are inside this
# package when it is installed from a wheel. In a checkout they are next to it. (planner/measure is a link
# for tools that don't run this line, such as mypy and editors.)
if not Path(__path__[0], "templates").is_dir():
    __path__.append(str(Path(__path__[0]).parent))
