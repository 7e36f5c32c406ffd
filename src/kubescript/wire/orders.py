"""Messages between the host and the process that runs one command line.

The host sends an order, with the descriptors for standard output and standard error. Once confined, the process answers
with the layers of its confinement. When the host accepts them, the process becomes, or runs, the program. Until then
both sides run our code, and the program never writes to this socket.
"""

from __future__ import annotations

import socket
import struct
from typing import Final, TypeVar

import msgspec

from kubescript_sandbox.wire import protocol

__all__ = ["GO", "REFUSED", "Confined", "OpenShiftOrder", "OpenStackOrder", "Order", "receive", "send"]

GO: Final = b"\1"
"""The host's answer when it accepts the layers; only then does the program run."""
REFUSED: Final = 3
"""The exit code of `openstack` for a refused command; openstackclient itself ends with 0, 1 or 2."""

_LENGTH: Final = struct.Struct("<I")
_MAX: Final = 4 << 20
"""The maximum size of a message in bytes; a clouds.yaml, or a command line, takes a few thousand."""
_DESCRIPTORS: Final = 4


class OpenShiftOrder(msgspec.Struct, frozen=True):
    """One command line of `oc`."""

    arguments: list[str]
    """The arguments, without the program's name."""
    binary: str
    """The program's path."""
    namespace: str
    """The default namespace."""


class OpenStackOrder(msgspec.Struct, frozen=True):
    """One command line of `openstack`."""

    arguments: list[str]
    """The arguments, without the program's name."""
    clouds: str
    """Text of a clouds.yaml."""
    secure: str
    """Text of a secure.yaml; empty if there is none."""
    cloud: str
    """The entry in clouds.yaml."""
    microversions: dict[str, str]
    """Defaults of options, by the parameter that they set: {"os_compute_api_version": "2.96"}."""
    allowed: list[str]
    """First words of extra commands that the operator declares to be read-only."""
    allow_write: bool
    readable: list[str]
    """CA files, and the certificate and key of the credentials."""


Order = OpenShiftOrder | OpenStackOrder


class Confined(msgspec.Struct, frozen=True):
    """The process is confined, and about to run the program. For `oc`, its listening socket comes with this message."""

    layers: tuple[protocol.Layer, ...]
    secret: str = ""
    """Prefix of the path of each request to that socket. Attack: where the process has no network of its own, another
    process on this machine connects to the socket."""


T = TypeVar("T", OpenShiftOrder, OpenStackOrder, Confined)


def send(sock: socket.socket, message: Order | Confined, descriptors: tuple[int, ...] = ()) -> None:
    """Sends a message with descriptors. Raises OSError."""
    payload = msgspec.json.encode(message)
    length = _LENGTH.pack(len(payload))
    # The descriptors come with the length, which `receive` reads first.
    socket.send_fds(sock, [length], list(descriptors))
    sock.sendall(payload)


def receive(sock: socket.socket, shape: type[T]) -> tuple[T, list[int]]:
    """Returns a message and the descriptors that came with it. Raises EOFError, OSError and ValueError."""
    head, descriptors, _, _ = socket.recv_fds(sock, _LENGTH.size, _DESCRIPTORS)
    if len(head) != _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(head)
    if not 0 < size <= _MAX:
        raise EOFError
    payload = bytearray()
    while len(payload) < size:
        part = sock.recv(size - len(payload))
        if not part:
            raise EOFError
        payload += part
    return msgspec.json.decode(payload, type=shape), descriptors


# Two threads that decode into a type simultaneously for the first time can crash msgspec 0.22, so each type is used
# once here.
for _type in (OpenShiftOrder, OpenStackOrder, Confined):
    msgspec.json.Decoder(_type)
