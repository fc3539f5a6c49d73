"""Ranks of one run: a trace of each, one that is merged of several, and what is no one run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.errors import UserError
from planner.ingest import first_page
from planner.ingest.chips import Chip, chips_of
from planner.ingest.operation_rows import Peaks
from planner.profiles.reading import read
from tests.test_profiles_torch import torch_event, torch_kernel
from tests.written_profiles import in_json


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
    assert [Path(path).name for path in found.paths] == ["trace_rank0.json", "trace_rank1.json"]


def test_two_captures_of_one_process_are_no_two_ranks(tmp_path):
    """As PyTorch's recipe writes them, trace_4.json and trace_8.json; those of another process would be of a rank."""
    for step, process in ((4, 812), (8, 812), (9, 813)):
        at = 1000 * step
        events = [
            torch_event("user_annotation", f"ProfilerStep#{step}", at, 50),
            {**torch_event("cuda_runtime", "cudaLaunchKernel", at + 2, 1, correlation=1), "pid": process},
            torch_kernel("gemm", at + 10, 10, correlation=1),
        ]
        document = {"baseTimeNanoseconds": 1_700_000_000_000_000_000, "traceEvents": events}
        (tmp_path / f"trace_{step}.json").write_text(json.dumps(document))
    with pytest.raises(UserError, match=r"trace_4\.json and trace_8\.json are of one process") as error:
        read(tmp_path / "trace_4.json", tmp_path / "trace_8.json")
    assert error.value.remedy == "give the files of one capture"
    assert len(read(tmp_path / "trace_8.json", tmp_path / "trace_9.json").devices) == 2


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
    found = read(in_json(tmp_path, merged(*((f"{each} 812", f"{each} 0") for each in ranks)), "merged-1.trace.json"))
    assert found.hosts == tuple(each.strip("[]:") for each in ranks)
    assert [(device.name, round(device.busy * 1e6)) for device in found.devices] == [("GPU 0", 20), ("GPU 0", 20)]
    assert found.step_times == pytest.approx([20e-6])


def test_a_merged_trace_without_ranks_is_refused(tmp_path):
    """Launches of two processes: whose a kernel is, is not told, and one line says what to give instead."""
    path = in_json(tmp_path, merged((812, 0), (813, 0)), "merged.json")
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
    path = in_json(tmp_path, {"traceEvents": two_ranks(is_launched=is_launched)}, "merged.json")
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
    path = in_json(tmp_path, {"traceEvents": events}, "merged.json")
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
    path = in_json(tmp_path, {"traceEvents": events})
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
    (device,) = read(in_json(tmp_path, {"traceEvents": events})).devices
    assert device.parts.communication == pytest.approx(20 * 10e-6)


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


def replica(path, rank, size, begin, kernels):
    """Write a rank's trace, `begin` in seconds: three steps a millisecond apart, of a kernel of some us in each."""
    events = []
    for n, time in enumerate(kernels):
        events += [
            torch_event("user_annotation", f"ProfilerStep#{n}", 1000 * n, 500),
            torch_event("cuda_runtime", "cudaLaunchKernel", 1000 * n + 2, 1, correlation=n),
            torch_kernel("gemm", 1000 * n + 10, time, correlation=n),
        ]
    told = {"distributedInfo": {"rank": rank, "world_size": size}, "baseTimeNanoseconds": int((17e8 + begin) * 1e9)}
    path.write_text(json.dumps({**told, "traceEvents": events}))


@pytest.mark.parametrize("name", ["dp{}_pp0_tp0_rank0.17{}.pt.trace.json", "1759.5-TP-0-DP-{}.trace.json", "{}.json"])
def test_replicas_of_a_model_are_samples_of_one_step(tmp_path, name):
    """Engines of data parallelism, each a rank 0 of 1: by their names, or because they ran at the same time.

    Steps of 10, 30 and 50 us beside 20, 40 and 60: six samples, whose median is 35 us. As devices of one step they
    would be three, of 40. A chip is what one replica has.
    """
    for number, kernels in enumerate(((10, 30, 50), (20, 40, 60))):
        replica(tmp_path / name.format(number, number), 0, 1, 0.001 * number, kernels)
    found = read(tmp_path)
    assert sorted(found.step_times) == pytest.approx([each * 1e-6 for each in (10, 20, 30, 40, 50, 60)])
    assert len(set(found.hosts)) == 2
    assert "2 replicas of the model" in found.notes[0]
    chips = chips_of(found, Chip("h100-sxm", "unknown", row={"kind": "gpu"}))
    assert (chips.count, chips.why) == (1, "2 replicas of 1 chip")
    (step,) = (line for line in first_page.lines(found, None, Peaks(None, None)) if line.label == "Step time")
    assert step.note == "median of 6 steps: marked in the profile"


def test_the_newest_capture_of_a_server_without_its_merged_trace(tmp_path):
    """SGLang's folder: an older capture of both ranks, and of the newest also what it merged of them."""
    for time, lasts in (("1759130995.3223403", 10), ("1759131995.1", 20)):
        for rank in range(2):
            replica(tmp_path / f"{time}-TP-{rank}.trace.json", rank, 2, 0.0, [lasts + rank])
    (tmp_path / "merged-1759131995.1.trace.json").write_text(json.dumps(merged(("[TP00] 812", 0), ("[TP01] 813", 0))))
    found = read(tmp_path)
    assert [Path(path).name for path in found.paths] == [f"1759131995.1-TP-{rank}.trace.json" for rank in range(2)]
    assert (found.hosts, found.step_times) == (("rank 0", "rank 1"), pytest.approx([21e-6]))
    assert found.notes[0].startswith("2 files of other runs beside it not read: this is the newest")


def test_replicas_of_two_ranks_each_take_the_slower_rank(tmp_path):
    """Ranks 0 and 1 of two replicas, told by their names: each step is as long as on the rank that takes longest."""
    for number in range(2):
        for rank in range(2):
            path = tmp_path / f"dp{number}_pp0_tp{rank}_rank{rank}.1.pt.trace.json"
            replica(path, rank, 2, 0.0, [10 + 20 * number + 5 * rank + n for n in range(3)])
    found = read(tmp_path)
    assert sorted(found.step_times) == pytest.approx([each * 1e-6 for each in (15, 16, 17, 35, 36, 37)])
    assert chips_of(found, Chip("h100-sxm", "unknown", row={"kind": "gpu"})).count == 2


def test_one_rank_that_was_captured_twice_is_no_replica(tmp_path):
    """Captures one after the other are of one process; of two ranks it isn't told which belong together."""
    replica(tmp_path / "a.json", 0, 1, 0.0, (10, 30, 50))
    replica(tmp_path / "b.json", 0, 1, 5.0, (20, 40, 60))
    replica(tmp_path / "c.json", 0, 2, 0.001, (20, 40, 60))
    replica(tmp_path / "d.json", 0, 2, 0.002, (25, 45, 65))
    for one, other in (("a", "b"), ("c", "d")):
        with pytest.raises(UserError, match="are both of rank 0"):
            read(tmp_path / f"{one}.json", tmp_path / f"{other}.json")
