"""Draws the pictures of the documentation anew: `python docs/pictures.py`, or with the names of some.

Workbooks are built, printed by LibreOffice, cut where something stands, and set on a page that Chromium photographs.
It needs `soffice`, `pdftoppm`, `pdftotext`, `chromium` and `pngquant`, and the font Carlito, as wide as Calibri.
"""

from __future__ import annotations

import html
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

IMAGES = Path(__file__).parent / "images"
DPI = 130
WORD = re.compile(r'<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">(.*?)</word>')
PAGE = re.compile(r'<page width="([\d.]+)" height="([\d.]+)">(.*?)</page>', re.DOTALL)
STYLE = """
body { margin: 0; background: #fff; font: 600 17px 'Noto Sans', sans-serif; color: #1f3a5f }
h2 { font-size: 17px; line-height: 24px; margin: 0; padding: 10px 12px 4px; white-space: pre }
div { overflow: hidden; position: relative; margin: 0 4px } img { position: absolute }
"""


@dataclass(frozen=True)
class Cut:
    """A piece of a sheet's printed page: so many points above and below a word."""

    book: str
    sheet: str
    word: str
    above: float
    below: float
    title: str = ""


PICTURES = {
    "cover": (1366, [Cut("plan", "Cover", "Plan", 8, 130)]),
    "dashboard": (1120, [Cut("plan", "Dashboard", "Dashboard", 8, 405)]),
    "sweep": (1060, [Cut("train", "Sweep", "Training:", 8, 92), Cut("train", "Dashboard", "Training:", 6, 140)]),
    "book": (1460, [Cut("book", "Book", "Problem", 44, 180), Cut("book", "Chapter_1", "Chapter", 12, 190)]),
    "from-a-number-to-its-sources": (960, [
        Cut("plan", "Dashboard", "Decode", 4, 32,
            "1  Dashboard: the decode step, and a link to its row"),
        Cut("plan", "Inference", "decode_step_time_expected", 50, 14,
            "2  Inference: its formula in names, its note and source; the rows above are what it is made of"),
        Cut("plan", "Inference", "hbm_bandwidth", 27, 24, "    ... down to those that are called up, by a link"),
        Cut("plan", "Inputs", "n_chips", 40, 10, "3  Inputs: what was typed for each scenario"),
        Cut("plan", "Hardware", "peak_bf16", 36, 80, "    Hardware: what was looked up; its sources end the row"),
    ]),
}  # fmt: skip
REPORT = (1280, 1000)  # wide and high, in pixels
COLOURS = 128


def main(wanted: list[str]) -> None:
    """Draw the pictures that are named, else all."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not wanted or "report" in wanted:
            planner("build", "-o", str(folder / "plan.xlsx"), "--force")
            planner("report", str(folder / "plan.xlsx"), "-o", str(folder / "report.html"))
            photograph(folder / "report.html", folder, IMAGES / "report.png", *REPORT)
        for picture, (width, cuts) in PICTURES.items():
            if not wanted or picture in wanted:
                draw(folder, IMAGES / f"{picture}.png", width, cuts)


def planner(*words: str) -> None:
    """Run a command of planner."""
    subprocess.run([sys.executable, "-m", "planner", *words], check=True)


def printed(folder: Path, book: str) -> Path:
    """A workbook as LibreOffice prints it."""
    path = folder / f"{book}.pdf"
    if not path.exists():
        options = {"book": ["--template", "book"], "plan": []}.get(book, ["llama3-70b", "-H", "tpu-v5p", *TRAINED])
        planner("build", *options, "-o", str(path.with_suffix(".xlsx")), "--force")
        profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
        run = ["soffice", profile, "--headless", "--convert-to", "pdf", "--outdir", str(folder)]
        subprocess.run([*run, str(path.with_suffix(".xlsx"))], check=True, capture_output=True)
    return path


TRAINED = ["--template", "transformer", "--template", "training", "--set", "n_chips=8192", "mesh_fsdp=4096",
           "mesh_tensor=2", "batch_tokens=16777216", "slice_x=16", "slice_y=16", "slice_z=32"]  # fmt: skip


def draw(folder: Path, target: Path, width: int, cuts: list[Cut]) -> None:
    """Set the pieces below each other, each as wide as the picture."""
    body, high = "", 0.0
    for number, cut in enumerate(cuts):
        pdf = printed(folder, cut.book)
        page, top, left, right = place(pdf, cut)
        stem = folder / f"{target.stem}-{number}"
        run = ["pdftoppm", "-r", str(DPI), "-f", str(page), "-l", str(page), "-png", "-singlefile", str(pdf), str(stem)]
        subprocess.run(run, check=True)
        scale = (width - 8) / (right - left)
        tall = (cut.above + cut.below) * scale
        wide = page_width(pdf, page) * scale
        if cut.title:
            body += f"<h2>{html.escape(cut.title)}</h2>"
            high += 38
        body += (f'<div style="height:{tall:.0f}px"><img src="{stem.name}.png" style="width:{wide:.1f}px;'
                 f'left:{-left * scale:.1f}px;top:{-(top - cut.above) * scale:.1f}px"></div>')  # fmt: skip
        high += round(tall)
    page_file = folder / f"{target.stem}.html"
    page_file.write_text(f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style>{body}', encoding="utf-8")
    photograph(page_file, folder, target, width, int(high) + 12)


def pages(pdf: Path) -> list[tuple[float, list[tuple[float, float, float, str]]]]:
    """Each page's width and its words: left, top, right, text."""
    run = ["pdftotext", "-bbox", str(pdf), "-"]
    text = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    return [
        (float(wide), [(float(a), float(b), float(c), html.unescape(word)) for a, b, c, _, word in WORD.findall(body)])
        for wide, _, body in PAGE.findall(text)
    ]


def page_width(pdf: Path, page: int) -> float:
    """In points."""
    return pages(pdf)[page - 1][0]


def place(pdf: Path, cut: Cut) -> tuple[int, float, float, float]:
    """The page on which a piece stands, the height of its word, and from where to where the page is printed."""
    for number, (_, words) in enumerate(pages(pdf), start=1):
        foot = max(top for _, top, _, _ in words) if words else 0.0
        if not any(word == cut.sheet and top > foot - 4 for _, top, _, word in words):
            continue
        found = [top for _, top, _, word in words if word == cut.word and top < foot - 4]
        if found:
            inside = [(left, right) for left, top, right, _ in words if top < foot - 4]
            return number, found[0], min(left for left, _ in inside) - 4, max(right for _, right in inside) + 4
    raise SystemExit(f"{cut.word} is not on {cut.sheet}")


def photograph(page: Path, folder: Path, target: Path, width: int, height: int) -> None:
    """A page as Chromium shows it, in few colours: a third of the bytes."""
    run = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    run += [f"--window-size={width},{height}", f"--user-data-dir={folder / 'chromium'}", f"--screenshot={target}"]
    subprocess.run([*run, page.as_uri()], check=True, capture_output=True)
    subprocess.run(["pngquant", "--force", "--output", target, str(COLOURS), "--", target], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
