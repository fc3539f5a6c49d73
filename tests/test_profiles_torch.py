"""Traces of PyTorch's profiler (Kineto) of several versions and accelerators, made by the tests as it writes them."""

from __future__ import annotations

import gzip
import json

import pytest

from planner.errors import UserError
from planner.ingest.first_page import between_steps, lines
from planner.ingest.operation_rows import Peaks
from planner.ingest.profiled_cases import case_of
from planner.profiles.kineto_operators import attention
from planner.profiles.profile import Operation, Shape
from planner.profiles.reading import read
from planner.profiles.recognition import Matmul, recognised


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


@pytest.mark.parametrize(
    ("prefill", "decode", "kind"),
    [
        ("execute_context_2({n})_generation_0(0)", "execute_context_0(0)_generation_8({n})",
         "execute_context_0(0)_generation_#(#)"),
        ("execute_new_{n}_cached_0", "execute_new_0_cached_{n}", "execute_new_0_cached_#"),
    ],
)  # fmt: skip
def test_prefill_and_decode_that_a_server_marks_are_steps_of_two_kinds(tmp_path, prefill, decode, kind):
    """vLLM counts the requests of each batch in its mark: of prefills and decode steps the kind of more time counts.

    Ten decode steps whose kernel takes 10 us, and two prefills of 40: the step is 10, and the first line names it.
    """
    events = []
    for n in range(12):
        name, lasts = (prefill, 40) if n in (0, 6) else (decode, 10)
        events += [
            torch_event("user_annotation", name.format(n=n + 1), 100 * n, 50),
            torch_event("cuda_runtime", "cudaLaunchKernel", 100 * n + 10, 1, correlation=n),
            torch_kernel("gemm", 100 * n + 20, lasts, correlation=n),
        ]
    path = tmp_path / "a.json"
    profiled = [torch_event("user_annotation", f"ProfilerStep#{n}", 100 * n - 1, 60) for n in range(12)]
    for marks in ([], profiled):  # by themselves, or within the profiler's own steps
        path.write_text(json.dumps(events + marks))
        found = read(path)
        assert found.step_times == pytest.approx([10e-6] * 10)
        assert found.step_name == kind
        assert lines(found, None, Peaks(None, None))[0].note.endswith(f"marked in the profile, {kind}")


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


def merged(*pids):
    """A trace that is merged of ranks, each with a host's and a device's `pid`, a GPU 0 and the same correlations."""
    events = []
    for n, (host, device) in enumerate(pids):
        events += [
            {**torch_event("user_annotation", "ProfilerStep#1", 0, 50), "pid": host},
            {**torch_event("cuda_runtime", "cudaLaunchKernel", 2, 1, correlation=1), "pid": host},
            {**torch_kernel("gemm", 10 + 5 * n, 20, correlation=1), "pid": device},
        ]
    return {"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": events}


@pytest.mark.parametrize("label", ["[TP00-DP0{n}]", "rank{n}:"])
def test_ranks_of_a_merged_trace_are_devices_of_their_own(tmp_path, label):
    """SGLang merges the ranks' traces with a label in each event's pid: each has a GPU 0, and they ran together.

    Their kernels last 20 us each, from 10 and from 15: no device is busy for 25.
    """
    ranks = [label.format(n=n) for n in range(2)]
    path = tmp_path / "merged-1.trace.json"
    path.write_text(json.dumps(merged(*((f"{each} 812", f"{each} 0") for each in ranks))))
    found = read(path)
    assert found.hosts == tuple(each.strip("[]:") for each in ranks)
    assert [(device.name, round(device.busy * 1e6)) for device in found.devices] == [("GPU 0", 20), ("GPU 0", 20)]
    assert found.step_times == pytest.approx([20e-6])


def test_a_merged_trace_without_ranks_is_refused(tmp_path):
    """Launches of two processes: whose a kernel is, is not told, and one line says what to give instead."""
    path = tmp_path / "merged.json"
    path.write_text(json.dumps(merged((812, 0), (813, 0))))
    with pytest.raises(UserError, match=r"merged of 2 processes.*; give the trace of each rank"):
        read(path)


def two_ranks(*, is_launched):
    """Twenty kernels each of two ranks of one pid, one GPU and one queue: of 60 us, and of 40 within these."""
    events = []
    for rank in (0, 1):
        for n in range(20):
            at = 100 * n + 25 * rank
            if is_launched:
                events.append(torch_event("cuda_runtime", "cudaLaunchKernel", at, 5, correlation=n))
            args = {"correlation": n} if is_launched else {}
            events.append(torch_kernel("gemm", 100 * n + 50 + 10 * rank, 60 - 20 * rank, **args))
    return events


@pytest.mark.parametrize("is_launched", [True, False])
def test_ranks_that_share_one_process_are_refused(tmp_path, is_launched):
    """Of containers every rank's pid is the same: launches have their numbers twice, or a queue overlaps itself."""
    path = tmp_path / "merged.json"
    path.write_text(json.dumps({"traceEvents": two_ranks(is_launched=is_launched)}))
    with pytest.raises(
        UserError, match="merged of ranks under one process, whose kernels can't be told apart"
    ) as error:
        read(path)
    assert "\n" not in error.value.line()


@pytest.mark.parametrize("is_launched", [True, False])
def test_ranks_whose_devices_are_told_apart_by_their_process_alone_are_refused(tmp_path, is_launched):
    """A merged trace has a process for each rank's GPU, and the kernels' own number of it is 0 in both.

    Twenty kernels of 60 us each, 10 us later on the second rank: one device would have been busy for 70.
    """
    events = []
    for rank in (0, 1):
        for n in range(20):
            at = 100 * n + 10 * rank
            if is_launched:  # each launch by a number of its own
                events.append(torch_event("cuda_runtime", "cudaLaunchKernel", at, 5, correlation=100 * rank + n))
            events.append({**torch_kernel("gemm", at + 20, 60, correlation=100 * rank + n), "pid": 10 + rank})
    path = tmp_path / "merged.json"
    path.write_text(json.dumps({"traceEvents": events}))
    with pytest.raises(UserError, match="merged of ranks that have a GPU 0 each, whose kernels can't be told apart"):
        read(path)


def test_what_one_process_launches_is_not_taken_for_two_ranks(tmp_path):
    """The driver's call has the number of the runtime's around it; kernels of a graph, of two queues, and one that
    begins before the last one ended overlap: 20 of each, 10 us apart.
    """
    events = []
    for n in range(20):
        at = 10 * n
        events += [
            torch_event("cuda_runtime", "cudaLaunchKernel", at, 6, correlation=n),
            torch_event("cuda_driver", "cuLaunchKernel", at + 3, 2, correlation=n),
            torch_event("cuda_runtime", "cudaEventQuery", 30 * n, 1, correlation=5000),  # which launches nothing
            torch_kernel("early", at + 20, 16, correlation=n),
            {**torch_kernel("other", at + 22, 5, correlation=100 + n), "tid": 9},
            torch_kernel("graph", at + 400, 30, correlation=1000),
            torch_kernel("branch", at + 405, 3, correlation=1000),
        ]
        events[-3]["args"]["stream"] = 9
    events.append(torch_event("cuda_runtime", "cudaGraphLaunch", 390, 5, correlation=1000))
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    assert sum(each.count for each in read(path).operations) == 80


def test_a_collective_beside_compute_in_one_queue_is_of_one_rank(tmp_path):
    """AMD's tracer may number all queues 0: reduces of 90 us, within which kernels of 10 us compute."""
    events = []
    for n in range(20):
        events.append(torch_event("cuda_runtime", "hipLaunchKernel", 100 * n, 1, correlation=10 * n))
        events.append(torch_kernel("ncclDevKernel_Generic_4", 100 * n + 5, 90, correlation=10 * n))
        for k in range(1, 9):
            events.append(torch_event("cuda_runtime", "hipLaunchKernel", 100 * n + k, 1, correlation=10 * n + k))
            events.append(torch_kernel("Cijk_gemm", 100 * n + 10 * k, 10, correlation=10 * n + k))
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    (device,) = read(path).devices
    assert device.parts.communication == pytest.approx(20 * 10e-6)


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
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    found = {each.name: each for each in read(path).operations}
    assert {name: each.source for name, each in found.items()} == {"gemm": "aten::mm", "add": "aten::add"}
    assert found["gemm"].flops == 2 * 64 * 32 * 16


def test_steps_from_one_call_of_the_optimizer_to_the_next(tmp_path):
    """Without any marker of steps: PyTorch marks its optimizer. What is before the first call may be cut off."""
    events = []
    for n in range(4):
        events += [
            torch_event("user_annotation", "Optimizer.zero_grad#Adam.zero_grad", 100 * n, 5),
            torch_event("user_annotation", "Optimizer.step#Adam.step", 100 * n + 60, 20),
            torch_event("user_annotation", "Optimizer.step#Adam.step", 100 * n + 61, 10),  # wrapped twice
        ]
        for at in (10, 65):
            correlation = 10 * n + at
            events.append(torch_event("cuda_runtime", "cudaLaunchKernel", 100 * n + at, 1, correlation=correlation))
            events.append(torch_kernel("gemm", 100 * n + at + 30, 10 + n, correlation=correlation))
    path = tmp_path / "a.json"
    path.write_text(json.dumps(events))
    found = read(path)
    assert (found.found, found.step_times) == ("marker", pytest.approx([66e-6, 67e-6, 68e-6]))
    assert found.step_name == "from one Optimizer.step#Adam.step to the next"  # as the first line says


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
    path = tmp_path / "a.json"
    path.write_text(json.dumps(events))
    (found,) = recognised(read(path).operations).attention
    template, inputs = case_of(found)
    assert template == "attention"
    sizes = {"batch": 2, "query_len": 128, "kv_len": 128, "n_heads": 8, "n_kv_heads": 4, "head_dim": 64, "is_causal": 1}
    assert inputs.items() >= {key: float(value) for key, value in sizes.items()}.items()


def test_scaled_matmul_has_the_type_that_it_was_asked_for(tmp_path):
    """A matmul of fp8 with a result of bf16, which is number 15 of PyTorch's types."""
    told = {"External id": 11, "Input Dims": [[64, 32], [32, 16], [], []],
            "Input type": ["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float"],
            "Concrete Inputs": ["", "", "", "", "", "", "15", "False"]}  # fmt: skip
    events = [
        torch_event("cpu_op", "aten::_scaled_mm", 1, 5, **told),
        torch_kernel("nvjet", 10, 10, correlation=1, **{"External id": 11}),
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(events))
    (found,) = recognised(read(path).operations).matmuls
    _, inputs = case_of(found)
    assert [inputs[name] for name in ("weight_dtype", "activation_dtype", "output_dtype")] == ["fp8", "fp8", "bf16"]


def test_another_accelerator(tmp_path):
    """Events of Meta's accelerator: waits and copies are none of its computing."""
    events = [
        {**torch_event("mtia_ccp_events", name, at, dur), "pid": 9, "tid": at}
        for name, at, dur in (("fc-dtype_Float", 0, 10), ("event_wait", 5, 15), ("dma_request", 18, 7))
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    (device,) = read(path).devices
    parts = device.parts
    assert [round(each * 1e6) for each in (parts.compute, parts.copy, parts.wait, parts.gap)] == [10, 7, 8, 0]


def test_traces_of_other_times_or_one_rank_twice_are_refused(tmp_path):
    """Two traces of rank 0, and two captures an hour apart by their clocks, are of no one run."""
    told = {"a": (0, 0), "b": (0, 1), "c": (1, 3600 * 10**9)}
    for name, (rank, later) in told.items():
        document = {"distributedInfo": {"rank": rank}, "baseTimeNanoseconds": 17 * 10**17 + later}
        document["traceEvents"] = [torch_kernel("gemm", 10, 10, correlation=1)]
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    with pytest.raises(UserError, match="are both of rank 0"):
        read(tmp_path / "a.json", tmp_path / "b.json")
    with pytest.raises(UserError, match="captured 60 min apart"):
        read(tmp_path / "a.json", tmp_path / "c.json")


@pytest.mark.parametrize(
    ("ranks", "says"),
    [
        (((0, 8), (1, 16)), r"rank0.json and rank1.json are of runs of 8 and of 16 ranks, so of no one run; "),
        (((0, 1), (1, 8)), r"are of runs of 1 and of 8 ranks"),
        (((0, 8), (8, 8)), r"rank1.json: this trace is of rank 8, and says that its run has 8, numbered from 0; "),
        (((-1, 8),), r"this trace is of rank -1"),
    ],
)  # fmt: skip
def test_ranks_that_no_one_run_has_are_refused(tmp_path, ranks, says):
    """Ranks of runs of other sizes, and a rank beyond the number of its run's: one line each."""
    paths = []
    for n, (rank, size) in enumerate(ranks):
        paths.append(tmp_path / f"rank{n}.json")
        told = {"distributedInfo": {"rank": rank, "world_size": size}, "traceEvents": [torch_kernel("gemm", 0, 10)]}
        paths[-1].write_text(json.dumps(told))
    with pytest.raises(UserError, match=says) as error:
        read(*paths)
    assert "\n" not in error.value.line()


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
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"traceEvents": events}))
    (device,) = read(path).devices
    assert [(each.name, each.count) for each in device.operations] == [("gemm", 8)]
    assert device.parts.span == pytest.approx(150e-6)


def test_a_clock_that_begins_with_the_trace_is_told_from_zero(tmp_path):
    """Its first kernel is at 0, one even before, and both are kept."""
    events = [{**torch_kernel("gemm", 0, 10), "ts": 20 * n - 20} for n in range(8)]
    path = tmp_path / "relative.json"
    path.write_text(json.dumps({"traceEvents": events}))
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
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    (device,) = read(path).devices
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
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    (found,) = recognised(read(path).operations).collectives
    case = case_of(found)
    assert (case and (case[1]["collective"], case[1]["array_bytes"])) == expected
    assert case is None or case[1]["axis_size"] == 8


def test_a_device_that_stops_early_is_not_idle_until_the_others(tmp_path):
    """Its span ends with its own last kernel, also where that is before the file's first event."""
    events = [torch_kernel("c", 1000 + 10 * n, 5, device=1) for n in range(5)]
    events += [torch_kernel("a", 0, 10), torch_kernel("b", 15, 5)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    early, late = read(path).devices
    assert [round(each.parts.span * 1e6) for each in (early, late)] == [20, 45]
    assert [round(each.parts.gap * 1e6) for each in (early, late)] == [5, 20]


def test_the_time_between_steps_is_told(tmp_path):
    """A host that takes 100 us for each step, of whose kernels the device is busy for 30: its steps are no faster."""
    events = []
    for n in range(4):
        events += [
            torch_event("user_annotation", f"ProfilerStep#{n}", 100 * n, 90),
            torch_event("cuda_runtime", "cudaLaunchKernel", 100 * n + 1, 1, correlation=n),
            torch_kernel("gemm", 100 * n + 10, 30, correlation=n),
        ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    found = {line.label: line for line in lines(read(path), None, Peaks(None, None))}
    assert found["Step time"].measured == pytest.approx(30e-6)
    assert found["From step to step"].measured == pytest.approx(100e-6)
    assert between_steps(read(path)).startswith("100 us from step to step, 70 % of it between them: ")


def test_steps_that_overlap_on_the_device_are_told(tmp_path):
    """A step's gather begins 40 us before the one before it ends: each lasts 140 us, and one ends every 100."""
    events = []
    for n in range(4):
        events += [
            torch_event("user_annotation", f"ProfilerStep#{n}", 100 * n, 90),
            torch_event("cuda_runtime", "cudaLaunchKernel", 100 * n + 1, 1, correlation=2 * n),
            torch_event("cuda_runtime", "cudaLaunchKernel", 100 * n + 3, 1, correlation=2 * n + 1),
            torch_kernel("ncclDevKernel_AllGather_RING_LL", 100 * n + 10, 30, correlation=2 * n),
            torch_kernel("gemm", 100 * n + 60, 90, correlation=2 * n + 1),
        ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    found = {line.label: line for line in lines(read(path), None, Peaks(None, None))}
    assert [found[name].measured for name in ("Step time", "From step to step")] == pytest.approx([140e-6, 100e-6])
    assert found["From step to step"].note.endswith("to the end of the next: they overlap on the device")
    assert found["Largest waste"].note == "no operation has FLOPs or bytes: PyTorch's trace has none of kernels"
    assert between_steps(read(path)) == "100 us from step to step, which overlap: a run is as fast as that"


def test_kernels_of_a_time_below_zero_are_told(tmp_path):
    """Some versions of Kineto write such: they take no time, and a reader sees how many there are."""
    events = [torch_kernel("gemm", 0, 10), torch_kernel("gemm", 20, -10), torch_kernel("gemm", 40, -5)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    found = read(path)
    assert found.notes == ("a.json: 2 kernels of a time below 0 counted as 0",)
    assert found.devices[0].parts.compute == pytest.approx(10e-6)


def test_an_int8_matmul_gives_32_bits(tmp_path):
    """PyTorch's _int_mm multiplies int8 into int32, which is four times its operands' bytes."""
    shapes = {"Input Dims": [[64, 32], [32, 16]], "Input type": ["signed char", "signed char"]}
    events = [
        torch_event("cpu_op", "aten::_int_mm", 1, 5, **{"External id": 11}, **shapes),
        torch_kernel("gemm", 10, 50, **{"External id": 11}),
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    (found,) = recognised(read(path).operations).matmuls
    case = case_of(found)
    assert case
    assert [case[1][f"{name}_dtype"] for name in ("weight", "activation", "compute")] == ["int8"] * 3
    assert case[1]["output_dtype"] == "int32"


def test_what_was_launched_before_the_capture_is_of_no_step(tmp_path):
    """The file needn't begin with its earliest event: a launch that it doesn't tell isn't at the time of its first."""
    events = [
        torch_event("cpu_op", "aten::mm", 60, 5),  # of another thread, in the midst of step 3
        torch_event("user_annotation", "ProfilerStep#3", 0, 100),
        torch_event("user_annotation", "ProfilerStep#4", 100, 100),
        torch_kernel("of_the_step_before", 10, 40, correlation=90),
    ]
    for n in (1, 2):
        events.append(torch_event("cuda_runtime", "cudaLaunchKernel", 100 * n - 90, 1, correlation=n))
        events.append(torch_kernel("gemm", 100 * n - 40, 30, correlation=n))
    path = tmp_path / "rank0.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    assert read(path).step_times == pytest.approx([30e-6, 30e-6])


def annotated(*names, around="", optimizer=False):
    """Five rounds of a ms, in each of which annotations of 200 us or 240 launch a kernel apiece of 150 us or 60."""
    events = [torch_event("user_annotation", around, 0, 5000)] if around else []
    for at, name in [(1000 * n + 250 * k, name) for n in range(5) for k, name in enumerate(names)]:
        events.append(torch_event("user_annotation", name, at + 10, 240 if name == "backward" else 200))
        events.append(torch_event("cuda_runtime", "cudaLaunchKernel", at + 20, 1, correlation=at))
        events.append(torch_kernel("gemm", at + 50, 60 if name in ("forward", "update") else 150, correlation=at))
        if optimizer and name == names[-1]:
            events.append(torch_event("user_annotation", "Optimizer.step#AdamW.step", at + 15, 100))
    return {"traceEvents": events}


@pytest.mark.parametrize("around", ["", "train_loop"])
def test_a_backward_pass_is_no_step(tmp_path, around):
    """A person's annotations of forward, backward and update are parts of a step, which the optimizer tells.

    From the first kernel of a forward pass to the last of the update that is 250 + 250 + 60 us, four times whole; most
    of their kernels' time is of the backward pass.
    """
    path = tmp_path / "a.json"
    path.write_text(json.dumps(annotated("forward", "backward", "update", around=around, optimizer=True)))
    assert read(path).step_times == pytest.approx([560e-6] * 4)


def test_steps_within_an_annotation_around_all_of_them(tmp_path):
    """What came once, as a benchmark, holds the steps; without such names it is one step, whatever repeats in it."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(annotated("train_step", around="benchmark")))
    assert read(path).step_times == pytest.approx([150e-6] * 5)
    path.write_text(json.dumps(annotated("attention", "mlp", around="model_inference")))
    assert read(path).step_times == pytest.approx([4400e-6])


def test_annotations_that_launch_the_work_are_steps(tmp_path):
    """The loading of data takes longer on the host, and launches nothing."""
    document = annotated("iteration")
    document["traceEvents"] += [torch_event("user_annotation", "load", 1000 * n + 300, 690) for n in range(5)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    assert read(path).step_times == pytest.approx([150e-6] * 5)


def test_what_comes_after_the_last_step_is_none(tmp_path):
    """PyTorch numbers what is behind its last call of step() as one more: a copy of the loss, of 2 us after 5 x 60."""
    events = []
    for n in range(6):
        name, lasts = ("gemm", 60) if n < 5 else ("Memcpy DtoH (Device -> Pageable)", 2)
        events.append(torch_event("user_annotation", f"ProfilerStep#{n}", 100 * n, 90))
        events.append(torch_event("cuda_runtime", "cudaLaunchKernel", 100 * n + 1, 1, correlation=n))
        events.append(torch_kernel(name, 100 * n + 10, lasts, correlation=n))
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    found = read(path)
    assert found.step_times == pytest.approx([60e-6] * 5)
    assert found.step_parts.span == pytest.approx(60e-6)
    assert found.notes == ("1 step at an end of the capture is cut off, and doesn't count",)
