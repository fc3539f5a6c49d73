"""The collector of cycles stands still while a command builds, and is afterwards as it was."""

from __future__ import annotations

import gc

import pytest

from planner.collector import still


def test_still_restores() -> None:
    """No cycles are collected within it; after it, and after a fault in it, they are again if they were before."""
    assert gc.isenabled()
    with still():
        assert not gc.isenabled()
        with still():
            pass
        assert not gc.isenabled(), "the inner one must not end the outer one's peace"
    assert gc.isenabled()
    with pytest.raises(ValueError, match="fault"), still():
        raise ValueError("fault")
    assert gc.isenabled()
