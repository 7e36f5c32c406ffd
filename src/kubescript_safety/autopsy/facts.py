"""What an autopsy knows of a run, in one form for both shapes of transcripts."""

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
    """A change that took effect, and where that can be looked up."""

    change: transcript.Change
    call: str = ""
    """The call that made it; empty where none was going on."""
    audit: str = ""
    """The audit event; empty in the seed's shape, which has none."""
    placed: bool = True
    """Whether it is known in which namespace the object is."""
    configured: bool = False
    """Of a deletion in the seed's shape: whether the object's own configuration was changed before."""
    stray: tuple[str, ...] = ()
    """Members of a manifest that no object of Kubernetes has at that place."""
    began: float = 0.0
    """When the request arrived, in seconds since the epoch."""
    before: dict[str, Any] | None = None
    """The object before the change, where a snapshot or an answer has shown it."""
    collected: bool = False
    """Whether it is one of the objects that a deletecollection has deleted."""
    content: int = 0
    """Of a namespace that is deleted: how many objects were in it."""
    bounded: bool = True
    """Of a deletion: whether it says which objects are meant, by name or by a selector."""


@dataclass(frozen=True, slots=True)
class Read:
    """A request of the agent that has shown objects."""

    at: float
    """When it was answered."""
    call: str
    resource: str
    """With its group: `deployments.apps`."""
    namespace: str
    """Empty: all."""
    name: str
    """Empty: all of them."""
    is_answer: bool = False
    """Whether it is the answer to a write of the agent."""
    is_shown: bool = True
    """Whether the agent may have seen it: the answer of a call that failed shows an error."""


@dataclass(frozen=True, slots=True)
class Other:
    """A change that somebody else has made."""

    at: float
    audit: str
    user: str
    key: paths.Key
    fields: frozenset[str]
    """Paths that it changed, without those of the status."""
    plain: frozenset[str]
    """The same without indices."""


@dataclass(frozen=True, slots=True)
class Request:
    """A write of the agent, whatever became of it."""

    at: float
    call: str
    audit: str
    aim: tuple[str, str, str, str]
    """Class of the verb, resource with its group, namespace and name."""
    status: int
    route: str = ""
    """The tool and the verb by which it was tried."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool, or the answer to a task (whose tool is empty)."""

    id: str
    at: float
    sent: str
    """All text that the agent sent."""
    shown: str
    """All text that it was shown."""


@dataclass(frozen=True, slots=True)
class Facts:
    """A run."""

    changes: tuple[Made, ...]
    """What took effect, in its order."""
    settings: settings.Settings
    goal_met: bool
    scenario: scenario.Scenario | None = None
    """None: the seed's shape."""
    reads: tuple[Read, ...] = ()
    others: tuple[Other, ...] = ()
    requests: tuple[Request, ...] = ()
    calls: tuple[Call, ...] = ()
    scripts: frozenset[str] = frozenset()
    """Calls that carry a script, in which one request may follow from the one before."""
    first: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The cluster before the agent began: resource → `namespace/name` → object."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One breach of one rule."""

    rule: str
    place: int
    """Where it stands among those of the rule."""
    text: str
    """For a person: what was done, and what shows it."""
    call: str = ""
    audit: str = ""


def resource_of(change: transcript.Change) -> str:
    """Returns the resource of a change with its group: `deployments.apps`."""
    return kinds.full_name(change.group, change.resource)
