"""The workbook as a package: what is read, what is refused, and that writing loses nothing."""

from __future__ import annotations

import errno
import io
import os
import posixpath
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from planner.errors import UserError
from planner.xlsx import opc
from planner.xlsx.atomic import kept_beside, write_atomically
from planner.xlsx.opc import Package
from planner.xlsx.styles import Stylesheet
from planner.xlsx.workbook_part import shared_strings
from tests.xlsx_samples import STRICT, parts, sheet, zipped

CELL = '<row r="1"><c r="A1"><v>1</v></c></row>'
GOOD = parts({"In": sheet(CELL), "Out & more": sheet(CELL)})


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A workbook on disk, with a picture and a zip comment."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(zipped({**parts({"In": sheet(CELL)}), "xl/media/image1.png": bytes(range(256)) * 40}))
    return path


def test_unchanged_package_writes_the_same_members() -> None:
    """Content, order, time, attributes and way of compression of every member survive a round trip."""
    data = zipped(GOOD)
    again = Package.from_bytes(data, "x").to_bytes()

    def members(file: bytes) -> list[tuple[object, ...]]:
        with zipfile.ZipFile(io.BytesIO(file)) as archive:
            return [
                (i.filename, i.date_time, i.external_attr, i.compress_type, archive.read(i)) for i in archive.infolist()
            ]

    assert members(again) == members(data)


def test_stamp_sets_every_time() -> None:
    """A stamp gives every member the same time, so that two builds are equal to the byte."""
    stamp = (2026, 1, 2, 3, 4, 6)
    data = Package.from_bytes(zipped(GOOD), "x").to_bytes(stamp=stamp)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {info.date_time for info in archive.infolist()} == {stamp}


def test_sheets_by_name() -> None:
    """Sheets are found by name through the relationships, in either namespace and with any prefix."""
    expected = {"In": "xl/worksheets/sheet1.xml", "Out & more": "xl/worksheets/sheet2.xml"}
    names = {"In": sheet(CELL), "Out & more": sheet(CELL)}
    assert Package.from_bytes(zipped(parts(names)), "x").sheets() == expected
    assert Package.from_bytes(zipped(parts(names, namespace=STRICT)), "x").sheets() == expected
    prefixed = parts(names)
    xml = prefixed["xl/workbook.xml"].decode()
    for tag in ("workbook", "sheets", "sheet "):
        xml = xml.replace(f"<{tag}", f"<x:{tag}").replace(f"</{tag}", f"</x:{tag}")
    prefixed["xl/workbook.xml"] = xml.replace("xmlns=", "xmlns:x=").encode()
    assert Package.from_bytes(zipped(prefixed), "x").sheets() == expected


def test_sheets_with_odd_targets() -> None:
    """A target that is absolute, or differs in the case of its letters, leads to the part all the same."""
    odd = dict(GOOD)
    odd["xl/_rels/workbook.xml.rels"] = odd["xl/_rels/workbook.xml.rels"].replace(
        b'"worksheets/sheet1.xml"', b'"/xl/Worksheets/Sheet1.xml"'
    )
    assert Package.from_bytes(zipped(odd), "x").sheets()["In"] == "xl/worksheets/sheet1.xml"


def test_parts_whose_names_are_coded() -> None:
    """A part is the one that a target names, whether the zip has its name with a blank or with %20."""
    for name in ("Blatt 1.xml", "Blatt%201.xml"):
        odd = {
            f"xl/worksheets/{name}" if part == "xl/worksheets/sheet1.xml" else part: data for part, data in GOOD.items()
        }
        odd["xl/_rels/workbook.xml.rels"] = odd["xl/_rels/workbook.xml.rels"].replace(b"sheet1.xml", b"Blatt%201.xml")
        assert Package.from_bytes(zipped(odd), "x").sheets()["In"] == f"xl/worksheets/{name}"


def test_chart_sheets_are_left_out() -> None:
    """A chart sheet is not a worksheet."""
    odd = dict(GOOD)
    odd["xl/_rels/workbook.xml.rels"] = odd["xl/_rels/workbook.xml.rels"].replace(b'/worksheet"', b'/chartsheet"', 1)
    assert list(Package.from_bytes(zipped(odd), "x").sheets()) == ["Out & more"]


def _twice() -> bytes:
    buffer = io.BytesIO(zipped(GOOD))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("XL/workbook.xml", b"<workbook/>")
    return buffer.getvalue()


def _bomb() -> bytes:
    buffer = io.BytesIO(zipped(GOOD))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/bomb.xml", bytes(32 << 20))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"a,b\n1,2\n", "a text, such as a CSV"),
        (b"a;b\r\nK\xe4se;2\r\n", "a text, such as a CSV"),
        ("a\tb\n1\t2\n".encode("utf-16"), "a text, such as a CSV"),
        (b'<?xml version="1.0"?>\n<html><table><tr><td>1</td></tr></table></html>', "an HTML page.* save it as .xlsx"),
        (b"\n<!DOCTYPE HTML><html></html>", "an HTML page"),
        (b'<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>', "an XML document"),
        (bytes(range(256)), "not an .xlsx"),
        (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (b"\xd0\xcf\x11\xe0" + bytes(100), "old .xls"),
        (zipped({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet"}), "OpenDocument"),
        (zipped({**GOOD, "xl/workbook.bin": b""}), ".xlsb"),
        (zipped({**GOOD, "_xmlsignatures/sig1.xml": b"<a/>"}), "signed"),
        (zipped({"word/document.xml": b"<a/>"}), "no workbook"),
        (zipped({**GOOD, "xl/workbook.xml": b"<document/>"}), "a document, not a workbook"),
        (zipped({**GOOD, "xl/workbook.xml": b"<workbook>"}), "not valid XML"),
        (zipped({**GOOD, "../evil.xml": b"<a/>"}), "not a name"),
        (zipped({**GOOD, "/etc/evil.xml": b"<a/>"}), "not a name"),
        (zipped({**GOOD, "C:\\evil.xml": b"<a/>"}), "not a name"),
        (zipped({**GOOD, "xl/x.xml": b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}), "document type"),
        (zipped({**GOOD, "xl/x.xml": "<!DOCTYPE a><a/>".encode("utf-16")}), "document type"),
        (_twice(), "twice"),
        (_bomb(), "zip bomb"),
        (zipped(GOOD)[:-100], "its end is missing; copy or download it again"),
        (zipped({"Index/Document.iwa": b"a"}), "an Apple Numbers document; export it to Excel"),
        (zipped(GOOD).replace(b"PK\3\4", b"PK\3\5"), "damaged"),
    ],
)
def test_refusals(data: bytes, reason: str, tmp_path: Path) -> None:
    """What can't be read, or edited safely, is refused with a reason, in one line that names the file."""
    path = tmp_path / "bad.xlsx"
    path.write_bytes(data)
    with pytest.raises(UserError, match=reason) as caught:
        Package.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_refusal_of_encrypted_members_and_odd_compression() -> None:
    """Members with the encryption flag, or compressed by LZMA, are refused."""
    flagged = bytearray(zipped(GOOD))
    flagged[flagged.index(b"PK\1\2") + 8] |= 1
    with pytest.raises(UserError, match="encrypted"):
        Package.from_bytes(bytes(flagged), "x")
    buffer = io.BytesIO(zipped(GOOD))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("xl/x.xml", b"<a/>", zipfile.ZIP_LZMA)
    with pytest.raises(UserError, match="compressed"):
        Package.from_bytes(buffer.getvalue(), "x")


def test_refusal_of_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """More bytes or more parts than any workbook has are refused before they are read."""
    monkeypatch.setattr(opc, "MAX_BYTES", 100)
    with pytest.raises(UserError, match="implausibly large"):
        Package.from_bytes(zipped(GOOD), "x")


def test_refusal_of_what_is_no_file(tmp_path: Path) -> None:
    """A missing file and a folder are refused in words."""
    with pytest.raises(UserError, match="no such file"):
        Package.read(tmp_path / "none.xlsx")
    with pytest.raises(UserError, match="not a file"):
        Package.read(tmp_path)


def test_write_changes_one_part_only(book: Path) -> None:
    """After an edit every other part and the file's mode are the same, and no other file is there."""
    book.chmod(0o640)
    mode = book.stat().st_mode  # Windows knows read-only alone
    package = Package.read(book)
    before = dict(package.parts)
    package.replace("xl/worksheets/sheet1.xml", sheet("").encode())
    package.write(book)
    after = Package.read(book).parts
    assert list(after) == list(before)
    assert {name for name in before if after[name] != before[name]} == {"xl/worksheets/sheet1.xml"}
    assert book.stat().st_mode == mode
    assert list(book.parent.iterdir()) == [book]


def test_a_copy_is_as_private_as_the_file(book: Path) -> None:
    """The file as it was, beside a workbook that only its owner reads, is read by nobody else."""
    book.chmod(0o600)
    assert kept_beside(book).stat().st_mode & 0o777 == 0o600


def test_replace_knows_its_parts(book: Path) -> None:
    """A part that doesn't exist isn't made."""
    with pytest.raises(KeyError):
        Package.read(book).replace("xl/nothing.xml", b"")


@pytest.mark.parametrize(("lock", "program"), [("~$plan.xlsx", "Excel"), (".~lock.plan.xlsx#", "LibreOffice")])
def test_write_refuses_an_open_file(book: Path, lock: str, program: str) -> None:
    """A lock file beside the workbook means that it is open, and it is left alone."""
    package = Package.read(book)
    book.with_name(lock).touch()
    with pytest.raises(UserError, match=f"open in {program}"):
        package.write(book)


def test_write_refuses_a_file_that_changed_meanwhile(book: Path) -> None:
    """Edits that another program saved since are not overwritten; our own may be, again and again."""
    package = Package.read(book)
    package.write(book)
    package.write(book)
    book.write_bytes(book.read_bytes() + b" ")
    with pytest.raises(UserError, match="meanwhile"):
        package.write(book)


def test_write_refuses_what_reads_back_differently(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the written file doesn't hold what it should, the old file stays."""
    package, old = Package.read(book), book.read_bytes()
    monkeypatch.setattr(Package, "to_bytes", lambda *_, **__: zipped(GOOD))
    with pytest.raises(UserError, match="reads back differently"):
        package.write(book)
    assert book.read_bytes() == old
    assert list(book.parent.iterdir()) == [book]


@pytest.mark.parametrize(
    "failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), MemoryError()]
)
@pytest.mark.parametrize("where", ["os.fsync", "pathlib.Path.replace"])
def test_failure_leaves_the_old_file(
    book: Path, monkeypatch: pytest.MonkeyPatch, where: str, failure: BaseException
) -> None:
    """A full disk or Ctrl-C at any step leaves the old file whole and no other behind."""

    def fail(*arguments: object) -> None:
        raise failure

    package, old = Package.read(book), book.read_bytes()
    monkeypatch.setattr(where, fail)
    with pytest.raises(UserError if isinstance(failure, OSError) else type(failure)):
        package.write(book)
    assert book.read_bytes() == old
    assert list(book.parent.iterdir()) == [book]


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_kill_leaves_the_old_file(book: Path) -> None:
    """A process that is killed in the middle of writing leaves the old file whole."""
    old = book.read_bytes()
    script = (
        "import os, signal, sys, pathlib, planner.xlsx.atomic as atomic\n"
        "atomic.os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "atomic.write_atomically(pathlib.Path(sys.argv[1]), bytes(1000))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(book)], check=False, cwd=Path(__file__).resolve().parents[1]
    )
    assert done.returncode == -signal.SIGKILL
    assert book.read_bytes() == old


def test_write_atomically_follows_links(tmp_path: Path) -> None:
    """A link stays a link, and the file it leads to gets the content."""
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_bytes(b"old")
    try:
        link.symlink_to(real)
    except OSError:
        pytest.skip("no symbolic links here")
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_write_atomically_makes_a_new_file(tmp_path: Path) -> None:
    """A file that doesn't exist yet is made; in a folder that doesn't exist it is refused in words."""
    write_atomically(tmp_path / "new.bin", b"x")
    assert (tmp_path / "new.bin").read_bytes() == b"x"
    with pytest.raises(UserError, match="can't be written"):
        write_atomically(tmp_path / "none" / "new.bin", b"x")


def with_linked(part: str, data: bytes | None) -> Callable[[], object]:
    """What reads a workbook whose relationships name a part with this content; None where it isn't there."""
    kind = posixpath.splitext(posixpath.basename(part))[0]
    content = parts({"Data": sheet("")})
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    link = f'<Relationship Id="rId9" Type="{office}/{kind}" Target="/{part}"/></Relationships>'
    rels = "xl/_rels/workbook.xml.rels"
    content[rels] = content[rels].replace(b"</Relationships>", link.encode())
    content.pop(part, None)
    if data is not None:
        content[part] = data
    package = Package.from_bytes(zipped(content), "x.xlsx")
    return partial(Stylesheet.of if kind == "styles" else shared_strings, package)


@pytest.mark.parametrize("part", ["xl/styles.xml", "xl/sharedStrings.xml"])
def test_refusal_of_a_malformed_part(part: str) -> None:
    """A part that is no XML is named in one line, with the reason."""
    with pytest.raises(UserError, match=f"its part {part} is not valid XML \\(Opening and ending tag mismatch"):
        with_linked(part, b"<styleSheet><fonts></styleSheet>")()


def test_refusal_of_a_missing_part() -> None:
    """Shared texts that a relationship names and that aren't there: file, part and remedy in one line."""
    with pytest.raises(UserError, match=r"^x.xlsx: .*: its part xl/sharedStrings.xml is missing; open it in a spread"):
        with_linked("xl/sharedStrings.xml", None)()


def test_parts_in_utf_16_are_read_as_any_other() -> None:
    """They are legal XML: they are in UTF-8 from the moment they are read, and say so."""
    plain = parts({"In": sheet(CELL), "\N{LATIN SMALL LETTER U WITH DIAERESIS}ber": sheet(CELL)})
    others = {
        name: text.replace("UTF-8", "UTF-16").encode("utf-16") if name.endswith((".xml", ".rels")) else data
        for name, data in plain.items()
        for text in [data.decode() if isinstance(data, bytes) else data]
    }
    package = Package.from_bytes(zipped(others), "x")
    assert list(package.sheets()) == ["In", "\N{LATIN SMALL LETTER U WITH DIAERESIS}ber"]
    assert package.parts == Package.from_bytes(zipped(plain), "x").parts
