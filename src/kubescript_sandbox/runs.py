"""What one script may use, and what became of it. No behaviour beyond what the fields say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Fault", "Limits", "Outcome", "Usage"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one script may use. Every field is a setting of `[limits]`."""

    timeout_ms: int = 30_000
    """Wall-clock time, API waits included."""
    memory_bytes: int = 512 * 1024 * 1024
    """Address space above the warm worker's own."""
    depth: int = 1_024
    """Nested calls."""
    output_bytes: int = 65_536
    """UTF-8 bytes of the whole answer: prints, result and notes."""
    output_lines: int = 500
    """Lines of one text in it: the prints, a text result, a text within a result."""
    api_calls: int = 1_000
    """Calls that reach the broker, allowed or not."""
    response_bytes: int = 1_024 * 1024 * 1024
    """Bytes of API response bodies, summed over the script."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one script used, as the host saw it; nothing here is the worker's own claim."""

    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    peak_bytes: int = 0
    """Peak resident set of the worker, from wait4."""
    api_calls: int = 0
    bytes_fetched: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a script has no result."""

    code: str
    message: str
    type: str = ""
    """The script's exception type, when it raised one."""
    foreign: bool = False
    """Whether the message has the words of a program that has talked to the cluster, or to a cloud."""
    told: bool = False
    """Whether a worker told all this of its script: it may have fallen, and speak in the server's name."""
    by_worker: bool = False
    """Whether the worker says that its own code has made the message, and not the script or the interpreter."""
    hint: str = ""
    """What the worker's script should have instead."""
    lines: str = ""
    """Lines of the script that led to it, by the host's own copy; they follow the message and the hint."""

    @property
    def text(self) -> str:
        """The message, the hint and the lines."""
        return self.message + self.hint + self.lines


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one script."""

    printed: str = ""
    result: bytes | None = None
    """The last expression as JSON text; None when the script had no value to return."""
    hint: str = ""
    """Why there is no result and how to return one; set by the worker when `result` is None and nothing failed."""
    fault: Fault | None = None
    dropped_bytes: int = 0
    """Printed beyond the output limit, and not kept."""
    usage: Usage = field(default_factory=Usage)
    limit_messages: tuple[str, ...] = ()
    """What the host said to the script of its limits, word by word: the server's own text."""
    limits_hit: frozenset[str] = frozenset()
    """Codes of the limits that answers to calls ran into, also those whose errors the script caught."""
    unsent: int = 0
    """Calls beyond the script's budget that the worker has not sent, by its own account."""
    report: Any = None
    """What the guest tells its host besides, by the worker's account; None when the script did not come to its end."""
    foreign: bool = False
    """Whether its texts come from elsewhere although no call is on record."""
    notes: tuple[str, ...] = ()
    """The host's own notes under the answer."""
