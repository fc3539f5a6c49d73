"""docs/validation.md and its chart are what docs/validation.py writes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.slow
def test_the_page_is_what_its_script_writes() -> None:
    """Each file is the text that the script makes of the published runs; none of its blanks is left open."""
    spec = importlib.util.spec_from_file_location("validation_page", DOCS / "validation.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules["validation_page"] = script
    spec.loader.exec_module(script)
    written = dict(script.texts())
    assert [path.name for path in written] == ["validation.md", "validation.svg"]
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text
    assert not [word for word in ("<TABLE>", "<TRAIN>", "<N>", "<CHECKS>") if word in written[DOCS / "validation.md"]]
