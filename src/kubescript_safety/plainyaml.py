"""Reads YAML that may come from an attacker: no aliases, tags or surprising scalars, and limits on depth and length."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
import yaml

__all__ = ["YamlError", "documents"]

_MAX_DEPTH: Final = 100
_NUMBERS: Final = {
    "tag:yaml.org,2002:int": r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)$",
    "tag:yaml.org,2002:float": (
        r"(?:[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?|[-+]?\.inf|\.nan)$"
    ),
}
_OTHERS: Final = frozenset({"tag:yaml.org,2002:timestamp", *_NUMBERS})


class YamlError(Exception):
    """A file cannot be parsed; the message, such as `has an alias`, follows the file's name."""


class _Loader(yaml.CSafeLoader):
    """A loader that parses manifests like kubectl: times are strings, and so is `10:30`.

    Attack: a document has `1:1:1:1:…`, a base-60 number to PyYAML, which takes quadratic time.
    """


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag not in _OTHERS]
    for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
for _tag, _pattern in _NUMBERS.items():
    _Loader.add_implicit_resolver(_tag, re.compile(_pattern), list("-+.0123456789"))


def documents(content: bytes | str, limit: int) -> tuple[list[Any], int]:
    """Returns a stream's documents as JSON values, and the number of their parts, which is at most the limit. Raises
    YamlError."""
    try:
        # This happens before any object is created, so that a refused document takes no memory.
        number = _parts(content, limit)
        read = [one for one in yaml.load_all(content, _Loader) if one is not None]
        # Converted through JSON, which is what an API server gets, so that keys are strings.
        return [msgspec.json.decode(msgspec.json.encode(one)) for one in read], number
    except (yaml.YAMLError, msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise YamlError(f"cannot be read: {str(error)[:300]}") from None


def _parts(content: bytes | str, limit: int) -> int:
    """Counts a YAML stream's events before any object is created, and checks them. Raises YamlError."""
    depth = number = 0
    for number, event in enumerate(yaml.parse(content, _Loader), 1):
        if isinstance(event, yaml.AliasEvent):  # attack: a document has nine aliases of nine aliases, and so on
            raise YamlError("has an alias, and those are not followed")
        if getattr(event, "tag", None) is not None:
            raise YamlError("has a tag, and those are not followed")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise YamlError("is nested too deeply")
        if number > limit:
            raise YamlError("has too many parts")
    return number
