"""What PromQL and LogQL text asks for, as far as the door must know: its selectors, and LogQL's stages.

The text comes from a script and is sent as it is, so it is only read here, in time that grows with its length.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from kubescript import errors

__all__ = ["check_label", "check_length", "check_log_query", "check_metric_query"]

MAX_LENGTH: Final = 8_000
"""The maximum number of characters of an expression."""
# Each string also matches without its end, so that no quote makes the scan begin anew.
_TOKEN: Final = re.compile(
    r'(?P<text>"(?:[^"\\\n]|\\.)*(?:"|\Z|\n)|\'(?:[^\'\\\n]|\\.)*(?:\'|\Z|\n)|`[^`]*(?:`|\Z))'
    r"|(?P<comment>#[^\n]*)"
    r"|(?P<word>[A-Za-z_:][A-Za-z0-9_:.]*)"
    r"|(?P<sign>\|[=~>]|![=~>]|=~|[=<>]=|[-{}()\[\],|=<>!+*/%^])"
    r"|(?P<other>[0-9][0-9A-Za-z.]*|\s+|.)",
    re.DOTALL,
)
_LITERAL: Final = re.compile(r"\\.|([A-Za-z0-9])")
_ESCAPED: Final = "U__"
"""How an escaped name begins."""
_STAGES: Final = frozenset({"json", "logfmt", "decolorize", "drop", "keep", "unwrap"})
"""The stages of LogQL that leave each value under its own name."""
_PARSERS: Final = frozenset({"json", "logfmt"})
_RENAMING: Final = frozenset({"label_replace", "label_join"})
_ENDS: Final = frozenset({"|", "|=", "|~", "|>", "!=", "!~", "!>", ")", "["})
"""What ends a stage, unless it is a filter of labels."""
_KEYWORDS: Final = frozenset({
    "and", "or", "unless", "by", "without", "on", "ignoring", "group_left", "group_right", "bool", "offset", "atan2",
})  # fmt: skip
_COMPARES: Final = frozenset({"=", "!=", "=~", "!~", "==", ">", ">=", "<", "<="})


def check_length(text: str) -> None:
    """Refuses an expression that is empty or too long. Raises RequestError."""
    if len(text) > MAX_LENGTH:
        raise _refuse(f"an expression has more than {MAX_LENGTH} characters", "a shorter one")
    if not text.strip():
        raise _refuse("the expression is empty", 'one: prom.query("up")')


def check_label(name: str) -> None:
    """Refuses the name of a label that Prometheus would read as another one. Raises RequestError."""
    # Attack: `U__p_61_ssword` is `password` to Prometheus 3, and no name of a secret to the masker.
    if name.startswith(_ESCAPED):
        raise _refuse(f"a name that begins with {_ESCAPED} stands for another one", "the label's own name")


def check_metric_query(text: str) -> None:
    """Refuses PromQL with a selector that matches every series, or that moves a value away from its name. Raises
    RequestError."""
    tokens = _tokens(text)
    if not all(_find_selectors(tokens)):
        raise _refuse(
            "a selector matches every series", 'name a metric or a label: http_requests_total{namespace="shop"}'
        )
    _check_renaming(tokens)


def check_log_query(text: str) -> None:
    """Refuses LogQL that asks for the lines of every stream, or moves a value away from its name. Raises
    RequestError."""
    tokens = _tokens(text)
    has_lines = bool(tokens) and tokens[0] == "{"
    if has_lines and not all(_find_selectors(tokens)):
        raise _refuse("the selector matches every stream", 'name a label: {namespace="shop"}')
    _check_stages(tokens)


def _check_stages(tokens: Sequence[str]) -> None:
    # Attack: `| line_format "{{.password}}"`, `| regexp "password=(?P<x>.*)"` and `| json x="password"` take a secret
    # out of the place by which the masker knows it.
    _check_renaming(tokens)
    for at, token in enumerate(tokens):
        if token != "|":  # noqa: S105  not a password
            continue
        own = list(itertools.takewhile(lambda each: each not in _ENDS, tokens[at + 1 :]))
        stage, following = (*own, "", "")[:2]
        is_filter = stage == "(" or following in _COMPARES
        renames = stage in _PARSERS and "=" in own
        if not is_filter and (stage not in _STAGES or renames):
            raise _refuse_stage(stage)


def _check_renaming(tokens: Sequence[str]) -> None:
    for token in tokens:
        if token in _RENAMING:
            raise _refuse(
                f"`{token}` would move a value away from its name, so that it could not be masked",
                "the query without it, and join labels in the script",
            )


def _refuse_stage(stage: str) -> errors.RequestError:
    return _refuse(
        f"`{stage[:40]}` would move a value away from its name, so that it could not be masked",
        "`| json`, `| logfmt` or line filters, and take the lines apart in the script",
    )


def _tokens(text: str) -> list[str]:
    """Returns the words, signs and strings of an expression."""
    return [match[0] for match in _TOKEN.finditer(text) if match.lastgroup in {"text", "word", "sign"}]


def _find_selectors(tokens: Sequence[str]) -> Iterator[bool]:
    """Yields for each selector in braces whether it is narrower than everything."""
    at = 0
    while at < len(tokens):
        if tokens[at] != "{":
            at += 1
            continue
        end = at
        while end < len(tokens) and tokens[end] != "}":
            end += 1
        before = tokens[at - 1] if at else ""
        has_name = before not in _KEYWORDS and (before[:1].isalpha() or before[:1] in {"_", ":"})
        yield has_name or _is_narrow(tokens[at + 1 : end])
        at = end


def _is_narrow(inside: Sequence[str]) -> bool:
    """Says whether one of a selector's matchers names something."""
    for at, token in enumerate(inside):
        before = inside[at - 1] if at else ","
        value = token[1:-1]
        if token[:1] not in {'"', "'", "`"} or not value:
            continue
        if before == "=":
            return True
        if before == "=~" and any(match[1] for match in _LITERAL.finditer(value)):
            return True
        follows = inside[at + 1] if at + 1 < len(inside) else ","
        if before == "," and follows == ",":  # a quoted metric's name
            return True
    return False


def _refuse(what: str, instead: str) -> errors.RequestError:
    return errors.RequestError(f"{what}; write {instead}", code="request.source")
