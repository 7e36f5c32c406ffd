"""A fork server whose maskers do what a text says: the tests assume that a text has taken its masker over.

Run by path as the command of an Engine, never part of the product. A text is Python; its globals are `ctypes`, `libc`,
`syscall`, `answer` (a frame with these fields) and the raw `sock` to the host; its variable `result` is the answer, as
repr. The lockdown is the product's own. A body is answered by what is in its first chunk.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import sys
import time
from typing import NoReturn

import msgspec

from kubescript_masking.wire import masking
from kubescript_sandbox.confinement import forkserver, lockdown
from kubescript_sandbox.wire import protocol

libc = ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: object) -> tuple[int, int]:
    """A raw system call: its result and errno."""
    ctypes.set_errno(0)
    return libc.syscall(number, *arguments), ctypes.get_errno()


def answer(number: int, notes: bytes = b"{}", masked: bytes = b"") -> bytes:
    """A frame with honest lengths."""
    return masking.ANSWER.pack(number, len(notes), len(masked)) + notes + masked


def read(sock: socket.socket, size: int) -> bytes:
    """So many bytes of the host's."""
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            os._exit(0)
        data += part
    return data


def main(descriptor: int, confinement: lockdown.Confinement, inherited: tuple[protocol.Layer, ...]) -> NoReturn:
    """Lock down as the product does, then obey."""
    sock = lockdown.adopt_socket(descriptor)
    layers = inherited + lockdown.apply(lockdown.WORKER_STEPS, confinement)
    sock.sendall(answer(masking.Answer.READY, msgspec.json.encode(protocol.Ready(protocol.VERSION, layers))))
    scope: dict[str, object] = {
        "ctypes": ctypes, "libc": libc, "syscall": syscall, "answer": answer, "sock": sock, "os": os, "time": time,
        "socket": socket, "masking": masking, "mmap": mmap,
    }  # fmt: skip
    while True:
        length, order = masking.HEADER.unpack(read(sock, masking.HEADER.size))
        payload = read(sock, length)
        if order not in {masking.Order.TEXT, masking.Order.CHUNK}:
            continue
        try:
            exec(payload, scope)
            result = repr(scope.pop("result", None))
        except BaseException as error:
            result = repr(error)
        sock.sendall(answer(masking.Answer.MASKED, b"{}", result.encode()))


if __name__ == "__main__":
    sys.stdin.read()
    forkserver.serve(int(sys.argv[1]), main)
