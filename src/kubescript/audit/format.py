"""Human-readable records, one line each. `kubescript audit show` prints these lines.

The fields come from a file that a stranger may have written, so every line is made printable.
"""

from __future__ import annotations

from typing import Any

import orjson

from kubescript.output import sanitizing

__all__ = ["client", "line", "raw", "target"]


def line(record: dict[str, Any]) -> str:
    """Returns time, script, target, outcome, size and duration; a record of a different shape as JSON."""
    try:
        return _line(record)
    except (KeyError, TypeError, ValueError, AttributeError):
        # A stranger may have written the file, so a record may have any shape.
        return raw(record)


def _line(record: dict[str, Any]) -> str:
    kind = str(record.get("type", "?"))
    script = str(record.get("script", ""))[:8]
    what, outcome = _describe(kind, record)
    # Records about the file itself have no duration.
    cost = ""
    if "ms" in record:
        cost = f"{_size(record)} {record['ms']:.0f} ms"
    columns = [
        str(record["time"]),
        f"{script:<8}",
        f"{kind:<6}",
        f"{what:<56}",
        f"{outcome:<32}",
        cost,
    ]
    text = " ".join(columns).rstrip()
    return sanitizing.printable(text)


def raw(record: dict[str, Any]) -> str:
    """Returns the record as JSON on one line, with escapes for control and invisible characters."""
    return sanitizing.escape_line(orjson.dumps(record).decode())


def target(record: dict[str, Any]) -> str:
    """Returns the target of a call: `list deployments.apps shop/web`."""
    # The record of a call that could not be parsed has only the call's own words.
    if "what" in record:
        return str(record["what"])
    verb = record["verb"]
    if "path" in record:
        return f"{verb} {record['path']}"
    resource = _join("/", record["resource"], record["subresource"])
    if record["group"]:
        resource += f".{record['group']}"
    object_name = _join("/", record["namespace"], record["name"])
    return f"{verb} {resource} {object_name}".rstrip()


def client(record: dict[str, Any]) -> str:
    """Returns the name and version that a script's client reported; `?` if it reported none."""
    name = _join(" ", record["client"], record["client_version"])
    return name or "?"


def _describe(kind: str, record: dict[str, Any]) -> tuple[str, str]:
    """Returns a record's subject and outcome."""
    if kind == "call":
        return target(record), _call_outcome(record)
    if kind == "sent":
        outcome = "dry run" if record.get("dry_run") else ""
        return target(record), outcome
    if kind == "runbook":
        return f"{record['name']} (sha256 {record['sha256'][:16] or '?'})", _runbook_outcome(record)
    if kind in {"plan", "decision", "applying", "applied"}:
        return _plan(kind, record)
    if kind == "script":
        return _script_text(record), _script_outcome(record)
    # All other records are about the file itself.
    return _file_text(record), ""


def _runbook_outcome(record: dict[str, Any]) -> str:
    """Returns the arguments of a runbook that was run, or the code of one that was not."""
    if record["code"] != "ok":
        return _join(" ", record["code"], record.get("text", ""), _count_repeats(record))
    return ", ".join(f"{name}={value}" for name, value in record["arguments"].items())


def _count_repeats(record: dict[str, Any]) -> str:
    """Returns how often a denial was repeated; empty for a single one."""
    count = record.get("count", 0)
    return f"x{count} since {record['first']}" if count else ""


def _plan(kind: str, record: dict[str, Any]) -> tuple[str, str]:
    """Returns the plan that a record is about, and its outcome."""
    name = f"plan {record['plan'][:10]}"
    if kind == "plan":
        count = len(record["steps"]) + record["more_steps"]
        return f"{name}: {count} changes", "waits for a decision"
    if kind == "decision":
        verdict = "approved" if record["approves"] else "declined"
        outcome = _join(" ", record["channel"], record["reason"])
        return f"{name}: {verdict} by {record['approver']}", outcome
    if kind == "applying":
        return f"{name}: {len(record['decisions'])} approvals", "is applied from here on"
    states = [step["state"] for step in record["steps"]]
    text = f"{name}: {states.count('done')} of {len(states)} changes made"
    # A record lists at most a hundred steps.
    if record.get("more_steps"):
        text += f", {record['more_steps']} more not listed"
    return text, str(record["state"])


def _file_text(record: dict[str, Any]) -> str:
    """Describes a record about the file itself."""
    parts = []
    for key in ("previous", "pid", "torn_bytes", "records"):
        value = record.get(key)
        if value:
            parts.append(f"{key} {value}")
    return ", ".join(parts)


def _script_text(record: dict[str, Any]) -> str:
    """Describes a script by its tool, its calls and its client."""
    # A script that did not run has no calls to be denied.
    not_allowed = record.get("not_allowed", 0)
    name = client(record)
    calls = f"{record['calls']} calls, {not_allowed} not allowed, by {name}"
    return _join(" ", record.get("tool", ""), calls)


def _script_outcome(record: dict[str, Any]) -> str:
    """Returns the code with which a script ended, and the limits that it hit."""
    outcome: str = record["code"]
    if record.get("limits"):
        outcome += f" ({', '.join(record['limits'])})"
    return outcome


def _call_outcome(record: dict[str, Any]) -> str:
    """Returns decision and rule of a call that was not allowed, else its outcome."""
    if record["decision"] != "allow":
        # A call that could not be parsed was refused by no rule.
        reason = record["rule"] or record["fault"]
        return _join(" ", record["decision"], reason, _count_repeats(record))
    # The status is 0 if there was no answer.
    status = str(record["status"] or "")
    return _join(" ", status, record["fault"], _count_masks(record))


def _count_masks(record: dict[str, Any]) -> str:
    """Returns how many values in the answer were masked; empty for none."""
    redactions = record.get("redactions", {})
    count = sum(redactions.values())
    return f"{count} masked" if count else ""


def _size(record: dict[str, Any]) -> str:
    """Returns the bytes of an answer as a column."""
    size = record.get("bytes", record.get("answer_bytes", 0))
    if size < 100_000:
        return f"{size:>9}"
    return f"{size / 1024:>7.0f}Ki"


def _join(separator: str, *parts: str) -> str:
    """Joins the non-empty parts."""
    return separator.join(part for part in parts if part)
