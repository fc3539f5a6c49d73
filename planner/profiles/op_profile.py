"""The tree of op_profile: program, category, and below operations, of which those alike share a node."""

from __future__ import annotations

from dataclasses import replace

from planner.errors import UserError
from planner.profiles import xla
from planner.profiles.profile import Operation, Program
from planner.profiles.tool_table import Row, ToolTable, number

_PS = 1e-12
_SUMS = ("rawTime", "rawFlops", "occurrences")


_BY_PROGRAM, _BY_CATEGORY = ("byProgram", "by_program"), ("byCategory", "by_category")


def is_op_profile(document: Row) -> bool:
    """Whether a JSON object is this tool's: a tree by program, or only by category, as older ones have it."""
    return any(isinstance(document.get(key), dict) for key in (*_BY_PROGRAM, *_BY_CATEGORY))


def op_profile(document: Row) -> ToolTable:
    """The operations of all programs. What the tree leaves out of a category or program is one operation of it.

    Raises UserError for the oldest form, which has shares of the time and no times.
    """
    made = ToolTable("op_profile")
    trees = [document.get(key) for key in (*_BY_PROGRAM, *_BY_CATEGORY)]
    tree = next((each for each in trees if isinstance(each, dict) and _children(each)), {})
    if _children(tree) and not any(_raw(each, "rawTime") for each in _children(tree)):
        remedy = "export it with a newer TensorBoard or xprof, or give the .xplane.pb"
        raise UserError("this op_profile has shares of the time alone, and no times", remedy=remedy)
    if not any(tree is document.get(key) for key in _BY_PROGRAM):
        return _by_category(made, tree)
    for program in _children(tree):
        name, seconds = str(program.get("name") or ""), _raw(program, "rawTime") * _PS
        if name == "IDLE":
            made.idle = seconds
            continue
        made.operations += _leaves(program, name, "")
        title, _, key = name.partition("(")
        made.programs.append(Program(title, key.rstrip(")"), 0, seconds, 0.0))
    made.facts = {"deviceType": str(document["deviceType"])} if document.get("deviceType") else {}
    return made


def _by_category(made: ToolTable, tree: Row) -> ToolTable:
    """The operations of categories, without their programs."""
    for category in _children(tree):
        if category.get("name") == "IDLE":
            made.idle = _raw(category, "rawTime") * _PS
        else:
            made.operations += _leaves(category, "", str(category.get("name") or ""))
    return made


def _leaves(node: Row, program: str, category: str) -> list[Operation]:
    """The operations of a node. What a fusion holds took no time of its own; of many only the largest are listed."""
    timed = [each for each in _children(node) if _raw(each, "rawTime")]
    told = node.get("xla")
    told = told if isinstance(told, dict) else {}
    whole = bool(program) and node.get("name") == program
    category = str(told.get("category") or category or node.get("name") or "")
    if not timed:
        return [_operation(node, told, program, category)] if _raw(node, "rawTime") else []
    found = [each for child in timed for each in _leaves(child, program, "" if whole else category)]
    left: Row = {key: _raw(node, key) - sum(_raw(each, key) for each in timed) for key in _SUMS}
    left["rawBytesAccessedArray"] = [_bytes(node) - sum(_bytes(each) for each in timed)]
    if left["rawTime"] > 0.5:
        name = "not listed" if whole else f"other {category}"
        made = _operation({"name": name, "metrics": left}, {}, program, name if whole else category)
        found.append(replace(made, flops=None, bytes=None) if whole else made)
    return found


def _operation(node: Row, told: Row, program: str, category: str) -> Operation:
    """An operation, whose raw numbers are of all its runs; where how many isn't told, as of one."""
    count, seconds = max(int(_raw(node, "occurrences")), 1), _raw(node, "rawTime") * _PS
    stats: xla.Stats = {
        "hlo_category": category, "long_name": str(told.get("expression") or ""),
        "tf_op": str(told.get("provenance") or ""), "model_flops": _raw(node, "rawFlops") / count,
        "bytes_accessed": _bytes(node) / count,
    }  # fmt: skip
    made = xla.operation(str(node.get("name") or ""), program, stats)
    return replace(made, count=count, total=seconds, median=seconds / count, self_time=seconds)


def _children(node: Row) -> list[Row]:
    children = node.get("children")
    return [each for each in children if isinstance(each, dict)] if isinstance(children, list) else []


def _raw(node: Row, key: str) -> float:
    metrics = node.get("metrics")
    return number(metrics, key) if isinstance(metrics, dict) else 0.0


def _bytes(node: Row) -> float:
    """Bytes to and from the device's main memory, the first of its memories."""
    metrics = node.get("metrics")
    found = metrics.get("rawBytesAccessedArray") if isinstance(metrics, dict) else None
    return float(found[0]) if isinstance(found, list) and found and isinstance(found[0], int | float) else 0.0
