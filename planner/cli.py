"""The `planner` command: a group whose commands are loaded when called. Imports click and nothing heavy.

On output that can't encode every character, such as a Windows console or pipe with an older code page, a similar
character is printed instead. Question marks would make the bars of `planner sensitivity` meaningless.
"""

from __future__ import annotations

import codecs
import errno
import gc
import importlib
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from planner import __version__, progress
from planner.errors import UserError, nearest

COMMANDS = {
    "backfill": "Write measured times from a CSV into a workbook's Comparison sheet.",
    "build": "Write a planning workbook whose cells are live formulas.",
    "calc": "Calculate one plan on the command line, without a workbook.",
    "check": "Check a workbook: failed checks, inputs out of range, broken formulas.",
    "diff": "Show what changed between two workbooks, and how the headlines moved.",
    "export-inputs": "Write a workbook's scenarios as a CSV that build reads.",
    "find": "Find rows, templates, models and chips by words.",
    "fit": "Fit a calibration to your own measured runs.",
    "hardware": "List the accelerators, show one, or measure this machine as one.",
    "ingest": "Read a profile of a run, and write it into a workbook beside its plan.",
    "measure": "Time a workbook's cases, or a built-in suite, on this machine.",
    "models": "List the models, show one, or add one from its config.json.",
    "optimize": "Search the layouts of a template for the best plans.",
    "recalc": "Refresh the cached values of a workbook.",
    "record": "Write the time of a run of your own into a workbook's Comparison sheet.",
    "report": "Write a workbook as a report: HTML, PDF, Markdown, CSV or JSON.",
    "scenario": "List, add, rename or remove the scenarios of a workbook.",
    "sensitivity": "Show how much an output depends on each input.",
    "show": "Print a workbook as text, for git diff.",
    "sweep": "Calculate every combination of some values as a table.",
    "templates": "List the templates, show one, or write its page.",
    "update": "Update an edited workbook to newer templates and databases.",
    "validate": "Compare expected times with measured runs.",
}

# Everyday words for commands, and what they mean here.
MEANT = {
    word: meant
    for words, meant in (
        ("plan", "build, for a workbook, or calc, on the command line"),
        ("new create generate init", "build"),
        ("calculate estimate predict simulate run cost", "calc"),
        ("serve serving infer inference decode", "calc inference"),
        ("train pretrain finetune", "calc training"),
        ("explain why", "calc with --why"),
        ("solve", "calc with --solve"),
        ("search best plans layouts", "optimize"),
        ("tune", "optimize, for the best plan, or fit, to measured runs"),
        ("grid tabulate", "sweep"),
        ("tornado elasticities what-if", "sensitivity"),
        ("export pdf html markdown", "report, or export-inputs for the scenarios as a CSV"),
        ("compare", "diff, for two workbooks, or validate, with measured runs"),
        ("add", "models add, hardware add or scenario add"),
        ("list ls", "models list, hardware list, templates list or scenario list"),
        ("chips chip gpus gpu tpus tpu accelerators devices", "hardware list"),
        ("rename remove", "scenario rename or scenario remove"),
        ("profile trace import", "ingest"),
        ("bench benchmark time", "measure"),
        ("calibrate", "fit"),
        ("verify lint", "check"),
        ("refresh", "recalc, for stored values, or update, to newer formulas"),
        ("upgrade", "update"),
        ("help", "planner --help"),
        ("version", "planner --version"),
    )
    for word in words.split()
}

_FAILED = 2  # exit code of a failed command
MOMENT = 0.002  # seconds until a lost Ctrl-C is raised again


class Lazy(click.Group):
    """A group that imports a command's module only when it is called, so that --help stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"planner.commands.{name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The called command; the error for an unknown one suggests what it means, or the nearest name."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            meant = MEANT.get(args[0].lower())
            remedy = f"did you mean {meant}?" if meant else nearest(args[0], COMMANDS, "planner --help lists them")
            raise UserError(f"no command {args[0]!r}", remedy=remedy)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors outside the program become one line on stderr and exit code 2."""
        try:
            with progress.cleared(), _interruptible():
                done = super().invoke(ctx)
                progress.say_warnings()
                return done
        except click.exceptions.Exit as done:
            if done.exit_code != _FAILED:
                progress.say_warnings()
            raise
        except UserError as error:
            what = str(error)
        except KeyboardInterrupt:
            what = f"interrupted; {progress.outcome()}"
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            what = f"{error.filename or 'the system'}: {error.strerror or error}; {progress.outcome()}"
        except Exception as error:
            if not _is_interrupted(error):
                raise
            what = f"interrupted; {progress.outcome()}"
        click.echo(f"Error: {what}", err=True)
        raise click.exceptions.Exit(_FAILED)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Within the block, Ctrl-C raises KeyboardInterrupt, so that a command can clean up; outside it, Ctrl-C exits.

    If another handler than that of planner's entry point is installed, nothing changes.
    """
    outside = signal.getsignal(signal.SIGINT)
    if _Entry.stop is None or outside is not _Entry.stop:
        yield
        return
    previous = sys.unraisablehook
    try:
        sys.unraisablehook = _raise_again
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, outside)
    except BaseException:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the error is being printed; Ctrl-C would add a second message
        raise
    finally:
        sys.unraisablehook = previous


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused an error: Python wraps it during an import, openpyxl while it validates a value."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _raise_again(lost: Any) -> None:
    """Raise Ctrl-C again a moment later if it occurred in a collector callback or finaliser, which can't raise."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    import _thread
    import threading

    again = threading.Timer(MOMENT, _thread.interrupt_main)
    again.daemon = True
    again.start()


class _Entry:
    """The Ctrl-C handler outside commands; None if planner isn't the running program."""

    stop: Any = None


@click.command(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="planner")
@click.option("-v", "--verbose", is_flag=True, help="Print each step and how long it took, on stderr.")
def group(verbose: bool) -> None:
    """Plan LLM training and serving in spreadsheets of live formulas, and compare the plans with measurements."""
    if verbose:
        progress.be_verbose()


def main(stop: Any = None) -> None:
    """Run the command line, printing similar characters for those that the terminal can't encode.

    `stop` is the Ctrl-C handler installed by planner's entry point.
    """
    _Entry.stop = stop
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=LIKE_IT)
    try:
        group(prog_name="planner")
    finally:
        if stop is not None and signal.getsignal(signal.SIGINT) is stop:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # finished: Ctrl-C would make Python's shutdown fail silently
        gc.freeze()  # spare the remaining objects a last collection


LIKE_IT = "planner.like_it"
"""The name of the encoding error handler, for `stream.reconfigure(errors=LIKE_IT)`."""
_PLAIN = {
    "≤": "<=", "≥": ">=", "≠": "<>", "→": "->", "◄": "<", "►": ">", "█": "#", "░": "-", "│": "|", "…": "...",
    "·": "*", "×": "x", "−": "-", "–": "-", "—": "-", "µ": "u", "μ": "u", "’": "'", "‘": "'", "“": '"', "”": '"',
}  # fmt: skip


def plain(text: str) -> str:
    """The text in ASCII: signs replaced by similar ones, letters without accents, `?` for anything else."""
    return "".join(_PLAIN.get(each) or _without_marks(each) for each in text)


def _without_marks(character: str) -> str:
    import unicodedata

    parts = unicodedata.normalize("NFKD", character)
    return "".join(part for part in parts if part.isascii()) or "?"


def _like_it(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return plain(error.object[error.start : error.end]), error.end


codecs.register_error(LIKE_IT, _like_it)
