"""The columns of a hardware CSV and of the dtypes, and the rule for each blank cell.

A file may use a data sheet's natural names (`hbm_Bps`, `ici_topology`) or those that templates read
(`hbm_bandwidth`, `topology`). SI units; peaks are dense; every bandwidth is one-way.
"""

from __future__ import annotations

import math
from functools import partial

from planner.catalog.columns import Field, Rule, Value, same_as_id

_TORUS_AXES = {"ring": 1.0, "2d_torus": 2.0, "3d_torus": 3.0}
_CUBE = 4.0  # a TPU slice in three dimensions is made of 4 x 4 x 4 cubes, whose axes optical switches close


@Rule
def _topology(network: str) -> Value:
    """torus for ring, 2d_torus and 3d_torus; switch for switch; else N/A."""
    return "torus" if network in _TORUS_AXES else "switch" if network == "switch" else None


@Rule
def _torus_axes(network: str) -> Value:
    """1 for ring, 2 for 2d_torus, 3 for 3d_torus, else N/A."""
    return _TORUS_AXES.get(network)


@Rule
def _scaleup_bandwidth(n_links: float, ici_link_Bps_unidirectional: float) -> float:  # noqa: N803
    """All links together: n_links * ici_link_Bps_unidirectional."""
    return n_links * ici_link_Bps_unidirectional


@Rule
def _link_bandwidth(topology: str, scaleup_bandwidth: float, torus_axes: float | None = None) -> Value:
    """On a torus scaleup_bandwidth / (2 * torus_axes), on a switch scaleup_bandwidth."""
    if topology == "switch":
        return scaleup_bandwidth
    return scaleup_bandwidth / (2 * torus_axes) if torus_axes else None


@Rule
def _max_chips(node_size: float) -> float:
    """node_size."""
    return node_size


@Rule
def _node_size(topology: str, max_chips: float) -> Value:
    """max_chips on a switch, else N/A."""
    return max_chips if topology == "switch" else None


@Rule
def _wrap_multiple(network: str, max_chips: float, kind: str | None = None) -> Value:
    """max_chips for ring; on a TPU 4 for 3d_torus and the side of the pod for 2d_torus; else N/A."""
    if network == "ring":
        return max_chips
    if kind != "tpu":
        return None
    side = float(math.isqrt(int(max_chips)))
    return {"3d_torus": _CUBE, "2d_torus": side if side * side == max_chips else None}.get(network)


@Rule
def _wrap_needs_all(network: str, wrap_multiple: float) -> float:  # noqa: ARG001
    """1 for a 3d_torus that wraps, 0 for another network that does."""
    return float(network == "3d_torus")


@Rule
def _dcn_bandwidth(node_bandwidth: float, node_size: float) -> float:
    """node_bandwidth / node_size."""
    return node_bandwidth / node_size


@Rule
def _node_bandwidth(dcn_bandwidth: float, node_size: float) -> float:
    """dcn_bandwidth * node_size."""
    return dcn_bandwidth * node_size


@Rule
def _source(source: str) -> str:
    """source."""
    return source


_text = partial(Field, kind="text")
_natural = partial(Field, shown=False)  # read only to derive the columns that templates read
_figure = partial(Field, kind="number", positive=True)
_chip = partial(_figure, source="source_flops")
_peak = partial(_chip, unit="FLOP/s/chip")
_vector = partial(_figure, source="source_vector")
_hbm = partial(_figure, source="source_hbm")
_network = partial(_figure, source="source_interconnect")

# In the order in which the rules run.
HARDWARE_FIELDS: tuple[Field, ...] = (
    _natural("id", "Identifier", kind="text", required=True),
    _text("name", "Name", blank=same_as_id),
    _text("vendor", "Vendor"),
    _text("kind", "Kind"),
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
    _chip("tdp_watts", "Design power", unit="W/chip", aliases=("tdp_W",)),
    # The scale-up network: a torus of links, or a switch
    _text("network", "Network in its maker's words", aliases=("ici_topology",)),
    _text("topology", "Topology", blank=_topology, choices=("torus", "switch")),
    _network("torus_axes", "Axes of the torus", blank=_torus_axes, kind="count", only_on="torus"),
    _network("n_links", "Links of a chip", kind="count", aliases=("ici_links",)),
    _natural("ici_link_Bps_unidirectional", "One link, one-way", kind="number", unit="byte/s", positive=True),
    _network(
        "scaleup_bandwidth", "Scale-up egress of a chip, one-way", unit="byte/s/chip",
        blank=_scaleup_bandwidth, aliases=("scaleup_egress_Bps_per_chip",),
    ),
    _network("link_bandwidth", "Torus link, or egress to a switch", unit="byte/s", blank=_link_bandwidth),
    _network(
        "max_chips", "Chips that the scale-up network joins", kind="count", unit="chip",
        blank=_max_chips, aliases=("scaleup_domain_max_chips",),
    ),
    _network("node_size", "Chips of a switch domain", blank=_node_size, kind="count", only_on="switch"),
    _network("wrap_multiple", "Multiple at which an axis wraps", blank=_wrap_multiple, kind="count", only_on="torus"),
    _network(
        "wrap_needs_all", "Wraps only if all axes do (1 or 0)", blank=_wrap_needs_all, kind="flag", only_on="torus",
    ),
    # The scale-out network and the host
    _network(
        "dcn_bandwidth", "Scale-out egress of a chip, one-way", unit="byte/s/chip",
        blank=_dcn_bandwidth, aliases=("dcn_Bps_per_chip",),
    ),
    _network(
        "node_bandwidth", "Scale-out egress of a node, one-way", unit="byte/s",
        blank=_node_bandwidth, only_on="switch",
    ),
    _network(
        "pcie_bandwidth", "Host to chip, one-way", unit="byte/s/chip",
        aliases=("host_pcie_Bps_unidirectional",),
    ),
    _network("chips_per_host", "Chips of a host", kind="count", unit="chip"),
    Field(
        "price_per_chip_hour", "Price", kind="number", unit="USD/h/chip",
        source="source_price", aliases=("price_usd_per_chip_hour",),
    ),
    _text("jax_device_kind", "Device kind that JAX reports"),
    _natural("source", "Source", kind="text"),
    _text("source_flops", "Source of the compute figures", blank=_source),
    _text("source_vector", "Source of the vector peak, cores and clock", blank=_source),
    _text("source_hbm", "Source of the memory figures", blank=_source),
    _text("source_interconnect", "Source of the network figures", blank=_source),
    _text("source_price", "Source of the price", blank=_source),
    _text("conflicts", "Where sources disagree, and the choice"),
    _text("check_level", "How far the figures are confirmed"),
    _text("note", "Note", aliases=("notes",)),
)  # fmt: skip

DTYPE_FIELDS: tuple[Field, ...] = (
    _natural("id", "Identifier", kind="text", required=True),
    _text("name", "Name", blank=same_as_id),
    _figure("bytes_per_element", "Bytes of an element", unit="byte", required=True, source="source"),
    _text("peak_column", "Hardware column of its peak"),
    _text("source", "Source"),
    _text("note", "Note"),
)  # fmt: skip
