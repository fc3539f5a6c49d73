"""Workbooks to report, and what a report says read back: numbers with the digits shown, pages as plain elements."""

from __future__ import annotations

import csv
import functools
import math
import re
from html.parser import HTMLParser
from pathlib import Path

from planner.report.contents import ReportData
from planner.report.report_data import report_data
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from tests.folders import shared_folder
from tests.short_data import of_few_rows
from tests.workbooks import build_small, few_rows, write_plan, write_small

HOSTILE = "<script>alert('x')</script> & \"q\" | `x` **b** [l](http://evil.example/)"
FORMULA = "=cmd|' /C calc'!A0"
FOREIGN = "Größe – Ωmega Привет"
_PREFIXES = {"E": 1e18, "P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1.0, "m": 1e-3, "µ": 1e-6, "n": 1e-9,
             "p": 1e-12}  # fmt: skip
_WORDS = {
    "us": 1e-6,
    "min": 60.0,
    "h": 3600.0,
    "days": 86400.0,
    "years": 365.25 * 86400,
    "million": 1e6,
    "billion": 1e9,
}
_SHOWN = re.compile(r"([+-]?[0-9][0-9,]*)(?:\.([0-9]+))?(?:e([+-][0-9]+))?(?:\s*(%|.+))?")


@functools.cache
def hostile_workbook() -> Path:
    """Four that serve: a name that is markup, one that is a formula and doesn't fit, one far from ASCII, one plain."""
    folder = shared_folder()
    rows = [
        ("id", "name", "model", "hardware", "n_chips", "batch"),
        ("one", HOSTILE, "llama3-70b", "tpu-v5e", "16", "32"),
        ("two", FORMULA, "llama3-70b", "h100-sxm", "1", "32"),
        ("three", FOREIGN, "gemma2-27b", "h20", "8", "4"),
        ("four", "plain", "llama3-70b", "h100-sxm", "8", "32"),
    ]
    scenarios = folder / "scenarios.csv"
    with scenarios.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)
    path = folder / "hostile.xlsx"
    few = few_rows(("llama3-70b", "gemma2-27b"), ("tpu-v5e", "h100-sxm", "h20"))
    path.write_bytes(build_small(plan_of((), (), ("transformer", "inference"), scenarios, (), few)))
    return path


@functools.cache
def default_workbook() -> Path:
    """What `planner build` writes, with databases of only the rows that it plans with and one axis of each sweep."""
    path = shared_folder() / "plan.xlsx"
    with of_few_rows(("llama3-70b",), ("tpu-v5e", "tpu-v6e", "h100-sxm", "tpu-v5p")):
        path.write_bytes(build(plan_of((), (), (), None, ())))
    return path


@functools.cache
def whole_workbook() -> Path:
    """What `planner build` writes."""
    path = shared_folder() / "plan.xlsx"
    write_plan(path)
    return path


@functools.cache
def small_workbook() -> Path:
    """One model that serves on one chip."""
    path = shared_folder() / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5e"], ["inference"], n_chips=4)
    return path


@functools.cache
def reported(path: Path) -> ReportData:
    """What a report says of one of these workbooks, gathered once for all tests of a process."""
    return report_data(path)


def agrees(text: str, value: float) -> bool:
    """Whether a number as a report shows it is a cell's value to the digits shown; written apart from the product."""
    if text in ("yes", "no"):
        return value == (text == "yes")
    match = _SHOWN.fullmatch(text.strip().removeprefix("$"))
    if match is None:
        return False
    whole, fraction, exponent, suffix = match.groups()
    factor = 10.0 ** int(exponent or 0)
    if suffix in _WORDS:
        factor *= _WORDS[suffix]
    elif suffix == "%":
        factor /= 100
    elif suffix == "/kWh":
        factor /= 1000
    elif suffix and (scaled := re.fullmatch(r"([EPTGMkmµnp]?)(B|FLOP|s)(?:/.*)?", suffix)) and suffix != "s/h":
        factor *= _PREFIXES[scaled[1]]
    number = float(whole.replace(",", "") + "." + (fraction or "0"))
    rounded = re.fullmatch(r"\d{3}(0+)", whole.replace(",", "")) if fraction is None else None
    unit = factor * 10.0 ** (len(rounded[1]) if rounded else -len(fraction or ""))
    return math.isclose(number * factor, value, rel_tol=1e-12) or abs(number * factor - value) <= unit * 0.500001


class Page(HTMLParser):
    """An HTML page read back: elements with their attributes and text, in order."""

    VOID = ("meta", "link", "input", "br", "img", "hr")

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self.declared: list[str] = []
        self._open: list[tuple[str, dict[str, str], list[str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = (tag, {name: value or "" for name, value in attrs}, [])
        self.elements.append(element)
        if tag not in self.VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1][0] == tag, f"</{tag}> closes <{self._open[-1][0]}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for _, _, texts in self._open:
            texts.append(data)

    def of(self, tag: str) -> list[tuple[dict[str, str], str]]:
        """The attributes and the text of each element of a tag."""
        return [(attributes, "".join(texts)) for name, attributes, texts in self.elements if name == tag]

    def figures(self) -> list[tuple[str, str, str]]:
        """Each number: its cell, its exact value, what is shown of it."""
        return [
            (attributes["data-cell"], attributes["data-value"], "".join(texts))
            for _, attributes, texts in self.elements
            if attributes.get("data-value") and "data-derived" not in attributes
        ]
