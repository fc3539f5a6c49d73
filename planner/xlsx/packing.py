"""Parts of a zip, deflated once: what has not changed keeps its bytes, and what is large is deflated on every core."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import NamedTuple

CHUNK = 1 << 20  # of a large part; each is deflated by itself, with what stands before it as its dictionary
USUAL, QUICK = 6, 3  # levels: a large part takes 40 % of the time and a fifth more room with the quick one
WINDOW = 1 << 15  # how far back deflate looks
_LENGTHS = struct.Struct("<HH")  # of the name and of the extra field in a member's local header
_LENGTHS_AT, _LOCAL_HEADER = 26, 30


class Packed(NamedTuple):
    """A part as it stands in a zip: its content, and the bytes that hold it."""

    content: bytes
    data: bytes
    crc: int


def packed_parts(file: bytes, infos: Mapping[str, zipfile.ZipInfo], parts: Mapping[str, bytes]) -> dict[str, Packed]:
    """The members of a zip that has been read, as they stand in `file`."""
    found = {}
    for name, info in infos.items():
        lengths = _LENGTHS.unpack_from(file, info.header_offset + _LENGTHS_AT)
        start = info.header_offset + _LOCAL_HEADER + sum(lengths)
        found[name] = Packed(parts[name], file[start : start + info.compress_size], info.CRC)
    return found


def pack(content: bytes, kind: int) -> Packed:
    """A part's content stored or deflated, as `kind` of zipfile says."""
    data = content if kind == zipfile.ZIP_STORED else deflated(content)
    return Packed(content, data, zlib.crc32(content))


def deflated(content: bytes) -> bytes:
    """A raw deflate stream; the same content always gives the same bytes, however many cores there are."""
    starts = range(0, len(content), CHUNK)
    if len(starts) <= 1:
        return _chunk(content, 0, USUAL)
    from concurrent.futures import ThreadPoolExecutor  # here: few workbooks have a part as large

    with ThreadPoolExecutor(min(len(starts), os.cpu_count() or 1)) as pool:  # zlib leaves Python's lock
        return b"".join(pool.map(lambda start: _chunk(content, start, QUICK), starts))


def _chunk(content: bytes, start: int, level: int) -> bytes:
    stop = start + CHUNK
    dictionary = content[max(0, start - WINDOW) : start]
    options = (level, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_DEFAULT_STRATEGY)
    deflate = zlib.compressobj(*options, dictionary) if dictionary else zlib.compressobj(*options)
    last = stop >= len(content)
    return deflate.compress(content[start:stop]) + deflate.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)


def add(archive: zipfile.ZipFile, header: zipfile.ZipInfo, part: Packed) -> None:
    """Put a packed part into an archive that is open for writing, as `writestr` would once it has deflated it."""
    file = archive.fp
    assert file is not None, "the archive is open"
    header.CRC, header.compress_size, header.file_size = part.crc, len(part.data), len(part.content)
    header.header_offset = file.tell()
    file.write(header.FileHeader(zip64=False))
    file.write(part.data)
    archive.filelist.append(header)
    archive.NameToInfo[header.filename] = header
    archive.start_dir = file.tell()  # where the list of members goes
    archive._didModify = True  # type: ignore[attr-defined]
