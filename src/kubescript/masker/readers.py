"""Which reader judges what a probe has found.

Each reader gets the text and the place where a probe's match ends, and gives the spans to mask. A reader looks at a
bounded neighbourhood only: a pod's log may be ten megabytes in one line, written to be slow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kubescript.masker import (
    announced,
    bracketed,
    calls,
    code,
    columns,
    flags,
    idioms,
    keys,
    markup,
    pairs,
    prose,
    urls,
    variables,
)
from kubescript.masker.spans import Span

__all__ = ["READERS"]

READERS: Final[dict[str, Callable[[bytes, int], Iterator[Span]]]] = {
    "pair": pairs.pair,
    "variable-yaml": variables.variable_yaml,
    "flag": flags.flag,
    "weak": variables.weak,
    "weak-key": variables.weak_key,
    "url": urls.url,
    "dsn": urls.dsn,
    "oracle": urls.oracle,
    "query": urls.query,
    "url-path": urls.path,
    "jwt": keys.jwt,
    "scheme": keys.scheme,
    "said": prose.said,
    "login-sentence": prose.login,
    "foreign": prose.foreign,
    "hash": keys.password_hash,
    "announced": announced.announced,
    "columns": columns.columns,
    "variable": variables.variable_text,
    "insert": columns.insert,
    "quoted": variables.quoted,
    "variable-text": variables.variable_text,
    **markup.READERS,
    "spaced": flags.spaced,
    **idioms.READERS,
    **calls.READERS,
    **bracketed.READERS,
    **code.READERS,
}
"""By the probe that calls for them."""
