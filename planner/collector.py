"""Python's collector of reference cycles, and when it is better left alone."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def still() -> Iterator[None]:
    """Collect no cycles meanwhile: for a short command that makes many objects and needs nearly all of them to its end.

    A build makes hundreds of thousands, of which what isn't needed any more is freed by its count of references. To
    walk the others again and again, from the imports on, takes up to a tenth of its time and frees nothing to speak of:
    at its height a build of 60 scenarios takes as much memory with the collector as without.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
