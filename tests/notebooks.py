"""The notebook of the documentation: its cells run in order, and what each shows.

python -m tests.notebooks      runs it, and writes what its cells show into it
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.pages import DOCS

NOTEBOOK = DOCS / "notebook.ipynb"


def read(path: Path = NOTEBOOK) -> dict[str, Any]:
    """The notebook as JSON."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Its cells of code, in order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(notebook: dict[str, Any], folder: Path) -> Iterator[str]:
    """What each cell of code shows when all are run in order in a folder: what it prints, then its last value."""
    session: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        for number, cell in enumerate(code_cells(notebook), 1):
            printed = io.StringIO()
            body = ast.parse("".join(cell["source"]), f"cell {number}").body
            last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
            with contextlib.redirect_stdout(printed):
                exec(compile(ast.Module(body, []), f"cell {number}", "exec"), session)
                value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), session) if last else None
            yield printed.getvalue() + ("" if value is None else repr(value))


def kept(cell: dict[str, Any]) -> str:
    """What the notebook says that a cell shows."""
    return "".join("".join(output.get("text") or output["data"]["text/plain"]) for output in cell["outputs"])


def write(path: Path = NOTEBOOK) -> None:
    """Put what its cells show into the notebook."""
    notebook = read(path)
    with tempfile.TemporaryDirectory() as folder:
        for count, (cell, text) in enumerate(zip(code_cells(notebook), shown(notebook, Path(folder)), strict=True), 1):
            data = {"text/plain": text.splitlines(keepends=True)}
            result = {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}
            cell["execution_count"], cell["outputs"] = count, [result] if text else []
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
