"""Provides `k8s.search("token review")`, which finds methods, kinds and fields whose names have these words, in any
order and spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from kubescript.guest.sdk.discovery import discovery
from kubescript.guest.sdk.objects import helptext
from kubescript.guest.sdk.values import exceptions, names, operations

__all__ = ["search"]

MAX_LINES: Final = 10
_NOISE: Final = frozenset({"a", "an", "the", "of", "for", "in", "all", "to", "how", "and", "my", "with", "api", "k8s"})
_VERBS: Final = {"get": "read", "fetch": "read", "show": "read", "find": "list", "update": "patch", "remove": "delete"}
_RANK: Final = {"list": 0, "read": 0, "create": 1, "get": 1, "patch": 2, "replace": 3, "delete": 4, "connect": 6}
_VERSION: Final = re.compile(r"^(?:Core|Events)?V\d")


class Hit(NamedTuple):
    """One line of the answer."""

    score: tuple[int, ...]
    """A smaller score is better."""
    line: str


def search(text: str, discovery: discovery.Discovery) -> str:
    """Returns at most ten lines, the best first."""
    words = _words(text)
    if not words:
        raise TypeError("search() takes a few words, such as 'token review'")
    hits = sorted({*_methods(words), *_custom(words, discovery)})
    if not hits:
        hits = sorted(set(_fields(words)))
    if not hits:
        return f"nothing is called {text!r}; k8s.discovery().api_resources() lists the kinds, dir(k8s) the clients"
    # Lines that lack a word are shown only if no line has all words.
    complete = [hit for hit in hits if not hit.score[0]]
    best = (complete or hits)[:MAX_LINES]
    return "\n".join(hit.line for hit in best)


def _words(text: str) -> list[str]:
    """Returns the words to look for; words such as "the" only if there are no others."""
    snake = names.snake(str(text)).lower()
    split = re.findall(r"[a-z0-9]+", snake)
    telling = [_VERBS.get(word, word) for word in split if word not in _NOISE]
    return telling or split


def _count_missing(words: list[str], own: list[str]) -> int:
    """Returns how many of the words a name lacks, or -1 if it has fewer than half of them. A plural matches its
    singular."""
    # A word must match from the start of a part: "tokenreview" matches token_review, but "count" does not match
    # account.
    tails = ["".join(own[start:]) for start in range(len(own))]
    missing = 0
    for word in words:
        stem = _stem(word)
        if not any(tail.startswith(stem) for tail in tails):
            missing += 1
    if missing == len(words) or missing * 2 > len(words):
        return -1
    return missing


def _stem(word: str) -> str:
    """Returns how the word's singular begins."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _methods(words: list[str]) -> Iterator[Hit]:
    """Yields the methods of the typed clients."""
    for api in operations.apis():
        # These methods read files of the control plane, which the policy never allows.
        if api == "LogsApi":
            continue
        accessor = helptext.accessor(api)
        unstable = "alpha" in api or "beta" in api
        for name in operations.operations(api):
            own = name.split("_")
            missing = _count_missing(words, own)
            if missing < 0:
                continue
            operation = operations.operation(api, name)
            required = ", ".join(operation.parameters[: operation.required])
            verb = own[0]
            rank = 0 if verb in words else _RANK.get(verb, 5)
            score = (missing, int(unstable), rank, len(own))
            yield Hit(score, f"k8s.{accessor}().{name}({required})")


def _custom(words: list[str], found: discovery.Discovery) -> Iterator[Hit]:
    """Yields kinds of the cluster's custom groups; built-in kinds are found by their methods."""
    for each in _custom_kinds(found):
        kind = names.snake(each.kind).split("_")
        group = re.split(r"[.-]", each.group)
        missing = _count_missing(words, [*kind, each.name, *group])
        if missing < 0:
            continue
        where = ", namespace=..." if each.namespaced else ""
        call = f"k8s.get('{each.full_name}'{where})"
        yield Hit((missing, 0, 0, 0), f"{call}  # {each.kind}, {each.api_version}")


def _custom_kinds(found: discovery.Discovery) -> Iterator[discovery.ApiResource]:
    """Yields the kinds of groups that are not Kubernetes' own."""
    try:
        for group in found.groups():
            name = group.name
            if "." in name and not name.endswith(".k8s.io"):
                yield from found.server_resources_for_group_version(group.preferred_version.group_version)
    # A group that is down, or discovery that is not allowed, must not hide the methods.
    except exceptions.ApiException:
        return


def _fields(words: list[str]) -> Iterator[Hit]:
    """Yields fields of the models; used when no method and no kind has the words."""
    for model, attributes in operations.models().items():
        if "Alpha" in model or "alpha" in model or "beta" in model:
            continue
        shown = _VERSION.sub("", model)
        for attribute in attributes:
            own = attribute.strip("_").split("_")
            if _count_missing(words, own) == 0:
                score = (0, len(own), len(model))
                yield Hit(score, f"{shown}.{attribute}")
