"""A workbook's styles: the look of each cell style, and merging another workbook's styles into them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import cached_property
from typing import NamedTuple

from planner.xlsx.opc import Package
from planner.xlsx.xmltree import Element, child, child_in_order, like, local_name

LISTS = ("numFmts", "fonts", "fills", "borders", "cellStyleXfs", "cellXfs", "cellStyles", "dxfs")
_IDS = {"fonts": "fontId", "fills": "fillId", "borders": "borderId"}
FIRST_CUSTOM_FORMAT = 164
BUILT_IN = {"0": "General", "1": "0", "2": "0.00", "3": "#,##0", "4": "#,##0.00", "9": "0%", "10": "0.00%",
            "11": "0.00E+00", "49": "@"}  # fmt: skip
_SIDES = ("left", "right", "top", "bottom", "start", "end")
_WHITE = ("1", "9", "65")  # palette indices of white, and of the window background
_UNSEEN = ("charset", "family", "scheme", "bgColor", "font", "fill", "border", "diagonal")


class Look(NamedTuple):
    """The look of a cell, independent of the style numbers, which differ from file to file.

    `font`, `fill` and `border` list their elements as text: `b 1; color FF0000FF; name Calibri; sz 11`.
    """

    style: str = "Normal"
    number_format: str = "General"
    font: str = ""
    fill: str = ""
    border: str = ""
    alignment: str = ""
    is_locked: bool = True

    @property
    def is_bold(self) -> bool:
        """Whether its text is bold."""
        return "b 1" in self.font.split("; ")

    @property
    def is_italic(self) -> bool:
        """Whether its text is italic."""
        return "i 1" in self.font.split("; ")

    @property
    def ink(self) -> str:
        """The RGB hex digits of its text's colour; blank for black, theme and automatic colours."""
        return _colour(self.font, "color ")

    @property
    def ground(self) -> str:
        """The RGB hex digits of its fill colour; blank without a fill, and as in `ink`."""
        return _colour(self.fill, "fgColor ") if "patternFill solid" in self.fill.split("; ") else ""


def _colour(said: str, name: str) -> str:
    rgb = next((part.removeprefix(name) for part in said.split("; ") if part.startswith(name)), "").upper()
    return rgb[-6:] if len(rgb) >= 6 and rgb[-6:] != "000000" else ""


class Stylesheet:
    """The styles part of a workbook: its lists of elements, with indices from 0."""

    def __init__(self, root: Element) -> None:
        self.root = root

    @classmethod
    def of(cls, package: Package) -> tuple[str, Stylesheet] | None:
        """The name of a workbook's styles part and the part; None if it has none. Raises as `tree` does."""
        parts = package.linked(package.workbook_part(), "styles")
        return (parts[0], cls(package.tree(parts[0]))) if parts else None

    def all(self, tag: str) -> list[Element]:
        """The elements of a list."""
        found = child(self.root, tag)
        return [one for one in found if local_name(one)] if found is not None else []

    @cached_property
    def looks(self) -> list[Look]:
        """The look of each style number (attribute s of a cell)."""
        return self._looks_in("cellXfs")

    @cached_property
    def named(self) -> dict[str, Look]:
        """The look of each named style, by its name."""
        looks = dict(enumerate(self._looks_in("cellStyleXfs")))
        styles = ((found.get("name", ""), looks.get(int(found.get("xfId", "0")))) for found in self.all("cellStyles"))
        return {name: look._replace(style=name) for name, look in styles if look is not None}

    def _looks_in(self, list_of_formats: str) -> list[Look]:
        names = {found.get("xfId", ""): found.get("name", "") for found in self.all("cellStyles")}
        formats = {found.get("numFmtId", ""): found.get("formatCode", "") for found in self.all("numFmts")}
        seen = {tag: ["" if _is_white(found) else _seen(found) for found in self.all(tag)] for tag in _IDS}
        return [_look(element, names, formats, seen) for element in self.all(list_of_formats)]

    def add(self, tag: str, element: Element) -> int:
        """Append an element to a list, which is created if needed; returns its index."""
        found = child_in_order(self.root, tag, LISTS)
        found.append(element)
        count = len(self.all(tag))
        found.set("count", str(count))
        return count - 1


def looks_of(package: Package) -> list[Look]:
    """The look of each style number; empty if the workbook has no styles."""
    found = Stylesheet.of(package)
    return found[1].looks if found else []


def _look(xf: Element, names: Mapping[str, str], formats: Mapping[str, str], seen: Mapping[str, list[str]]) -> Look:
    numbers = {tag: int(xf.get(attribute, "0")) for tag, attribute in _IDS.items()}
    font, fill, border = (seen[tag][at] if at < len(seen[tag]) else "" for tag, at in numbers.items())
    number = xf.get("numFmtId", "0")
    code = formats.get(number) or BUILT_IN.get(number, f"built-in {number}")
    alignment, protection = child(xf, "alignment"), child(xf, "protection")
    attributes = ("horizontal", "wrapText", "textRotation")
    said = [_truth(alignment.get(name, "")) for name in attributes] if alignment is not None else []
    aligned = " ".join(word for word in said if word not in ("", "0", "general"))
    locked = protection is None or protection.get("locked", "1") not in ("0", "false")
    style = names.get(xf.get("xfId", "0"), "Normal")
    return Look(style, code.replace("\\", ""), font, fill, border, aligned, locked)


def _seen(element: Element) -> str:
    """The visible properties of a font, a fill or a border; programs add others when they save."""
    said: list[str] = []
    for one in element.iter():
        tag = local_name(one)
        if not tag or tag in _UNSEEN or _is_of_no_line(one):
            continue
        values = [
            _truth(value)
            for name, value in sorted(one.attrib.items())
            if name in ("val", "rgb", "theme", "patternType", "style")
        ]
        if tag in ("b", "i", "u") and not values:
            values = ["1"]
        if values and values not in (["0"], ["none"], ["baseline"]):
            said.append(f"{tag} {' '.join(values)}")
    return "; ".join(sorted(said))


def _is_of_no_line(element: Element) -> bool:
    """Whether it is the colour of a border side without a line."""
    side = element.getparent() if local_name(element) == "color" else None
    return side is not None and local_name(side) in _SIDES and side.get("style", "none") == "none"


def _is_white(element: Element) -> bool:
    """Whether it is a plain white fill, which Gnumeric writes instead of none."""
    pattern = child(element, "patternFill")
    colour = child(pattern, "fgColor") if pattern is not None and pattern.get("patternType") == "solid" else None
    if colour is None or float(colour.get("tint", "0")):
        return False
    is_named_white = colour.get("indexed") in _WHITE or colour.get("theme") == "0"
    return is_named_white or colour.get("rgb", "").upper() in ("FFFFFFFF", "00FFFFFF", "FFFFFF")


def _truth(value: str) -> str:
    return {"true": "1", "false": "0"}.get(value, value)


def take_all(package: Package, fresh: Package) -> tuple[dict[int, int], dict[int, int]]:
    """Merge all cell formats and differential formats of a fresh workbook into a package's styles.

    Equal ones are reused. Returns the maps from fresh to new numbers, of cell formats and of differential formats.
    """
    own, other = Stylesheet.of(package), Stylesheet.of(fresh)
    assert own is not None, "a workbook of planner's has styles"
    assert other is not None, "a new one has"
    with package.edited(own[0]) as root:
        merger, dxfs = _Merger(Stylesheet(root), other[1]), other[1].all("dxfs")
        formats = {number: merger.format(number) for number in range(len(other[1].all("cellXfs")))}
        return formats, {number: merger.append("dxfs", one) for number, one in enumerate(dxfs)}


class _Merger:
    def __init__(self, own: Stylesheet, other: Stylesheet) -> None:
        self.own = own
        self._theirs = {tag: other.all(tag) for tag in LISTS}
        self._known: dict[str, dict[tuple[object, ...], int]] = {
            tag: {_key(one): at for at, one in reversed(list(enumerate(own.all(tag))))} for tag in LISTS
        }
        self._codes: dict[str, int] = {one.get("formatCode"): int(one.get("numFmtId")) for one in own.all("numFmts")}
        self._their_codes = {one.get("numFmtId"): one.get("formatCode") for one in other.all("numFmts")}
        self._styles: dict[str, int] = {one.get("name"): int(one.get("xfId", "0")) for one in own.all("cellStyles")}

    def append(self, tag: str, element: Element) -> int:
        """The index of an element in a list, appended if it is missing."""
        key = _key(element)
        if key not in self._known[tag]:
            self._known[tag][key] = self.own.add(tag, deepcopy(element))
        return self._known[tag][key]

    def format(self, number: int) -> int:
        """The index in `own` of a cell format of the other workbook."""
        xf = self._renumbered(self._theirs["cellXfs"][number])
        xf.set("xfId", str(self._style(xf.get("xfId", "0"))))
        return self.append("cellXfs", xf)

    def _style(self, xf: str) -> int:
        """The index in `own` of a named style's format, by name."""
        named = next((one for one in self._theirs["cellStyles"] if one.get("xfId", "0") == xf), None)
        name = named.get("name") if named is not None else "Normal"
        if name not in self._styles:
            self._styles[name] = self.own.add("cellStyleXfs", self._renumbered(self._theirs["cellStyleXfs"][int(xf)]))
            if named is not None:
                new = deepcopy(named)
                new.set("xfId", str(self._styles[name]))
                self.own.add("cellStyles", new)
        return self._styles[name]

    def _renumbered(self, xf: Element) -> Element:
        """A copy of a format that refers to fonts, fills, borders and number formats of `own`."""
        new = deepcopy(xf)
        for tag, attribute in _IDS.items():
            new.set(attribute, str(self.append(tag, self._theirs[tag][int(xf.get(attribute, "0"))])))
        number = xf.get("numFmtId", "0")
        if int(number) >= FIRST_CUSTOM_FORMAT:
            new.set("numFmtId", str(self._format_code(self._their_codes[number])))
        return new

    def _format_code(self, code: str) -> int:
        if code not in self._codes:
            number = max([FIRST_CUSTOM_FORMAT - 1, *self._codes.values()]) + 1
            self._codes[code] = number
            self.own.add("numFmts", like(self.own.root, "numFmt", numFmtId=str(number), formatCode=code))
        return self._codes[code]


def _key(element: Element) -> tuple[object, ...]:
    """An element's content regardless of its spelling."""
    attributes = sorted((name.rpartition("}")[2], value) for name, value in element.attrib.items())
    return local_name(element), *attributes, *(_key(one) for one in element if local_name(one))
