"""Reads a JSON file, gzipped or not, incrementally: trace events one at a time, everything else as one value.

A trace of a gigabyte needs a few megabytes, because the decoder works on a buffer that slides over the text.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from planner import progress
from planner.errors import Place, UserError
from planner.profiles.unsupported import GIVE

EVENTS = "traceEvents"
_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 19  # characters to read at once
_LONGEST = 64 << 20  # most characters of a value
_SPACE = " \t\r\n"
_TELL = 100_000  # events between two progress messages


def is_gzipped(path: Path) -> bool:
    """Whether a file's first bytes are those of gzip."""
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def unpacked(path: Path) -> IO[bytes]:
    """A file's bytes, decompressed if gzipped."""
    return cast("IO[bytes]", gzip.open(path)) if is_gzipped(path) else path.open("rb")


def walk(path: Path, each: Callable[[dict[str, Any]], None]) -> Any:
    """Call `each` with every event of a trace, and return everything else in the file.

    A trace is an object with `traceEvents`, or a list of objects with a phase (`ph`). Raises UserError for a file that
    isn't a single JSON document, is truncated, or can't be read.
    """
    again = "it seems cut short or damaged: copy it again, or capture it again"
    try:
        with path.open("rb") as raw:
            size = raw.seek(0, io.SEEK_END)
            raw.seek(0)
            stream = gzip.GzipFile(fileobj=raw) if is_gzipped(path) else raw
            walk = _Walk(stream, each, lambda: f"{raw.tell() / max(size, 1):.0%} of {path.name}")
            found = walk.document()
            if behind := walk.behind():
                if isinstance(found, dict) and EVENTS not in found and behind.startswith("{"):
                    what = "this is JSON line by line, as logs and Nsight Systems write it, and no profile"
                    raise UserError(what, place=Place(path), remedy=GIVE)
                what = f"behind the end of its JSON comes {behind!r}: are these several files in one?"
                raise UserError(what, place=Place(path), remedy="give each as it was written")
            return found
    except EOFError:
        raise UserError("the file ends in the middle", place=Place(path), remedy=again) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"the gzip file is damaged ({error})", place=Place(path), remedy=again) from None
    except OSError as error:
        raise UserError(f"can't be read: {error.strerror or error}", place=Place(path)) from None
    except RecursionError:
        what = "this is nested too deeply for a trace or a table"
        raise UserError(what, place=Place(path), remedy=again) from None
    except ValueError as error:
        raise UserError(f"this is not JSON: {error}", place=Place(path), remedy=again) from None


class _Walk:
    """A text buffer and the position in it."""

    def __init__(self, stream: Any, each: Callable[[dict[str, Any]], None], far: Callable[[], str]) -> None:
        self._stream, self._each, self._far = stream, each, far
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        # NaN and infinity, such as a rate over zero time, count as missing
        self._scan = json.JSONDecoder(strict=False, parse_constant=lambda _: None).raw_decode
        self._text, self._at, self._count, self._ended = "", 0, 0, False

    def document(self) -> Any:
        """The whole document except its events. The caller has seen that it begins with a bracket."""
        return self._list() if self._peek() == "[" else self._object()

    def behind(self) -> str:
        """The beginning of any text after the document; empty if there is none."""
        self._peek()
        return self._text[self._at : self._at + 12].strip("\0")  # NUL padding at the end of a file

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        while self._peek() not in ("}", ""):
            key = self._value()
            self._expect(":")
            found[str(key)] = self._list() if key == EVENTS and self._peek() == "[" else self._value()
            if self._peek() == ",":
                self._at += 1
        self._expect("}")
        return found

    def _list(self) -> list[Any]:
        """The items that are not events; events are passed to `each`."""
        rest = []
        self._at += 1
        while self._peek() not in ("]", ""):
            item = self._value()
            if isinstance(item, dict) and ("ph" in item or not item):
                self._each(item)
                self._count += 1
                if self._count % _TELL == 0:
                    progress.step(f"reading {self._far()}")
            else:
                rest.append(item)
            if self._peek() == ",":
                self._at += 1
        self._expect("]")
        return rest

    def _value(self) -> Any:
        """The value at this position, reading more text until it is complete."""
        self._peek()
        wanted = _CHUNK
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                # a value that is merely incomplete fails at the end, or is an unterminated string
                cut = error.pos > len(self._text) - 12 or error.msg.startswith("Unterminated")
                if not cut or wanted > _LONGEST:
                    raise ValueError(f"{error.msg} at {self._text[error.pos : error.pos + 12]!r}") from None
                if self._ended:
                    raise EOFError from None
                value, end = None, len(self._text)
            if end < len(self._text) or self._ended:
                self._at = end
                return value
            self._more(wanted)
            wanted *= 2

    def _peek(self) -> str:
        """The next non-space character; empty at the end."""
        while True:
            text, at = self._text, self._at
            while at < len(text) and text[at] in _SPACE:
                at += 1
            self._at = at
            if at < len(text) or self._ended:
                return text[at : at + 1]
            self._more(_CHUNK)

    def _expect(self, character: str) -> None:
        found = self._peek()
        if not found:
            raise EOFError
        if found != character:
            raise ValueError(f"{character!r} expected, not {self._text[self._at : self._at + 12]!r}")
        self._at += 1

    def _more(self, wanted: int) -> None:
        """Read on, discarding text already parsed."""
        chunk = self._stream.read(wanted)
        self._ended = not chunk
        self._text = self._text[self._at :] + self._decode(chunk, not chunk)
        self._at = 0
