"""A plan as data: the requests that one script wants to send, the effect of each, and the data that is needed to judge
them.

A draft becomes a plan when its script has ended. A plan never changes; its progress is in the store.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, Literal

import msgspec

from kubescript.auth import user
from kubescript.kube import kinds, paths
from kubescript.wire import inspection

__all__ = [
    "Affected", "Author", "Finding", "Identity", "Plan", "Precondition", "Request", "Runbook", "Step", "new_id",
]  # fmt: skip

# Enough bytes that no id can be guessed.
_ID_BYTES: Final = 16
"""How many random bytes a plan's id has."""
_REMOVALS: Final = ("takes ", "not looked at: ")
"""How effects begin that remove objects, or may."""


class Request(msgspec.Struct, frozen=True):
    """One request as it is sent, except for its precondition."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    body: str | None = None
    """The body as canonical JSON."""


class Precondition(msgspec.Struct, frozen=True):
    """The object on which a request was tried. It must still be the same object, with the same content, when the
    request is sent."""

    uid: str
    resource_version: str
    """The version when the plan was made. A later version alone is no reason to refuse the request, since updates of
    the status change the version too."""


class Finding(msgspec.Struct, frozen=True):
    """A rule's finding on a step."""

    rule: str
    """The rule's id: `writes.registry`, `NO_BROAD_PARTIAL_MANIFESTS`."""
    level: Literal["warning", "critical"]
    """A critical finding blocks the plan unless the approver overrides it, with a reason."""
    message: str
    about: str = ""
    """What the finding is about, if its message has numbers that change by themselves: `services/web`."""


class Affected(msgspec.Struct, frozen=True):
    """One effect of a step on other objects, in the form in which it is compared when the plan is applied."""

    what: str
    """The effect, and the kind of the objects: `takes configmaps`."""
    count: int
    """The number of the objects."""
    uids: tuple[str, ...] = ()
    """The objects, except those of a controller, which come and go by themselves."""
    left: int | None = None
    """How many objects are left, of an effect that takes `count` of them, where fewer are worse; otherwise None."""

    @property
    def gone(self) -> str:
        """The kind of the objects if the effect removes them, or may, since they were not looked at; empty for other
        effects."""
        for effect in _REMOVALS:
            if self.what.startswith(effect):
                return self.what.removeprefix(effect)
        return ""


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
    """The object's kind; empty if it is unknown."""
    precondition: Precondition | None = None
    """None: no object of that name may exist."""
    replaces: str = ""
    """The uid of the object that an earlier step deletes to make room for this one."""
    digest: str = ""
    """See `inspection.Changes.digest`."""
    requested: str = ""
    """See `inspection.Changes.requested`."""
    labels: dict[str, str] = {}
    """The labels of the object before the request."""
    replicas: int | msgspec.UnsetType = msgspec.UNSET
    """How many replicas the object has after the request, if it says so. Like the next fields, it is not encoded where
    there is nothing to say, so that plans of older servers keep their hash."""
    counts: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """The numbers of pods that the request sets, as JSON text: of replicas, or the bounds of an autoscaler."""
    images: tuple[str, ...] = ()
    """The images of the object's containers before the request."""
    new_images: tuple[str, ...] = ()
    """The images that its containers get from the request."""
    pods: inspection.Pods | None = None
    """What the object says about pods before the request; None if nothing."""
    new_pods: inspection.Pods | None = None
    """What it says about them after the request; None if nothing, and for a removal."""
    state: inspection.State | None = None
    """The object's state before the request; None if it is unknown."""
    orphans: bool | None = None
    """What its finalizers say about its dependents. See `inspection.Facts.orphans`."""
    new_taints: tuple[inspection.Taint, ...] | msgspec.UnsetType = msgspec.UNSET
    """The taints that a node gets from the request."""
    rows: tuple[inspection.Row, ...] = ()
    warnings: tuple[str, ...] = ()
    """The API server's warnings, masked."""
    findings: tuple[Finding, ...] = ()
    effects: tuple[str, ...] = ()
    """The effects on other objects, one line each."""
    affected: tuple[Affected, ...] = ()
    """Those effects that stop the plan if there are more of them when it is applied."""
    undo: Request | None = None
    """The request that restores the object; None if impossible."""

    @property
    def removes(self) -> bool:
        """Whether the step removes its object."""
        return self.verb == "delete" or self.subresource == "eviction"

    @property
    def reach(self) -> str | None:
        """The namespace in which the step changes something; empty outside namespaces, and None if that may be any."""
        # Attack: all objects of a kind go with their definition, wherever they are; a node's taint evicts pods.
        is_anywhere = not self.namespace and (self.removes or bool(self.evicting))
        return None if is_anywhere else self.namespace

    @property
    def evicting(self) -> tuple[inspection.Taint, ...]:
        """The taints that a node gets from the step and that evict pods."""
        return tuple(taint for taint in self.new_taints or () if taint.effect == "NoExecute")

    @property
    def is_namespace(self) -> bool:
        """Whether the step is about a namespace itself, which counts as inside itself."""
        return kinds.is_namespace(self.group, self.resource)

    @property
    def key(self) -> paths.Key:
        """Identifies the object: for an eviction this is the pod, and for a scaling the Deployment."""
        return self.group, self.resource, self.namespace, self.name

    @property
    def full_resource(self) -> str:
        """`deployments.apps/scale`: what the request is for, as the operator's settings name it."""
        resource = kinds.full_name(self.group, self.resource)
        return f"{resource}/{self.subresource}" if self.subresource else resource

    @property
    def target(self) -> str:
        """`deployments.apps/scale shop/web`: the target of the step."""
        name = self.name
        if self.namespace and not self.is_namespace:
            name = f"{self.namespace}/{name}"
        return f"{self.full_resource} {name}"

    @property
    def rows_size(self) -> int:
        """The number of characters in the step's rows: how much a person has to read."""
        size = 0
        for row in self.rows:
            size += len(row.path) + len(row.old or "") + len(row.new or "")
        return size

    @property
    def what(self) -> str:
        """`patch deployments.apps shop/web`: the step in a sentence."""
        return f"{self.verb} {self.target}"


class Identity(msgspec.Struct, frozen=True):
    """A plan's author, for whom someone has vouched: what decides about the author's rights when the plan is
    applied."""

    name: str
    issuer: str
    """Who vouched for the author. See `user.User.issuer`."""
    subject: str
    groups: tuple[str, ...]
    scopes: tuple[str, ...]
    """Those scopes of the author's token that are among `asked`."""
    asked: tuple[str, ...]
    """The scopes on which a caller's rights depended."""
    acts_as: Literal["server", "caller", "impersonate"]
    """Who acts on the cluster. See `config.Settings.acts_as`."""

    @property
    def caller(self) -> user.User:
        """The author as a caller."""
        return user.User(self.name, self.issuer, self.subject, self.groups, frozenset(self.scopes))

    def is_same_person(self, other: Identity) -> bool:
        """Says whether approvals count both as one person: those of one name, whoever vouches for it, or of one account
        (see `user.User.account`)."""
        # Attack: where two people must approve, one person approves by two ways of authentication, or under a second
        # name of the same account.
        account = self.caller.account
        is_same_account = bool(account) and account == other.caller.account
        return is_same_account or self.name == other.name


class Author(msgspec.Struct, frozen=True):
    """The author of a plan."""

    user: str
    """The user that the server knows: over stdio, the operating system's user; empty if no identity is proven."""
    session: str = ""
    client: str = ""
    tool: str = ""
    identity: Identity | msgspec.UnsetType = msgspec.UNSET
    """The author, if authenticated. Otherwise it is not encoded, so that plans of older servers keep their hash."""

    @property
    def person(self) -> str:
        """A string that identifies the person; empty if the author is not authenticated. See `user.User.person`."""
        return self.identity.caller.person if self.identity else ""

    @property
    def principal(self) -> str:
        """A string that identifies the person with the rights of this plan's call; empty if the author is not
        authenticated. See `user.User.key`."""
        return self.identity.caller.key if self.identity else ""

    @property
    def account(self) -> str:
        """A string that identifies the person under any name; empty if that is unknown. See `user.User.account`."""
        return self.identity.caller.account if self.identity else ""

    @property
    def is_sender(self) -> bool:
        """Whether the plan is sent in the author's name, rather than in the server's."""
        return self.identity is not msgspec.UNSET and self.identity.acts_as != "server"

    @property
    def brings_token(self) -> bool:
        """Whether the plan is sent with the author's own token, which only the author's calls have."""
        return self.identity is not msgspec.UNSET and self.identity.acts_as == "caller"


class Runbook(msgspec.Struct, frozen=True):
    """One call of a runbook."""

    name: str
    sha256: str = ""
    """Of the bytes that ran, in hexadecimal."""
    arguments: dict[str, str | int | bool] = {}
    """All of its arguments, with the defaults of those that were not given."""


class Plan(msgspec.Struct, frozen=True):
    """One script's intended changes in one cluster."""

    id: str
    author: Author
    context: str
    """The cluster's name among the operator's contexts; empty if there is only one."""
    cluster: str
    """Identifies the cluster, see `writer.Writer.identify`."""
    script: str
    """The SHA-256 of the script."""
    policy: str
    """The SHA-256 of all settings for writes."""
    steps: tuple[Step, ...]
    reads: tuple[str, ...]
    """The script's reads before its decision: `list pods in namespace shop`."""
    created: float
    """When the plan was made, in seconds since the epoch."""
    expires: float
    place: str = ""
    """The cluster's identity for people: its name, and the API server's address."""
    audit: str = ""
    """The id of the audit record that has the plan; empty if there is none. All that becomes of the plan is there."""
    audit_place: str = ""
    """The audit record's file, for people: `host:/path`."""
    flags: str = ""
    """The flags with which a command finds the plan's server, quoted for a shell and preceded by a space."""
    approvals: int = 1
    """How many people must approve the plan. If there are several, its author cannot be one of them."""
    runbook: Runbook | msgspec.UnsetType = msgspec.UNSET
    """The one call of a runbook that has made all of the plan; not encoded if anything in it is the script's own."""

    @property
    def hash(self) -> str:
        """The SHA-256, in hexadecimal, of everything that an approval covers: the requests, their preconditions, what
        was shown of them, the cluster, the policy, the script and the audit record."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()

    @property
    def manager(self) -> str:
        """The field manager of the objects that the plan creates, by which any server knows them for the plan's own."""
        return f"kubescript-{self.hash[:32]}"

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
