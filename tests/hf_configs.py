"""What the tests of Hugging Face configs share: the hub's configs, counts made elsewhere, and a command to run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from click.testing import Result

from planner import stored_rows
from planner.catalog import Value, load_models
from planner.catalog.databases import Databases
from planner.formulas import library
from planner.formulas.evaluation import Facts, evaluate
from planner.formulas.lookups import by_id
from planner.hf.store import understand
from tests.commands import refusal, run

FOLDER = Path(__file__).parent / "data" / "hf"
CONFIGS = {path.stem: path for path in sorted(FOLDER.glob("[!_]*.json"))}
COUNTED = json.loads((FOLDER / "_counted.json").read_text(encoding="utf-8"))
MODELS = load_models()
TRANSFORMER = library.load("transformer")

Run = Callable[..., Result]
Config = dict[str, Any]


def row_of(path: Path, **settings: str) -> Mapping[str, Value]:
    """The complete row that a config makes."""
    return stored_rows.completed(stored_rows.MODELS, {"id": "mine", **understand(path, settings).cells}, path)


def row_of_fields(fields: Config, folder: Path) -> Mapping[str, Value]:
    """The same of a config's fields, which are written into a folder."""
    path = folder / "config.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    return row_of(path)


def largest(model_type: str) -> Config:
    """Of the counted variations of a family that with most parameters."""
    cases = (case for case in COUNTED["variations"] if case["config"]["model_type"] == model_type)
    found: Config = max(cases, key=lambda case: int(case["n_params"]))
    return found


def value(row: Mapping[str, Value], name: str) -> Value:
    """What the transformer template says of a model."""
    return evaluate(TRANSFORMER, Facts(model=row, by_id=by_id(TRANSFORMER, Databases()))).value(name)


def config_of(identifier: str, **changes: Any) -> Config:
    """A config of the hub with fields changed, or left out where the change is `...`."""
    config: Config = json.loads(CONFIGS[identifier].read_text(encoding="utf-8")) | changes
    return {name: value for name, value in config.items() if value is not ...}


def add_config(config: Config | str | bytes | None, *words: str) -> Result:
    """Run `planner models add config.json --to mine.csv` with further words, in the working folder."""
    if config is not None:
        text = json.dumps(config) if isinstance(config, dict) else config
        Path("config.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    return run("models", "add", "config.json", "--to", "mine.csv", *words)


def refused(done: Result) -> str:
    """The one line of a refusal."""
    return refusal(done).removeprefix("Error: ").rstrip()
