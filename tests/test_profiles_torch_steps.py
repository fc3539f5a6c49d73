"""Steps of PyTorch's traces (Kineto): by its own numbers, by a person's or a server's marks, and by its optimizer."""

from __future__ import annotations

import json

import pytest

from planner.ingest.first_page import PlannedStep, between_steps, lines
from planner.ingest.operation_rows import Peaks
from planner.profiles.reading import read
from tests.commands import command
from tests.test_profiles_torch import torch_event, torch_kernel
from tests.workbooks import write_small
from tests.written_profiles import in_json


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
    path = in_json(tmp_path, events)  # a plain list, as Chrome's format allows
    found = read(path)
    assert (found.found, found.step_times) == ("marker", pytest.approx([10e-6] * 3))


@pytest.mark.parametrize(("each", "expected"), [(1, [10] * 8), (2, [110] * 3), (4, [310]), (8, [10] * 8)])
def test_microbatches_are_no_steps(tmp_path, each, expected):
    """Eight marks, 100 us apart, with a kernel of 10 us each; the optimizer is called in each, or each 2nd, 4th or 8th.

    A step then lasts from the kernel of its first microbatch to that of its last; before the first call there may be
    others. Asked for, the marks themselves are the steps, and where no whole step was captured, which a line says.
    """
    events = []
    for n in range(8):
        events += [
            torch_event("user_annotation", f"ProfilerStep#{n}", 100 * n, 99),
            torch_event("cuda_runtime", "cudaLaunchKernel", 100 * n + 10, 1, correlation=n),
            torch_kernel("gemm", 100 * n + 20, 10, correlation=n),
        ]
        if n % each == each - 1:
            events.append(torch_event("user_annotation", "Optimizer.step#AdamW.step", 100 * n + 60, 20))
    path = in_json(tmp_path, {"traceEvents": events})
    found = read(path)
    assert found.step_times == pytest.approx([time * 1e-6 for time in expected])
    assert [note.startswith("a.json: the optimizer is called in one of 8") for note in found.notes] == [True] * (
        each > 4
    )
    assert read(path, asked="ProfilerStep").step_times == pytest.approx([10e-6] * 8)


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
    found = read(in_json(tmp_path, events))
    assert (found.found, found.step_times) == ("marker", pytest.approx([66e-6, 67e-6, 68e-6]))
    assert found.step_name == "from one Optimizer.step#Adam.step to the next"  # as the first line says


def test_the_time_between_steps_is_told(tmp_path):
    """A host that takes 100 us for each step, of whose kernels the device is busy for 30: its steps are no faster."""
    events = []
    for n in range(4):
        events += [
            torch_event("user_annotation", f"ProfilerStep#{n}", 100 * n, 90),
            torch_event("cuda_runtime", "cudaLaunchKernel", 100 * n + 1, 1, correlation=n),
            torch_kernel("gemm", 100 * n + 10, 30, correlation=n),
        ]
    path = in_json(tmp_path, {"traceEvents": events})
    found = {line.label: line for line in lines(read(path), None, Peaks(None, None))}
    assert found["Step time"].measured == pytest.approx(30e-6)
    assert found["From step to step"].measured == pytest.approx(100e-6)
    assert between_steps(read(path)).startswith("100 us from step to step, 70 % of it between them: ")


@pytest.fixture
def overlapping(tmp_path):
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
    return in_json(tmp_path, {"traceEvents": events})


def test_steps_that_overlap_on_the_device_are_told(overlapping):
    """Beside the time that each lasts stands that from step to step, and a line says which a run's is."""
    path = overlapping
    found = {line.label: line for line in lines(read(path), None, Peaks(None, None))}
    assert [found[name].measured for name in ("Step time", "From step to step")] == pytest.approx([140e-6, 100e-6])
    assert found["From step to step"].note.endswith("to the end of the next: they overlap on the device")
    assert found["Largest waste"].note == "no operation has FLOPs or bytes: PyTorch's trace has none of kernels"
    assert (
        between_steps(read(path)) == "steps overlap: each lasts 140 us, and one ends every 100 us, as fast as a run is"
    )


def test_a_run_of_overlapping_steps_takes_what_it_takes_from_step_to_step(overlapping, tmp_path):
    """The plan expects how often a step ends: so says the run beside it, and its MFU. A first token waits for all of
    its step."""
    at = PlannedStep("Step", 50e-6, mfu=0.4, is_paced=True)
    found = {line.label: line for line in lines(read(overlapping), at, Peaks(None, None))}
    assert (found["Step time"].plan, found["From step to step"].plan) == (None, 50e-6)
    assert found["MFU on the plan's FLOPs"].measured == pytest.approx(0.4 * 50 / 100)
    for template, of, said in (("training", (), ": Step 100 us, "), ("inference", ("--of", "ttft"), " load 140 us, ")):
        path = tmp_path / f"{template}.xlsx"
        write_small(path, ["llama3-8b"], ["tpu-v5p"], [template])
        assert said in command("ingest", overlapping, "--into", path, "--device", "tpu-v5p", *of)


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
    path = in_json(tmp_path, {"schemaVersion": 1, "traceEvents": events}, "rank0.json")
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
    path = in_json(tmp_path, annotated("forward", "backward", "update", around=around, optimizer=True))
    assert read(path).step_times == pytest.approx([560e-6] * 4)


def test_steps_within_an_annotation_around_all_of_them(tmp_path):
    """What came once, as a benchmark, holds the steps; without such names it is one step, whatever repeats in it."""
    path = in_json(tmp_path, annotated("train_step", around="benchmark"))
    assert read(path).step_times == pytest.approx([150e-6] * 5)
    path.write_text(json.dumps(annotated("attention", "mlp", around="model_inference")))
    assert read(path).step_times == pytest.approx([4400e-6])


def test_annotations_that_launch_the_work_are_steps(tmp_path):
    """The loading of data takes longer on the host, and launches nothing."""
    document = annotated("iteration")
    document["traceEvents"] += [torch_event("user_annotation", "load", 1000 * n + 300, 690) for n in range(5)]
    assert read(in_json(tmp_path, document)).step_times == pytest.approx([150e-6] * 5)


def test_what_comes_after_the_last_step_is_none(tmp_path):
    """PyTorch numbers what is behind its last call of step() as one more: a copy of the loss, of 2 us after 5 x 60."""
    events = []
    for n in range(6):
        name, lasts = ("gemm", 60) if n < 5 else ("Memcpy DtoH (Device -> Pageable)", 2)
        events.append(torch_event("user_annotation", f"ProfilerStep#{n}", 100 * n, 90))
        events.append(torch_event("cuda_runtime", "cudaLaunchKernel", 100 * n + 1, 1, correlation=n))
        events.append(torch_kernel(name, 100 * n + 10, lasts, correlation=n))
    found = read(in_json(tmp_path, {"traceEvents": events}))
    assert found.step_times == pytest.approx([60e-6] * 5)
    assert found.step_parts.span == pytest.approx(60e-6)
    assert found.notes == ("1 step at an end of the capture is cut off, and doesn't count",)
