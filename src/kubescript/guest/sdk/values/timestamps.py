"""Provides Kubernetes times: RFC 3339 text in JSON, aware datetimes by snake_case attribute, as in the official
client."""

from __future__ import annotations

import datetime

from kubescript.kube import times

__all__ = ["format_time", "parse_time"]


def parse_time(text: object) -> object:
    """Returns an aware datetime, and any value that is not a timestamp unchanged."""
    if not isinstance(text, str):
        return text
    moment = times.parse(text)
    return text if moment is None else moment


def format_time(moment: datetime.datetime | datetime.date) -> str:
    """Returns RFC 3339 text; UTC is written as Z."""
    if not isinstance(moment, datetime.datetime):
        return moment.isoformat()
    # A naive datetime is taken to be in UTC.
    aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    # The API server writes UTC in this way.
    return aware.isoformat().replace("+00:00", "Z")
