"""Processes that run one command together: who does what, what each tells the others, and how one's fault is all's."""

from __future__ import annotations

import re

import pytest

from planner import processes
from planner.errors import UserError
from planner.processes import Processes, join
from tests.hosts import together

BEGIN = """
import os, sys
from planner import processes
from planner.errors import UserError
processes.JOIN_S, processes.LOST_S = 20, 10
try:
    among = processes.join()
"""
END = """
except UserError as error:
    print(error)
    sys.exit(2)
"""


def script(*lines: str) -> list[str]:
    """What Python runs: some lines, with `among` the processes that this one is joined with."""
    return ["-c", BEGIN + "".join(f"    {line}\n" for line in lines) + END]


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("work", [1, 7, 64, 1000])
def test_each_piece_of_work_is_one_processs_in_their_order_and_shares_are_alike(count, work):
    """Shares are whole and in order, and differ by one piece at most, wherever the pieces are counted from."""
    owners = [
        [index for index in range(count) if Processes(count, index).share(3, work + 3)(number)]
        for number in range(-3, work)
    ]
    assert all(len(each) == 1 for each in owners)
    order = [each for (each,) in owners]
    assert order == sorted(order)
    sizes = [order.count(index) for index in range(count)]
    assert max(sizes) - min(sizes) <= 1


def test_a_process_by_itself_gathers_its_own_value_and_agrees_with_itself():
    """Alone nothing of JAX is asked, and a fault stays the one that it was."""
    assert Processes().gather("own") == ["own"]
    with pytest.raises(ZeroDivisionError), Processes().agreed():
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({processes.COUNT: "two"}, "JAX_NUM_PROCESSES is 'two'; it is a whole number"),
        ({processes.COUNT: "2", processes.INDEX: "2"}, "JAX_PROCESS_ID is 2 of 2 processes; it is 0 to 1"),
        ({processes.ADDRESS: "host"}, "JAX_COORDINATOR_ADDRESS is 'host'; write host:port of process 0"),
    ],
)
def test_what_can_be_no_group_of_processes_is_refused_before_jax_is_asked(given, said, monkeypatch):
    """A count that is no number, a process beyond it and an address without a port are each one line."""
    for name, text in given.items():
        monkeypatch.setenv(name, text)
    with pytest.raises(UserError, match=re.escape(said)):
        join()


def test_one_process_of_one_is_joined_with_nobody(monkeypatch):
    """JAX_NUM_PROCESSES=1 leaves a process by itself, whatever else is set."""
    monkeypatch.setenv(processes.COUNT, "1")
    monkeypatch.setenv(processes.ADDRESS, "nowhere:1")
    assert join() == Processes(1, 0)


@pytest.mark.slow
def test_processes_tell_each_other_values_and_fail_as_one(tmp_path):
    """Each gets all values in order; a fault in a nested agreement, or before a gathering, is one line on all."""
    lines = [
        "print(among, among.gather({'from': among.index}))",
        "with among.agreed():",
        "    if among.index == 1: raise OSError(28, 'No space left on device', 'out')",
        "    with among.agreed(): pass",
        "    among.gather('never')",
        "    print('never')",
    ]
    for index, done in enumerate(together([script(*lines)] * 2, tmp_path)):
        first, fault = done.stdout.splitlines()
        assert first == f"Processes(count=2, index={index}) [{{'from': 0}}, {{'from': 1}}]"
        assert re.fullmatch(r"process 1 on \S+: out: No space left on device", fault)
        assert done.returncode == 2
        assert not done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "end", ["os.kill(os.getpid(), 9)", "raise KeyboardInterrupt", "os._exit(1)"], ids=["killed", "stopped", "gone"]
)
@pytest.mark.parametrize("index", [0, 1])
def test_a_process_that_ends_early_is_told_by_the_other_in_one_line(index, end, tmp_path):
    """The other says so and ends with exit code 2, without a word of JAX's own."""
    lines = ["with among.agreed():", f"    if among.index == {index}: {end}", "print('never')"]
    done = together([script(*lines)] * 2, tmp_path)[1 - index]
    assert re.fullmatch(
        r"(another process|process \d) of this command ended early; see what it said, and run all of them again\n",
        done.stdout,
    )
    assert (done.returncode, done.stderr) == (2, "")


@pytest.mark.slow
def test_a_coordinator_that_nobody_reaches_is_one_line_with_how_long_it_was_waited_for(tmp_path):
    """A process whose coordinator is nowhere says where it looked and how long, and how to go on."""
    (done,) = together(
        [["-c", (BEGIN + "    pass" + END).replace("= 20", "= 3")]], tmp_path, JAX_NUM_PROCESSES="2", JAX_PROCESS_ID="1"
    )
    assert re.fullmatch(
        r"the processes did not come together at 127\.0\.0\.1:\d+ within 3 s; start the same command on each, .*\n",
        done.stdout,
    )
    assert (done.returncode, done.stderr) == (2, "")
