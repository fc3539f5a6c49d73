"""Conditional formats, data validations, hyperlinks and ignored errors of a sheet, and merging another sheet's into
them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from copy import deepcopy
from functools import reduce

from planner.xlsx.address import Area, Position
from planner.xlsx.moved_cells import restyled
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import Element, child, children, every, like

_LISTS = {"dataValidation": "dataValidations", "hyperlink": "hyperlinks", "ignoredError": "ignoredErrors"}


def rules(root: Element) -> list[Element]:
    """The conditional formats and data validations of a sheet, except those in extensions."""
    return children(root, "conditionalFormatting") + _listed(root, "dataValidation")


def extended(root: Element) -> list[Element]:
    """The data validations in a sheet's extensions, where Excel writes those that refer to another sheet."""
    return [rule for rule in every(root, "dataValidation") if rule.getparent().getparent() is not root]


def links(root: Element) -> list[Element]:
    """The hyperlinks of a sheet."""
    return _listed(root, "hyperlink")


def part_rules(root: Element) -> None:
    """Give each conditional format an element of its own; some programs group those of one area."""
    for several in children(root, "conditionalFormatting"):
        for rule in children(several, "cfRule")[1:]:
            alone = deepcopy(several)
            for other in children(alone, "cfRule"):
                alone.remove(other)
            alone.append(rule)
            several.addnext(alone)


def formulas(rule: Element) -> list[str]:
    """The formulas of a rule.

    Some programs always write a second one, which only counts for validations between two numbers.
    """
    is_between = rule.get("operator", "between") in ("between", "notBetween") and rule.get("type") != "list"
    read = ("formula", "formula1", *(["formula2"] if is_between else []))
    texts = (found.text for one in every(rule, *read) for found in (one, *children(one, "f")))
    return [text for text in texts if text and text.strip()]


def areas(rule: Element) -> list[Area]:
    """The areas that a rule applies to."""
    listed = rule.get("sqref") or " ".join(each.text or "" for each in children(rule, "sqref"))
    return [area for part in listed.split() if (area := Area.tried(part))]


def first_cell(covered: Iterable[Area]) -> Position:
    """The cell that the formulas of a rule are relative to: the top left of all its areas, whatever is listed first.

    LibreOffice splits areas and lists them in any order.
    """
    whole = reduce(Area.including, covered)
    return whole.top, whole.left


def renew_rules(sheet: Worksheet, fresh: Worksheet, own: Collection[Element], dxfs: Mapping[int, int]) -> int:
    """Replace a sheet's rules and links by a fresh sheet's, keeping `own`, the user's; returns the number of these.

    All references must have been moved, and planner's rules in extensions removed. A fresh validation leaves out cells
    with a validation of the user's, and is dropped if its first cell has one; `dxfs` maps the fresh sheet's
    differential formats.
    """
    kept = [rule for rule in rules(sheet.root) if rule in own]
    validating = [rule for rule in kept if rule.tag.endswith("dataValidation")] + extended(sheet.root)
    guarded = [area for rule in validating for area in areas(rule)]
    formats = [rule for rule in kept if rule.tag.endswith("conditionalFormatting")]
    formats += with_looks(children(fresh.root, "conditionalFormatting"), dxfs)
    validations = [rule for rule in kept if rule not in formats]
    validations += [
        left for rule in _listed(fresh.root, "dataValidation") if (left := _outside(rule, guarded)) is not None
    ]
    theirs = links(fresh.root)
    linked = {link.get("ref") for link in theirs}
    leading = [link for link in links(sheet.root) if link.get("ref") not in linked] + theirs
    for old in children(sheet.root, "conditionalFormatting"):
        sheet.root.remove(old)
    for rule in formats:
        sheet.put(deepcopy(rule))
    _fill(sheet, "dataValidation", validations)
    _fill(sheet, "hyperlink", leading)
    _fill(sheet, "ignoredError", _ignored(sheet.root, fresh.root))
    return len(kept)


def _outside(rule: Element, guarded: Iterable[Area]) -> Element | None:
    """A rule restricted to cells outside `guarded`; None if its first cell is inside."""
    own_areas = areas(rule)
    if any(other.covers(*first_cell(own_areas)) for other in guarded):
        return None
    left = reduce(lambda found, other: [part for area in found for part in area.without(other)], guarded, own_areas)
    if left == own_areas:
        return rule
    fewer = deepcopy(rule)
    fewer.set("sqref", " ".join(map(str, left)))
    return fewer


def _ignored(old: Element, fresh: Element) -> list[Element]:
    """The ignored errors: the fresh sheet's, and the user's for other cells."""
    theirs = _listed(fresh, "ignoredError")

    def is_renewed(one: Element) -> bool:
        alike = (area for each in theirs if set(each.attrib) == set(one.attrib) for area in areas(each))
        return any(area.meets(other) for area in alike for other in areas(one))

    return [one for one in _listed(old, "ignoredError") if not is_renewed(one)] + theirs


def without_drawing(xml: bytes, formats: Mapping[int, int], dxfs: Mapping[int, int]) -> Worksheet:
    """A fresh sheet with its style numbers mapped, and without its drawings, which are up to the caller."""
    sheet = Worksheet(xml)
    sheet.rows = restyled(sheet.rows, formats)
    conditional = children(sheet.root, "conditionalFormatting")
    for old, coloured in zip(conditional, with_looks(conditional, dxfs), strict=True):
        sheet.root.replace(old, coloured)
    for drawing in children(sheet.root, "drawing"):
        sheet.root.remove(drawing)
    return sheet


def with_looks(formats: Collection[Element], dxfs: Mapping[int, int]) -> list[Element]:
    """Conditional formats with their differential format numbers mapped."""
    copies = [deepcopy(rule) for rule in formats]
    for one in (found for rule in copies for found in every(rule, "cfRule") if "dxfId" in found.attrib):
        one.set("dxfId", str(dxfs[int(one.get("dxfId"))]))
    return copies


def _listed(root: Element, name: str) -> list[Element]:
    return [one for found in children(root, _LISTS[name]) for one in children(found, name)]


def _fill(sheet: Worksheet, name: str, elements: list[Element]) -> None:
    """Replace the elements of a sheet's list, with their count if the schema has one."""
    copies = [deepcopy(element) for element in elements]
    if (old := child(sheet.root, _LISTS[name])) is not None:
        sheet.root.remove(old)
    if copies:
        new = like(sheet.root, _LISTS[name]) if old is None else old
        for element in list(new):
            new.remove(element)
        new.extend(copies)
        if name == "dataValidation":
            new.set("count", str(len(copies)))
        sheet.put(new)


RANGES = ("autoFilter", "protectedRange", "conditionalFormatting", "dataValidation", "ignoredError", "sqref")
"""Elements with ranges of a sheet, including those in extensions."""


def reshape(root: Element, reshaped: Callable[[Area], Area], *names: str) -> None:
    """Replace the ranges of elements with these names by `reshaped(range)`; other texts stay."""

    def one(text: str) -> str:
        area = Area.tried(text)
        new = area and reshaped(area)
        return text if new == area else str(new)

    for element in every(root, *names):
        for attribute in ("ref", "sqref"):
            if attribute in element.attrib:
                element.set(attribute, " ".join(map(one, element.get(attribute).split(" "))))
        if element.tag.endswith("}sqref"):
            element.text = " ".join(map(one, (element.text or "").split(" ")))
