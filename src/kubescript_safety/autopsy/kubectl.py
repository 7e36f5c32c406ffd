"""Command lines of `kubectl` and `oc`: what they write, and what they print for the next command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from kubescript_safety.autopsy import kinds, shell, write

__all__ = ["Read", "list_reads", "writes"]

_VALUED: Final = frozenset({
    "-n", "--namespace", "-f", "--filename", "-l", "--selector", "-p", "--patch", "-o", "--output", "--type", "-k",
    "--kustomize", "-c", "--container", "--replicas", "--context", "--kubeconfig", "--cluster", "--user",
    "--field-manager",
    "--field-selector", "--image", "--port", "--target-port", "--timeout", "--grace-period", "--from-literal",
    "--from-file", "--as", "--as-group", "--token", "--server", "-s", "--patch-file", "--overrides", "--min", "--max",
    "--cpu-percent", "--current-replicas", "--resource-version", "--to-revision", "--requests", "--limits", "--name",
    "--subresource", "--request-timeout", "--schedule", "--clusterrole", "--role", "--serviceaccount", "--verb",
    "--resource", "--env", "--labels", "--prune-allowlist", "--field-validation", "--template", "--raw", "--from",
})  # fmt: skip
_SHORT: Final = {
    "-n": "--namespace", "-f": "--filename", "-l": "--selector", "-p": "--patch", "-A": "--all-namespaces",
    "-k": "--kustomize", "-o": "--output", "-c": "--container",
}  # fmt: skip
_DRY: Final = frozenset({"", "server", "client", "true", "unset"})
_ALL: Final = (
    "pods", "services", "deployments", "daemonsets", "statefulsets", "replicasets", "jobs", "cronjobs",
)  # fmt: skip
"""The resources that `kubectl delete all` covers."""
_MAX_KINDS: Final = 10
"""How many kinds a command may have, and how many names if it has several kinds. Attack: a command has ten thousand of
each."""
_TYPED: Final = frozenset({"secret", "service", "svc", "quota"})
_SPECIAL_TYPES: Final = frozenset(
    {
        "generic",
        "tls",
        "docker-registry",
        "clusterip",
        "nodeport",
        "loadbalancer",
        "externalname",
    }
)


class Read(NamedTuple):
    """Objects that a command reads and passes on."""

    kind: str
    name: str
    """Empty: all that match the selector."""
    namespace: str | None
    selector: tuple[tuple[str, str], ...]
    narrowed: bool
    """Whether only some of the objects are passed on, because of a field selector or a following filter."""


@dataclass(frozen=True, slots=True)
class _Command:
    """A kubectl command."""

    verb: str
    """Includes the second word, as in `rollout restart`."""
    words: list[str]
    """The arguments after the verb that are not flags."""
    flags: dict[str, list[str]]

    @property
    def namespace(self) -> str | None:
        """The namespace in the flags."""
        return self.flags["--namespace"][-1] if self.flags.get("--namespace") else None

    @property
    def selector(self) -> tuple[tuple[str, str], ...]:
        """Labels that the selector requires."""
        return tuple(pair for text in self.flags.get("--selector", []) for pair in write.selector(text))

    def asks(self, resource: str, name: str | None, **more: Any) -> write.Write:
        """Returns the write of one object, or of all that match the selector."""
        given = {
            "does": _VERBS[self.verb],
            "namespace": self.namespace,
            "selector": self.selector,
            "everywhere": "--all-namespaces" in self.flags,
            "narrowed": "--field-selector" in self.flags,
            "is_dry": any(value in _DRY for value in self.flags.get("--dry-run", [])),
        }
        return write.Write(resource=resource, name=name, **(given | more))


def _documents(flags: dict[str, list[str]], stdin: str, files: shell.Files) -> list[dict[str, Any]]:
    found = []
    for file in flags.get("--filename", []):
        found += write.documents(stdin if file in {"-", "/dev/stdin"} else files.take(file) or "")
    return found


def writes(
    words: list[str], stdin: str, files: shell.Files, read: list[Read], *, piped: bool = False
) -> Iterator[write.Write]:
    """Yields a command's writes; `piped` says whether it gets names from the command before it."""
    plain, flags = _flags(words)
    if plain[:1] == ["adm"]:
        plain = plain[1:]
    if plain[:1] in (["rollout"], ["set"]):
        plain = [" ".join(plain[:2]), *plain[2:]]
    if not plain or plain[0] not in _VERBS:
        return
    command = _Command(plain[0], plain[1:], flags)
    if "--filename" in flags:
        yield from _of_files(command, _documents(flags, stdin, files), read)
    elif piped and len(command.words) < 2 and not any("/" in word for word in command.words):
        for one in read:
            space = command.namespace or one.namespace
            yield command.asks(
                one.kind, None, namespace=space, guessed=True, selector=one.selector, narrowed=one.narrowed
            )
    elif command.verb in {"create", "expose", "autoscale", "run"}:
        yield from _find_creations(command)
    else:
        yield from _of_names(command)


def _of_files(command: _Command, manifests: list[dict[str, Any]], read: list[Read]) -> Iterator[write.Write]:
    """Yields the writes of objects in files. If another command prints the objects, only their names may be known."""
    does = _VERBS[command.verb]
    for one in manifests:
        made = write.of_manifest(does, one, command.namespace)
        known: dict[str, Any] = {"namespace": made.namespace, "selector": ()}
        if command.verb == "replace" and "--force" in command.flags:
            yield command.asks(made.resource, made.name, **known, does="delete")
            yield command.asks(made.resource, made.name, **known, does="replace", body=one)
        elif does in {"create", "apply", "replace"}:
            yield command.asks(made.resource, made.name, **known, body=one)
        else:
            _, paths, images, body = _content(command.verb, ["a", "b", *command.words], command.flags)
            yield command.asks(made.resource, made.name, **known, body=body, fields=paths, values=images)
    for each in read if not manifests else ():
        yield command.asks(each.kind, each.name or None, **_narrow(command, each))


def _narrow(command: _Command, read: Read) -> dict[str, Any]:
    """Returns the facts about objects that another command has read."""
    space = command.namespace or read.namespace
    return {"namespace": space, "selector": read.selector, "narrowed": read.narrowed}


def _find_creations(command: _Command) -> Iterator[write.Write]:
    """Yields creations without a file, such as `kubectl create KIND [TYPE] NAME`."""
    words, flags = command.words, command.flags
    if not words:
        return
    images = tuple(flags.get("--image", []))
    if command.verb == "run":
        yield command.asks("pods", words[0], values=images)
    elif command.verb in {"expose", "autoscale"}:
        resource = "services" if command.verb == "expose" else "horizontalpodautoscalers"
        name = (flags.get("--name") or [words[-1].rpartition("/")[2]])[-1]
        yield command.asks(resource, name)
    elif len(words) > 1:
        has_type = words[0].lower() in _TYPED and words[1].lower() in _SPECIAL_TYPES and len(words) > 2
        yield command.asks(kinds.resource(words[0]), words[2 if has_type else 1], values=images)


def _of_names(command: _Command) -> Iterator[write.Write]:
    """Yields the writes of objects given by name, or by kind and labels."""
    flags = command.flags
    words, paths, images, body = _content(command.verb, command.words, flags)
    if command.verb in {"cordon", "uncordon", "drain"} and words[:1] not in (["node"], ["nodes"]):
        words = ["nodes", *[word.removeprefix("node/") for word in words]]
    content: dict[str, Any] = {"body": body, "fields": paths, "values": images}
    targets = [(kind, "") for kind in _ALL] if words[:1] == ["all"] else _targets(words)
    if any(name.startswith(("$", "`")) for _, name in targets):  # another command's output
        yield command.asks(targets[0][0], None, **content, guessed=True, narrowed=True)
        return
    is_chosen = any(flag in flags for flag in ("--selector", "--all", "--field-selector"))
    for kind, name in targets:
        if name or is_chosen or command.verb == "rollout restart":
            yield command.asks(kind, name or None, **content, guessed="--field-selector" in flags and not name)


def _content(
    verb: str, rest: list[str], flags: dict[str, list[str]]
) -> tuple[list[str], tuple[str, ...], tuple[str, ...], Any]:
    """Returns the words that name objects, the paths and images that the command sets, and the body."""
    if verb == "patch":
        texts = flags.get("--patch", [])
        bodies = write.parse(texts[-1]) if texts else []
        return rest, () if bodies else ("spec",), (), bodies[0] if bodies else None
    pairs = [word for word in rest if "=" in word or (word.endswith("-") and len(word) > 1)]
    names = [word for word in rest if word not in pairs] if verb in _PAIRED else rest
    if verb in _MAPS:
        return names, tuple(f"{_MAPS[verb]}.{_key(word)}" for word in pairs), (), None
    images = tuple(word.partition("=")[2] for word in pairs) if verb == "set image" else ()
    return names, (_SETS[verb],) if verb in _SETS else (), images, None


def _key(word: str) -> str:
    return word.partition("=")[0].removesuffix("-")


_SETS: Final = {
    "set image": "spec.template.spec.containers.image",
    "set env": "spec.template.spec.containers.env",
    "set resources": "spec.template.spec.containers.resources",
    "set selector": "spec.selector",
    "set serviceaccount": "spec.template.spec.serviceAccountName",
    "set subject": "subjects",
    "taint": "spec.taints",
    "cordon": "spec.unschedulable",
    "drain": "spec.unschedulable",
    "rollout pause": "spec.paused",
    "rollout resume": "spec.paused",
    "rollout undo": "spec.template",
    "scale": "spec.replicas",
    "uncordon": "spec.unschedulable",
}
"""Fields that commands without a body set."""
_MAPS: Final = {"annotate": "metadata.annotations", "label": "metadata.labels"}
"""Commands that set map entries, each as `key=value`."""
_VERBS: Final[dict[str, write.Does]] = {
    "annotate": "patch", "apply": "apply", "autoscale": "create", "cordon": "patch", "create": "create",
    "delete": "delete", "drain": "patch", "edit": "patch", "expose": "create", "label": "patch", "patch": "patch",
    "replace": "replace", "rollout pause": "patch", "rollout restart": "restart", "rollout resume": "patch",
    "rollout undo": "patch", "run": "create", "scale": "scale", "set env": "patch", "set image": "patch",
    "set resources": "patch", "set selector": "patch", "set serviceaccount": "patch", "set subject": "patch",
    "taint": "patch", "uncordon": "patch",
}  # fmt: skip
_PAIRED: Final = frozenset({*_MAPS, "taint"} | {verb for verb in _VERBS if verb.startswith("set ")})
"""Commands in which words such as `key=value` and `key-` do not name objects."""


def _flags(words: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Returns the words that are not flags, and the flags by their long names."""
    plain: list[str] = []
    flags: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        name, sign, value = word.partition("=")
        if not sign and word[:2] in _SHORT and len(word) > 2 and not word.startswith("--"):
            name, sign, value = word[:2], "=", word[2:]  # -nshop
        if not sign and name in _VALUED:
            value = next(rest, "")
        flags.setdefault(_SHORT.get(name, name), []).append(value)
    return plain, flags


def list_reads(words: list[str]) -> list[Read]:
    """Returns the objects that a `kubectl get` reads."""
    if "get" not in words:
        return []
    plain, flags = _flags(words)
    if plain[:1] != ["get"]:
        return []
    command = _Command("get", plain[1:], flags)
    is_narrowed = "--field-selector" in flags
    return [Read(kind, name, command.namespace, command.selector, is_narrowed) for kind, name in _targets(plain[1:])]


def _targets(words: list[str]) -> list[tuple[str, str]]:
    """Returns kinds and names from `pod web`, `pod/web` or `pods,services`. A missing name is empty."""
    if not words:
        return []
    if all(write.split_name(word)[1] for word in words):
        return [write.split_name(word) for word in words]
    several = words[0].split(",", _MAX_KINDS)[:_MAX_KINDS]
    names = words[1:] if len(several) == 1 else words[1 : _MAX_KINDS + 1]
    return [(kinds.resource(kind), name) for kind in several for name in names or [""]]
