"""A request that may be sent only until a certain time reaches the API server by then, or never: not even when its
network fails at that moment and works again later, with the client long gone."""

from __future__ import annotations

import ctypes
import queue
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Final

import pytest
import urllib3

from kubescript import errors
from kubescript.cluster import connections, http, timers
from kubescript.request import request
from tests.kit.listener import Listener

pytestmark = [pytest.mark.promise("P-19"), pytest.mark.timeout(120)]

SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
SEND_S: Final = 1.0
RESENT_S: Final = 3.0
"""How long to wait for what the kernel sends again; after this time at most it would."""
ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
WRITE: Final = request.Request("POST", "/api/v1/namespaces/shop/configmaps", (), "create", True, body=b"{}")


def lose_all(sock: socket.socket) -> None:
    """Has the kernel lose each packet that comes for a socket."""
    program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # return 0
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HxxxxxxL", 1, ctypes.addressof(program)))


class Waiting(connections.Exchange):
    """An exchange that sends nothing before the network fails."""

    def __init__(self, has_failed: threading.Event, send_s: float) -> None:
        super().__init__(time.monotonic() + 60, timers.uptime() + 60)
        self._has_failed = has_failed
        self._send_s = send_s

    def check_sending(self) -> None:
        self._has_failed.wait()
        # Only what comes from now on may count: the connection may have taken its time.
        self.deadline, self._send_by = time.monotonic() + self._send_s, timers.uptime() + self._send_s
        super().check_sending()


def test_what_a_failed_network_holds_up_is_not_delivered_later(attacks: Callable[[int], None]) -> None:
    """The client has given up, and says that it does not know; the next request is answered."""
    attacks(1)
    has_failed, has_given_up = threading.Event(), threading.Event()
    received: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    left = [True]

    def serve(sock: socket.socket) -> None:
        if not left:
            received.put(sock.recv(1_000))
            sock.sendall(ANSWER)
            return
        left.clear()
        lose_all(sock)
        has_failed.set()
        has_given_up.wait(60)
        time.sleep(SEND_S)  # whoever gives up before the kernel does
        sock.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
        sock.settimeout(RESENT_S)
        try:
            received.put(sock.recv(1_000))
        except OSError:
            received.put(b"")

    listener, pool = Listener(serve), urllib3.PoolManager()
    pool.pool_classes_by_scheme = connections.POOL_CLASSES
    url = f"http://127.0.0.1:{listener.port}"
    with pytest.raises(errors.ClusterError) as raised:
        http.send(pool, url, WRITE, {}, Waiting(has_failed, SEND_S), 10)
    has_given_up.set()
    assert raised.value.code == "cluster.timeout"
    assert received.get() == b""
    answer = http.send(pool, url, WRITE, {}, Waiting(has_failed, 60), 60)
    assert answer.status == 200 and received.get().startswith(b"POST ")
    listener.close()
