"""A host's memory kept between the calls of a program, as an accelerator's allocator keeps its own.

glibc hands blocks of 32 MiB and more back to the system when they are freed. XLA:CPU asks for its scratch memory at
every call, so a program with much of it would spend half of each call on page faults, and a loop inside one program
none.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys

# mallopt's parameters, from malloc.h
M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8
NEVER = 2**31 - 1


@functools.cache
def keep() -> bool:
    """From now on keep what is freed, in one arena, until `trim`; whether the C library can: only glibc."""
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all([mallopt(M_MMAP_MAX, 0), mallopt(M_TRIM_THRESHOLD, NEVER), mallopt(M_ARENA_MAX, 1)])


def trim() -> None:
    """Give back what is free, so that what the system calls available is what a next case may take."""
    if keep():
        ctypes.CDLL(None).malloc_trim(0)
