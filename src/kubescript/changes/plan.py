"""A plan as data: the requests that one script wants to send, what each would change, and what is needed to judge them.

A draft becomes a plan when its script has ended. A plan never changes; what becomes of it is in the store.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, Literal

import msgspec

from kubescript.kube import kinds, paths
from kubescript.wire import inspection

__all__ = ["Author", "Finding", "Plan", "Precondition", "Request", "Step", "new_id"]

_ID_BYTES: Final = 16
"""Random bytes of a plan's id: who knows it has been told it."""


class Request(msgspec.Struct, frozen=True):
    """One request, as it is sent but for its precondition."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    body: str | None = None
    """Canonical JSON."""


class Precondition(msgspec.Struct, frozen=True):
    """The object that a request was tried on. It must still be that one, with the same content, when it is sent."""

    uid: str
    resource_version: str
    """As it was when the plan was made. Another one is no reason to refuse, since a status changes it too."""


class Finding(msgspec.Struct, frozen=True):
    """What a rule says of a step."""

    rule: str
    """The rule's id: `writes.registry`, `NO_BROAD_PARTIAL_MANIFESTS`."""
    level: Literal["warning", "critical"]
    """A critical finding refuses the plan unless the approver overrides it, with a reason."""
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
    """Empty when it is not known."""
    precondition: Precondition | None = None
    """None: there must be no object of that name."""
    digest: str = ""
    """See `masking.Changes.digest`."""
    requested: str = ""
    """See `masking.Changes.requested`."""
    labels: dict[str, str] = {}
    """Of the object before the request."""
    images: tuple[str, ...] = ()
    """Likewise: those of its containers."""
    state: inspection.State | None = None
    """Likewise; None where it is not known."""
    rows: tuple[inspection.Row, ...] = ()
    warnings: tuple[str, ...] = ()
    """Of the API server, masked."""
    findings: tuple[Finding, ...] = ()
    dependents: tuple[str, ...] = ()
    """What a deletion takes with it, or leaves without; one line each."""
    undo: Request | None = None
    """What brings the object back as it was; None where nothing does."""

    @property
    def removes(self) -> bool:
        """Whether it removes its object."""
        return self.verb == "delete" or self.subresource == "eviction"

    @property
    def key(self) -> paths.Key:
        """What tells its object from all others: a pod is the same one when it is evicted, a deployment when it is
        scaled."""
        return self.group, self.resource, self.namespace, self.name

    @property
    def target(self) -> str:
        """`deployments.apps/scale shop/web`: what the step is about."""
        resource = kinds.full_name(self.group, self.resource)
        below = f"/{self.subresource}" if self.subresource else ""
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{resource}{below} {where}{self.name}"


class Author(msgspec.Struct, frozen=True):
    """Who asked for a plan."""

    user: str
    """Whom the server knows to ask: the operating system's user over stdio; empty where no identity is proven."""
    session: str = ""
    client: str = ""
    tool: str = ""


class Plan(msgspec.Struct, frozen=True):
    """What one script wants to change in one cluster."""

    id: str
    author: Author
    context: str
    """The cluster's name among the operator's contexts; empty where there is one."""
    cluster: str
    """What tells this cluster from all others: the uid of its namespace kube-system, or where that may not be
    read the API server's address and a digest of its CA."""
    script: str
    """SHA-256 of the script."""
    policy: str
    """SHA-256 of all settings that decide about writes."""
    steps: tuple[Step, ...]
    reads: tuple[str, ...]
    """What the script read to decide: `list pods in namespace shop`."""
    created: float
    """Seconds since the epoch."""
    expires: float
    place: str = ""
    """What a person knows the cluster by: its name, and the API server's address."""
    approvals: int = 1
    """People who must approve it. With more than one, its author is none of them."""

    @property
    def hash(self) -> str:
        """SHA-256 over all that an approval is for, in hexadecimal: requests, preconditions, what was shown of them,
        cluster, policy and script."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()

    @property
    def critical(self) -> tuple[Finding, ...]:
        """The findings that an approver must override, with a reason."""
        return tuple(finding for step in self.steps for finding in step.findings if finding.level == "critical")


def new_id() -> str:
    """Returns an id that cannot be guessed."""
    return "p-" + secrets.token_hex(_ID_BYTES)
