"""The date that a file bears."""

from __future__ import annotations

import os
from datetime import UTC, datetime


def made_now() -> datetime:
    """When what is written now is made: SOURCE_DATE_EPOCH where set, so that it can be written again to the byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC).replace(microsecond=0)
