"""Adds and removes parts and relationships, with their content types."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from itertools import count

from planner.xlsx.opc import Package
from planner.xlsx.xmltree import every, like

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "[Content_Types].xml"
_NONE = b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"/>'


def content_type(package: Package, part: str) -> str:
    """A part's content type by its override; blank if its extension determines it."""
    overrides = every(package.tree(_TYPES), "Override")
    return next((one.get("ContentType", "") for one in overrides if one.get("PartName") == f"/{part}"), "")


def add_part(package: Package, beside: str, data: bytes, kind: str) -> str:
    """Add a part named like `beside`, and return its name.

    `kind` is its content type, blank if its extension determines it.
    """
    part = _free_part(package, beside)
    package.add(part, data)
    if kind:
        with package.edited(_TYPES) as root:
            root.append(like(root, "Override", PartName=f"/{part}", ContentType=kind))
    return part


def drop_part(package: Package, source: str, part: str) -> None:
    """Remove a part that only `source` refers to, and its content type."""
    ids = {link.id for link in package.relationships(source) if link.target == part}
    for name, is_its_own in (
        (links_of(source), lambda one: one.get("Id") in ids),
        (_TYPES, lambda one: one.get("PartName") == f"/{part}"),
    ):
        with package.edited(name) as root:
            for one in filter(is_its_own, every(root, "Relationship", "Override")):
                root.remove(one)
    package.remove(part)


def drop_linked(package: Package, source: str) -> None:
    """Remove all that a part refers to, recursively, except parts that others refer to as well."""
    for target in dict.fromkeys(found.target for found in package.relationships(source)):
        others = (other for other in list(package.parts) if other not in (source, links_of(source)))
        if target in package.parts and not any(
            found.target == target for other in others for found in package.relationships(other)
        ):
            drop_linked(package, target)
            drop_part(package, source, target)
    if links_of(source) in package.parts:
        package.remove(links_of(source))


def link(package: Package, source: str, kind: str, target: str, family: str = OFFICE) -> str:
    """Add a relationship from `source` to `target`, and return its id; `family` is the beginning of the type's URI."""
    rels = links_of(source)
    if rels not in package.parts:
        package.add(rels, _NONE)
    with package.edited(rels) as root:
        used = {one.get("Id") for one in every(root, "Relationship")}
        new = next(name for number in count(1) if (name := f"rId{number}") not in used)
        root.append(like(root, "Relationship", Id=new, Type=f"{family}/{kind}", Target=_way(source, target)))
    return new


def copy_part(
    package: Package, source: Package, part: str, changed: Callable[[bytes], bytes], done: dict[str, str] | None = None
) -> str:
    """Copy a part of another package with all that it refers to, each transformed by `changed`; returns its new name.

    `done` maps parts that were copied already to their new names.
    """
    done = {} if done is None else done
    if part in done:
        return done[part]
    target = done[part] = add_part(package, part, changed(source.parts[part]), content_type(source, part))
    if links_of(part) in source.parts:
        targets = {found.id: found.target for found in source.relationships(part)}
        package.add(links_of(target), source.parts[links_of(part)])
        with package.edited(links_of(target)) as root:
            for one in every(root, "Relationship"):
                if targets.get(one.get("Id")) in source.parts:
                    one.set("Target", _way(target, copy_part(package, source, targets[one.get("Id")], changed, done)))
    return target


def shorten_ways(package: Package, source: str) -> None:
    """Make the targets of a part's relationships relative to its folder."""
    rels, targets = links_of(source), {link.id: link.target for link in package.relationships(source)}
    if rels in package.parts:
        with package.edited(rels) as root:
            for one in every(root, "Relationship"):
                if one.get("Target", "").startswith("/"):
                    one.set("Target", _way(source, targets[one.get("Id")]))


def _way(source: str, target: str) -> str:
    """The relative path from one part to another: IronCalc and exceljs don't find notes by absolute paths."""
    return posixpath.relpath(target, posixpath.dirname(source) or ".")


def links_of(part: str) -> str:
    """The name of a part's relationships part, which may not exist."""
    folder, file = posixpath.split(part)
    return posixpath.join(folder, "_rels", f"{file}.rels")


def _free_part(package: Package, part: str) -> str:
    """An unused part name with another number than this one."""
    base, dot, extension = part.rpartition(".")
    stem, taken = base.rstrip("0123456789"), {name.lower() for name in package.parts}
    return next(name for number in count(1) if (name := f"{stem}{number}{dot}{extension}").lower() not in taken)
