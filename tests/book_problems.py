"""Keeps templates/book.csv, the problems of the workbook that teaches, in step with the cases of the tests.

`python -m tests.book_problems` rewrites it: each mapped case brings its template, settings and output, each waiting one
its reason. What a person wrote there (question, explanation, what the source prints) is kept; a problem that is new is
taken over from the sources' tables, whose folder PLANNER_CASES names.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path

from tests.test_cases import HERE, SOURCES, read

BOOK = HERE.parent / "templates" / "book.csv"
COLUMNS = (
    "id", "work", "chapter", "place", "question", "symbols", "template", "model", "hardware", "settings", "output",
    "factor", "unit", "exact", "printed", "mapping", "explanation",
)  # fmt: skip
MAPPING = ("template", "model", "hardware", "settings", "output", "factor")
WORKS = {"scaling_book": "How to Scale Your Model", "course_slides": "High Performance LLMs"}
CHAPTERS = {
    "1": "Chapter 1: Rooflines", "2": "Chapter 2: TPUs", "3": "Chapter 3: Sharded matrices",
    "4": "Chapter 4: Transformer math", "5": "Chapter 5: Training", "6": "Chapter 6: Training LLaMA 3",
    "7": "Chapter 7: Inference", "8": "Chapter 8: Serving LLaMA 3", "12": "Chapter 12: GPUs",
    "hw": "Course hardware: the chips of the slides",
    **{f"s{number:02}": f"Session {number}: slides, code and exercises" for number in range(1, 11)},
    "n": "Course notes: questions and comparisons", "misc": "Course notes: questions and comparisons",
}  # fmt: skip
WAITS = "waits for a row"
STATED = {"stated", "executed"}  # kinds of the course's rows whose number the source itself gives


def synced(problems: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """The problems as they ought to stand: mapped as the tests map them, none missing, chapter by chapter."""
    kept = {row["id"]: dict(row) for row in problems}
    mapped = {case["case_id"]: (work, case) for work in WORKS for case in read(HERE / "cases" / f"{work}.csv")}
    waiting = {row["case_id"]: row for row in read(HERE / "cases" / "waiting.csv")}
    sources = {row["id"]: row for work in WORKS for row in _source(work)}
    wanted = dict.fromkeys([*sources, *kept])
    found = []
    for name in wanted:
        if name not in kept:
            kept[name] = sources[name]
        row = kept[name] | dict.fromkeys(MAPPING, "")
        if name in mapped:
            case = mapped[name][1]
            row |= {column: case[column] for column in MAPPING} | {"mapping": case["note"]}
            row["exact"] = case["computed_value"]
        else:
            row["mapping"] = waiting[name]["reason"] if name in waiting else WAITS
        found.append(row)
    unknown = sorted((mapped.keys() | waiting.keys()) - wanted.keys())
    assert not unknown, f"give these a line in {BOOK.name}, or name the sources' folder in PLANNER_CASES: {unknown}"
    known = mapped.keys() | waiting.keys()
    course, order = WORKS["course_slides"], list(CHAPTERS.values())
    found.sort(key=lambda row: order.index(row["chapter"]))
    return [row for row in found if row["id"] in known or row["printed"] or row["work"] != course]


def _source(work: str) -> Iterable[dict[str, str]]:
    path = SOURCES / f"{work}.csv"
    return map(_of_scaling_book if work == "scaling_book" else _of_course, read(path)) if path.exists() else ()


def _of_scaling_book(row: Mapping[str, str]) -> dict[str, str]:
    number = row["chapter"].split()[0]
    return dict.fromkeys(COLUMNS, "") | {
        "id": row["id"], "work": WORKS["scaling_book"], "chapter": CHAPTERS[number], "place": f"ch. {number}",
        "question": row["question"], "unit": row["unit"], "exact": row["computed_value"],
        "symbols": f"{row['quantity']} = {row['formula_expr']}, where {row['inputs'].replace(';', '; ')}",
        "printed": "" if row["verified"] == "derived" else _plain(row["expected_value"]),
        "explanation": row["note"],
    }  # fmt: skip


def _of_course(row: Mapping[str, str]) -> dict[str, str]:
    question = row["quantity"][:1].upper() + row["quantity"][1:]
    return dict.fromkeys(COLUMNS, "") | {
        "id": row["id"], "work": WORKS["course_slides"], "chapter": CHAPTERS[row["id"].split(".")[0]],
        "place": re.sub(r"s\d\d/(rafi_preclass_prep/)?", "", row["source"]),
        "question": ": ".join(filter(None, (question, row["inputs"]))), "unit": row["computed_unit"] or row["unit"],
        "exact": row["computed_value"], "printed": _in_unit(row) if row["kind"] in STATED else "",
        "explanation": row["note"],
    }  # fmt: skip


def _in_unit(row: Mapping[str, str]) -> str:
    """What a slide prints in the unit of the exact value: its milliseconds, megabytes and percents as s, byte and 1."""
    if not row["computed_value"] or not float(row["recomputed"]):
        return _plain(row["expected_value"])
    scale = Decimal(f"{float(row['computed_value']) / float(row['recomputed']):.6g}")
    return _plain(str(Decimal(row["expected_value"]) * scale))


def _plain(number: str) -> str:
    """A number as a person writes it: 1.332e11 for 133199999999.99998."""
    return f"{float(f'{float(number):.12g}'):.12g}".replace("e+", "e")


def text(problems: Iterable[Mapping[str, str]]) -> str:
    """The CSV's text."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(problems)
    return stream.getvalue()


def main(path: Path = BOOK) -> None:
    """Rewrite the file."""
    problems = synced(read(path) if path.exists() else [])
    path.write_text(text(problems), encoding="utf-8")
    mapped = sum(bool(row["template"]) for row in problems)
    print(f"{path}: {mapped} problems with a live formula, {len(problems) - mapped} that wait")


if __name__ == "__main__":
    main()
