"""Parses a part's XML into a tree and serializes it again: prefixes, attributes and comments are preserved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Element = Any  # lxml's, which ships no types
_DECLARATION = b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def parse(xml: bytes) -> Element:
    """The root of a part. Raises SyntaxError, with the reason, for XML that is not well-formed."""
    from lxml import etree  # here, for commands that open no workbook do without

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, strip_cdata=False)
    try:
        return etree.fromstring(xml, parser)
    except etree.XMLSyntaxError:
        if b"<br>" not in xml:
            raise
        return etree.fromstring(xml.replace(b"<br>", b"<br/>"), parser)  # so Excel leaves it in the boxes of controls


def written(root: Element) -> bytes:
    """The serialized part, including what is before and after its root."""
    from lxml import etree

    return _DECLARATION + bytes(etree.tostring(root.getroottree(), encoding="UTF-8", xml_declaration=False))


def local_name(element: Element) -> str:
    """An element's name without its namespace; blank for a comment or a processing instruction."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def link_id(element: Element) -> str:
    """The relationship id of an element, `r:id`; blank if it has none."""
    return next((value for name, value in element.attrib.items() if name.endswith("}id")), "")


def children(element: Element, name: str) -> list[Element]:
    """An element's children with a local name."""
    return [child for child in element if local_name(child) == name]


def child(element: Element, name: str) -> Element:
    """An element's first child with a local name, or None."""
    return next(iter(children(element, name)), None)


def every(root: Element, *names: str) -> Iterator[Element]:
    """Every element with one of these local names, in document order; the tree may be changed during iteration."""
    return iter([*root.iter(*(f"{{*}}{name}" for name in names))])  # of any namespace, or none


def like(root: Element, name: str, /, **attributes: str) -> Element:
    """A new element with the namespace and prefix of another one."""
    namespace, _, _ = root.tag[1:].partition("}")
    return root.makeelement(f"{{{namespace}}}{name}", attributes, {root.prefix: namespace})


def declare(root: Element, namespaces: dict[str, str]) -> None:
    """Declare namespaces, by prefix, on the root and nowhere below: Gnumeric supports only that."""
    from lxml import etree

    etree.cleanup_namespaces(root, top_nsmap=namespaces)


def put_in_order(parent: Element, new: Element, order: tuple[str, ...]) -> None:
    """Insert a child where a schema with this `order` of names wants it, after others of its name."""
    allowed = set(order[: order.index(local_name(new)) + 1])
    before = [at for at, one in enumerate(parent) if local_name(one) in allowed]
    parent.insert(before[-1] + 1 if before else 0, new)


def child_in_order(parent: Element, name: str, order: tuple[str, ...]) -> Element:
    """An element's first child with a local name, inserted where a schema wants it if there is none."""
    found = child(parent, name)
    if found is None:
        found = like(parent, name)
        put_in_order(parent, found, order)
    return found


_NO_LISTS = ("sheetView", "customSheetView", "autoFilter")  # what says something though nothing is in it


def take_out(element: Element) -> None:
    """Remove an element, and recursively each parent list that becomes empty; updates the lists' counts."""
    parent = element.getparent()
    while parent is not None:
        parent.remove(element)
        left = [one for one in parent if local_name(one)]
        if "count" in parent.attrib:
            parent.set("count", str(len(left)))
        if left or parent.getparent() is None or local_name(parent) in _NO_LISTS:
            return
        element, parent = parent, parent.getparent()
