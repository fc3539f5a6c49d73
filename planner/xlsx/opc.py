"""The .xlsx as a package, a zip of parts: some are changed, and every other byte stays.

Before that, a file is refused if it has another format, or content that no workbook needs.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import unquote

from planner import garbage_collection, progress
from planner.errors import Place, UserError
from planner.xlsx.atomic import locked, write_atomically
from planner.xlsx.xmltree import Element, link_id, local_name, parse, written

T = TypeVar("T")
Stamp = tuple[int, int, int, int, int, int]
COMPRESSED = 5  # files are 2 to 4 % larger than at the default level, 6, and take 0.6 times as long
MACRO_ENABLED = b"sheet.macroEnabled.main+xml"  # in the content type of a workbook that may have macros
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, UnicodeError)


class Relationship(NamedTuple):
    """A relationship of a part: its id, the last word of its type, and its target part."""

    id: str
    kind: str
    target: str


class _Seen(NamedTuple):
    """The file's state when it was last read or written."""

    path: Path
    modified: int
    size: int

    @classmethod
    def at(cls, path: Path) -> _Seen:
        stat = path.stat()
        return cls(path.resolve(), stat.st_mtime_ns, stat.st_size)


@dataclass
class Package:
    """All parts of a workbook, in zip order, to be read, replaced and written."""

    name: str
    parts: dict[str, bytes]
    _infos: dict[str, zipfile.ZipInfo] = field(repr=False)
    _comment: bytes = b""
    _seen: _Seen | None = None

    @classmethod
    def read(cls, path: Path) -> Package:
        """The package at `path`.

        Raises UserError with the reason if it can't be read, or not be edited without risk of loss.
        """
        try:
            if path.exists() and not path.is_file():
                raise refusal(str(path), "it is not a file")
            seen = _Seen.at(path)
            if seen.size > MAX_BYTES:
                raise refusal(str(path), "it is larger than 1 GiB")
            data = path.read_bytes()
        except OSError as error:
            raise refusal(str(path), (error.strerror or str(error)).lower()) from error
        package = cls.from_bytes(data, str(path))
        package._seen = seen
        return package

    @classmethod
    def from_bytes(cls, data: bytes, name: str) -> Package:
        """The package whose file has the content `data`; `name` is for messages. Raises UserError as `read` does."""
        refuse_foreign(data, name)
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                infos = archive.infolist()
                refuse_unsafe(infos, name)
                parts = {info.filename: _in_utf_8(archive.read(info), info.filename) for info in infos}
                comment = archive.comment
        except _UNREADABLE as error:
            raise refusal(name, f"the file is damaged ({error})") from error
        refuse_content(parts, name)
        package = cls(name, parts, {info.filename: info for info in infos}, comment)
        package.workbook_part()
        return package

    def workbook_part(self) -> str:
        """The part that lists the sheets, normally `xl/workbook.xml`. Raises UserError if there is none."""
        for link in self.relationships(""):
            if link.kind == "officeDocument" and link.target in self.parts:
                root, _ = self._read(link.target, _sheets_of)
                if root != "workbook":
                    raise refusal(self.name, f"it is a {root}, not a workbook")
                return link.target
        raise refusal(self.name, "it has no workbook part")

    def relationships(self, part: str) -> list[Relationship]:
        """The relationships of `part`; `""` is the package itself."""
        folder, file = posixpath.split(part)
        rels = self._resolve(folder, f"_rels/{file}.rels")
        if rels not in self.parts:
            return []
        links = self._read(rels, _links_of)
        return [Relationship(name, kind, self._resolve(folder, target)) for name, kind, target in links]

    def linked(self, part: str, *kinds: str) -> list[str]:
        """The existing target parts of a part's relationships of these types."""
        return [link.target for link in self.relationships(part) if link.kind in kinds and link.target in self.parts]

    def sheets(self) -> dict[str, str]:
        """Each worksheet's name and part, in tab order; chart sheets are left out."""
        workbook = self.workbook_part()
        targets = {
            link.id: link.target
            for link in self.relationships(workbook)
            if link.kind == "worksheet" and link.target in self.parts
        }
        _, sheets = self._read(workbook, _sheets_of)
        return {name: targets[link] for name, link in sheets if link in targets}

    def tree(self, part: str) -> Element:
        """The root of a part's XML. Raises UserError if it isn't valid, or the part is missing."""
        return self._read(part, parse)

    def _read(self, part: str, reader: Callable[[bytes], T]) -> T:
        """What a reader of XML makes of a part. Raises UserError as `tree` does."""
        if part not in self.parts:
            raise refusal(self.name, f"its part {part} is missing", "open it in a spreadsheet program and save it anew")
        try:
            return reader(self.parts[part])
        except SyntaxError as error:
            raise refusal(self.name, f"its part {part} is not valid XML ({error.msg})") from error

    @contextmanager
    def edited(self, part: str) -> Iterator[Element]:
        """A context with the root of a part's XML, to be changed; if it didn't change, the part keeps its bytes."""
        root = self.tree(part)
        before = written(root)
        yield root
        if (new := written(root)) != before:
            self.replace(part, new)

    def replace(self, part: str, data: bytes) -> None:
        """Replace the content of an existing part."""
        if part not in self.parts:
            raise KeyError(part)
        self.parts[part] = data

    def add(self, part: str, data: bytes) -> None:
        """Add a new part after the others; relationships to it and its content type are up to the caller."""
        if part in self.parts:
            raise KeyError(part)
        latest = max((info.date_time for info in self._infos.values()), default=(1980, 1, 1, 0, 0, 0))
        info = zipfile.ZipInfo(part, latest)
        info.compress_type = zipfile.ZIP_DEFLATED
        self.parts[part], self._infos[part] = data, info

    def remove(self, part: str) -> None:
        """Remove a part; relationships to it and its content type are up to the caller."""
        del self.parts[part], self._infos[part]

    def to_bytes(self, *, stamp: Stamp | None = None) -> bytes:
        """The file, with every part's place, time and attributes; `stamp` is one time for all."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.comment = self._comment
            for name, data in self.parts.items():
                archive.writestr(_header(self._infos[name], stamp), data, compresslevel=COMPRESSED)
        return buffer.getvalue()

    def write(self, path: Path) -> None:
        """Write the file like `write_atomically`, comparing every part with what was written before the old one goes.

        Raises UserError if it can't be written, if the file has changed since it was read, or if another file's ending
        doesn't fit.
        """
        same = self._seen is not None and path.resolve() == self._seen.path
        if not same:
            self._refuse_ending(path)
        if same and (not path.exists() or _Seen.at(path) != self._seen):
            what, remedy = "another program has changed the file meanwhile", f"{progress.outcome()}; run this again"
            raise UserError(what, place=Place(path), remedy=remedy)
        write_atomically(path, self.to_bytes(), check=self._check)
        self._seen = _Seen.at(path)

    def _refuse_ending(self, path: Path) -> None:
        """Raise UserError for an ending with which Excel doesn't open the file: .xlsm is for one with macros alone."""
        ending = ".xlsm" if MACRO_ENABLED in self.parts.get("[Content_Types].xml", b"") else ".xlsx"
        if path.suffix.lower() in (".xlsx", ".xlsm") and path.suffix.lower() != ending:
            what = "the workbook has macros" if ending == ".xlsm" else "the workbook has no macros"
            raise UserError(
                f"{what}, and Excel opens it only as {ending}", place=Place(path), remedy=f"name it {ending}"
            )

    def _check(self, written: Path) -> None:
        """Compare the written file part by part, so that two workbooks are never in memory."""
        with suppress(*_UNREADABLE), zipfile.ZipFile(written) as archive:
            same_names = archive.namelist() == list(self.parts)
            if same_names and all(archive.read(name) == data for name, data in self.parts.items()):
                return
        what, remedy = "what was written reads back differently", "the file is as it was; is the disk sound?"
        raise UserError(what, place=Place(self.name), remedy=remedy)

    def _resolve(self, folder: str, target: str) -> str:
        """The part that a relationship's target names, seen from `folder`; case and %20 are ignored."""
        path = posixpath.normpath(posixpath.join("/", folder, unquote(target)))[1:]
        if path in self.parts:
            return path
        return next((part for part in self.parts if unquote(part).lower() == path.lower()), path)


@lru_cache(maxsize=128)
def _links_of(rels: bytes) -> tuple[tuple[str, str, str], ...]:
    """Id, last word of the type and target of each relationship in a part of them, but for those to the outside."""
    return tuple(
        (element.get("Id", ""), element.get("Type", "").rpartition("/")[2], element.get("Target", ""))
        for element in parse(rels)
        if element.get("TargetMode") != "External"
    )


@lru_cache(maxsize=16)  # a workbook is asked for its sheets with nearly everything that is done with it
def _sheets_of(workbook: bytes) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The name of a workbook part's root, and the name and the relationship of each sheet, in tab order."""
    root = parse(workbook)
    sheets = (element for element in root.iter() if local_name(element) == "sheet")
    return local_name(root), tuple((element.get("name", ""), link_id(element)) for element in sheets)


@contextmanager
def in_place(path: Path) -> Iterator[Package]:
    """A context with the package at `path`, which is locked, and written at the end.

    Raises UserError as `locked`, `Package.read` and `write` do.
    """
    with locked(path), garbage_collection.paused():
        package = Package.read(path)
        yield package
        package.write(path)


def _header(info: zipfile.ZipInfo, stamp: Stamp | None) -> zipfile.ZipInfo:
    """A new zip header for the same member, without extra fields, which describe the old bytes."""
    header = zipfile.ZipInfo(info.filename, stamp or info.date_time)
    for attribute in ("compress_type", "comment", "create_system", "external_attr", "internal_attr"):
        setattr(header, attribute, getattr(info, attribute))
    return header


MAX_BYTES = 1 << 30
MAX_PARTS = 20_000
MAX_RATIO = 400  # deflate can reach 1,032; a real sheet stays below 100
_RATIO_COUNTS_FROM = 16 << 20
_BAD_NAME = re.compile(r"^$|^/|^[A-Za-z]:|\\|(^|/)\.\.?(/|$)|//|\0")
_SAVE_ANEW = "open it in a spreadsheet program and save it as .xlsx"
_BEGINNING = 4096  # bytes that identify the type of a file
_UTF_16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")


def refusal(name: str, reason: str, remedy: str = "") -> UserError:
    """The error that says why the workbook `name` can't be used."""
    return UserError(f"the workbook can't be used: {reason}", place=Place(name), remedy=remedy)


def refuse_foreign(data: bytes, name: str) -> None:
    """Raise UserError for bytes that are no zip, saying what they are if possible."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise refusal(name, "it is encrypted", "save it without a password")
        raise refusal(name, "it is an old .xls workbook", "save it as .xlsx")
    if not zipfile.is_zipfile(io.BytesIO(data)):
        if not data:
            raise refusal(name, "the file is empty")
        raise refusal(name, *_not_a_zip(data[:_BEGINNING]))


def _in_utf_8(data: bytes, part: str) -> bytes:
    """An XML part in UTF-8, whatever its encoding, since parts are searched as UTF-8 bytes."""
    if not data.startswith(_UTF_16[:2]) or not part.lower().endswith((".xml", ".rels", ".vml")):
        return data
    declared = re.compile(r"""^(\s*<\?xml\b[^>]*?\sencoding=)(["'])[\w-]+\2""")
    return declared.sub(r"\1\2UTF-8\2", data.decode("utf-16")).encode()


def _not_a_zip(beginning: bytes) -> tuple[str, str]:
    """What a file that is no zip is, judged by its beginning, and a remedy, as far as known."""
    if beginning.startswith(b"PK\3\4"):
        return "its end is missing", "copy or download it again"
    text = beginning.decode("utf-16" if beginning.startswith(_UTF_16[:2]) else "utf-8", errors="ignore")
    if re.match(r"\s*(?:<\?xml\b[^>]*>|<!--.*?-->|\s)*<(?:!doctype\s+html|html|head|body|table)\b", text, re.I | re.S):
        return "it is an HTML page, whatever its name ends in", _SAVE_ANEW
    if re.match(r"\s*<\?xml\b", text):
        return "it is an XML document, whatever its name ends in", _SAVE_ANEW
    if text and all(character.isprintable() or character in "\t\r\n\ufeff" for character in text):
        remedy = "save it as .xlsx, or give it, named .csv, to a command that reads a CSV"
        return "it is a text, such as a CSV, whatever its name ends in", remedy
    return "it is not an .xlsx file", ""


def refuse_unsafe(infos: list[zipfile.ZipInfo], name: str) -> None:
    """Raise UserError for a zip that no spreadsheet program writes and that may do harm."""
    if len(infos) > MAX_PARTS or sum(info.file_size for info in infos) > MAX_BYTES:
        raise refusal(name, "its parts are implausibly large or many (a zip bomb?)")
    seen: set[str] = set()
    for info in infos:
        part = info.filename
        if info.file_size > max(_RATIO_COUNTS_FROM, MAX_RATIO * info.compress_size):
            raise refusal(name, f"its part {part} is implausibly compressed (a zip bomb?)")
        if info.flag_bits & 0x1:
            raise refusal(name, f"its part {part} is encrypted", "save it without a password")
        if part.lower() in seen:
            raise refusal(name, f"its part {part} occurs twice")
        if _BAD_NAME.search(info.orig_filename):
            raise refusal(name, f"{info.orig_filename!r} is not a name that a part can have")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise refusal(name, f"its part {part} is compressed in a way that Excel can't read")
        seen.add(part.lower())


def refuse_content(parts: Mapping[str, bytes], name: str) -> None:
    """Raise UserError for another type of document, a signed one, or XML that could define entities."""
    if parts.get("mimetype", b"").startswith(b"application/vnd.oasis.opendocument"):
        raise refusal(name, "it is an OpenDocument file", "save it as .xlsx")
    for part, data in parts.items():
        lower = part.lower()
        if lower.endswith(".iwa"):
            raise refusal(name, "it is an Apple Numbers document", "export it to Excel: File > Export To")
        if lower.endswith("workbook.bin"):
            raise refusal(name, "it is an .xlsb workbook", "save it as .xlsx or .xlsm")
        if lower.startswith("_xmlsignatures/"):
            raise refusal(name, "it is digitally signed", "remove the signature: an edit would break it")
        if lower.endswith((".xml", ".rels", ".vml")):
            plain = data.replace(b"\0", b"") if data.startswith(_UTF_16) else data
            if b"<!DOCTYPE" in plain or b"<!ENTITY" in plain:
                raise refusal(name, f"its part {part} declares a document type, which no workbook needs")
