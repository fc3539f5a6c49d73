"""The date that a file bears, and dates as texts and the cells of a workbook hold them."""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime, timedelta

from planner.errors import UserError

_BEFORE_THE_FIRST = date(1899, 12, 30)  # from it a cell counts days
LAST_DAY = 2_958_465.0  # the end of 9999, the last that a spreadsheet shows


def made_now() -> datetime:
    """When what is written now is made: SOURCE_DATE_EPOCH where set, so that it can be written again to the byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch and not re.fullmatch("[0-9]{1,11}", epoch):
        raise UserError(
            f"SOURCE_DATE_EPOCH={epoch!r} is no time", remedy="set it to whole seconds since 1970, or unset it"
        )
    return datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC).replace(microsecond=0)


def moment_of(text: str) -> datetime | None:
    """The moment that a text such as 2026-05-01T10:00:00+00:00 tells, in UTC where it names no zone; else None."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def cell_number(day: date, *, since_1904: bool = False) -> float:
    """The number that a cell holds of a day; `since_1904` in workbooks that count from there."""
    return float((day - (date(1904, 1, 1) if since_1904 else _BEFORE_THE_FIRST)).days)


def day_of(number: float) -> date:
    """The day of which a cell holds the number."""
    return _BEFORE_THE_FIRST + timedelta(days=int(number))
