"""Ranks of one run: a trace of each, one that is merged of several, and what is no one run."""

from __future__ import annotations

import json

import pytest

from planner.errors import UserError
from planner.profiles.reading import read
from tests.test_profiles_torch import torch_event, torch_kernel


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
