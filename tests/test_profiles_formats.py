"""Profiles of frameworks, chips and versions beside the real ones, made by the tests as their profilers write them."""

from __future__ import annotations

import gzip
import json

import pytest

from planner.profiles.reading import read
from planner.profiles.recognition import recognised
from tests.measure_encoder import Span, space

US = 1_000_000  # ps


def written(path, planes, stats=None):
    """A profile of these planes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(space(planes, stats))
    return path


def fusion(name, begin, microseconds):
    """An operation of a TPU."""
    return Span(f"%{name} = f32[8]{{0}} fusion(f32[8]{{0}} %p), kind=kLoop", begin * US, microseconds * US)


def kernel(name, begin, microseconds, correlation, **stats):
    """A kernel of a GPU's stream in a profile of XLA."""
    return Span(name, begin * US, microseconds * US, {"correlation_id": correlation, **stats})


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
    assert [(each.name, each.bytes) for each in device.operations if each.part == "copy"] == [("MemcpyH2D", 4096)]
    assert {each.name: each.part for each in device.operations if each.name in ("copy.1", "async-start.1")} == {
        "copy.1": "compute", "async-start.1": "compute",
    }  # fmt: skip


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
    written(run.parent / "2026_01_02_03_04_04" / "old.xplane.pb", {"/device:TPU:0": {"XLA Ops": [fusion("f.1", 0, 1)]}})
    for folder in (tmp_path, run):
        found = read(folder)
        assert (found.hosts, len(found.devices)) == (("host-a", "host-b"), 4)
        assert found.step_times == pytest.approx([14e-6] * 3)
    assert "1 files of other runs" in read(tmp_path).facts["other runs"]


def torch_event(cat, name, at, dur, **args):
    """An event of Kineto."""
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": 1e9 + at, "dur": dur, "args": args}


def torch_kernel(name, at, dur, device=0, **args):
    """A kernel of Kineto."""
    return torch_event("kernel", name, at, dur, device=device, stream=7, **args)


MM = {"Input Dims": [[64, 32], [32, 16]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}


def test_torch_links_shapes_and_steps(tmp_path):
    """Kernels by their launch: a matmul's FLOPs count once though two kernels do it; a graph's kernels have none."""
    events = [
        torch_event("user_annotation", "ProfilerStep#3", 0, 50),
        torch_event("user_annotation", "ProfilerStep#4", 50, 50),
        torch_event("cpu_op", "aten::mm", 1, 5, **{"External id": 11}, **MM),
        torch_event("cuda_runtime", "cudaLaunchKernel", 2, 1, correlation=1, **{"External id": 11}),
        torch_event("cuda_runtime", "cudaLaunchKernel", 3, 1, correlation=2, **{"External id": 11}),
        torch_event("cuda_runtime", "cudaGraphLaunch", 60, 1, correlation=3, **{"External id": 12}),
        torch_event("cpu_op", "aten::silu", 59, 5, **{"External id": 12}, **MM),
        torch_kernel("sm90_gemm", 70, 10, correlation=1),
        torch_kernel("splitKreduce", 80, 1, correlation=2),
        torch_kernel("triton_poi_fused_0", 85, 5, correlation=3),
        torch_kernel("ncclDevKernel_AllGather_RING_LL", 87, 6, correlation=3, dtype="BFloat16",
                     **{"Collective name": "_allgather_base", "In msg nelems": 1024, "Group size": 8}),
    ]  # fmt: skip
    path = tmp_path / "rank0.json"
    described = {
        "schemaVersion": 1,
        "distributedInfo": {"rank": 5},
        "deviceProperties": [{"id": 0, "name": "NVIDIA B200"}],
    }
    path.write_text(json.dumps({**described, "traceEvents": events}))
    found = read(path)
    (device,) = found.devices
    assert (found.device, found.hosts) == ("NVIDIA B200", ("rank 5",))
    assert [(s.index, round(s.seconds * 1e6)) for s in device.steps] == [(3, 11), (4, 8)]
    assert device.steps[1].parts.communication == pytest.approx(3e-6)
    seen = recognised(device.operations)
    (matmul,) = seen.matmuls
    assert (matmul.m, matmul.k, matmul.n, matmul.operation.name) == (64, 32, 16, "sm90_gemm")
    (gather,) = seen.collectives
    assert (gather.kind, gather.payload, gather.group_size) == ("all-gather", 2048, 8)
    assert [each.category for each in device.operations if each.name.startswith("triton")] == ["kernel"]


def test_torch_of_older_versions(tmp_path):
    """Categories in capitals, `external id`, and kernels without any correlation, which count by their own begin."""
    dims, types = MM.values()
    events = [
        torch_event("Operator", "ProfilerStep#0", 0, 50),
        torch_event("Operator", "aten::mm", 1, 5, **{"External id": 11, "Input dims": dims, "Input type": types}),
        torch_event("Runtime", "cudaLaunchKernel", 2, 1, correlation=1, **{"external id": 11}),
        {**torch_event("Kernel", "volta_gemm", 10, 10, device=0, correlation=1), "cat": "Kernel"},
        {**torch_event("Kernel", "lost", 25, 5, device=0), "cat": "Kernel"},
        {**torch_event("Memcpy", "Memcpy HtoD (Pageable -> Device)", 30, 5, device=0, bytes=64), "cat": "gpu_memcpy"},
    ]  # fmt: skip
    path = tmp_path / "old.pt.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    (device,) = read(path).devices
    (step,) = device.steps
    assert (step.found, round(step.seconds * 1e6)) == ("marker", 25)
    assert (round(step.parts.compute * 1e6), round(step.parts.copy * 1e6), round(step.parts.gap * 1e6)) == (15, 5, 5)
    assert device.kind is None
    assert device.operations[0].flops == 2 * 64 * 32 * 16


def test_torch_steps_of_a_free_annotation(tmp_path):
    """Without ProfilerStep the outermost annotation that launches most of the work marks the steps, numbers aside."""
    events = []
    for n in range(3):
        events += [
            torch_event("user_annotation", f"decode_{n} of 3", 100 * n, 50),
            torch_event("user_annotation", "nccl:all_reduce", 100 * n + 1, 200),
            torch_event("user_annotation", "inner", 100 * n + 5, 5),
            torch_event("cuda_runtime", "cudaLaunchKernel", 100 * n + 10, 1, correlation=n),
            torch_kernel("gemm", 100 * n + 20, 10, correlation=n),
        ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(events))  # a plain list, as Chrome's format allows
    found = read(path)
    assert (found.found, found.step_times) == ("marker", pytest.approx([10e-6] * 3))


def test_ranks_in_one_folder(tmp_path):
    """A file for each rank: devices of all, each of its rank; other JSON beside them is left alone."""
    for rank in range(2):
        events = [
            torch_event("user_annotation", "ProfilerStep#1", 0, 50),
            torch_event("cuda_runtime", "cudaLaunchKernel", 2, 1, correlation=1),
            torch_kernel("gemm", 10, 10 + rank, device=rank, correlation=1),
        ]
        document = {"distributedInfo": {"rank": rank}, "traceEvents": events}
        (tmp_path / f"trace_rank{rank}.json").write_text(json.dumps(document))
    (tmp_path / "config.json").write_text('{"hidden_size": 8}')
    found = read(tmp_path)
    assert [(device.host, device.name) for device in found.devices] == [("rank 0", "GPU 0"), ("rank 1", "GPU 1")]
    assert found.step_times == pytest.approx([11e-6])


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
    path = tmp_path / "x.trace.json"
    path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": [*named, *events, {}]}))
    found = read(path)
    assert (found.format, found.found, found.step_times) == ("trace.json", "module", pytest.approx([25e-6] * 4))
    assert found.devices[0].programs[0].count == 4
