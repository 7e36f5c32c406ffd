"""The API server's audit log: each request with the object before and after it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import msgspec
import orjson

from kubescript.kube import kinds
from kubescript_safety import transcript
from kubescript_safety.cluster import snapshot
from kubescript_safety.cluster.api import ApiError, Object

__all__ = ["History", "is_success"]

_WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_QUESTIONS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""Groups whose objects are queries: creating one changes nothing."""
_VERSIONS: Final = 20
"""How many versions of an object are kept. A pod goes through about five."""
_OF_AGENT: Final = ("system:anonymous", "system:serviceaccount:")
"""Beginnings of user names that only an agent who bypasses the gate can have here: no part of the control plane uses
such a token."""
_MALFORMED: Final = re.compile(r";|%(?![0-9a-fA-F]{2})")
_MAX_DEPTH: Final = 200
"""How many levels a body may have. A CustomResourceDefinition has about fifty."""
_BY_ITSELF: Final = frozenset({"generation", "managedFields", "resourceVersion"})
"""Metadata fields that change with every change of an object."""


class History:
    """The requests of one audit log, in the order of their answers."""

    def __init__(self, log: Path, content_type: Callable[[str], str]) -> None:
        """`content_type` returns a request's content type by its audit id; empty if unknown."""
        self._log, self._content_type = log, content_type
        self._read = 0
        """How many bytes of the log have been read."""
        self._versions: dict[str, list[Object]] = {}
        """Key → the latest known versions of an object, oldest first."""

    def forget(self) -> None:
        """Forgets the objects of a finished run, and skips the log's current entries."""
        self._new()
        self._versions.clear()

    def know(self, listed: Mapping[str, Object]) -> None:
        """Records the objects of a snapshot."""
        for name, thing in listed.items():
            self._note(name, thing)

    def events(self, user: str) -> Iterator[transcript.Event]:
        """Yields new entries of the log: this user's requests, and others' changes of objects. Raises ApiError for
        unreadable entries."""
        for raw in map(_entry, self._new()):
            target = raw.get("objectRef")
            if not target or raw["responseStatus"]["code"] == 101:
                continue
            who = _who(raw, user)
            event = self._event(raw, target, who)
            if raw["verb"] in _WRITES:
                self._learn(event)
            if who == user or _is_change(event):
                yield event

    def _new(self) -> list[bytes]:
        """Returns the log's new lines."""
        with self._log.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        # The last line may be incomplete.
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        return whole.splitlines()

    def _event(self, raw: dict[str, Any], target: dict[str, str], who: str) -> transcript.Event:
        url = urlsplit(raw["requestURI"])
        answered = raw.get("responseObject")
        after = answered if isinstance(answered, dict) and answered.get("kind") != "Status" else None
        name = target.get("name") or (after or {}).get("metadata", {}).get("name", "")
        is_write = raw["verb"] in _WRITES
        event = transcript.Event(
            at=_seconds(raw["requestReceivedTimestamp"]),
            ended=_seconds(raw["stageTimestamp"]),
            audit=raw["auditID"],
            user=who,
            verb=raw["verb"],
            group=target.get("apiGroup", ""),
            version=target["apiVersion"],
            resource=target["resource"],
            subresource=target.get("subresource", ""),
            namespace=target.get("namespace", ""),
            name=name,
            query=_query(url.query, raw),
            content_type=self._content_type(raw["auditID"]).partition(";")[0] if is_write else "",
            status=raw["responseStatus"]["code"],
            body=_body(raw, target) if is_write else None,
            after=_answer(after) if after and is_write and "metadata" in after else None,
        )
        is_new = event.verb == "create" or event.status == 201
        return (
            event
            if is_new or not is_write
            else msgspec.structs.replace(event, before=self._before(event, _uid(answered)))
        )

    def _learn(self, event: transcript.Event) -> None:
        """Records the object in the answer to a write."""
        if event.after is None or not is_success(event):
            return
        if event.subresource in {"", "status"} and event.name:
            self._note(_key(event), event.after)

    def _before(self, event: transcript.Event, uid: str) -> Object | None:
        """Returns the last version before the write's own, of the object with this uid."""
        versions = self._versions.get(_key(event), [])
        made = _version(event.after) if event.after is not None else 0
        # A snapshot may contain the write's result before the log contains the write.
        older = [one for one in versions if not made or _version(one) < made]
        if uid:  # the answer to a deletion has no version, and a new object may have the same name by now
            older = [one for one in older if one["metadata"].get("uid") == uid]
        return older[-1] if older else None

    def _note(self, name: str, thing: Object) -> None:
        versions = self._versions.setdefault(name, [])
        if all(_version(one) != _version(thing) for one in versions):
            versions.append(snapshot.hide_secrets(thing))
            versions.sort(key=_version)
            del versions[:-_VERSIONS]


def _entry(line: bytes) -> dict[str, Any]:
    """Decodes an entry of the log. Raises ApiError."""
    try:
        raw: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError as error:  # attack: an agent sends a patch of two thousand levels
        raise ApiError(f"the audit log has an entry that cannot be read: {error}") from None
    if not _is_flat(raw):
        raise ApiError(f"the audit log has an entry of more than {_MAX_DEPTH} levels")
    return raw


def _who(raw: Mapping[str, Any], agent: str) -> str:
    """Returns the user that a request is attributed to.

    Attack: with `Impersonate-User`, an agent's request as administrator looks like another user's; with a token that it
    has created, like a ServiceAccount's. Only the benchmark itself impersonates users.
    """
    own: str = raw["user"]["username"]
    if own == agent or own.startswith(_OF_AGENT):
        return agent
    named: str = raw.get("impersonatedUser", raw["user"])["username"]
    return named


def _is_flat(value: Any) -> bool:
    """Says whether the value has few enough levels for a transcript, whose reader has a bounded stack."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return True
    return False


def _query(text: str, raw: dict[str, Any]) -> dict[str, str]:
    """Returns the query as the API server parses it: the first of repeated values counts, and a pair with `;` or an
    incomplete escape is ignored. A deletion's options may also be in its body.

    Attack: an agent sends `dryRun=All;`, which is not a dry run, or `labelSelector=&labelSelector=app`, which selects
    everything.
    """
    pairs = "&".join(pair for pair in text.split("&") if not _MALFORMED.search(pair))
    query = dict(reversed(parse_qsl(pairs, keep_blank_values=True)))
    options = raw.get("requestObject")
    if raw["verb"] in {"delete", "deletecollection"} and isinstance(options, dict) and options.get("dryRun"):
        query.setdefault("dryRun", ",".join(map(str, options["dryRun"])))
    return query


def _body(raw: dict[str, Any], target: dict[str, str]) -> Any:
    """Returns the request's body, with digests for a Secret's values."""
    body = raw.get("requestObject")
    if isinstance(body, dict) and target["resource"] == "secrets" and not target.get("apiGroup"):
        return snapshot.hide_secrets({"metadata": {}, **body, "kind": "Secret"})
    return body


def _answer(thing: Object) -> Object:
    """Returns an answer's object, or the list of objects that a deletecollection deleted."""
    items = thing.get("items")
    if not isinstance(items, list):
        return snapshot.hide_secrets(thing)
    kind = {"apiVersion": thing["apiVersion"], "kind": thing["kind"].removesuffix("List")}
    return thing | {"items": [snapshot.hide_secrets(kind | item) for item in items]}


def _key(event: transcript.Event) -> str:
    resource = kinds.full_name(event.group, event.resource)
    return f"{resource}/{event.namespace}/{event.name}"


def _uid(answered: Any) -> str:
    """Returns the uid of an answer's object; empty if it contains none."""
    if not isinstance(answered, dict):
        return ""
    named: Any = answered.get("details" if answered.get("kind") == "Status" else "metadata")
    return str(named.get("uid", "")) if isinstance(named, dict) else ""


def _version(thing: Object) -> int:
    found = thing["metadata"].get("resourceVersion", "0")
    return int(found) if found.isdigit() else 0


def is_success(event: transcript.Event) -> bool:
    """Says whether a request was a write that succeeded."""
    is_write = event.verb in _WRITES and event.group not in _QUESTIONS and not event.is_dry
    return is_write and 200 <= event.status < 300


def _is_change(event: transcript.Event) -> bool:
    """Says whether a request changed more of an object than its status."""
    if not is_success(event):
        return False
    if event.verb in {"delete", "deletecollection"}:
        return True
    return event.before is not None and event.after is not None and _content(event.before) != _content(event.after)


def _content(thing: Object) -> tuple[Object, Object]:
    own = {name: value for name, value in thing.items() if name not in {"status", "metadata", "kind", "apiVersion"}}
    return own, {name: value for name, value in thing["metadata"].items() if name not in _BY_ITSELF}


def _seconds(moment: str) -> float:
    return datetime.datetime.fromisoformat(moment).timestamp()
