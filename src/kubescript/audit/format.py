"""Records as a person reads them: a line each."""

from __future__ import annotations

from typing import Any

import orjson

from kubescript.output import sanitizing

__all__ = ["line", "raw", "target"]


def line(record: dict[str, Any]) -> str:
    """Time, script, what, decision and outcome, size, time spent; a record of another shape as it is."""
    try:
        return _line(record)
    except (KeyError, TypeError, ValueError, AttributeError):
        return raw(record)


def _line(record: dict[str, Any]) -> str:
    kind = str(record.get("type", "?"))
    what, outcome = _describe(kind, record)
    cost = f"{_size(record)} {record['ms']:.0f} ms" if "ms" in record else ""
    text = f"{record['time']} {str(record.get('script', ''))[:8]:<8} {kind:<6} {what:<56} {outcome:<32} {cost}".rstrip()
    return sanitizing.printable(text)


def raw(record: dict[str, Any]) -> str:
    """The record as JSON on one line; what a terminal would obey, or nobody would see, is escaped."""
    text = orjson.dumps(record).decode()
    return text if text.isprintable() else "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def target(record: dict[str, Any]) -> str:
    """What a call asked for: `list deployments.apps shop/web`."""
    if "what" in record:
        return str(record["what"])
    if "path" in record:
        return f"{record['verb']} {record['path']}"
    resource = "/".join(filter(None, (record["resource"], record["subresource"])))
    resource += f".{record['group']}" if record["group"] else ""
    object_name = "/".join(filter(None, (record["namespace"], record["name"])))
    return f"{record['verb']} {resource} {object_name}".rstrip()


def _describe(kind: str, record: dict[str, Any]) -> tuple[str, str]:
    if kind in {"call", "sent"}:
        return target(record), _outcome(record) if kind == "call" else ""
    if kind == "script":
        who = " ".join(filter(None, (record["client"], record["client_version"])))
        hit = f" ({', '.join(record['limits'])})" if record.get("limits") else ""
        return f"{record['calls']} calls, {record.get('not_allowed', 0)} not allowed, by {who or '?'}", record[
            "code"
        ] + hit
    extra = {key: record[key] for key in ("previous", "pid", "torn_bytes", "records") if record.get(key)}
    return ", ".join(f"{key} {value}" for key, value in extra.items()), ""


def _outcome(record: dict[str, Any]) -> str:
    if record["decision"] != "allow":
        return f"{record['decision']} {record['rule'] or record['fault']}"
    return " ".join(filter(None, (str(record["status"] or ""), record["fault"], _masked(record))))


def _masked(record: dict[str, Any]) -> str:
    count = sum(record.get("redactions", {}).values())
    return f"{count} masked" if count else ""


def _size(record: dict[str, Any]) -> str:
    size = record.get("bytes", record.get("answer_bytes", 0))
    return f"{size:>9}" if size < 100_000 else f"{size / 1024:>7.0f}Ki"
