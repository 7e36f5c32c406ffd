"""What scripts may change, and how plans of changes are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from kubescript.config import section

__all__ = ["Approvals", "Expression", "Plans", "WritePolicy"]


class Approvals(section.Section):
    """How many people must approve a plan."""

    namespaces: Annotated[tuple[str, ...], Field(min_length=1)]
    """The rule is for plans that change something in one of these; `prod-*` matches, `*` matches all."""
    count: Annotated[int, Field(ge=1, le=10)]
    """With more than one, the plan's author is none of them."""


class Expression(section.Section):
    """A rule in CEL, as in a ValidatingAdmissionPolicy: true means that a change may be made."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,58}[a-z0-9])?$")]
    """The rule's name; decisions call it `writes.expressions.<id>`."""
    expression: Annotated[str, Field(min_length=1, max_length=10_000)]
    """Over `object`, `oldObject` and `request`. Where it cannot be evaluated, it counts as false."""
    resources: tuple[str, ...] = ()
    """What it is about: `deployments.apps`, `pods`. `deployments.apps/scale` is a resource of its own. Default: all."""
    operations: tuple[Literal["CREATE", "UPDATE", "DELETE"], ...] = ("CREATE", "UPDATE")
    """What it is about. In a DELETE, `object` is null; an eviction is a DELETE of its pod."""
    message: Annotated[str, Field(max_length=300)] = ""
    """What is said when it is false; default: the expression."""
    action: Literal["deny", "warn"] = "deny"
    """Refuse the change, or show the message to the person who approves it."""


class WritePolicy(section.Section):
    """What may be changed where `writes` permits changes at all (docs/write.md)."""

    namespaces: tuple[str, ...] = ()
    """The only namespaces in which anything may be changed; `shop-*` matches. Then objects without a namespace may be
    changed only if "" is listed. Default: all."""
    verbs: Mapping[str, tuple[Literal["create", "update", "patch", "delete"], ...]] = {}
    """The only changes that are permitted: `{"deployments.apps" = ["patch"], "*" = []}`. A resource includes its
    subresources, unless there is an entry such as "deployments.apps/scale". An eviction deletes a pod. Default: all."""
    targets: str = ""
    """A label selector that an object must match to be changed: `track!=canary`. Default: all."""
    replicas: Annotated[tuple[int, ...], Field(min_length=2, max_length=2)] = (0, 100)
    """The smallest and the largest number of replicas that may be set, also of a HorizontalPodAutoscaler."""
    registries: tuple[str, ...] = ()
    """Where images may come from: `registry.example.com/team`, `docker.io/library`. Default: anywhere."""
    permit: tuple[str, ...] = ()
    """Ids of built-in rules that are lifted: `writes.secrets`, `writes.host_path`."""
    objects: Annotated[int, Field(ge=1, le=1_000)] = 50
    """Requests of one plan."""
    per_minute: Annotated[int, Field(ge=1, le=10_000)] = 120
    """Writes that one session may try in a minute. All clients without a session, over HTTP, count as one."""
    approvals: tuple[Approvals, ...] = ()
    """Where one approval is not enough. Of several rules the highest number counts."""
    expressions: tuple[Expression, ...] = ()
    """The operator's own rules."""


class Plans(section.Section):
    """Plans of writes (docs/write.md)."""

    store: str = ""
    """Where plans are kept: a file for SQLite, or the URL of a PostgreSQL database that several replicas share.
    Default: `kubescript/plans.db` in the user's state directory."""
    expires_s: Annotated[int, Field(ge=10, le=86_400)] = 900
    """Seconds after which a plan can no longer be approved or applied."""
    ask_s: Annotated[int, Field(ge=1, le=3_600)] = 300
    """Seconds that a call of a tool waits for the person whom the client asks."""
    follow_s: Annotated[int, Field(ge=0, le=1_800)] = 50
    """Seconds for which the rollouts of an applied plan are followed. Many clients give a call a minute."""
    page: bool = True
    """Serve a page on which plans are approved; over stdio on a port of the loopback interface, from the first plan
    on."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """That port; 0: any that is free."""
