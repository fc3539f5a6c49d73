"""The same cases under other compiler flags, each in a process: XLA reads its flags once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from planner.errors import UserError
from planner.measure import interrupts
from planner.measure.measurements_csv import read_measurements
from planner.measure.records import Measurement

TPU_FLAG = "--xla_tpu"  # libtpu knows these, and XLA_FLAGS stops at them


def measured(
    variants: Sequence[str], arguments: Sequence[str], workbook: Path | None = None, profiles_to: Path | None = None
) -> list[Measurement]:
    """The rows of `planner measure ARGUMENTS` under each variant's flags, one after the other.

    A blank variant is the flags as they are. The cases of a workbook are measured on a copy of it,
    and each variant's profiles kept in a folder of its own. Raises UserError where a variant can't
    even start.
    """
    rows: list[Measurement] = []
    with TemporaryDirectory(prefix="measure-") as folder, interrupts.noted() as ctrl_c:
        for number, flags in enumerate(variants, start=1):
            path = Path(folder) / f"{number}.csv"
            command = [sys.executable, "-m", "planner", "measure", *arguments, "--csv", str(path)]
            if workbook is not None:
                command.append(shutil.copy(workbook, folder))
            if profiles_to is not None:
                command += ["--keep-profiles", str(profiles_to / f"variant_{number}")]
            try:
                process = subprocess.run(
                    command, env=os.environ | environment(flags), check=False, stdout=subprocess.DEVNULL
                )  # its progress is on stderr; what it says of the copy is nobody's
                code = process.returncode
            except KeyboardInterrupt:
                ctrl_c.pressed = True
            stopped = Measurement(status="interrupted", reason="stopped by the user", xla_flags=flags)
            if ctrl_c.pressed:  # the process was told as well, and has kept what it had
                return rows + (read_measurements(path) if path.exists() else [stopped])
            if not path.exists():
                what = f"nothing was measured under the flags {flags!r} (exit code {code})"
                raise UserError(what, remedy="its message stands above")
            rows += read_measurements(path)
    return rows


def environment(flags: str) -> dict[str, str]:
    """The variables with these flags beside what they hold; libtpu's own go to LIBTPU_INIT_ARGS."""
    words: dict[str, list[str]] = {"XLA_FLAGS": [], "LIBTPU_INIT_ARGS": []}
    for word in flags.split():
        words["LIBTPU_INIT_ARGS" if word.startswith(TPU_FLAG) else "XLA_FLAGS"].append(word)
    return {name: " ".join([*os.environ.get(name, "").split(), *given]) for name, given in words.items() if given}
