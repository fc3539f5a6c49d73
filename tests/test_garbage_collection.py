"""Garbage collection is paused while a command builds, and afterwards as it was."""

from __future__ import annotations

import gc

import pytest

from planner import garbage_collection


def test_paused_restores() -> None:
    """No cycles are collected within it; after it, and after a fault in it, they are again if they were before."""
    assert gc.isenabled()
    with garbage_collection.paused():
        assert not gc.isenabled()
        with garbage_collection.paused():
            pass
        assert not gc.isenabled(), "the inner one must not end the outer one's peace"
    assert gc.isenabled()
    with pytest.raises(ValueError, match="fault"), garbage_collection.paused():
        raise ValueError("fault")
    assert gc.isenabled()
