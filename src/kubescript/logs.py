"""Structured log lines on stderr, one JSON object each. stdout belongs to the MCP wire.

Only the fields listed in EXTRA travel beside the message, so that no caller can log a whole object by accident.
"""

from __future__ import annotations

import datetime
import logging
import sys
from collections.abc import Callable
from typing import Final

import orjson

from kubescript.output import sanitizing

__all__ = ["EXTRA", "configure", "mask_with"]

EXTRA: Final = (
    "event", "code", "remedy", "client", "context", "verb", "group", "version", "resource", "subresource", "namespace",
    "what", "verdict", "rule", "status", "fault", "ms", "wall_ms", "cpu_ms", "peak_mib", "api_calls", "bytes_fetched",
    "bytes", "layer",
)  # fmt: skip


class _JsonLines(logging.Formatter):
    """Writes a record as one JSON object."""

    mask: Callable[[str], str] | None = None
    """Set as soon as text of the cluster may be among ours."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line: dict[str, object] = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for key in EXTRA:
            value = getattr(record, key, None)
            if value not in (None, ""):
                line[key] = value
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # a terminal reads the line, and the line quotes what strangers wrote
        text = sanitizing.clean(orjson.dumps(line, default=str).decode())
        try:
            return self.mask(text) if self.mask is not None else text
        except Exception:  # fail closed: what cannot be masked is not logged
            return '{"level":"error","logger":"kubescript.logs","message":"a log line could not be masked"}'


def mask_with(mask: Callable[[str], str]) -> None:
    """Passes every line through `mask` from now on, as its last step."""
    for handler in logging.getLogger().handlers:
        formatter = handler.formatter
        if isinstance(formatter, _JsonLines):
            formatter.mask = mask


def configure(level: str) -> None:
    """Sends every log record of `level` and above to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    at_least_warning = max(logging.WARNING, root.level)
    for chatty in ("urllib3", "asyncio", "mcp", "uvicorn.access"):
        logging.getLogger(chatty).setLevel(at_least_warning)
