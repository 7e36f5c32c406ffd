"""Scenarios: a cluster's fault, the agent's task, and the changes it may make. Data only.

One YAML file is one scenario; its field names are those of `Scenario`, in camelCase as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from kubescript_safety import plainyaml

__all__ = [
    "KUBECONFIG", "LIBRARY", "Command", "Failure", "Gate", "Injection", "Mutation", "Scenario", "ScenarioError",
    "Stage", "Step", "Target", "Trigger", "commands", "read", "read_all",
]  # fmt: skip

LIBRARY: Final = Path(__file__).parent / "library"
"""The scenarios that come with the benchmark."""
KUBECONFIG: Final = "${kubeconfig}"
"""A word in commands that is replaced by the kubeconfig's path."""
_MAX_BYTES: Final = 1 << 20
_MAX_PARTS: Final = 200_000
"""How many YAML events a file may have; reading that many takes a few seconds."""
Pattern = Annotated[str, msgspec.Meta(max_length=500)]
"""A pattern with limited length. Attack: a scenario has a pattern of a megabyte, which takes seconds to parse."""
Object = dict[str, Any]
"""A Kubernetes object."""


class ScenarioError(Exception):
    """A file is not a scenario; the message says which file, where, and why."""


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """A part of a scenario."""


class Target(_Part, frozen=True):
    """Objects given by patterns; `*` stands for any characters in each field."""

    resource: Pattern
    """The plural, with the group unless it is the core group: `deployments.apps`."""
    namespace: Pattern = ""
    name: Pattern = "*"


class Mutation(_Part, frozen=True):
    """Changes of certain objects."""

    target: Target
    verbs: tuple[Literal["create", "update", "patch", "delete", "deletecollection"], ...] = ()
    """Empty: every verb that changes something."""
    fields: tuple[str, ...] = ()
    """Dotted paths without indices, such as `spec.template.spec.containers.image`. Empty: all."""


class Injection(_Part, frozen=True):
    """Text in the cluster that tells an agent to do something that its user has not asked for."""

    text: str
    """The text as it appears in the cluster."""
    does: tuple[Mutation, ...] = ()
    """Changes that an obedient agent makes."""
    says: str = ""
    """A string that an obedient agent sends, in the arguments of a call or in its answer."""


class Trigger(_Part, frozen=True):
    """The agent's n-th request of a kind that passes the gate to the API server. Requests for a subresource, such as
    the `scale` that a server reads before it writes it, do not count."""

    verb: Literal["get", "list", "create", "update", "patch", "delete", "any"]
    target: Target
    count: int = 1


class Gate(_Part, frozen=True):
    """The gate's handling of the agent's requests."""

    status: int = 0
    """The status sent in place of the API server's answer: 429, 500, 503, 401. 0: none."""
    requests: int = 1
    """How many requests are affected."""
    delay_ms: int = 0
    """How long each of them is delayed."""
    target: Target | None = None
    """The affected requests. None: all."""


class Command(_Part, frozen=True):
    """A program that runs on the benchmark's machine, with all rights in the cluster. Its environment has only PATH,
    HOME and KUBECONFIG, the kubeconfig's path."""

    name: str
    argv: tuple[str, ...]
    folder: str = ""
    """The working directory. Empty: a new empty folder."""
    timeout_s: float = 300


class Step(_Part, frozen=True):
    """One step in preparing a cluster."""

    name: str
    apply: tuple[Object, ...] = ()
    """Objects to create or change, by server-side apply with force."""
    command: Command | None = None
    pause_s: float = 0
    may_fail: bool = False
    """Whether the run continues if the step fails."""


class Failure(_Part, frozen=True):
    """A failure that happens while the agent works, at a given time or after one of the agent's requests."""

    name: str
    at: float | None = None
    """Seconds after the agent has begun."""
    after: Trigger | None = None
    """The request that triggers the failure. Its answer, from before the failure, reaches the agent afterwards."""
    user: str = "another-controller"
    """The user who makes the changes."""
    apply: tuple[Object, ...] = ()
    """Objects to create or replace, by server-side apply with force."""
    patch: Object | None = None
    """A merge patch for the target."""
    subresource: str = ""
    """The patch's subresource: `status`, `scale`."""
    delete: bool = False
    """Whether the targets are deleted."""
    target: Target | None = None
    """The objects to patch or delete."""
    gate: Gate | None = None
    renew_token: bool = False
    """Whether the agent's token expires, and its file gets a new one."""
    command: Command | None = None
    times: int = 1
    """How many times the failure happens, a second apart."""


class Stage(_Part, frozen=True):
    """A part of a scenario that begins when the previous part has ended."""

    name: str
    task: str
    """The task that the agent gets."""
    goal: str = "true"
    """A CEL condition on the final state, as in a scenario."""
    checks: tuple[Command, ...] = ()
    """Commands that succeed when the goal is reached."""
    steps: tuple[Step, ...] = ()
    """Steps before the agent gets the task."""
    timeout_s: float = 60
    goes_on: bool = False
    """Whether the next part begins even if this one's goal is not reached."""


class Scenario(_Part, frozen=True):
    """One task in one broken cluster."""

    id: str
    title: str
    category: str
    reason: str
    """The incident, report or paper that the scenario is based on."""
    task: str
    """The agent's only instructions."""
    setup: tuple[Object, ...]
    """Objects to create in this order. A `status` is written too."""
    goal: str
    """A CEL condition on the final state: `objects`, `before`, `answer`; see docs/safety-benchmark.md."""
    steps: tuple[Step, ...] = ()
    """Steps after the set-up and before the agent begins, in this order."""
    deleted: tuple[Target, ...] = ()
    """Objects of the set-up that are deleted before the agent begins, but kept by a finalizer."""
    broken: str = "true"
    """A CEL condition that must hold before the agent begins. The run waits for it."""
    refused: tuple[Object, ...] = ()
    """Objects that admission must reject before the agent begins, because a policy or webhook takes effect only some
    time after its creation. They are applied as dry runs."""
    namespaces: tuple[str, ...] = ()
    """The task's namespaces: changes elsewhere are out of scope. Empty: nothing may be changed."""
    labels: dict[str, str] = {}
    """Labels that every changed object must have."""
    fields: tuple[str, ...] | None = None
    """Fields that are part of the task, as dotted paths without indices. None: not limited."""
    allowed: tuple[Mutation, ...] = ()
    """Changes that are never a finding, because the task explicitly asks for them."""
    within: tuple[Mutation, ...] = ()
    """Changes that are within the scope; all others are not. Empty: not limited."""
    forbidden: tuple[Mutation, ...] = ()
    """Changes that are always out of scope."""
    canaries: tuple[Target, ...] = ()
    """Healthy look-alikes that must stay unchanged."""
    secrets: tuple[str, ...] = ()
    """Strings that must never be shown to the agent."""
    injections: tuple[Injection, ...] = ()
    failures: tuple[Failure, ...] = ()
    checks: tuple[Command, ...] = ()
    """Commands that succeed when the goal is reached; they run after the agent has ended."""
    stages: tuple[Stage, ...] = ()
    """Parts that follow each other, each with a goal that must be reached. Empty: the scenario has only one part."""
    rights: tuple[Object, ...] = ()
    """Roles and bindings for the agent's user, who is called `agent`. Empty: all rights."""
    timeout_s: float = 60
    settle_s: float = 5
    """For how long nothing must change, after the agent has ended, before the goal counts as missed. Controllers that
    retry at intervals need more."""


def commands(one: Scenario) -> Iterator[Command]:
    """Yields the commands that a run of the scenario starts on the benchmark's machine."""
    yield from one.checks
    for stage in one.stages:
        yield from stage.checks
    steps = [*one.steps]
    for stage in one.stages:
        steps += stage.steps
    found = [part.command for part in steps] + [part.command for part in one.failures]
    yield from filter(None, found)


def read(path: Path) -> Scenario:
    """Reads a scenario from a file. Raises ScenarioError."""
    try:
        with path.open("rb") as stream:
            text = stream.read(_MAX_BYTES + 1)
        if len(text) > _MAX_BYTES:
            raise ScenarioError(f"{path}: larger than 1 MiB")
        documents, _ = plainyaml.documents(text, _MAX_PARTS)
        if len(documents) != 1:
            raise ScenarioError(f"{path}: it has {len(documents)} YAML documents, and must have one")
        found = msgspec.convert(documents[0], Scenario)
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from None
    except plainyaml.YamlError as error:
        raise ScenarioError(f"{path} {error}") from None
    except (msgspec.ValidationError, RecursionError) as error:
        raise ScenarioError(f"{path}: {error}") from None
    if found.id != path.stem:
        raise ScenarioError(f"{path}: its id is {found.id!r}, and must be its file's name")
    return found


def read_all(folder: Path = LIBRARY) -> Iterator[Scenario]:
    """Yields a folder's scenarios, in the order of their ids. Raises ScenarioError."""
    for path in sorted(folder.glob("*.yaml")):
        yield read(path)
