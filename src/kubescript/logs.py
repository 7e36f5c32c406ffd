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
    mask: Callable[[str], str] | None = None
    """Set as soon as the cluster's words may be among ours."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line: dict[str, object] = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key in EXTRA if (value := getattr(record, key, None)) not in (None, "")}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        text = sanitizing.clean(
            orjson.dumps(line, default=str).decode()
        )  # a terminal reads it, and it quotes strangers
        try:
            return self.mask(text) if self.mask is not None else text
        except Exception:  # fail closed: what cannot be masked is not logged
            return '{"level":"error","logger":"kubescript.logs","message":"a log line could not be masked"}'


def mask_with(mask: Callable[[str], str]) -> None:
    """Pass every line through `mask` from now on, as the last look at it."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, _JsonLines):
            handler.formatter.mask = mask


def configure(level: str) -> None:
    """Send every log record of `level` and above to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for chatty in ("urllib3", "asyncio", "mcp", "uvicorn.access"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))
