"""What a file is refused for before it becomes a Package: another format, or something no workbook needs."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping

from planner.errors import Place, UserError

MAX_BYTES = 1 << 30
MAX_PARTS = 20_000
MAX_RATIO = 400  # deflate can reach 1,032; a real sheet stays below 100
_RATIO_COUNTS_FROM = 16 << 20
_BAD_NAME = re.compile(r"^$|^/|^[A-Za-z]:|\\|(^|/)\.\.?(/|$)|//|\0")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")


def refusal(name: str, reason: str, remedy: str = "") -> UserError:
    """The error that says why the workbook called `name` is not read."""
    return UserError(f"the workbook can't be used: {reason}", place=Place(name), remedy=remedy)


def refuse_foreign(data: bytes, name: str) -> None:
    """Raise UserError for bytes that are no zip, and say what they are where that can be seen."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise refusal(name, "it is encrypted", "save it without a password")
        raise refusal(name, "it is an old .xls workbook", "save it as .xlsx")
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise refusal(name, "it is not an .xlsx file" if data else "the file is empty")


def refuse_unsafe(infos: list[zipfile.ZipInfo], name: str) -> None:
    """Raise UserError for a zip that no spreadsheet program writes and that could do harm."""
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
    """Raise UserError for another kind of document, a signed one, or XML that could define entities."""
    if parts.get("mimetype", b"").startswith(b"application/vnd.oasis.opendocument"):
        raise refusal(name, "it is an OpenDocument file", "save it as .xlsx")
    for part, data in parts.items():
        lower = part.lower()
        if lower.endswith("workbook.bin"):
            raise refusal(name, "it is an .xlsb workbook", "save it as .xlsx or .xlsm")
        if lower.startswith("_xmlsignatures/"):
            raise refusal(name, "it is digitally signed", "remove the signature: an edit would break it")
        if lower.endswith((".xml", ".rels", ".vml")):
            plain = data.replace(b"\0", b"") if data.startswith(_UTF_16) else data
            if b"<!DOCTYPE" in plain or b"<!ENTITY" in plain:
                raise refusal(name, f"its part {part} declares a document type, which no workbook needs")
