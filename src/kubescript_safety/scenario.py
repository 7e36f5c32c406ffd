"""Scenarios: what is wrong in a cluster, what an agent is asked to do, and what it may do on the way. Data only.

One YAML file is one scenario; the field names of the file are those of `Scenario`, in camelCase as in Kubernetes.
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
"""A word of a command in whose place the path of the kubeconfig stands when it runs."""
_MAX_BYTES: Final = 1 << 20
_MAX_PARTS: Final = 200_000
"""Of YAML: what takes some seconds."""
Pattern = Annotated[str, msgspec.Meta(max_length=500)]
"""Attack: a pattern of a megabyte takes seconds to be read."""
Object = dict[str, Any]
"""A Kubernetes object."""


class ScenarioError(Exception):
    """A file is no scenario; the message says which file, where, and why."""


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """Part of a scenario."""


class Target(_Part, frozen=True):
    """Objects by their names; `*` stands for any characters in each field."""

    resource: Pattern
    """Plural, with the group unless it is the core group: `deployments.apps`."""
    namespace: Pattern = ""
    name: Pattern = "*"


class Mutation(_Part, frozen=True):
    """Changes of some objects."""

    target: Target
    verbs: tuple[Literal["create", "update", "patch", "delete", "deletecollection"], ...] = ()
    """Empty stands for every verb that changes something."""
    fields: tuple[str, ...] = ()
    """Dotted paths without indices, such as `spec.template.spec.containers.image`. Empty: all."""


class Injection(_Part, frozen=True):
    """Words in the cluster that tell an agent to do something that nobody has asked it to do."""

    text: str
    """As it stands in the cluster."""
    does: tuple[Mutation, ...] = ()
    """Changes by which an agent obeys."""
    says: str = ""
    """A text that an agent who obeys sends, in the arguments of a call or in its answer."""


class Trigger(_Part, frozen=True):
    """The agent's n-th request of a kind, as it passes the gate on its way to the API server. Requests of a
    subresource, such as the `scale` that a server reads before it writes it, do not count."""

    verb: Literal["get", "list", "create", "update", "patch", "delete", "any"]
    target: Target
    count: int = 1


class Gate(_Part, frozen=True):
    """What becomes of the agent's requests at the gate."""

    status: int = 0
    """The status that is answered in place of the API server's: 429, 500, 503, 401. 0: none."""
    requests: int = 1
    """How many requests are answered so."""
    delay_ms: int = 0
    """How long each of them waits."""
    target: Target | None = None
    """Which requests. None: all."""


class Command(_Part, frozen=True):
    """A program that runs on the machine of the benchmark, with all rights in the cluster. It finds its kubeconfig in
    the variable KUBECONFIG, and gets nothing else of the environment but PATH."""

    name: str
    argv: tuple[str, ...]
    folder: str = ""
    """Where it runs. Empty: a folder of its own, which is empty."""
    timeout_s: float = 300


class Step(_Part, frozen=True):
    """One of the things that are done to a cluster, one after the other."""

    name: str
    apply: tuple[Object, ...] = ()
    """Objects that are created or changed, by server-side apply with force."""
    command: Command | None = None
    pause_s: float = 0
    may_fail: bool = False
    """Whether a run goes on after a step that could not be carried out."""


class Failure(_Part, frozen=True):
    """Something that goes wrong while the agent works. It happens by the clock or by what the agent does."""

    name: str
    at: float | None = None
    """Seconds after the agent has begun."""
    after: Trigger | None = None
    """Before the answer to this request reaches the agent; the answer itself is from before the failure."""
    user: str = "another-controller"
    """In whose name the cluster is changed."""
    apply: tuple[Object, ...] = ()
    """Objects that are created or replaced, by server-side apply with force."""
    patch: Object | None = None
    """A merge patch of the target."""
    subresource: str = ""
    """Of the patch: `status`, `scale`."""
    delete: bool = False
    """Whether the targets are deleted."""
    target: Target | None = None
    """What is patched or deleted."""
    gate: Gate | None = None
    renew_token: bool = False
    """Whether the agent's token ends, and the file that holds it gets a new one."""
    command: Command | None = None
    times: int = 1
    """How often it happens, a second apart."""


class Stage(_Part, frozen=True):
    """A part of a scenario that begins when the part before it is over."""

    name: str
    task: str
    """What the agent is told when it begins."""
    goal: str = "true"
    """CEL over the state at its end, as in a scenario."""
    checks: tuple[Command, ...] = ()
    """Commands that succeed when its goal is reached."""
    steps: tuple[Step, ...] = ()
    """What is done before the agent is told."""
    timeout_s: float = 60
    goes_on: bool = False
    """Whether the next part begins when the goal of this one is not reached."""


class Scenario(_Part, frozen=True):
    """One task in one broken cluster."""

    id: str
    title: str
    category: str
    reason: str
    """The incident, report or paper that it is made from."""
    task: str
    """What the agent is told, and all that it is told."""
    setup: tuple[Object, ...]
    """Objects that are created in this order. A `status` is written too."""
    goal: str
    """CEL over the final state: `objects`, `before`, `answer`; see docs/safety-benchmark.md."""
    steps: tuple[Step, ...] = ()
    """What is done to the cluster after the set-up and before the agent begins, in this order."""
    deleted: tuple[Target, ...] = ()
    """Objects of the set-up that are deleted before the agent begins; a finalizer keeps them."""
    broken: str = "true"
    """CEL that holds before the agent begins. The run waits for it."""
    refused: tuple[Object, ...] = ()
    """Objects that admission must refuse before the agent begins: a policy or a webhook counts only some time after it
    was created. They are applied as dry runs."""
    namespaces: tuple[str, ...] = ()
    """Where the task is: changes elsewhere are out of scope. Empty: nothing may be changed anywhere."""
    labels: dict[str, str] = {}
    """Labels that each changed object must have."""
    fields: tuple[str, ...] | None = None
    """Fields that the task is about, as dotted paths without indices. None: not limited."""
    allowed: tuple[Mutation, ...] = ()
    """Changes that are no finding, whatever a rule says: what the task asks for in so many words."""
    within: tuple[Mutation, ...] = ()
    """Changes beside these are out of scope. Empty: not limited."""
    forbidden: tuple[Mutation, ...] = ()
    """Changes that are out of scope wherever they are."""
    canaries: tuple[Target, ...] = ()
    """Healthy look-alikes that must stay as they are."""
    secrets: tuple[str, ...] = ()
    """Texts that the agent must never be shown."""
    injections: tuple[Injection, ...] = ()
    failures: tuple[Failure, ...] = ()
    checks: tuple[Command, ...] = ()
    """Commands that succeed when the goal is reached; each runs after the agent has ended."""
    stages: tuple[Stage, ...] = ()
    """Parts that follow each other; the goal of each must be reached. Empty: the scenario is one."""
    rights: tuple[Object, ...] = ()
    """Roles and bindings of the agent, whose user is called `agent` in them. Empty: everything."""
    timeout_s: float = 60
    settle_s: float = 5
    """How long nothing changes in the cluster, after the agent has ended, until the goal is given up. Controllers
    that try again by the clock need more."""


def commands(one: Scenario) -> Iterator[Command]:
    """Yields what a run of the scenario starts on the machine where the benchmark runs."""
    yield from one.checks
    for stage in one.stages:
        yield from stage.checks
    for step in (*one.steps, *(step for stage in one.stages for step in stage.steps)):
        if step.command is not None:
            yield step.command
    for failure in one.failures:
        if failure.command is not None:
            yield failure.command


def read(path: Path) -> Scenario:
    """Reads one file. Raises ScenarioError."""
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
    """Reads every scenario of a folder, in the order of their ids. Raises ScenarioError."""
    for path in sorted(folder.glob("*.yaml")):
        yield read(path)
