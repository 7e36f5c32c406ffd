"""Reads tool calls: what each asks of the cluster, judged by its name and parameters."""

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
"""Words that are not verbs when they follow a reading verb: `get_rollout`, `list_by_label`."""
_READS: Final = frozenset({
    "can", "check", "count", "describe", "diagnose", "diff", "events", "explain", "fetch", "find", "get", "history",
    "info", "inspect", "list", "log", "logs", "lookup", "plan", "preview", "query", "read", "search", "show",
    "simulate", "status", "tail", "top", "validate", "view", "wait", "watch", "whoami",
})  # fmt: skip
_ELSE: Final = frozenset({"apply", "patch", "update"})
"""What may be done when the object already exists: `create or update` is an apply."""
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
        found = list(_http(found_parameters))
        found = found or list(_read_parameters(said, found_parameters, result))
    if found_parameters.is_dry:
        return [dataclasses.replace(one, is_dry=True) for one in found]
    return found


def effect(tool: str) -> write.Does | None:
    """Returns a tool's effect by the words of its name; None if it reads or the name is unclear."""
    return _of_words(parameters.words(tool))


def _read_commands(said: list[str], given: parameters.Parameters) -> list[write.Write] | None:
    """Returns the writes of command lines and scripts; None if the call has none."""
    is_kubectl = not _MANAGERS.isdisjoint(said)
    stdin = given.text("stdin", "input", "manifest", "yaml")
    lines = [value for value in map(given.get, _COMMAND) if value is not None]
    # Some servers take `kubectl` and its arguments in separate parameters.
    command = given.text("command")
    more = given.get("args")
    if is_kubectl and command and isinstance(more, str | list):
        rest = more.split() if isinstance(more, str) else more
        lines = [[*command.split(), *rest]]
    parts = [_of_line(value, stdin, is_kubectl=is_kubectl) for value in lines]
    known = [part for part in parts if part is not None]
    if not known:
        return None
    return [one for part in known for one in part]


def _of_line(value: Any, stdin: str, *, is_kubectl: bool) -> list[write.Write] | None:
    """Returns the writes of a command or script, as text or word by word; None if it is neither."""
    if isinstance(value, str):
        return _of_text(value, stdin, is_kubectl=is_kubectl)
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        return None
    found = _of_list(value, stdin, is_kubectl=is_kubectl)
    if found is not None:
        return found
    # The value may also be a script, line by line.
    return _of_text("\n".join(value), stdin, is_kubectl=is_kubectl)


def _of_list(value: list[str], stdin: str, *, is_kubectl: bool) -> list[write.Write] | None:
    """Returns the writes of a command given word by word; None if it is not a known command."""
    first = value[0].rpartition("/")[2]
    if first in _MANAGERS:
        return commands.of_arguments(value[1:], stdin)
    # `bash -c SCRIPT`.
    if first in {"bash", "sh"} and len(value) > 2:
        return commands.of_script(value[-1], stdin)
    has_command = any(one.startswith(_PROGRAMS) for one in value)
    if is_kubectl and not has_command:
        return commands.of_arguments(value, stdin)
    return None


def _of_text(value: str, stdin: str, *, is_kubectl: bool) -> list[write.Write] | None:
    """Returns the writes of a script; None if it is not a script."""
    if scripts.is_script(value):
        return scripts.of_script(value)
    if any(mark in value for mark in _PROGRAMS):
        return commands.of_script(value, stdin)
    bare = value.strip()
    # Tools that are called kubectl take only its arguments.
    if is_kubectl and " " in bare:
        return commands.of_script(f"kubectl {bare}", stdin)
    return commands.of_script(value, stdin) or None


def _http(given: parameters.Parameters) -> Iterator[write.Write]:
    """Yields the write of a raw request to the API server."""
    path = given.text("path", "url", "uri")
    method = given.text("method")
    if "/api" not in path or not method:
        return
    bodies = map(given.get, ("body", "data", "json", "content"))
    body = next((value for value in bodies if value is not None), None)
    bare, _, query = path.partition("?")
    yield from write.of_request(method, bare, query, body)


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
        yield from _write_manifests(does, manifests, space)
        return
    resource, names = given.target(said)
    body = given.body
    # A patch may be a whole manifest, which names its object.
    if isinstance(body, dict) and manifests:
        made = write.of_manifest(does, manifests[0], space)
        resource = resource or made.resource
        names = names or [made.name or ""]
        space = made.namespace
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


def _write_manifests(does: write.Does, manifests: list[dict[str, Any]], space: str | None) -> Iterator[write.Write]:
    """Yields the write of each manifest; for a deletion, only the names in it count."""
    for one in manifests:
        made = write.of_manifest(does, one, space)
        if does == "delete":
            yield write.Write("delete", made.resource, made.name, made.namespace)
        else:
            yield made


def _does(said: list[str], given: parameters.Parameters) -> write.Does | None:
    """Returns a call's effect; None if it reads or is unclear."""
    for operation in given.operations:
        is_verb = any(one in _VERBS for one in operation)
        if is_verb or (operation and operation[0] in _READS):
            return _of_words(operation)
    return _of_words(said)


def _of_words(said: list[str]) -> write.Does | None:
    """Returns the effect that words describe. `create or update` is an apply, and `rollout` needs another word."""
    verbs = [one for one in said if one in _VERBS]
    # `get_scale` reads; `get_and_delete` deletes.
    strong = [one for one in verbs if one not in _WEAK]
    is_reading = not _READS.isdisjoint(said)
    if not verbs or (is_reading and not strong):
        return None
    if "create" in verbs and not _ELSE.isdisjoint(verbs):
        return "apply"
    if "rollout" in verbs:
        return _of_rollout(said, verbs)
    return _VERBS[(strong or verbs)[0]]


def _of_rollout(said: list[str], verbs: list[str]) -> write.Does | None:
    """Returns what is done to a rollout; None when nothing is."""
    if {"pause", "resume"} & set(said):
        return "patch"
    for one in verbs:
        if one != "rollout":
            return _VERBS[one]
    if "restart" in said or "redeploy" in said:
        return "restart"
    return None


def _is_reading(said: list[str], given: parameters.Parameters) -> bool:
    """Says whether a word of the call shows that it reads."""
    if not _READS.isdisjoint(said):
        return True
    return any(not _READS.isdisjoint(operation) for operation in given.operations)


def _by_result(result: Any) -> write.Does:
    """Returns what the result says was done with a manifest."""
    # Only the answer of a tool called `manage` shows what it did.
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
        if isinstance(value, dict):
            found += [f"metadata.{key}.{name}" for name in value]
    if given.get("replicas") is not None:
        found.append("spec.replicas")
    if given.images:
        found.append("spec.template.spec.containers.image")
    if found:
        return tuple(found)
    if {"cordon", "uncordon", "drain"} & set(said):
        return ("spec.unschedulable",)
    if {"undo", "rollback"} & set(said):
        return ("spec.template",)
    return ()
