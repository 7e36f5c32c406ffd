"""Settings for the audit record and telemetry."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kubescript.config import section

__all__ = ["Audit", "Telemetry"]


class Audit(section.Section):
    """The audit record (docs/audit.md)."""

    file: section.UserPath | None = None
    """A JSON Lines file to which records are appended. Unset: nothing is recorded."""
    max_mib: Annotated[int, Field(ge=0)] = 64
    """MiB after which the file is rotated to FILE.1, FILE.2, …; 0: never."""
    keep: Annotated[int, Field(ge=0)] = 16
    """Rotated files to keep; 0: all."""
    fsync: Literal["answer", "record", "never"] = "answer"
    """`answer`: each script's answer and each change to the cluster wait for the disk; `record`: every record does;
    `never`: nothing does."""
    key_file: section.UserPath | None = None
    """A file with at least 32 bytes, the key of the hashes (HMAC): only its owner can continue or check the chain."""
    scripts: bool = False
    """Whether to keep the text of each script next to the file, named by its hash."""
    responses: bool = False
    """Whether to keep what each script read and answered, for `kubescript audit replay`. Includes `scripts`."""


class Telemetry(section.Section):
    """The destinations of traces and metrics. The standard OTEL_* variables apply as well."""

    otlp_endpoint: str | None = None
    """Base URL of an OTLP/HTTP receiver: `http://collector:4318`. Default: OTEL_EXPORTER_OTLP_ENDPOINT. Without either,
    nothing is collected."""
    namespaces: bool = True
    """Whether spans of API calls name the namespace. It is the only name from the cluster in a span, and is masked like
    all outgoing text."""
