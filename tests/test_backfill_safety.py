"""Whatever happens while a workbook is filled, the old file or the new one is there, whole, and no time is lost."""

from __future__ import annotations

import io
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from planner.compare import landing
from planner.errors import UserError
from planner.measure.measurements_csv import write_measurements
from planner.xlsx.atomic import locked
from planner.xlsx.opc import Package
from tests.backfills import backfill, keys, measurement, rows
from tests.commands import refusal, refused, run

BACKFILL = [sys.executable, "-m", "planner", "backfill"]


def with_member(data: bytes, name: str, content: bytes) -> bytes:
    """A zip with one more member."""
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


REFUSED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "encrypted": (lambda _: b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "it is encrypted"),
    "xls": (lambda _: b"\xd0\xcf\x11\xe0" + bytes(512), "old .xls"),
    "xlsb": (lambda data: with_member(data, "xl/workbook.bin", b""), ".xlsb"),
    "ods": (lambda data: with_member(data, "mimetype", b"application/vnd.oasis.opendocument.spreadsheet"), "OpenDoc"),
    "signed": (lambda data: with_member(data, "_xmlsignatures/sig1.xml", b"<a/>"), "digitally signed"),
    "bomb": (lambda data: with_member(data, "xl/bomb.xml", bytes(64 << 20)), "zip bomb"),
    "entities": (lambda data: with_member(data, "xl/e.xml", b"<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"), "document type"),
    "traversal": (lambda data: with_member(data, "../e.xml", b"<a/>"), "not a name that a part can have"),
    "twice": (lambda data: with_member(data, "XL/workbook.xml", b"<a/>"), "occurs twice"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_edited_safely_is_refused_untouched(plan: Path, built: bytes, kind: str) -> None:
    """One line with the reason, exit code 2, and the file as it was."""
    key = keys(plan)[0]
    spoil, reason = REFUSED[kind]
    plan.write_bytes(data := spoil(built))
    assert reason in refusal(backfill(plan, measurement(key)))
    assert plan.read_bytes() == data


HOSTILE: dict[str, tuple[Callable[[str], str | bytes], str]] = {
    "semicolons": (lambda text: text.replace(",", ";"), "separated by semicolons"),
    "utf-16": (lambda text: text.encode("utf-16"), "UTF-16"),
    "latin-1": (lambda text: text.replace("mine", "caf\xe9").encode("latin-1"), "line 2: byte 0xE9 is not UTF-8"),
    "decimal comma": (lambda text: text.replace("0.001", '"0,001"'), "'0,001' is not a number"),
    "nan": (lambda text: text.replace("0.001", "nan"), "'nan' is not a number"),
    "negative": (lambda text: text.replace("0.001", "-0.001"), "needs a time above 0"),
    "zero": (lambda text: text.replace("0.001", "0"), "needs a time above 0"),
    "below a cell's numbers": (lambda text: text.replace("0.001", "1e-320"), "is less than any profiler counts"),
    "header twice": (lambda text: text.replace("host", "t_median"), "column 't_median' is there twice"),
    "another unit": (lambda text: text.replace("t_median", "t_median_ms"), "convert it if need be"),
    "long": (lambda text: text.replace("mine", "x" * 32_768), "32,768 characters"),
    "control": (lambda text: text.replace("mine", "a\x01b"), "control characters"),
    "deep": (lambda text: text.replace("{}", "[" * 20_000), "column inputs: it is no JSON of inputs"),
    "no JSON": (lambda text: text.replace("{}", "{'d_in': 1}"), "column inputs: it is no JSON of inputs"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_measurements_that_cannot_be_read_are_refused(plan: Path, built: bytes, kind: str) -> None:
    """One line with the place, exit code 2, and the workbook as it was."""
    spoil, reason = HOSTILE[kind]
    key, csv = keys(plan)[0], plan.with_suffix(".csv")
    spoiled = spoil(f'case_key,hardware_id,t_median,template,inputs,host\n"{key}",tpu-v5e,0.001,matmul,{{}},mine\n')
    csv.write_bytes(spoiled.encode() if isinstance(spoiled, str) else spoiled)
    done = refused("backfill", plan, csv)
    assert reason in done
    assert str(csv) in done
    assert plan.read_bytes() == built


def test_measured_texts_are_never_formulas(plan: Path) -> None:
    """A run and a chip that begin as a formula does land as texts."""
    csv = plan.with_suffix(".csv")
    csv.write_text(f'\ufeffcase_key,hardware_id,t_median,run_id\n"{keys(plan)[0]}",=1+1,0.001,=SUM(A1)\n')
    assert run("backfill", plan, csv).exit_code == 0
    (row,) = [row for row in rows(plan) if row.text("run_id") == "=SUM(A1)"]
    assert row.text("hardware_id") == "=1+1"
    assert b"<f>1+1" not in b"".join(Package.read(plan).parts.values())


@pytest.mark.parametrize("lock", ["~$plan.xlsx", ".~lock.plan.xlsx#"])
def test_a_file_that_is_open_is_refused(plan: Path, built: bytes, lock: str) -> None:
    """Excel's lock file, and LibreOffice's."""
    plan.with_name(lock).touch()
    assert "the file is open in" in refusal(backfill(plan, measurement(keys(plan)[0])))
    assert plan.read_bytes() == built


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(plan: Path, built: bytes) -> None:
    """Nothing can be put beside the file: it is refused."""
    plan.parent.chmod(0o500)
    try:
        with pytest.raises(UserError, match="can't be written"):
            landing.backfill(plan, [measurement(keys(plan)[0])])
    finally:
        plan.parent.chmod(0o700)
    assert plan.read_bytes() == built


def test_a_full_disk(plan: Path, built: bytes) -> None:
    """The system refuses to write more: one line, the old file whole, nothing left beside it."""
    resource = pytest.importorskip("resource", reason="limits are of POSIX")
    csv = plan.with_suffix(".csv")
    write_measurements(csv, [measurement(keys(plan)[0])])
    done = subprocess.run(
        [*BACKFILL, str(plan), str(csv)], capture_output=True, text=True, check=False,
        preexec_fn=lambda: (
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        ),
    )  # fmt: skip
    assert done.returncode == 2
    assert "can't be written" in done.stderr
    assert plan.read_bytes() == built
    assert sorted(path.name for path in plan.parent.iterdir()) == ["plan.csv", "plan.xlsx"]


def test_two_at_once_lose_nothing(plan: Path) -> None:
    """Each of four backfills types another row; all four are there."""

    def fill(number: int) -> None:
        landing.backfill(plan, [measurement(key[number], 1e-3 * (number + 1))])

    key = keys(plan)
    threads = [threading.Thread(target=fill, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.number_in("measured_time") for row in rows(plan)[:4]] == [1e-3, 2e-3, 3e-3, 4e-3]


def test_one_waits_for_its_turn_and_then_gives_up(plan: Path) -> None:
    """A lock that is held refuses after a while; one left over by a dead process does not."""
    with locked(plan), pytest.raises(UserError, match="another planner is writing"), locked(plan, patience_s=0.1):
        pass
    plan.with_name(".plan.xlsx.planner-lock").touch()
    with locked(plan, patience_s=0.1):
        pass
    assert not plan.with_name(".plan.xlsx.planner-lock").exists()


@pytest.mark.slow
def test_killed_at_any_moment(plan: Path, built: bytes) -> None:
    """kill -9 in a loop: what is there reads as before or as after, and the next run succeeds."""
    csv, done = plan.with_suffix(".csv"), plan.with_name("done.xlsx")
    write_measurements(csv, [measurement(key) for key in keys(plan)])
    shutil.copy(plan, done)
    subprocess.run([*BACKFILL, str(done), str(csv)], check=True, capture_output=True)
    after, random_ = Package.read(done).parts, random.Random(0)
    for _ in range(25):
        plan.write_bytes(built)
        process = subprocess.Popen([*BACKFILL, str(plan), str(csv)], stdout=subprocess.DEVNULL)
        time.sleep(random_.uniform(0.3, 1.2))
        process.kill()
        process.wait()
        assert Package.read(plan).parts in (Package.from_bytes(built, "built").parts, after)
    subprocess.run([*BACKFILL, str(plan), str(csv)], check=True, capture_output=True)
    assert Package.read(plan).parts == after
