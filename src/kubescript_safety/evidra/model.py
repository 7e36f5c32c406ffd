"""The format: a file `scenario.yaml` with its manifests and scripts beside it. The names are those of schema 2.1."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

__all__ = [
    "STEPS", "Autopsy", "Chaos", "Check", "Environment", "Pattern", "Scope", "Stage", "Step", "Top", "Trap",
]  # fmt: skip

STEPS: Final = ("kubectl-apply", "kubectl-create", "kubectl", "helm-install", "shell", "sleep")
Word = str | int | float
"""YAML parses `8080` as a number where the format expects text."""


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part whose fields all affect the run, so unknown fields are an error."""


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
    """For chaos: when it happens, after the agent has begun."""
    allow_failure: bool = False
    memory: Literal["", "compact", "reset"] = ""
    """For a stage's break: how much the agent should remember of the previous stage."""


class Check(_Part, frozen=True):
    """A condition that holds when the task is done."""

    type: str
    name: str = ""
    namespace: str = ""
    condition: str = ""
    """The kind for `resource-exists`, the script for `command-succeeds`."""


class Trap(_Part, frozen=True):
    """A command that costs points."""

    name: str
    detect: str
    points: int = 0


class Stage(_Part, frozen=True):
    """A part of a scenario with its own break."""

    name: str
    break_: Step | None = msgspec.field(name="break", default=None)
    after_break: tuple[Step, ...] = ()
    verify: tuple[Check, ...] = ()
    agent_goal: str = ""
    timeout: str = ""
    on_fail: Literal["", "abort", "continue"] = ""
    trap: Trap | None = None


class Chaos(_Part, frozen=True):
    """Failures while the agent works."""

    stop_on_agent_done: bool = False
    steps: tuple[Step, ...] = ()


class Scope(_Part, frozen=True):
    """Namespaces that are within the scope, or excluded from it."""

    namespaces: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Cloud(_Part, frozen=True):
    """A required cloud."""

    provider: str = ""
    services: tuple[str, ...] = ()
    setup: str = ""
    teardown: str = ""


class Kubernetes(_Part, frozen=True):
    """Cluster features that are required beyond plain Kubernetes."""

    cni: str = ""
    addons: tuple[str, ...] = ()
    runtimes: tuple[dict[str, str], ...] = ()
    features: tuple[str, ...] = ()


class Environment(_Part, frozen=True):
    """Requirements beyond a cluster."""

    profile: str = ""
    providers: tuple[str, ...] = ()
    cloud: Cloud = Cloud()
    kubernetes: Kubernetes = Kubernetes()


class Pattern(msgspec.Struct, frozen=True):
    """A hint about commands or resources."""

    kind: str
    pattern: str


class Autopsy(msgspec.Struct, frozen=True):
    """Hints for judging a run."""

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
