"""Files that are no profile, or a damaged one: one clear line each. And what of a folder is read."""

from __future__ import annotations

import gzip
import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.errors import UserError
from planner.profiles.profile_files import named
from planner.profiles.reading import read
from tests.measure_encoder import Span, space
from tests.written_profiles import in_json

SPANS = [
    Span(f"%fusion.{n} = f32[8,4]{{1,0}} dot(f32[8,2]{{1,0}} %a, f32[2,4]{{1,0}} %b)", n * 9, 5, {"run_id": 3})
    for n in range(9)
]
PLANES = space(
    {"/device:TPU:0": {"XLA Modules": [Span("jit_f(1)", 0, 99)], "XLA Ops": SPANS}}, {"device_type_string": "TPU v4"}
)
STREAMS = space({
    "/device:GPU:0": {"Stream #1": [Span("k", 5, 9, {"correlation_id": 1, "hlo_op": "dot.1", "hlo_module": "jit_f"})]},
    "/host:CPU": {"python": [Span("s", 0, 9, {"step_num": 1}), Span("l", 1, 1, {"correlation_id": 1})]},
    "/host:metadata": {"x": []},
})  # fmt: skip
THREADS = space({"/host:CPU": {"t": [
    Span("dot.1", 1, 2, {"hlo_op": "dot.1", "hlo_module": "f", "run_id": 1, "device_ordinal": 0, "_p": 7}),
    Span("end: dot.1", 5, 2, {"_c": 7}),
]}})  # fmt: skip
TRACE = json.dumps({"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "k", "ts": 1.5, "dur": 2, "pid": 0, "args": {"device": 0, "correlation": 1}},
    {"ph": "X", "cat": "cuda_runtime", "name": "l", "ts": 1.0, "dur": 1, "pid": 1, "args": {"correlation": 1}},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0.5, "dur": 9, "pid": 1},
]}).encode()  # fmt: skip
ROCPROF = json.dumps({"traceEvents": [
    {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "2 CPU HIP API"}},
    {"ph": "M", "pid": 6, "name": "process_name", "args": {"name": "6 GPU0"}},
    {"ph": "X", "pid": 6, "tid": 0, "name": "gemm", "ts": "1201478076", "dur": "47", "args": {
        "BeginNs": "1201478076289", "EndNs": "1201478123289", "dev-id": "0", "DurationNs": "47000"}},
]}).encode()  # fmt: skip


def refused(path) -> str:
    """The line that a file or folder is refused with."""
    with pytest.raises(UserError) as error:
        read(path)
    assert "\n" not in error.value.line()
    return error.value.line()


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("empty.xplane.pb", b"", "the file is empty"),
        ("empty.trace.json.gz", gzip.compress(b"", mtime=0), "the file is empty"),
        ("text.xplane.pb", b"hello, world", "this is text, and no profile"),
        ("vllm.txt", b"== Serving Benchmark Result ==\nOutput token throughput (tok/s):  2456.80\n", "planner record"),
        ("llama.csv", b'"build_commit","avg_ts"\n"x","100.0"\n', "this is a result of llama-bench, and no profile"),
        (
            "megatron.log",
            b" [2026-01-01 00:00:00] iteration 10/ 500 | elapsed time per iteration (ms): 6012.3 |\n",
            "this is a log of training, and no profile; planner record writes the time that it tells",
        ),
        (
            "titan.log",
            b"\x1b[34m[titan] 2026-01-01 - root - INFO - step: 10  tps: 7,120\x1b[39m\n",
            "a log of training",
        ),
        ("titan.log", b"[rank0]:[titan] step: 10  tps: 7,120", "a log of training"),
        ("maxtext.log", b"completed step: 10, seconds: 4.123, TFLOP/s/device: 250.1\n", "a log of training"),
        ("bench.jsonl", b'{"backend": "sglang", "mean_ttft_ms": 90.1}\n{"mean_ttft_ms": 91}\n', "a benchmark's result"),
        (
            "genai.csv",
            b"Metric,avg,min\nTime To First Token (ms),100,90\n",
            "a benchmark's result, and no profile; planner",
        ),
        ("mlperf_log_detail.txt", b':::MLLOG {"key": "loadgen_version"}\n', "a log of MLPerf"),
        (
            "table.txt",
            b"------\n  Name    Self CPU %      Self CPU\n------\n",
            "key_averages(), which adds all steps up",
        ),
        (
            "stats.txt",
            b"\n ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\n",
            "what nsys prints, and no profile; give the",
        ),
        ("ncu.csv", b"==PROF== Connected to process 12\n", "what Nsight Compute prints"),
        ("x.csv", b"Start(nsec),Duration(nsec),CorrId\n1,2,3\n", "a table of Nsight Systems"),
        ("hip.csv", b'"Domain","Function","Start_Timestamp","End_Timestamp"\n', "a table of rocprof"),
        (
            "kernel_stats.json",
            b'{"cols": [{"id": "registers_per_thread"}], "rows": []}',
            "the tool kernel_stats' table",
        ),
        (
            "begins.json",
            b'{"traceEvents": [{"ph": "B", "cat": "kernel", "ts": 1, "args": {"registers per thread": 32}}]}',
            "this trace has no event with a time of its own",
        ),
        ("twice.json.gz", gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0), "this is packed with gzip twice"),
        (
            "memory.json",
            b'{"memoryProfilePerAllocator": {"0": {}}}',
            "a table of memory, and no profile; give the .xplane",
        ),
        ("pod.json", b'{"podStatsSequence": {"podStatsMap": []}}', "the tool pod_viewer's table"),
        ("neuron.json", b'{"summary": [{"tensor_engine_active_time": 0.1}]}', "what neuron-profile writes"),
        ("snapshot.pickle", b"\x80\x04\x95\x10\x00}", "a pickle of Python"),
        ("memory.prof", gzip.compress(b"\x0a\x04\x08\x01\x10\x02", mtime=0), "a profile of pprof, as JAX's of memory"),
        ("old.nsys-rep", b"\x1f\x8b\x00QUADD", "a report of Nsight Systems"),
        (
            "trace_view.json",
            b'[{"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "Ascend Hardware"}}, '
            b'{"ph": "X", "pid": 3, "tid": 2, "name": "MatMulV2", "ts": "5.1", "dur": 9, "args": {}}, '
            b'{"ph": "X", "pid": 1, "tid": 1, "cat": "cpu_op", "name": "aten::mm", "ts": "4.1", "dur": 1, "args": {}}]',
            "a trace of Ascend's profiler, which isn't read",
        ),
        ("trainer.log", b"{'loss': 2.1, 'epoch': 0.1}\n", "this is a log of training, and no profile"),
        ("vllm.json", b'{"output_throughput": 2456.8}', "planner record"),
        ("cut.xplane.pb", PLANES[:-40], "cut short"),
        ("cut.xplane.pb.gz", gzip.compress(PLANES, mtime=0)[:-20], "ends in the middle"),
        ("cut.trace.json.gz", gzip.compress(TRACE * 99, mtime=0)[:-20], "ends in the middle"),
        ("cut.trace.json", TRACE[:-30], "the file ends in the middle"),
        ("damaged.trace.json.gz", gzip.compress(TRACE, mtime=0)[:12] + b"\x00" * 60, "damaged"),
        ("two.trace.json", TRACE + b"\n" + TRACE, "comes '{\"traceEvent': are these several files in one?"),
        (
            "two.trace.json.gz",
            gzip.compress(TRACE, mtime=0) * 2,
            "are these several files in one?; give each as it was",
        ),
        (
            "two.xplane.pb",
            PLANES * 2,
            "/device:TPU:0 stands in it twice: are these several files in one?; give each as",
        ),
        ("two.xplane.pb.gz", gzip.compress(PLANES, mtime=0) * 2, "stands in it twice: are these several files"),
        ("metrics.jsonl", b'{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2.4}\n', "this is JSON line by line"),
        ("other.json", b'{"a": [1, 2]}', "this JSON is no profile"),
        ("list.json", b"[1, 2, 3]", "this JSON is no profile"),
        ("wrong.json", b'{"traceEvents": [{"ph": "X"], "metadata": {"more": 1}}', "not JSON"),
        ("none.trace.json", b'{"traceEvents": []}', "this trace has no event"),
        ("table.json", b'{"cols": [{"id": "x"}], "rows": []}', "this JSON is no profile"),
        ("archive.pb", b"PK\x03\x04" + b"\x00" * 40, "unpack it"),
        (
            "mine.xlsx",
            b"PK\x03\x04" + b"\x00" * 40,
            "this is a workbook, and no profile; planner fit, report and show read it; a profile is put into it with "
            "planner ingest PROFILE --into mine.xlsx",
        ),
        ("archive.trace.json.gz", gzip.compress(b"a".ljust(257, b"\x00") + b"ustar\x0000", mtime=0), "tar archive"),
        ("page.xplane.pb", b"\n\n<!DOCTYPE html>\n<html lang=en>", "a web page"),
        ("pointer.xplane.pb", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "Git LFS"),
        ("text.xplane.pb.1", PLANES.decode("utf-8", "replace").encode() + "\ufffd".encode() * 5, "copied as text"),
        ("trace.nsys-rep.sqlite", b"SQLite format 3\x00", "database"),
        ("a.xplane.pb.zst", b"\x28\xb5\x2f\xfd\x04", "zstd"),
        ("host.overview_page.pb", b"\x0a\x04\x08\x01\x10\x02", "the tool overview_page"),
        ("jit_f.hlo_proto.pb", b"\x0a\x04\x08\x01\x10\x02", "a compiled program"),
        ("trace.perfetto-trace", b"\x0a\x02\x40\x01" * 9, "a trace of Perfetto"),
        ("perfetto-trace-4711.proto", b"\x0a\x02\x40\x01" * 9, "a trace of Perfetto"),
        ("events.parquet", b"PAR1\x15\x04" * 9, "a table in Parquet"),
        ("run.nsys-rep", b"QDSS\x00\x01\x02", "a report of Nsight Systems"),
        (
            "x_cuda_gpu_kern_sum.csv",
            b"Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Name\n9.9,1,1,1,1,k\n",
            "a table of Nsight Systems, which isn't read: it has no steps, operators or shapes; give the trace of",
        ),
        (
            "x_cuda_gpu_trace.csv",
            b"Start (ns),Duration (ns),CorrId,GrdX,Name\n1,2,3,1,k\n",
            "a table of Nsight Systems",
        ),
        (
            "x_nvtx_sum.json",
            b'[{"Time (%)": 9.9, "Total Time (ns)": 1, "Range": ":step"}]',
            "a table of Nsight Systems",
        ),
        ("kernel_trace.csv", b'"Kind","Agent_Id","Queue_Id","Kernel_Name"\n"KERNEL_DISPATCH",4,1,"k"\n', "of rocprof"),
        ("kernel_stats.csv", b'"Name","Calls","TotalDurationNs","AverageNs"\n"k",1,100,100\n', "a table of rocprof"),
        ("ncu.csv", b'"ID","Process ID","Process Name","Metric Value"\n"0","1","python","2"\n', "of Nsight Compute"),
        ("utf16.trace.json", '{"traceEvents": []}'.encode("utf-16"), "text in UTF-16"),
        ("deep.json", b'{"traceEvents": ' + b"[" * 100_000, "nested too deeply"),
        ("results.json", ROCPROF, "this is what rocprof writes"),
        ("1_results.json", b'{"rocprofiler-sdk-tool": [{"buffer_records": {"hip_api": []}}]}', "rocprof writes"),
        ("host.xplane.pb", space({"/host:CPU": {"python": [Span("f", 0, 5)]}}), "no device ran anything"),
        ("host.trace.json", b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "ts": 1}]}', "no device ran anything"),
    ],
)
def test_one_line_says_what_to_do(tmp_path, name, data, says):
    """Empty, cut short, damaged, of another format, without devices: the file, what is wrong, and what to do."""
    path = tmp_path / name
    path.write_bytes(data)
    line = refused(path)
    assert line.startswith(str(path))
    assert says in line
    assert ";" in line


def test_zeros_behind_a_trace_are_no_second_one(tmp_path):
    """A file system may have filled the file up with them."""
    path = tmp_path / "filled.trace.json"
    path.write_bytes(TRACE + b"\n" + b"\0" * 40)
    assert len(read(path).step_times) == 1


def test_folders(tmp_path):
    """A folder without a profile and a path that isn't there are refused; a gzipped .pb is read as it is unpacked."""
    assert "no profile in this folder" in refused(tmp_path)
    assert "no such file" in refused(tmp_path / "nothing")
    (tmp_path / "a.xplane.pb.gz").write_bytes(gzip.compress(PLANES))
    (tmp_path / "b.xplane.pb").write_bytes(PLANES)
    packed, plain = read(tmp_path / "a.xplane.pb.gz"), read(tmp_path / "b.xplane.pb")
    assert (packed.device, packed.hosts) == ("TPU v4", ("a",))
    assert packed.devices[0].operations == plain.devices[0].operations


def test_a_trace_twice_under_two_names_is_refused(tmp_path):
    """A copy is no second host, packed or not: one line names both files. Another capture beside it is."""
    (tmp_path / "a.xplane.pb.gz").write_bytes(gzip.compress(PLANES))
    (tmp_path / "b.xplane.pb").write_bytes(PLANES)
    assert "a.xplane.pb.gz and b.xplane.pb are the same trace, so of no two hosts; " in refused(tmp_path)
    (tmp_path / "b.xplane.pb").write_bytes(space({"/device:TPU:0": {"XLA Ops": SPANS[1:]}}))
    assert len(read(tmp_path).devices) == 2


def test_the_newest_capture_of_a_worker(tmp_path):
    """PyTorch's handler writes a file for each cycle of a worker: the newest of each is read."""
    for worker in ("host_12", "host_13"):
        for time in (1700000000000, 1700000009000):
            (tmp_path / f"{worker}.{time}.pt.trace.json").write_bytes(TRACE.replace(b"2,", worker[-1:].encode() + b","))
    assert [Path(path).name for path in read(tmp_path).paths] == [
        "host_12.1700000009000.pt.trace.json", "host_13.1700000009000.pt.trace.json",
    ]  # fmt: skip


def test_a_trace_is_found_beside_a_checkpoint(tmp_path):
    """torchtitan names a rank's trace rank0_trace.json; its checkpoints have newer JSON. Copies are of one time."""
    for n, iteration in enumerate((20, 100)):
        for rank in range(2):
            place = tmp_path / "profile_traces" / f"iteration_{iteration}" / f"rank{rank}_trace.json"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(TRACE.replace(b"2,", b"%d%d," % (rank + 2, n)))
            os.utime(place, (1, 1))
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "config.json").write_text('{"hidden_size": 8}')
    found = read(tmp_path)
    assert [Path(path).name for path in found.paths] == ["rank0_trace.json", "rank1_trace.json"]
    assert found.notes[0] == "2 files of other runs beside it not read: this is the newest, iteration_100"


@pytest.mark.parametrize("folder", ["rank{n}", "rank_{n}", "worker-{n}", "global_rank{n}"])
def test_a_folder_for_each_rank_is_one_run(tmp_path, folder):
    """Traces of one name, each in the folder of its rank, are of one run, beside which an older one is left."""
    for run in ("step_10", "step_20"):
        for rank in range(2):
            place = tmp_path / run / folder.format(n=rank)
            place.mkdir(parents=True)
            (place / "trace.json").write_bytes(TRACE.replace(b"2,", b"%d," % (rank + 2)))
    os.utime(tmp_path / "step_10" / folder.format(n=1) / "trace.json", (1, 1))
    found = read(tmp_path)
    assert [named(Path(path)) for path in found.paths] == [f"{folder.format(n=n)}/trace.json" for n in range(2)]
    assert found.hosts == tuple(f"{folder.format(n=n)}/trace" for n in range(2))
    assert len(found.notes) == 1
    assert found.notes[0].startswith("2 files of other runs beside it not read: this is the newest, step_20")


@settings(
    max_examples=3 * settings().max_examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_damage_is_one_line(tmp_path, data):
    """Bytes cut off, changed, put in or left out anywhere: a profile or one line, never another error."""
    whole = data.draw(st.sampled_from([PLANES, STREAMS, THREADS, TRACE, gzip.compress(TRACE)]))
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(damaged) - 1, 0)))
        match data.draw(st.sampled_from(["cut", "change", "insert", "drop"])):
            case "cut":
                del damaged[at:]
            case "change" if damaged:
                damaged[at] = data.draw(st.integers(0, 255))
            case "insert":
                damaged[at:at] = data.draw(st.binary(min_size=1, max_size=9))
            case _:
                del damaged[at : at + 3]
    path = tmp_path / "damaged.xplane.pb"
    path.write_bytes(bytes(damaged))
    with suppress(UserError):  # whose line is one by its making
        assert read(path).devices


ODD = [None, -1, 1e308, -1e308, -(2**70), float("nan"), float("inf"), "", "x", [], {}, [1], True, 2**70, "9" * 400]
WHOLE = {
    "torch": json.loads(TRACE)["traceEvents"],
    "xla": [
        {"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "/device:TPU:0"}},
        {"ph": "M", "pid": 3, "tid": 1, "name": "thread_name", "args": {"name": "XLA Ops"}},
        {"ph": "X", "pid": 3, "tid": 1, "name": "fusion.1", "ts": 1.0, "dur": 2.0, "args": {"run_id": 1}},
        {"ph": "X", "pid": 3, "tid": 1, "name": "fusion.2", "ts": 3.0, "dur": 2.0,
         "args": {"run_id": 1, "device_offset_ps": "5", "device_duration_ps": "2", "device_ordinal": "0"}},
    ],
}  # fmt: skip


@settings(
    max_examples=3 * settings().max_examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_any_value_of_an_event_is_a_profile_or_one_line(tmp_path, kind, data):
    """Numbers without end, lists, objects and texts wherever an event has a number or a name."""
    events = json.loads(json.dumps(WHOLE[kind]))
    for _ in range(data.draw(st.integers(1, 3))):
        event = data.draw(st.sampled_from(events))
        args = event.get("args")
        place = data.draw(st.sampled_from([event, args])) if isinstance(args, dict) and args else event
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(st.sampled_from(ODD))
    described = {key: data.draw(st.sampled_from([*ODD, {"rank": 0, "world_size": 2**80}]))
                 for key in ("distributedInfo", "deviceProperties", "baseTimeNanoseconds")}  # fmt: skip
    path = in_json(tmp_path, described | {"traceEvents": events}, "odd.trace.json")
    with suppress(UserError):
        assert read(path).devices
