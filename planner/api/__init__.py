"""The Python API: the functions that `import planner` offers, which the commands of the same names call too.

What a command would warn of on stderr is a Python warning here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from planner import progress

Arguments = ParamSpec("Arguments")
Found = TypeVar("Found")


def warned(function: Callable[Arguments, Found]) -> Callable[Arguments, Found]:
    """The function with its command-line warnings turned into UserWarnings at the caller's line."""

    @wraps(function)
    def with_warnings(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Found:
        with progress.cleared():
            found = function(*args, **kwargs)
            for text in progress.warnings():
                warnings.warn(text, stacklevel=2)
            return found

    return with_warnings
