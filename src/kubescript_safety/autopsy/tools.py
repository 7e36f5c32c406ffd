"""Calls of tools: what each asks of the cluster, by its name and its arguments in any of the usual spellings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from kubescript_safety.autopsy import commands, kinds, outcome, scripts, write

__all__ = ["words", "writes"]

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
"""Words that are no verbs behind one that reads: `get_rollout`, `list_by_label`."""
_READS: Final = frozenset({
    "can", "check", "count", "describe", "diagnose", "diff", "events", "explain", "fetch", "find", "get", "history",
    "info", "inspect", "list", "log", "logs", "lookup", "plan", "preview", "query", "read", "search", "show",
    "simulate", "status", "tail", "top", "validate", "view", "wait", "watch", "whoami",
})  # fmt: skip
_CONTAINERS: Final = ("options", "params", "parameters", "arguments", "input", "request", "target", "metadata", "ref")
_DRY: Final = ("dryRun", "dry_run", "dryrun", "dry-run", "preview", "validateOnly", "validate_only", "simulate")
_OPERATION: Final = ("operation", "action", "verb", "op", "method", "subcommand", "command", "mode")
_KIND: Final = (
    "kind", "resourceType", "resource_type", "resourceKind", "resource_kind", "objectKind", "type", "plural",
    "resourcePlural", "resource", "resources", "object_type", "objectType",
)  # fmt: skip
_NAME: Final = (
    "name", "resourceName", "resource_name", "objectName", "object_name", "names", "podName", "pod_name",
    "deploymentName", "deployment_name", "target", "workload", "resource", "id",
)  # fmt: skip
_SPACE: Final = ("namespace", "ns", "resourceNamespace", "resource_namespace", "project")
_BODY: Final = (
    "manifest", "manifests", "body", "yaml", "resource", "resources", "object", "objects", "patch", "content", "data",
    "document", "json", "patches", "changes", "definition", "template", "config", "payload", "fields", "values",
)  # fmt: skip
_COMMAND: Final = (
    "command",
    "cmd",
    "commands",
    "script",
    "code",
    "source",
    "args",
    "argv",
    "shell",
    "python",
    "line",
    "bash",
)
_SELECTOR: Final = ("labelSelector", "label_selector", "selector", "labels_selector")
_PROGRAMS: Final = ("kubectl", "oc ")
_MANAGERS: Final = frozenset({"kubectl", "oc"})


def words(name: str) -> list[str]:
    """Returns the words of a name in camelCase, snake_case or with dashes."""
    kept: list[str] = []
    for before, character in zip(" " + name, name, strict=False):
        if character.isupper() and (before.islower() or before.isdigit()):
            kept.append(" ")
        kept.append(character.lower() if character.isalnum() else " ")
    found = "".join(kept).split()
    return [
        one
        for at, one in enumerate(found)
        if not (one == "set" and at and found[at - 1] in {"replica", "stateful", "daemon"})
    ]


def writes(tool: str, given: Any, result: Any = None) -> list[write.Write]:
    """Returns what a call asks to be changed; nothing for one that only reads."""
    arguments = _flat(given)
    is_dry = any(outcome.is_dry(arguments.get(key)) for key in _DRY)
    found = _commanded(tool, arguments)
    if found is None:
        found = list(_http(arguments)) or list(_told(tool, arguments, result))
    if not is_dry:
        return found
    return [write.Write(one.does, one.resource, one.name, one.namespace, body=one.body, is_dry=True) for one in found]


def _flat(given: Any) -> dict[str, Any]:
    """Returns the parameters, with those of `options` and the like beside them."""
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given)
        except (msgspec.DecodeError, RecursionError):
            given = {"command": given}
    if isinstance(given, list):
        given = {"args": given}
    found = dict(given) if isinstance(given, dict) else {}
    for _ in range(2):
        for key in _CONTAINERS:
            inner = found.get(key)
            if isinstance(inner, dict):
                is_manifest = key not in {"target", "ref"} and "metadata" in inner and "kind" in inner
                if not is_manifest:
                    found = inner | {name: value for name, value in found.items() if name != key}
    return found


def _commanded(tool: str, arguments: Mapping[str, Any]) -> list[write.Write] | None:
    """Returns the writes of command lines and scripts; None when the call has none."""
    is_kubectl = not _MANAGERS.isdisjoint(words(tool))
    stdin = _text(arguments, ("stdin", "input", "manifest", "yaml")) or ""
    lines = [arguments[key] for key in _COMMAND if key in arguments]
    more = arguments.get("args")
    if is_kubectl and isinstance(arguments.get("command"), str) and isinstance(more, str | list):
        lines = [[*arguments["command"].split(), *(more if isinstance(more, list) else more.split())]]
    found: list[write.Write] = []
    is_command = False
    for value in lines:
        is_list = isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)
        part = _of_list(value, stdin, is_kubectl=is_kubectl) if is_list else None
        if part is None and (is_list or isinstance(value, str)):
            part = _of_text("\n".join(value) if is_list else value, stdin, is_kubectl=is_kubectl)
        if part is not None:
            found += part
            is_command = True
    return found if is_command else None


def _of_list(value: list[str], stdin: str, *, is_kubectl: bool) -> list[write.Write] | None:
    """Returns the writes of a command that is given word by word; None when it is none."""
    first = value[0].rpartition("/")[2]
    if first in _MANAGERS:
        return commands.of_arguments(value[1:], stdin)
    if first in {"bash", "sh"} and len(value) > 2:
        return commands.of_script(value[-1], stdin)
    if is_kubectl and not any(one.startswith(_PROGRAMS) for one in value):
        return commands.of_arguments(value, stdin)
    return None


def _of_text(value: str, stdin: str, *, is_kubectl: bool) -> list[write.Write] | None:
    """Returns the writes of a script; None when it is none."""
    if scripts.is_script(value):
        return scripts.of_script(value)
    if any(mark in value for mark in _PROGRAMS):
        return commands.of_script(value, stdin)
    if is_kubectl and " " in value.strip():
        return commands.of_script("kubectl " + value.strip(), stdin)
    return commands.of_script(value, stdin) or None


def _http(arguments: Mapping[str, Any]) -> Iterator[write.Write]:
    """Yields the write of a request that is given as it goes to the API server."""
    method = arguments.get("method")
    path = next((arguments[key] for key in ("path", "url", "uri") if isinstance(arguments.get(key), str)), "")
    if not isinstance(method, str) or "/api" not in path:
        return
    body = next((arguments[key] for key in ("body", "data", "json", "content") if key in arguments), None)
    bare, _, query = path.partition("?")
    yield from write.of_request(method, bare, query, body)


def _told(tool: str, arguments: Mapping[str, Any], result: Any) -> Iterator[write.Write]:
    """Yields the writes of a tool that is told what to do by parameters."""
    does = _does(tool, arguments)
    manifests = _manifests(arguments)
    if does is None:
        if not manifests or _is_reading(tool, arguments):
            return
        does = _by_result(result)
    space = _text(arguments, _SPACE)
    if manifests and does != "patch":
        for one in manifests:
            made = write.of_manifest(does, one, space)
            yield made if does != "delete" else write.Write("delete", made.resource, made.name, made.namespace)
        return
    resource, names = _target(tool, arguments)
    body = _body(arguments)
    if isinstance(body, dict) and manifests:
        made = write.of_manifest(does, manifests[0], space)
        resource, names, space = resource or made.resource, names or [made.name or ""], made.namespace
    if not resource:
        return
    if does == "restart" and resource == "pods":
        does = "delete"  # a pod can be restarted in no other way
    paths = _paths(tool, does, arguments, body)
    selector = next((write.selector(arguments[key]) for key in _SELECTOR if arguments.get(key)), ())
    everywhere = bool(arguments.get("allNamespaces") or arguments.get("all_namespaces"))
    chosen: list[str | None] = [*names] or [None]
    for name in chosen:
        yield write.Write(
            does, resource, name, space, selector, everywhere,
            body if does in {"patch", "apply", "replace", "create"} else None, paths, _images(arguments),
            guessed=False,
        )  # fmt: skip


def _does(tool: str, arguments: Mapping[str, Any]) -> write.Does | None:
    """Returns what the call does; None when it reads, or when nothing tells."""
    for key in _OPERATION:
        value = arguments.get(key)
        if isinstance(value, str) and len(value) < 80:
            said = words(value)
            if said and (said[0] in _READS or any(one in _VERBS for one in said)):
                return _of_words(said)
    return _of_words(words(tool))


def _of_words(said: list[str]) -> write.Does | None:
    """Returns what words say. `create or update` is an apply, and a rollout needs another word."""
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


def _is_reading(tool: str, arguments: Mapping[str, Any]) -> bool:
    said = words(tool)
    for key in _OPERATION:
        if isinstance(arguments.get(key), str):
            said += words(arguments[key][:200])
    return not _READS.isdisjoint(said)


def _by_result(result: Any) -> write.Does:
    """Returns what was done with a manifest, as the result says."""
    text = outcome.words_of(result).lower()
    if "deleted" in text:
        return "delete"
    if "patched" in text:
        return "patch"
    return "create" if "created" in text else "apply"


def _manifests(arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the Kubernetes objects in the arguments; the arguments themselves may be one."""
    found = []
    for key in _BODY:
        value = arguments.get(key)
        if isinstance(value, str | list | dict):
            found += write.documents(value)
    if not found and isinstance(arguments.get("kind"), str) and isinstance(arguments.get("metadata"), dict):
        found = [dict(arguments)]
    return [one for one in found if "metadata" in one or "apiVersion" in one or "spec" in one]


def _body(arguments: Mapping[str, Any]) -> Any:
    """Returns the patch or the manifest."""
    for key in _BODY:
        value = arguments.get(key)
        if isinstance(value, str) and (":" in value or value.lstrip().startswith(("{", "["))):
            value = (write.parsed(value) or [None])[0]
        if isinstance(value, dict) and value:
            return {"data": value} if key == "data" and not {"data", "metadata", "spec"} & value.keys() else value
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return value
    spec = arguments.get("spec")
    return {"spec": spec} if isinstance(spec, dict) else None


def _target(tool: str, arguments: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Returns the resource and the names of the objects that are meant."""
    kind = _kind(arguments)
    names = _names(arguments, kind)
    if not kind:
        kind = next((word for word in words(tool) if kinds.is_kind(word) and word not in {"no", "limits", "k"}), "")
    if not kind:  # {"deployment": "web"}
        own = [key for key in arguments if kinds.is_kind(key) and key not in _SPACE]
        kind = next((key for key in own if isinstance(arguments[key], str)), "")
        names = names or ([arguments[kind]] if kind else [])
    head, slash, tail = kind.partition("/")
    if slash and kinds.is_kind(head) and "/" not in tail:  # deployment/web
        kind, names = head, names if names and names != [kind] else [tail]
    split = [one.partition("/") for one in names]
    if split and split[0][1] and kinds.is_kind(split[0][0]):
        kind, names = kind or split[0][0], [rest or first for first, _, rest in split]
    return (kinds.resource(kind) if kind else ""), names


def _kind(arguments: Mapping[str, Any]) -> str:
    """Returns the kind that a parameter says; empty when none does."""
    for key in _KIND:
        value = arguments.get(key)
        if not isinstance(value, str) or not 0 < len(value) < 300 or "\n" in value:
            continue
        if key != "type" or "patch" not in value:  # the type of a patch
            return value
    return ""


def _names(arguments: Mapping[str, Any], kind: str) -> list[str]:
    """Returns the names that a parameter says. `resource` may be a name, or the kind."""
    for key in _NAME:
        value = arguments.get(key)
        if key == "resource" and value == kind and "/" not in kind:
            continue
        names = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str) and one]
        if names:
            return names
    return []


def _text(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((arguments[key] for key in keys if isinstance(arguments.get(key), str) and arguments[key]), None)


def _paths(tool: str, does: write.Does, arguments: Mapping[str, Any], body: Any) -> tuple[str, ...]:
    """Returns the fields that parameters set, where there is no body."""
    if does == "scale":
        return ("spec.replicas",)
    if body is not None or does not in {"patch", "apply", "replace"}:
        return ()
    found = []
    for key in ("labels", "annotations"):
        value = arguments.get(key)
        found += [f"metadata.{key}.{name}" for name in value] if isinstance(value, dict) else []
    if "replicas" in arguments:
        found.append("spec.replicas")
    if "image" in arguments:
        found.append("spec.template.spec.containers.image")
    said = set(words(tool))
    if not found and said & {"cordon", "uncordon", "drain"}:
        found.append("spec.unschedulable")
    if not found and said & {"undo", "rollback"}:
        found.append("spec.template")
    return tuple(found)


def _images(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    image = arguments.get("image")
    return (image,) if isinstance(image, str) else ()
