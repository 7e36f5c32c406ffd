"""The settings for the changes that scripts may make, and for plans of changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from kubescript.config import section

__all__ = ["Approvals", "Expression", "Level", "Login", "NoticeFormat", "Notify", "Plans", "WritePolicy"]

Level = Literal["refuse", "critical", "warn", "allow"]
"""What becomes of a write that a rule covers: it is refused; the person who approves it must override the rule by name
and give a reason; the person reads a warning; nothing."""


class Approvals(section.Section):
    """How many people must approve a plan."""

    namespaces: Annotated[tuple[str, ...], Field(min_length=1)]
    """The namespaces to which the rule applies if a plan changes something there; `prod-*` is a pattern, `*` matches
    all."""
    count: Annotated[int, Field(ge=1, le=10)]
    """The number of approvals; if more than one, the plan's author cannot give any."""


class Expression(section.Section):
    """A rule in CEL, as in a ValidatingAdmissionPolicy: true permits a change."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,58}[a-z0-9])?$")]
    """The rule's name; decisions call it `writes.expressions.<id>`."""
    expression: Annotated[str, Field(min_length=1, max_length=10_000)]
    """A CEL expression over `object`, `oldObject` and `request`. If it cannot be evaluated, it counts as false."""
    resources: tuple[str, ...] = ()
    """The resources to which it applies: `deployments.apps`, `pods`. `deployments.apps/scale` is a separate resource.
    Default: all."""
    operations: tuple[Literal["CREATE", "UPDATE", "DELETE"], ...] = ("CREATE", "UPDATE")
    """The operations to which it applies. In a DELETE, `object` is null; an eviction is a DELETE of its pod."""
    message: Annotated[str, Field(max_length=300)] = ""
    """The message if it is false. Default: the expression."""
    action: Literal["deny", "critical", "warn"] = "deny"
    """Whether to refuse the change, or show the message to the person who approves it; if critical, that person must
    override the rule by name and give a reason."""


class WritePolicy(section.Section):
    """The changes that are permitted where `writes` permits changes at all (docs/write.md)."""

    namespaces: tuple[str, ...] = ()
    """The only namespaces in which anything may be changed; `shop-*` is a pattern. A namespace itself counts as inside
    itself. Other objects without one may then be changed only if "" is listed. Default: all."""
    verbs: Mapping[str, tuple[Literal["create", "update", "patch", "delete"], ...]] = {}
    """The only changes that are permitted: `{"deployments.apps" = ["patch"], "*" = []}`. A resource includes its
    subresources, unless there is an entry such as "deployments.apps/scale". An eviction deletes a pod. Default: all."""
    targets: str = ""
    """A label selector that an object must match to be changed: `track!=canary`. Default: all."""
    replicas: Annotated[tuple[int, ...], Field(min_length=2, max_length=2)] = (0, 100)
    """The smallest and the largest number of replicas that may be set, including those of a HorizontalPodAutoscaler."""
    registries: tuple[str, ...] = ()
    """The registries from which images may come: `registry.example.com/team`, `docker.io/library`. Default: any."""
    levels: Mapping[str, Level] = {}
    """The levels of built-in rules by their ids: `{"writes.nodes" = "allow"}`. Where no person reads the findings of a
    write (`direct`, and `approval = "argument"`), every level but `allow` refuses it. Default: docs/write.md."""
    objects: Annotated[int, Field(ge=1, le=1_000)] = 50
    """Maximum requests of one plan."""
    per_minute: Annotated[int, Field(ge=1, le=10_000)] = 120
    """Writes that one session may attempt per minute. All HTTP clients without a session count as one."""
    approvals: tuple[Approvals, ...] = ()
    """Plans that need more than one approval. If several rules match, the highest number counts."""
    expressions: tuple[Expression, ...] = ()
    """The operator's own rules."""


class Login(section.Section):
    """The client of `auth.issuer` by which people log in to the page. Its redirect URI is the page's address with
    `/callback`: `https://kubescript.example.com/approvals/callback`."""

    client_id: Annotated[str, Field(min_length=1)]
    """The client ID. The ID tokens must be for it."""
    client_secret_file: section.UserPath | None = None
    """A file with the client's secret. Default: the client is public."""
    scopes: tuple[str, ...] = ()
    """Scopes to request in addition to `openid` and `auth.scopes`."""


NoticeFormat = Literal["slack", "teams", "json"]
"""The form of a notice: for an incoming webhook of Slack, for a workflow of Teams, or for a program."""


class Notify(section.Section):
    """A webhook that is told of plans that wait for a person, and of how plans end."""

    url_file: section.UserPath
    """A file with the webhook's URL, which is a secret."""
    format: NoticeFormat = "json"
    """The form of its notices."""
    secret_file: section.UserPath | None = None
    """A file with a secret by which notices are signed (docs/write.md). Default: they are not."""


class Plans(section.Section):
    """The settings for plans of writes (docs/write.md)."""

    store: str = ""
    """Where plans are kept: an SQLite file, or the URL of a PostgreSQL database. Default: `replicas.store`, or else
    `kubescript/plans.db` in the user's state directory."""
    expires_s: Annotated[int, Field(ge=10, le=86_400)] = 900
    """Seconds after which a plan can no longer be approved or applied."""
    ask_s: Annotated[int, Field(ge=1, le=3_600)] = 300
    """Seconds that a tool call waits for the person whom the client asks."""
    follow_s: Annotated[int, Field(ge=0, le=1_800)] = 50
    """Seconds for which an applied plan's rollouts are followed. Many clients allow a minute per call."""
    page: bool = True
    """Whether to serve a page for approving plans: over stdio on a loopback port, from the first plan on; over http,
    where callers are known, at /approvals of the same port."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """The page's port over stdio; 0: any free port."""
    login: Login | None = None
    """How people log in to the page at the identity provider. Default: they type a token, or have a certificate."""
    notify: Notify | None = None
    """A webhook that is told of plans. Default: none."""
