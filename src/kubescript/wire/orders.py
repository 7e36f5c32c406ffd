"""What the host and the process of one command line tell each other.

The host sends an order, with the descriptors for standard output and standard error. The process answers with the
layers of its confinement, once it is confined; when the host is content, it becomes, or runs, the program. Both sides
are ours until then, and no byte of the program's travels on this socket.
"""

from __future__ import annotations

import socket
import struct
from typing import Final, TypeVar

import msgspec

from kubescript_sandbox.wire import protocol

__all__ = ["GO", "REFUSED", "Confined", "OpenShiftOrder", "OpenStackOrder", "Order", "receive", "send"]

GO: Final = b"\1"
"""What the host answers when it is content with the layers; the program does not run before."""
REFUSED: Final = 3
"""The exit code of `openstack` for what may not be run; openstackclient itself ends with 0, 1 or 2."""

_LENGTH: Final = struct.Struct("<I")
_MAX: Final = 4 << 20
"""Bytes of a message: a clouds.yaml, or a command line, takes some thousands."""
_DESCRIPTORS: Final = 4


class OpenShiftOrder(msgspec.Struct, frozen=True):
    """One command line of `oc`."""

    arguments: list[str]
    """Without the name of the program."""
    binary: str
    """The program's path."""
    namespace: str
    """The default namespace."""


class OpenStackOrder(msgspec.Struct, frozen=True):
    """One command line of `openstack`."""

    arguments: list[str]
    """Without the name of the program."""
    clouds: str
    """Text of a clouds.yaml."""
    secure: str
    """Text of a secure.yaml; empty without one."""
    cloud: str
    """The entry in it."""
    microversions: dict[str, str]
    """Defaults of options, by the name of what they set: {"os_compute_api_version": "2.96"}."""
    allowed: list[str]
    """First words of further commands that the operator takes for reads."""
    allow_write: bool
    readable: list[str]
    """Files with CAs, and with the certificate and the key of the credentials."""


Order = OpenShiftOrder | OpenStackOrder


class Confined(msgspec.Struct, frozen=True):
    """The process is confined, and about to run the program. Before `oc`, its listening socket comes with it."""

    layers: tuple[protocol.Layer, ...]
    secret: str = ""
    """What the path of each request to that socket begins with. Attack: another process of this machine that connects
    to it, where it is not in a network of its own."""


T = TypeVar("T", OpenShiftOrder, OpenStackOrder, Confined)


def send(sock: socket.socket, message: Order | Confined, descriptors: tuple[int, ...] = ()) -> None:
    """Sends a message with descriptors. Raises OSError."""
    payload = msgspec.json.encode(message)
    length = _LENGTH.pack(len(payload))
    socket.send_fds(sock, [length], list(descriptors))
    sock.sendall(payload)


def receive(sock: socket.socket, shape: type[T]) -> tuple[T, list[int]]:
    """Returns a message and the descriptors that came with it. Raises EOFError, OSError and ValueError."""
    head, descriptors, _, _ = socket.recv_fds(sock, _LENGTH.size, _DESCRIPTORS)
    size = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
    if not 0 < size <= _MAX:
        raise EOFError
    payload = bytearray()
    while len(payload) < size:
        part = sock.recv(size - len(payload))
        if not part:
            raise EOFError
        payload += part
    return msgspec.json.decode(payload, type=shape), descriptors


# Two threads that decode into a type for the first time at once can crash msgspec 0.22. It knows these from now on.
for _type in (OpenShiftOrder, OpenStackOrder, Confined):
    msgspec.json.Decoder(_type)
