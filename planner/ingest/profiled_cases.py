"""Operations of a profile that are cases of a Comparison, as measurements: matmuls, attention, collectives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from math import nan
from pathlib import Path

import numpy as np

from planner.compare.checked_measurements import row_faults
from planner.formulas import library
from planner.ingest.chips import Chip, Chips, chips_of
from planner.measure.records import Inputs, Measurement, case_key
from planner.number_text import percent
from planner.profiles.profile import Operation, Profile, Shape
from planner.profiles.recognition import Attention, Collective, Matmul, recognised
from planner.terminal_table import counted

Case = tuple[str, Inputs]
DTYPES = {
    "bf16": "bf16",
    "f16": "fp16",
    "f32": "fp32",
    "f64": "fp64",
    "s8": "int8",
    "u8": "int8",
    "s32": "int32",
    "s4": "int4",
}
FAMILIES = {"f8e8m0": "", "f8": "fp8", "f4": "fp4"}  # by prefix of the HLO type; f8e8m0 is a scale, not a number
COLLECTIVES = {
    "all-gather": "all_gather",
    "reduce-scatter": "reduce_scatter",
    "all-reduce": "all_reduce",
    "all-to-all": "all_to_all",
    "permute": "permute",
}
SOURCE, METHOD = "xplane", "profiler"
UNKNOWN_DEVICE, PART_OF_CHIP = "unknown_device", "part_of_chip"  # flags
HALF = 0.75  # share of the unmasked FLOPs below which there is a causal mask


def dtype(name: str) -> str:
    """A template's name for an HLO type; blank if no template has one."""
    return next((ours for begin, ours in FAMILIES.items() if name.startswith(begin)), "") or DTYPES.get(name, "")


def case_of(found: Matmul | Attention | Collective) -> Case | None:
    """The case of a recognised operation. None if one of its inputs is unknown."""
    if isinstance(found, Matmul):
        return _matmul(found)
    return _attention(found) if isinstance(found, Attention) else _collective(found)


def _case(template: str, **known: float | str) -> Case:
    """A case of a template: the known inputs, and defaults for the others."""
    return template, library.load(template).inputs(known)


def _matmul(found: Matmul) -> Case | None:
    """The case of a matmul: the weights are the [K, N] operand, the activations the other one."""
    arrays = [shape for shape in found.operation.operands if found.k in shape.dims]
    # If both would fit, as for square matrices, the weights are the second operand.
    weight = next((shape for shape in reversed(arrays) if sorted(shape.dims) == sorted((found.k, found.n))), None)
    other = next((shape for shape in arrays if shape is not weight), weight)
    kinds = [dtype(each.dtype) for each in (weight or Shape(found.dtype, ()), other or Shape(found.dtype, ()))]
    kinds += [dtype(found.operation.result[0].dtype), dtype(found.dtype)]
    if not all(kinds):
        return None
    return _case(
        "matmul",
        tokens=float(found.m),
        d_in=float(found.k),
        d_out=float(found.n),
        n_matmuls=float(found.batch),
        weight_dtype=kinds[0],
        activation_dtype=kinds[1],
        output_dtype=kinds[2],
        compute_dtype=kinds[3],
    )


def _attention(found: Attention) -> Case | None:
    """The case of an attention; causality is derived from the FLOPs, and is irrelevant for a single query."""
    sizes = found.batch, found.queries, found.keys, found.heads, found.kv_heads, found.head_dim
    batch, queries, keys, heads, kv_heads, width = (float(each or 0) for each in sizes)
    flops, whole = found.operation.flops, 4 * batch * queries * keys * heads * width
    if not whole or not kv_heads or not dtype(found.dtype) or (queries > 1 and not flops):
        return None
    is_causal = float(queries == 1 or (flops or 0.0) / whole < HALF)
    return _case(
        "attention",
        batch=batch,
        query_len=queries,
        kv_len=keys,
        n_heads=heads,
        n_kv_heads=kv_heads,
        head_dim=width,
        is_causal=is_causal,
        activation_dtype=dtype(found.dtype),
        kv_dtype=dtype(found.dtype),
        compute_dtype=dtype(found.dtype),
    )


def _collective(found: Collective) -> Case | None:
    """The case of a collective with a known group and its own time; its array follows the template's definition."""
    name, ways = COLLECTIVES.get(found.kind), found.group_size or 0
    if name is None or not found.payload or ways < 2 or found.is_half:
        return None
    whole = found.payload * ways if name == "all_to_all" else found.payload
    return _case("collective", collective=name, array_bytes=whole, axis_size=float(ways))


@dataclass(frozen=True)
class Cases:
    """The cases of a profile as measurements, the recognised share of its time, and its operations in words."""

    rows: tuple[Measurement, ...]
    share: float | None
    said: str


def cases_of(profile: Profile, chip: Chip) -> Cases:
    """The operations that are cases, once per shape: the median over its runs on all devices.

    Operations that backfill would refuse, such as a kernel of 0 s, are left out.
    """
    known = recognised(profile.operations)
    apart = "" if "communication" not in profile.lacks else "collectives can't be told apart"
    kinds: dict[str, tuple[Matmul | Attention | Collective, ...]] = {
        "matmuls": known.matmuls,
        "attention": known.attention,
        "collectives": () if apart else known.collectives,  # an incomplete collective isn't recognised
    }
    found: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for each in chain(*kinds.values()):
        if case := case_of(each):
            template, inputs = case
            found[template, case_key(template, inputs)].append(each.operation)
    everything = sum(operation.self_time for operation in profile.operations)
    if not everything:
        return Cases((), None, profile.lacks.get("operations") or "no operation has a time")
    if not any(kinds.values()) and not known.kernels:
        why = profile.lacks.get("shapes") or "no operation is a matmul, attention or a collective that can be told"
        return Cases((), 0.0, why)
    chips = chips_of(profile, chip)
    made = (_row(profile, chip, chips, template, key, same) for (template, key), same in found.items())
    rows = tuple(row for row in made if not any(row_faults(row)))  # excludes empty arrays and kernels of 0 s
    ours = {kind: [each.operation for each in same] for kind, same in kinds.items()}
    ours["matmuls of unknown sizes"] = list(known.kernels)
    shares = {kind: sum(each.self_time for each in same) / everything for kind, same in ours.items() if same}
    said = ", ".join(filter(None, [*(f"{kind} {percent(share)}" for kind, share in shares.items()), apart]))
    return Cases(rows, sum(shares.values()), f"{said}; {counted(len(rows), 'case')} of known sizes")


def _row(profile: Profile, chip: Chip, chips: Chips, template: str, key: str, same: Sequence[Operation]) -> Measurement:
    middle, deviation = _times(same)
    # excludes the cases from fits: an unknown chip, or a device that is part of a chip
    flags = {UNKNOWN_DEVICE: not chip.id, PART_OF_CHIP: chips.cores_each > 1}
    name = Path(profile.paths[0]).name if profile.paths else "profile"
    return Measurement(
        run_id=f"profile {name}",
        timestamp=_written(profile),
        case_key=key,
        source=SOURCE,
        host=profile.hosts[0] if len(profile.hosts) == 1 else "",
        profile_path=profile.paths[0] if profile.paths else "",
        template=template,
        device_kind=chip.named,
        hardware_id=chip.id,
        n_devices=chips.count or len(profile.active),
        t_median=middle,
        t_mad=deviation,
        method=METHOD,
        n_samples=sum(each.count for each in same),
        flags="; ".join(flag for flag, is_so in flags.items() if is_so),
    )


def _written(profile: Profile) -> str:
    """The time when the profile's file was written, the best available estimate of the capture time."""
    written = max((Path(path).stat().st_mtime for path in profile.paths if Path(path).exists()), default=0.0)
    return datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds") if written else ""


def _times(same: Sequence[Operation]) -> tuple[float, float]:
    """The median of several operations' runs and their median absolute deviation; NaN if a tool added them up."""
    known = [each.times for each in same if each.times is not None]
    if len(known) < len(same):
        return _median(same), nan
    times = np.concatenate(known)
    middle = float(np.median(times))
    return middle, float(np.median(np.abs(times - middle)))


def _median(same: Sequence[Operation]) -> float:
    """The median of several operations' runs, estimated from each one's median and count."""
    ordered = sorted(same, key=lambda each: each.median)
    runs = np.cumsum([each.count for each in ordered])
    return ordered[int(np.searchsorted(runs, runs[-1] / 2))].median
