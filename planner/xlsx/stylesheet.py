"""A workbook's styles: how a cell of it looks, and another workbook's looks taken into it behind its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from planner.xlsx.markup import Edit, apply_edits, element_end, is_empty, prefix, retagged, tag_end
from planner.xlsx.opc import Package
from planner.xlsx.xmltree import local_name

LISTS = ("numFmts", "fonts", "fills", "borders", "cellStyleXfs", "cellXfs", "cellStyles", "dxfs")
_IDS = {"fonts": b"fontId", "fills": b"fillId", "borders": b"borderId"}
FIRST_CUSTOM_FORMAT = 164
BUILT_IN = {"0": "General", "1": "0", "2": "0.00", "3": "#,##0", "4": "#,##0.00", "9": "0%", "10": "0.00%",
            "11": "0.00E+00", "49": "@"}  # fmt: skip


class Look(NamedTuple):
    """How a cell looks, by what a person sees and not by numbers that differ from file to file."""

    style: str
    number_format: str
    font: str
    fill: str
    border: str
    alignment: str
    is_locked: bool


class Stylesheet:
    """The styles part of a workbook: its lists, element by element. An index counts from 0."""

    def __init__(self, xml: bytes) -> None:
        self.xml = xml
        self.root = ElementTree.fromstring(xml)
        self._spans, self._ends, self._tags = _scanned(xml)
        self.prefix = prefix(xml, self._root_start())

    def raw(self, tag: str) -> list[bytes]:
        """The elements of a list as the file has them."""
        return [self.xml[start:end] for start, end in self._spans.get(tag, [])]

    @cached_property
    def looks(self) -> list[Look]:
        """The look of each number that a cell's attribute s can have."""
        names = {found.get("xfId", ""): found.get("name", "") for found in self._all("cellStyles")}
        formats = {found.get("numFmtId", ""): found.get("formatCode", "") for found in self._all("numFmts")}
        parts = {tag: [_seen(found) for found in self._all(tag)] for tag in ("fonts", "fills", "borders")}
        return [self._look(element, names, formats, parts) for element in self._all("cellXfs")]

    def _look(
        self, xf: ElementTree.Element, names: Mapping[str, str], formats: Mapping[str, str],
        parts: Mapping[str, list[str]],
    ) -> Look:  # fmt: skip
        def part(tag: str) -> str:
            number = int(xf.get(_IDS[tag].decode(), "0"))
            return parts[tag][number] if number < len(parts[tag]) else ""

        number = xf.get("numFmtId", "0")
        children = {local_name(child): child for child in xf}
        alignment, protection = children.get("alignment"), children.get("protection")
        told = ("horizontal", "wrapText", "textRotation")
        said = [_truth(alignment.get(name, "")) for name in told] if alignment is not None else []
        aligned = " ".join(word for word in said if word not in ("", "0", "general"))
        locked = protection is None or protection.get("locked", "1") not in ("0", "false")
        code = formats.get(number) or BUILT_IN.get(number, f"built-in {number}")
        return Look(names.get(xf.get("xfId", "0"), "Normal"), code.replace("\\", ""), part("fonts"),
                    part("fills"), part("borders"), aligned, locked)  # fmt: skip

    def _all(self, tag: str) -> list[ElementTree.Element]:
        return [child for found in self.root if local_name(found) == tag for child in found]

    def _root_start(self) -> int:
        return self._tags["styleSheet"][0]

    def with_more(self, more: Mapping[str, list[bytes]]) -> bytes:
        """The part with elements added at the end of its lists."""
        edits: list[Edit] = []
        for tag, elements in more.items():
            if not elements:
                continue
            content = b"".join(self._prefixed(element) for element in elements)
            if tag in self._tags:
                start, behind = self._tags[tag]
                end = tag_end(self.xml, start)
                count = b"%d" % (len(self._spans.get(tag, [])) + len(elements))
                opened = retagged(self.xml[start:end], (), {b"count": count})
                if is_empty(self.xml, end):
                    name = self.prefix + tag.encode()
                    edits.append(Edit(start, end, opened[:-2] + b">" + content + b"</%b>" % name))
                else:
                    edits += [Edit(start, end, opened), Edit(behind, behind, content)]
            else:
                at = max([self._ends[known] for known in LISTS[: LISTS.index(tag)] if known in self._ends],
                         default=tag_end(self.xml, self._root_start()))  # fmt: skip
                name = self.prefix + tag.encode()
                whole = b'<%b count="%d">%b</%b>' % (name, len(elements), content, name)
                edits.append(Edit(at, at, whole))
        return apply_edits(self.xml, edits)

    def _prefixed(self, element: bytes) -> bytes:
        if not self.prefix:
            return element
        return re.sub(rb"<(/?)(?=[A-Za-z])", rb"<\1" + self.prefix, element)


class Taken(NamedTuple):
    """The part with another's looks in it; the new number of each of the other's cell formats and differential ones."""

    xml: bytes
    formats: Mapping[int, int]
    differential: Mapping[int, int]


def taken_in(own: Stylesheet, other: Stylesheet, used: Iterable[int], differential: Iterable[int]) -> Taken:
    """`own` with the cell formats `used` of `other` and its `differential` ones; what is there serves again."""
    merger = _Merger(own, other)
    formats = {number: merger.format(number) for number in sorted(set(used))}
    dxfs = {number: merger.append("dxfs", other.raw("dxfs")[number]) for number in sorted(set(differential))}
    return Taken(own.with_more(merger.more), formats, dxfs)


class _Merger:
    def __init__(self, own: Stylesheet, other: Stylesheet) -> None:
        self.own, self.other = own, other
        self.more: dict[str, list[bytes]] = {tag: [] for tag in LISTS}
        self._known = {
            tag: {_canonical(raw): at for at, raw in reversed(list(enumerate(own.raw(tag))))} for tag in LISTS
        }
        self._counts = {tag: len(own.raw(tag)) for tag in LISTS}
        self._codes = {code: number for number, code in _formats(own).items()}
        self._styles = {_attribute(raw, b"name"): int(_attribute(raw, b"xfId")) for raw in own.raw("cellStyles")}

    def append(self, tag: str, raw: bytes) -> int:
        """The index of an element of a list, put there if it isn't."""
        key = _canonical(raw)
        if key not in self._known[tag]:
            self._known[tag][key] = self._counts[tag]
            self._counts[tag] += 1
            self.more[tag].append(raw)
        return self._known[tag][key]

    def format(self, number: int) -> int:
        """The index in `own` of a cell format of `other`."""
        raw = self.other.raw("cellXfs")[number]
        style = int(_attribute(raw, b"xfId") or b"0")
        return self.append("cellXfs", self._renumbered(raw, self._style(style)))

    def _style(self, xf: int) -> int:
        """The index in `own` of a named style's format, by its name."""
        named = next((raw for raw in self.other.raw("cellStyles") if int(_attribute(raw, b"xfId")) == xf), None)
        name = _attribute(named, b"name") if named is not None else b"Normal"
        if name not in self._styles:
            at = self._counts["cellStyleXfs"]
            self._counts["cellStyleXfs"] += 1
            self.more["cellStyleXfs"].append(self._renumbered(self.other.raw("cellStyleXfs")[xf], None))
            if named is not None:
                self.more["cellStyles"].append(_with(named, b"xfId", at))
            self._styles[name] = at
        return self._styles[name]

    def _renumbered(self, raw: bytes, style: int | None) -> bytes:
        for tag, attribute in _IDS.items():
            number = int(_attribute(raw, attribute) or b"0")
            raw = _with(raw, attribute, self.append(tag, self.other.raw(tag)[number]))
        number = int(_attribute(raw, b"numFmtId") or b"0")
        if number >= FIRST_CUSTOM_FORMAT:
            raw = _with(raw, b"numFmtId", self._format_code(_formats(self.other)[number]))
        return raw if style is None else _with(raw, b"xfId", style)

    def _format_code(self, code: bytes) -> int:
        if code not in self._codes:
            number = max([FIRST_CUSTOM_FORMAT - 1, *self._codes.values()]) + 1
            self._codes[code] = number
            self.more["numFmts"].append(b'<numFmt numFmtId="%d" formatCode="%b"/>' % (number, code))
        return self._codes[code]


def of_package(package: Package) -> tuple[str, Stylesheet] | None:
    """The styles part of a workbook and what is in it; None where it has none."""
    for link in package.relationships(package.workbook_part()):
        if link.kind == "styles" and link.target in package.parts:
            return link.target, Stylesheet(package.parts[link.target])
    return None


def _formats(sheet: Stylesheet) -> dict[int, bytes]:
    return {int(_attribute(raw, b"numFmtId")): _attribute(raw, b"formatCode") for raw in sheet.raw("numFmts")}


def _attribute(raw: bytes, name: bytes) -> bytes:
    match = re.search(rb"""\s%b=(?:"([^"]*)"|'([^']*)')""".replace(b"%b", re.escape(name)), raw[: raw.find(b">") + 1])
    return (match[1] if match[1] is not None else match[2]) if match else b""


def _with(raw: bytes, name: bytes, number: int) -> bytes:
    end = tag_end(raw, 0)
    return retagged(raw[:end], (), {name: b"%d" % number}) + raw[end:]


def _canonical(raw: bytes) -> str:
    """An element's content however it is spelt."""
    plain = re.sub(rb"<(/?)\w+:(?=\w)", rb"<\1", raw)
    plain = re.sub(rb"\s(?!xml:)\w+:(\w+=)", rb" \1", plain)
    return _whole(ElementTree.fromstring(plain))


def _whole(element: ElementTree.Element) -> str:
    inner = "".join(_whole(child) for child in element)
    return f"{local_name(element) or element.tag}{sorted(element.attrib.items())}({inner})"


def _seen(element: ElementTree.Element) -> str:
    """What a person sees of a font, a fill or a border: programs add other things when they save."""
    said: list[str] = []
    for child in element.iter():
        tag = local_name(child) or child.tag
        if tag in ("charset", "family", "scheme", "bgColor", "font", "fill", "border", "diagonal"):
            continue
        values = [_truth(value) for name, value in sorted(child.attrib.items())
                  if name in ("val", "rgb", "theme", "patternType", "style")]  # fmt: skip
        if tag in ("b", "i", "u") and not values:
            values = ["1"]
        if values and values not in (["0"], ["none"]):
            said.append(f"{tag} {' '.join(values)}")
    return "; ".join(sorted(said))


def _truth(value: str) -> str:
    return {"true": "1", "false": "0"}.get(value, value)


def _scanned(xml: bytes) -> tuple[dict[str, list[tuple[int, int]]], dict[str, int], dict[str, tuple[int, int]]]:
    """Spans of the elements of each list; where each list ends; where each list's tag starts and its end tag."""
    spans: dict[str, list[tuple[int, int]]] = {}
    ends: dict[str, int] = {}
    tags: dict[str, tuple[int, int]] = {}
    stack: list[tuple[str, int]] = []

    def start(name: str, _attributes: dict[str, str]) -> None:
        local = name.rpartition("}")[2]
        stack.append((local, parser.CurrentByteIndex))
        if len(stack) <= 2:
            tags[local] = (parser.CurrentByteIndex, 0)

    def end(_name: str) -> None:
        local, begun = stack.pop()
        at = parser.CurrentByteIndex
        if len(stack) == 2:
            spans.setdefault(stack[1][0], []).append((begun, element_end(xml, begun, at)))
        elif len(stack) == 1:
            tags[local] = (begun, at)
            ends[local] = element_end(xml, begun, at)

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(xml, True)
    return spans, ends, tags
