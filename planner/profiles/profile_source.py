"""Reads one profile file according to its content: planes, trace events, or a tool's table."""

from __future__ import annotations

import csv
import gzip
import re
import shutil
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from planner import progress, run_logs
from planner.errors import Place, UserError, placed
from planner.profiles import cpu, gpu, json_document, tool_table, tools, tpu, unsupported, wire, xla, xspace
from planner.profiles.device_events import Recording
from planner.profiles.kineto import KinetoEvents, rank_label
from planner.profiles.planes import Plane
from planner.profiles.profile import RANKS, Device
from planner.profiles.profile_files import host
from planner.profiles.summary import summarise
from planner.profiles.tool_table import ToolTable
from planner.profiles.trace_events import LIMIT, TraceEvents
from planner.terminal_table import counted

_AS_WRITTEN = "give each as it was written"
_MOST_RANKS = 1 << 24
_TASK = "Task Environment"  # the plane that describes the capture
_TIMES = 2 << 20  # most run times to keep, over all devices of a file
_DAMAGED = (*wire.DAMAGED, KeyError, AttributeError, ZeroDivisionError)
_TIMELESS = "this trace has no event with a time of its own (`ph` X) of a device"
TRACE = "capture it with the device's tracer on, while the program runs"
_JSON = re.compile(  # in a log only the first word is in brackets
    rb"""\{\s*(?:["}]|\Z)|\[\s*(?:[\[\]{"]|[-+.0-9eE]+\s*[,\]]|true|false|null|\Z)"""
)


class UnknownJsonError(UserError):
    """A JSON file of no known format; in a folder it may be next to a profile."""


@dataclass
class ProfileSource:
    """The content of one file: devices or a tool's table, and the facts it lacks.

    `names_host` says whether the file's name or content identifies the host of its devices. `when` is the (begin, end)
    of the capture in seconds since 1970, if known. `process` is the number of the only process that it captured, if
    known. `notes` are remarks for the reader.
    """

    path: Path
    format: str
    devices: list[Device] = field(default_factory=list)
    table: ToolTable | None = None
    lacks: dict[str, str] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    names_host: bool = True
    when: tuple[float, float] | None = None
    process: str = ""
    notes: list[str] = field(default_factory=list)


def read_file(path: Path, asked: str) -> ProfileSource:
    """The content of a file of any format. `asked` is the requested kind of steps, blank for the main one.

    Raises UserError if it can't be read as a profile.
    """
    head = _head_of_profile(path)
    if _is_json(head):
        try:
            return _of_json(path, asked)
        except UserError:
            if why := unsupported.other_text(_ends(path)):
                raise UnknownJsonError(why[0], place=Place(path), remedy=why[1]) from None
            raise
    return _of_csv(path) if tool_table.is_csv(head) else _of_planes(path, asked)


def refuse_unsupported(path: Path) -> None:
    """Raise UserError for a file that is no profile, judging by its name and beginning; a small JSON is read whole."""
    if _is_json(_head_of_profile(path)) and path.stat().st_size <= run_logs.MOST:
        read_file(path, "")


def _head_of_profile(path: Path) -> bytes:
    """The first bytes of a file. Raises UserError if they or its name tell that it is no profile."""
    if why := unsupported.by_name(path):
        raise UserError(why[0], place=Place(path), remedy=why[1])
    head = _head(path)
    if not head:
        raise UserError("the file is empty", place=Place(path), remedy="copy or capture it again")
    if not _is_json(head) and not tool_table.is_csv(head) and (why := unsupported.by_beginning(path, head)):
        if why[1] == unsupported.WANTED:  # a log's first lines may be settings
            why = unsupported.other_text(_ends(path)) or why
        raise UserError(why[0], place=Place(path), remedy=why[1])
    return head


def _is_json(head: bytes) -> bool:
    """Whether a file that begins so is JSON."""
    return bool(_JSON.match(head.lstrip(b"\xef\xbb\xbf \t\r\n")))


def _head(path: Path) -> bytes:
    """The first bytes of a file, decompressed."""
    return _read(path, lambda stream: stream.read(tool_table.HEAD))


def _ends(path: Path) -> bytes:
    """The beginning and the end of a log or a result, decompressed."""
    return _read(path, run_logs.ends)


def _read(path: Path, part: Callable[[IO[bytes]], bytes]) -> bytes:
    try:
        with json_document.unpacked(path) as stream:
            return part(stream)
    except OSError as error:
        raise UserError(f"can't be read: {error.strerror or error}", place=Place(path)) from None
    except (EOFError, zlib.error):
        raise _damaged(path) from None


def _damaged(path: Path) -> UserError:
    what, remedy = "the gzip file is damaged or ends in the middle", "it seems cut short or damaged: copy it again"
    return UserError(what, place=Place(path), remedy=remedy)


def _of_planes(path: Path, asked: str) -> ProfileSource:
    if not json_document.is_gzipped(path):
        return _devices(path, path, asked)
    # Windows can't remove a file that is still memory-mapped, for example by an error's traceback.
    with tempfile.TemporaryDirectory(prefix="profile-", ignore_cleanup_errors=True) as folder:
        unpacked = Path(folder, "unpacked.xplane.pb")
        try:
            with gzip.open(path) as stream, unpacked.open("wb") as file:
                shutil.copyfileobj(stream, file)
        except (EOFError, OSError, zlib.error):
            raise _damaged(path) from None
        return _devices(path, unpacked, asked)


def _devices(path: Path, data: Path, asked: str) -> ProfileSource:
    """The devices in a file of planes."""
    try:
        planes = xspace.read(data, lambda far: progress.step(f"reading {path.name}: {far}"))
        if name := _twice(planes):
            raise UserError(f"{name} stands in it twice: are these several files in one?", remedy=_AS_WRITTEN)
        return _summed(ProfileSource(path, "xplane"), planes, asked)
    except UserError as error:
        raise error.at(Place(path)) from None
    except _DAMAGED:
        raise UserError(
            "this is not a profile (XSpace), or it is damaged", place=Place(path), remedy=xspace.REMEDY
        ) from None


def _twice(planes: tuple[Plane, ...]) -> str:
    """The first plane whose device or host occurs again under another name, so that it isn't a single capture."""
    names = [plane.name for plane in planes if plane.name and plane.lines]
    return next((name for at, name in enumerate(names) if name in names[:at]), "")


def _summed(made: ProfileSource, planes: tuple[Plane, ...], asked: str) -> ProfileSource:
    """The summarised devices of planes, or those of the host's own processor if there are no others."""
    name = host(made.path)
    for plane in planes:
        if plane.name == _TASK:
            begin, end = (plane.stats.get(f"profile_{which}_time") for which in ("start", "stop"))
            if isinstance(begin, int) and isinstance(end, int):
                made.when = begin / 1e9, end / 1e9
        if plane.name == xla.METADATA:
            stats = plane.stats.items()
            made.facts |= {key: str(value) for key, value in stats if "version" in key and not isinstance(value, bytes)}
    for recording in _recordings(planes, name, made.lacks, asked):
        if device := summarise(recording):
            made.devices.append(device)
            while sum(_n_times(each) for each in made.devices) > _TIMES:
                made.devices = [_thinned(each) for each in made.devices]
                made.lacks["times"] = "of so many runs only every so many are kept: medians of all devices are of these"
    return made


def _n_times(device: Device) -> int:
    """The number of runs whose times a device keeps."""
    return sum(len(each.times) for each in device.operations if each.times is not None and len(each.times) > 1)


def _thinned(device: Device) -> Device:
    """The device with every other run's time dropped."""
    rows = (each if each.times is None else replace(each, times=each.times[::2].copy()) for each in device.operations)
    return replace(device, operations=tuple(rows))


def _recordings(planes: tuple[Plane, ...], name: str, lacks: dict[str, str], asked: str) -> Iterator[Recording]:
    programs = xla.programs(planes)
    found = False
    chips = [plane for plane in planes if tpu.PLANE.match(plane.name)]
    for plane in [each for each in chips if not tpu.SPARSE.search(each.name)] or chips:
        if recording := tpu.recording(plane, name, programs, asked):
            found = True
            yield recording
        plane.forget()
    cards = [plane for plane in planes if gpu.PLANE.match(plane.name) and plane.lines]
    launches = gpu.Launches(planes, len(cards), asked) if cards else None
    for plane in cards:
        if launches and (recording := gpu.recording(plane, name, programs, launches)):
            found = True
            yield recording
        plane.forget()
    if not found:
        operations = cpu.HostOperations(planes, programs, asked)
        if operations.found and not operations.ends:
            lacks["parts"] = "operations have only the time of their launch here: the .xplane.pb says when they end"
        yield from operations.recordings(name) if operations.found else ()


def _of_json(path: Path, asked: str) -> ProfileSource:
    traced, ranks = TraceEvents(), defaultdict[str, KinetoEvents](KinetoEvents)  # several in a merged trace

    def take(event: dict[str, Any]) -> None:
        (ranks[rank_label(event)] if "cat" in event else traced).add(event)

    rest = json_document.walk(path, take)
    for each in ranks.values():
        each.clock.settle()
    traced.clock.settle()
    described = rest if isinstance(rest, dict) else {}
    torch = {label: each for label, each in ranks.items() if each.count}
    if why := unsupported.by_processes({} if torch else described, traced.processes):
        raise UnknownJsonError(why[0], place=Place(path), remedy=why[1])
    if torch:
        return _of_torch(path, torch, described, asked)
    if traced.count:
        made = ProfileSource(path, "trace.json")
        if traced.count >= LIMIT:
            made.lacks["events"] = "the profiler writes a million events into a trace.json: the .xplane.pb has all"
        with placed(Place(path)):
            return _summed(made, traced.planes(), asked)
    if json_document.EVENTS in described:
        raise UnknownJsonError(_TIMELESS, place=Place(path), remedy=TRACE)
    return _of_table(path, rest)


def _of_table(path: Path, document: Any) -> ProfileSource:
    try:
        table = tools.table(document)
    except tool_table.TableError as error:
        raise error.at(Place(path)) from None
    except UserError as error:
        raise UnknownJsonError(error.what, place=Place(path), remedy=error.remedy) from None
    except _DAMAGED:
        table = None
    if table is None:
        first = document[0] if isinstance(document, list) and document else None
        heads = ",".join(first) if isinstance(first, dict) else ""
        what, remedy = unsupported.other_table(heads.encode()) or (
            "this JSON is no profile that is known",
            unsupported.WANTED,
        )
        raise UnknownJsonError(what, place=Place(path), remedy=remedy)
    return ProfileSource(path, table.format, table=table)


def _of_csv(path: Path) -> ProfileSource:
    try:
        return _of_table(path, tool_table.csv_page(path))
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise UserError(f"this table can't be read: {error}", place=Place(path), remedy="export it again") from None


def _of_torch(path: Path, torch: Mapping[str, KinetoEvents], described: dict[str, Any], asked: str) -> ProfileSource:
    """The devices of a rank, or of each rank in a merged trace.

    Raises UserError for ranks that can't be distinguished.
    """
    for each in torch.values():
        if several := each.merged_of:
            what = f"this trace is merged of {several}, whose kernels can't be told apart"
            raise UserError(what, place=Place(path), remedy="give the trace of each rank as it was written")
    workers = described.get("distributedInfo")
    distributed = workers if isinstance(workers, dict) else {}
    rank, ranks = distributed.get("rank"), distributed.get("world_size")
    name = host(path) if rank is None else f"rank {rank}"
    spans = [span for each in torch.values() if (span := each.when(described))]
    made = ProfileSource(path, "kineto", names_host=rank is not None or len(torch) > 1)
    made.when = (min(begin for begin, _ in spans), max(end for _, end in spans)) if spans else None
    made.process = next(iter(torch.values())).process if len(torch) == 1 else ""
    if isinstance(ranks, int) and 1 <= ranks < _MOST_RANKS:
        if isinstance(rank, int) and not 0 <= rank < ranks:
            what = f"this trace is of rank {rank}, and says that its run has {ranks}, numbered from 0"
            raise UserError(what, place=Place(path), remedy="correct its distributedInfo: of which run is it?")
        made.facts[RANKS] = str(ranks)
    if without := sum(each.of_no_time for each in torch.values()):
        made.notes.append(f"{path.name}: {counted(without, 'kernel')} of a time below 0, or of none, counted as 0")
    if untimed := sum(each.clock.untimed for each in torch.values()):
        made.notes.append(f"{path.name}: {counted(untimed, 'event')} left out whose begin or duration is no time")
    for label, each in torch.items():
        made.notes += [f"{path.name}: {each.remark}"] if each.remark else []
        recordings = each.recordings(described, label or name, asked)
        made.devices += [device for one in recordings if (device := summarise(one))]
    return made
