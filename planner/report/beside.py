"""Files beside a report: the drawings of a Markdown page, which shows them and can't hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from planner.report.data import Picture

FAMILY = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',Arial,sans-serif"
_FONT = re.compile(r'font-family="[^"]*"')
_SIZE = re.compile(r'viewBox="0 0 (\S+) (\S+)"')
WIDE, MARGIN, PAPER = 560, 10, "#ffffff"


def folder_of(page: Path) -> Path:
    """Where the files of a page lie: `plan_files` beside `plan.md`."""
    return page.with_name(f"{page.stem}_files")


def name_of(picture: Picture) -> str:
    """A picture's file."""
    return f"{picture.id}.svg"


def link_to(page: Path, picture: Picture) -> str:
    """A picture's file as a link of the page has it."""
    return quote(f"{folder_of(page).name}/{name_of(picture)}")


def alone(picture: Picture) -> bytes:
    """A drawing that stands by itself: on white, whatever the page is on, in a font that every browser has."""
    begin, rest = _FONT.sub(f'font-family="{FAMILY}"', picture.svg, count=1).split(">", 1)
    wide, high = (float(side) + 2 * MARGIN for side in _SIZE.findall(begin)[0])
    sides = f'width="{wide:g}" height="{high:g}"'
    begin = _SIZE.sub(f'viewBox="-{MARGIN} -{MARGIN} {wide:g} {high:g}"', begin)
    ground = f'<rect x="-{MARGIN}" y="-{MARGIN}" {sides} fill="{PAPER}"/>'
    return f'{begin} width="{WIDE}">{ground}{rest}\n'.encode()


@contextmanager
def written_beside(page: Path, files: Mapping[str, bytes]) -> Iterator[None]:
    """Put files into the page's folder, each whole or not at all; where what follows fails, new ones go again.

    Raises UserError as `write_atomically` does, OSError where the folder can't be made.
    """
    from planner.xlsx.atomic import write_atomically

    folder = folder_of(page)
    new = [folder / name for name in files if not (folder / name).exists()]
    is_new = bool(files) and not folder.exists()
    try:
        if is_new:
            folder.mkdir()
        for name, data in files.items():
            write_atomically(folder / name, data)
        yield
    except BaseException:
        for path in new:
            path.unlink(missing_ok=True)
        if is_new and folder.is_dir():
            folder.rmdir()
        raise
