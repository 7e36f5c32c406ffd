"""The findings of `kubescript doctor`, as text and as JSON."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import asdict, dataclass
from typing import Final

import orjson

from kubescript.cli import findings, questions
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
    """A configured cluster, and its answers to the questions that `doctor` asks."""

    name: str
    source: str
    read_only: bool
    writes: str
    """The mode: off, plan or direct."""
    is_found: bool
    """Whether no setting lists it."""
    denied: tuple[str, ...]
    """Rules that hide their objects entirely."""
    metadata_only: tuple[str, ...] = ()
    """Rules that show only their objects' metadata."""
    keys_only: tuple[str, ...] = ()
    """Rules that show only their objects' metadata and keys."""
    levels: tuple[str, ...] = ()
    """The levels of rules for writes that the operator has set, and what they do."""
    problem: str = ""
    rules: tuple[rule_checks.Finding, ...] = ()
    """Findings about the rules."""
    asked: bool = True
    """Whether the findings are complete; False if no connection to a live cluster was made."""
    answer: questions.Answer | None = None
    """The cluster's answers; None for a snapshot, and if it was not asked."""
    sources: tuple[findings.Finding, ...] = ()
    """The findings about its sources."""
    nodes: tuple[str, ...] = ()
    """What scripts may read from its nodes: logs, summary."""

    @property
    def healthy(self) -> bool:
        """Whether no rule is wrong, and the cluster and its sources answer scripts. Those of a found one need not:
        whoever may add clusters to the fleet makes no server unhealthy."""
        return self._is_right and (self.is_found or all(finding.mark != "FAILED" for finding in self.sources))

    @property
    def _is_right(self) -> bool:
        """Whether no rule is wrong, and the cluster answers scripts, if it is listed."""
        return not any(finding.wrong for finding in self.rules) and (self.is_found or self._answers)

    @property
    def _answers(self) -> bool:
        """Whether the cluster exists, and scripts will be answered."""
        return not self.problem and (self.answer is None or not self.answer.problem)

    @property
    def _mark(self) -> str:
        if not self._is_right:
            return "WRONG"
        return "ok" if self._answers else "WARNING"

    def as_row(self) -> dict[str, object]:
        """Returns the cluster as JSON has it."""
        return asdict(self) | {"sources": [finding._asdict() for finding in self.sources]}

    def as_text(self) -> str:
        """Returns a line about the cluster, and lines about its problems."""
        line = f"{self._mark:<7} {sanitizing.printable(self.name)}: {self.source}"
        # Permissions of a cluster that does not exist are of no use.
        if not self.problem:
            line += f", {self._describe_rules()}"
        if not self.asked:
            line += "; not asked: only its configuration was read"
        lines = [line]
        if self.problem:
            lines.append(f"        → {self.problem}")
        lines += [f"        → {finding.text}" for finding in self.rules if finding.text]
        if self.answer is not None:
            lines += _answer_lines(self.answer)
        lines += [finding.as_text() for finding in self.sources]
        return "\n".join(lines)

    def _describe_rules(self) -> str:
        """Returns whether scripts may write, and which objects the rules hide from them."""
        access = _ACCESS[self.writes]
        denied = ", ".join(self.denied) or "nothing"
        text = f"{access}, denied: {denied}"
        for part, rules in (("metadata", self.metadata_only), ("metadata and key names", self.keys_only)):
            if rules:
                names = ", ".join(rules)
                text += f"; only {part}: {names}"
        if self.nodes:
            text += f"; of nodes: {', '.join(self.nodes)}"
        if self.levels:
            text += f"; levels: {', '.join(self.levels)}"
        return text


@dataclass(frozen=True, slots=True)
class Report:
    """All findings of one run."""

    layers: tuple[protocol.Layer, ...]
    contexts: tuple[Cluster, ...] = ()
    """The clusters, the default one first; empty when neither a setting nor the environment names a cluster or a rule
    for it."""
    audit: tuple[bool, str] = (True, "")
    """Whether the audit record satisfies the settings, and a description of its state."""
    redaction: bool = True
    """Whether secrets are masked; if not, that is the operator's decision and not a fault."""
    approval: str = "person"
    """Who approves plans; also the operator's decision."""
    namesakes: tuple[str, ...] = ()
    """The tables that may mean users of the same name from several issuers, and what about them."""
    masker: tuple[protocol.Layer, ...] = ()
    """The layers that a masking process reports; empty when nothing is masked."""
    connect: str = ""
    """The command that adds the server to Claude Code."""
    connect_others: str = ""
    """The command that adds the server to another client."""
    commands: tuple[tuple[str, bool, str], ...] = ()
    """Toolsets that run command lines, whether these can run here, and a description of each."""
    runbooks: tuple[tuple[bool, str], ...] = ()
    """The findings about the folder of runbooks, each with whether it is as it should be; they do not make a server
    unhealthy."""
    fleet: tuple[findings.Finding, ...] = ()
    """The findings about where clusters are found."""
    serving: tuple[findings.Finding, ...] = ()
    """The findings about the http transport, its callers, and what replicas share."""

    @property
    def healthy(self) -> bool:
        """Whether every layer that `sandbox.strict` requires holds, every context exists, no rule is wrong, the audit
        file can be written, command lines run, and the server has what it reads at its start."""
        can_record, _ = self.audit
        if self.missing or not can_record:
            return False
        if any(finding.mark == "FAILED" for finding in (*self.serving, *self.fleet)):
            return False
        if not all(context.healthy for context in self.contexts):
            return False
        return all(can_run for _, can_run, _ in self.commands)

    @property
    def missing(self) -> tuple[str, ...]:
        """Required layers that do not hold in a worker or a masking process."""
        missing = set(layers.missing(self.layers))
        if self.redaction:
            missing.update(layers.missing(self.masker))
        return tuple(sorted(missing))

    def _masker_line(self) -> str:
        lacking = ", ".join(layers.missing(self.masker))
        if lacking:
            return f"MISSING {'redaction':<13} the masking process lacks {lacking}"
        return f"ok      {'redaction':<13} the masking process is confined like a worker"

    def as_json(self) -> str:
        """Returns one JSON object."""
        can_record, audit_detail = self.audit
        masker = [layer.name for layer in self.masker if layer.active]
        commands = [{"toolset": toolset, "ok": can_run, "detail": detail} for toolset, can_run, detail in self.commands]
        report = {
            "healthy": self.healthy,
            "missing": self.missing,
            "platform": _platform(),
            "layers": [_layer_row(layer) for layer in self.layers],
            "contexts": [context.as_row() for context in self.contexts],
            "audit": {"ok": can_record, "detail": audit_detail},
            "redaction": {"enabled": self.redaction, "layers": masker},
            "approval": self.approval,
            "namesakes": self.namesakes,
            "runbooks": [{"ok": is_good, "detail": detail} for is_good, detail in self.runbooks],
            "fleet": [finding._asdict() for finding in self.fleet],
            "serving": [finding._asdict() for finding in self.serving],
            "connect": self.connect if self.healthy else "",
            "commands": commands,
        }
        return orjson.dumps(report, option=orjson.OPT_INDENT_2).decode()

    def as_text(self) -> str:
        """Returns a line for each layer, with the remedy if it is missing."""
        lines = [_platform()]
        for layer in self.layers:
            lines += _layer_lines(layer)
        can_record, audit_detail = self.audit
        mark = "ok     " if can_record else "FAILED "
        lines.append(f"{mark} {'audit':<13} {audit_detail}")
        if self.redaction:
            lines.append(self._masker_line())
        else:
            lines.append(
                f"OFF     {'redaction':<13} scripts and the model see every secret (redaction.enabled = false)"
            )
        if self.approval == "argument":
            lines.append(f"WARNING {'approval':<13} {_BY_ARGUMENT}")
        lines += [f"WARNING {'callers':<13} {found}" for found in self.namesakes]
        lines += [finding.as_text() for finding in self.serving]
        for toolset, can_run, detail in self.commands:
            mark = "ok     " if can_run else "FAILED "
            lines.append(f"{mark} {toolset:<13} {sanitizing.printable(detail)}")
        for is_good, detail in self.runbooks:
            mark = "ok     " if is_good else "WARNING"
            lines.append(f"{mark} {'runbooks':<13} {sanitizing.printable(detail)}")
        lines += [finding.as_text() for finding in self.fleet]
        missing = ", ".join(self.missing)
        lines.append(f"missing: {missing}" if missing else "every layer of the sandbox holds")
        lines += [context.as_text() for context in self.contexts]
        if not self.contexts and not self.fleet:
            lines.append(f"not asked: {describe_default()}")
        if self.connect and self.healthy:
            lines.append(f"to connect Claude Code: {self.connect}")
            lines.append(f"other clients: {self.connect_others}")
        return "\n".join(lines)


def _layer_lines(layer: protocol.Layer) -> list[str]:
    """Returns a line for a layer and its purpose, and one for the remedy if it is missing."""
    mark = "ok     " if layer.active else "MISSING"
    purpose = _PURPOSE.get(layer.name, "")
    line = f"{mark} {layer.name:<13} {purpose}"
    if layer.detail:
        line += f" ({layer.detail})"
    remedy = _remedy(layer)
    if not remedy:
        return [line]
    return [line, f"        {'':<13} → {remedy}"]


def _layer_row(layer: protocol.Layer) -> dict[str, object]:
    return {
        "layer": layer.name,
        "active": layer.active,
        "detail": layer.detail,
        "purpose": _PURPOSE.get(layer.name, ""),
        "remedy": _remedy(layer),
        "required": layer.name in layers.REQUIRED,
    }


def _remedy(layer: protocol.Layer) -> str:
    """Returns what makes a missing layer hold; empty for an active one, and if nothing is known."""
    if layer.active:
        return ""
    return layers.REMEDIES.get(layer.name, "")


def _answer_lines(answer: questions.Answer) -> list[str]:
    """Returns the cluster's answers, a line each."""
    lines = []
    if answer.problem:
        lines.append(f"        → {answer.problem}")
    if answer.version:
        lines.append(f"        server: Kubernetes {answer.version}")
    if answer.user:
        groups = ", ".join(answer.groups)
        shown = f" (groups: {groups})" if answer.groups else ""
        lines.append(f"        user:   {answer.user}{shown}")
    if answer.allowed:
        allowed = ", ".join(answer.allowed)
        lines.append(f"        RBAC:   allows {allowed}")
    if answer.forbidden:
        forbidden = ", ".join(answer.forbidden)
        lines.append(f"        RBAC:   forbids {forbidden}: scripts get 403 there")
    lines += [f"WARNING RBAC:   {warning}" for warning in answer.warnings]
    # Attack: an API server's text contains line ends, so that parts of it look like our own lines.
    return [sanitizing.printable(sanitizing.clean(line)) for line in lines]


def describe_default() -> str:
    """Returns which cluster is used when no setting names one."""
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "the cluster of this pod, as its service account"
    return "no cluster; there is no kubeconfig (--kubeconfig, KUBECONFIG, ~/.kube/config)"


def _platform() -> str:
    """Returns kernel and interpreter on one line."""
    system = platform.system()
    release = platform.release()
    machine = platform.machine()
    version, *_ = sys.version.split()
    return f"{system} {release} {machine}, Python {version}"
