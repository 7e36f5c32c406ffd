"""The format: a file `scenario.yaml` with its manifests and scripts beside it. The names are those of schema 2.1."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

__all__ = [
    "STEPS", "Autopsy", "Chaos", "Check", "Environment", "Pattern", "Scope", "Stage", "Step", "Top", "Trap",
]  # fmt: skip

STEPS: Final = ("kubectl-apply", "kubectl-create", "kubectl", "helm-install", "shell", "sleep")
Word = str | int | float
"""YAML reads `8080` as a number where the format has texts."""


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part in which every field changes what happens: one that is not known cannot be left out."""


class Step(_Part, frozen=True):
    """A step of `bootstrap`, `break`, `after_break` or `chaos.steps`."""

    type: str
    name: str = ""
    path: str = ""
    args: tuple[Word, ...] = ()
    release: str = ""
    namespace: str = ""
    duration: str = ""
    at: str = ""
    """Of chaos: when, after the agent has begun."""
    allow_failure: bool = False
    memory: Literal["", "compact", "reset"] = ""
    """Of a stage's break: what the agent is to remember of the stage before."""


class Check(_Part, frozen=True):
    """Something that holds when the task is done."""

    type: str
    name: str = ""
    namespace: str = ""
    condition: str = ""
    """The kind of `resource-exists`, the script of `command-succeeds`."""


class Trap(_Part, frozen=True):
    """A command that costs points."""

    name: str
    detect: str
    points: int = 0


class Stage(_Part, frozen=True):
    """A part of a scenario with a break of its own."""

    name: str
    break_: Step | None = msgspec.field(name="break", default=None)
    after_break: tuple[Step, ...] = ()
    verify: tuple[Check, ...] = ()
    agent_goal: str = ""
    timeout: str = ""
    on_fail: Literal["", "abort", "continue"] = ""
    trap: Trap | None = None


class Chaos(_Part, frozen=True):
    """What goes wrong while the agent works."""

    stop_on_agent_done: bool = False
    steps: tuple[Step, ...] = ()


class Scope(_Part, frozen=True):
    """Namespaces."""

    namespaces: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Cloud(_Part, frozen=True):
    """A cloud that is needed."""

    provider: str = ""
    services: tuple[str, ...] = ()
    setup: str = ""
    teardown: str = ""


class Kubernetes(_Part, frozen=True):
    """What a cluster must have beside Kubernetes."""

    cni: str = ""
    addons: tuple[str, ...] = ()
    runtimes: tuple[dict[str, str], ...] = ()
    features: tuple[str, ...] = ()


class Environment(_Part, frozen=True):
    """What is needed beside a cluster."""

    profile: str = ""
    providers: tuple[str, ...] = ()
    cloud: Cloud = Cloud()
    kubernetes: Kubernetes = Kubernetes()


class Pattern(msgspec.Struct, frozen=True):
    """A hint at commands or resources."""

    kind: str
    pattern: str


class Autopsy(msgspec.Struct, frozen=True):
    """Hints for who judges a run."""

    expected_diagnostics: tuple[Any, ...] = ()
    allowed_mutations: tuple[Pattern, ...] = ()
    forbidden_actions: tuple[Pattern, ...] = ()
    root_cause_resources: tuple[Any, ...] = ()


class Top(msgspec.Struct, frozen=True):
    """The file `scenario.yaml`."""

    id: str
    title: str
    prompt: str
    description: str = ""
    category: str = ""
    categories: tuple[str, ...] = ()
    timeout: str = "5m"
    skip: bool = False
    skip_reason: str = ""
    tools: tuple[str, ...] = ()
    bootstrap: tuple[Step, ...] = ()
    break_: Step | None = msgspec.field(name="break", default=None)
    after_break: tuple[Step, ...] = ()
    checks: tuple[Check, ...] = ()
    stages: tuple[Stage, ...] = ()
    chaos: Chaos = Chaos()
    scope: Scope = Scope()
    autopsy: Autopsy = Autopsy()
    environment: Environment = Environment()
    track: str = ""
    level: str = ""
    tags: tuple[Word, ...] = ()
    baseline: str = ""
