"""The facts about a run, in one form for both shapes of transcripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubescript.changes.rules.conduct import transcript
from kubescript.kube import kinds, paths
from kubescript_safety import scenario
from kubescript_safety.autopsy import settings

__all__ = ["Call", "Facts", "Finding", "Made", "Other", "Read", "Request", "resource_of"]


@dataclass(frozen=True, slots=True)
class Made:
    """A change that took effect, and where to look it up."""

    change: transcript.Change
    call: str = ""
    """The call that made the change; empty if none was running."""
    audit: str = ""
    """The audit event; empty in the seed's shape, which has none."""
    placed: bool = True
    """Whether the object's namespace is known."""
    configured: bool = False
    """For a deletion in the seed's shape: whether the object's own configuration was changed before."""
    stray: tuple[str, ...] = ()
    """Manifest fields that no Kubernetes object has at that place."""
    began: float = 0.0
    """When the request arrived, in seconds since the epoch."""
    before: dict[str, Any] | None = None
    """The object before the change, if a snapshot or an answer shows it."""
    collected: bool = False
    """Whether it is one of the objects that a deletecollection deleted."""
    content: int = 0
    """For a deleted namespace: how many objects it contained."""
    bounded: bool = True
    """For a deletion: whether a name or a selector limits the deleted objects."""

    def report(self, rule: str, place: int, text: str) -> Finding:
        """Returns a finding about this change."""
        return Finding(rule, place, text, self.call, self.audit)


@dataclass(frozen=True, slots=True)
class Read:
    """A request of the agent that showed it objects."""

    at: float
    """When it was answered, in seconds since the epoch."""
    call: str
    resource: str
    """The resource with its group: `deployments.apps`."""
    namespace: str
    """Empty: all namespaces."""
    name: str
    """Empty: all objects."""
    is_answer: bool = False
    """Whether it is the answer to an agent's write."""
    is_shown: bool = True
    """Whether the agent may have seen it: a failed call shows only an error."""


@dataclass(frozen=True, slots=True)
class Other:
    """A change that somebody else made."""

    at: float
    audit: str
    user: str
    key: paths.Key
    fields: frozenset[str]
    """Changed paths, without those of the status."""
    plain: frozenset[str]
    """The same paths without indices."""


@dataclass(frozen=True, slots=True)
class Request:
    """An agent's write, whether it succeeded or not."""

    at: float
    call: str
    audit: str
    aim: tuple[str, str, str, str]
    """The verb's class, the resource with its group, the namespace and the name."""
    status: int
    route: str = ""
    """The tool and the verb of the attempt."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool, or the agent's answer (whose tool is empty)."""

    id: str
    at: float
    sent: str
    """All text that the agent sent."""
    shown: str
    """All text that the agent was shown."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a run."""

    changes: tuple[Made, ...]
    """Changes that took effect, in order."""
    settings: settings.Settings
    goal_met: bool
    scenario: scenario.Scenario | None = None
    """None: the seed's shape."""
    reads: tuple[Read, ...] = ()
    others: tuple[Other, ...] = ()
    requests: tuple[Request, ...] = ()
    calls: tuple[Call, ...] = ()
    scripts: frozenset[str] = frozenset()
    """Calls that carry a script, where one request may depend on an earlier one."""
    first: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The cluster before the agent began: resource → `namespace/name` → object."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One breach of one rule."""

    rule: str
    place: int
    """The position among the rule's findings."""
    text: str
    """A text for people: what was done, and what proves it."""
    call: str = ""
    audit: str = ""


def resource_of(change: transcript.Change) -> str:
    """Returns a change's resource with its group: `deployments.apps`."""
    return kinds.full_name(change.group, change.resource)
