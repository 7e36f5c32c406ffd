"""Command lines: the writes of every `kubectl` and `oc` in a script of a shell. Nothing is run.

What is understood: commands in a row, pipes, documents that are given in place (`<<EOF`), `echo … |`, `cat > file`, and
flags in any order. What a program computes while it runs is not known.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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
    "--kustomize", "-c", "--container", "--replicas", "--context", "--kubeconfig", "--cluster", "--user", "--field-manager",
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


@dataclass(slots=True)
class _Command:
    """One simple command, and what stands in its standard input."""

    words: list[str]
    stdin: str = ""
    names: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Kind, name and namespace of what the command before it in the pipe reads."""


def of_script(text: str, stdin: str = "", depth: int = 0) -> list[write.Write]:
    """Returns the writes of a script, in its order."""
    found: list[write.Write] = []
    if depth > _MAX_DEPTH:
        return found
    files: dict[str, str] = {}
    for pipe in _pipes(text):
        passed = stdin
        read: list[tuple[str, str, str | None]] = []
        for words, document in pipe:
            words, target = _without_redirection(words, files)
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


def _of_words(
    words: list[str], stdin: str, files: dict[str, str], read: list[tuple[str, str, str | None]], depth: int
) -> list[write.Write]:
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


def _read_by(words: list[str]) -> list[tuple[str, str, str | None]]:
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
    words: list[str],
    stdin: str,
    files: dict[str, str],
    read: list[tuple[str, str, str | None]],
    *,
    piped: bool = False,
) -> Iterator[write.Write]:
    """Yields the writes of one command."""
    plain, flags = _flags(words)
    if not plain:
        return
    verb, rest = plain[0], plain[1:]
    if verb in {"rollout", "set"} and rest:
        verb, rest = f"{verb} {rest[0]}", rest[1:]
    if verb == "adm" or verb not in _VERBS:
        return
    namespace = flags["--namespace"][-1] if flags.get("--namespace") else None
    is_dry = any(value in _DRY for value in flags.get("--dry-run", []))
    selector = _selector(flags)
    everywhere = "--all-namespaces" in flags
    manifests = _documents(flags, stdin, files)
    does = _VERBS[verb]
    if verb == "replace" and "--force" in flags:
        for one in manifests:
            made = write.of_manifest("delete", one, namespace, is_dry=is_dry)
            yield write.Write(made.does, made.resource, made.name, made.namespace, is_dry=is_dry)
        does = "create"
    if verb == "create" and not manifests:
        yield from _created(rest, flags, namespace, is_dry=is_dry)
        return
    for one in manifests:
        yield _about(does, one, namespace, verb, rest, flags, is_dry=is_dry)
    if "--filename" in flags and not manifests and read:
        for kind, name, where in read:
            yield write.Write(does, kind, name or None, namespace or where, selector, is_dry=is_dry)
    if "--filename" in flags:
        return
    if piped and (len(rest) < 2 and not any("/" in word for word in rest)):
        for kind, _, where in read:
            yield write.Write(does, kind, None, namespace or where, selector, everywhere, is_dry=is_dry, guessed=True)
        return
    rest, paths, images, body = _content(verb, rest, flags)
    if verb == "expose":
        name = (flags.get("--name") or [rest[-1].rpartition("/")[2] if rest else ""])[-1]
        yield write.Write("create", "services", name, namespace, is_dry=is_dry)
        return
    if verb in {"cordon", "uncordon", "drain", "taint"} and rest[:1] not in (["node"], ["nodes"]):
        rest = ["nodes", *[word.removeprefix("node/") for word in rest]]
    if verb == "autoscale":
        targets = [("horizontalpodautoscalers", name) for _, name in _targets(rest)]
    elif verb == "run":
        targets = [("pods", rest[0])] if rest else []
    elif rest[:1] == ["all"]:
        targets = [
            (kind, "")
            for kind in (
                "pods",
                "services",
                "deployments",
                "daemonsets",
                "statefulsets",
                "replicasets",
                "jobs",
                "cronjobs",
            )
        ]
    else:
        targets = _targets(rest)
    if any(name.startswith(("$", "`")) for _, name in targets):  # what another command prints
        yield write.Write(
            does, targets[0][0], None, namespace, selector, everywhere, body, paths, images, is_dry=is_dry, guessed=True
        )
        return
    for kind, name in targets:
        if not name and not selector and "--all" not in flags and verb not in {"delete", "rollout restart"}:
            continue
        if not name and verb == "delete" and not (selector or "--all" in flags or "--field-selector" in flags):
            continue
        yield write.Write(
            does, kind, name or None, namespace, selector, everywhere, body, paths, images, is_dry=is_dry,
            guessed="--field-selector" in flags and not name,
        )  # fmt: skip


def _about(
    does: write.Does, document: dict[str, Any], namespace: str | None, verb: str, rest: list[str],
    flags: dict[str, list[str]], *, is_dry: bool,
) -> write.Write:  # fmt: skip
    """Returns the write of an object in a file, which a patch or a label only names."""
    made = write.of_manifest(does, document, namespace, is_dry=is_dry)
    if does in {"create", "apply", "replace"}:
        return made
    _, paths, images, body = _content(verb, ["x", "y", *rest], flags)
    return write.Write(does, made.resource, made.name, made.namespace, (), False, body, paths, images, is_dry=is_dry)


def _content(
    verb: str, rest: list[str], flags: dict[str, list[str]]
) -> tuple[list[str], tuple[str, ...], tuple[str, ...], Any]:
    """Returns the words that name objects, the paths and images that the command sets, and the body."""
    pairs = [word for word in rest if "=" in word or (word.endswith("-") and len(word) > 1)]
    if verb in {"label", "annotate"}:
        names = [word for word in rest if word not in pairs]
        return (
            names,
            tuple(f"metadata.{verb}s.{_key(word)}".replace("annotates", "annotations") for word in pairs),
            (),
            None,
        )
    if verb.startswith("set ") or verb == "taint":
        names = [word for word in rest if word not in pairs]
        images = tuple(word.partition("=")[2] for word in pairs) if verb == "set image" else ()
        return names, (_SETS.get(verb, "spec"),), images, None
    if verb == "patch":
        texts = flags.get("--patch", [])
        bodies = write.parsed(texts[-1]) if texts else []
        return rest, () if bodies else ("spec",), (), bodies[0] if bodies else None
    if verb in {"cordon", "uncordon", "drain"}:
        return rest, ("spec.unschedulable",), (), None
    if verb in {"rollout undo", "edit"}:
        return rest, ("spec.template",) if verb == "rollout undo" else (), (), None
    if verb in {"rollout pause", "rollout resume"}:
        return rest, ("spec.paused",), (), None
    return rest, ("spec.replicas",) if verb == "scale" else (), (), None


def _key(word: str) -> str:
    return word.partition("=")[0].removesuffix("-")


def _created(
    rest: list[str], flags: dict[str, list[str]], namespace: str | None, *, is_dry: bool
) -> Iterator[write.Write]:
    """Yields what `kubectl create KIND [TYPE] NAME` creates."""
    if len(rest) < 2:
        return
    at = 2 if rest[0].lower() in _TYPED and rest[1].lower() in _SPECIAL_TYPES and len(rest) > 2 else 1
    yield write.Write(
        "create", kinds.resource(rest[0]), rest[at], namespace, is_dry=is_dry, values=tuple(flags.get("--image", []))
    )


_SETS: Final = {
    "set image": "spec.template.spec.containers.image",
    "set env": "spec.template.spec.containers.env",
    "set resources": "spec.template.spec.containers.resources",
    "set selector": "spec.selector",
    "set serviceaccount": "spec.template.spec.serviceAccountName",
    "set subject": "subjects",
    "taint": "spec.taints",
}
_VERBS: Final[dict[str, write.Does]] = {
    "annotate": "patch", "apply": "apply", "autoscale": "create", "cordon": "patch", "create": "create",
    "delete": "delete", "drain": "patch", "edit": "patch", "expose": "create", "label": "patch", "patch": "patch",
    "replace": "replace", "rollout pause": "patch", "rollout restart": "restart", "rollout resume": "patch",
    "rollout undo": "patch", "run": "create", "scale": "scale", "set env": "patch", "set image": "patch",
    "set resources": "patch", "set selector": "patch", "set serviceaccount": "patch", "set subject": "patch",
    "taint": "patch", "uncordon": "patch",
}  # fmt: skip
