"""Traces of PyTorch's profiler (Kineto) of several versions and accelerators, made by the tests as it writes them."""

from __future__ import annotations

import gzip
import json

import pytest

from planner.ingest.profiled_cases import case_of
from planner.profiles.kineto_operators import attention
from planner.profiles.profile import Operation, Shape
from planner.profiles.reading import read
from planner.profiles.recognition import Matmul, recognised
from tests.written_profiles import in_json


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
        torch_kernel("ncclDevKernel_Generic", 87, 6, correlation=3, dtype="BFloat16",
                     **{"Collective name": "_allgather_base", "Out msg nelems": 1024, "Group size": 8}),
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


def test_correlations_that_are_written_as_external_ids(tmp_path):
    """Some versions write a kernel's correlation as its external id: its operator runs on the thread of its launch.

    Here the matmul's number is that of a view, which launched nothing, and the other thread's operator lasts longer.
    """
    events = [
        torch_event("cpu_op", "aten::view", 0, 1, **{"External id": 7}),
        torch_event("cpu_op", "aten::linear", 10, 20, **{"External id": 1}),
        torch_event("cpu_op", "aten::mm", 12, 10, **{"External id": 2}, **MM),
        {**torch_event("cpu_op", "aten::add", 0, 90, **{"External id": 3}), "tid": 2},
        torch_event("cuda_runtime", "cudaLaunchKernel", 15, 1, correlation=7, **{"External id": 7}),
        {**torch_event("cuda_runtime", "cudaLaunchKernel", 40, 1, correlation=8, **{"External id": 8}), "tid": 2},
        torch_kernel("gemm", 30, 10, correlation=7, **{"External id": 7}),
        torch_kernel("add", 41, 5, correlation=8, **{"External id": 8}),
    ]
    path = in_json(tmp_path, {"traceEvents": events})
    found = {each.name: each for each in read(path).operations}
    assert {name: each.source for name, each in found.items()} == {"gemm": "aten::mm", "add": "aten::add"}
    assert found["gemm"].flops == 2 * 64 * 32 * 16


QKV = [Shape("bf16", (2, 128, 8, 64)), Shape("bf16", (2, 128, 4, 64)), Shape("bf16", (2, 128, 4, 64))]


@pytest.mark.parametrize(
    ("operator", "arguments", "scores"),
    [
        ("aten::_flash_attention_forward", ["", "", "", "", "", "128", "128", "0.", "False", "False"], 128 * 128),
        ("aten::_flash_attention_forward", ["", "", "", "", "", "128", "128", "0.", "True", "False"], 128 * 129 // 2),
        ("aten::_efficient_attention_forward", ["", "", "", "", "", "", "", "", "0.", "1"], 128 * 129 // 2),
        ("flash_attn::_flash_attn_forward", ["", "", "", "0.", "0.125", "True", "-1", "-1"], 128 * 129 // 2),
        ("flash_attn::_flash_attn_forward", ["", "", "", "0.", "0.125", "True", "64", "0"], None),  # a window
        ("aten::_flash_attention_forward", [], None),  # shapes were recorded, and arguments weren't
        ("aten::_flash_attention_backward", ["", "", "", "", "", "128", "128", "0.", "True", "False"], None),
    ],
)
def test_attention_by_its_arguments(operator, arguments, scores):
    """Two matmuls of width 64 for each pair of query and key: half of the pairs and the diagonal where it is causal."""
    flops = attention(operator, QKV, arguments)[1]
    assert flops == (None if scores is None else 2 * 2 * 2 * 8 * 64 * scores)


def test_packed_sequences_have_no_flops():
    """Where each sequence begins is not in the trace: they are not taken for one long sequence."""
    arguments = ["", "", "", "", "", "", "", "", "0.", "1"]
    begins = Shape("s32", (9,))
    assert attention("aten::_efficient_attention_forward", [*QKV, begins], arguments) == (None, None)


def test_attention_of_other_lengths():
    """Heads come first in PyTorch's own calls; a causal one of fewer queries than keys isn't guessed."""
    shapes = [Shape("bf16", (2, 8, 16, 64)), Shape("bf16", (2, 8, 128, 64)), Shape("bf16", (2, 8, 128, 64))]
    operator = "aten::_scaled_dot_product_cudnn_attention"
    plain, causal = (["", "", "", "", "False", "0.", told, "False"] for told in ("False", "True"))
    assert attention(operator, shapes, plain)[1] == 2 * 2 * 2 * 8 * 64 * 16 * 128
    assert attention(operator, shapes, causal) == (None, None)


def test_the_weights_of_a_square_matmul_are_its_second_operand():
    """Where both operands fit, as of [n, k] x [k, n]."""
    operands = Shape("bf16", (64, 32)), Shape("s8", (32, 64))
    made = Operation(
        "dot",
        "step",
        "gemm",
        "dot",
        "compute",
        1,
        1e-3,
        1e-3,
        1e-3,
        operands=operands,
        result=(Shape("bf16", (64, 64)),),
    )
    _, inputs = case_of(Matmul(made, 64, 32, 64, 1, "bf16"))
    assert (inputs["activation_dtype"], inputs["weight_dtype"]) == ("bf16", "int8")


def test_attention_of_a_trace_is_a_case(tmp_path):
    """Its batch, lengths and heads by the operator's layout, and whether it is causal by its arguments."""
    told = {"External id": 11, "Input Dims": [list(each.dims) for each in QKV], "Input type": ["c10::BFloat16"] * 3,
            "Concrete Inputs": ["", "", "", "", "", "128", "128", "0.", "True", "False"]}  # fmt: skip
    events = [
        torch_event("cpu_op", "aten::_flash_attention_forward", 1, 5, **told),
        torch_event("cuda_runtime", "cudaLaunchKernel", 2, 1, correlation=1, **{"External id": 11}),
        torch_kernel("flash_fwd_kernel", 10, 10, correlation=1, **{"External id": 11}),
    ]
    (found,) = recognised(read(in_json(tmp_path, events)).operations).attention
    template, inputs = case_of(found)
    assert template == "attention"
    sizes = {"batch": 2, "query_len": 128, "kv_len": 128, "n_heads": 8, "n_kv_heads": 4, "head_dim": 64, "is_causal": 1}
    assert inputs.items() >= {key: float(value) for key, value in sizes.items()}.items()


@pytest.mark.parametrize(
    ("operator", "concrete"),
    [
        ("aten::_scaled_mm", ["", "", "", "", "", "", "15", "False"]),
        ("aten::_scaled_mm_v2", ["", "", "", "[3]", "[0]", "", "[3]", "[0]", "", "15", "[]", "False"]),
    ],
)
def test_scaled_matmul_has_the_type_that_it_was_asked_for(tmp_path, operator, concrete):
    """A matmul of fp8 with a result of bf16, which is number 15 of PyTorch's types, in PyTorch since 2.10 too."""
    told = {"External id": 11, "Input Dims": [[64, 32], [32, 16], [], []],
            "Input type": ["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float"],
            "Concrete Inputs": concrete}  # fmt: skip
    events = [
        torch_event("cpu_op", operator, 1, 5, **told),
        torch_kernel("nvjet", 10, 10, correlation=1, **{"External id": 11}),
    ]
    (found,) = recognised(read(in_json(tmp_path, events)).operations).matmuls
    _, inputs = case_of(found)
    assert [inputs[name] for name in ("weight_dtype", "activation_dtype", "output_dtype")] == ["fp8", "fp8", "bf16"]


def test_another_accelerator(tmp_path):
    """Events of Meta's accelerator: waits and copies are none of its computing."""
    events = [
        {**torch_event("mtia_ccp_events", name, at, dur), "pid": 9, "tid": at}
        for name, at, dur in (("fc-dtype_Float", 0, 10), ("event_wait", 5, 15), ("dma_request", 18, 7))
    ]
    (device,) = read(in_json(tmp_path, {"traceEvents": events})).devices
    parts = device.parts
    assert [round(each * 1e6) for each in (parts.compute, parts.copy, parts.wait, parts.gap)] == [10, 7, 8, 0]


@pytest.mark.parametrize("number", [-(2**70), -1e308, 2**70])
def test_an_absurd_number_of_an_event_is_none(tmp_path, number):
    """A correlation, an external id or a device that no computer counts to: the kernel is there all the same."""
    events = [torch_kernel("gemm", 1, 10, correlation=number, **{"External id": number}), torch_kernel("relu", 20, 5)]
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "traceEvents": events}))
    assert sum(operation.count for operation in read(path).operations) == 2


ABSURD = [0, -5e9, 1e30, -1e30, 1e17, float("nan"), float("inf"), "yesterday", None, []]


@pytest.mark.parametrize("at", [0, 3], ids=["first", "later"])
@pytest.mark.parametrize("ts", ABSURD)
def test_an_event_of_an_absurd_time_costs_only_itself(tmp_path, ts, at):
    """Wherever it stands: first, it doesn't tell the clock of all others; its time is in no span."""
    events = [torch_kernel("gemm", 20 * n, 10, correlation=n) for n in range(8)]
    events.insert(at, {**torch_kernel("lost", 0, 10), "ts": ts})
    (device,) = read(in_json(tmp_path, {"traceEvents": events}, "odd.json")).devices
    assert [(each.name, each.count) for each in device.operations] == [("gemm", 8)]
    assert device.parts.span == pytest.approx(150e-6)


def test_a_clock_that_begins_with_the_trace_is_told_from_zero(tmp_path):
    """Its first kernel is at 0, one even before, and both are kept."""
    events = [{**torch_kernel("gemm", 0, 10), "ts": 20 * n - 20} for n in range(8)]
    path = in_json(tmp_path, {"traceEvents": events}, "relative.json")
    assert sum(each.count for each in read(path).operations) == 8


@pytest.mark.parametrize(
    ("name", "parts"),
    [("Memcpy PtoP (Device -> Device)", (0, 5, 0)), ("Memcpy DtoD (Device -> Device)", (0, 0, 5)),
     ("Memset (Device)", (5, 0, 0)),
     ("CopyHostToDevice", (0, 0, 5)), ("Memcpy DtoH (Device -> Pageable)", (0, 0, 5))],
)  # fmt: skip
def test_what_a_copy_is(name, parts, tmp_path):
    """A copy between two devices communicates; those within a device, from and to the host copy, a fill computes."""
    events = [torch_kernel("gemm", 0, 10), torch_event("gpu_memcpy", name, 20, 5, device=0, bytes=64)]
    (device,) = read(in_json(tmp_path, {"traceEvents": events})).devices
    found = (device.parts.compute - 10e-6, device.parts.communication, device.parts.copy)
    assert tuple(round(each * 1e6) for each in found) == parts


@pytest.mark.parametrize(
    ("told", "kernel", "elements", "expected"),
    [
        ("_allgather_base", "AllGather_RING_LL", (1024, 8192), ("all_gather", 16384)),
        ("_reduce_scatter_base", "ReduceScatter_Sum_bf16_RING_LL", (8192, 1024), ("reduce_scatter", 16384)),
        ("allreduce", "AllReduce_Sum_bf16_RING_LL", (4096, 4096), ("all_reduce", 8192)),
        ("all_to_allv", "SendRecv", (4096, 4096), ("all_to_all", 8 * 8192)),
        ("send", "SendRecv", (4096, 4096), None),  # of two ranks of the group, one of which waits for the other
    ],
)
def test_a_collective_of_a_trace_is_a_case(told, kernel, elements, expected, tmp_path):
    """What NCCL was asked for is the case, not its kernel's name or its operator's arrays: bf16 over eight ranks."""
    arrays = {"Input Dims": [[elements[1]], [elements[0]]], "Input type": ["c10::BFloat16"] * 2}
    counts = dict(zip(("In msg nelems", "Out msg nelems"), elements, strict=True))
    events = [
        torch_event("cpu_op", "c10d::asked", 1, 5, **{"External id": 11}, **arrays),
        torch_kernel(f"ncclDevKernel_{kernel}(x)", 10, 50, dtype="BFloat16",
                     **{"External id": 11, "Collective name": told, "Group size": 8}, **counts),
    ]  # fmt: skip
    (found,) = recognised(read(in_json(tmp_path, {"traceEvents": events})).operations).collectives
    case = case_of(found)
    assert (case and (case[1]["collective"], case[1]["array_bytes"])) == expected
    assert case is None or case[1]["axis_size"] == 8


def test_a_device_that_stops_early_is_not_idle_until_the_others(tmp_path):
    """Its span ends with its own last kernel, also where that is before the file's first event."""
    events = [torch_kernel("c", 1000 + 10 * n, 5, device=1) for n in range(5)]
    events += [torch_kernel("a", 0, 10), torch_kernel("b", 15, 5)]
    early, late = read(in_json(tmp_path, {"traceEvents": events})).devices
    assert [round(each.parts.span * 1e6) for each in (early, late)] == [20, 45]
    assert [round(each.parts.gap * 1e6) for each in (early, late)] == [5, 20]


def test_kernels_of_a_time_below_zero_are_told(tmp_path):
    """Some versions of Kineto write such: they take no time, and a reader sees how many there are."""
    events = [torch_kernel("gemm", 0, 10), torch_kernel("gemm", 20, -10), torch_kernel("gemm", 40, float("nan"))]
    found = read(in_json(tmp_path, {"traceEvents": events}))
    assert found.notes == ("a.json: 2 kernels of a time below 0, or of none, counted as 0",)
    assert found.devices[0].parts.compute == pytest.approx(10e-6)


@pytest.mark.parametrize("wrong", [{"dur": 1e30}, {"ts": "soon"}, {"ts": 1e30}])
def test_kernels_without_a_time_are_told(tmp_path, wrong):
    """They are left out, and a reader sees how many there are."""
    events = [torch_kernel("gemm", 0, 10), torch_kernel("gemm", 20, 10) | wrong, torch_kernel("gemm", 40, 5)]
    found = read(in_json(tmp_path, {"traceEvents": events}))
    assert found.notes == ("a.json: 1 event left out whose begin or duration is no time",)
    assert found.devices[0].parts.compute == pytest.approx(15e-6)


def test_an_int8_matmul_gives_32_bits(tmp_path):
    """PyTorch's _int_mm multiplies int8 into int32, which is four times its operands' bytes."""
    shapes = {"Input Dims": [[64, 32], [32, 16]], "Input type": ["signed char", "signed char"]}
    events = [
        torch_event("cpu_op", "aten::_int_mm", 1, 5, **{"External id": 11}, **shapes),
        torch_kernel("gemm", 10, 50, **{"External id": 11}),
    ]
    (found,) = recognised(read(in_json(tmp_path, {"traceEvents": events})).operations).matmuls
    case = case_of(found)
    assert case
    assert [case[1][f"{name}_dtype"] for name in ("weight", "activation", "compute")] == ["int8"] * 3
    assert case[1]["output_dtype"] == "int32"
