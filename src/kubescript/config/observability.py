"""What is masked, what is recorded, and what is reported."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kubescript.config import section

__all__ = ["Audit", "Redaction", "RedactionRule", "Telemetry"]


class RedactionRule(section.Section):
    """A kind of token that is recognized by its form."""

    id: Annotated[str, Field(pattern=r"[a-z0-9][a-z0-9-]{0,58}")]
    """The rule's name; it stands in the placeholder."""
    regex: Annotated[str, Field(min_length=3)]
    """Matches the text to mask; with a group, only the group is masked."""
    probe: str | None = None
    """A simpler pattern for the first scan, which must match wherever `regex` does; default: `regex` itself."""
    example: str = ""
    """A text with such a token, on which `probe` and `regex` are tried at the start; a `probe` needs one."""
    entropy: Annotated[float, Field(ge=0, le=8)] = 0.0
    """Entropy in bits per byte below which a match is taken for an example and not masked."""


class Redaction(section.Section):
    """What is masked before scripts read it."""

    enabled: bool = True
    """False shows scripts, and so the model, every secret that is not in a denied Secret object. The server logs a
    warning of that when it starts."""
    disable: tuple[str, ...] = ()
    """Ids of rules that are not applied."""
    rules: tuple[RedactionRule, ...] = ()
    """Rules in addition to the built-in ones."""
    allow: tuple[str, ...] = ()
    """Regular expressions. A value in which one matches is not masked. Values of Secrets are masked all the same."""
    allow_names: tuple[str, ...] = ()
    """Names of variables, fields and flags whose values are not judged by the name."""


class Audit(section.Section):
    """What is recorded, and where (docs/audit.md)."""

    file: section.UserPath | None = None
    """A JSON Lines file to which records are appended. Unset: nothing is recorded."""
    max_mib: Annotated[int, Field(ge=0)] = 64
    """MiB after which the file is rotated to FILE.1, FILE.2, …; 0: never."""
    keep: Annotated[int, Field(ge=0)] = 16
    """Rotated files that are kept; 0: all."""
    fsync: Literal["answer", "record", "never"] = "answer"
    """What waits for the disk: the answer of each script and each change of the cluster, every record, or nothing."""
    key_file: section.UserPath | None = None
    """A file with at least 32 bytes, the key of the hashes (HMAC): only its owner can continue or check the chain."""
    scripts: bool = False
    """Keep the text of each script next to the file, under its hash."""
    responses: bool = False
    """Keep what each script saw and answered, for `kubescript audit replay`. Includes `scripts`."""


class Telemetry(section.Section):
    """Where traces and metrics go. The standard OTEL_* variables apply as well."""

    otlp_endpoint: str | None = None
    """Base URL of an OTLP/HTTP receiver: `http://collector:4318`. Default: OTEL_EXPORTER_OTLP_ENDPOINT. Without either,
    nothing is collected."""
    namespaces: bool = True
    """Whether spans of API calls name the namespace. It is the only name from the cluster in a span, and is masked like
    all text that leaves."""
