"""Collectives on lines, rings, tori and switches, against what each link carries, counted one transfer at a time."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter

import pytest

from planner.formulas.evaluation import evaluate
from planner.formulas.library import load
from planner.formulas.lookups import facts
from planner.formulas.partial import Prepared

LINK = 45e9  # byte/s of a link, one way
HOP = 1e-6  # s
ARRAY = 2**30
prepared = functools.cache(lambda chip: Prepared(load("collective"), facts(load("collective"), None, chip)))


def time(collective, size, *, chip="tpu-v5p", name="collective_time", **values):
    """A row of `collective` for an array of one GiB, by default the time."""
    given = {"collective": collective, "array_bytes": ARRAY, "axis_size": size, "link_bandwidth": LINK} | values
    return prepared(chip).results(given).value(name)


def path(start, end, size, wraps):
    """The steps (+1 or -1) from a place to another along an axis: the short way; the halves of a tie both ways."""
    ahead = (end - start) % size if wraps else end - start
    if not wraps:
        return [(abs(ahead), 1 if ahead > 0 else -1, 1.0)]
    back = size - ahead
    if ahead == back:
        return [(ahead, 1, 0.5), (back, -1, 0.5)]
    return [(ahead, 1, 1.0)] if ahead < back else [(back, -1, 1.0)]


def busiest_link(sizes, wraps):
    """Bytes over the busiest link when every chip of a mesh sends every other an equal part of an array of 1 byte."""
    load_of = Counter()
    chips = list(itertools.product(*map(range, sizes)))
    share = 1 / len(chips) ** 2
    for source, target in itertools.product(chips, chips):
        at = list(source)
        for axis, size in enumerate(sizes):  # one axis after another
            for steps, way, part in path(at[axis], target[axis], size, wraps):
                for step in range(steps):
                    place = (at[axis] + way * step) % size
                    load_of[(*at[:axis], place, *at[axis + 1 :]), axis, way] += share * part
            at[axis] = target[axis]
    return max(load_of.values())


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_exchange_on_a_ring(size):
    """All-to-all on a ring takes as long as its busiest link sends."""
    assert time("all_to_all", size) == pytest.approx(ARRAY * busiest_link([size], True) / LINK, rel=1e-12)


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_exchange_on_a_line(size):
    """All-to-all on a line takes as long as the link in its middle sends: twice a ring's."""
    carried = busiest_link([size], False)
    assert time("all_to_all", size, has_wraparound=0) == pytest.approx(ARRAY * carried / LINK, rel=1e-12)
    assert carried == pytest.approx(2 * busiest_link([size], True))


@pytest.mark.parametrize("size", [2, 4, 8])
def test_exchange_on_a_square_torus(size):
    """All-to-all over two axes of a torus takes as long as its busiest link sends."""
    carried = busiest_link([size, size], True)
    assert time("all_to_all", size, n_axes=2) == pytest.approx(ARRAY * carried / LINK, rel=1e-12)


@pytest.mark.parametrize("size", [2, 3, 8])
def test_gather_on_a_line(size):
    """The last link of a line carries the shards of all chips but one; a reduce-scatter is the same backwards."""
    passing = sum(1 for source in range(size) if source < size - 1)
    expected = ARRAY / size * passing / LINK
    assert time("all_gather", size, has_wraparound=0) == pytest.approx(expected, rel=1e-12)
    assert time("reduce_scatter", size, has_wraparound=0) == pytest.approx(expected, rel=1e-12)
    assert time("all_reduce", size, has_wraparound=0) == pytest.approx(2 * expected, rel=1e-12)


@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_sums_on_a_line(size):
    """No all-reduce on a line is quicker than sums that grow from both ends, the array once over each link each way."""
    chips = range(size)
    ahead, back = [{chip} for chip in chips], [{chip} for chip in chips]  # whose arrays a chip has summed
    sent = Counter()
    for chip in chips[1:]:
        ahead[chip] |= ahead[chip - 1]
        sent[chip - 1, chip] += ARRAY
    for chip in reversed(chips[:-1]):
        back[chip] |= back[chip + 1]
        sent[chip + 1, chip] += ARRAY
    assert all(ahead[chip] | back[chip] == set(chips) for chip in chips)
    found = time("all_reduce", size, has_wraparound=0, name="lower_bound_time")
    assert found == pytest.approx(max(sent.values()) / LINK, rel=1e-12)


@pytest.mark.parametrize("size", [2, 4, 16])
@pytest.mark.parametrize("n_axes", [1, 2, 3])
def test_gather_on_rings(size, n_axes):
    """Over rings an array enters a chip by two links of each axis, however long: the book leaves its own shard in."""
    expected = ARRAY / (2 * n_axes * LINK)
    assert time("all_gather", size, n_axes=n_axes) == pytest.approx(expected, rel=1e-12)
    assert time("all_reduce", size, n_axes=n_axes) == pytest.approx(2 * expected, rel=1e-12)
    others = 1 - 1 / size**n_axes
    assert time("all_gather", size, n_axes=n_axes) >= ARRAY * others / (2 * n_axes * LINK)


@pytest.mark.parametrize(
    ("values", "hops"),
    [
        ({"has_wraparound": 1}, 4),
        ({"has_wraparound": 0}, 7),
        ({"has_wraparound": 1, "n_axes": 2}, 8),
        ({"has_wraparound": 0, "n_axes": 2}, 14),
        ({"has_wraparound": 1, "n_axes": 3}, 12),
    ],
)
def test_small_arrays_wait_for_hops(values, hops):
    """A byte over 8 chips an axis takes the hops to the farthest: half of a ring, all of a line, axis by axis."""
    for collective, passes in (("all_gather", 1), ("reduce_scatter", 1), ("all_reduce", 2), ("all_to_all", 1)):
        assert time(collective, 8, array_bytes=1, **values) == pytest.approx(passes * hops * HOP, rel=1e-12)
        assert time(collective, 8, array_bytes=1, name="is_latency_bound", **values) == 1


def test_an_odd_ring():
    """The farthest chip of a ring of 5 is two hops away."""
    assert time("all_gather", 5, array_bytes=1) == pytest.approx(2 * HOP)


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce", "all_to_all", "permute"])
@pytest.mark.parametrize("chip", ["tpu-v5e", "h100-sxm"])
def test_a_group_of_one_costs_nothing(collective, chip):
    """Neither time nor latency; and no rate."""
    assert time(collective, 1, chip=chip) == 0
    assert time(collective, 1, chip=chip, name="effective_bandwidth") is None


def test_permute_sends_to_a_neighbour():
    """A permute on a torus takes one link, one way."""
    assert time("permute", 8) == pytest.approx(ARRAY / LINK)


CHIP, NODE = 450e9, 400e9  # egress of a chip to its node's switch, of a node of 8 to the others
SWITCH = {"chip": "h100-sxm", "link_bandwidth": CHIP, "node_bandwidth": NODE, "node_size": 8}


def slowest(group, *, array=ARRAY, sharded_inside=1):
    """The slower of what a chip has to receive inside its node and a node from the others, of a gather; in s.

    `sharded_inside` groups side by side gather the parts of an array that is cut over as many chips of each node.
    """
    inside = max(1, min(group, 8 // sharded_inside))
    nodes = group // inside
    to_chip = array / sharded_inside * (inside - 1) / inside
    to_node = array * (nodes - 1) / nodes  # all groups of the node together
    return max(to_chip / CHIP, to_node / NODE)


@pytest.mark.parametrize("group", [2, 4, 8, 16, 32, 64, 256])
def test_gather_on_switches(group):
    """In a node, and on two, four, eight and 32 nodes: the slower level decides."""
    assert time("all_gather", group, **SWITCH) == pytest.approx(slowest(group), rel=1e-12)
    assert time("reduce_scatter", group, **SWITCH) == pytest.approx(slowest(group), rel=1e-12)
    assert time("all_reduce", group, **SWITCH) == pytest.approx(2 * slowest(group), rel=1e-12)


@pytest.mark.parametrize(("group", "binding"), [(16, "node"), (32, "node"), (64, "fabric")])
def test_two_nodes_and_four(group, binding):
    """Two nodes exchange half of the array and four nodes three quarters: the switches inside take longer still. From
    eight nodes on the scale-out network binds."""
    node = time("all_gather", group, name="gather_node_time", **SWITCH)
    fabric = time("all_gather", group, name="gather_fabric_time", **SWITCH)
    assert (node > fabric) == (binding == "node")
    assert max(node, fabric) == time("all_gather", group, **SWITCH)


@pytest.mark.parametrize(("group", "inside"), [(2, 4), (8, 4), (8, 8), (32, 8)])
def test_gather_beside_other_shards(group, inside):
    """Groups side by side share the egress of their node, and gain inside the node alone."""
    found = time("all_gather", group, array_bytes=ARRAY / inside, inner_ways=inside, **SWITCH)
    assert found == pytest.approx(slowest(group, sharded_inside=inside), rel=1e-12)


@pytest.mark.parametrize(
    ("group", "size", "inside", "nodes"),
    [(12, 8, 1, 2), (9, 8, 1, 2), (36, 8, 1, 5), (512, 72, 1, 8), (4, 8, 3, 2), (16, 72, 32, 8), (144, 72, 1, 2)],
)
def test_a_group_lies_on_whole_nodes(group, size, inside, nodes):
    """As many nodes as its chips need, evenly filled: 12 chips on nodes of 8 are 6 and 6, and one and a half are none.
    Beside 3 ways in a node of 8 there is room for 2 chips of a group."""
    given = {**SWITCH, "node_size": size, "inner_ways": inside}
    to_node = ARRAY * inside * (nodes - 1) / nodes / NODE
    to_chip = ARRAY * (group - nodes) / group / CHIP
    assert time("all_gather", group, name="gather_fabric_time", **given) == pytest.approx(to_node, rel=1e-12)
    assert time("all_gather", group, name="gather_node_time", **given) == pytest.approx(to_chip, rel=1e-12)


def test_shards_beyond_a_node_gain():
    """Shards over 16 chips, two nodes, halve what a node has to gather."""
    eight = time("all_gather", 32, array_bytes=ARRAY / 8, inner_ways=8, **SWITCH)
    sixteen = time("all_gather", 32, array_bytes=ARRAY / 16, inner_ways=16, **SWITCH)
    assert sixteen == pytest.approx(eight / 2)


@pytest.mark.parametrize("nodes", [2, 4, 32])
def test_exchange_between_nodes(nodes):
    """Each node sends to each other what its eight chips have for the eight chips there."""
    chips = 8 * nodes
    leaves = ARRAY / chips**2 * 8 * (chips - 8)
    assert time("all_to_all", chips, **SWITCH) == pytest.approx(leaves / NODE, rel=1e-12)


def test_exchange_in_a_node():
    """Each chip sends seven eighths of its eighth; a mixture of experts sends a share of that."""
    assert time("all_to_all", 8, **SWITCH) == pytest.approx(ARRAY / 8 * 7 / 8 / CHIP, rel=1e-12)
    assert time("all_to_all", 8, ragged_fraction=0.25, **SWITCH) == pytest.approx(ARRAY / 8 * 7 / 8 / CHIP / 4)


def test_reductions_in_the_switch():
    """With SHARP a chip sends its array up once, whole."""
    assert time("all_reduce", 8, has_sharp=1, **SWITCH) == pytest.approx(ARRAY / CHIP, rel=1e-12)
    assert time("all_reduce", 32, has_sharp=1, **SWITCH) == pytest.approx(ARRAY / NODE, rel=1e-12)
    assert time("all_gather", 32, has_sharp=1, **SWITCH) == time("all_gather", 32, **SWITCH)


@pytest.mark.parametrize(
    ("chip", "switches", "cards"), [("h100-sxm", 3.6e12, 8), ("b200-sxm", 7.2e12, 8), ("gb200", 64.8e12, 72)]
)
def test_a_nodes_switches_and_cards_are_its_chips(chip, switches, cards):
    """Where none are said: what 8 or 72 chips send their switches, and cards of 400 Gbit/s for the node's egress."""
    template = load("fabric")
    found = Prepared(template, facts(template, None, chip)).results({})
    assert (found.value("switch_bandwidth"), found.value("node_nics")) == (switches, cards)


def test_an_unknown_network_is_not_known():
    """A topology that is neither torus nor switch is N/A, as is an unknown collective; never zero."""
    assert time("all_gather", 8, topology="dragonfly") is None
    assert time("broadcast", 8) is None


@pytest.mark.parametrize(
    ("chip", "shape", "said", "axes"),
    [
        ("tpu-v6e", {"slice_x": 4, "slice_y": 4}, {}, 2),
        ("tpu-v6e", {"slice_x": 16}, {}, 1),
        ("tpu-v5p", {"slice_x": 4, "slice_y": 8, "slice_z": 4}, {}, 3),
        ("tpu-v6e", {"slice_x": 4, "slice_y": 4}, {"collective_axes": 1}, 1),
        ("tpu-v6e", {}, {}, 1),
    ],
)
def test_a_collective_of_a_slice_lies_along_its_axes(chip, shape, said, axes):
    """Collectives takes the axes of the slice's shape, one where no shape is given, and as many as it says."""
    chips = {"n_chips": math.prod(shape.values()) if shape else 16}
    found = evaluate(load("collectives"), facts(load("collectives"), None, chip), chips | shape | said)
    assert found.value("axes_along") == axes
    assert found.value("check_ways_on_axes") == (0 if said else 1)
