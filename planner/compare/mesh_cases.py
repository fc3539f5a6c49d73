"""The cases of a mesh: collectives by payload, sharded matmuls along each axis, and a layer and steps over all of it.

Payloads range from latency-bound to bandwidth-bound, so that a fit finds both parameters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.catalog import Value
from planner.compare import comparison_cases
from planner.compare.comparison_cases import ComparisonCase
from planner.compare.prediction import predict
from planner.formulas import library
from planner.measure.mesh import MeshSpec, extents, varying

COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all", "permute")
LEAST = 4 << 10  # bytes, where latency alone counts
MOST = {"cpu": 16 << 20, "accelerator": 256 << 20}  # where bandwidth alone does; a CPU holds every device's
GROWTH = {"quick": 16, "full": 4}  # from one payload to the next
ELEMENT = 4  # bytes: fp32, as NCCL's tests have it
DIMENSIONS = {
    ("cpu", "quick"): (512,),
    ("cpu", "full"): (512, 1024),
    ("accelerator", "quick"): (4096,),
    ("accelerator", "full"): (2048, 4096, 8192),
}
MODEL = "llama3-8b"  # whose layers an accelerator runs
SMALL = {"d_model": 512.0, "qk_nope_dim": 64.0, "n_kv_heads": 2.0, "n_heads": 8.0, "d_ff": 2048.0, "vocab": 2048.0}


@dataclass(frozen=True)
class GroupPlacement:
    """The placement of a group on a torus: the number of torus axes that it spans, and whether each is a whole ring."""

    n_axes: float = 1.0
    has_wraparound: float = 1.0


def cases_of(
    spec: MeshSpec, suite: str, platform: str, coords: Sequence[Sequence[int]] = (), chip: str = ""
) -> list[ComparisonCase]:
    """The cases of a mesh for a suite on a `platform`, "cpu" or "accelerator".

    `coords` are the torus coordinates of the devices in mesh order, empty if they have none.
    """
    made: list[ComparisonCase] = []
    placements = {axis: _placement(spec, axis, coords, chip) for axis in spec.names}
    for payload in _payloads(platform, suite):
        for kind in COLLECTIVES:
            made += [_collective(spec, axis, placements[axis], kind, payload) for axis in spec.names]
    for size in DIMENSIONS[platform, suite]:
        for axis in spec.names:
            made += _matmuls(spec, axis, placements[axis], size)
    if any(name in spec.names for name in ("data", "fsdp", "tensor")):
        made += _steps(spec, platform, min(placement.has_wraparound for placement in placements.values()))
    return made


def _payloads(platform: str, suite: str) -> list[int]:
    """The payloads in bytes, both extremes first: a budget that ends early still gives a latency and a bandwidth."""
    count = round(math.log(MOST[platform] / LEAST, GROWTH[suite])) + 1
    sizes = [LEAST * GROWTH[suite] ** step for step in range(count)]
    return sorted(sizes, key=lambda size: -abs(math.log(size * size / (LEAST * MOST[platform]))))


def _collective(spec: MeshSpec, axis: str, placement: GroupPlacement, kind: str, payload: int) -> ComparisonCase:
    ways = spec.ways(axis)
    size = _multiple(payload, ways * ELEMENT) * (ways if kind == "all_to_all" else 1)
    inputs = {
        "collective": kind,
        "array_bytes": size,
        "axis_size": ways ** (1 / placement.n_axes),
        "n_axes": placement.n_axes,
        "has_wraparound": placement.has_wraparound,
        "inner_ways": spec.stride(axis),
    }
    return _case("collective", inputs, axis)


def _matmuls(spec: MeshSpec, axis: str, placement: GroupPlacement, size: int) -> Iterator[ComparisonCase]:
    """FSDP, column- and row-parallel matmuls, and both collective matmuls, each sequential and overlapped."""
    ways = spec.ways(axis)
    dimension = _multiple(size, ways)
    common: dict[str, Value | int] = {
        "tokens": dimension,
        "d_in": dimension,
        "d_out": dimension,
        "n_chips": spec.size,
        "inner_ways": spec.stride(axis),
        "n_axes": placement.n_axes,
        "has_wraparound": placement.has_wraparound,
    }
    gathered: dict[str, Value | int] = {"tokens_ways": ways, "d_out_ways": ways, "shares_axis": 1}
    reduced: dict[str, Value | int] = {"d_in_ways_left": ways, "d_in_ways_right": ways}
    for sharding in (
        {"tokens_ways": ways, "d_in_ways_right": ways},
        {"d_out_ways": ways},
        reduced,
        gathered,
        gathered | {"is_overlapped": 1},
        reduced | {"scatters_output": 1},
        reduced | {"scatters_output": 1, "is_overlapped": 1},
    ):
        yield _case("sharded_matmul", common | sharding, axis)


def _steps(spec: MeshSpec, platform: str, has_wraparound: float) -> Iterator[ComparisonCase]:
    """A layer's forward pass, a decode step and a training step."""
    data, fsdp, tensor = (spec.ways(name) for name in ("data", "fsdp", "tensor"))
    known = {row.name: row for row in library.load("sharded_step").of_kind("input")}
    model = SMALL if platform == "cpu" else comparison_cases.of_model(MODEL, known)
    keys = _multiple(float(model["n_kv_heads"] or 1), tensor)
    shape = {name: value for name, value in model.items() if name not in ("n_layers", "vocab")} | {
        "n_kv_heads": keys,
        "n_heads": _multiple(float(model["n_heads"] or 1), keys),
        "d_model": _multiple(float(model["d_model"] or 1), fsdp),
        "d_ff": _multiple(float(model["d_ff"] or 1), tensor),
        "mesh_data": data,
        "mesh_fsdp": fsdp,
        "mesh_tensor": tensor,
        "has_wraparound": has_wraparound,
    }
    head = {"vocab": _multiple(float(model["vocab"] or 0), tensor)}
    layers = {"n_layers": 1} if platform == "cpu" else {"n_layers": model["n_layers"], "timed_layers": 3}
    tokens, seen = (128, 1024) if platform == "cpu" else (2048, 2048)
    whole = {"query_len": tokens, "kv_len": tokens, "batch": data * fsdp}
    yield _case("sharded_step", shape | whole | {"n_layers": 1})
    yield _case("sharded_step", shape | head | layers | {"query_len": 1, "kv_len": seen, "batch": 4 * data * fsdp})
    yield _case("sharded_step", shape | head | layers | whole | {"is_training": 1})


def _case(name: str, inputs: Mapping[str, Value | int], axis: str = "") -> ComparisonCase:
    """A case with these inputs and the defaults of all others."""
    template = library.load(name)
    typed = template.inputs(inputs)
    numbers = {key: float(value) if isinstance(value, int) else value for key, value in typed.items()}
    label = comparison_cases.label_of(name, numbers)
    case = ComparisonCase(label, template, numbers, axis=axis)
    return replace(case, label=f"{label} ({axis})") if axis else case


def _multiple(size: float, of: int | float) -> int:
    """The least multiple of `of` that is at least `size`."""
    return int(math.ceil(size / of) * of)


def _placement(spec: MeshSpec, axis: str, coords: Sequence[Sequence[int]], chip: str) -> GroupPlacement:
    """The placement of the first group along an axis on the torus of `chip`; a ring if nothing is known."""
    if not coords or not chip:
        return GroupPlacement()
    places = [coords[at] for at in next(spec.groups(axis))]
    along, whole, box = varying(places), extents(coords), extents(places)
    wraps = predict("slice", {f"slice_{axis}": float(size) for axis, size in zip("xyz", whole, strict=False)}, chip)
    is_ring = all(box[at] == whole[at] and wraps.value(f"wrap_{'xyz'[at]}") == 1 for at in along)
    return GroupPlacement(max(1.0, len(along)), float(is_ring))
