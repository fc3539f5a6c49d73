"""What a command says on stderr when it has ended, said to a caller in Python as warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from planner import progress

Arguments = ParamSpec("Arguments")
Found = TypeVar("Found")


def warned(function: Callable[Arguments, Found]) -> Callable[Arguments, Found]:
    """The function; what it would warn of on the command line comes as a UserWarning at the caller's line."""

    @wraps(function)
    def with_warnings(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Found:
        with progress.cleared():
            found = function(*args, **kwargs)
            for text in progress.warnings():
                warnings.warn(text, stacklevel=2)
            return found

    return with_warnings
