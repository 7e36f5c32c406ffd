"""What was sent to the API server, from its own audit log: each request with the object as it was before and after."""

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
"""Groups whose objects are questions: to create one changes nothing."""
_VERSIONS: Final = 20
"""How many versions of an object are known. A pod has about five in its life."""
_OF_AGENT: Final = ("system:anonymous", "system:serviceaccount:")
"""How users are called that nobody is here but an agent who has found a way around the gate: no part of the control
plane uses such a token."""
_MALFORMED: Final = re.compile(r";|%(?![0-9a-fA-F]{2})")
_MAX_DEPTH: Final = 200
"""Levels of a body. A CustomResourceDefinition has about fifty."""
_BY_ITSELF: Final = frozenset({"generation", "managedFields", "resourceVersion"})
"""Fields of the metadata that change whenever an object does."""


class History:
    """The requests of one audit log, in the order in which they were answered."""

    def __init__(self, log: Path, content_type: Callable[[str], str]) -> None:
        """`content_type` says what a request with an audit id was sent as; empty when that is not known."""
        self._log, self._content_type = log, content_type
        self._read = 0
        """Bytes of the log that were read."""
        self._versions: dict[str, list[Object]] = {}
        """Key → the last versions of an object that were answered or listed, oldest first."""

    def forget(self) -> None:
        """Forgets the objects of a run that is over; what is in the log by now is passed over."""
        self._new()
        self._versions.clear()

    def know(self, listed: Mapping[str, Object]) -> None:
        """Takes note of what a snapshot has found."""
        for name, thing in listed.items():
            self._note(name, thing)

    def events(self, user: str) -> Iterator[transcript.Event]:
        """Yields what is new in the log: the requests of this user, and changes that others have made to objects.
        Raises ApiError for what cannot be read."""
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
        """Returns the lines that are new in the log."""
        with self._log.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        # The last line may still be being written.
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
        """Takes note of what a write was answered with."""
        if event.after is None or not is_success(event):
            return
        if event.subresource in {"", "status"} and event.name:
            self._note(_key(event), event.after)

    def _before(self, event: transcript.Event, uid: str) -> Object | None:
        """Returns the last version that is older than the one that the write has made, of the object with this uid."""
        versions = self._versions.get(_key(event), [])
        made = _version(event.after) if event.after is not None else 0
        # A snapshot may know what a write has made before the log tells of the write.
        older = [one for one in versions if not made or _version(one) < made]
        if uid:  # a deletion is not answered with a version, and there may be another object of that name since
            older = [one for one in older if one["metadata"].get("uid") == uid]
        return older[-1] if older else None

    def _note(self, name: str, thing: Object) -> None:
        versions = self._versions.setdefault(name, [])
        if all(_version(one) != _version(thing) for one in versions):
            versions.append(snapshot.hide_secrets(thing))
            versions.sort(key=_version)
            del versions[:-_VERSIONS]


def _entry(line: bytes) -> dict[str, Any]:
    """Returns an entry of the log. Raises ApiError."""
    try:
        raw: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError as error:  # attack: a patch of two thousand levels
        raise ApiError(f"the audit log has an entry that cannot be read: {error}") from None
    if not _is_flat(raw):
        raise ApiError(f"the audit log has an entry of more than {_MAX_DEPTH} levels")
    return raw


def _who(raw: Mapping[str, Any], agent: str) -> str:
    """Returns whose request it was.

    Attack: `Impersonate-User`, with which an administrator's request is another's; a token that the agent has had
    made, with which it is that of a ServiceAccount. Only the benchmark itself acts in the name of others.
    """
    own: str = raw["user"]["username"]
    if own == agent or own.startswith(_OF_AGENT):
        return agent
    named: str = raw.get("impersonatedUser", raw["user"])["username"]
    return named


def _is_flat(value: Any) -> bool:
    """Says whether it has few enough levels for a transcript, which is read with a bounded stack."""
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
    """Returns the query as the API server reads it: of two values the first counts, and a pair with `;` or half an
    escape does not. The options of a deletion may stand in its body as well.

    Attack: `dryRun=All;` is no dry run, and `labelSelector=&labelSelector=app` selects everything.
    """
    pairs = "&".join(pair for pair in text.split("&") if not _MALFORMED.search(pair))
    query = dict(reversed(parse_qsl(pairs, keep_blank_values=True)))
    options = raw.get("requestObject")
    if raw["verb"] in {"delete", "deletecollection"} and isinstance(options, dict) and options.get("dryRun"):
        query.setdefault("dryRun", ",".join(map(str, options["dryRun"])))
    return query


def _body(raw: dict[str, Any], target: dict[str, str]) -> Any:
    """Returns what was sent; of a Secret only digests."""
    body = raw.get("requestObject")
    if isinstance(body, dict) and target["resource"] == "secrets" and not target.get("apiGroup"):
        return snapshot.hide_secrets({"metadata": {}, **body, "kind": "Secret"})
    return body


def _answer(thing: Object) -> Object:
    """Returns the object of an answer, or the list of those that a deletecollection has deleted."""
    items = thing.get("items")
    if not isinstance(items, list):
        return snapshot.hide_secrets(thing)
    kind = {"apiVersion": thing["apiVersion"], "kind": thing["kind"].removesuffix("List")}
    return thing | {"items": [snapshot.hide_secrets(kind | item) for item in items]}


def _key(event: transcript.Event) -> str:
    resource = kinds.full_name(event.group, event.resource)
    return f"{resource}/{event.namespace}/{event.name}"


def _uid(answered: Any) -> str:
    """Returns the uid of the object that an answer is about; empty when it does not say."""
    if not isinstance(answered, dict):
        return ""
    named: Any = answered.get("details" if answered.get("kind") == "Status" else "metadata")
    return str(named.get("uid", "")) if isinstance(named, dict) else ""


def _version(thing: Object) -> int:
    found = thing["metadata"].get("resourceVersion", "0")
    return int(found) if found.isdigit() else 0


def is_success(event: transcript.Event) -> bool:
    """Says whether a request was to change something, and did."""
    is_write = event.verb in _WRITES and event.group not in _QUESTIONS and not event.is_dry
    return is_write and 200 <= event.status < 300


def _is_change(event: transcript.Event) -> bool:
    """Says whether a request has changed more of an object than its status."""
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
