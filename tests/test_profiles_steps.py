"""Which steps a profile has: those that the host marks, that the profiler derived, or that runs of a program are."""

from __future__ import annotations

import json

import pytest

from planner.profiles.reading import read
from tests.measure_encoder import Span
from tests.written_profiles import US, fusion, in_json, kernel, written


def test_marks_that_end_before_most_is_launched_are_no_steps(tmp_path):
    """JAX calls ahead: a mark of 10 us has the launch of a step's first kernel, of 20 us, and not of the next, of 60.

    The steps are the runs of the program then, of 80 us each.
    """
    kernels, launches, marks = [], [], []
    for n in range(4):
        marks.append(Span("train", 100 * n * US, 10 * US, {"step_num": n}))
        for k, (at, begin, lasts) in enumerate([(5, 20, 20), (30, 40, 60)]):
            ours = {"hlo_op": f"fusion.{k}", "hlo_module": "jit_step", "program_id": 3}
            kernels.append(kernel(f"fusion_{k}", 100 * n + begin, lasts, 2 * n + k, **ours))
            launches.append(Span("cuLaunchKernel", (100 * n + at) * US, US, {"correlation_id": 2 * n + k}))
    planes = {"/device:GPU:0": {"Stream #1": kernels}, "/host:CPU": {"python": marks, "launches": launches}}
    found = read(written(tmp_path / "h.xplane.pb", planes))
    assert (found.found, found.step_times) == ("module", pytest.approx([80e-6] * 4))


def test_steps_of_the_profilers_line_that_the_capture_cut_off_are_none(tmp_path):
    """A capture from 20 us before the end of step 10 until 30 us into step 14: three steps of 100 us count."""
    runs = [(10, 0, 20), (11, 20, 100), (12, 120, 100), (13, 220, 100), (14, 320, 30)]
    planes = {
        "/device:TPU:0": {
            "Steps": [Span(str(number), at * US, last * US) for number, at, last in runs],
            "XLA Modules": [Span("jit_f(1)", at * US, last * US) for _, at, last in runs],
            "XLA Ops": [fusion("fusion.1", at, last - 10) for _, at, last in runs],
        },
    }
    found = read(written(tmp_path / "h.xplane.pb", planes))
    assert [step.index for step in found.devices[0].steps] == [11, 12, 13]
    assert [round(each * 1e6) for each in (found.step_parts.compute, found.step_parts.gap)] == [90, 10]
    assert found.notes == ("2 steps at an end of the capture are cut off, and don't count",)


def test_trace_json_of_a_gpu_has_the_steps_that_the_host_marks(tmp_path):
    """A kernel is of the step in which it was launched, whenever it runs: steps of 30 us end with the next's first."""
    names = [
        {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "pid": 2, "tid": 13, "name": "thread_name", "args": {"name": "Stream #13(Compute)"}},
        {"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "/host:CPU"}},
    ]
    marks = [
        {"ph": "X", "pid": 7, "tid": 1, "ts": 10 * step, "dur": 9, "name": "train", "args": {"step_num": str(5 + step)}}
        for step in range(3)
    ]
    launches = [
        {"ph": "X", "pid": 7, "tid": 2, "ts": 10 * step + 2 + n, "dur": 0.5, "name": "cuLaunchKernel",
         "args": {"correlation_id": str(2 * step + n)}}
        for step in range(3) for n in range(2)
    ]  # fmt: skip
    kernels = [
        {"ph": "X", "pid": 2, "tid": 13, "ts": 100 + 30 * step + 20 * n, "dur": 8, "name": f"k{n}",
         "args": {"hlo_module": f"jit_part{n}", "hlo_op": "fusion.1", "correlation_id": str(2 * step + n)}}
        for step in range(3) for n in range(2)
    ]  # fmt: skip
    path = tmp_path / "x.trace.json"
    path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": [*names, *kernels, *marks, *launches]}))
    (device,) = read(path).devices
    assert [(step.index, step.found) for step in device.steps] == [(5, "marker"), (6, "marker"), (7, "marker")]
    assert [round(step.parts.compute * 1e6) for step in device.steps] == [16] * 3


def test_a_device_that_only_copied_has_no_steps(tmp_path):
    """Beside a device whose module repeats, one without any program isn't a step of its whole time."""
    run = [kernel("k", 10 * n, 5, n, hlo_op="fusion.1", hlo_module="jit_f", program_id=1) for n in range(3)]
    copy = {"Stream #1": [kernel("CopyDeviceToDevice", 0, 900, 9)]}
    found = read(written(tmp_path / "h.xplane.pb", {"/device:GPU:0": copy, "/device:GPU:1": {"Stream #1": run}}))
    assert [len(device.steps) for device in found.devices] == [0, 3]
    assert (found.found, found.step_times) == ("module", pytest.approx([5e-6] * 3))


def test_steps_that_the_profiler_derived_for_a_gpu(tmp_path):
    """TensorFlow up to 2.10 writes a line of steps into the file of a GPU whose kernels name no module."""
    kernels = [Span("k", at * US, 4 * US, {"correlation_id": at}) for at in (1, 6, 21, 26, 45)]
    steps = [Span("4", 0, 12 * US), Span("5", 20 * US, 12 * US)]
    device = {"/device:GPU:0": {"Stream #7(Compute)": kernels, "Steps": steps}}
    found = read(written(tmp_path / "a.xplane.pb", device))
    assert (found.found, [step.index for step in found.devices[0].steps]) == ("line", [4, 5])
    assert found.step_times == pytest.approx([9e-6, 9e-6])


@pytest.mark.parametrize(("lost", "cut"), [(0, 0), (3, 0), (0, 3), (5, 5), (7, 6)])
def test_a_capture_that_begins_within_a_run_of_a_gpu(tmp_path, lost, cut):
    """Six runs of eight kernels of 10 us, then 80 us of waiting: a run has none of it, wherever the capture begins."""
    kernels = [
        kernel(f"k{n}", 160 * run + 10 * n, 10, 8 * run + n, hlo_op=f"op.{n}", hlo_module="jit_f", program_id=3)
        for run in range(6)
        for n in range(lost if run == 0 else 0, 8 - cut if run == 5 else 8)
    ]
    found = read(written(tmp_path / "a.xplane.pb", {"/device:GPU:0": {"Stream #7(Compute)": kernels}}))
    assert found.found == "module"
    whole = [80e-6 - 10e-6 * each for each in (lost, 0, 0, 0, 0, cut)]
    assert found.step_times == pytest.approx([each for each in whole if each > 40e-6])


def on_host(name, begin, run):
    """An operation of XLA on the host's own processor, of 8 us and a run."""
    stats = {"hlo_op": name, "hlo_module": "jit_f", "program_id": 3, "run_id": run, "device_ordinal": 0}
    return Span(name, begin * US, 8 * US, stats)


@pytest.mark.parametrize("first", [7, -134847043])
def test_a_run_on_the_host_is_of_the_step_that_launched_it(tmp_path, first):
    """Two steps are launched at once and run later. A run's number may be below 0; the launch has it without a sign."""
    planes = {
        "/host:CPU": {
            "python": [
                *(Span("train", at * US, 4 * US, {"step_num": at}) for at in (0, 5)),
                *(Span("Execute", (5 * n + 1) * US, US, {"_pt": 5, "_p": (first + n) % (1 << 64)}) for n in range(2)),
            ],
            "pool": [on_host("dot.1", 20 + 10 * n, first + n) for n in range(2)],
        },
    }  # fmt: skip
    found = read(written(tmp_path / "h.xplane.pb", planes))
    assert (found.found, [step.index for step in found.devices[0].steps]) == ("marker", [0, 5])
    assert found.step_times == pytest.approx([8e-6, 8e-6])


def test_marks_that_end_before_what_they_launch_are_no_steps(tmp_path):
    """A CPU has no launches: marks of four steps within the first run of 8 us leave the other three runs out."""
    events = [
        {"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "/host:CPU"}},
        *(
            {"ph": "X", "pid": 7, "tid": 1, "ts": 2 * n, "dur": 1, "name": "train", "args": {"step_num": str(n)}}
            for n in range(4)
        ),
        *(
            {"ph": "X", "pid": 7, "tid": 2, "ts": 10 * n, "dur": 8, "name": "dot.1", "args": on_host("", 0, n).stats}
            for n in range(4)
        ),
    ]
    found = read(in_json(tmp_path, {"displayTimeUnit": "ns", "traceEvents": events}, "x.trace.json"))
    assert (found.found, found.step_times) == ("module", pytest.approx([8e-6] * 4))


def test_steps_are_the_marks_of_one_kind(tmp_path):
    """Evaluation is numbered as training is, and an epoch lies around both: what trains are the steps."""
    marks = [
        ("epoch 1", 0, 100, 1),
        *(("train", 10 * n, 9, n) for n in range(3)),
        ("eval", 40, 5, 0),
        ("eval", 50, 5, 1),
    ]
    planes = {
        "/host:CPU": {
            "python": [Span(name, at * US, long * US, {"step_num": number}) for name, at, long, number in marks],
            "pool": [on_host("dot.1", at + 1, 1 + n) for n, at in enumerate((0, 10, 20, 40, 50))],
        },
    }  # fmt: skip
    found = read(written(tmp_path / "h.xplane.pb", planes))
    assert [step.index for step in found.devices[0].steps] == [0, 1, 2]
    kernels = [kernel("gemm", at + 1, 8, n) for n, at in enumerate((0, 10, 20, 40, 50))]
    launches = [Span("cuLaunchKernel", each.offset_ps, US, each.stats) for each in kernels]
    planes = {"/device:GPU:0": {"Stream #1": kernels}, "/host:CPU": planes["/host:CPU"] | {"pool": launches}}
    found = read(written(tmp_path / "g.xplane.pb", planes))
    assert [step.index for step in found.devices[0].steps] == [0, 1, 2]


def test_steps_whose_numbers_come_again_are_each_one(tmp_path):
    """Steps of two epochs that are numbered alike: all of them count, in their order."""
    planes = {
        "/device:TPU:0": {
            "Steps": [Span(name, 20 * n * US, 10 * US) for n, name in enumerate(("0", "1", "0", "1"))],
            "XLA Ops": [fusion("fusion.1", 20 * n, 10) for n in range(4)],
        },
    }  # fmt: skip
    found = read(written(tmp_path / "h.xplane.pb", planes))
    assert [step.index for step in found.devices[0].steps] == [0, 1, 2, 3]
    assert found.step_times == pytest.approx([10e-6] * 4)


def test_steps_that_are_runs_of_any_program_are_those_of_the_main_one(tmp_path):
    """Without marks of a person a step is marked for each call: also for the mean of a loss after each step.

    Where one step holds both runs, it is a person's, and is kept as it is marked.
    """
    calls = [
        (name, 100 * n + at, long)
        for n in range(4)
        for name, at, long in (("jit_step(1)", 0, 60), ("jit_mean(2)", 70, 2))
    ]
    modules = [Span(name, at * US, long * US) for name, at, long in calls]
    ops = [fusion("fusion.1", at, long) for _, at, long in calls]
    once = [Span("9", 900 * US, 500 * US)]  # what ran a single time, however long
    each = [Span(str(n), at * US, long * US) for n, (_, at, long) in enumerate(calls)]
    both = [Span(str(n), 100 * n * US, 75 * US) for n in range(4)]
    for steps, indices, seconds in ((each, [0, 2, 4, 6], [60e-6] * 4), (both, [0, 1, 2, 3, 9], [75e-6] * 4 + [500e-6])):
        planes = {
            "/device:TPU:0": {
                "Steps": steps + once,
                "XLA Modules": [*modules, Span("jit_save(3)", 900 * US, 500 * US)],
                "XLA Ops": ops,
            }
        }
        found = read(written(tmp_path / "h.xplane.pb", planes))
        assert [step.index for step in found.devices[0].steps] == indices
        assert found.step_times == pytest.approx(seconds)
        assert found.stepping == ("jit_step(1)" if steps is each else "")
    kernels = [
        kernel("k", at, long, n, hlo_op="fusion.1", hlo_module=name.partition("(")[0], program_id=int(name[-2]))
        for n, (name, at, long) in enumerate(calls)
    ]
    planes = {"/device:GPU:0": {"Stream #1": kernels, "Steps": each}}
    found = read(written(tmp_path / "g.xplane.pb", planes))
    assert [step.index for step in found.devices[0].steps] == [0, 2, 4, 6]
    assert found.step_times == pytest.approx([60e-6] * 4)
