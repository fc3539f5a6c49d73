"""What a plan of more chips than are linked should tell: those of several nodes, or of more than a bridged pair."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.formulas.slices import CHIPS, Known

CARD = "12.5GB/s for a card of 100 Gbit/s"
LANES = "32GB/s (PCIe 4.0 of 16 lanes)"
PAIR = 2.0  # chips that a bridge links
TIMES = ("step_time_lower_bound", "decode_step_time_bound", "all_gather_time_bound")
"""Rows of which a plan of several chips has one: what it takes at least, communication included."""


def of_nodes(value: Known) -> Iterator[str]:
    """A sentence if a plan's chips are more than are linked, and its table doesn't say what joins them.

    Of a node without a network to others, if no time is known without it; of pairs on a bridge, in a server.
    """
    chips, room, most = value(CHIPS), value("node_size"), value("max_chips")
    is_alone = value("node_bandwidth") is None and all(value(name) is None for name in TIMES)
    if isinstance(chips, float) and isinstance(room, float) and is_alone and chips > room:
        yield (
            f"{chips:,.0f} chips are on {math.ceil(chips / room):,} nodes of {room:,.0f}, and the hardware table has "
            f"no network between nodes of this chip: set node_bandwidth, such as {CARD}."
        )
    if isinstance(chips, float) and most == PAIR < chips and value("topology") == "torus":
        yield (
            f"This chip's own links join {most:.0f}. In a server whose PCIe joins {chips:,.0f}, set topology=switch "
            f"node_size={chips:.0f} peer_share=1 link_bandwidth={LANES}."
        )
