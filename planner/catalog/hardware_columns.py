"""The columns of a hardware CSV and of the dtypes, and the rule for each blank cell.

A file may use a data sheet's natural names (`hbm_Bps`, `ici_topology`) or those that templates read (`hbm_bandwidth`,
`topology`). Numbers are in SI units; peaks are dense; every bandwidth is one-way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from planner.catalog.columns import Field, Value, with_rules

_TORUS_AXES = {"ring": 1.0, "2d_torus": 2.0, "3d_torus": 3.0}
_NETWORKS = (*_TORUS_AXES, "switch", "mesh", "pcie", "dragonfly", "boardfly", "wafer")
_NODES = ("switch", "mesh", "pcie")  # networks of a node's chips: each reaches every other in one hop
_CUBE = 4.0  # a TPU slice in three dimensions is made of 4 x 4 x 4 cubes, whose axes optical switches close


_text = partial(Field, kind="text")
_natural = partial(Field, shown=False)  # read only to derive the columns that templates read
_figure = partial(Field, kind="number", positive=True)
_chip = partial(_figure, source="source_flops")
_peak = partial(_chip, unit="FLOP/s/chip")
_vector = partial(_figure, source="source_vector")
_hbm = partial(_figure, source="source_hbm")
_network = partial(_figure, source="source_interconnect")
_price = partial(Field, kind="number", unit="USD/h/chip", source="source_price")

# In the order in which the rules run.
_FIELDS = (
    _natural("id", "Identifier", kind="text", required=True),
    _text("name", "Name"),
    _text("vendor", "Vendor"),
    _text("kind", "Kind", blank="other"),
    _chip("year", "Year", kind="count"),
    _peak("peak_fp32", "Peak in fp32", aliases=("flops_fp32",)),
    _peak("peak_tf32", "Peak in tf32", aliases=("flops_tf32",)),
    _peak("peak_bf16", "Peak in bf16", aliases=("flops_bf16",)),
    _peak("peak_fp16", "Peak in fp16", aliases=("flops_fp16",)),
    _peak("peak_fp8", "Peak in fp8", aliases=("flops_fp8",)),
    _peak("peak_int8", "Peak in int8", aliases=("ops_int8",)),
    _peak("peak_int4", "Peak in int4", aliases=("ops_int4",)),
    _peak("peak_fp4", "Peak in fp4", aliases=("flops_fp4",)),
    _vector("vector_peak_flops", "Peak of the vector unit without multiply-adds", unit="FLOP/s/chip"),
    _vector("n_cores", "Cores of a chip", kind="count"),
    _vector("mxus_per_core", "Matrix units of a core", kind="count"),
    _vector("mxu_dim", "Rows and columns of a matrix unit", kind="count"),
    _vector("clock_rate", "Clock", unit="1/s"),
    _hbm("hbm_bytes", "HBM capacity", unit="byte/chip"),
    _hbm("hbm_bandwidth", "HBM bandwidth", unit="byte/s/chip", aliases=("hbm_Bps",)),
    _chip("sram_bytes", "On-chip memory", unit="byte/chip", aliases=("on_chip_sram_bytes",)),
    _chip("tdp_watts", "Design power", unit="W/chip", aliases=("tdp_W",), only_on="price_basis=owned"),
    # The scale-up network: a torus of links, or a switch
    _text("network", "Network in its maker's words", aliases=("ici_topology",), choices=_NETWORKS),
    _text("topology", "Topology", choices=("torus", "switch")),
    _network("torus_axes", "Axes of the torus", kind="count", only_on="topology=torus"),
    _network("n_links", "Links of a chip", kind="count", aliases=("ici_links",)),
    _natural("ici_link_Bps_unidirectional", "One link, one-way", kind="number", unit="byte/s", positive=True),
    _network(
        "scaleup_bandwidth",
        "Scale-up egress of a chip, one-way",
        unit="byte/s/chip",
        aliases=("scaleup_egress_Bps_per_chip",),
    ),
    _network("link_bandwidth", "Torus link, or egress to a switch", unit="byte/s"),
    _network(
        "max_chips",
        "Chips that the scale-up network joins",
        kind="count",
        unit="chip",
        aliases=("scaleup_domain_max_chips",),
    ),
    _network("node_size", "Chips of a switch domain", kind="count", only_on="topology=switch"),
    _network("peer_share", "Share of a chip's egress that leads to one other", only_on="topology=switch"),
    _network("wrap_multiple", "Multiple at which an axis wraps", kind="count", only_on="topology=torus"),
    _network("wrap_needs_all", "Wraps only if all axes do (1 or 0)", kind="flag", only_on="topology=torus"),
    # The scale-out network and the host
    _network("dcn_bandwidth", "Scale-out egress of a chip, one-way", unit="byte/s/chip", aliases=("dcn_Bps_per_chip",)),
    _network("node_bandwidth", "Scale-out egress of a node, one-way", unit="byte/s", only_on="topology=switch"),
    _network("pcie_bandwidth", "Host to chip, one-way", unit="byte/s/chip", aliases=("host_pcie_Bps_unidirectional",)),
    _network("chips_per_host", "Chips of a host", kind="count", unit="chip"),
    _price(
        "price_per_chip_hour",
        "Price on demand",
        aliases=("price_usd_per_chip_hour",),
        only_on="price_basis=on_demand",
    ),
    _price("price_reserved_1y", "Price, reserved for a year", only_on="price_basis=reserved_1y"),
    _price("price_reserved_3y", "Price, reserved for three years", only_on="price_basis=reserved_3y"),
    _text("jax_device_kind", "Device kind that JAX reports"),
    _text("calibration", "Calibration of its expected times"),
    _natural("source", "Source", kind="text"),
    _text("source_flops", "Source of the compute figures"),
    _text("source_vector", "Source of the vector peak, cores and clock"),
    _text("source_hbm", "Source of the memory figures"),
    _text("source_interconnect", "Source of the network figures"),
    _text("source_price", "Source of the price"),
    _text("conflicts", "Where sources disagree, and the choice"),
    _text("check_level", "How far the figures are confirmed"),
    _text("note", "Note", aliases=("notes",)),
)


def _link_bandwidth(topology: str, scaleup_bandwidth: float, torus_axes: float | None = None) -> Value:
    """On a switch the chip's whole bandwidth; on a torus that of one link, of two per axis."""
    if topology == "switch":
        return scaleup_bandwidth
    return scaleup_bandwidth / (2 * torus_axes) if torus_axes else None


def _peer_share(topology: str, network: str | None = None, node_size: float | None = None) -> Value:
    """All of it through a switch; in a mesh, where each two chips of a node are linked, one link's."""
    if topology != "switch":
        return None
    return 1 / (node_size - 1) if network == "mesh" and node_size and node_size > 1 else 1.0


def _wrap_multiple(network: str, max_chips: float, kind: str | None = None) -> Value:
    """The whole ring; on a TPU 4 in three dimensions, and the side of the pod in two; else N/A."""
    if network == "ring":
        return max_chips
    if kind != "tpu":
        return None
    side = float(math.isqrt(int(max_chips)))
    return {"3d_torus": _CUBE, "2d_torus": side if side * side == max_chips else None}.get(network)


def _calibration(kind: str | None = None, topology: str | None = None) -> Value:
    """The calibration of its kind, the median for chips without published runs."""
    return "tpu" if kind == "tpu" or (not kind and topology == "torus") else "gpu"


# The value of a blank cell, computed from other columns of its row; None is N/A.
_RULES: dict[str, Callable[..., Value]] = {
    "name": lambda id: id,
    "topology": lambda network: "torus" if network in _TORUS_AXES else "switch" if network in _NODES else None,
    "torus_axes": lambda network: _TORUS_AXES.get(network),
    "scaleup_bandwidth": (
        lambda n_links, ici_link_Bps_unidirectional: n_links * ici_link_Bps_unidirectional  # noqa: N803
    ),
    "calibration": _calibration,
    "link_bandwidth": _link_bandwidth,
    "max_chips": lambda node_size: node_size,
    "node_size": lambda topology, max_chips: max_chips if topology == "switch" else None,
    "peer_share": _peer_share,
    "wrap_multiple": _wrap_multiple,
    "wrap_needs_all": lambda network, wrap_multiple: float(network == "3d_torus"),  # noqa: ARG005 (N/A where that is)
    "dcn_bandwidth": lambda node_bandwidth, node_size: node_bandwidth / node_size,
    "node_bandwidth": lambda dcn_bandwidth, node_size: dcn_bandwidth * node_size,
    **dict.fromkeys(
        ("source_flops", "source_vector", "source_hbm", "source_interconnect", "source_price"), lambda source: source
    ),
}
HARDWARE_FIELDS = with_rules(_FIELDS, _RULES)

DTYPE_FIELDS = with_rules(
    (
        _natural("id", "Identifier", kind="text", required=True),
        _text("name", "Name"),
        _figure("bytes_per_element", "Bytes of an element", unit="byte", required=True, source="source"),
        _text("peak_column", "Hardware column of its peak"),
        _text("source", "Source"),
        _text("note", "Note"),
    ),
    {"name": lambda id: id},
)

_factor = partial(Field, kind="number", unit="1", positive=True, blank=1.0, source="source")
NO_CALIBRATION = "none"  # no calibration of its own: a stack that wasn't fitted to runs on one chip
OWN_RUNS = {
    "own_training": "training",
    "own_serving": "serving",
    "own_operations": "single operations",
    "own_collectives": "collectives",
}
"""Flags of a stack that is fitted to the user's own runs, each with the workload that such runs are of."""


def _own_runs(fitted_for: str) -> Value:
    """The default of a flag of OWN_RUNS: 1 for a stack with a calibration of its own, else 0."""
    return float(fitted_for != NO_CALIBRATION)


STACK_FIELDS = with_rules(
    (
        _natural("id", "Identifier", kind="text", required=True),
        _text("name", "What it is"),
        _factor("train_matmul_factor", "Training matmuls: times their efficiency"),
        _factor("train_attention_factor", "Training attention: times its efficiency"),
        _factor("train_activation_factor", "Training activations: times their passes"),
        _factor("train_range_factor", "Training: times as wide the range of the expected time, in logarithms"),
        _factor("serve_overhead_factor", "Serving: times the overhead of a layer"),
        Field(
            "cache_reads_power",
            "Serving: power of query heads over KV heads by which the cache is read again",
            kind="number",
            blank=0.0,
            source="source",
        ),
        _text("fitted_for", "Calibration that it has one of its own for"),
        *(Field(name, f"Fitted to own runs of {of} (1 or 0)", kind="flag") for name, of in OWN_RUNS.items()),
        _text("source", "Source"),
        _text("note", "Note"),
    ),
    {"name": lambda id: id, "fitted_for": lambda: NO_CALIBRATION, **dict.fromkeys(OWN_RUNS, _own_runs)},
)
