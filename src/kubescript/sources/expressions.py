"""What PromQL and LogQL text asks for, as far as the door must know: its selectors, and LogQL's stages.

The text comes from a script and is sent as it is, so it is only read here, in time that grows with its length.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from kubescript import errors
from kubescript.kube import log_queries
from kubescript.sources import functions, grouping, required_text

__all__ = ["check_label", "check_length", "check_log_query", "check_metric_query"]

MAX_LENGTH: Final = 8_000
"""The maximum number of characters of an expression."""
# What is not listed here is refused: a character that a source reads in another way than this, such as a carriage
# return, or a comment, would hide what follows.
_TOKEN: Final = re.compile(
    r'(?P<text>"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`[^`]*`)'
    r"|(?P<word>[A-Za-z_:][A-Za-z0-9_:.]*)"
    r"|(?P<comment>//|/\*|#)"
    r"|(?P<sign>\|[=~>]|![=~>]|=~|[=<>]=|[-{}()\[\],|=<>!+*/%^@])"
    # Loki reads a number and a word behind it as two: no unit has four letters.
    r"|(?P<blank>(?![0-9A-Za-z.]*[A-Za-z]{4})[0-9][0-9A-Za-z.]*(?![A-Za-z0-9_])|[ \t\n]+|\.)"
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ESCAPE: Final = re.compile(r'\\(["\\])')
_OR_PATTERN: Final = 'or a pattern with letters that each alternative must have: pod=~"web-.*|api-.+"'
_ESCAPED: Final = "U__"
"""How an escaped name begins."""
_STAGES: Final = frozenset({"decolorize", "drop", "keep", "unwrap"})
"""The stages of LogQL that leave each value under its own name."""
_PARSERS: Final = frozenset({"json", "logfmt"})
_REGEXP: Final = "regexp"
_MOVING: Final = _PARSERS | {_REGEXP, "pattern", "unpack", "line_format", "label_format"}
"""The stages that may take a value to another name."""
_NAMED_GROUP: Final = re.compile(r"\?P?<")
_NUMBER_GROUP: Final = re.compile(r"\(\?P<([A-Za-z_]{1,60})>(?:(?:\[-?(?:0-9|\\d)[.,]*\]|\\d|\\\.|-)[+*?]?)+\)")
"""A named group that takes a number and nothing else."""
_ENDS: Final = frozenset({"|", "|=", "|~", "|>", "!=", "!~", "!>", ")", "["})
"""What ends a stage, unless it is a filter of labels."""
_QUOTES: Final = frozenset({'"', "'", "`"})
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
            "a selector matches every series",
            f'a metric or a label into it: http_requests_total{{namespace="shop"}}, {_OR_PATTERN}',
        )
    _check_strings(tokens)
    _check_functions(tokens)


def check_log_query(text: str) -> None:
    """Refuses LogQL that asks for the lines of every stream, or moves a value away from its name. Raises
    RequestError."""
    tokens = _tokens(text)
    # Loki reads these as Go does, where they are no strings.
    if any(token[:1] == "'" for token in tokens):
        raise _refuse("a string stands in single quotes", 'it in "..." or `...`')
    # Attack: `| label_format:=x, y=password` is the stage `label_format` to Loki.
    for token in tokens:
        if _is_word(token) and not {":", "."}.isdisjoint(token):
            raise _refuse(f"`{token[:40]}` is no word of LogQL", "names without colons and points")
    is_of_lines = log_queries.asks_for_lines(text)
    if is_of_lines and not all(_find_selectors(tokens)):
        raise _refuse("the selector matches every stream", f'a label into it: {{namespace="shop"}}, {_OR_PATTERN}')
    _check_functions(tokens)
    _check_stages(tokens)
    # Attack: a URL with a password stands before a `=`, and becomes a label's name. Beside a line, its words are masked
    # in labels as in the line; a metric comes without the line. The number that `regexp` takes becomes `NAME_extracted`
    # where a stream has a label NAME.
    parser = "" if is_of_lines else grouping.find_open_stage(tokens, _PARSERS | {_REGEXP})
    if parser:
        raise _refuse(
            f"a metric would have all labels that `{parser}` makes of a line",
            "which ones it has: sum by (level) (count_over_time(...)), quantile_over_time(...) by (path)",
        )


def _check_stages(tokens: Sequence[str]) -> None:
    # Attack: `| line_format "{{.password}}"`, `| regexp "password=(?P<x>.*)"` and `| json x="password"` take a secret
    # out of the place by which the masker knows it.
    for at, sign in enumerate(tokens):
        if sign != "|":
            continue
        stage, following = (*tokens[at + 1 : at + 3], "", "")[:2]
        if stage == _REGEXP:
            keeps_names = _is_unwrapped(_find_number(following), tokens, at)
        elif stage in _MOVING:
            arguments = set(itertools.takewhile(lambda each: each not in _ENDS, tokens[at + 2 :]))
            # Attack: with --keep-empty, logfmt makes each word of a line a label, also the password in it.
            keeps_names = stage in _PARSERS and not arguments & {"=", "-"}
        else:
            keeps_names = stage in _STAGES or stage == "(" or following in _COMPARES
        if not keeps_names:
            raise _refuse_stage(stage)


def _find_number(literal: str) -> str:
    """Returns the name of the only named group of a regular expression in a string, if it takes a number and nothing
    else; empty otherwise."""
    pattern = _read_string(literal)
    found = _NUMBER_GROUP.findall(pattern)
    return found[0] if len(found) == len(_NAMED_GROUP.findall(pattern)) == 1 else ""


def _is_unwrapped(name: str, tokens: Sequence[str], start: int) -> bool:
    """Says whether a label that is made at `start` is read as a number there, and stands nowhere else."""
    # Attack: as a label, a number of the line stands beside the mask of the password that it is.
    at = tokens.index(name) if tokens.count(name) == 1 else 0
    if at < start or "[" in tokens[start:at] or "[" not in tokens[at:]:
        return False
    if f"{name}_extracted" in tokens:
        return False
    before = [
        each for each in tokens[max(0, at - 3) : at] if each not in {"(", "bytes", "duration", "duration_seconds"}
    ]
    return before[-1:] == ["unwrap"]


def _read_string(literal: str) -> str:
    """Returns the value of a string; empty for one with other escapes than those of backslash and quotation mark."""
    text = literal[1:-1]
    if literal[:1] == "`":
        return text
    # Attack: an escape, such as `\x3f` for the question mark, hides a group.
    if "\\" in _ESCAPE.sub("", text):
        return ""
    return _ESCAPE.sub(r"\1", text)


def _check_functions(tokens: Sequence[str]) -> None:
    """Refuses a function that may take a value away from its name. Raises RequestError."""
    for before, sign in itertools.pairwise(tokens):
        # Names of functions have no case in VictoriaMetrics.
        is_call = sign == "(" and _is_word(before)
        if is_call and before.lower() not in functions.KNOWN:
            close = difflib.get_close_matches(before[:40].lower(), functions.KNOWN, n=1, cutoff=0.75)
            raise _refuse(
                f"`{before[:40]}` is no function here: only those that leave each label under its own name are",
                f"`{close[0]}`" if close else "a query without it, and join labels in the script",
            )


def _refuse_stage(stage: str) -> errors.RequestError:
    if stage == _REGEXP:
        return _refuse(
            "`regexp` may only take one number, for unwrap",
            'max(max_over_time({...} | regexp "(?P<ms>[0-9.]+)" | unwrap ms [1h])), or take lines apart in the script',
        )
    return _refuse(
        f"`{stage[:40]}` would move a value away from its name, so that it could not be masked",
        "`| json`, `| logfmt` or line filters, and take the lines apart in the script",
    )


def _tokens(text: str) -> list[str]:
    """Returns the words, signs and strings of an expression. Raises RequestError for what a source may read in another
    way."""
    control = _CONTROL.search(text)
    if control is not None:
        raise _refuse(f"the character {control[0]!r} stands in the expression", "it without control characters")
    tokens, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _refuse(
                f"{text[at : at + 20]!r} cannot be read in an expression", "strings with their ends, in ASCII"
            )
        if found.lastgroup == "comment":
            raise _refuse("a comment stands in the expression", "it without comments")
        if found.lastgroup != "blank":
            tokens.append(found[0])
        at = found.end()
    return tokens


def _check_strings(tokens: Sequence[str]) -> None:
    """Refuses a string beside a word, which is not PromQL. Raises RequestError."""
    # Attack: `group_left(token) prefix "public_" x` gives the labels of VictoriaMetrics other names, and within braces
    # its `or` adds other series.
    for before, after in itertools.pairwise(tokens):
        if (_is_word(before) and after[:1] in _QUOTES) or (before[:1] in _QUOTES and _is_word(after)):
            raise _refuse(f"a string stands beside `{(before + after)[:40]}`", "PromQL, as Prometheus has it")


def _is_word(token: str) -> bool:
    return token[:1].isalpha() or token[:1] in {"_", ":"}


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
        has_name = before.lower() not in functions.KEYWORDS and _is_word(before)
        yield has_name or _is_narrow(tokens[at + 1 : end])
        at = end


def _is_narrow(inside: Sequence[str]) -> bool:
    """Says whether one of a selector's matchers names something."""
    for at, token in enumerate(inside):
        before = inside[at - 1] if at else ","
        value = token[1:-1]
        if token[:1] not in _QUOTES or not value:
            continue
        if before == "=":
            return True
        if before == "=~" and required_text.has_required_text(_read_string(token)):
            return True
        follows = inside[at + 1] if at + 1 < len(inside) else ","
        if before == "," and follows == ",":  # a quoted metric's name
            return True
    return False


def _refuse(what: str, instead: str) -> errors.RequestError:
    return errors.RequestError(f"{what}; write {instead}", code="request.source")
