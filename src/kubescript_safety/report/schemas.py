"""The cost of a server's tool list for a model before the first call, and lints about unclear tools.

A lint is a fact about a tool list, not a finding about a run; `LINTS` has the rules.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from kubescript.kube import documents
from kubescript_safety import transcript
from kubescript_safety.autopsy import kinds, parameters, tools
from kubescript_safety.report import tokens

__all__ = ["LINTS", "Lint", "Schemas", "of"]

Id = Literal["FREE_COMMAND", "WHOLE_MANIFEST", "IDENTITY_UNSAID", "IDENTITY_OPTIONAL", "SAME_AS"]
LINTS: Final[Mapping[Id, str]] = {
    "FREE_COMMAND": "A parameter takes a command, a script or code: its name has such a word, and it is a text or a "
    "list of texts.",
    "WHOLE_MANIFEST": "A parameter takes a whole object: its name or its description has the word manifest, YAML or "
    "JSON, or it is named body, object or patch; it is no choice from a list and no output format.",
    "IDENTITY_UNSAID": "A tool whose name says that it changes something takes neither a command nor a manifest, and "
    "has no parameter for the kind, the namespace or the name. A kind in the tool's name counts, and kinds without "
    "namespaces need none.",
    "IDENTITY_OPTIONAL": "Such a tool has the parameter, and a call may leave it out: the server then chooses.",
    "SAME_AS": "Two tools have parameters of the same names, do the same by the verbs of their names, name the same "
    "kinds, and more than half of all words of their descriptions are in both.",
}
"""Id → the rule."""
_MAX_TOOLS: Final = 200
"""How many tools of one server are examined. Attack: a server lists many tools, whose pairwise comparison takes
quadratic time."""
_MAX_WORDS: Final = 1_000
_COMMANDS: Final = frozenset(
    {"argv", "args", "bash", "cmd", "code", "command", "commands", "python", "script", "shell", "source"}
)
_MANIFESTS: Final = frozenset({"json", "manifest", "manifests", "yaml"})
_OBJECTS: Final = frozenset({"body", "object", "objects", "patch"})
_FORMATS: Final = frozenset({"format", "output"})
_KINDS: Final = frozenset({"kind", "kinds", "plural", "resource", "resources", "type"})
_SPACES: Final = frozenset({"namespace", "namespaces", "ns", "project"})
_NAMES: Final = frozenset({"name", "names"})
_PARTS: Final = ("kind", "namespace", "name", "owner")
_NEEDED: Final = ("kind", "namespace", "name")
"""The parts whose absence is a lint. The owner is only counted, because no known server has a parameter for it."""


class Lint(msgspec.Struct, frozen=True, order=True):
    """Something that a model may misread."""

    tool: str
    id: Id
    parameter: str
    """Empty for a lint about the whole tool."""
    text: str
    """A sentence for a person."""


class Schemas(msgspec.Struct, frozen=True, rename="camel"):
    """Figures on a server's tool list."""

    count: int = 0
    tokens: int | None = 0
    """Tokens of the name, description and input schema of all tools, as JSON. None: not counted."""
    instructions: int | None = 0
    """Tokens of the server's instructions."""
    writing: int = 0
    """How many tools' names describe a change."""
    said: dict[str, int] = {}
    """How many of these tools have a parameter for kind, namespace, name and owner; a kind in the tool's name
    counts."""
    lints: tuple[Lint, ...] = ()


def of(listed: tuple[transcript.Tool, ...], instructions: str) -> Schemas:
    """Returns a tool list's figures, whatever the order of its tools."""
    # The tools are sorted, because servers list them in any order, on which the figures must not depend.
    ordered = sorted(listed, key=lambda one: (one.name, one.description))
    looked_at = list(map(_Tool, ordered[:_MAX_TOOLS]))
    writing = [one for one in looked_at if one.effect]
    lints = [*_alike(looked_at), *(lint for one in looked_at for lint in one.lints())]
    texts = [msgspec.json.encode(one).decode() for one in listed]
    return Schemas(
        count=len(listed),
        tokens=tokens.count(*texts),
        instructions=tokens.count(instructions),
        writing=len(writing),
        said={part: sum(part in one.said for one in writing) for part in _PARTS},
        lints=tuple(sorted(lints)),
    )


class _Tool:
    """One tool, analysed by its words."""

    def __init__(self, listed: transcript.Tool) -> None:
        self.name = listed.name
        words = parameters.words(listed.name)
        self.effect = tools.effect(listed.name)
        # `no` is a short name of nodes, but also a word.
        self.kinds = frozenset(kinds.resource(word) for word in words if len(word) > 2 and kinds.is_kind(word))
        self.words = frozenset(_words(listed.description))
        self.parameters = documents.mapping(listed.input_schema, "properties")
        required = listed.input_schema.get("required")
        self.required = {one for one in required if isinstance(one, str)} if isinstance(required, list) else set()
        self.commands: list[str] = []
        self.manifests: list[str] = []
        self.said: dict[str, str] = {}
        """Part of an object's identity → the parameter for it."""
        for name, schema in sorted(self.parameters.items(), key=lambda item: item[0]):
            if _is_command(name, schema):
                self.commands.append(name)
            elif _is_manifest(name, schema):
                self.manifests.append(name)
            else:
                self.said |= dict.fromkeys(_parts(name), name)
        if self.kinds:
            self.said["kind"] = ""

    def lints(self) -> Iterator[Lint]:
        """Yields what is wrong with the tool."""
        for name in self.commands:
            text = f"{name} takes a command or a script, which may change anything"
            yield Lint(self.name, "FREE_COMMAND", name, text)
        for name in self.manifests:
            text = f"{name} takes a whole object, and so fields that are not meant"
            yield Lint(self.name, "WHOLE_MANIFEST", name, text)
        # A command or a manifest names the object anyway.
        if not self.effect or self.commands or self.manifests:
            return
        for part in _NEEDED:
            # For cluster-wide objects, no namespace need be named.
            if part == "namespace" and self.kinds and self.kinds <= kinds.CLUSTER:
                continue
            parameter = self.said.get(part)
            if parameter is None:
                text = f"no parameter says the {part} of what is changed"
                yield Lint(self.name, "IDENTITY_UNSAID", "", text)
            # A kind in the tool's name is not a parameter.
            elif parameter and parameter not in self.required:
                text = f"{parameter} may be left out, and the server then chooses the {part}"
                yield Lint(self.name, "IDENTITY_OPTIONAL", parameter, text)


def _alike(listed: list[_Tool]) -> Iterator[Lint]:
    """Yields tools that an agent can hardly tell apart."""
    # Only tools that take the same and do the same are compared in pairs.
    groups: dict[Any, list[_Tool]] = collections.defaultdict(list)
    for one in listed:
        same = (frozenset(one.parameters), one.effect, one.kinds)
        groups[same].append(one)
    pairs = (pair for group in groups.values() for pair in itertools.combinations(group, 2))
    for one, other in pairs:
        common = one.words & other.words
        every = one.words | other.words
        if 2 * len(common) > len(every):
            yield Lint(other.name, "SAME_AS", "", f"takes the same parameters as {one.name} and is described alike")


def _words(text: str) -> list[str]:
    """Returns the words of a description, as many as are compared."""
    # Attack: a tool has a description of a megabyte.
    begin = text[: 10 * _MAX_WORDS].lower()
    spaced = "".join(each if each.isalnum() else " " for each in begin)
    return spaced.split()[:_MAX_WORDS]


def _is_command(name: str, schema: Any) -> bool:
    """Says whether a parameter takes a command line or a script."""
    # A parameter that can only be one of a few words does not take a command.
    if not isinstance(schema, dict) or "enum" in schema:
        return False
    # The name decides, since every name and label is a string too.
    if _COMMANDS.isdisjoint(parameters.words(name)):
        return False
    given = schema.get("type", "string")  # one type's name, or several
    types = given if isinstance(given, list) else [given]
    return "string" in types or "array" in types


def _is_manifest(name: str, schema: Any) -> bool:
    """Says whether a parameter takes a whole object."""
    if not isinstance(schema, dict) or schema.get("type") == "boolean" or "enum" in schema:
        return False
    words = set(parameters.words(name))
    # `json: true` and `output: yaml` say how to answer.
    if words & _FORMATS:
        return False
    if words & _OBJECTS:
        return True
    description = schema.get("description")
    if isinstance(description, str):
        words.update(_words(description))
    return bool(words & _MANIFESTS)


def _parts(parameter: str) -> Iterator[str]:
    """Yields the part of an object's identity that a parameter stands for, judging by the last word of its name."""
    # `resourceNamespace` is a namespace, `namespaceSelector` is not.
    last = (parameters.words(parameter) or [""])[-1]
    if last in _KINDS:
        yield "kind"
    elif last in _SPACES:
        yield "namespace"
    elif last in _NAMES or (kinds.is_kind(last) and len(last) > 2):  # `pod: web-1`
        yield "name"
    elif last == "owner":
        yield "owner"
