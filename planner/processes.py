"""The processes that run one command together, on one or several hosts, joined by `jax.distributed`.

The same command is started on each. On TPU pods, under Slurm and Open MPI and in Kubernetes, JAX finds the processes
itself. Elsewhere JAX_COORDINATOR_ADDRESS (`host:port` of the first), JAX_NUM_PROCESSES and JAX_PROCESS_ID define them.
JAX_NUM_PROCESSES=1 keeps a process separate in any environment.
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
JOIN_S = 60  # seconds within which all processes must connect
LOST_S = 30  # seconds without a heartbeat after which a process counts as lost
PATIENCE_MS = 2**31 - 1  # wait for the other processes as long as they are alive
FAILED = 2  # exit code of a failed process
LOST, AGAIN = "of this command ended early", "see what it said, and run all of them again"
_GATHERED = itertools.count()


@dataclass(frozen=True)
class Processes:
    """The number of processes that run this command, and the 0-based index of this one."""

    count: int = 1
    index: int = 0

    @property
    def is_first(self) -> bool:
        """Whether this is the process that prints and writes files."""
        return self.index == 0

    def share(self, first: int, of: int) -> Callable[[int], bool]:
        """A predicate: whether work item number `first` + n, of `of` items in all, belongs to this process.

        Each process gets one contiguous share of about equal size, in process order.
        """
        return lambda number: (first + number) * self.count // max(1, of) == self.index

    def gather(self, value: Value) -> list[Value]:
        """The values of all processes, in process order. All processes must call it; each waits for the last.

        A value must be picklable. Raises UserError if a process fails instead (see `agreed`) or is lost.
        """
        if self.count == 1:
            return [value]
        from jax._src import distributed  # JAX's public gather is a device collective, and prints messages

        client: Any = distributed.global_state.client
        number = next(_GATHERED)
        try:
            client.key_value_set_bytes(f"planner/{number}/{self.index}", pickle.dumps(value))
            found: list[Any] = [
                pickle.loads(client.blocking_key_value_get_bytes(f"planner/{number}/{index}", PATIENCE_MS))
                for index in range(self.count)
            ]
        except RuntimeError:  # JAX's own errors
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
        """A block that succeeds on all processes or fails on all; each process waits for the others at its end.

        If one process raises UserError or OSError, every process raises UserError with its message and process index.
        Any other exception is re-raised where it occurred, and becomes a UserError in the others. A nested block is a
        checkpoint: its end shows that all processes got this far.
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
        except BaseException:  # on Ctrl-C don't wait: the others notice that this process is lost
            if self.count > 1:
                _leave()
            raise
        self.gather(None)


ALONE = Processes()


class AgreedError(UserError):
    """A failure of one process that all processes know about."""


@dataclass(frozen=True)
class _Fault:
    """What a failed process sends in place of a value."""

    host: str
    line: str


def _leave() -> None:
    """Let this failed process exit without the others; JAX would otherwise wait for them."""

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
    """Join this process with the others that run this command. Must be called before JAX is imported.

    If JAX is already in use, returns the processes it was joined with. From here on only the first process prints. JAX
    kills a process when another one is lost; a watching parent process then reports it in one line and calls `clean` to
    remove half-finished output. Raises UserError if the processes fail to connect.
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
    except RuntimeError as error:  # each waits for the device lists of all
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
        with warnings.catch_warnings(action="ignore"):  # JAX warns of clusters that it can't query
            jax.distributed.initialize(
                num_processes=count,
                process_id=index,
                initialization_timeout=JOIN_S,
                heartbeat_timeout_seconds=LOST_S,
                shutdown_timeout_seconds=LOST_S,
            )
    except ValueError as error:
        missing = [name for name in NAMES if not os.environ.get(name)]
        if len(missing) < len(NAMES):  # otherwise there are no other processes
            what = f"the processes can't be joined: {', '.join(missing) or error}"
            raise UserError(f"{what}{' not set' if missing else ''}", remedy=f"set {', '.join(NAMES)}") from None
    except RuntimeError as error:
        what = f"the processes can't be joined: {str(error).splitlines()[0]}"
        raise UserError(what, remedy=f"{COUNT}=1 runs this one by itself") from None


def _watch(clean: Callable[[], None]) -> None:
    """Continue in a child process while this one waits and exits like it, or reports in one line why JAX killed it.

    JAX's runtime kills a process from outside Python. Its messages go to a file, from which the reason is extracted.
    This isn't possible on Windows, where JAX's own messages are shown.
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child receives it too and handles it
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code >= 0:
        raise SystemExit(code)
    clean()
    raise _ended(-code, log)


def _unwatch() -> None:
    """Restore the destination of output written outside Python."""
    if _Watched.stderr is not None:
        os.dup2(_Watched.stderr, 2)


class _Watched:
    """The destination of a watched process's own output; None if it isn't watched."""

    stderr: int | None = None


def _ended(signal_number: int, log: IO[bytes]) -> UserError:
    """The error for the computing process having been killed by a signal, according to JAX's log."""
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
