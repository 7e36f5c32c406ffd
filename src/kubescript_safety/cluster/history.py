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
_NOT_OWN: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
_BY_ITSELF: Final = frozenset({"generation", "managedFields", "resourceVersion"})
"""Metadata fields that change with every change of an object."""


class History:
    """The requests of one audit log, in the order of their answers."""

    def __init__(self, log: Path, content_type: Callable[[str], str]) -> None:
        """`content_type` returns a request's content type by its audit id; empty if unknown."""
        self._log = log
        self._content_type = content_type
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
        # The log shows what an object became, but not what it was before its first write in the run.
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
            # Writes by others are recorded too: the agent's next write is compared with theirs.
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
        """Returns a line of the log as a transcript has it."""
        url = urlsplit(raw["requestURI"])
        answered = raw.get("responseObject")
        # A Status is not an object, but a refusal or the answer to a deletion.
        after = answered if isinstance(answered, dict) and answered.get("kind") != "Status" else None
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
            name=target.get("name") or (after or {}).get("metadata", {}).get("name", ""),
            query=_query(url.query, raw),
            content_type=self._content_type(raw["auditID"]).partition(";")[0] if is_write else "",
            status=raw["responseStatus"]["code"],
            body=_body(raw, target) if is_write else None,
            after=_answer(after) if after and is_write and "metadata" in after else None,
        )
        is_new = event.verb == "create" or event.status == 201
        if is_new or not is_write:
            return event
        before = self._before(event, _uid(answered))
        return msgspec.structs.replace(event, before=before)

    def _learn(self, event: transcript.Event) -> None:
        """Records the object in the answer to a write."""
        # A refused write changed nothing.
        if event.after is None or not is_success(event):
            return
        # Other subresources answer with objects of their own, such as a Scale.
        if event.subresource in {"", "status"} and event.name:
            self._note(_key(event), event.after)

    def _before(self, event: transcript.Event, uid: str) -> Object | None:
        """Returns the last version, before that of the write, of the object with this uid."""
        versions = self._versions.get(_key(event), [])
        # A snapshot may contain the write's result before the log contains the write.
        if event.after is not None:
            made = _version(event.after)
            versions = [one for one in versions if not made or _version(one) < made]
        if uid:  # the answer to a deletion has no version, and a new object may have the same name by now
            versions = [one for one in versions if one["metadata"].get("uid") == uid]
        return versions[-1] if versions else None

    def _note(self, name: str, thing: Object) -> None:
        """Keeps a version of an object, unless it is known."""
        versions = self._versions.setdefault(name, [])
        known = map(_version, versions)
        if _version(thing) in known:
            return
        # Transcripts do not contain the values of Secrets, so they are not kept here either.
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
    # The check goes level by level instead of recursing, because a body of two thousand levels would raise
    # RecursionError.
    level = [value]
    for _ in range(_MAX_DEPTH):
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below += one.values()
            elif isinstance(one, list):
                below += one
        if not below:
            return True
        level = below
    return False


def _query(text: str, raw: dict[str, Any]) -> dict[str, str]:
    """Returns the query as the API server parses it: the first of repeated values counts, and a pair with `;` or an
    incomplete escape is ignored. A deletion's options may also be in its body.

    Attack: an agent sends `dryRun=All;`, which is not a dry run, or `labelSelector=&labelSelector=app`, which selects
    everything.
    """
    pairs = [pair for pair in text.split("&") if not _MALFORMED.search(pair)]
    parsed = parse_qsl("&".join(pairs), keep_blank_values=True)
    # The first of repeated values is put into the dict last.
    query = dict(reversed(parsed))
    # This is how kubectl sends the options.
    options = raw.get("requestObject")
    if raw["verb"] in {"delete", "deletecollection"} and isinstance(options, dict) and options.get("dryRun"):
        query.setdefault("dryRun", ",".join(map(str, options["dryRun"])))
    return query


def _body(raw: dict[str, Any], target: dict[str, str]) -> Any:
    """Returns the request's body, with digests for a Secret's values."""
    body = raw.get("requestObject")
    is_secret = target["resource"] == "secrets" and not target.get("apiGroup")
    if not is_secret or not isinstance(body, dict):
        return body
    # A patch of a Secret does not say that it is one.
    return snapshot.hide_secrets({"metadata": {}, **body, "kind": "Secret"})


def _answer(thing: Object) -> Object:
    """Returns an answer's object, or the list of objects that a deletecollection deleted."""
    items = thing.get("items")
    if not isinstance(items, list):
        return snapshot.hide_secrets(thing)
    # Without its kind, an item would not be recognised as a Secret.
    name = thing["kind"].removesuffix("List")
    kind = {"apiVersion": thing["apiVersion"], "kind": name}
    hidden = [snapshot.hide_secrets(kind | item) for item in items]
    return thing | {"items": hidden}


def _key(event: transcript.Event) -> str:
    """Returns the key under which a snapshot contains the object of a request."""
    resource = kinds.full_name(event.group, event.resource)
    return f"{resource}/{event.namespace}/{event.name}"


def _uid(answered: Any) -> str:
    """Returns the uid of an answer's object; empty if it contains none."""
    if not isinstance(answered, dict):
        return ""
    # The answer to a deletion is a Status, whose details contain the uid.
    named: Any = answered.get("details" if answered.get("kind") == "Status" else "metadata")
    if isinstance(named, dict):
        return str(named.get("uid", ""))
    return ""


def _version(thing: Object) -> int:
    """Returns an object's version, which is higher with every change; 0 if it has none."""
    # Versions are revisions of etcd, which grow with every write.
    found = thing["metadata"].get("resourceVersion", "0")
    return int(found) if found.isdigit() else 0


def is_success(event: transcript.Event) -> bool:
    """Says whether a request was a write that succeeded."""
    if event.verb not in _WRITES or event.group in _QUESTIONS:
        return False
    # A dry run succeeds too, and changes nothing.
    return 200 <= event.status < 300 and not event.is_dry


def _is_change(event: transcript.Event) -> bool:
    """Says whether a request changed more of an object than its status."""
    if not is_success(event):
        return False
    if event.verb in {"delete", "deletecollection"}:
        return True
    if event.before is None or event.after is None:
        return False
    # Controllers write statuses all the time, and no agent overwrites those.
    return _content(event.before) != _content(event.after)


def _content(thing: Object) -> tuple[Object, Object]:
    """Returns an object's content, without what changes by itself."""
    own = {name: value for name, value in thing.items() if name not in _NOT_OWN}
    metadata = {name: value for name, value in thing["metadata"].items() if name not in _BY_ITSELF}
    return own, metadata


def _seconds(moment: str) -> float:
    """Returns a time of the log in seconds since the epoch."""
    return datetime.datetime.fromisoformat(moment).timestamp()
