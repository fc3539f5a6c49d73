"""The XML of one sheet that both workbooks have, merged: cells, rules, links, widths."""

from __future__ import annotations

from collections.abc import Mapping

from planner.align.keys import Keyed
from planner.update import frames
from planner.update.columnwidths import with_widths
from planner.update.pairing import Pair
from planner.update.sides import is_own
from planner.update.transplant import Merge
from planner.xlsx.address import Position, address


def merged(pair: Pair, kind: str, styles: Mapping[int, int], dxfs: Mapping[int, int]) -> bytes:
    """The sheet. `styles` and `dxfs` are the numbers that the fresh one's formats have in the edited workbook."""
    old, fresh, track = pair.old.sheets[kind], pair.fresh.sheets[kind], pair.tracks[kind]
    merge = Merge(pair.old, pair.fresh, kind, track, styles, pair.done.kept, pair.names[kind], _moved_in(pair, kind))
    rows, area = merge.sheet_data()
    before, _, behind = frames.split(old.sheet.xml.xml)
    fresh_before, _, fresh_behind = frames.split(fresh.sheet.xml.xml)
    rules = {frames.signature(fresh, pair.fresh.signer, rule) for rule in frames.Tail.of(fresh_behind).rules}
    known = frames.is_known(old, pair.old.signer, rules)
    name, prefix, moves = old.sheet.name, old.sheet.xml.prefix, pair.old.moves
    own_rules = {frames.moved(rule, name, moves): not known(rule) for rule in frames.Tail.of(behind).rules}
    mine = frames.moved(behind, name, moves)
    theirs = frames.moved(fresh_behind, fresh.sheet.name, pair.fresh.moves)
    tail, count = frames.joined(mine, theirs, lambda rule: not own_rules.get(rule, True), dxfs, prefix)
    pair.done.rules += count
    head = with_widths(frames.moved(before, name, moves), fresh_before, prefix, track.columns, track.fresh_columns)
    return frames.with_cells(head + b"<%bsheetData/>" % prefix + tail, rows, area)


def _moved_in(pair: Pair, kind: str) -> dict[Position, tuple[Keyed, Position]]:
    """What a person put into rows that stand on this sheet now, and on another before."""
    found: dict[Position, tuple[Keyed, Position]] = {}
    for other in pair.kinds:
        homes, sheet = pair.homes(other), pair.old.sheets[other]
        for row in pair.tracks[other].gone_rows:
            if homes.get(sheet.rows.get(row, "")) != kind:
                continue
            target = pair.tracks[kind].fresh_rows(pair.fresh.sheets[kind].row_of[sheet.rows[row]])
            for column in sheet.scenario_columns():
                at = row, column
                if at in sheet.sheet.cells and is_own(pair.old, sheet, at):
                    said = f"{sheet.sheet.name}!{address(*at)} ({sheet.rows[row]})"
                    if sheet.columns[column] not in pair.fresh.sheets[kind].column_of:
                        pair.done.remarks.append(f"{said} is no more: its scenario is not on Inputs")
                        continue
                    final = target, pair.column(kind, sheet.columns[column])
                    found[final] = sheet, at
                    pair.done.remarks.append(f"{said} stands at {pair.names[kind]}!{address(*final)} now")
    return found
