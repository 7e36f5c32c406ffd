"""A fork server whose workers run unrestricted Python: the kernel tests assume that RestrictedPython has fallen.

Run by path as the command of a Spawner, never part of the product. The script's globals are `ctypes`, `libc`,
`syscall`, the raw `sock` to the host and `frame`; its variable `result` is the answer, as repr. `--without=a,b` leaves
out steps of the lockdown while claiming them: the mutation check. `--fail=a` makes a step fail as on a kernel that
lacks it. `--leak=NAME=VALUE` starts it with a variable, as if a caller had forgotten to clear them.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import struct
import sys
import time

import msgspec

from kubescript.guest import entry
from kubescript_sandbox.confinement import lockdown
from kubescript_sandbox.guest import channel, contract, forkserver, main
from kubescript_sandbox.wire import protocol

libc = ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: object) -> tuple[int, int]:
    """A raw system call: its result and errno. Needs no machine code of its own."""
    ctypes.set_errno(0)
    return libc.syscall(number, *arguments), ctypes.get_errno()


def frame(kind: int, payload: bytes | str = b"") -> bytes:
    """A frame with an honest length; the host accepts any byte as its type."""
    data = payload.encode() if isinstance(payload, str) else payload
    return struct.pack("<IB", len(data), kind) + data


def prepare(_: contract.Guest, link: channel.Channel) -> main.Evaluate:
    """Run the script with everything Python has, in a worker that is locked down like any other."""
    scope: dict[str, object] = {
        "ctypes": ctypes, "libc": libc, "mmap": mmap, "os": os, "syscall": syscall, "link": link, "time": time,
        "struct": struct, "socket": socket, "frame": frame,
    }  # fmt: skip

    def evaluate(start: protocol.Start) -> None:
        scope["sock"] = link._frames._sock
        try:
            exec(start.script, scope)
            done = protocol.Done(result=msgspec.Raw(msgspec.json.encode(repr(scope.get("result")))))
        except BaseException as error:
            done = protocol.Done(fault=protocol.Failure("script.exception", repr(error)[:2000], type(error).__name__))
        link.finish(done)

    return evaluate


def absent(_: lockdown.Confinement) -> str:
    """A step that does nothing and says it did."""
    return "not applied"


def refused(_: lockdown.Confinement) -> str:
    """A step on a kernel that does not give it."""
    raise OSError("refused by this test")


Steps = tuple[tuple[str, lockdown.Step], ...]


def replaced(names: set[str], steps: Steps, other: lockdown.Step) -> Steps:
    """The steps, of which those in `names` are `other`."""
    return tuple((name, other if name in names else step) for name, step in steps)


def mutate() -> None:
    """Take our options out of the command line and follow them."""
    for option in [word for word in sys.argv if word.startswith("--")]:
        sys.argv.remove(option)
        name, _, value = option.partition("=")
        if name == "--leak":
            variable, _, secret = value.partition("=")
            os.environ[variable] = secret
        else:
            names, other = set(value.split(",")), {"--without": absent, "--fail": refused}[name]
            lockdown.SERVER_STEPS = replaced(names, lockdown.SERVER_STEPS, other)  # type: ignore[misc]
            lockdown.WORKER_STEPS = replaced(names, lockdown.WORKER_STEPS, other)  # type: ignore[misc]


if __name__ == "__main__":
    mutate()
    forkserver.main(entry.GUEST, prepare)
