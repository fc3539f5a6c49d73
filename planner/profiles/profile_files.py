"""Selects the files of one run's profile in a folder: the newest run, one file per host."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
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
_CAPTURE = re.compile(r"^(?P<worker>.+?)\.(?P<time>\d{10,})$")  # file names of PyTorch's TensorBoard handler


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
    runs: dict[Path, list[Path]] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.name.startswith(".") and _may_be_read(file):
            run = file.parent.parent if _OF_RANK.match(file.parent.name) else file.parent
            runs.setdefault(run, []).append(file)
    if not runs:
        raise UserError("there is no profile in this folder", place=Place(folder), remedy=_REMEDY)
    whole = [run for run in runs if any(_kind(file) < 2 for file in runs[run])] or list(runs)
    newest = max(whole, key=lambda run: (max(file.stat().st_mtime for file in runs[run]), run.name))
    if all(re.match(r"\d{4}_\d\d_\d\d", run.name) for run in whole):
        newest = max(whole, key=lambda run: run.name)
    read, older = _of_run(runs[newest])
    named = newest.name if not older else ", ".join(file.name for file in read)
    return Files(tuple(read), older + sum(len(runs[run]) for run in whole if run != newest), named)


def _may_be_read(file: Path) -> bool:
    """Whether a file may be a profile, judging by its name; a CSV must be a tool's table."""
    if not file.name.endswith(_TABLES):
        return file.name.endswith((*XPLANE, *_OTHERS))
    try:
        with unpacked(file) as stream:
            return is_csv(stream.read(HEAD))
    except (OSError, EOFError, zlib.error):
        return False


def _of_run(files: list[Path]) -> tuple[list[Path], int]:
    """The most complete file of each host, the newest of each PyTorch worker, and all tools' outputs.

    Also returns the number of older captures of PyTorch workers.
    """
    best: dict[str, Path] = {}
    captures = sum(bool(_CAPTURE.match(host(file))) for file in files)
    for file in files:
        name = host(file)
        if capture := _CAPTURE.match(name):
            name = capture["worker"]
        known = best.get(name)
        if known is None or (_kind(file), known.name) <= (_kind(known), file.name):
            best[name] = file
    chosen = list(best.values())
    kind = min(_kind(file) for file in chosen)
    if kind < 2:  # tools' outputs next to a trace are derived from it
        chosen = [file for file in chosen if _kind(file) == kind or (kind == 0 and _kind(file) == 1)]
        named = [file for file in chosen if not file.name.startswith("perfetto_trace")]
        chosen = named or chosen
    return sorted(chosen), max(captures - sum(bool(_CAPTURE.match(host(file))) for file in chosen), 0)


def _kind(path: Path) -> int:
    """Rank of a file by completeness: 0 for planes, 1 for a trace, 2 for other JSON and for tables."""
    return 0 if path.name.endswith(XPLANE) else 1 if path.name.endswith(TRACES) else 2
