"""Selectors as scripts write them, to the text that the API server reads: `{"app": "web"}`, `{"app": ["a", "b"]}`,
`["app=web", "tier=x"]`, and what a Deployment has in `spec.selector`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubescript.worker.sdk import names

__all__ = ["text"]

_OPERATORS: Final = {"in": "{} in ({})", "notin": "{} notin ({})", "exists": "{}", "doesnotexist": "!{}"}


def text(value: Any) -> Any:
    """The selector's text; whatever is no map and no list, itself."""
    if isinstance(value, Mapping):
        return ",".join(_terms(value))
    if isinstance(value, list | tuple):
        return ",".join(str(text(each)) for each in value)
    return value


def _terms(selector: Mapping[str, Any]) -> Iterator[str]:
    for key, wanted in selector.items():
        match names.fold(str(key)):
            case "matchlabels" if isinstance(wanted, Mapping):
                yield from _terms(wanted)
            case "matchexpressions" if isinstance(wanted, list):
                yield from map(_expression, wanted)
            case _:
                yield _term(key, wanted)


def _term(key: str, wanted: Any) -> str:
    if isinstance(wanted, list | tuple | set | frozenset):
        return f"{key} in ({','.join(sorted(map(str, wanted)))})"
    if isinstance(wanted, bool):
        wanted = str(wanted).lower()
    return str(key) if wanted is None else f"{key}={wanted}"


def _expression(wanted: Mapping[str, Any]) -> str:
    operator = _OPERATORS[str(wanted["operator"]).lower()]
    return operator.format(wanted["key"], ",".join(wanted.get("values") or ()))
