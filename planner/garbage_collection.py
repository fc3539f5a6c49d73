"""Suspends Python's garbage collector for reference cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Disable the garbage collector within the block, for a short command that keeps most of its many objects.

    A build creates hundreds of thousands of objects; those no longer needed are freed by reference counting. Repeatedly
    traversing the others, from the imports on, takes up to a tenth of the time and frees almost nothing: the peak
    memory of a build of 60 scenarios is the same with and without the collector.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
