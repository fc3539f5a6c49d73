"""Identifies files that are not readable profiles by name and first bytes, and says what to provide instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from planner.regularfile import not_fetched
from planner.run_logs import recognized

GIVE = "give the .xplane.pb or the .trace.json.gz of the run"
_OWN = "give the trace of PyTorch's profiler (export_chrome_trace) or JAX's .xplane.pb of the run"
_RECORD = (
    "planner record writes the time that it tells into a workbook: --time 6.4s, --tokens-per-second N or --mfu 41%"
)
_ROCPROF = "rocprofiler-sdk-tool"  # the top-level key of rocprofv3's JSON
_ROCPROF_LANE = re.compile(r"(?:\d+ )?(?:CPU (?:HIP|HSA|KFD) API|GPU\d+)$")  # process names in older versions' traces
_ZIP, _WORKBOOKS = b"PK\x03\x04", (".xlsx", ".xlsm")
_OF_WORKBOOK = "planner fit, report and show read it; a profile is put into it with planner ingest PROFILE --into {}"
_ASCEND = "Ascend Hardware"  # a process name in its trace_view.json
_BEGINS = (
    (_ZIP, "this is a zip archive", "unpack it and give the folder"),
    (b"SQLite format 3", "this is a database, as Nsight Systems and rocprof write, and no profile", GIVE),
    (b"\x28\xb5\x2f\xfd", "this is packed with zstd", "unpack it: unzstd FILE"),
    (b"\xfd7zXZ", "this is packed with xz", "unpack it: unxz FILE"),
    (b"\x1f\x8b", "this is packed with gzip twice", "unpack it once: gunzip FILE"),
    (b"BZh", "this is packed with bzip2", "unpack it: bunzip2 FILE"),
    (b"NTFF", "this is what neuron-profile captured, which isn't read", _RECORD),
    (b"\x80\x04\x95", "this is a pickle of Python, as PyTorch's snapshots of memory, and no profile", GIVE),
    (b"\x80\x02", "this is a pickle of Python, as PyTorch's snapshots of memory, and no profile", GIVE),
    (b"PAR1", "this is a table in Parquet, as xprof and Nsight Systems export, and no profile", GIVE),
    (b"\x89HDF", "this is an HDF5 file, and no profile", GIVE),
    (b"\xff\xfe", "this is text in UTF-16", "save it as UTF-8"),
)
_REPORTS = {  # recognised by name suffix, since their content doesn't identify them
    (".nsys-rep", ".qdrep"): "a report of Nsight Systems",
    (".ncu-rep",): "a report of Nsight Compute",
    (".pftrace", ".perfetto-trace", ".proto"): "a trace of Perfetto in its own format",
    (".prof", ".pprof", ".prof.gz"): "a profile of pprof, as JAX's of memory",
}
_TABLES = (  # other profilers' tables, by column titles
    (re.compile(rb"Time ?\(%\)|(?:Start|Duration) ?\((?:ns|nsec)\)"), "a table of Nsight Systems"),
    (re.compile(rb'^"?ID"?,"?Process ID"?'), "a table of Nsight Compute"),
    (
        re.compile(rb"TotalDurationNs|Agent_Id|Dispatch_Id|BeginNs|Start_Timestamp|Logical_Node_Id"),
        "a table of rocprof",
    ),
)
_TEXTS = (  # other texts and JSON, by a pattern of their first bytes, with the remedy
    (rb"\*\* [^\n]*\([a-z]+_[a-z_]+\):|Generating SQLite file|Processing \[.*\.sqlite\]", "what nsys prints", _OWN),
    (rb"==PROF==", "what Nsight Compute prints", _OWN),
    (rb"Self CPU %|Self CPU total", "a table of PyTorch's key_averages(), which adds all steps up", _OWN),
    (rb"(?is)^(?!.*traceEvents).*registers.per.thread", "the tool kernel_stats' table, which has no steps", GIVE),
    (rb"memoryProfilePerAllocator|totalBufferAllocationMib", "a table of memory", GIVE),
    (rb"podStatsSequence|podStatsMap", "the tool pod_viewer's table", GIVE),
    (rb"(?:tensor|vector|scalar)_engine_|\bneuron(?:core|_)", "what neuron-profile writes", _RECORD),
    (rb"\bchakra\b", "an execution trace of PyTorch, which has no times of the device", _OWN),
)
_UNREAD = "{}, which isn't read: it has no steps, operators or shapes"
ROCPROF = _UNREAD.format("this is what rocprof writes"), _OWN
_TOOL = re.compile(
    r"(?:^|\.)(overview_page|input_pipeline|tensorflow_stats|kernel_stats|op_profile|memory_profile|memory_viewer|pod_viewer"
    r"|tf_data_stats|op_stats)\.pb$"
)
_REPLACED = b"\xef\xbf\xbd"  # replaces each invalid byte when a binary file is copied as text
_TAR = slice(257, 262)
WANTED = (
    "a .xplane.pb, a .trace.json.gz, a PyTorch trace or a tool's JSON is read; "
    "the time that a log or a benchmark tells goes into a workbook with planner record"
)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")  # bytes that don't occur in text; \x1b does, for colours


def by_name(path: Path) -> tuple[str, str] | None:
    """What an unreadable file is, by its name suffix, and the remedy. None if unknown."""
    found = next((what for ends, what in _REPORTS.items() if path.name.endswith(ends)), "")
    return (f"this is {found}, which isn't read", GIVE) if found else None


def other_text(head: bytes) -> tuple[str, str] | None:
    """What a text or JSON that isn't a profile is, by its first bytes, and the remedy. None if unknown."""
    found = next(((what, remedy) for words, what, remedy in _TEXTS if re.search(words, head)), None) or recognized(head)
    return (f"this is {found[0]}, and no profile", found[1]) if found else None


def by_beginning(path: Path, head: bytes) -> tuple[str, str] | None:
    """What a file that isn't a profile is, by its name and first bytes, and the remedy. None if unknown."""
    if left := not_fetched(head):
        return left
    if head.startswith(_ZIP) and path.suffix.lower() in _WORKBOOKS:
        return "this is a workbook, and no profile", _OF_WORKBOOK.format(path.name)
    for begin, what, remedy in _BEGINS:
        if head.startswith(begin):
            return what, remedy
    if head[_TAR] == b"ustar":
        return "this is a tar archive", "unpack it and give the folder"
    if head.count(_REPLACED) > 4:
        return "this was copied as text, which destroyed it", "copy or download it again as binary"
    if tool := _TOOL.search(path.name):
        what = f"this is what the tool {tool[1]} keeps for itself, which isn't read"
        return what, "give the .xplane.pb beside it, or the tool's table exported as JSON or CSV"
    if path.name.endswith((".hlo_proto.pb", ".hlo.pb")):
        return "this is a compiled program, and no profile", GIVE
    if b"tfevents" in path.name.encode():
        return "these are TensorBoard's scalars, and no profile", "give the folder plugins/profile/RUN beside it"
    if _BINARY.search(head):
        return None
    return other_table(head.partition(b"\n")[0]) or other_text(head) or ("this is text, and no profile", WANTED)


def other_table(heads: bytes) -> tuple[str, str] | None:
    """Which profiler's table has these column titles, and the remedy. None for no known one."""
    name = next((name for words, name in _TABLES if words.search(heads)), "")
    return (_UNREAD.format(f"this is {name}"), _OWN) if name else None


def by_processes(document: Any, processes: Iterable[str]) -> tuple[str, str] | None:
    """Which other profiler wrote a JSON document, by its keys besides the events or its process names; and the remedy.

    None for no known one.
    """
    names = set(processes)
    if _ASCEND in names:
        return "this is a trace of Ascend's profiler, which isn't read", _RECORD
    return ROCPROF if _ROCPROF in document or any(map(_ROCPROF_LANE.match, names)) else None
