"""What the masking process is asked and answers about objects: what may pass of one, and what a write changes.

It is asked by the `program` of a body (kubescript_masking/wire/masking.py). It reads hostile bytes, so the host treats
its answers as hostile too.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from kubescript_sandbox.wire import protocol

__all__ = [
    "MAX_CHANGES",
    "MAX_ROWS",
    "MAX_UNDO",
    "RISKS",
    "Changes",
    "Comparison",
    "Expression",
    "Facts",
    "Metadata",
    "Objection",
    "Order",
    "Row",
    "Settings",
    "State",
    "UserInfo",
]

MAX_ROWS: Final = 20_000
"""Fields that one write may change."""
MAX_CHANGES: Final = 8 * protocol.MIB
"""Bytes of a `Changes` as JSON."""
MAX_UNDO: Final = 256 * protocol.KIB
"""Characters of the patch in it that would take the write back."""


class Expression(msgspec.Struct, frozen=True):
    """A rule of the operator's about changes, in CEL: true means that the change may be made."""

    id: str
    expression: str
    """Over `object`, `oldObject` and `request`, as in a ValidatingAdmissionPolicy."""
    message: str = ""


class Settings(msgspec.Struct, frozen=True):
    """What it is told at its start."""

    expressions: tuple[Expression, ...] = ()
    """The operator's own rules about changes."""


class Metadata(msgspec.Struct, frozen=True):
    """What has to be known of objects of which only the metadata may pass."""

    kind: str = ""
    """Empty when it is not known."""
    api_version: str = ""


class UserInfo(msgspec.Struct, frozen=True):
    """A user, as an AdmissionReview names one."""

    username: str
    groups: tuple[str, ...] = ()


class Comparison(msgspec.Struct, frozen=True):
    """What has to be known of three documents that come as one body: an object as it is, as the API server's dry run
    would leave it, and the body of the request. The first two may be empty."""

    before: int
    """Bytes of the first document."""
    after: int
    """Bytes of the second document."""
    verb: str
    """create, update, patch or delete; an eviction is a delete."""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    apply: bool = False
    """Whether the request is a server-side apply, which also takes away what it no longer names."""
    masked: bool = True
    """Whether values are masked. The operator may have decided otherwise."""
    user: UserInfo | None = None
    """Who makes the change, where that is proven."""


class Order(msgspec.Struct, frozen=True):
    """What is asked about one body."""

    metadata: Metadata | None = None
    """Set when only the metadata of its objects may pass; with `echo` it is the body of an error."""
    release: Literal["", "brief", "whole"] = ""
    """Set when it holds one revision of a Helm release, of which `metadata` is not all that may pass: how much is."""
    comparison: Comparison | None = None
    """Set when the answer is not the masked body, but a `Changes` as JSON."""


class Row(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One field that a change adds, changes or removes. Values are JSON text, masked."""

    path: str
    """`spec.template.spec.containers[web].image`: items of a list by their name, or as `[containerPort=80]`, where each
    has one of its own, and by their place elsewhere. What is not plain ASCII stands in quotes, with JSON's escapes. The
    row of a list itself tells the order of its items."""
    old: str | None = None
    """None: the field was not there."""
    new: str | None = None
    """None: the field goes away."""
    by_server: bool = False
    """Whether the request does not name it: a default, or the work of an admission plugin."""
    masked: bool = False
    """Whether a mask stands for a part of a value."""


class State(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an object does, so far as rules about its removal need it. None: that is not known, or its kind has no such
    state."""

    running: bool | None = None
    """Whether it does something that ends with it: a pod that runs, a workload of which replicas are ready, a Job that
    is not finished, a claim that is bound."""
    healthy: bool | None = None
    """Whether it is as it should be."""
    terminating: bool = False
    """Whether it is being deleted already."""
    owner: str = ""
    """Its controller: `ReplicaSet/web-7d4b9c6f5`."""


class Facts(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an object is, so far as preconditions and rules need it."""

    uid: str = ""
    resource_version: str = ""
    digest: str = ""
    """SHA-256 of its content: without status, managedFields, resourceVersion and generation, in canonical JSON."""
    labels: dict[str, str] = {}
    replicas: int | None = None
    images: tuple[str, ...] = ()
    """Of all its containers and volumes, sorted, each once."""
    state: State | None = None


class Objection(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A rule of the operator's that does not hold for a change."""

    rule: str
    message: str


class Changes(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a request would change."""

    before: Facts | None = None
    """None: there is no object yet."""
    after: Facts | None = None
    """None: there is none any more."""
    rows: tuple[Row, ...] = ()
    digest: str = ""
    """SHA-256 of the object's uid and of all that changes, from what to what, unmasked, but for addresses and ports
    that the API server allots; of a deletion: of the uid and the object's content. The same again means that the
    request still does what was shown."""
    requested: str = ""
    """Likewise of that alone which the request names: an object that it has made is known by it."""
    undo: str = ""
    """A JSON patch that takes back what changes; empty where there is none, or where it would tell what is masked."""
    risks: tuple[str, ...] = ()
    """What of `RISKS` it newly has, sorted."""
    objections: tuple[Objection, ...] = ()


RISKS: Final = (
    "finalizers", "hostIPC", "hostNetwork", "hostPID", "hostPath", "ownerReferences", "privileged", "serviceAccount",
)  # fmt: skip
"""Changes that rules name: finalizers that are removed, owners or a service account that change, and what a pod newly
asks of its node."""
