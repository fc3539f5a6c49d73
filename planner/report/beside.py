"""Files beside a report: the drawings of a Markdown page, which shows them and can't hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from planner import progress
from planner.errors import UserError
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
    """Put files into the page's folder, each whole or not at all; where what follows fails, all are as they were.

    A page that can't be replaced is refused first, so that nothing beside it is touched.
    Raises UserError as `write_atomically` does, OSError where the folder can't be made or a file of it not be read.
    """
    from planner.xlsx.atomic import refuse_if_unwritable, write_atomically

    refuse_if_unwritable(page)
    folder = folder_of(page)
    is_new = bool(files) and not folder.exists()
    old: dict[Path, bytes | None] = {}  # what stood in the place of each file that was begun
    try:
        if is_new:
            folder.mkdir()
        for name, data in files.items():
            path = folder / name
            before = path.read_bytes() if path.exists() else None
            if before != data:
                refuse_if_unwritable(path)
                old[path] = before
                write_atomically(path, data)
        yield
    except BaseException:
        for path, before in old.items():
            with suppress(OSError, UserError):  # the others are still put back, and the first fault is told
                write_atomically(path, before) if before is not None else path.unlink(missing_ok=True)
                progress.put_back(path)
        if is_new and folder.is_dir():
            folder.rmdir()
        raise
