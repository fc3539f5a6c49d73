"""Selects the files of one run's profile in a folder: the newest run, one file per host."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from planner.errors import Place, UserError
from planner.profiles.json_document import unpacked
from planner.profiles.tool_table import HEAD, is_csv

XPLANE = (".xplane.pb", ".xplane.pb.gz")
TRACES = (".pt.trace.json.gz", ".pt.trace.json", ".trace.json.gz", ".trace.json")
_OTHERS = (".json.gz", ".json")
_TABLES = (".csv", ".csv.gz")
_REMEDY = "give a .xplane.pb, a .trace.json.gz or the folder plugins/profile/RUN that the profiler wrote"
_TOOL = re.compile(r"^(?P<host>.+)\.[a-z]+(?:_[a-z]+)+$")
_OF_RANK = re.compile(r"(?:global[-_]?)?(?:rank|worker|process|host|node)[-_]?\d+$", re.I)  # a rank's folder
_PLANES, _NAMED_TRACE, _TRACE, _OTHER = range(4)  # kinds of files, the most complete first
_BEGINS_TRACE = re.compile(rb'"(?:traceEvents|displayTimeUnit|deviceProperties|distributedInfo)":')
_CAPTURES = (  # names that tell a worker and the time of its capture
    re.compile(r"^(?P<worker>.+?)\.(?P<time>\d{10,})$"),  # of PyTorch's TensorBoard handler: host_12.1700000000000
    re.compile(r"^(?P<time>\d{10}\.\d+)-(?P<worker>(?:TP|DP|PP|EP)-\d+.*)$"),  # of SGLang: 1759130995.32-TP-0
)
_DATED = "%Y_%m_%d_%H_%M_%S"  # the name of a run's folder
_APART = 30  # most seconds between the folders of one run's hosts
_DERIVED = ("perfetto_trace", "merged-")  # names of what JAX and SGLang make of the other traces of a folder


@dataclass(frozen=True)
class Files:
    """The files of one run, named `run`; `left` are files of other runs next to it, which aren't read."""

    files: tuple[Path, ...]
    left: int = 0
    run: str = ""


def profile_files(paths: Sequence[Path]) -> Files:
    """The profile files among files and folders. Raises UserError for a missing path or a folder without a profile."""
    files: list[Path] = []
    left, run = 0, ""
    for path in paths:
        if path.is_dir():
            found = _of_folder(path)
            files += found.files
            left, run = left + found.left, found.run
        elif path.exists():
            files.append(path)
        else:
            raise UserError("there is no such file or folder", place=Place(path), remedy=_REMEDY)
    return Files(tuple(dict.fromkeys(files)), left, run)


def named(path: Path) -> str:
    """A file's name, prefixed by its folder's if each rank has a folder: rank0/trace.json."""
    return f"{path.parent.name}/{path.name}" if _OF_RANK.match(path.parent.name) else path.name


def host(path: Path) -> str:
    """The host of a file: its name without the format's suffix."""
    ending = next((suffix for suffix in (*XPLANE, *TRACES, *_OTHERS) if path.name.endswith(suffix)), path.suffix)
    return named(path).removesuffix(ending)


def host_of_tool(path: Path) -> str:
    """The host of a tool's output, as TensorBoard names it (`HOST.overview_page.json`); empty for none."""
    found = _TOOL.match(host(path))
    return found["host"] if found else ""


def _of_folder(folder: Path) -> Files:
    """The newest run at or below a folder. A run is a folder that contains profiles, or a folder for each rank."""
    runs: dict[Path, dict[Path, int]] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.name.startswith(".") and _may_be_read(file):
            run = file.parent.parent if _OF_RANK.match(file.parent.name) else file.parent
            runs.setdefault(run, {})[file] = _kind(file)
    if not runs:
        raise UserError("there is no profile in this folder", place=Place(folder), remedy=_REMEDY)
    whole = [run for run in runs if min(runs[run].values()) < _OTHER] or list(runs)
    newest = max(whole, key=lambda run: (max(file.stat().st_mtime for file in runs[run]), _padded(run.name)))
    if all(re.match(r"\d{4}_\d\d_\d\d", run.name) for run in whole):
        newest = max(whole, key=lambda run: run.name)
    ours = {newest: runs[newest], **_of_other_hosts(newest, {run: runs[run] for run in whole})}
    read, older = _of_run({file: kind for files in ours.values() for file, kind in files.items()})
    named = newest.name if not older else ", ".join(file.name for file in read)
    return Files(tuple(read), older + sum(len(runs[run]) for run in whole if run not in ours), named)


def _of_other_hosts(newest: Path, runs: Mapping[Path, dict[Path, int]]) -> dict[Path, dict[Path, int]]:
    """The folders beside that of the newest run that hold its other hosts.

    JAX names the folder of each host by the second in which the host wrote it, which may differ.
    """
    found: dict[Path, dict[Path, int]] = {}
    hosts = set(map(host, runs[newest]))
    beside = sorted((run for run in runs if run.parent == newest.parent and run != newest), reverse=True)
    for run in beside:
        theirs = set(map(host, runs[run]))
        if not _are_near(run, newest) or hosts & theirs:
            break
        found[run] = runs[run]
        hosts |= theirs
    return found


def _are_near(run: Path, newest: Path) -> bool:
    """Whether a folder is named by a time a little before that of the newest."""
    seconds = _second(run), _second(newest)
    return seconds[0] is not None and seconds[1] is not None and 0 <= seconds[1] - seconds[0] <= _APART


def _second(run: Path) -> float | None:
    """The time by which a run's folder is named, in seconds; None for another name."""
    try:
        return datetime.strptime(run.name, _DATED).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _padded(name: str) -> str:
    """A name that sorts by its numbers: iteration_100 behind iteration_20."""
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), name)


def _may_be_read(file: Path) -> bool:
    """Whether a file may be a profile, judging by its name; a CSV must be a tool's table."""
    if not file.name.endswith(_TABLES):
        return file.name.endswith((*XPLANE, *_OTHERS))
    try:
        with unpacked(file) as stream:
            return is_csv(stream.read(HEAD))
    except (OSError, EOFError, zlib.error):
        return False


def _of_run(files: Mapping[Path, int]) -> tuple[list[Path], int]:
    """The most complete file of each host, the newest of each worker of PyTorch or SGLang, and all tools' outputs.

    `files` have their kinds. Also returns the number of older captures of workers.
    """
    best: dict[str, Path] = {}
    for file in files:
        name = _worker(file) or host(file)
        known = best.get(name)
        if known is None or (files[file], known.name) <= (files[known], file.name):
            best[name] = file
    chosen = list(best.values())
    kind = min(files[file] for file in chosen)
    if kind < _OTHER:  # tools' outputs next to a trace are derived from it
        chosen = [file for file in chosen if files[file] == kind or (kind == _PLANES and files[file] == _NAMED_TRACE)]
        named = [file for file in chosen if not file.name.startswith(_DERIVED)]
        chosen = named or chosen
    return sorted(chosen), max(sum(map(bool, map(_worker, files))) - sum(map(bool, map(_worker, chosen))), 0)


def _worker(file: Path) -> str:
    """The worker that a file's name tells beside the time of the capture; empty for none."""
    found = next(filter(None, (names.match(host(file)) for names in _CAPTURES)), None)
    return found["worker"] if found else ""


def _kind(path: Path) -> int:
    """Rank of a file by completeness: planes, a trace by its name, a trace by its beginning, other JSON and tables."""
    if path.name.endswith(XPLANE):
        return _PLANES
    if path.name.endswith(TRACES):
        return _NAMED_TRACE
    try:
        with unpacked(path) as stream:
            return _TRACE if _BEGINS_TRACE.search(stream.read(HEAD)) else _OTHER
    except (OSError, EOFError, zlib.error):
        return _OTHER
