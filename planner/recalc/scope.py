"""Which formulas an edit may reach, told from their text: the others need no engine, for their saved values stay.

What can't be told counts as reached: a name that leads to an edited sheet, INDIRECT, a table, a reference over several
sheets. So the engine may be given more than need be, and never less.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.recalc.added import NewRows
from planner.recalc.cells import Address, Sheets
from planner.recalc.likerows import OWN_ROW, LikeRows, like_rows
from planner.xlsx.address import column_letters, column_number, coordinates
from planner.xlsx.opc import Package
from planner.xlsx.sheetname import folded, unquoted
from planner.xlsx.xmltree import local_name

_OWN = rb'(?: [\w:]+="[^"<]*")*'
_FORMULA = re.compile(rb"<f" + _OWN + rb"(?:/>|>([^<]*)</f>)")
_WITHOUT_VALUE = re.compile(rb"<c(" + _OWN + rb")><f" + _OWN + rb"(?:/>|>[^<]*</f>)(?:<v></v>|<v/>)?</c>")
_OPEN = (b"</f></c>", b"</f><v></v>", b"<v/>", b"/></c>")  # what a formula without a value ends in
_PLAIN = re.compile(rb'(<c r="([A-Z]+)([0-9]+)"' + _OWN + rb'>)<f(?: aca="[a-z0-9]+")?>([^<]*)</f>')
_ENTITIES = {"&quot;": '"', "&apos;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&"}
_OPAQUE = ("[", "indirect(", "offset(", "&#")  # a table or another file; a computed address; a coded character
_SEVERAL_SHEETS = re.compile(r":[^!,()+*/^&=<>\"\n-]*!")
_OWN_ROW = OWN_ROW.decode()
TOKEN = re.compile(
    r"""(?P<text>"[^"]*")|(?P<function>[A-Z][A-Z0-9.\x01]*\()|(?P<logical>TRUE|FALSE)\b
    |(?:(?P<sheet>'(?:[^']|'')*'|\w[\w.]*)!)?(?:
        \$?(?P<left>[A-Z]{1,3})\$?(?P<top>[0-9\x01]+)(?::\$?(?P<right>[A-Z]{1,3})\$?(?P<bottom>[0-9\x01]+))?
        |\$?(?P<first>[A-Z]{1,3}):\$?(?P<last>[A-Z]{1,3}))(?![\w.(!\x01])
    |(?P<number>[0-9\x01]*\.?[0-9\x01]+(?:E[+-]?[0-9\x01]+)?)|[-+*/^&=<>(),%{}; \t\r\n]|(?P<error>\#[A-Z/0]+[!?]?)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Scope:
    """For each sheet with formulas that may be reached their addresses; None where it is every one.

    Of the sheet that was edited, where its formulas can be read, `rows` has them instead.
    """

    reached: Mapping[str, Collection[str] | None]
    rows: Mapping[str, Sequence[LikeRows]] = field(default_factory=dict)
    leading: Collection[str] = ()  # the defined names that lead to sheets that are reached, folded

    def refs(self, name: str) -> Collection[str] | None:
        """The addresses of a sheet's formulas that may be reached; None where it is every one."""
        if name in self.rows:
            return [f"{column}{row}" for like in self.rows[name] for row in like.numbers for column in like.patterns]
        return self.reached.get(name, ())

    def formulas(self, sheets: Sheets) -> Iterator[Address]:
        """The sheet and the address of every formula that may be reached."""
        for name in [*self.reached, *self.rows]:
            sheet, refs = sheets[name], self.refs(name)
            cells = sheet.cells.items() if refs is None else ((ref, sheet.cell(ref)) for ref in refs)
            yield from ((name, ref) for ref, cell in cells if cell is not None and cell.kind)

    def may_reach(self, name: str, ref: str) -> bool:
        """Whether the formula of a cell may be reached."""
        if name in self.rows:
            row, column = coordinates(ref)
            letters = column_letters(column)
            return any(letters in like.patterns and row in like.numbers for like in self.rows[name])
        refs = self.reached.get(name, ())
        return refs is None or ref in refs

    def without(self, done: Collection[Address]) -> Scope:
        """The scope without formulas whose values are known; a sheet that has none left is not in it."""
        if not done:
            return self
        left = {name: self.refs(name) for name in [*self.reached, *self.rows]}
        left = {
            name: None if refs is None else [ref for ref in refs if (name, ref) not in done]
            for name, refs in left.items()
        }  # fmt: skip
        return Scope({name: refs for name, refs in left.items() if refs is None or refs}, leading=self.leading)

    def reduced(self, package: Package, sheets: Sheets, instead: Mapping[str, bytes] | None = None) -> Package:
        """The workbook with every other formula turned into its saved value; `instead` has the XML of some sheets."""
        smaller = replace(package, parts=dict(package.parts))
        for name, part in package.sheets().items():
            refs = self.refs(name)
            if instead and name in instead:
                smaller.replace(part, instead[name])
            elif refs is not None:
                smaller.replace(part, _PLAIN.sub(_kept(refs), sheets[name].xml) if refs else _values(sheets[name].xml))
        return smaller


def _values(xml: bytes) -> bytes:
    return _FORMULA.sub(b"", xml)


def _kept(refs: Collection[str]) -> Callable[[re.Match[bytes]], bytes]:
    known = {ref.encode() for ref in refs}
    return lambda match: match[0] if match[2] + match[3] in known else match[1]


def scope_of(package: Package, sheets: Sheets, cells: Collection[Address], new: NewRows | None = None) -> Scope:
    """What an edit of these cells may reach: sheet by sheet, and in the edited sheet column by column.

    `new` are rows that the edit adds.
    """
    added = new if new and new.rows else NewRows()
    if any(sheet.is_plain and _lacks_values(sheet.xml) for sheet in sheets.values()):
        return Scope(dict.fromkeys(sheets))  # such a formula is given one, whatever was edited
    reached = {name for name, _ in cells} | ({added.name} if added.rows else set())
    edited = reached.copy()
    likes = like_rows(sheets[min(edited)]) if len(edited) == 1 else None
    texts = {
        name: _text(sheet.xml) if likes is None or name not in edited else _text_of(likes)
        for name, sheet in sheets.items()
    }  # fmt: skip
    reached |= {name for name, sheet in sheets.items() if not sheet.is_plain or is_opaque(texts[name])}
    reached |= {name for name, sheet in sheets.items() if b't="dataTable"' in sheet.xml}  # its inputs are no text
    names = _names(package)
    while True:
        leading = _leading(names, reached)
        words = [*qualifiers(reached), *leading]
        more = {name for name in texts.keys() - reached if _mentions(texts[name], words)}
        if not more:
            break
        reached |= more
    found: dict[str, Collection[str] | None] = {name: None for name in sheets if name in reached}
    if len(edited) == 1:
        (name,) = edited
        if likes is not None and not is_opaque(texts[name]) and not _mentions(texts[name], leading):
            places = [coordinates(ref) for of, ref in cells if of == name]
            numbers = {row for row, _ in places} | {row.number for row in added.rows}
            columns = {column for _, column in places} | added.columns
            rows = _reached_in(likes, name, numbers, columns, {folded(other) for other in reached if other != name})
            if rows is not None:
                del found[name]
                return Scope(found, {name: rows}, leading)
    return Scope(found)


def _lacks_values(xml: bytes) -> bool:
    """Whether a formula has no saved value; an empty text is one."""
    return any(end in xml for end in _OPEN) and any(
        b' t="str"' not in match[1] for match in _WITHOUT_VALUE.finditer(xml)
    )


def _text(xml: bytes) -> str:
    """The sheet's formulas, folded, one on a line."""
    return folded(unescaped(b"\n".join(_FORMULA.findall(xml))))


def _text_of(rows: Iterable[LikeRows]) -> str:
    return folded(unescaped(b"\n".join(pattern for like in rows for pattern in like.patterns.values())))


def is_opaque(text: str) -> bool:
    """Whether it can't be told which sheets are meant in formulas, folded."""
    return _mentions(text, _OPAQUE) or bool(_SEVERAL_SHEETS.search(text))


def unescaped(formula: bytes) -> str:
    """A formula as a person types it, of the one in the file."""
    text = formula.decode()
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    return text


def _names(package: Package) -> dict[str, str]:
    """The workbook's defined names and what each stands for, folded."""
    return {
        folded(element.get("name", "")): folded(element.text or "")
        for element in package.tree(package.workbook_part()).iter()
        if local_name(element) == "definedName"
    }


def _leading(names: Mapping[str, str], reached: Iterable[str]) -> list[str]:
    """The names that may lead to one of the sheets, by themselves or through other names."""
    words = list(qualifiers(reached))
    found: list[str] = []
    while more := [
        name for name, text in names.items() if name not in found and (is_opaque(text) or _mentions(text, words))
    ]:
        found += more
        words += more
    return found


def qualifiers(sheets: Iterable[str]) -> Iterator[str]:
    """How a formula begins to name a cell of these sheets, folded."""
    for name in map(folded, sheets):
        yield f"{name}!"
        yield f"{name.replace(chr(39), chr(39) * 2)}'!"


def _mentions(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)


def _reached_in(
    likes: Iterable[LikeRows], name: str, edited: Collection[int], columns: Collection[int], reached: Collection[str]
) -> list[LikeRows] | None:  # fmt: skip
    """The formulas of a sheet that edits of some of its rows, in some columns, may reach, or another sheet that does.

    A formula that reads only its own row is reached by an edit of that row. None where the formulas can't be read.
    """
    reads: dict[str, set[Read]] = {}
    for column, pattern in {pair for like in likes for pair in like.patterns.items()}:
        read = _reads(unescaped(pattern), folded(name), reached)
        if read is None:
            return None
        reads.setdefault(column, set()).update(read)
    whole = _columns(reads, columns)
    every = {column: whole[at] for column in reads if (at := column_number(column)) in whole}
    found: list[LikeRows] = []
    for like in likes:
        in_edited = {column: pattern for column, pattern in like.patterns.items() if column in every}
        in_all = {column: pattern for column, pattern in in_edited.items() if every[column]}
        found.append(LikeRows(in_edited, [number for number in like.numbers if number in edited]))
        found.append(LikeRows(in_all, [number for number in like.numbers if number not in edited]))
    return [like for like in found if like.patterns and like.numbers]


Read = tuple[int, int, bool]  # the first column, the last one, and whether it is the formula's own row alone
_ANOTHER_SHEET = (0, 0, False)


def _columns(reads: Mapping[str, Collection[Read]], edited: Collection[int]) -> dict[int, bool]:
    """The columns that may be reached: True in every row, False in those edited alone."""
    whole = dict.fromkeys(edited, False)
    numbered = {column_number(column): found for column, found in reads.items()}
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


def _reads(pattern: str, name: str, reached: Collection[str]) -> set[Read] | None:
    """What a formula reads of its own sheet, and whether it reads another that is reached; None if it can't be read.

    The names are folded. Two sheets may fold to one name, and then both count.
    """
    found: set[Read] = set()
    at = 0
    while at < len(pattern):
        token = TOKEN.match(pattern, at)
        if token is None:
            return None
        at = token.end()
        left, first = token["left"] or token["first"], token["first"]
        if left is None:
            continue
        if _OWN_ROW in (token["sheet"] or ""):
            return None
        sheet = folded(unquoted(token["sheet"] or "")) or name
        if sheet == name:
            right = token["last"] if first else token["right"] or left
            own = not first and token["top"] == _OWN_ROW and (token["bottom"] or _OWN_ROW) == _OWN_ROW
            low, high = sorted((column_number(left), column_number(right)))
            found.add((low, high, own))
        if sheet in reached:
            found.add(_ANOTHER_SHEET)
    return found
