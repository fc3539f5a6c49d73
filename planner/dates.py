"""The creation date of written files, and conversion of dates from texts and to and from workbook cells."""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime, timedelta

from planner.errors import UserError

_BEFORE_THE_FIRST = date(1899, 12, 30)  # day 0 of a cell's serial numbers
LAST_DAY = 2_958_465.0  # the end of 9999, the last day that a spreadsheet can show


def made_now() -> datetime:
    """The creation time of output written now: SOURCE_DATE_EPOCH if set, for byte-identical rebuilds."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch and not re.fullmatch("[0-9]{1,11}", epoch):
        raise UserError(
            f"SOURCE_DATE_EPOCH={epoch!r} is no time", remedy="set it to whole seconds since 1970, or unset it"
        )
    return datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC).replace(microsecond=0)


def moment_of(text: str) -> datetime | None:
    """The time in a text such as 2026-05-01T10:00:00+00:00, in UTC if it has no zone; None for another text."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def cell_number(day: date, *, since_1904: bool = False) -> float:
    """The serial number of a day in a cell; `since_1904` for workbooks with the 1904 date system."""
    return float((day - (date(1904, 1, 1) if since_1904 else _BEFORE_THE_FIRST)).days)


def day_of(number: float) -> date:
    """The day of a cell's serial number."""
    return _BEFORE_THE_FIRST + timedelta(days=int(number))
