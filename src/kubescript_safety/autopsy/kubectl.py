"""Reads command lines of `kubectl` and `oc`: what they write, and what they print for the next command."""

from __future__ import annotations

import collections
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
    {"generic", "tls", "docker-registry", "clusterip", "nodeport", "loadbalancer", "externalname"}
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
        if self.flags.get("--namespace"):
            return self.flags["--namespace"][-1]
        return None

    @property
    def selector(self) -> tuple[tuple[str, str], ...]:
        """Labels that the selector requires."""
        texts = self.flags.get("--selector", [])
        return tuple(label for text in texts for label in write.selector(text))

    def asks(self, resource: str, name: str | None, **more: Any) -> write.Write:
        """Returns the write of one object, or of all that match the selector."""
        trials = self.flags.get("--dry-run", [])
        given = {
            "does": _VERBS[self.verb],
            "namespace": self.namespace,
            "selector": self.selector,
            "everywhere": "--all-namespaces" in self.flags,
            "narrowed": "--field-selector" in self.flags,
            "is_dry": not _DRY.isdisjoint(trials),
        }
        return write.Write(resource=resource, name=name, **(given | more))


def _documents(flags: dict[str, list[str]], stdin: str, files: shell.Files) -> list[dict[str, Any]]:
    """Returns the objects in the files that a command names."""
    found = []
    for file in flags.get("--filename", []):
        is_stdin = file in {"-", "/dev/stdin"}
        # A file that the script has not written is unknown.
        text = stdin if is_stdin else files.take(file) or ""
        found += write.documents(text)
    return found


def writes(
    words: list[str], stdin: str, files: shell.Files, read: list[Read], *, piped: bool = False
) -> Iterator[write.Write]:
    """Yields a command's writes; `piped` says whether it gets names from the command before it."""
    plain, flags = _flags(words)
    # `oc adm drain` is the same as `kubectl drain`.
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
            # The names themselves are known only at run time.
            yield command.asks(one.kind, None, **_narrow(command, one), guessed=True)
    elif command.verb in {"create", "expose", "autoscale", "run"}:
        yield from _find_creations(command)
    else:
        yield from _of_names(command)


def _of_files(command: _Command, manifests: list[dict[str, Any]], read: list[Read]) -> Iterator[write.Write]:
    """Yields the writes of objects in files. If another command prints the objects, only their names may be known."""
    for one in manifests:
        yield from _of_manifest(command, one)
    if manifests:
        return
    for each in read:
        yield command.asks(each.kind, each.name or None, **_narrow(command, each))


def _of_manifest(command: _Command, manifest: dict[str, Any]) -> Iterator[write.Write]:
    """Yields the writes of one object in a file."""
    does = _VERBS[command.verb]
    made = write.of_manifest(does, manifest, command.namespace)
    known: dict[str, Any] = {"namespace": made.namespace, "selector": ()}
    # In this case, kubectl first deletes the object and then creates it anew.
    if command.verb == "replace" and "--force" in command.flags:
        yield command.asks(made.resource, made.name, **known, does="delete")
    if does in {"create", "apply", "replace"}:
        yield command.asks(made.resource, made.name, **known, body=manifest)
        return
    # Two words stand for the kind and the name, which are in the file.
    content = _content(command.verb, ["a", "b", *command.words], command.flags)
    yield command.asks(made.resource, made.name, **known, **content.sets)


def _narrow(command: _Command, read: Read) -> dict[str, Any]:
    """Returns the facts about objects that another command has read."""
    space = command.namespace or read.namespace
    return {"namespace": space, "selector": read.selector, "narrowed": read.narrowed}


def _find_creations(command: _Command) -> Iterator[write.Write]:
    """Yields creations without a file, such as `kubectl create KIND [TYPE] NAME`."""
    words = command.words
    if not words:
        return
    images = tuple(command.flags.get("--image", []))
    if command.verb == "run":
        yield command.asks("pods", words[0], values=images)
    elif command.verb in {"expose", "autoscale"}:
        resource = "services" if command.verb == "expose" else "horizontalpodautoscalers"
        # Without a name, the new object gets that of the workload.
        names = command.flags.get("--name") or [words[-1].rpartition("/")[2]]
        yield command.asks(resource, names[-1])
    elif len(words) > 1:
        # `create secret generic NAME`.
        has_type = words[0].lower() in _TYPED and words[1].lower() in _SPECIAL_TYPES and len(words) > 2
        yield command.asks(kinds.resource(words[0]), words[2 if has_type else 1], values=images)


def _of_names(command: _Command) -> Iterator[write.Write]:
    """Yields the writes of objects given by name, or by kind and labels."""
    flags = command.flags
    content = _content(command.verb, command.words, flags)
    words = content.words
    # These commands take names of nodes without their kind.
    if command.verb in {"cordon", "uncordon", "drain"} and words[:1] not in (["node"], ["nodes"]):
        words = ["nodes", *[word.removeprefix("node/") for word in words]]
    targets = [(kind, "") for kind in _ALL] if words[:1] == ["all"] else _targets(words)
    if any(name.startswith(("$", "`")) for _, name in targets):  # another command's output
        kind, _ = targets[0]
        yield command.asks(kind, None, **content.sets, guessed=True, narrowed=True)
        return
    # kubectl refuses a bare kind: it requires a name, a selector, or `--all`.
    is_chosen = not flags.keys().isdisjoint({"--selector", "--all", "--field-selector"})
    for kind, name in targets:
        if name or is_chosen or command.verb == "rollout restart":
            is_guessed = "--field-selector" in flags and not name
            yield command.asks(kind, name or None, **content.sets, guessed=is_guessed)


class _Content(NamedTuple):
    """What a command sets, and the words that name objects."""

    words: list[str]
    paths: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    body: Any = None

    @property
    def sets(self) -> dict[str, Any]:
        """What is set, as arguments for a write."""
        return {"fields": self.paths, "values": self.images, "body": self.body}


def _content(verb: str, rest: list[str], flags: dict[str, list[str]]) -> _Content:
    """Returns the content of a command without a file."""
    if verb == "patch":
        texts = flags.get("--patch", [])
        bodies = write.parse(texts[-1]) if texts else []
        if bodies:
            return _Content(rest, body=bodies[0])
        return _Content(rest, paths=("spec",))
    pairs = [word for word in rest if _is_pair(word)]
    words = rest
    if verb in _PAIRED:
        words = [word for word in rest if not _is_pair(word)]
    if verb in _MAPS:
        paths = tuple(f"{_MAPS[verb]}.{_key(word)}" for word in pairs)
        return _Content(words, paths)
    paths = (_SETS[verb],) if verb in _SETS else ()
    if verb != "set image":
        return _Content(words, paths)
    images = tuple(word.partition("=")[2] for word in pairs)
    return _Content(words, paths, images)


def _is_pair(word: str) -> bool:
    """Says whether a word sets a value (`key=value`) or removes one (`key-`)."""
    return "=" in word or (word.endswith("-") and len(word) > 1)


def _key(word: str) -> str:
    """Returns the key of `key=value` and `key-`."""
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
    flags: dict[str, list[str]] = collections.defaultdict(list)
    rest = iter(words)
    for word in rest:
        # After it comes the command for `exec` or `run`, not kubectl's own arguments.
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        name, sign, value = word.partition("=")
        if not sign and word[:2] in _SHORT and len(word) > 2 and not word.startswith("--"):
            name, value = word[:2], word[2:]  # -nshop
        elif not sign and name in _VALUED:
            value = next(rest, "")
        long = _SHORT.get(name, name)
        flags[long].append(value)
    return plain, flags


def list_reads(words: list[str]) -> list[Read]:
    """Returns the objects that a `kubectl get` reads."""
    # Most commands of a long script are not `get`; returning early saves parsing their flags a second time.
    if "get" not in words:
        return []
    plain, flags = _flags(words)
    if plain[:1] != ["get"]:
        return []
    command = _Command("get", plain[1:], flags)
    space = command.namespace
    labels = command.selector
    # The fields of the objects are not known here.
    is_narrowed = "--field-selector" in flags
    targets = _targets(command.words)
    return [Read(kind, name, space, labels, is_narrowed) for kind, name in targets]


def _targets(words: list[str]) -> list[tuple[str, str]]:
    """Returns kinds and names from `pod web`, `pod/web` or `pods,services`. A missing name is empty."""
    if not words:
        return []
    # `pod/a service/b`; kubectl refuses a mixture with names that stand alone.
    pairs = list(map(write.split_name, words))
    if all(name for _, name in pairs):
        return pairs
    several = words[0].split(",", _MAX_KINDS)[:_MAX_KINDS]
    names = words[1:] if len(several) == 1 else words[1 : _MAX_KINDS + 1]
    resources = map(kinds.resource, several)
    return [(resource, name) for resource in resources for name in names or [""]]
