"""A script's limits, usage and outcome: data without behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Fault", "Limits", "Outcome", "Usage"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one script. Every field is a setting of `[limits]`."""

    timeout_ms: int = 30_000
    """Wall-clock time, API waits included."""
    memory_bytes: int = 512 * 1024 * 1024
    """Address space above the warm worker's own."""
    depth: int = 1_024
    """Nested calls."""
    output_bytes: int = 65_536
    """UTF-8 bytes of the whole answer: prints, result and notes."""
    output_lines: int = 500
    """Lines of one text in the answer: the prints, a text result, a text within a result."""
    api_calls: int = 1_000
    """Calls that reach the broker, allowed or not."""
    response_bytes: int = 1_024 * 1024 * 1024
    """Bytes of API response bodies, summed over the script."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one script used, as measured by the host; nothing here is the worker's own claim."""

    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    peak_bytes: int = 0
    """The worker's peak resident set, from wait4."""
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
    """Whether the message quotes a program that has talked to the cluster, or to a cloud."""
    told: bool = False
    """Whether a worker reported this fault: a worker that was taken over may write in the server's name."""
    by_worker: bool = False
    """Whether the worker claims that its own code wrote the message, not the script or the interpreter."""
    hint: str = ""
    """What the script should contain instead."""
    lines: str = ""
    """Lines of the script that led to the fault, from the host's own copy; they follow the message and the hint."""

    @property
    def text(self) -> str:
        """The message, the hint and the lines."""
        return self.message + self.hint + self.lines


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one script."""

    printed: str = ""
    result: bytes | None = None
    """The last expression as JSON text; None when the script had no value to return."""
    hint: str = ""
    """Why there is no result and how to return one; set by the worker when `result` is None and nothing failed."""
    fault: Fault | None = None
    dropped_bytes: int = 0
    """How many bytes were printed beyond the output limit and dropped."""
    usage: Usage = field(default_factory=Usage)
    limit_messages: tuple[str, ...] = ()
    """The host's messages to the script about its limits, verbatim: the server's own text."""
    limits_hit: frozenset[str] = frozenset()
    """Codes of the limits that the script's calls exceeded, including those whose errors it caught."""
    unsent: int = 0
    """Calls beyond the script's budget that the worker did not send, by its own account."""
    report: Any = None
    """The guest's report to its host, by the worker's account; None when the script did not finish."""
    foreign: bool = False
    """Whether the outcome's texts come from elsewhere although no call is on record."""
    notes: tuple[str, ...] = ()
    """The host's own notes under the answer."""
