"""Reads kube-apiserver's audit log, with the bodies of writes: it proves who sent what, whatever servers claim.

log = audit.Log(folder)
with server.ControlPlane(log.flags()) as plane:
    ...
    log.writes("somebody")
"""

from __future__ import annotations

import functools
import json
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import yaml

from kubescript_safety.controlplane import server

_WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
_MARKED: Final = "/version"
_SETTLE_SECONDS: Final = 120
_NOISE: Final = ("coordination.k8s.io", "events.k8s.io")
"""Groups that programs write to constantly, and no test needs."""


@dataclass(frozen=True)
class Event:
    """One answered request."""

    audit_id: str
    user: str
    verb: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: Any
    """The body: a patch as it was sent, other bodies as the API server decoded them."""
    status: int
    answer: Any
    received: str
    """When it was received, in microseconds."""

    @functools.cached_property
    def is_dry_run(self) -> bool:
        """Whether the request was a dry run."""
        body = self.body if isinstance(self.body, dict) else {}
        # A deletion's options are in its body.
        if self.verb == "delete" and body.get("dryRun"):
            return True
        # This is the only value that the API server knows.
        return dict(self.query).get("dryRun") == "All"

    @property
    def line(self) -> str:
        """A summary of the request, for messages of failed tests."""
        return f"{self.verb} {self.path} {self.status}"


class Log:
    """The audit log of one API server."""

    def __init__(self, folder: Path, readers: tuple[str, ...] = ()) -> None:
        """The log goes into `folder`; only the reads of `readers` are logged, or everybody's if empty."""
        self._readers = list(readers)
        self.file = folder / "kube-audit.jsonl"
        self._policy = folder / "kube-audit-policy.yaml"

    def flags(self) -> tuple[str, ...]:
        """Returns the flags for a kube-apiserver to write the log."""
        last: dict[str, Any] = {"level": "Metadata"}
        if self._readers:
            last["users"] = self._readers
        # The first rule that fits a request counts.
        rules = [
            {"level": "None", "resources": [{"group": group} for group in _NOISE]},
            {"level": "None", "resources": [{"group": "", "resources": ["events"]}]},
            {"level": "RequestResponse", "verbs": list(_WRITES)},
            {"level": "Metadata", "nonResourceURLs": [_MARKED]},
            last,
        ]
        # Without the stage RequestReceived, each request is one line.
        policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules}
        self._policy.write_text(yaml.safe_dump(policy))
        return f"--audit-policy-file={self._policy}", f"--audit-log-path={self.file}"

    def events(self, user: str = "", namespace: str = "") -> list[Event]:
        """Returns the requests of this user (or of everybody) to this namespace (or to any path), in the order of the
        answers."""
        text = self.file.read_text() if self.file.exists() else ""
        # The last line may be incomplete.
        lines = text[: text.rfind("\n") + 1].splitlines()
        name = f'"username":"{user}"' if user else ""
        path = f"/namespaces/{namespace}/" if namespace else ""
        # Decoding takes most of the time, and most lines belong to other tests.
        likely = [line for line in lines if name in line and path in line]
        found = [_event(json.loads(line)) for line in likely]
        return [event for event in found if user in ("", event.user) and path in event.path]

    def writes(self, user: str = "", namespace: str = "") -> list[Event]:
        """Returns the writes that are not dry runs, filtered in the same way."""
        found = self.events(user, namespace)
        return [event for event in found if event.verb in _WRITES and not event.is_dry_run]

    def settle(self, plane: server.ControlPlane) -> None:
        """Waits until the log contains everything answered before."""
        # A request of our own is recognised by its audit id: its line comes after those of everything that was answered
        # before.
        marker = str(uuid.uuid4())
        written = self.file.stat().st_size if self.file.exists() else 0
        plane.get(_MARKED, {"Audit-ID": marker})
        deadline = time.monotonic() + _SETTLE_SECONDS
        while not self._has(marker.encode(), written):
            assert time.monotonic() < deadline, "the audit log stands still"
            time.sleep(0.02)

    def _has(self, marker: bytes, start: int) -> bool:
        """Says whether the log contains a marker after a place."""
        if not self.file.exists():
            return False
        with self.file.open("rb") as file:
            file.seek(start)
            return marker in file.read()


def _event(raw: dict[str, Any]) -> Event:
    url = urlsplit(raw["requestURI"])
    return Event(
        raw["auditID"],
        raw["user"]["username"],
        raw["verb"],
        url.path,
        tuple(parse_qsl(url.query, keep_blank_values=True)),
        raw.get("requestObject"),
        raw["responseStatus"]["code"],
        raw.get("responseObject"),
        raw["requestReceivedTimestamp"],
    )
