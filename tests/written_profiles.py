"""Profiles as profilers write them, of made-up planes, operations and kernels."""

from __future__ import annotations

import json

from tests.measure_encoder import Span, space

US = 1_000_000  # ps


def written(path, planes, stats=None):
    """A profile of these planes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(space(planes, stats))
    return path


def in_json(folder, document, name="a.json"):
    """A document as a file of JSON."""
    path = folder / name
    path.write_text(json.dumps(document))
    return path


def fusion(name, begin, microseconds):
    """An operation of a TPU."""
    return Span(f"%{name} = f32[8]{{0}} fusion(f32[8]{{0}} %p), kind=kLoop", begin * US, microseconds * US)


def kernel(name, begin, microseconds, correlation, **stats):
    """A kernel of a GPU's stream in a profile of XLA."""
    return Span(name, begin * US, microseconds * US, {"correlation_id": correlation, **stats})
