"""A classic BPF machine, as much of it as seccomp filters use: what would the kernel say to this call?"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

__all__ = ["ARCH", "Program", "Verdict", "load", "verdict"]

Program = tuple[tuple[int, int, int, int], ...]
Verdict = str

ARCH: Final = {
    "x86_64": 0xC000003E, "i386": 0x40000003, "aarch64": 0xC00000B7, "arm": 0x40000028, "riscv64": 0xC00000F3,
    "mips64": 0x80000008, "ppc64le": 0xC0000015, "s390x": 0x80000016,
}  # fmt: skip
"""AUDIT_ARCH_…, which the kernel sets; a process can choose only those its machine has."""

_LOAD: Final = 0x20
_AND: Final = 0x54
_JUMP: Final = 0x05
_RETURN: Final = 0x06
_TESTS: Final[dict[int, Callable[[int, int], bool]]] = {
    0x15: lambda left, right: left == right,
    0x25: lambda left, right: left > right,
    0x35: lambda left, right: left >= right,
    0x45: lambda left, right: bool(left & right),
}
_ACTIONS: Final = {
    0x80000000: "kill",
    0x00000000: "kill thread",
    0x7FFF0000: "allow",
    0x00030000: "trap",
    0x7FFC0000: "log",
}


def load(code: bytes) -> Program:
    """The instructions of an exported filter."""
    return tuple(struct.iter_unpack("<HBBI", code))


def verdict(program: Program, arch: int, number: int, arguments: tuple[int, ...] = ()) -> Verdict:
    """What the filter answers: kill, allow, or `errno N`."""
    padded = [value & 0xFFFFFFFFFFFFFFFF for value in (*arguments, 0, 0, 0, 0, 0, 0)[:6]]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, arch, 0x7F0000001000, *padded)
    accumulator = at = 0
    while True:
        code, yes, no, k = program[at]
        at += 1
        if code == _LOAD:
            (accumulator,) = struct.unpack_from("<I", data, k)
        elif code == _AND:
            accumulator &= k
        elif code == _JUMP:
            at += k
        elif code in _TESTS:
            at += yes if _TESTS[code](accumulator, k) else no
        elif code == _RETURN:
            return _ACTIONS.get(k, f"errno {k & 0xFFFF}" if k >> 16 == 5 else hex(k))
        else:
            raise ValueError(f"instruction {code:#x} is not one seccomp filters use")
