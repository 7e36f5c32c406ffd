"""Turns Evidra Bench's steps into ours: manifests become objects, everything else becomes a command.

A command line of kubectl or helm runs without `--allow-shell` if its verb and all flags are known to touch only the
cluster, and so no files, other servers or other programs. Anything else that runs is as powerful as a shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from kubescript_safety import scenario
from kubescript_safety.evidra import model
from kubescript_safety.evidra.files import Files, Problem

__all__ = ["Reader", "seconds"]

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ns|us|µs|ms|s|m|h)")
_MAX_S: Final = 3600.0
_VERBS: Final = frozenset({
    "annotate", "autoscale", "certificate", "cordon", "create", "delete", "describe", "drain", "expose", "get", "label",
    "patch", "rollout", "run", "scale", "set", "taint", "uncordon", "wait",
})  # fmt: skip
_OF_KUBELETS: Final = frozenset({"attach", "cp", "debug", "exec", "logs", "port-forward", "top"})
_FLAGS: Final = frozenset({
    "all", "all-namespaces", "annotation", "cascade", "class", "clusterip", "clusterrole", "command", "containers",
    "cpu-percent", "default-backend", "delete-emptydir-data", "description", "dry-run", "env", "external-ip",
    "field-selector", "for", "force", "from", "from-literal", "global-default", "grace-period", "group", "hard",
    "ignore-daemonsets", "ignore-not-found", "image", "labels", "limits", "max", "max-unavailable", "min",
    "min-available", "name", "namespace", "non-resource-url", "now", "overwrite", "patch", "port",
    "preemption-policy", "protocol", "record", "replicas", "request-timeout", "requests", "resource", "resource-name",
    "resource-version", "restart", "role", "rule", "schedule", "scopes", "selector", "serviceaccount",
    "subresource", "target-port", "tcp", "timeout", "to-revision", "type", "value", "verb", "wait",
})  # fmt: skip
_SHORT: Final = ("-n", "-l", "-p", "-c")
"""Short flags with a value, which may follow them without a space."""
_HELM_FLAGS: Final = frozenset({
    "atomic", "cleanup-on-fail", "create-namespace", "description", "disable-openapi-validation", "force",
    "history-max", "namespace", "no-hooks", "set", "set-json", "set-string", "skip-crds", "timeout", "wait",
    "wait-for-jobs",
})  # fmt: skip


class Reader:
    """The reader of one scenario's steps."""

    def __init__(self, files: Files, find: Callable[[str], str | None], *, allow_shell: bool) -> None:
        """`find` returns a program's path, like `shutil.which`."""
        self._files = files
        self._find = find
        self._allow_shell = allow_shell

    def step(self, given: model.Step) -> scenario.Step:
        """Returns one step. Raises Problem."""
        step = scenario.Step(given.name or given.type, may_fail=given.allow_failure)
        if given.type == "kubectl-apply":
            manifests = self._files.manifests(given.path)
            return msgspec.structs.replace(step, apply=manifests)
        if given.type == "sleep":
            return msgspec.structs.replace(step, pause_s=seconds(given.duration))
        command = self._command(given, step.name)
        return msgspec.structs.replace(step, command=command)

    def script(self, name: str, path: str) -> scenario.Command:
        """Returns the command for a script without arguments. Raises Problem."""
        return self._shell(name, path, ())

    def _command(self, given: model.Step, name: str) -> scenario.Command:
        """Returns the command of a step. Raises Problem."""
        words = tuple(map(str, given.args))
        # `Popen` would raise ValueError for a null character, in the middle of a run.
        if "\0" in "".join((*words, given.release, given.namespace)):
            raise Problem("an argument holds a null character")
        if given.type == "kubectl":
            return self._kubectl(name, words)
        if given.type == "kubectl-create":
            return self._kubectl(name, ("create", *words))
        if given.type == "helm-install":
            return self._helm(given, name, words)
        if given.type == "shell":
            return self._shell(name, given.path, (scenario.KUBECONFIG, *words))
        raise Problem(f"{given.type!r} is no type of step in schema 2.1")

    def _kubectl(self, name: str, words: tuple[str, ...]) -> scenario.Command:
        """Returns the command of kubectl. Raises Problem."""
        verb = words[0] if words else ""
        if not verb:
            raise Problem("a command line of kubectl is empty")
        if verb in _OF_KUBELETS:
            raise Problem(f"kubectl {verb} needs containers that run, and there are none")
        why = "" if verb in _VERBS else f"kubectl {verb}"
        self._check("kubectl", why or _beyond(words, _FLAGS))
        folder = str(self._files.folder) if self._allow_shell else ""
        return scenario.Command(name, ("kubectl", *words), folder)

    def _helm(self, given: model.Step, name: str, words: tuple[str, ...]) -> scenario.Command:
        """Returns the command that installs a chart. Raises Problem."""
        chart = self._files.tree(given.path)
        release = given.release
        namespace = given.namespace
        # Attack: a release is called `--post-renderer=sh`, which would make helm run a shell.
        if not release or release.startswith("-") or namespace.startswith("-"):
            raise Problem("helm-install without a release")
        self._check("helm", _beyond(words, _HELM_FLAGS))
        where = ("--namespace", namespace) if namespace else ()
        argv = ("helm", "upgrade", "--install", release, str(chart), *where, *words)
        return scenario.Command(name, argv)

    def _shell(self, name: str, path: str, words: tuple[str, ...]) -> scenario.Command:
        """Returns the command that runs a script. Raises Problem."""
        script = self._files.path(path)
        if not script.is_file():
            raise Problem(f"{path} is no file")
        if not self._allow_shell:
            raise Problem(f"{path} is a script, and those run on this machine; --allow-shell lets them")
        self._check("bash", "")
        argv = ("bash", str(script), *words)
        return scenario.Command(name, argv, str(self._files.folder))

    def _check(self, program: str, beyond: str) -> None:
        """Raises Problem for commands that may not run."""
        if beyond and not self._allow_shell:
            raise Problem(f"{beyond} may reach more than the cluster; --allow-shell lets it")
        # This is checked now, and not in the middle of a run.
        if self._find(program) is None:
            raise Problem(f"the program {program} is not here")


def _beyond(words: tuple[str, ...], known: frozenset[str]) -> str:
    """Returns the first flag that is not known to stay within the cluster; empty for none.

    Words after `--` and values are checked like flags too, so kubectl's parsing need not be known.
    """
    for word in words:
        # Unknown flags are refused, because a list of bad ones would miss those of the next version.
        if word.startswith("--") and len(word) > 2:
            flag = word.partition("=")[0]
            if flag[2:] not in known:
                return f"the flag {flag[:100]}"
        elif word.startswith("-") and word not in {"-", "--", "-A"} and not word.startswith(_SHORT):
            return f"the flag {word[:2]}"
    return ""


def seconds(text: str) -> float:
    """Returns the seconds of a duration such as `1m30s`. Raises Problem for other strings, and for more than an
    hour."""
    parts = _DURATION.findall(text)
    # `findall` skips what is not part of a duration.
    if not parts or "".join(map("".join, parts)) != text:
        raise Problem(f"{text[:100]!r} is no duration such as 90s or 5m")
    total = 0.0
    for number, unit in parts:
        total += float(number) * _UNITS[unit]
    if total > _MAX_S:
        raise Problem(f"{text[:100]} is longer than an hour")
    return total
