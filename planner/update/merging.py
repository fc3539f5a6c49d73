"""The XML of one sheet that both workbooks have, merged: cells, rules, links, widths."""

from __future__ import annotations

from collections.abc import Mapping

from planner.align.keys import Keyed
from planner.update.pairing import Pair
from planner.update.sides import is_own
from planner.update.signatures import is_known_rule, rule_signature
from planner.update.transplant import Merge
from planner.xlsx.address import Position, address
from planner.xlsx.columns import take_widths
from planner.xlsx.sheet_moves import move_around_rows
from planner.xlsx.sheet_rules import renew_rules, rules
from planner.xlsx.worksheet import Worksheet


def merged(pair: Pair, kind: str, styles: Mapping[int, int], dxfs: Mapping[int, int]) -> bytes:
    """The sheet. `styles` and `dxfs` are the numbers that the fresh one's formats have in the edited workbook."""
    old, fresh, track = pair.old.sheets[kind], pair.fresh.sheets[kind], pair.tracks[kind]
    merge = Merge(pair.old, pair.fresh, kind, track, styles, pair.done.kept, pair.names[kind], _moved_in(pair, kind))
    rows, area = merge.sheet_data()
    name, moves = old.sheet.name, pair.old.moves
    sheet, theirs = Worksheet(old.sheet.xml.xml), Worksheet(fresh.sheet.xml.xml)
    known = is_known_rule(
        old, pair.old.signer, {rule_signature(fresh, pair.fresh.signer, rule) for rule in rules(theirs.root)}
    )
    own = [rule for rule in rules(sheet.root) if not known(rule)]
    pair.done.remarks += map(str, move_around_rows(sheet.root, name, moves))
    move_around_rows(theirs.root, fresh.sheet.name, pair.fresh.moves)
    pair.done.rules += renew_rules(sheet, theirs, own, dxfs)
    take_widths(sheet.root, theirs.root, track.columns, track.fresh_columns)
    sheet.fill(rows, area)
    return sheet.xml()


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
