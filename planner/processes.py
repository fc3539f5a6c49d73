"""The processes that run one command together, on one host or on several, as `jax.distributed` joins them.

The same command is started on each. On TPU pods, under Slurm and Open MPI and in Kubernetes JAX finds out itself who
they are; elsewhere JAX_COORDINATOR_ADDRESS (`host:port` of the first), JAX_NUM_PROCESSES and JAX_PROCESS_ID say so.
JAX_NUM_PROCESSES=1 leaves a process by itself wherever it runs.
"""

from __future__ import annotations

import atexit
import itertools
import os
import pickle
import platform
import re
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, TypeVar

from planner import progress
from planner.errors import UserError

Value = TypeVar("Value")
NAMES = ADDRESS, COUNT, INDEX = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
JOIN_S = 60  # seconds in which all processes must have come
LOST_S = 30  # seconds without a sign of life after which a process counts as lost
PATIENCE_MS = 2**31 - 1  # that a process waits for the others while they live
FAILED = 2  # exit code of a process that could not do what it was asked
LOST, AGAIN = "of this command ended early", "see what it said, and run all of them again"
_GATHERED = itertools.count()


@dataclass(frozen=True)
class Processes:
    """How many processes run this command together, and which of them this one is, from 0 on."""

    count: int = 1
    index: int = 0

    @property
    def is_first(self) -> bool:
        """Whether this is the process that prints, and writes what is written once."""
        return self.index == 0

    def share(self, first: int, of: int) -> Callable[[int], bool]:
        """What tells whether the piece of work number `first` + n of all `of` is this process's.

        Each has one share, all about as large, in the order of the processes.
        """
        return lambda number: (first + number) * self.count // max(1, of) == self.index

    def gather(self, value: Value) -> list[Value]:
        """The value that each process gives, in their order; all must call it, and each waits for the last.

        A value is anything that pickle takes. Raises UserError where a process fails instead (`agreed`), or is lost.
        """
        if self.count == 1:
            return [value]
        from jax._src import distributed  # JAX's public gathering is a collective of the devices, and prints

        client: Any = distributed.global_state.client
        number = next(_GATHERED)
        try:
            client.key_value_set_bytes(f"planner/{number}/{self.index}", pickle.dumps(value))
            found: list[Any] = [
                pickle.loads(client.blocking_key_value_get_bytes(f"planner/{number}/{index}", PATIENCE_MS))
                for index in range(self.count)
            ]
        except RuntimeError:  # as JAX's own are
            _leave()
            raise AgreedError(f"another process {LOST}", remedy=AGAIN) from None
        faults = {index: each for index, each in enumerate(found) if isinstance(each, _Fault)}
        if len(faults) == self.count and len({fault.line for fault in faults.values()}) == 1:
            raise AgreedError(found[0].line)
        for index, fault in faults.items():
            raise AgreedError(f"process {index} on {fault.host}: {fault.line}")
        return found

    @contextmanager
    def agreed(self) -> Iterator[None]:
        """What is done within it is done on all processes or fails on all: each waits at its end for the others.

        Raises UserError on every process where one raised one, or an OSError: with its line, and which it was. Another
        exception is raised where it was, and is a UserError of the others. A nested one is a point at which all are
        known to have come so far.
        """
        try:
            yield
        except AgreedError:
            raise
        except Exception as error:
            if self.count > 1:
                try:
                    self.gather(_Fault(platform.node(), _line(error)))
                except AgreedError as agreed:
                    if isinstance(error, (UserError, OSError)):
                        raise agreed from None
            raise
        except BaseException:  # a Ctrl-C waits for nobody: the others find this process lost
            if self.count > 1:
                _leave()
            raise
        self.gather(None)


ALONE = Processes()


class AgreedError(UserError):
    """A fault of one process that all of them know of."""


@dataclass(frozen=True)
class _Fault:
    """What a process gives in the place of a value where it fails."""

    host: str
    line: str


def _leave() -> None:
    """Let this process, which fails, end without the others: JAX would wait for them."""

    def end() -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(FAILED)

    atexit.register(end)


def _line(error: Exception) -> str:
    if isinstance(error, UserError):
        return error.line()
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {error.strerror or error}"
    return f"{type(error).__name__}: {error}"


def join(clean: Callable[[], None] = lambda: None) -> Processes:
    """The processes that run this command, this one joined with them; to be called before JAX is imported.

    Where JAX is in use already, they are those that it was joined with. From here on the others than the first are
    silent. JAX ends a process of which another is lost; a process that watches this one says so in one line, and
    calls `clean` to take away what was half done. Raises UserError where they don't come together.
    """
    address, count, index = os.environ.get(ADDRESS, ""), _number(COUNT), _number(INDEX)
    if count == 1:
        return ALONE
    if count is not None and not 0 <= (index or 0) < count:
        raise UserError(f"{INDEX} is {index} of {count} processes", remedy=f"it is 0 to {count - 1}")
    if address and not re.fullmatch(r".+:\d+", address):
        raise UserError(f"{ADDRESS} is {address!r}", remedy="write host:port of process 0")
    if "jax" not in sys.modules:
        _watch(clean)
        _initialize(count, index)
    import jax

    if not jax.distributed.is_initialized():
        _unwatch()
        return ALONE
    try:
        found = Processes(jax.process_count(), jax.process_index())
    except RuntimeError as error:  # each waits to hear of the devices of all
        _leave()
        what = f"another process {LOST}" if "oordination" in str(error) else str(error).splitlines()[0]
        raise UserError(what, remedy=AGAIN) from None
    if not found.is_first:
        progress.be_silent()
    return found


def _number(name: str) -> int | None:
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    if not text.isdecimal():
        raise UserError(f"{name} is {text!r}", remedy="it is a whole number")
    return int(text)


def _initialize(count: int | None, index: int | None) -> None:
    import jax

    progress.step(f"waiting at most {JOIN_S} s for the processes to come together")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        with warnings.catch_warnings(action="ignore"):  # of clusters that JAX can't ask
            jax.distributed.initialize(
                num_processes=count, process_id=index, initialization_timeout=JOIN_S,
                heartbeat_timeout_seconds=LOST_S, shutdown_timeout_seconds=LOST_S,
            )  # fmt: skip
    except ValueError as error:
        missing = [name for name in NAMES if not os.environ.get(name)]
        if len(missing) < len(NAMES):  # else there is nobody to be joined with
            what = f"the processes can't be joined: {', '.join(missing) or error}"
            raise UserError(f"{what}{' not set' if missing else ''}", remedy=f"set {', '.join(NAMES)}") from None
    except RuntimeError as error:
        what = f"the processes can't be joined: {str(error).splitlines()[0]}"
        raise UserError(what, remedy=f"{COUNT}=1 runs this one by itself") from None


def _watch(clean: Callable[[], None]) -> None:
    """Go on in a process of its own, which this one waits for, ending as it ends; or say in one line why JAX ended it.

    JAX's runtime ends a process from outside Python. What it writes meanwhile goes to a file, of which the reason is
    told. Windows knows no such way: there JAX's own words stand.
    """
    if not hasattr(os, "fork"):
        return
    log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    child = os.fork()
    if child == 0:
        _Watched.stderr = os.dup(2)
        sys.stderr = os.fdopen(
            _Watched.stderr, "w", buffering=1, encoding=sys.stderr.encoding, errors=sys.stderr.errors
        )
        os.dup2(log.fileno(), 2)
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it reaches the child too, which answers it
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code >= 0:
        raise SystemExit(code)
    clean()
    raise _ended(-code, log)


def _unwatch() -> None:
    """What is written outside Python goes where it went before."""
    if _Watched.stderr is not None:
        os.dup2(_Watched.stderr, 2)


class _Watched:
    """Where a watched process's own words go: none where nobody watches."""

    stderr: int | None = None


def _ended(signal_number: int, log: IO[bytes]) -> UserError:
    """Why the process that computes was ended by a signal, from what JAX wrote."""
    log.seek(0)
    text = log.read().decode(errors="replace")
    if signal_number != signal.SIGABRT or "distributed service" not in text:
        name = signal.Signals(signal_number).name
        lines = [line for line in text.splitlines() if line.strip()]
        return UserError(f"the process was ended by {name}{': ' + lines[-1] if lines else ''}")
    if "RegisterTask" in text:
        address = os.environ.get(ADDRESS)
        said = f" at {address}" if address else ""
        remedy = "start the same command on each, where all reach process 0"
        return UserError(f"the processes did not come together{said} within {JOIN_S} s", remedy=remedy)
    lost = re.search(r"heartbeats\):\s*([\d, \n]+)", text)
    which = f"process {', '.join(lost[1].split())}" if lost else "another process"
    return UserError(f"{which} {LOST}", remedy=AGAIN)
