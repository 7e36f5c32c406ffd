"""A host's description of the guest in its confined processes: the program, and the types of its calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubescript_sandbox.wire import protocol

__all__ = ["Guest"]


@dataclass(frozen=True, slots=True)
class Guest:
    """A program that runs scripts in confined processes."""

    module: str
    """The module that the fork server loads: it has a GUEST (see guest/contract.py)."""
    call: type[Any]
    """The type of a call, a msgspec Struct that is a `protocol.Call`."""
    batch: type[Any]
    """The type of several calls: a `protocol.Batch` of them, made once in this process."""
    refuse: Callable[[protocol.ScriptFault], protocol.Reply]
    """Returns the head of the answer to a refused call."""
    report: type[Any]
    """The type of the guest's report, a msgspec Struct."""
    codes: frozenset[str] = frozenset()
    """The codes of faults that the guest may report for a script, in addition to those of every guest."""
