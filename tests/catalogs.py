"""What the tests of the catalog share: a small model as a CSV of a user's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from planner.catalog import Table, Value, load_hardware, load_models

LOADERS = {"models": load_models, "hardware": load_hardware}
HEADER = "id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab"
TINY = "tiny,2,64,256,4,2,16,1000"
DENSE = dict(zip(HEADER.split(","), TINY.split(","), strict=True))


def load_csv(folder: Path, content: str | bytes, kind: str = "models") -> Table:
    """The table of a file with this content."""
    path = folder / "mine.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return LOADERS[kind](path)


def csv_of(*lines: list[str]) -> str:
    """Lines of cells as a CSV, every cell in quotes."""
    return "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in lines)


def row_of_csv(folder: Path, cells: Mapping[str, str], kind: str = "models") -> Mapping[str, Value]:
    """The row of a file with these columns alone."""
    return load_csv(folder, csv_of(list(cells), list(cells.values())), kind).row(cells["id"])


def pairs(text: str) -> dict[str, str]:
    """What `a=1 b=2` says."""
    return dict(pair.split("=") for pair in text.split())
