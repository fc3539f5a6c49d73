"""What stands around a sheet's cells, brought to their new places: formats, validations, links, comments, drawings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape, unescape

from planner.update.cellxml import prefixed
from planner.xlsx.address import Area
from planner.xlsx.moves import Moves, SheetMoves

_SHEET_DATA = re.compile(rb"<(?:\w+:)?sheetData\s*/>|<(?:\w+:)?sheetData>.*</(?:\w+:)?sheetData>", re.DOTALL)
_DIMENSION = re.compile(rb"(<(?:\w+:)?dimension\s[^>]*?ref=)[\"'][^\"']*[\"']")
_REF = re.compile(rb"""(\s(?:sqref|ref|activeCell|topLeftCell)=)(["'])([^"']*)\2""")
_LOCATION = re.compile(rb"""(\slocation=)(["'])([^"']*)\2""")
_TEXT = re.compile(rb"(<(?:\w+:)?(formula|formula1|formula2|f|sqref)(?:\s[^>]*)?>)([^<]*)(</)")
_BLOCKS = {tag: re.compile(rb"<((?:\w+:)?)%b\b[^>]*?(?:/>|>.*?</(?:\w+:)?%b>)" % (tag, tag), re.DOTALL)
           for tag in (b"conditionalFormatting", b"dataValidations", b"dataValidation", b"hyperlinks",
                       b"cfRule")}  # fmt: skip
_LINK = re.compile(rb"<(?:\w+:)?hyperlink\b[^>]*?(?:/>|></(?:\w+:)?hyperlink>)")
_AFTER_FORMATS = re.compile(
    rb"<(?:\w+:)?(?:printOptions|pageMargins|pageSetup|headerFooter|rowBreaks|colBreaks|customProperties|cellWatches"
    rb"|ignoredErrors|smartTags|drawing|legacyDrawing|legacyDrawingHF|drawingHF|picture|oleObjects|controls"
    rb"|webPublishItems|tableParts|extLst)\b"
)
_EXTENDED = re.compile(rb"</(?:\w+:)?extLst>\s*</(?:\w+:)?worksheet>\s*$")
_DXF = re.compile(rb"""(\sdxfId=["'])([0-9]+)""")


def moved(xml: bytes, sheet: str, moves: Moves) -> bytes:
    """A sheet's XML but for its cells, with every reference in it led to where its cells are then."""
    track = moves.of(sheet)

    def ref(match: re.Match[bytes]) -> bytes:
        return b"%b%b%b%b" % (match[1], match[2], track.ref(match[3].decode()).encode(), match[2])

    def location(match: re.Match[bytes]) -> bytes:
        text = _plain(match[3])
        return b"%b%b%b%b" % (
            match[1],
            match[2],
            escape(moves.formula(text, sheet), {'"': "&quot;"}).encode(),
            match[2],
        )

    def text(match: re.Match[bytes]) -> bytes:
        inner = _plain(match[3])
        new = track.ref(inner) if match[2] == b"sqref" else moves.formula(inner, sheet)
        return match[1] + escape(new).encode() + match[4]

    return _TEXT.sub(text, _LOCATION.sub(location, _REF.sub(ref, xml)))


def with_cells(xml: bytes, rows: bytes, area: Area) -> bytes:
    """The sheet with other rows in it."""
    found = _SHEET_DATA.search(xml)
    assert found is not None, "a sheet has rows"
    name = re.match(rb"<((?:\w+:)?sheetData)", found[0])
    assert name is not None
    whole = b"<%b>%b</%b>" % (name[1], rows, name[1])
    return _DIMENSION.sub(rb'\g<1>"%b"' % str(area).encode(), xml[: found.start()]) + whole + xml[found.end() :]


def split(xml: bytes) -> tuple[bytes, bytes, bytes]:
    """What stands before a sheet's rows, the rows, and what stands behind them."""
    found = _SHEET_DATA.search(xml)
    assert found is not None, "a sheet has rows"
    return xml[: found.start()], found[0], xml[found.end() :]


@dataclass(frozen=True)
class Tail:
    """What stands behind a sheet's rows: its conditional formats, validations and links, and the rest."""

    formats: list[bytes]
    validations: list[bytes]
    links: list[bytes]

    @property
    def rules(self) -> list[bytes]:
        """Its conditional formats and validations."""
        return self.formats + self.validations

    @classmethod
    def of(cls, xml: bytes) -> Tail:
        """Those of a sheet."""
        xml = xml[: _extension(xml)]
        links = [link for block in _BLOCKS[b"hyperlinks"].finditer(xml) for link in _LINK.findall(block[0])]
        return cls([match[0] for match in _BLOCKS[b"conditionalFormatting"].finditer(xml)],
                   [match[0] for block in _BLOCKS[b"dataValidations"].finditer(xml)
                    for match in _BLOCKS[b"dataValidation"].finditer(block[0])], links)  # fmt: skip


def joined(
    old: bytes, fresh: bytes, is_ours: Callable[[bytes], bool], dxfs: Mapping[int, int], prefix: bytes
) -> tuple[bytes, int]:  # fmt: skip
    """The tail of an old sheet with the rules and links of the fresh one, and a person's own; and how many of these.

    Both have their references moved already. `is_ours` says of an old rule whether planner wrote it.
    """
    mine, theirs = Tail.of(old), Tail.of(fresh)
    own_formats = [rule for rule in mine.formats if not is_ours(rule)]
    own_validations = [rule for rule in mine.validations if not is_ours(rule)]
    guarded = [area for rule in own_validations for area in areas(rule)]
    fresh_validations = [prefixed(rule, prefix) for rule in theirs.validations
                         if not any(_meet(area, other) for area in areas(rule) for other in guarded)]  # fmt: skip
    fresh_formats = [with_rules(prefixed(rule, prefix), dxfs) for rule in theirs.formats]
    there = {_attribute(link, b"ref") for link in theirs.links}
    own_links = [link for link in mine.links if _attribute(link, b"ref") not in there]
    content = b"".join(own_formats + fresh_formats)
    validations = own_validations + fresh_validations
    if validations:
        name = prefix + b"dataValidations"
        content += b'<%b count="%d">%b</%b>' % (name, len(validations), b"".join(validations), name)
    links = own_links + [prefixed(link, prefix) for link in theirs.links]
    if links:
        content += b"<%bhyperlinks>%b</%bhyperlinks>" % (prefix, b"".join(links), prefix)
    bare, extension = old[: _extension(old)], old[_extension(old) :]
    for tag in (b"conditionalFormatting", b"dataValidations", b"hyperlinks"):
        bare = _BLOCKS[tag].sub(b"", bare)
    closing = bare.rfind(b"</") if not extension else len(bare)
    at = next((match.start() for match in _AFTER_FORMATS.finditer(bare)), closing)
    return bare[:at] + content + bare[at:] + extension, len(own_formats) + len(own_validations)


def told(rule: bytes) -> tuple[tuple[str, str], list[str], Area]:
    """A rule's kind and prompt, its formulas, and the first cells that it counts for.

    A second formula of a validation that isn't between two numbers, which some programs write, doesn't count.
    """
    kind = _attribute(rule, b"type") or b""
    is_between = (_attribute(rule, b"operator") or b"between") in (b"between", b"notBetween") and kind != b"list"
    unread = (b"sqref",) if is_between else (b"sqref", b"formula2")
    formulas = [_plain(match[3]) for match in _TEXT.finditer(rule) if match[2] not in unread]
    prompt = _plain(_attribute(rule, b"promptTitle") or b"")
    return (kind.decode(), prompt), formulas, next(iter(areas(rule)), Area(1, 1, 1, 1))


def single_rules(xml: bytes) -> bytes:
    """A sheet's tail whose conditional formats of several rules are as many of one rule each."""

    def parted(match: re.Match[bytes]) -> bytes:
        rules = list(_BLOCKS[b"cfRule"].finditer(match[0]))
        if len(rules) < 2:
            return match[0]
        start, end = match[0][: rules[0].start()], match[0][rules[-1].end() :]
        return b"".join(start + rule[0] + end for rule in rules)

    return _BLOCKS[b"conditionalFormatting"].sub(parted, xml)


def areas(rule: bytes) -> list[Area]:
    """The areas that a rule is for."""
    found: list[Area] = []
    for part in (_attribute(rule, b"sqref") or b"").decode().split():
        try:
            found.append(Area.parse(part))
        except ValueError:
            continue
    return found


def comments(xml: bytes, track: SheetMoves) -> bytes:
    """A part of notes or threaded comments, or a table, with its cells moved."""
    return _REF.sub(
        lambda match: b"%b%b%b%b" % (match[1], match[2], track.ref(match[3].decode()).encode(), match[2]), xml
    )


def boxes(xml: bytes, track: SheetMoves) -> bytes:
    """The boxes of notes (VML), each beside its cell."""

    def box(match: re.Match[bytes]) -> bytes:
        data = match[0]
        found = {tag: re.search(rb"(<(?:\w+:)?%b>\s*)([0-9]+)" % tag, data) for tag in (b"Row", b"Column")}
        row, column = found[b"Row"], found[b"Column"]
        if row is None or column is None:
            return data
        new = track.cell(int(row[2]) + 1, int(column[2]) + 1)
        down, right = new[0] - 1 - int(row[2]), new[1] - 1 - int(column[2])
        return shifted_box(data, down, right)

    return re.sub(rb"<((?:\w+:)?)ClientData\b.*?</\1ClientData>", box, xml, flags=re.DOTALL)


def shifted_box(data: bytes, down: int, right: int) -> bytes:
    """The box of a note (VML) by so many rows further down and columns to the right."""
    for tag, by in ((b"Row", down), (b"Column", right)):
        number = re.compile(rb"(<(?:\w+:)?%b>\s*)([0-9]+)" % tag)
        data = number.sub(lambda match, by=by: match[1] + b"%d" % (int(match[2]) + by), data, count=1)  # type: ignore[misc]
    return re.sub(rb"(<(?:\w+:)?Anchor>)([^<]*)", lambda anchor: anchor[1] + _shifted(anchor[2], down, right), data)


def _shifted(anchor: bytes, down: int, right: int) -> bytes:
    numbers = anchor.split(b",")
    if len(numbers) != 8:
        return anchor
    for at, by in ((0, right), (2, down), (4, right), (6, down)):
        numbers[at] = b" %d" % max(0, int(numbers[at]) + by)
    return b",".join(numbers)


def anchors(xml: bytes, track: SheetMoves) -> bytes:
    """A drawing with its anchors moved: all of one object by as much as its first corner."""

    def one(match: re.Match[bytes]) -> bytes:
        data = match[0]
        start = re.search(rb"<xdr:from>.*?<xdr:col>(\d+)</xdr:col>.*?<xdr:row>(\d+)</xdr:row>", data, re.DOTALL)
        if start is None:
            return data
        row, column = track.cell(int(start[2]) + 1, int(start[1]) + 1)
        down, right = row - 1 - int(start[2]), column - 1 - int(start[1])
        data = re.sub(rb"<xdr:row>(\d+)", lambda at: b"<xdr:row>%d" % (int(at[1]) + down), data)
        return re.sub(rb"<xdr:col>(\d+)", lambda at: b"<xdr:col>%d" % (int(at[1]) + right), data)

    return re.sub(rb"<xdr:(twoCellAnchor|oneCellAnchor)\b.*?</xdr:\1>", one, xml, flags=re.DOTALL)


def chart(xml: bytes, moves: Moves) -> bytes:
    """A chart whose ranges are led to where their cells are then."""

    def text(match: re.Match[bytes]) -> bytes:
        return match[1] + escape(moves.formula(_plain(match[2]), "")).encode() + match[3]

    return re.sub(rb"(<(?:\w+:)?f>)([^<]*)(</)", text, xml)


def pivot_source(xml: bytes, moves: Moves) -> bytes:
    """A pivot table's source with its sheet and range moved."""

    def source(match: re.Match[bytes]) -> bytes:
        tag = match[0]
        sheet, ref = _attribute(tag, b"sheet"), _attribute(tag, b"ref")
        if not sheet:
            return tag
        track = moves.of(_plain(sheet))
        tag = re.sub(rb'\ssheet="[^"]*"', lambda _: b' sheet="%b"' % escape(track.name, {'"': "&quot;"}).encode(), tag)
        return tag if not ref else re.sub(rb'\sref="[^"]*"', b' ref="%b"' % track.ref(ref.decode()).encode(), tag)

    return re.sub(rb"<(?:\w+:)?worksheetSource\b[^>]*>", source, xml)


def with_rules(xml: bytes, dxfs: Mapping[int, int]) -> bytes:
    """XML whose conditional formats have other numbers for their looks."""
    return _DXF.sub(lambda match: match[1] + b"%d" % dxfs[int(match[2])], xml)


def _plain(text: bytes) -> str:
    """A text of the XML as it is meant."""
    return unescape(text.decode(), {"&quot;": '"', "&apos;": "'"})


def _extension(xml: bytes) -> int:
    """Where a sheet's own list of extensions begins, which newer programs add; its end where there is none."""
    if not _EXTENDED.search(xml):
        return len(xml)
    return max(xml.rfind(start) for start in {match[0] for match in re.finditer(rb"<(?:\w+:)?extLst\b", xml)})


def _meet(one: Area, other: Area) -> bool:
    return one.top <= other.bottom and other.top <= one.bottom and one.left <= other.right and other.left <= one.right


def _attribute(tag: bytes, name: bytes) -> bytes | None:
    match = re.search(rb"""\s%b=(?:"([^"]*)"|'([^']*)')""" % name, tag[: tag.find(b">") + 1])
    return None if match is None else match[1] if match[1] is not None else match[2]
