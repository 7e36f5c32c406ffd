"""The findings of `kubescript doctor`, as text and as JSON."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import asdict, dataclass
from typing import Final

import orjson

from kubescript.cli import questions
from kubescript.output import sanitizing
from kubescript.policy import rule_checks
from kubescript_sandbox.host import layers
from kubescript_sandbox.wire import protocol

__all__ = ["Cluster", "Report", "describe_default"]

_PURPOSE: Final = {
    "environment": "the worker has none of the host's environment variables",
    "oom_score": "when memory runs out, the kernel kills workers before the host",
    "network": "the worker has a network namespace without interfaces",
    "descriptors": "the worker's only open descriptor is its socket to the host",
    "rlimits": "the kernel limits memory, processor time, files and processes",
    "identity": "the worker is not root",
    "capabilities": "the worker has no capabilities",
    "not_dumpable": "no other process can read the worker's memory",
    "parent_death": "the worker dies with the server",
    "no_new_privs": "no set-uid program can raise the worker's privileges",
    "landlock": "the worker can open no file and no TCP port",
    "scope": "the worker can signal neither the fork server nor another worker",
    "seccomp": "the kernel kills the worker at any system call that is not on the list",
}

_BY_ARGUMENT: Final = 'whoever calls a tool approves it, so a model approves its own changes (approval = "argument")'
_ACCESS: Final = {
    "off": "read-only",
    "plan": "writes wait for a person's approval",
    "direct": "WRITABLE, without approval",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A configured cluster, and its answers to the questions of `doctor`."""

    name: str
    source: str
    read_only: bool
    writes: str
    """The mode: off, plan or direct."""
    denied: tuple[str, ...]
    """Rules that hide their objects entirely."""
    metadata_only: tuple[str, ...] = ()
    """Rules that show only their objects' metadata."""
    problem: str = ""
    rules: tuple[rule_checks.Finding, ...] = ()
    """Findings about the rules."""
    asked: bool = True
    """Whether the findings are complete; False if no connection to a live cluster was made."""
    answer: questions.Answer | None = None
    """The cluster's answers; None for a snapshot, and if it was not asked."""

    @property
    def healthy(self) -> bool:
        """Whether the cluster exists and no rule is wrong."""
        if self.problem or (self.answer is not None and self.answer.problem):
            return False
        return not any(finding.wrong for finding in self.rules)

    def as_text(self) -> str:
        """Returns a line about the cluster, and lines about its problems."""
        mark = "ok     " if self.healthy else "WRONG  "
        line = f"{mark} {self.name}: {self.source}"
        if not self.problem:  # permissions of a cluster that does not exist are of no use
            line += f", {self._describe_rules()}"
        if not self.asked:
            line += "; not asked: only its configuration was read"
        findings = [self.problem, *(finding.text for finding in self.rules)]
        lines = [line] + [f"        → {text}" for text in findings if text]
        if self.answer is not None:
            lines += _answer_lines(self.answer)
        return "\n".join(lines)

    def _describe_rules(self) -> str:
        """Returns whether scripts may write, and which objects the rules hide from them."""
        access = _ACCESS[self.writes]
        denied = ", ".join(self.denied) or "nothing"
        metadata_only = f"; only metadata: {', '.join(self.metadata_only)}" if self.metadata_only else ""
        return f"{access}, denied: {denied}{metadata_only}"


@dataclass(frozen=True, slots=True)
class Report:
    """All findings of one run."""

    layers: tuple[protocol.Layer, ...]
    contexts: tuple[Cluster, ...] = ()
    """The clusters, the default one first; empty when neither a setting nor the environment names a cluster or a rule
    for it."""
    audit: tuple[bool, str] = (True, "")
    """Whether the audit record satisfies the settings, and a text about it."""
    redaction: bool = True
    """Whether secrets are masked; if not, that is the operator's decision and not a fault."""
    approval: str = "person"
    """Who approves plans; also the operator's decision."""
    masker: tuple[protocol.Layer, ...] = ()
    """The layers that a masking process reports; empty when nothing is masked."""
    connect: str = ""
    """The command that adds the server to a client."""
    commands: tuple[tuple[str, bool, str], ...] = ()
    """Toolsets that run command lines, whether these can run here, and a text about each."""

    @property
    def healthy(self) -> bool:
        """Whether every layer that `sandbox.strict` requires holds, every context exists, no rule is wrong, the audit
        file can be written, and command lines run."""
        runs = all(holds for _, holds, _ in self.commands)
        exist = all(context.healthy for context in self.contexts)
        return not self.missing and exist and self.audit[0] and runs

    @property
    def missing(self) -> tuple[str, ...]:
        """Required layers that do not hold in a worker or a masking process."""
        missing = set(layers.missing(self.layers))
        if self.redaction:
            missing.update(layers.missing(self.masker))
        return tuple(sorted(missing))

    def _masker_line(self) -> str:
        lacking = layers.missing(self.masker)
        if lacking:
            return f"MISSING {'redaction':<13} the masking process lacks {', '.join(lacking)}"
        return f"ok      {'redaction':<13} the masking process is confined like a worker"

    def as_json(self) -> str:
        """Returns one JSON object."""
        rows = [
            {
                "layer": layer.name,
                "active": layer.active,
                "detail": layer.detail,
                "purpose": _PURPOSE.get(layer.name, ""),
                "remedy": "" if layer.active else layers.REMEDIES.get(layer.name, ""),
                "required": layer.name in layers.REQUIRED,
            }
            for layer in self.layers
        ]
        masker = [layer.name for layer in self.masker if layer.active]
        report = {
            "healthy": self.healthy, "missing": self.missing, "platform": _platform(), "layers": rows,
            "contexts": [asdict(context) for context in self.contexts],
            "audit": {"ok": self.audit[0], "detail": self.audit[1]},
            "redaction": {"enabled": self.redaction, "layers": masker}, "approval": self.approval,
            "connect": self.connect,
            "commands": [{"toolset": name, "ok": holds, "detail": detail} for name, holds, detail in self.commands],
        }  # fmt: skip
        return orjson.dumps(report, option=orjson.OPT_INDENT_2).decode()

    def as_text(self) -> str:
        """Returns a line for each layer, with the remedy if it is missing."""
        lines = [_platform()]
        for layer in self.layers:
            lines += _layer_lines(layer)
        audit_holds, audit_detail = self.audit
        mark = "ok     " if audit_holds else "FAILED "
        lines.append(f"{mark} {'audit':<13} {audit_detail}")
        if self.redaction:
            lines.append(self._masker_line())
        else:
            lines.append(
                f"OFF     {'redaction':<13} scripts and the model see every secret (redaction.enabled = false)"
            )
        if self.approval == "argument":
            lines.append(f"WARNING {'approval':<13} {_BY_ARGUMENT}")
        for name, holds, detail in self.commands:
            mark = "ok     " if holds else "FAILED "
            lines.append(f"{mark} {name:<13} {sanitizing.printable(detail)}")
        if self.missing:
            lines.append("missing: " + ", ".join(self.missing))
        else:
            lines.append("every layer holds")
        lines += [context.as_text() for context in self.contexts]
        if not self.contexts:
            lines.append(f"not asked: {describe_default()}")
        if self.connect:
            lines.append(f"to connect Claude Code: {self.connect}")
            lines.append("other clients: kubescript client claude-desktop|cursor|vscode --write")
        return "\n".join(lines)


def _layer_lines(layer: protocol.Layer) -> list[str]:
    """Returns a line for a layer and its purpose, and one for the remedy if it is missing."""
    mark = "ok     " if layer.active else "MISSING"
    purpose = _PURPOSE.get(layer.name, "")
    detail = f" ({layer.detail})" if layer.detail else ""
    lines = [f"{mark} {layer.name:<13} {purpose}{detail}"]
    if not layer.active and layer.name in layers.REMEDIES:
        lines.append(f"        {'':<13} → {layers.REMEDIES[layer.name]}")
    return lines


def _answer_lines(answer: questions.Answer) -> list[str]:
    """Returns the cluster's answers, a line each."""
    lines = [f"        → {answer.problem}"] if answer.problem else []
    if answer.version:
        lines.append(f"        server: Kubernetes {answer.version}")
    if answer.user:
        groups = f" (groups: {', '.join(answer.groups)})" if answer.groups else ""
        lines.append(f"        user:   {answer.user}{groups}")
    if answer.allowed:
        lines.append(f"        RBAC:   allows {', '.join(answer.allowed)}")
    if answer.forbidden:
        lines.append(f"        RBAC:   forbids {', '.join(answer.forbidden)}: scripts get 403 there")
    # Attack: an API server's text contains line ends, so that parts of it look like our own lines.
    return [sanitizing.printable(sanitizing.clean(line)) for line in lines]


def describe_default() -> str:
    """Returns which cluster is used when no setting names one."""
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "the cluster of this pod, as its service account"
    return "no cluster; there is no kubeconfig (--kubeconfig, KUBECONFIG, ~/.kube/config)"


def _platform() -> str:
    """Returns kernel and interpreter on one line."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    version = sys.version.split()[0]
    return f"{system}, Python {version}"
