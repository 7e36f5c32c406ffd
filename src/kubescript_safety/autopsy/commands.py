"""Shell scripts: the writes of every known command in them. Nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubescript_safety.autopsy import kubectl, shell, write

__all__ = ["has_read", "of_arguments", "of_script"]

_PROGRAMS: Final = frozenset({"kubectl", "oc", "k", "k3s", "microk8s", "minikube", "kubecolor"})
_WRAPPERS: Final = frozenset({"k3s", "microk8s", "minikube"})
"""Programs that have kubectl as a subcommand."""
_PREFIXES: Final = frozenset({
    "sudo", "env", "time", "exec", "command", "nohup", "nice", "then", "do", "else", "!", "{", "(",
})  # fmt: skip
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ash"})
_FILTERS: Final = frozenset({"awk", "egrep", "fgrep", "grep", "head", "jq", "rg", "sed", "tail"})
_METHOD: Final = frozenset({"-X", "--request"})
_BODY: Final = frozenset({"-d", "--data", "--data-raw", "--data-binary", "--json"})
_READS: Final = frozenset({"describe", "get", "logs"})
_MAX_DEPTH: Final = 4
_MAX_WRITES: Final = 20_000
"""How many writes of one script are read."""


def of_script(text: str, stdin: str = "", depth: int = 0) -> list[write.Write]:
    """Returns a script's writes, in order."""
    found: list[write.Write] = []
    if depth > _MAX_DEPTH:
        return found
    files = shell.Files(4 * len(text))
    for pipe in shell.pipes(text):
        if len(found) > _MAX_WRITES:
            break
        passed = stdin
        read: list[kubectl.Read] = []
        for given_words, document in pipe:
            words, target = shell.without_redirection(given_words, files)
            given = document if document is not None else passed
            passed = shell.output(words, given, files)
            if target:
                files.put(target, passed)
            words = _bare(words)
            found += _of_words(words, given, files, read, depth)
            read = _hand_on(words, read)
    return found


def _hand_on(words: list[str], read: list[kubectl.Read]) -> list[kubectl.Read]:
    """Returns the objects that a command passes on: those that it reads, or a selection of those before it."""
    program = _program(words[0]) if words else ""
    own = kubectl.list_reads(words[1:]) if program in _PROGRAMS else []
    return own or [one._replace(narrowed=one.narrowed or program in _FILTERS) for one in read]


def has_read(text: str) -> bool:
    """Says whether a text contains a kubectl or oc command that reads objects."""
    words = (_bare(words) for pipe in shell.pipes(text) for words, _ in pipe)
    return any(one and _program(one[0]) in _PROGRAMS and not _READS.isdisjoint(one[1:]) for one in words)


def of_arguments(words: Sequence[str], stdin: str = "") -> list[write.Write]:
    """Returns the writes of one kubectl command, given its arguments without the program's name."""
    return list(kubectl.writes(list(words), stdin, shell.Files(0), []))


def _program(word: str) -> str:
    return word.rpartition("/")[2]


def _bare(words: list[str]) -> list[str]:
    """Returns the words after prefixes such as `sudo` and `DEBUG=1`."""
    for at, word in enumerate(words):
        is_setting = "=" in word and not word.startswith("-")
        if word not in _PREFIXES and not is_setting:
            return words[at:]
    return []


def _of_words(
    words: list[str], stdin: str, files: shell.Files, read: list[kubectl.Read], depth: int
) -> list[write.Write]:
    if "<<<" in words:
        at = words.index("<<<")
        stdin = " ".join(words[at + 1 : at + 2])
        words = words[:at]
    program = _program(words[0]) if words else ""
    if program in _SHELLS:
        is_given = len(words) > 2 and words[1].startswith("-") and words[1].endswith("c")
        return of_script(words[2] if is_given else stdin, depth=depth + 1)
    if program == "xargs":
        start = next((at for at, word in enumerate(words) if _program(word) in _PROGRAMS), len(words))
        return list(kubectl.writes(words[start + 1 :], stdin, files, read, piped=True))
    if program in _PROGRAMS:
        return list(kubectl.writes(words[2 if program in _WRAPPERS else 1 :], stdin, files, read))
    return list(_of_curl(words[1:])) if program == "curl" else []


def _of_curl(words: list[str]) -> Iterator[write.Write]:
    """Yields the writes of a request sent directly to the API server."""
    method, body, urls = "", "", []
    rest = iter(words)
    for word in rest:
        name, sign, value = word.partition("=")
        if word[:2] == "-X" and len(word) > 2:
            method = word[2:]
        elif name in _METHOD:
            method = value if sign else next(rest, "")
        elif name in _BODY:
            body = value if sign and name.startswith("--") else next(rest, "")
        elif "/api" in word and not word.startswith("-"):
            urls.append(word)
    for url in urls:
        path, _, query = url.partition("?")
        yield from write.of_request(method or ("POST" if body else "GET"), path, query.partition("#")[0], body)
