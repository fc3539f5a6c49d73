"""Profiles of frameworks, chips and versions beside the real ones, made by the tests as their profilers write them."""

from __future__ import annotations

import pytest

from planner.errors import UserError
from planner.profiles.reading import read
from tests.measure_encoder import Span, space
from tests.written_profiles import US, fusion, in_json, kernel, written


def test_jax_on_cuda(tmp_path):
    """Streams named by what they do: NCCL is exposed where it outlasts compute; a marker has the kernels it launches.

    Step 4 launches kernels 1 to 4: compute 100-150, all-reduce 120-170, a copy from the host 170-180. The kernel of the
    step before, launched earlier, runs within its time on the device and isn't its own.
    """
    ours = {"hlo_module": "jit_step", "program_id": 3}
    planes = {
        "/device:GPU:0": {
            "Stream #13(Compute)": [
                kernel("gemm_fusion_dot_1", 100, 50, 1, hlo_op="gemm_fusion_dot.1", **ours),
                kernel("loop_add_fusion", 60, 10, 9, hlo_op="loop_add_fusion", **ours),
                kernel("__amd_rocclr_copyBuffer.kd", 70, 2, 9, hlo_op="copy.1", **ours),
                kernel("gemm", 75, 2, 9, hlo_op="async-start.1", **ours),
            ],
            "Stream #14(Compute)": [
                kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 120, 50, 2, hlo_op="all-reduce-start.1", **ours)
            ],
            "Stream #15(MemcpyH2D)": [kernel("MemcpyH2D", 170, 10, 3, memcpy_details="kind_dst:device size:4096")],
            "XLA Ops": [fusion("fusion.9", 0, 999)],
        },
        "/host:CPU": {
            "python": [Span("train", 40 * US, 30 * US, {"step_num": 4})],
            "launches": [
                Span("cuLaunchKernel", at * US, US, {"correlation_id": n})
                for n, at in [(9, 10), (1, 50), (2, 51), (3, 52)]
            ],
        },
    }  # fmt: skip
    found = read(written(tmp_path / "h.xplane.pb", planes, {"device_vendor": "Nvidia", "core_count": 132}))
    (device,) = found.devices
    (step,) = device.steps
    assert (step.index, step.found, found.device, found.facts["core_count"]) == (4, "marker", None, "132")
    parts = [step.parts.compute, step.parts.communication, step.parts.copy, step.parts.gap]
    assert [round(each * 1e6) for each in parts] == [50, 20, 10, 0]
    assert [each.count for each in device.operations if each.name == "loop_add_fusion"] == [1]
    copied = {each.name: each.bytes for each in device.operations if each.part == "copy"}
    assert copied == {"MemcpyH2D": 4096, "copy.1": None}
    assert {each.name: each.part for each in device.operations if each.name in ("copy.1", "async-start.1")} == {
        "copy.1": "copy", "async-start.1": "compute",
    }  # fmt: skip


def test_what_another_step_computes_hides_communication(tmp_path):
    """Steps that overlap on the device: a step's all-reduce beside the next step's compute is exposed before it alone.

    Step 1 computes 0-90 and reduces 90-130; step 2 computes from 100 to 180 and reduces 180-200: 10 and 20 us.
    """
    planes = {
        "/device:GPU:0": {
            "Stream #13(Compute)": [kernel("gemm", 0, 90, 1), kernel("gemm", 100, 80, 3)],
            "Stream #14(Compute)": [kernel("ncclDevKernel_AllReduce", 90, 40, 2),
                                    kernel("ncclDevKernel_AllReduce", 180, 20, 4)],
        },
        "/host:CPU": {
            "python": [Span("train", 0, 50 * US, {"step_num": 1}), Span("train", 50 * US, 50 * US, {"step_num": 2})],
            "launches": [Span("cuLaunchKernel", at * US, US, {"correlation_id": n})
                         for n, at in [(1, 1), (2, 2), (3, 51), (4, 52)]],
        },
    }  # fmt: skip
    found = read(written(tmp_path / "h.xplane.pb", planes))
    parts = [(step.parts.compute, step.parts.communication, step.parts.gap) for step in found.devices[0].steps]
    assert [[round(each * 1e6) for each in step] for step in parts] == [[120, 10, 0], [80, 20, 0]]


def test_a_copy_within_a_gpu_is_of_its_run_and_hides_nothing(tmp_path):
    """A module's graph copies on the device without naming the module: the run has it, as exposed copying of 10 us.

    An all-reduce beside it is exposed all of its 10 us: a copy isn't computing.
    """
    ours = {"hlo_module": "jit_step"}
    planes = {
        "/device:GPU:0": {
            "Stream #13": [each for n in range(3) for each in (
                kernel("gemm", 100 * n, 40, 1, hlo_op="dot.1", **ours),
                kernel("MemcpyD2D", 100 * n + 40, 20, 2, memcpy_details="kind_src:device kind_dst:device size:64"),
                kernel("gemm", 100 * n + 60, 10, 3, hlo_op="dot.2", **ours),
            )],
            "Stream #14": [kernel("ncclDevKernel_AllReduce", 100 * n + 50, 10, 4, hlo_op="all-reduce.1", **ours)
                           for n in range(3)],
        },
    }  # fmt: skip
    found = read(written(tmp_path / "h.xplane.pb", planes))
    parts = [(step.parts.compute, step.parts.communication, step.parts.copy, step.parts.gap)
             for step in found.devices[0].steps]  # fmt: skip
    assert [[round(each * 1e6) for each in step] for step in parts] == [[50, 10, 10, 0]] * 3


def test_tpu_with_steps_and_sparse_cores(tmp_path):
    """The line of steps tells them by number, also of a program that runs thrice in each; SparseCores are no chips."""
    modules = [Span("jit_f(1)", 10 * n * US, 9 * US) for n in range(6)]
    planes = {
        "/device:TPU:0": {
            "Steps": [Span("12", 0, 30 * US), Span("13", 30 * US, 30 * US)],
            "XLA Modules": modules,
            "XLA Ops": [fusion("fusion.1", 10 * n, 8) for n in range(6)],
        },
        "/device:TPU:0 SparseCore 0": {"Sparse Core Ops": [fusion("scatter.1", 0, 3)]},
    }
    stats = {"device_type_string": "TPU v5 lite", "peak_teraflops_per_second": 197.0}
    found = read(written(tmp_path / "h.xplane.pb", planes, stats))
    (device,) = found.devices
    assert (found.device, device.peak_flops) == ("TPU v5 lite", 197e12)
    assert [(step.index, round(step.parts.compute * 1e6), round(step.seconds * 1e6)) for step in device.steps] == [
        (12, 24, 30), (13, 24, 30),
    ]  # fmt: skip


def test_a_host_whose_devices_ran_nothing_is_named(tmp_path):
    """Its file is one of the run's, and in no number: a reader who counts hosts must see it."""
    written(tmp_path / "host-0.xplane.pb", {"/device:TPU:0": {"XLA Ops": [fusion("fusion.1", 0, 8)]}})
    written(tmp_path / "host-1.xplane.pb", {"/host:CPU": {"python": [Span("f", 0, 5)]}})
    assert read(tmp_path).notes == ("host-1.xplane.pb: no device ran anything there, so it is in no number",)


def test_a_core_says_on_which_chip_it_lies(tmp_path):
    """CoreDetails: the second core of the third chip of its host, which is the seventh of all."""
    details = bytes([0x10, 0x05, 0x18, 0x01, 0x20, 0x02, 0x28, 0x06, 0x30, 0x0D])
    planes = {"/device:TPU:5": {"XLA Ops": [fusion("fusion.1", 0, 1)]}}
    (device,) = read(written(tmp_path / "a.xplane.pb", planes, {"core_details": details})).devices
    assert device.facts["chip"] == "2 of its host, 6 of all"


def test_tpu_without_operations(tmp_path):
    """A capture of programs alone: they stand for the operations, and their runs are the steps."""
    modules = [Span("jit_f(1)", 10 * n * US, 8 * US) for n in range(3)]
    found = read(written(tmp_path / "h.xplane.pb", {"/device:TPU:0": {"XLA Modules": modules, "XLA Ops": []}}))
    assert [(each.name, each.count) for each in found.operations] == [("jit_f(1)", 3)]
    assert found.step_times == pytest.approx([8e-6] * 3)


def test_hosts_of_a_pod(tmp_path):
    """A run of two hosts, from the folder two above it: its devices together, a step as long as on the slowest."""
    run = tmp_path / "logs" / "plugins" / "profile" / "2026_01_02_03_04_05"
    for host, microseconds in (("host-a", 10), ("host-b", 14)):
        modules = [Span("jit_f(1)", 20 * n * US, microseconds * US) for n in range(3)]
        ops = [fusion("fusion.1", 20 * n, microseconds) for n in range(3)]
        planes = {f"/device:TPU:{n}": {"XLA Modules": modules, "XLA Ops": ops} for n in range(2)}
        written(run / f"{host}.xplane.pb", planes)
        (run / f"{host}.trace.json.gz").write_bytes(b"not read")
    written(run.parent / "2026_01_02_03_03_04" / "old.xplane.pb", {"/device:TPU:0": {"XLA Ops": [fusion("f.1", 0, 1)]}})
    for folder in (tmp_path, run):
        found = read(folder)
        assert (found.hosts, len(found.devices)) == (("host-a", "host-b"), 4)
        assert found.step_times == pytest.approx([14e-6] * 3)
    assert read(tmp_path).notes == (f"1 file of other runs beside it not read: this is the newest, {run.name}",)


def test_hosts_of_a_pod_whose_folders_are_seconds_apart(tmp_path):
    """As JAX writes them, each by its host's clock: one run, without the capture before it of one of these hosts.

    The folders are those of github.com/vllm-project/tpu-inference/pull/2521.
    """
    captures = (("2026_05_06_04_47_20", 0, 5), ("2026_05_06_04_47_36", 1, 10), ("2026_05_06_04_47_38", 0, 14))
    for folder, host, microseconds in captures:
        modules = [Span("jit_f(1)", 20 * n * US, microseconds * US) for n in range(3)]
        ops = [fusion("fusion.1", 20 * n, microseconds) for n in range(3)]
        path = tmp_path / "plugins" / "profile" / folder / f"node-{host}.xplane.pb"
        written(path, {"/device:TPU:0": {"XLA Modules": modules, "XLA Ops": ops}})
    found = read(tmp_path)
    assert (found.hosts, found.step_times) == (("node-1", "node-0"), pytest.approx([14e-6] * 3))
    assert found.notes == ("1 file of other runs beside it not read: this is the newest, 2026_05_06_04_47_38",)


def test_what_is_of_no_one_run_is_refused(tmp_path):
    """Hosts of other chips, one host twice, and captures an hour apart: each one line. Other programs are only said."""

    def captured(name, kind, module, at=0.0):
        planes = {
            "/device:TPU:0": {"XLA Modules": [Span(f"{module}(1)", 0, US)], "XLA Ops": [fusion("fusion.1", 0, 1)]}
        }
        when = {"profile_start_time": int((1.7e9 + at) * 1e9), "profile_stop_time": int((1.7e9 + at + 5) * 1e9)}
        data = space(planes, {"device_type_string": kind}) + space({"Task Environment": {}}, when)
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    first = captured("a/host-0.xplane.pb", "TPU v4", "jit_f")
    for other, says in (
        (captured("a/host-1.xplane.pb", "TPU v5 lite", "jit_f"), "different devices, TPU v4 and TPU v5 lite"),
        (captured("b/host-0.xplane.pb", "TPU v4", "jit_f"), "both of host-0"),
        (captured("a/host-2.xplane.pb", "TPU v4", "jit_f", 3605), "captured 60 min apart"),
    ):
        with pytest.raises(UserError, match=says):
            read(first, other)
    assert read(first, captured("a/host-3.xplane.pb", "TPU v4", "jit_f", 3)).notes == ()
    (note,) = read(first, captured("a/host-4.xplane.pb", "TPU v4", "jit_g")).notes
    assert "no program or operation in common" in note


def test_trace_json_of_a_gpu(tmp_path):
    """The JSON of XLA's profiler names streams and HLO as the planes do; steps are the runs of the module."""
    named = [
        {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "pid": 2, "tid": 13, "name": "thread_name", "args": {"name": "Stream #13(Compute)"}},
    ]
    args = {"hlo_module": "jit_f", "correlation_id": "7"}
    events = [
        {"ph": "X", "pid": 2, "tid": 13, "ts": 100 * run + 10 * n, "dur": 5, "name": f"k{n}",
         "args": args | {"hlo_op": f"fusion.{n}"}}
        for run in range(4) for n in range(3)
    ]  # fmt: skip
    found = read(in_json(tmp_path, {"displayTimeUnit": "ns", "traceEvents": [*named, *events, {}]}, "x.trace.json"))
    assert (found.format, found.found, found.step_times) == ("trace.json", "module", pytest.approx([25e-6] * 4))
    assert found.devices[0].programs[0].count == 4


@pytest.mark.parametrize("offset", [{}, {"device_offset_ps": "5", "device_duration_ps": "5000000"}])
@pytest.mark.parametrize("ts", [-5e9, 1e30, 1e17, float("nan"), "yesterday"])
def test_a_first_event_of_an_absurd_time_in_a_trace_json_costs_only_itself(tmp_path, ts, offset):
    """It tells neither the clock of all others nor what the host's is ahead of the device's."""
    events = [
        {"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "/device:TPU:0"}},
        {"ph": "M", "pid": 3, "tid": 1, "name": "thread_name", "args": {"name": "XLA Ops"}},
        {"ph": "X", "pid": 3, "tid": 1, "ts": ts, "dur": 5, "name": "lost", "args": offset},
    ]
    for n in range(8):
        own = {key: str(int(value) + 10 * US * n) if "offset" in key else value for key, value in offset.items()}
        events.append({"ph": "X", "pid": 3, "tid": 1, "ts": 1e9 + 10 * n, "dur": 5, "name": "fusion.1", "args": own})
    (device,) = read(in_json(tmp_path, {"displayTimeUnit": "ns", "traceEvents": events}, "odd.trace.json")).devices
    assert [(each.name, each.count) for each in device.operations] == [("fusion.1", 8)]
    assert device.parts.span == pytest.approx(75e-6)


@pytest.mark.parametrize("phases", ["", "BE", "CM"])
def test_a_trace_of_no_whole_event_is_said_to_be_one(tmp_path, phases):
    """A trace that is empty, or whose events begin and end apart, is no unknown JSON: a line says what it lacks."""
    events = [{"ph": phase, "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 5.0 + n, "args": {"device": 0}}
              for n, phase in enumerate(phases)]  # fmt: skip
    path = in_json(tmp_path, {"traceEvents": events}, "a.trace.json")
    with pytest.raises(UserError, match="this trace has no event with a time of its own"):
        read(path)
