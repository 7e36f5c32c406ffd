"""Command lines: the writes of every `kubectl` and `oc` in a script of a shell. Nothing is run.

What is understood: commands in a row, pipes, documents that are given in place (`<<EOF`), `echo … |`, `cat > file`, and
flags in any order. What a program computes while it runs is not known.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kubescript_safety.autopsy import kinds, write

__all__ = ["count", "of_arguments", "of_script"]

_PROGRAMS: Final = frozenset({"kubectl", "oc", "k", "k3s", "microk8s", "minikube", "kubecolor"})
_PREFIXES: Final = frozenset(
    {"sudo", "env", "time", "exec", "command", "nohup", "nice", "then", "do", "else", "!", "{", "("}
)
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ash"})
_ENDS: Final = frozenset({";", "&&", "||", "&", "\n", ";;", "(", ")"})
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
_MAX_DEPTH: Final = 4
_ALL: Final = (
    "pods", "services", "deployments", "daemonsets", "statefulsets", "replicasets", "jobs", "cronjobs",
)  # fmt: skip
"""What `kubectl delete all` means."""
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


_Read = tuple[str, str, str | None]
"""Kind, name and namespace of what a command reads."""


@dataclass(frozen=True, slots=True)
class _Command:
    """One command of kubectl."""

    verb: str
    """With its second word: `rollout restart`."""
    words: list[str]
    """What stands behind it and is no flag."""
    flags: dict[str, list[str]]

    @property
    def namespace(self) -> str | None:
        """The namespace that is said."""
        return self.flags["--namespace"][-1] if self.flags.get("--namespace") else None

    def asks(self, resource: str, name: str | None, **more: Any) -> write.Write:
        """Returns the write of one object, or of all that the selector chooses."""
        given = {
            "does": _VERBS[self.verb],
            "namespace": self.namespace,
            "selector": _selector(self.flags),
            "everywhere": "--all-namespaces" in self.flags,
            "is_dry": any(value in _DRY for value in self.flags.get("--dry-run", [])),
        }
        return write.Write(resource=resource, name=name, **(given | more))


def of_script(text: str, stdin: str = "", depth: int = 0) -> list[write.Write]:
    """Returns the writes of a script, in its order."""
    found: list[write.Write] = []
    if depth > _MAX_DEPTH:
        return found
    files: dict[str, str] = {}
    for pipe in _pipes(text):
        passed = stdin
        read: list[_Read] = []
        for given_words, document in pipe:
            words, target = _without_redirection(given_words, files)
            given = document if document is not None else passed
            passed = _output(words, given, files)
            if target:
                files[target] = passed
            found += _of_words(words, given, files, read, depth)
            read = _read_by(words) or read
    return found


def count(text: str) -> int:
    """Returns how many commands of kubectl or oc a text has."""
    found = 0
    for pipe in _pipes(text):
        for words, _ in pipe:
            bare = [word for word in words if word not in _PREFIXES]
            found += bool(bare) and bare[0].rpartition("/")[2] in _PROGRAMS
    return found


def of_arguments(words: Sequence[str], stdin: str = "") -> list[write.Write]:
    """Returns the writes of one kubectl, given by its arguments without the program's name."""
    return list(_kubectl(list(words), stdin, {}, []))


def _pipes(text: str) -> Iterator[list[tuple[list[str], str | None]]]:
    """Yields pipes: the words of each command, and the document that stands behind it."""
    lines = text.replace("\\\n", " ").split("\n")
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if _open_quote(line, ""):  # the quoted text goes on in the next lines
            taken = _until_closed(line, lines, place)
            if taken is None:
                return  # a shell would run nothing of it either
            line, place = taken
        known = _tokens(line)
        marks = [mark.lstrip("-") for sign, mark in itertools.pairwise(known) if sign == "<<"]
        documents = []
        for mark in marks:
            start = place
            while place < len(lines) and lines[place].strip() != mark:
                place += 1
            documents.append("\n".join(lines[start:place]))
            place += 1
        yield from _split(known, documents)


def _until_closed(line: str, lines: list[str], place: int) -> tuple[str, int] | None:
    """Returns the line with those behind it up to the end of the quoted text, and the place behind them."""
    quote = _open_quote(line, "")
    parts = [line]
    while quote and place < len(lines):
        parts.append(lines[place])
        quote = _open_quote(lines[place], quote)
        place += 1
    return None if quote else ("\n".join(parts), place)


def _open_quote(line: str, quote: str) -> str:
    """Returns the quote that is open at the end of a line; `quote` is the one that was open before it."""
    is_escaped = False
    for character in line:
        if is_escaped:
            is_escaped = False
        elif character == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
    return quote


def _tokens(line: str) -> list[str]:
    """Returns the words and signs of a line. `shlex` takes quadratic time for a long word."""
    scanner = _Scanner()
    for character in line:
        if scanner.add(character):
            break
    scanner.end()
    return scanner.tokens


class _Scanner:
    """Takes a line apart, character by character."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self._word: list[str] = []
        self._is_word = False
        self._sign = ""
        self._quote = ""
        self._is_escaped = False

    def add(self, character: str) -> bool:
        """Takes one character; says whether a comment begins with it."""
        if self._is_escaped:
            self._is_escaped = False
            # In double quotes a backslash stays before all that needs none.
            kept = "\\" + character if self._quote and character not in '"\\$`' else character
            self._word.append(kept)
        elif character == "\\" and self._quote != "'":
            self._is_escaped = self._is_word = True
        elif self._quote:
            if character == self._quote:
                self._quote = ""
            else:
                self._word.append(character)
        elif character in "'\"":
            self._end_sign()
            self._quote, self._is_word = character, True
        elif character in ";&|<>\n":
            self._end_word()
            if self._sign and (self._sign[-1] != character or len(self._sign) > 2):
                self._end_sign()
            self._sign += character
        elif character.isspace():
            self.end()
        elif character == "#" and not self._is_word:
            return True
        else:
            self._end_sign()
            self._word.append(character)
            self._is_word = True
        return False

    def end(self) -> None:
        """Ends the word or sign at hand."""
        self._end_word()
        self._end_sign()

    def _end_word(self) -> None:
        if self._is_word:
            self._end_sign()
            self.tokens.append("".join(self._word))
        self._word, self._is_word = [], False

    def _end_sign(self) -> None:
        if self._sign:
            self.tokens.append(self._sign)
        self._sign = ""


def _split(tokens: list[str], documents: list[str]) -> Iterator[list[tuple[list[str], str | None]]]:
    pipe: list[tuple[list[str], str | None]] = []
    words: list[str] = []
    document: str | None = None
    rest = iter(documents)
    for each in [*tokens, ";"]:
        if each in _ENDS or each == "|":
            if words:
                pipe.append((words, document))
            words, document = [], None
            if each != "|" and pipe:
                yield pipe
                pipe = []
        elif each == "<<":
            document = next(rest, "")
            words.append(each)
        else:
            words.append(each)


def _without_redirection(words: list[str], files: dict[str, str]) -> tuple[list[str], str]:
    """Returns the words without redirections, and the file that the output goes to."""
    kept: list[str] = []
    target = ""
    rest = iter(words)
    for word in rest:
        if word in {">", ">>", "<", "<<", "<<<", ">&", "&>"}:
            other = next(rest, "")
            if word in {">", ">>"}:
                target = other
            elif word == "<<<":
                kept += ["<<<", other]
            elif word == "<" and other in files:
                kept += ["<<<", files[other]]
        else:
            kept.append(word)
    return kept, target


def _output(words: list[str], given: str, files: dict[str, str]) -> str:
    """Returns what a command prints, as far as that is known."""
    if not words:
        return given
    if words[0] in {"echo", "printf"}:
        texts = [word for word in words[1:] if word not in {"-e", "-n", "-en", "%s", "%s\\n"}]
        return " ".join(texts).replace("\\n", "\n")
    if words[0] in {"cat", "tee"}:
        return "\n---\n".join(files[word] for word in words[1:] if word in files) or given
    return ""


def _of_words(words: list[str], stdin: str, files: dict[str, str], read: list[_Read], depth: int) -> list[write.Write]:
    while words and (words[0] in _PREFIXES or ("=" in words[0] and not words[0].startswith("-"))):
        words = words[1:]
    if "<<<" in words:
        at = words.index("<<<")
        stdin = " ".join(words[at + 1 : at + 2])
        words = words[:at]
    if not words:
        return []
    program = words[0].rpartition("/")[2]
    if program in _SHELLS:
        return of_script(
            words[2] if len(words) > 2 and words[1].startswith("-") and words[1].endswith("c") else stdin,
            depth=depth + 1,
        )
    if program == "xargs":
        starts = [at for at, word in enumerate(words) if word.rpartition("/")[2] in _PROGRAMS]
        return list(_kubectl(words[starts[0] + 1 :], stdin, files, read, piped=True)) if starts else []
    if program in {"for", "while", "if"}:
        return []
    if program not in _PROGRAMS:
        return []
    skip = 2 if program in {"k3s", "microk8s", "minikube"} else 1
    return list(_kubectl(words[skip:], stdin, files, read))


def _flags(words: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Returns the words that are no flags, and the flags by their long names."""
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


def _read_by(words: list[str]) -> list[_Read]:
    """Returns what a `kubectl get` reads."""
    if not words or words[0].rpartition("/")[2] not in _PROGRAMS:
        return []
    plain, flags = _flags(words[1:])
    if plain[:1] != ["get"]:
        return []
    namespace = flags["--namespace"][-1] if flags.get("--namespace") else None
    return [(kind, name, namespace) for kind, name in _targets(plain[1:])]


def _targets(words: list[str]) -> list[tuple[str, str]]:
    """Returns kinds and names: of `pod web`, `pod/web`, `pods,services`. A name is empty where none is given."""
    slashed = [word.partition("/") for word in words if "/" in word and not word.endswith("/")]
    if slashed and len(slashed) == len(words):
        return [(kinds.resource(kind), name) for kind, _, name in slashed]
    if not words:
        return []
    names = words[1:] or [""]
    return [(kinds.resource(kind), name) for kind in words[0].split(",") for name in names]


def _selector(flags: dict[str, list[str]]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for text in flags.get("--selector", []):
        for part in text.split(","):
            key, sign, value = part.partition("=")
            if sign and not key.endswith("!"):
                pairs.append((key.strip(), value.lstrip("=").strip()))
    return tuple(pairs)


def _documents(flags: dict[str, list[str]], stdin: str, files: dict[str, str]) -> list[dict[str, Any]]:
    found = []
    for file in flags.get("--filename", []):
        found += write.documents(stdin if file in {"-", "/dev/stdin"} else files.get(file, ""))
    return found


def _kubectl(
    words: list[str], stdin: str, files: dict[str, str], read: list[_Read], *, piped: bool = False
) -> Iterator[write.Write]:
    """Yields the writes of one command; `piped` says whether it gets names from the command before it."""
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
        for kind, _, where in read:
            yield command.asks(kind, None, namespace=command.namespace or where, guessed=True)
    elif command.verb in {"create", "expose", "autoscale", "run"}:
        yield from _created(command)
    else:
        yield from _of_names(command)


def _of_files(command: _Command, manifests: list[dict[str, Any]], read: list[_Read]) -> Iterator[write.Write]:
    """Yields the writes of objects in files. Of what another command prints the names may be known."""
    does = _VERBS[command.verb]
    for one in manifests:
        made = write.of_manifest(does, one, command.namespace)
        known: dict[str, Any] = {"namespace": made.namespace, "selector": ()}
        if command.verb == "replace" and "--force" in command.flags:
            yield command.asks(made.resource, made.name, **known, does="delete")
            yield command.asks(made.resource, made.name, **known, does="create", body=one)
        elif does in {"create", "apply", "replace"}:
            yield command.asks(made.resource, made.name, **known, body=one)
        else:
            _, paths, images, body = _content(command.verb, ["a", "b", *command.words], command.flags)
            yield command.asks(made.resource, made.name, **known, body=body, fields=paths, values=images)
    for kind, name, where in read if not manifests else ():
        yield command.asks(kind, name or None, namespace=command.namespace or where)


def _created(command: _Command) -> Iterator[write.Write]:
    """Yields what is created without a file: `kubectl create KIND [TYPE] NAME` and the like."""
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
    """Yields the writes of objects that are named, or chosen by their kind and labels."""
    flags = command.flags
    words, paths, images, body = _content(command.verb, command.words, flags)
    if command.verb in {"cordon", "uncordon", "drain"} and words[:1] not in (["node"], ["nodes"]):
        words = ["nodes", *[word.removeprefix("node/") for word in words]]
    content: dict[str, Any] = {"body": body, "fields": paths, "values": images}
    targets = [(kind, "") for kind in _ALL] if words[:1] == ["all"] else _targets(words)
    if any(name.startswith(("$", "`")) for _, name in targets):  # what another command prints
        yield command.asks(targets[0][0], None, **content, guessed=True)
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
        bodies = write.parsed(texts[-1]) if texts else []
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
"""What a command sets that has no body."""
_MAPS: Final = {"annotate": "metadata.annotations", "label": "metadata.labels"}
"""Commands that set members of a map, each as `key=value`."""
_VERBS: Final[dict[str, write.Does]] = {
    "annotate": "patch", "apply": "apply", "autoscale": "create", "cordon": "patch", "create": "create",
    "delete": "delete", "drain": "patch", "edit": "patch", "expose": "create", "label": "patch", "patch": "patch",
    "replace": "replace", "rollout pause": "patch", "rollout restart": "restart", "rollout resume": "patch",
    "rollout undo": "patch", "run": "create", "scale": "scale", "set env": "patch", "set image": "patch",
    "set resources": "patch", "set selector": "patch", "set serviceaccount": "patch", "set subject": "patch",
    "taint": "patch", "uncordon": "patch",
}  # fmt: skip
_PAIRED: Final = frozenset({*_MAPS, "taint"} | {verb for verb in _VERBS if verb.startswith("set ")})
"""Commands in which words such as `key=value` and `key-` name no objects."""
