"""The limits and confinement of scripts, the masking before they read, and the form of their answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kubescript.config import section
from kubescript_sandbox import runs

__all__ = ["Limits", "Output", "Redaction", "RedactionRule", "Sandbox"]


class Limits(section.Section):
    """The limits of one script."""

    default_timeout_ms: Annotated[int, Field(ge=100, le=300_000)] = 30_000
    """Milliseconds of wall-clock time when the call does not give a `timeout`."""
    max_timeout_ms: Annotated[int, Field(ge=100, le=300_000)] = 300_000
    """The largest `timeout` that a call may give, in milliseconds."""
    memory_mib: Annotated[int, Field(ge=16, le=65_536)] = 512
    """MiB of memory beyond the warm worker's own."""
    depth: Annotated[int, Field(ge=16, le=1_024)] = 1_024
    """Levels of nested calls. The C stack of the interpreter sets the upper bound."""
    output_kib: Annotated[int, Field(ge=1, le=4_096)] = 64
    """KiB of the whole answer; 64 KiB are about 16,000 tokens."""
    output_lines: Annotated[int, Field(ge=1, le=100_000)] = 500
    """Lines of one text in the answer: of the prints, of a text result, or of a text within a result."""
    api_calls: Annotated[int, Field(ge=1)] = 1_000
    """Kubernetes API calls of one script, allowed or not."""
    response_mib: Annotated[int, Field(ge=1)] = 1_024
    """MiB of all API answers that one script may read."""
    patience_ms: Annotated[int, Field(ge=100, le=300_000)] = 10_000
    """Milliseconds to wait for the beginning of an answer when the server has several contexts: a dead cluster must
    leave time for the others. With one context, a call may use all the script's remaining time."""

    def for_script(self, timeout_ms: int | None, waits_ms: int = 0) -> runs.Limits:
        """Returns the limits of one script with the timeout `timeout_ms`, extended by `waits_ms`."""
        return runs.Limits(
            # JSON has no integer type: a client may write 30000.0, which a worker would not read.
            timeout_ms=min(int(timeout_ms or self.default_timeout_ms), self.max_timeout_ms) + waits_ms,
            memory_bytes=self.memory_mib * section.MIB,
            depth=self.depth,
            output_bytes=self.output_kib * 1024,
            output_lines=self.output_lines,
            api_calls=self.api_calls,
            response_bytes=self.response_mib * section.MIB,
        )


class Sandbox(section.Section):
    """The confinement of scripts, and how many run at the same time."""

    strict: bool | None = None
    """Whether to refuse to start unless every kernel layer is active. Unset: true for the http transport, a warning for
    stdio."""
    spare_workers: Annotated[int, Field(ge=0, le=32)] = 1
    """Processes that are forked and locked down in advance; each serves one script."""
    max_scripts: Annotated[int, Field(ge=1, le=256)] = 8
    """Scripts that run at the same time."""
    max_queue: Annotated[int, Field(ge=0, le=10_000)] = 64
    """Scripts that wait for their turn. The next script gets an error at once: the server is busy."""


class RedactionRule(section.Section):
    """A kind of token that is recognized by its format."""

    id: Annotated[str, Field(pattern=r"[a-z0-9][a-z0-9-]{0,58}")]
    """The rule's name; it appears in the placeholder."""
    regex: Annotated[str, Field(min_length=3)]
    """The pattern of the text to mask; if it has a group, only the group is masked."""
    probe: str | None = None
    """A simpler pattern for the first scan, which must match wherever `regex` does; default: `regex` itself."""
    example: str = ""
    """A text with such a token, on which `probe` and `regex` are tested at the start; a `probe` requires one."""
    entropy: Annotated[float, Field(ge=0, le=8)] = 0.0
    """Bits per byte of entropy below which a match counts as an example and is not masked."""


class Redaction(section.Section):
    """The masking of secrets before scripts read them."""

    enabled: bool = True
    """False shows scripts, and so the model, every secret that is not in a denied Secret object. The server logs a
    warning about it when it starts."""
    disable: tuple[str, ...] = ()
    """Ids of rules that are not applied."""
    rules: tuple[RedactionRule, ...] = ()
    """Rules in addition to the built-in ones."""
    allow: tuple[str, ...] = ()
    """Regular expressions. A value that contains a match is not masked. Values of Secrets are masked all the same."""
    allow_names: tuple[str, ...] = ()
    """Names of variables, fields and flags that do not make their values count as secrets."""


class Output(section.Section):
    """The form of answers."""

    mark_untrusted: bool = True
    """Whether to mark answers with text from the cluster, so that a model takes that text for data."""
    structured: bool = False
    """Whether to return results as `structuredContent` too, with an output schema. The result then costs its tokens
    twice."""
    heartbeat_s: Annotated[float, Field(ge=0.1, le=300)] = 10
    """Seconds of silence about a call after which a client that asked for progress gets a notification."""
