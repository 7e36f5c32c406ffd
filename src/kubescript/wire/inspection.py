"""Questions to the masking process about objects, and its answers: what may pass of an object, what a write changes.

The questions travel in the `program` of a body (kubescript_masking/wire/masking.py). The process reads hostile bytes,
so the host treats its answers as hostile too.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from kubescript_sandbox.wire import protocol

__all__ = [
    "MAX_CHANGES",
    "MAX_ROWS",
    "MAX_UNDO",
    "NOT_SERVED",
    "RISKS",
    "Changes",
    "Comparison",
    "Expression",
    "Facts",
    "Metadata",
    "Namespaces",
    "Objection",
    "Order",
    "Pods",
    "Row",
    "Settings",
    "State",
    "Strategy",
    "Taint",
    "Taken",
    "UserInfo",
]

MAX_ROWS: Final = 20_000
"""How many fields one write may change."""
MAX_CHANGES: Final = 8 * protocol.MIB
"""The maximum size of a `Changes` as JSON, in bytes."""
MAX_UNDO: Final = 256 * protocol.KIB
"""The maximum number of characters of the `undo` patch in a `Changes`."""

NOT_SERVED: Final = "not-served"
"""The kind of the mask in place of a Secret's values where only its keys may pass."""


class Expression(msgspec.Struct, frozen=True):
    """One of the operator's rules about changes, in CEL: true permits the change."""

    id: str
    expression: str
    """An expression over `object`, `oldObject` and `request`, as in a ValidatingAdmissionPolicy."""
    message: str = ""


class Settings(msgspec.Struct, frozen=True):
    """Settings that the inspector gets at its start."""

    expressions: tuple[Expression, ...] = ()
    """The operator's own rules about changes."""


class Metadata(msgspec.Struct, frozen=True):
    """The type of objects of which only a part may pass: the metadata, and with `keys` what of a Secret is no value."""

    kind: str = ""
    """Empty when unknown."""
    api_version: str = ""
    keys: bool = False
    """Whether a Secret's type and the names of its keys may pass too."""


class Namespaces(msgspec.Struct, frozen=True):
    """Which Namespaces of a list or watch may pass: those that a pattern and both selectors match."""

    patterns: tuple[str, ...]
    label_selector: str = ""
    field_selector: str = ""


class UserInfo(msgspec.Struct, frozen=True):
    """A user, as an AdmissionReview names one."""

    username: str
    groups: tuple[str, ...] = ()


class Comparison(msgspec.Struct, frozen=True):
    """A description of four documents in one body: the object now, the object after the API server's dry run, the Scale
    now, and the request's body. The first three may be empty. After the dry run of a scaling, the object is a Scale."""

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
    """Whether the request is a server-side apply, which also removes fields that it no longer names."""
    manager: str = ""
    """The request's field manager; empty if it names none."""
    masked: bool = True
    """Whether values are masked. The operator may have turned masking off."""
    scale: int = 0
    """Bytes of the third document, which only a scaling of a custom resource has."""
    user: UserInfo | None = None
    """The user who makes the change, if authenticated."""


class Order(msgspec.Struct, frozen=True):
    """The question about one body."""

    metadata: Metadata | None = None
    """Set when only a part of its objects may pass; with `echo`, the body is an error."""
    namespaces: Namespaces | None = None
    """Set when only some of the Namespaces of a list or watch may pass."""
    release: Literal["", "brief", "whole"] = ""
    """Set for one revision of a Helm release, unless only its metadata may pass: how much of it may."""
    comparison: Comparison | None = None
    """Set when the answer is a `Changes` as JSON, not the masked body."""


class Row(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One field that a change adds, changes or removes. Values are JSON text, masked."""

    path: str
    """`spec.template.spec.containers[web].image`. List items appear by name, or as `[containerPort=80]`, where the key
    is unique, and else by index. Text beyond plain ASCII is quoted, with JSON's escapes. The row of a list itself gives
    the order of its items."""
    old: str | None = None
    """None: the field did not exist."""
    new: str | None = None
    """None: the field is removed."""
    by_server: bool = False
    """Whether the request does not name the field: a default, or an admission plugin's change."""
    masked: bool = False
    """Whether a mask replaces part of a value."""
    hidden_bytes: int = 0
    """Bytes of new text that masks hide: in the new value or, of a new field, in the path. Text that the same field hid
    before is not new."""
    hidden_lines: int = 0
    """The number of lines of that text."""
    brought: int | None = None
    """The new value's position in `body_texts.list_values` of the request's body, if its new text is hidden and the
    request itself contains it. For a Secret's value from `stringData`, that of its plain text."""


class State(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An object's state, as far as rules about removals need it. None: unknown, or the kind has no such state."""

    running: bool | None = None
    """Whether removing the object interrupts something: a running pod, a workload with ready replicas, an unfinished
    Job, a bound claim."""
    healthy: bool | None = None
    """Whether the object is in its desired state."""
    terminating: bool = False
    """Whether the object is already being deleted."""
    owner: str = ""
    """The object's controller: `ReplicaSet/web-7d4b9c6f5`."""


Strategy = Literal["", "OnDelete", "Recreate", "RollingUpdate"]
"""How a workload replaces its pods when their template changes. The empty string: not at all."""


class Pods(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an object says about pods: the pods that it makes, those that it selects, or itself."""

    labels: dict[str, str] = {}
    """The labels of the pods that it makes; those of a pod itself."""
    selector: str = ""
    """The label selector, as in queries, of the pods that belong to it, or of a Service's endpoints. Empty: none."""
    takes_unready: bool = False
    """Whether pods that are not ready are endpoints of this Service."""
    references: tuple[str, ...] = ()
    """The objects of its namespace to which its pods refer: `configmaps/settings`."""
    count: int | None = None
    """How many pods it should have; None if it does not say."""
    replaced: int = 0
    """How many pods a new template replaces."""
    unavailable: int = 0
    """How many of them may be missing at a time."""
    strategy: Strategy = ""
    paused: bool = False
    """Whether no pod is replaced for now."""
    placement: str = ""
    """A digest of what decides on which nodes the pods of a DaemonSet are."""
    first: int = 0
    """The number of the first pod of a StatefulSet."""
    deletes_claims: bool = False
    """Whether the claims of pods that it stops are deleted."""


class Taint(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A taint of a node."""

    key: str
    value: str = ""
    effect: str = ""


class Facts(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Properties of an object that preconditions and rules need."""

    uid: str = ""
    resource_version: str = ""
    digest: str = ""
    """SHA-256 of its content: without status, managedFields, resourceVersion and generation, in canonical JSON."""
    labels: dict[str, str] = {}
    replicas: int | None = None
    images: tuple[str, ...] = ()
    """Images of all its containers and volumes, sorted and unique."""
    state: State | None = None
    pods: Pods | None = None
    """None: the kind makes and selects no pods."""
    is_managed: bool | None = None
    """Whether the request's field manager has written fields of it; None if nobody has, as of an object that has only a
    name."""
    orphans: bool | None = None
    """Whether its finalizers spare its dependents, or end them too, where a deletion does not say; None: neither."""
    taints: tuple[Taint, ...] = ()
    """Of a node, its taints."""


class Objection(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One of the operator's rules that a change violates."""

    rule: str
    message: str


class Taken(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The fields that an apply takes from one other manager."""

    manager: str
    fields: tuple[str, ...]
    """Paths, as in `Row.path`; not all of them if there are many."""
    count: int
    """The number of fields, whether they are listed or not."""


class Changes(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The effect of a request."""

    before: Facts | None = None
    """None: the object does not exist yet."""
    after: Facts | None = None
    """None: the object is removed."""
    rows: tuple[Row, ...] = ()
    digest: str = ""
    """SHA-256 of the object's uid and all changes, old and new values, unmasked, except addresses and ports that the
    API server allots; for a deletion, of the uid and the object's content. An equal digest means that the request still
    does what was shown."""
    requested: str = ""
    """Likewise, but only of changes that the request names; identifies an object that the request created."""
    undo: str = ""
    """A JSON patch that reverses the changes; empty where none exists, or where it would reveal masked values."""
    risks: tuple[str, ...] = ()
    """The `RISKS` that the request introduces, sorted."""
    binds: str = ""
    """The Role that the request gives to new subjects. Whether its rules lead further is a risk that is not in
    `risks`."""
    objections: tuple[Objection, ...] = ()
    taken: tuple[Taken, ...] = ()


RISKS: Final = (
    "escalation", "finalizers", "hostIPC", "hostNetwork", "hostPID", "hostPath", "node", "ownerReferences",
    "privileged", "serviceAccount",
)  # fmt: skip
"""Changes that rules name: removed finalizers, changed owners or service accounts, new demands of a pod on its node,
rights that lead to more than they say, and of a node more than its labels, annotations, taints and `unschedulable`."""
