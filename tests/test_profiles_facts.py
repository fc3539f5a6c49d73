"""Numbers of real profiles, found outside of this project: every reader gives them (us unless said)."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from statistics import median

import pytest

from planner.ingest.first_page import part
from planner.profiles.profile import Device, Profile, pooled
from planner.profiles.reading import read
from planner.profiles.recognition import recognised
from tests.measure_traces import TRACES, real

pytestmark = real
GOLDEN = TRACES / "golden"


@cache
def profile(name: str) -> Profile:
    """A profile of the collection, read once."""
    return read(next(path for path in [*TRACES.iterdir(), *GOLDEN.iterdir()] if name in path.name))


def us(seconds: float) -> float:
    """Seconds in microseconds."""
    return seconds * 1e6


def about(value: float, rel: float = 1e-9):
    """A number printed with three decimals."""
    return pytest.approx(value, rel=rel, abs=0.0006)


def totals(device: Device) -> Counter[str]:
    """Microseconds of a device's own time by category."""
    found: Counter[str] = Counter()
    for operation in device.operations:
        found[operation.category] += us(operation.self_time)
    return found


def count(device: Device, category: str = "") -> int:
    """Runs of operations of a category, or of all."""
    return sum(each.count for each in device.operations if category in ("", each.category))


class TestV6e:
    """xprof_tpu_inference_2: a TPU v6e with four devices."""

    def test_devices_and_programs(self):
        """The device as the file names it, its peaks, and each device's programs and runs."""
        found = profile("xprof_tpu_inference_2")
        assert (found.device, len(found.devices)) == ("TPU v6 Lite", 4)
        assert found.devices[0].peak_flops == 918e12
        assert len({device.facts["chip"] for device in found.devices}) == 4
        runs = [(sum(p.count for p in d.programs), len(d.programs)) for d in found.devices]
        assert runs == [(105, 4), (103, 2), (103, 2), (103, 2)]

    def test_steps_are_the_repeated_program(self):
        """A hundred runs of jit_f on each device."""
        found = profile("xprof_tpu_inference_2")
        assert (found.found, [len(device.steps) for device in found.devices]) == ("module", [100] * 4)
        of_first = [us(step.seconds) for step in found.devices[0].steps]
        assert median(of_first) == about(784122.781)
        assert median(us(step.seconds) for d in found.devices for step in d.steps) == about(783997.235)

    def test_busy_and_idle(self):
        """Overlapping operations count once; the span begins with the first program."""
        found = profile("xprof_tpu_inference_2").devices
        busy = [us(device.busy) for device in found]
        assert busy == [about(78784927.636), about(78789509.322), about(78781986.874), about(78766281.688)]
        assert count(found[0]) == 1504
        assert us(found[0].end - found[0].begin) == about(92562843.184)
        assert found[0].idle == pytest.approx(0.1488, abs=5e-5)

    def test_parts_are_disjoint(self):
        """What computes or communicates, and copies that nothing else hides; a wait for a copy is no compute."""
        parts = profile("xprof_tpu_inference_2").devices[0].parts
        assert us(parts.compute + parts.communication) == about(2736558.846)
        assert us(parts.copy) == about(76048369.511)
        assert us(parts.span) == about(92562843.184)

    def test_operations(self):
        """The longest wait, the all-reduce over all devices, and the adds' bandwidth."""
        found = profile("xprof_tpu_inference_2")
        top = found.devices[0].operations[0]
        assert (top.name, top.count, us(top.median)) == ("copy-done.2", 100, about(194113.709))
        everything = pooled(found.operations)
        (reduce,) = (each for each in everything if each.opcode == "all-reduce")
        assert (reduce.count, reduce.median * 1e3) == (12, about(121.702))
        adds = sorted((e for e in everything if "broadcast_add" in e.name), key=lambda each: each.median)
        assert [us(each.median) for each in adds] == [about(7916.044), about(7973.734), about(8153.145)]
        assert [each.bytes / each.median / 1e9 for each in adds] == pytest.approx([1356.4, 1346.6, 1317.0], abs=0.05)


@pytest.mark.parametrize(
    ("name", "step", "events", "busy", "second", "categories"),
    [
        ("vllm_tpu_1", 66914.493, 3454, 67209.386, 67206.930,
         {"convolution fusion": 42308.737, "custom-call": 17013.486, "all-reduce": 3433.750}),
        ("vllm_tpu_2", 65558.339, 4682, 65722.837, 65719.869,
         {"custom-call": 46047.999, "all-reduce": 3535.872, "all-to-all": 651.461}),
    ],
)  # fmt: skip
def test_tpu_trace_json(name, step, events, busy, second, categories):
    """A TPU's trace.json: no device's name, four programs once each on two devices, one step."""
    found = profile(name)
    first = found.devices[0]
    assert (found.device, "device" in found.lacks, len(found.devices)) == (None, True, 2)
    assert [program.count for program in first.programs] == [1] * 4
    assert (first.programs[0].name, us(first.programs[0].total)) == ("jit_step_fun", about(step))
    assert (len(found.step_times), found.found) == (1, "whole")
    assert (count(first), us(first.busy), us(found.devices[1].busy)) == (events, about(busy), about(second))
    assert {category: totals(first)[category] for category in categories} == {
        k: about(v) for k, v in categories.items()
    }
    assert count(first, "all-reduce") == 129


def test_tpu_matmuls_are_recognised():
    """Every convolution fusion of the serving trace is a matmul with its sizes; the all-reduces' median time."""
    device = profile("vllm_tpu_1").devices[0]
    found = recognised(device.operations)
    largest = [each for each in found.matmuls if sorted((each.m, each.k, each.n)) == [1024, 5120, 27648]]
    assert len(largest) == 64
    assert us(median(each.operation.median for each in largest)) == about(346.461)
    fusions = [each.operation.self_time for each in found.matmuls if each.operation.category == "convolution fusion"]
    assert us(sum(fusions)) == about(42308.737)
    assert sum((each.flops or 0) * each.count for each in device.operations) == pytest.approx(3.19807e13, rel=1e-5)
    reduces = [each.median for each in device.operations if each.opcode == "all-reduce"]
    assert (len(reduces), us(median(reduces))) == (129, about(26.335))
    other = profile("vllm_tpu_2").devices[0]
    assert count(other, "all-to-all") == 128


def test_gpu_matmuls():
    """JAX on a MI300X: eight planes of which one ran anything; FLOPs from the programs' HLO."""
    found = profile("tracelens_jax08_gemm")
    (device,) = found.devices
    assert (found.device, found.facts["device_vendor"]) == (None, "AMD")
    assert (count(device), us(device.busy), len(device.programs)) == (54, about(3475.484), 16)
    assert device.idle == pytest.approx(0.6325, abs=5e-5)
    top = device.operations[0]
    assert (top.program, top.count, us(top.median)) == ("jit_dot(49)", 3, about(587.481))
    assert top.flops / top.median / 1e12 == pytest.approx(935.8, abs=0.05)
    (matmul,) = recognised([top]).matmuls
    assert (matmul.m, matmul.k, matmul.n, matmul.dtype) == (8192, 4096, 8192, "bf16")


def test_gpu_elementwise():
    """Names of programs repeat: they are told apart by their id."""
    (device,) = profile("tracelens_jax08_elementwise").devices
    assert (count(device), us(device.busy)) == (75, about(3880.724))
    assert (len(device.programs), len({program.name for program in device.programs})) == (11, 10)
    top = device.programs[0]
    assert (top.name, top.count, us(top.total), us(top.median)) == ("jit_multiply", 5, about(583.4), about(112.96))


def test_gpu_on_eight_devices():
    """Five runs of one program on each of eight; streams overlap on the first."""
    found = profile("tracelens_jax08_conv")
    assert [count(device) for device in found.devices] == [60] + [25] * 7
    assert [[(p.name, p.count) for p in d.programs] for d in found.devices] == [[("jit_forward_3d_conv", 5)]] * 8
    assert us(sum(each.total for each in found.devices[0].operations)) == about(4000.165)
    assert us(found.devices[0].busy) == about(3995.965)


def test_kineto_on_cuda():
    """PyTorch on an H100: a marked step, idle for most of it."""
    found = profile("h100_torch_bert")
    (device,) = found.devices
    assert (found.device, [step.index for step in device.steps], found.found) == (
        "NVIDIA H100 80GB HBM3",
        [6],
        "marker",
    )
    copies = sum(each.count for each in device.operations if each.part == "copy")
    assert (count(device) - copies, copies) == (60, 1)
    assert (us(device.busy), us(device.steps[0].seconds)) == (about(309.437), about(3907.825))
    assert device.steps[0].parts.idle == pytest.approx(0.9208, abs=5e-5)
    assert (count(device, "aten::addmm"), totals(device)["aten::addmm"]) == (26, about(197.598))


def test_kineto_on_rocm():
    """Kernels of earlier steps run inside the annotation: the step has those that it launched alone."""
    found = profile("mi300_torch_qwen")
    (device,) = found.devices
    step = device.steps[0]
    assert found.device == "AMD Instinct MI300X VF"
    assert count(device) == 1516 + 1
    # times are told to half a nanosecond: sums differ by how they are added
    assert us(device.busy) == about(43062.795, rel=3e-7)
    assert us(step.parts.busy) == about(29743.932, rel=3e-7)
    assert us(step.seconds) == about(33131.333, rel=3e-8)
    assert step.parts.idle == pytest.approx(0.1022, abs=5e-5)
    assert (count(device, "aten::mm"), totals(device)["aten::mm"]) == (96, about(8663.617))
    flash = "aten::_flash_attention_forward"
    assert (count(device, flash), totals(device)[flash]) == (24, about(3908.798))


class TestTools:
    """The golden outputs of xprof's tools, of a training run on a TPU v5p."""

    def test_device_and_peaks(self):
        """The overview has the device and its cores, the roofline the peaks of a core."""
        found = read(GOLDEN)
        assert (found.device, found.facts["cores"]) == ("TPU v5", "8")
        assert found.devices[0].peak_flops == pytest.approx(233.4e12)
        assert found.devices[0].peak_bandwidth == pytest.approx(1287.45 * 2**30)

    def test_operations(self):
        """hlo_stats: 357 operations of three programs; self times add up, by category too."""
        (device,) = profile("hlo_stats").devices
        assert (len(device.operations), len({each.program for each in device.operations})) == (357, 3)
        assert us(sum(each.self_time for each in device.operations)) == about(3897804.986)
        wanted = {"convolution fusion": (30, 1307198.585), "custom fusion": (30, 574041.425),
                  "dynamic-update-slice": (5, 554431.124), "all-reduce-scatter fusion": (8, 356577.392)}  # fmt: skip
        rows = Counter(each.category for each in device.operations)
        assert {k: (rows[k], totals(device)[k]) for k in wanted} == {k: (n, about(t)) for k, (n, t) in wanted.items()}

    def test_communication_is_more_than_its_categories(self):
        """Half of it is filed under custom fusion: by category 12.05 %, with async-collective 26.6 %."""
        (device,) = profile("hlo_stats").devices
        communicating = [each for each in device.operations if each.part == "communication"]
        asynchronous = us(sum(e.self_time for e in communicating if e.category == "custom fusion"))
        everything = us(sum(each.self_time for each in communicating))
        assert everything == about(1036914.034)
        assert everything - asynchronous == about(469526.821)
        whole = us(sum(each.self_time for each in device.operations))
        assert [everything / whole, (everything - asynchronous) / whole] == pytest.approx([0.266, 0.1205], abs=5e-5)

    def test_idle_and_the_framework(self):
        """IDLE is a row of op_profile, and of the framework's 265 rows of the device."""
        assert us(profile("op_profile").devices[0].parts.gap) == about(9784.483)
        (framework,) = profile("framework_op_stats").devices
        assert len(framework.operations) + 1 == 265
        assert us(framework.parts.gap) == about(9784.483)

    def test_steps_leave_out_the_partial_one(self):
        """Four steps take about 120 ms; the mean that the tool shows, 96.3 ms, has a partial one in it."""
        found = profile("overview_page")
        assert found.step_times == pytest.approx([0.12] * 4, rel=0.01)
        assert sum(found.step_times) / 5 > 0.0963 - 0.0005 > sum(found.step_times) / 5 - 0.0007

    def test_a_tpus_overview_tells_no_communication_beside_the_frameworks_table(self):
        """Neither has it: the rows that the framework calls collectives are less than half of the 26.6 % that it is."""
        found = read(*(next(GOLDEN.glob(f"*{tool}*")) for tool in ("framework_op_stats", "overview_page")))
        assert [part(found, name) for name in ("compute", "communication")] == [None, None]
        assert "hlo_stats tells them apart" in found.lacks["communication"]

    def test_waste(self):
        """Time x (1 - roofline efficiency) of the categories, and of the main program in op_profile."""
        roofline = profile("roofline_model").devices[0]
        operations = profile("op_profile").operations
        everything = sum(each.self_time for each in operations)
        groups = defaultdict(list)
        for each in operations:
            if each.program == "jit_train_step(2041036616644817336)":
                groups[each.category].append(each)

        def lost(members):
            """The share of all time that operations lose, by the FLOPs and bytes of them all; none where none tells."""
            told = [each for each in members if (each.flops, each.bytes) != (None, None)]
            seconds = sum(each.self_time for each in members)
            compute = sum((each.flops or 0) * each.count for each in told) / roofline.peak_flops
            memory = sum((each.bytes or 0) * each.count for each in told) / roofline.peak_bandwidth
            return max(0, seconds - max(compute, memory)) / everything if told else 0

        found = {name: lost(members) for name, members in groups.items() if sum(each.self_time for each in members)}
        assert [found[name] for name in ("convolution fusion", "dynamic-update-slice", "all-gather")] == (
            pytest.approx([0.05287, 0.13806, 0.02550], abs=5e-6)
        )
        assert sum(found.values()) == pytest.approx(0.44526, abs=5e-6)

    def test_fused_collective_matmuls_stay_unrecognised(self):
        """Of the convolution fusions of this training run 9 % have sizes that can be told."""
        fusions = [each for each in profile("hlo_stats").operations if each.category == "convolution fusion"]
        assert recognised(fusions).share == pytest.approx(0.09, abs=0.005)

    def test_attention_is_its_kernels_by_each_tool(self):
        """The kernels of splash attention take 11.3 % by HLO operations and 11.8 % by the framework's."""
        shares = [
            sum(each.operation.self_time for each in recognised(found).attention)
            / sum(each.self_time for each in found)
            for found in (profile(tool).operations for tool in ("hlo_stats", "framework_op_stats"))
        ]
        assert shares == pytest.approx([0.11283, 0.11842], abs=1e-4)
