"""Tool calls: what each asks of the cluster, judged by its name and parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubescript_safety.autopsy import commands, outcome, parameters, scripts, write

__all__ = ["effect", "writes"]

_VERBS: Final[Mapping[str, write.Does]] = {
    "add": "create", "annotate": "patch", "apply": "apply", "bounce": "restart", "configure": "apply",
    "cordon": "patch", "create": "create", "delete": "delete", "deploy": "apply", "destroy": "delete", "drain": "patch",
    "edit": "patch", "ensure": "apply", "evict": "delete", "expose": "create", "kill": "delete", "label": "patch",
    "modify": "patch", "patch": "patch", "post": "create", "put": "replace", "recreate": "replace", "remove": "delete",
    "replace": "replace", "restart": "restart", "rollback": "patch", "rollout": "restart", "scale": "scale",
    "resize": "scale", "run": "create", "set": "patch", "taint": "patch", "terminate": "delete", "uncordon": "patch",
    "undo": "patch", "untaint": "patch", "update": "patch", "upsert": "apply", "change": "patch",
}  # fmt: skip
_WEAK: Final = frozenset({
    "add", "annotate", "change", "configure", "deploy", "label", "post", "put", "resize", "rollout", "run", "scale",
    "set", "taint", "update",
})  # fmt: skip
"""Words that are not verbs after one that reads: `get_rollout`, `list_by_label`."""
_READS: Final = frozenset({
    "can", "check", "count", "describe", "diagnose", "diff", "events", "explain", "fetch", "find", "get", "history",
    "info", "inspect", "list", "log", "logs", "lookup", "plan", "preview", "query", "read", "search", "show",
    "simulate", "status", "tail", "top", "validate", "view", "wait", "watch", "whoami",
})  # fmt: skip
_COMMAND: Final = (
    "command", "cmd", "commands", "script", "code", "source", "args", "argv", "shell", "python", "line", "bash",
)  # fmt: skip
_PROGRAMS: Final = ("kubectl", "oc ")
_MANAGERS: Final = frozenset({"kubectl", "oc"})


def writes(tool: str, given: Any, result: Any = None) -> list[write.Write]:
    """Returns the writes that a call asks for; empty if it only reads."""
    found_parameters = parameters.Parameters(given)
    said = parameters.words(tool)
    found = _read_commands(said, found_parameters)
    if found is None:
        found = list(_http(found_parameters)) or list(_read_parameters(said, found_parameters, result))
    return [dataclasses.replace(one, is_dry=True) for one in found] if found_parameters.is_dry else found


def effect(tool: str) -> write.Does | None:
    """Returns a tool's effect by the words of its name; None if it reads or the name is unclear."""
    return _of_words(parameters.words(tool))


def _read_commands(said: list[str], given: parameters.Parameters) -> list[write.Write] | None:
    """Returns the writes of command lines and scripts; None if the call has none."""
    is_kubectl = not _MANAGERS.isdisjoint(said)
    stdin = given.text("stdin", "input", "manifest", "yaml")
    lines = [value for value in map(given.get, _COMMAND) if value is not None]
    more = given.get("args")
    if is_kubectl and given.text("command") and isinstance(more, str | list):
        lines = [[*given.text("command").split(), *(more if isinstance(more, list) else more.split())]]
    parts = [_of_line(value, stdin, is_kubectl=is_kubectl) for value in lines]
    if all(part is None for part in parts):
        return None
    return [one for part in parts for one in part or ()]


def _of_line(value: Any, stdin: str, *, is_kubectl: bool) -> list[write.Write] | None:
    """Returns the writes of a command or script, as text or word by word; None if it is neither."""
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        found = _of_list(value, stdin, is_kubectl=is_kubectl)
        return found if found is not None else _of_text("\n".join(value), stdin, is_kubectl=is_kubectl)
    return _of_text(value, stdin, is_kubectl=is_kubectl) if isinstance(value, str) else None


def _of_list(value: list[str], stdin: str, *, is_kubectl: bool) -> list[write.Write] | None:
    """Returns the writes of a command given word by word; None if it is not a known command."""
    first = value[0].rpartition("/")[2]
    if first in _MANAGERS:
        return commands.of_arguments(value[1:], stdin)
    if first in {"bash", "sh"} and len(value) > 2:
        return commands.of_script(value[-1], stdin)
    if is_kubectl and not any(one.startswith(_PROGRAMS) for one in value):
        return commands.of_arguments(value, stdin)
    return None


def _of_text(value: str, stdin: str, *, is_kubectl: bool) -> list[write.Write] | None:
    """Returns the writes of a script; None if it is not a script."""
    if scripts.is_script(value):
        return scripts.of_script(value)
    if any(mark in value for mark in _PROGRAMS):
        return commands.of_script(value, stdin)
    if is_kubectl and " " in value.strip():
        return commands.of_script("kubectl " + value.strip(), stdin)
    return commands.of_script(value, stdin) or None


def _http(given: parameters.Parameters) -> Iterator[write.Write]:
    """Yields the write of a raw request to the API server."""
    path = given.text("path", "url", "uri")
    if "/api" in path and given.text("method"):
        body = next((value for value in map(given.get, ("body", "data", "json", "content")) if value is not None), None)
        bare, _, query = path.partition("?")
        yield from write.of_request(given.text("method"), bare, query, body)


def _read_parameters(said: list[str], given: parameters.Parameters, result: Any) -> Iterator[write.Write]:
    """Yields the writes of a tool whose action is given by parameters."""
    does = _does(said, given)
    manifests = given.manifests
    if does is None:
        if not manifests or _is_reading(said, given):
            return
        does = _by_result(result)
    space = given.namespace
    if manifests and does != "patch":
        for one in manifests:
            made = write.of_manifest(does, one, space)
            yield made if does != "delete" else write.Write("delete", made.resource, made.name, made.namespace)
        return
    resource, names = given.target(said)
    body = given.body
    if isinstance(body, dict) and manifests:
        made = write.of_manifest(does, manifests[0], space)
        resource, names, space = resource or made.resource, names or [made.name or ""], made.namespace
    if not resource:
        return
    if does == "restart" and resource == "pods":
        does = "delete"  # a pod can only be restarted by deleting it
    kept = body if does in {"patch", "apply", "replace", "create"} else None
    paths = _paths(said, does, given, body)
    whole = write.Write(does, resource, None, space, given.selector, given.is_everywhere, kept, paths, given.images)
    for name in names:
        yield dataclasses.replace(whole, name=name)
    if not names:
        yield whole


def _does(said: list[str], given: parameters.Parameters) -> write.Does | None:
    """Returns a call's effect; None if it reads or is unclear."""
    for operation in given.operations:
        if operation and (operation[0] in _READS or any(one in _VERBS for one in operation)):
            return _of_words(operation)
    return _of_words(said)


def _of_words(said: list[str]) -> write.Does | None:
    """Returns the effect that words describe. `create or update` is an apply, and `rollout` needs another word."""
    verbs = [one for one in said if one in _VERBS]
    reading = next((at for at, one in enumerate(said) if one in _READS), None)
    strong = [one for one in verbs if one not in _WEAK]
    if reading is not None and not strong:
        return None
    if not verbs:
        return None
    if {"create", "update"} <= set(verbs) or {"create", "apply"} <= set(verbs) or {"create", "patch"} <= set(verbs):
        return "apply"
    if "rollout" in verbs:
        rest = [one for one in verbs if one != "rollout"]
        if {"pause", "resume"} & set(said):
            return "patch"
        return _VERBS[rest[0]] if rest else ("restart" if "restart" in said or "redeploy" in said else None)
    return _VERBS[(strong or verbs)[0]]


def _is_reading(said: list[str], given: parameters.Parameters) -> bool:
    return not _READS.isdisjoint([*said, *(word for operation in given.operations for word in operation)])


def _by_result(result: Any) -> write.Does:
    """Returns what the result says was done with a manifest."""
    text = outcome.words_of(result).lower()
    if "deleted" in text:
        return "delete"
    if "patched" in text:
        return "patch"
    return "create" if "created" in text else "apply"


def _paths(said: list[str], does: write.Does, given: parameters.Parameters, body: Any) -> tuple[str, ...]:
    """Returns the fields that parameters set when there is no body."""
    if does == "scale":
        return ("spec.replicas",)
    if body is not None or does not in {"patch", "apply", "replace"}:
        return ()
    found = []
    for key in ("labels", "annotations"):
        value = given.get(key)
        found += [f"metadata.{key}.{name}" for name in value] if isinstance(value, dict) else []
    if given.get("replicas") is not None:
        found.append("spec.replicas")
    if given.images:
        found.append("spec.template.spec.containers.image")
    if not found and {"cordon", "uncordon", "drain"} & set(said):
        found.append("spec.unschedulable")
    if not found and {"undo", "rollback"} & set(said):
        found.append("spec.template")
    return tuple(found)
