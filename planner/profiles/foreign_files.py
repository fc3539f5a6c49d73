"""Files that lie where a profile is looked for and are none: what each is, and what to do about it."""

from __future__ import annotations

import re
from pathlib import Path

_GIVE = "give the .xplane.pb or the .trace.json.gz of the run"
_RAW = "download the file itself, by its link «raw» or «download»"
_BEGINS = (
    (b"PK\x03\x04", "this is a zip archive", "unpack it and give the folder"),
    (b"version https://git-lfs", "this is a pointer of Git LFS, and not the file", "fetch it with git lfs pull"),
    (b"SQLite format 3", "this is a database, as Nsight Systems and rocprof write, and no profile", _GIVE),
    (b"\x28\xb5\x2f\xfd", "this is packed with zstd", "unpack it: unzstd FILE"),
    (b"\xfd7zXZ", "this is packed with xz", "unpack it: unxz FILE"),
    (b"BZh", "this is packed with bzip2", "unpack it: bunzip2 FILE"),
    (b"\x89HDF", "this is an HDF5 file, and no profile", _GIVE),
)
_PAGE = re.compile(rb"<!doctype html|<html|<head", re.I)
_TOOL = re.compile(
    r"(?:^|\.)(overview_page|input_pipeline|tensorflow_stats|kernel_stats|op_profile|memory_profile|memory_viewer|pod_viewer"
    r"|tf_data_stats|op_stats)\.pb$"
)
_REPLACED = b"\xef\xbf\xbd"  # what stands for each byte that is no text, where a binary file was copied as text
_TAR = slice(257, 262)


def foreign(path: Path, head: bytes) -> tuple[str, str] | None:
    """What a file is that isn't a profile, by its name and first bytes, and the remedy; None where nothing is known."""
    for begin, what, remedy in _BEGINS:
        if head.startswith(begin):
            return what, remedy
    if head[_TAR] == b"ustar":
        return "this is a tar archive", "unpack it and give the folder"
    if head.strip()[:1] == b"<" and _PAGE.search(head[:1024]):
        return "this is a web page, and not the file", _RAW
    if head.count(_REPLACED) > 4:
        return "this was copied as text, which destroyed it", "copy or download it again as binary"
    if tool := _TOOL.search(path.name):
        what = f"this is what the tool {tool[1]} keeps for itself, which isn't read"
        return what, "give the .xplane.pb beside it, or the tool's table exported as JSON or CSV"
    if path.name.endswith((".hlo_proto.pb", ".hlo.pb")):
        return "this is a compiled program, and no profile", _GIVE
    if b"tfevents" in path.name.encode():
        return "these are TensorBoard's scalars, and no profile", "give the folder plugins/profile/RUN beside it"
    return None
