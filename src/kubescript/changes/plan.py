"""A plan as data: the requests that one script wants to send, the effect of each, and the data needed to judge them.

A draft becomes a plan when its script has ended. A plan never changes; its progress is in the store.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, Literal

import msgspec

from kubescript.kube import kinds, paths
from kubescript.wire import inspection

__all__ = ["Author", "Finding", "Plan", "Precondition", "Request", "Step", "new_id"]

# So many that no id can be guessed.
_ID_BYTES: Final = 16
"""Random bytes of a plan's id."""


class Request(msgspec.Struct, frozen=True):
    """One request, as sent except for its precondition."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    body: str | None = None
    """Canonical JSON."""


class Precondition(msgspec.Struct, frozen=True):
    """The object that a request was tried on. It must still be the same one, with the same content, when the request is
    sent."""

    uid: str
    resource_version: str
    """The version when the plan was made. A later version alone is no reason to refuse, since status updates change it
    too."""


class Finding(msgspec.Struct, frozen=True):
    """A rule's finding on a step."""

    rule: str
    """The rule's id: `writes.registry`, `NO_BROAD_PARTIAL_MANIFESTS`."""
    level: Literal["warning", "critical"]
    """A critical finding blocks the plan unless the approver overrides it, with a reason."""
    message: str


class Step(msgspec.Struct, frozen=True):
    """One request of a plan."""

    request: Request
    verb: str
    """create, update, patch or delete; an eviction is a create of pods/eviction."""
    group: str
    version: str
    resource: str
    subresource: str
    namespace: str
    name: str
    kind: str = ""
    """Empty when unknown."""
    precondition: Precondition | None = None
    """None: no object of that name may exist."""
    digest: str = ""
    """See `inspection.Changes.digest`."""
    requested: str = ""
    """See `inspection.Changes.requested`."""
    labels: dict[str, str] = {}
    """Labels of the object before the request."""
    images: tuple[str, ...] = ()
    """Likewise: the images of its containers."""
    state: inspection.State | None = None
    """Likewise; None when unknown."""
    rows: tuple[inspection.Row, ...] = ()
    warnings: tuple[str, ...] = ()
    """From the API server, masked."""
    findings: tuple[Finding, ...] = ()
    dependents: tuple[str, ...] = ()
    """Effects of a deletion on other objects, one line each."""
    undo: Request | None = None
    """The request that restores the object; None if impossible."""

    @property
    def removes(self) -> bool:
        """Whether it removes its object."""
        return self.verb == "delete" or self.subresource == "eviction"

    @property
    def key(self) -> paths.Key:
        """Identifies the object: an evicted pod or a scaled deployment is the same object."""
        return self.group, self.resource, self.namespace, self.name

    @property
    def target(self) -> str:
        """`deployments.apps/scale shop/web`: the target of the step."""
        resource = kinds.full_name(self.group, self.resource)
        if self.subresource:
            resource += f"/{self.subresource}"
        name = self.name
        if self.namespace:
            name = f"{self.namespace}/{name}"
        return f"{resource} {name}"

    @property
    def rows_size(self) -> int:
        """Characters of its rows: the amount that a person has to read."""
        size = 0
        for row in self.rows:
            size += len(row.path) + len(row.old or "") + len(row.new or "")
        return size

    @property
    def what(self) -> str:
        """`patch deployments.apps shop/web`: the step in a sentence."""
        return f"{self.verb} {self.target}"


class Author(msgspec.Struct, frozen=True):
    """The author of a plan."""

    user: str
    """The user known to the server: the operating system's over stdio; empty without a proven identity."""
    session: str = ""
    client: str = ""
    tool: str = ""


class Plan(msgspec.Struct, frozen=True):
    """One script's intended changes in one cluster."""

    id: str
    author: Author
    context: str
    """The cluster's name among the operator's contexts; empty if there is only one."""
    cluster: str
    """Identifies the cluster: the uid of its namespace kube-system, or if that may not be read, the API server's
    address and a digest of its CA."""
    script: str
    """SHA-256 of the script."""
    policy: str
    """SHA-256 of all settings for writes."""
    steps: tuple[Step, ...]
    reads: tuple[str, ...]
    """The script's reads before its decision: `list pods in namespace shop`."""
    created: float
    """Seconds since the epoch."""
    expires: float
    place: str = ""
    """The cluster's identity for people: its name, and the API server's address."""
    approvals: int = 1
    """People who must approve it. With more than one, its author cannot be among them."""

    @property
    def hash(self) -> str:
        """SHA-256 in hexadecimal of everything that an approval covers: requests, preconditions, what was shown of
        them, cluster, policy and script."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()

    @property
    def critical(self) -> tuple[Finding, ...]:
        """The findings that an approver must override, with a reason."""
        critical: list[Finding] = []
        for step in self.steps:
            critical += [finding for finding in step.findings if finding.level == "critical"]
        return tuple(critical)


def new_id() -> str:
    """Returns an id that cannot be guessed."""
    return "p-" + secrets.token_hex(_ID_BYTES)
