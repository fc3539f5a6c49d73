"""Which formulas an edit may reach, told from their text: the others need no engine, for their saved values stay.

What can't be told counts as reached: a name that leads to an edited sheet, INDIRECT, a table, a reference over several
sheets. So the engine may be given more than need be, and never less.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from planner.xlsx.address import column_number, coordinates
from planner.xlsx.opc import Package, local_name
from planner.xlsx.sheetxml import SheetXml

Address = tuple[str, str]
Sheets = Mapping[str, SheetXml]

_OWN = rb'(?: [\w:]+="[^"<]*")*'
_FORMULA = re.compile(rb"<f" + _OWN + rb"(?:/>|>([^<]*)</f>)")
_WITHOUT_VALUE = re.compile(rb"<c(" + _OWN + rb")><f" + _OWN + rb"(?:/>|>[^<]*</f>)(?:<v></v>|<v/>)?</c>")
_OPEN = (b"</f></c>", b"</f><v></v>", b"<v/>", b"/></c>")  # what a formula without a value ends in
_PLAIN = re.compile(rb'(<c r="([A-Z]+)([0-9]+)"' + _OWN + rb'>)<f(?: aca="[a-z0-9]+")?>([^<]*)</f>')
_PLAIN_PARTS = re.compile(_PLAIN.pattern.replace(b"(<c", b"<c", 1).replace(b">)<f", b"><f", 1))
_ENTITIES = {b"&quot;": b'"', b"&apos;": b"'", b"&lt;": b"<", b"&gt;": b">", b"&amp;": b"&"}
_OPAQUE = (b"[", b"indirect(", b"offset(", b"&#")  # a table or another file; a computed address; a coded character
_SEVERAL_SHEETS = re.compile(rb":[^!,()+*/^&=<>\"\n-]*!")
_TOKEN = re.compile(
    rb"""(?P<text>"[^"]*")|(?P<function>[A-Z][A-Z0-9.@]*\()|(?P<logical>TRUE|FALSE)\b
    |(?:(?P<sheet>'(?:[^']|'')*'|\w[\w.]*)!)?(?:
        \$?(?P<left>[A-Z]{1,3})\$?(?P<top>[0-9@]+)(?::\$?(?P<right>[A-Z]{1,3})\$?(?P<bottom>[0-9@]+))?
        |\$?(?P<first>[A-Z]{1,3}):\$?(?P<last>[A-Z]{1,3}))(?![\w.(!@])
    |(?P<number>[0-9@]*\.?[0-9@]+(?:E[+-]?[0-9@]+)?)|[-+*/^&=<>(),%{};\s]|(?P<error>\#[A-Z/0]+[!?]?)""",
    re.VERBOSE,
)
_OWN_ROW = b"@"  # in a pattern: the number of the formula's own row


@dataclass(frozen=True)
class Scope:
    """For each sheet with formulas that may be reached their addresses; None where it is every one."""

    reached: Mapping[str, Collection[str] | None]

    def formulas(self, sheets: Sheets) -> Iterator[Address]:
        """The sheet and the address of every formula that may be reached."""
        for name, refs in self.reached.items():
            cells = sheets[name].cells
            yield from ((name, ref) for ref in (cells if refs is None else refs) if cells[ref].kind)

    def reduced(self, package: Package, sheets: Sheets) -> Package:
        """The workbook with every other formula turned into its saved value."""
        smaller = replace(package, parts=dict(package.parts))
        for name, part in package.sheets().items():
            refs = self.reached.get(name, ())
            if refs is not None:
                smaller.replace(part, _PLAIN.sub(_kept(refs), sheets[name].xml) if refs else _values(sheets[name].xml))
        return smaller


def _values(xml: bytes) -> bytes:
    return _FORMULA.sub(b"", xml)


def _kept(refs: Collection[str]) -> Callable[[re.Match[bytes]], bytes]:
    known = {ref.encode() for ref in refs}
    return lambda match: match[0] if match[2] + match[3] in known else match[1]


def scope_of(package: Package, sheets: Sheets, cells: Collection[Address]) -> Scope:
    """What an edit of these cells may reach: sheet by sheet, and in the edited sheet column by column."""
    if any(sheet.is_plain and _lacks_values(sheet.xml) for sheet in sheets.values()):
        return Scope(dict.fromkeys(sheets))  # such a formula is given one, whatever was edited
    texts = {name: _text(sheet.xml) for name, sheet in sheets.items()}
    reached = {name for name, _ in cells}
    edited = reached.copy()
    reached |= {name for name, sheet in sheets.items() if not sheet.is_plain or _is_opaque(texts[name])}
    reached |= {name for name, sheet in sheets.items() if b't="dataTable"' in sheet.xml}  # its inputs are no text
    names = _names(package)
    while True:
        leading = _leading(names, reached)
        words = [*_qualifiers(reached), *leading]
        more = {name for name in texts.keys() - reached if _mentions(texts[name], words)}
        if not more:
            break
        reached |= more
    found: dict[str, Collection[str] | None] = {name: None for name in sheets if name in reached}
    if len(edited) == 1:
        (name,) = edited
        if sheets[name].is_plain and not _is_opaque(texts[name]) and not _mentions(texts[name], leading):
            places = [coordinates(ref) for of, ref in cells if of == name]
            found[name] = _reached_in(sheets[name].xml, name, places, {other.lower() for other in reached})
    return Scope(found)


def _lacks_values(xml: bytes) -> bool:
    """Whether a formula has no saved value; an empty text is one."""
    return any(end in xml for end in _OPEN) and any(
        b' t="str"' not in match[1] for match in _WITHOUT_VALUE.finditer(xml)
    )


def _text(xml: bytes) -> bytes:
    """The sheet's formulas in lower case, one on a line."""
    return _unescaped(b"\n".join(_FORMULA.findall(xml))).lower()


def _is_opaque(text: bytes) -> bool:
    """Whether it can't be told which sheets are meant."""
    return _mentions(text, _OPAQUE) or bool(_SEVERAL_SHEETS.search(text))


def _unescaped(text: bytes) -> bytes:
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    return text


def _names(package: Package) -> dict[bytes, bytes]:
    """The workbook's defined names and what each stands for, in lower case."""
    return {
        element.get("name", "").lower().encode(): (element.text or "").lower().encode()
        for element in package.tree(package.workbook_part()).iter()
        if local_name(element) == "definedName"
    }


def _leading(names: Mapping[bytes, bytes], reached: Iterable[str]) -> list[bytes]:
    """The names that may lead to one of the sheets, by themselves or through other names."""
    words = list(_qualifiers(reached))
    found: list[bytes] = []
    while more := [
        name for name, text in names.items() if name not in found and (_is_opaque(text) or _mentions(text, words))
    ]:
        found += more
        words += more
    return found


def _qualifiers(sheets: Iterable[str]) -> Iterator[bytes]:
    """How a formula begins to name a cell of these sheets, in lower case."""
    for name in sheets:
        yield f"{name.lower()}!".encode()
        yield f"{name.lower().replace(chr(39), chr(39) * 2)}'!".encode()


def _mentions(text: bytes, words: Iterable[bytes]) -> bool:
    return any(word in text for word in words)


def _reached_in(
    xml: bytes, name: str, edited: Collection[tuple[int, int]], reached: Collection[str]
) -> Collection[str] | None:  # fmt: skip
    """The formulas of a sheet that edits of some of its cells may reach, or another of the sheets `reached` that does.

    A formula that reads only its own row is reached by an edit of that row. None where the formulas can't be read.
    """
    formulas = _PLAIN_PARTS.findall(xml)
    if len(formulas) != len(_FORMULA.findall(xml)):
        return None  # shared formulas, arrays
    reads: dict[bytes, set[Read]] = {}
    for column, pattern in {(column, text.replace(row, _OWN_ROW)) for column, row, text in formulas}:
        read = _reads(_unescaped(pattern), name.lower(), reached)
        if read is None:
            return None
        reads.setdefault(column, set()).update(read)
    whole = _columns(reads, {column for _, column in edited})
    every = {column: whole[at] for column in reads if (at := column_number(column.decode())) in whole}
    rows = {b"%d" % row for row, _ in edited}
    found = (column + row for column, row, _ in formulas if column in every and (every[column] or row in rows))
    return dict.fromkeys(ref.decode() for ref in found)


Read = tuple[int, int, bool]  # the first column, the last one, and whether it is the formula's own row alone
_ANOTHER_SHEET = (0, 0, False)


def _columns(reads: Mapping[bytes, Collection[Read]], edited: Collection[int]) -> dict[int, bool]:
    """The columns that may be reached: True in every row, False in those edited alone."""
    whole = dict.fromkeys(edited, False)
    numbered = {column_number(column.decode()): found for column, found in reads.items()}
    changed = True
    while changed:
        changed = False
        for column, found in numbered.items():
            for left, right, own in found:
                from_all = [every for at, every in whole.items() if left <= at <= right]
                if left and not from_all:
                    continue
                every = not own or any(from_all)
                if column not in whole or (every and not whole[column]):
                    whole[column] = every or whole.get(column, False)
                    changed = True
    return whole


def _reads(pattern: bytes, name: str, reached: Collection[str]) -> set[Read] | None:
    """What a formula reads of its own sheet, and whether it reads another that is reached; None if it can't be read."""
    found: set[Read] = set()
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            return None
        at = token.end()
        left, first = token["left"] or token["first"], token["first"]
        if left is None:
            continue
        if _OWN_ROW in (token["sheet"] or b""):
            return None
        sheet = (token["sheet"] or b"").decode().strip("'").replace("''", "'").lower() or name
        if sheet == name:
            right = token["last"] if first else token["right"] or left
            own = not first and token["top"] == _OWN_ROW and (token["bottom"] or _OWN_ROW) == _OWN_ROW
            low, high = sorted((column_number(left.decode()), column_number(right.decode())))
            found.add((low, high, own))
        elif sheet in reached:
            found.add(_ANOTHER_SHEET)
    return found
