"""A fork server whose workers run unrestricted Python: the kernel tests assume that RestrictedPython has fallen.

Run by path as the command of a Spawner, never part of the product. The script's globals are `ctypes`, `libc`, `syscall` and the raw
`link` to the host; its variable `result` is the answer, as repr.
"""

from __future__ import annotations

import ctypes
import mmap
import os

import msgspec

from kubescript.sandbox import channel, forkserver, protocol, worker

libc = ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: object) -> tuple[int, int]:
    """A raw system call: its result and errno. Needs no machine code of its own."""
    ctypes.set_errno(0)
    return libc.syscall(number, *arguments), ctypes.get_errno()


def prepare(link: channel.Channel) -> worker.Evaluate:
    """Run the script with everything Python has, in a worker that is locked down like any other."""
    scope: dict[str, object] = {"ctypes": ctypes, "libc": libc, "mmap": mmap, "os": os, "syscall": syscall, "link": link}

    def evaluate(start: protocol.Start) -> None:
        try:
            exec(start.script, scope)
            done = protocol.Done(result=msgspec.Raw(msgspec.json.encode(repr(scope.get("result")))))
        except BaseException as error:
            done = protocol.Done(fault=protocol.ScriptFault("hostile", repr(error)[:2000], type(error).__name__))
        link.finish(done)

    return evaluate


if __name__ == "__main__":
    forkserver.main(prepare)
