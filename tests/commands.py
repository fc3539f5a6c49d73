"""Commands of planner as the tests run them, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from click.testing import CliRunner, Result

from planner.cli import group


def run(*words: object) -> Result:
    """`planner` with some words."""
    return CliRunner().invoke(group, [str(word) for word in words])


def command(*words: object) -> str:
    """What a command prints that succeeds."""
    return printed_by(run(*words))


def printed_by(done: Result) -> str:
    """What was printed by a command that succeeded."""
    assert done.exit_code == 0, done.output
    return done.output


def refused(*words: object) -> str:
    """What a command says that refuses."""
    return refusal(run(*words))


def refusal(done: Result) -> str:
    """What was said by a command that refused: one line, and nothing else is printed."""
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.output
    return done.stderr


@contextmanager
def untouched(*paths: Path) -> Iterator[None]:
    """Meanwhile these files keep their bytes."""
    before = [path.read_bytes() for path in paths]
    yield
    assert [path.read_bytes() for path in paths] == before


def invoked(*words: object) -> tuple[int, str]:
    """Exit code and output of a command, which may refuse but must not break."""
    done = run(*words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    return done.exit_code, done.output
