"""Writes the kubectl command for a write that was refused, so that a person can run it.

A script and a cluster decide what is in the command, and this process writes it. So it is data like any other text of
the cluster: it belongs between an answer's marks.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any, Final

import msgspec

from kubescript.guest.sdk.values import builtin_kinds
from kubescript.kube import kinds, paths
from kubescript.wire.exchanges import Call
from kubescript_sandbox.wire import protocol

__all__ = ["compose", "is_asked"]

_ASKED: Final = "return the kubectl command"
"""The words with which a refusal asks for a command."""
_DENIED: Final = "policy.denied_resource"
"""The code of a refusal of whole kinds, whether they are read or written."""
_MOST: Final = 1_400
"""How many characters a command has at most: an error's hint may have 2,000."""
_TOO_LONG: Final = "the command is too long to show: have the user write the object to a file for `kubectl apply -f`"
# Attack: an object is called `--all`, or `a,b`: kubectl takes the one for an option and the other for two names.
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*", re.ASCII)
_TYPE: Final = re.compile(r"[A-Za-z0-9._/-]+", re.ASCII)
_SECONDS: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_PATCHES: Final = {"json-patch": "json", "merge-patch": "merge", "strategic-merge-patch": "strategic"}
_SUBRESOURCES: Final = frozenset({"", "scale", "status", "resize"})
"""The subresources that kubectl can change."""
_CASCADES: Final = {"Foreground": "foreground", "Orphan": "orphan"}
"""Without an option, kubectl deletes dependents in the background."""
_EVICTION: Final = {"apiVersion": "policy/v1", "kind": "Eviction"}

_Words = list[str]
"""The words of a command after `kubectl`; none if kubectl has no such command."""


def is_asked(call: Call, fault: protocol.ScriptFault) -> bool:
    """Says whether a call is a refused write that a person may make."""
    return call.method != "GET" and (_ASKED in fault.message or fault.code == _DENIED)


def compose(call: Call) -> str:
    """Returns the command that does what a call was to do, as one line for a POSIX shell. It is empty if kubectl has no
    command for it, and says so if the command is too long. It never has the values of a Secret."""
    place = paths.locate(call.path)
    if place is None or not _is_plain(place):
        return ""
    is_secret = not place.group and place.resource == "secrets"
    if not is_secret and len(call.body) > _MOST:
        return _TOO_LONG
    body = msgspec.json.decode(call.body)
    sent = ""
    if call.method == "DELETE":
        words = _delete(call, place, body)
    elif is_secret:
        words = _keep_secret(call, place, body)
    elif call.method == "PATCH" and call.content_type != "apply-patch":
        words = _patch(call, place, body)
    else:
        words = _send(call, place)
        sent = f"printf %s {shlex.quote(_manifest(place, body))} | "
    if not words:
        return ""
    command = sent + shlex.join(["kubectl", *words, *_options(call, place)])
    return command if len(command) <= _MOST else _TOO_LONG


def _is_plain(place: paths.Location) -> bool:
    """Says whether kubectl reads each part of a path as the API server does."""
    # kubectl has words of its own for several kinds at once, such as `all`.
    if not place.group and place.resource not in kinds.BUILT_IN[""]:
        return False
    return all(_WORD.fullmatch(part) for part in place if part)


def _target(place: paths.Location) -> _Words:
    """Returns kubectl's words for an object."""
    kind = f"{place.resource}.{place.version}.{place.group}" if place.group else place.resource
    return [kind, place.name]


def _options(call: Call, place: paths.Location) -> _Words:
    """Returns the options that every command has."""
    options = []
    if place.namespace:
        options.append(f"--namespace={place.namespace}")
    # Attack: a command for one cluster is pasted where another one is the default.
    if call.context:
        options.append(f"--context={call.context}")
    if ("dryRun", "All") in call.query:
        options.append("--dry-run=server")
    return options


def _delete(call: Call, place: paths.Location, body: Any) -> _Words:
    # Without a name the call would delete a whole collection.
    if not place.name or place.subresource:
        return []
    given = body if isinstance(body, dict) else {}
    given = {**given, **dict(call.query)}
    # Otherwise kubectl waits until the object is gone.
    words = ["delete", *_target(place), "--wait=false"]
    cascade = _CASCADES.get(str(given.get("propagationPolicy")))
    if cascade is not None:
        words.append(f"--cascade={cascade}")
    seconds = str(given.get("gracePeriodSeconds"))
    if _SECONDS.fullmatch(seconds):
        words.append(f"--grace-period={seconds}")
    return words


def _patch(call: Call, place: paths.Location, body: Any) -> _Words:
    if not place.name or place.subresource not in _SUBRESOURCES:
        return []
    match body:
        case {"spec": {"replicas": int(replicas)}} if place.subresource == "scale" and len(body["spec"]) == 1:
            return ["scale", *_target(place), f"--replicas={replicas:d}"]
    kind = _PATCHES[call.content_type]
    words = ["patch", *_target(place), f"--type={kind}", f"--patch={_write(body)}"]
    if place.subresource:
        words.append(f"--subresource={place.subresource}")
    return words


def _send(call: Call, place: paths.Location) -> _Words:
    """Returns the words of a command that reads the object from its input."""
    match call.method, place.subresource:
        case "POST", "" if not place.name:
            words = ["create"]
        case "POST", "eviction" if place.name:
            path = "/".join(call.path)
            words = ["create", f"--raw=/{path}"]
        case "PUT", "" if place.name:
            words = ["replace"]
        case "PATCH", "" if place.name:
            words = ["apply", "--server-side"]
            if ("force", "true") in call.query:
                words.append("--force-conflicts")
        case _:
            return []
    return [*words, "--filename=-"]


def _keep_secret(call: Call, place: paths.Location, body: Any) -> _Words:
    """Returns the command for a Secret, whose values the user has to add."""
    if place.subresource:
        return []
    if place.name and call.content_type != "apply-patch":
        return ["edit", *_target(place)]
    match body:
        case {"metadata": {"name": str(name)}} if _WORD.fullmatch(name):
            words = ["create", "secret", "generic", name]
        case _:
            return []
    kind = body.get("type")
    if isinstance(kind, str) and _TYPE.fullmatch(kind):
        words.append(f"--type={kind}")
    for field in ("data", "stringData"):
        values = body.get(field)
        keys = values if isinstance(values, dict) else {}
        words += [f"--from-file={key}" for key in keys if _WORD.fullmatch(key)]
    return words


def _manifest(place: paths.Location, body: Any) -> str:
    """Returns an object as JSON, with its kind and name where a script may leave them out."""
    if not isinstance(body, dict):
        return _write(body)
    whole = dict(body)
    if place.subresource == "eviction":
        whole = {**_EVICTION, **body}
    for kind in builtin_kinds.kinds():
        if (kind.group, kind.version, kind.plural) == place[:3] and not place.subresource:
            whole = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
    metadata = body.get("metadata")
    if place.name and isinstance(metadata, dict):
        whole["metadata"] = {"name": place.name, **metadata}
    return _write(whole)


def _write(value: Any) -> str:
    """Returns a value as JSON. No character of it is invisible, and none ends the line."""
    return json.dumps(value, separators=(",", ":"))
