"""Reads shell scripts: returns the writes of every known command in them. Nothing is run."""

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
    # Attack: a script starts a shell that starts a shell, and so on.
    if depth > _MAX_DEPTH:
        return found
    # Four times the script's length: a script that reads more than that doubles its own text.
    files = shell.Files(4 * len(text))
    for pipe in shell.pipes(text):
        if len(found) > _MAX_WRITES:
            break
        passed = stdin
        # What `get` prints and `delete` or `xargs` takes; its names are known only at run time.
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
    if own:
        return own
    is_filter = program in _FILTERS
    return [one._replace(narrowed=one.narrowed or is_filter) for one in read]


def has_read(text: str) -> bool:
    """Says whether a script contains a kubectl or oc command that reads objects."""
    for pipe in shell.pipes(text):
        for given, _ in pipe:
            words = _bare(given)
            if not words or _program(words[0]) not in _PROGRAMS:
                continue
            if not _READS.isdisjoint(words[1:]):
                return True
    return False


def of_arguments(words: Sequence[str], stdin: str = "") -> list[write.Write]:
    """Returns the writes of one kubectl command, given its arguments without the program's name."""
    no_files = shell.Files(0)
    return list(kubectl.writes(list(words), stdin, no_files, []))


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
    """Returns the writes of one command."""
    if "<<<" in words:
        at = words.index("<<<")
        stdin = " ".join(words[at + 1 : at + 2])
        words = words[:at]
    program = _program(words[0]) if words else ""
    if program in _SHELLS:
        # `bash -xc SCRIPT`; without it a shell reads its standard input.
        is_given = len(words) > 2 and words[1].startswith("-") and words[1].endswith("c")
        return of_script(words[2] if is_given else stdin, depth=depth + 1)
    if program == "xargs":
        start = next((at for at, word in enumerate(words) if _program(word) in _PROGRAMS), len(words))
        return list(kubectl.writes(words[start + 1 :], stdin, files, read, piped=True))
    if program in _PROGRAMS:
        rest = words[2:] if program in _WRAPPERS else words[1:]
        return list(kubectl.writes(rest, stdin, files, read))
    if program == "curl":
        return list(_of_curl(words[1:]))
    return []


def _of_curl(words: list[str]) -> Iterator[write.Write]:
    """Yields the writes of a request sent directly to the API server."""
    method = ""
    body = ""
    urls = []
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
        default = "POST" if body else "GET"
        bare = query.partition("#")[0]
        yield from write.of_request(method or default, path, bare, body)
