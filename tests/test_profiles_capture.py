"""A training step over eight forced devices that JAX captures on this machine, read as any other profile."""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median

import pytest

from planner.profiles.reading import read
from planner.profiles.recognition import recognised

CAPTURE = """
import sys
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "tensor"))
def placed(shape, *axes):
    value = jax.random.normal(jax.random.key(0), shape) * 0.02
    return jax.device_put(value, NamedSharding(mesh, P(*axes)))
weights = placed((512, 2048), "data", "tensor"), placed((2048, 512), "tensor", "data")
batch = placed((512, 512), "data", None)
def loss(weights, batch):
    hidden = jax.nn.relu(batch @ weights[0])
    return jnp.mean((hidden @ weights[1] - batch) ** 2)
@jax.jit
def train_step(weights, batch):
    value, gradients = jax.value_and_grad(loss)(weights, batch)
    return jax.tree.map(lambda a, b: a - 0.1 * b, weights, gradients), value
text = train_step.lower(weights, batch).compile().as_text()
for _ in range(2):
    weights, _ = train_step(weights, batch)
jax.block_until_ready(weights)
with jax.profiler.trace(sys.argv[1]):
    for step in range(8):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            weights, value = train_step(weights, batch)
            jax.block_until_ready(weights)
open(sys.argv[1] + "/hlo.txt", "w").write(text)
"""


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """The folder of the capture, with the program's HLO beside it."""
    folder = tmp_path_factory.mktemp("capture")
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", CAPTURE, str(folder)], check=True, env=environment, capture_output=True)
    return folder


@pytest.mark.slow
class TestCapture:
    """What is read of it."""

    def test_steps_are_full(self, captured):
        """Eight marked steps on each of eight devices; operations last until their end: hardly a gap is left."""
        found = read(captured)
        assert (found.found, len(found.devices), len(found.step_times)) == ("marker", 8, 8)
        assert [step.index for step in found.devices[3].steps] == list(range(8))
        covered = [1 - step.parts.idle for device in found.devices for step in device.steps]
        assert median(covered) >= 0.99

    def test_every_collective_is_found(self, captured):
        """Each collective of the program's HLO is one of each device, with its kind, group and bytes, in every step."""
        text = (captured / "hlo.txt").read_text()
        kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
        wanted = sum(text.count(f" {kind}(") + text.count(f" {kind}-start(") for kind in kinds)
        assert wanted
        for device in read(captured).devices:
            found = recognised(device.operations).collectives
            assert len(found) == wanted
            assert {each.operation.count for each in found} == {8}
            assert all(each.payload and each.group_size in (2, 4, 8) for each in found)
            assert device.steps[0].parts.communication > 0

    def test_matmuls_have_sizes_and_flops(self, captured):
        """Counted from the program's HLO: the events have neither; five matmuls of a step, of a device's shards."""
        found = recognised(read(captured).devices[0].operations)
        flops = sum(each.operation.flops for each in found.matmuls)
        assert flops == pytest.approx(5 * 2 * 512 * 512 * 2048 / 8, rel=0.01)
