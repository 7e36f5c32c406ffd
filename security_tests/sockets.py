"""More connections than a server may have, as an attacker holds them."""

from __future__ import annotations

import contextlib
import resource
import socket
from collections.abc import Iterable, Iterator
from typing import Final

import pytest

__all__ = ["MANY", "ended", "room"]

MANY: Final = 1_100
"""More than a process usually has files."""


@contextlib.contextmanager
def room(count: int) -> Iterator[None]:
    """Room for the attackers' own sockets, in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        pytest.skip("this machine does not let the attacker open enough connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def ended(held: Iterable[socket.socket]) -> int:
    """How many of the connections the server has ended."""
    count = 0
    for sock in held:
        sock.setblocking(False)
        try:
            while sock.recv(1 << 16):
                pass
        except BlockingIOError:
            continue
        except OSError:
            pass
        count += 1
    return count
