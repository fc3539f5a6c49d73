"""Rule of what a workbook may contain: nothing that runs or reads other files (18)."""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.workbook import Book
from planner.check.findings import Fault, rule

FOREIGN = {
    "externalLink": ("a link to another workbook", "paste its values; Data > Edit Links lists it"),
    "externalLinkPath": ("a link to another workbook", "paste its values; Data > Edit Links lists it"),
    "connections": ("a connection to data outside", "paste the data's values; Data > Queries & Connections lists it"),
    "queryTable": ("a query of data outside", "paste the data's values"),
    "vbaProject": ("macros", "save it as .xlsx, which has none"),
    "xlMacrosheet": ("a macro sheet", "delete the sheet"),
}


@rule(18, "No external links, connections, macros.")
def foreign_parts(book: Book) -> Iterator[Fault]:
    """A part that links, queries or runs."""
    package = book.package
    owners = {"": package.workbook_part(), **package.sheets()}
    for sheet, owner in owners.items():
        for link in package.relationships(owner):
            if link.kind in FOREIGN:
                what, remedy = FOREIGN[link.kind]
                yield Fault(sheet, "", f"the workbook has {what}: {link.target}", remedy)
