"""What reading a large profile takes: seconds and peak memory of a process of its own, on files made for it.

    python benchmarks/profiles.py [--megabytes 1000] [--keep FOLDER]

- trace.json.gz: a TPU's operations as XLA's profiler writes them, so many megabytes once unpacked;
- xplane: the same as planes, all events on one device.

The goal: 300 MB at a gigabyte, with the reader saying how far it is.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

KINDS = 2000  # operations of the program
PER_STEP = 4000
_READ = """
import re, sys, time
from pathlib import Path
from planner import progress
from planner.profiles.reading import read
told = []
begun = time.perf_counter()
progress.step = told.append
profile = read(Path(sys.argv[1]))
seconds = time.perf_counter() - begun
(device,) = profile.devices
runs = sum(each.count for each in device.operations)
peak = int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])  # of this program alone
print(runs, len(device.steps), len(told), seconds, peak / 1024)
"""


def long_name(kind: int) -> str:
    """The HLO text of an operation."""
    layout = "{1,0:T(8,128)}"
    return f"%fusion.{kind} = bf16[1024,5120]{layout} fusion(bf16[1024,5120]{layout} %p.{kind}), kind=kLoop, calls=%f"


def trace(path: Path, megabytes: float) -> None:
    """Write a trace.json.gz of so many megabytes once unpacked."""
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write('{"displayTimeUnit":"ns","traceEvents":[')
        named = [
            (None, "process_name", "/device:TPU:0"),
            (2, "thread_name", "XLA Modules"),
            (3, "thread_name", "XLA Ops"),
        ]
        for tid, name, shown in named:
            event = {"ph": "M", "pid": 3, "name": name, "args": {"name": shown}} | ({"tid": tid} if tid else {})
            file.write(json.dumps(event) + ",\n")
        written, number, stack = 0, 0, "/home/user/model/layers.py:262:8\\n" * 16
        while written < megabytes * 1e6:
            if number % PER_STEP == 0:
                at = number * 1.5
                step = {"ph": "X", "pid": 3, "tid": 2, "ts": at, "dur": PER_STEP * 1.5 - 1, "name": "jit_step(77)"}
                file.write(json.dumps(step | {"args": {"run_id": str(number)}}) + ",\n")
            kind = number % KINDS
            args = {"hlo_category": "loop fusion", "long_name": long_name(kind), "model_flops": "5242880",
                    "bytes_accessed": "20971520", "source_stack": stack, "device_offset_ps": str(number * 1_500_000),
                    "device_duration_ps": "1250000"}  # fmt: skip
            event = {
                "ph": "X",
                "pid": 3,
                "tid": 3,
                "ts": number * 1.5,
                "dur": 1.25,
                "name": f"fusion.{kind}",
                "args": args,
            }
            written += file.write(json.dumps(event) + ",\n")
            number += 1
        file.write('{}],"metadata":{}}')


def planes(path: Path, megabytes: float) -> None:
    """Write a .xplane.pb of so many megabytes, with all its events on one line of one plane."""
    size = int(megabytes * 1e6)
    body = {"modules": bytearray(), "ops": bytearray()}
    number = 0
    with tempfile.TemporaryFile() as file:
        while file.tell() < size:
            chunk = bytearray()
            for _ in range(50_000):
                if number % PER_STEP == 0:
                    body["modules"] += _event(KINDS + 1, number * 1_500_000, PER_STEP * 1_500_000 - 1)
                chunk += _event(number % KINDS + 1, number * 1_500_000, 1_250_000)
                number += 1
            file.write(chunk)
        tail = b"".join(_metadata(kind + 1, long_name(kind)) for kind in range(KINDS)) + _metadata(
            KINDS + 1, "jit_step(77)"
        )
        head = _field(2, b"/device:TPU:0") + _field(3, _field(2, b"XLA Modules") + bytes(body["modules"]))
        name, length = _field(2, b"XLA Ops"), file.tell()
        line = bytes([3 << 3 | 2]) + _varint(len(name) + length)
        with path.open("wb") as out:
            out.write(bytes([1 << 3 | 2]) + _varint(len(head) + len(line) + len(name) + length + len(tail)))
            out.write(head + line + name)
            file.seek(0)
            for piece in _pieces(file.read):
                out.write(piece)
            out.write(tail)


def _pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while piece := read(1 << 24):
        yield piece


def _event(kind: int, offset: int, duration: int) -> bytes:
    body = b"\x08" + _varint(kind) + b"\x10" + _varint(offset) + b"\x18" + _varint(duration)
    return b"\x22" + _varint(len(body)) + body


def _metadata(key: int, name: str) -> bytes:
    message = b"\x08" + _varint(key) + _field(2, name.encode())
    return _field(4, b"\x08" + _varint(key) + _field(2, message))


def _field(number: int, body: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def measured(path: Path) -> tuple[int, int, int, float, float]:
    """Events, steps and words of progress, and seconds and MB of reading a file."""
    found = subprocess.run([sys.executable, "-c", _READ, str(path)], check=True, capture_output=True, text=True).stdout
    runs, steps, told, seconds, megabytes = found.split()
    return int(runs), int(steps), int(told), float(seconds), float(megabytes)


def main() -> None:
    """Make the files, read each and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--keep", type=Path, help="write the files here and leave them")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        for name, write in (("large.trace.json.gz", trace), ("large.xplane.pb", planes)):
            path = folder / name
            write(path, asked.megabytes)
            runs, steps, told, seconds, megabytes = measured(path)
            print(f"{name}: {path.stat().st_size / 1e6:,.0f} MB on disk, {runs:,} events, {steps:,} steps", end=": ")
            print(f"{seconds:.1f} s, {megabytes:.0f} MB, told {told} times")
            if asked.keep is None:
                path.unlink()


if __name__ == "__main__":
    main()
