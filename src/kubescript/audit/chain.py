"""How records are chained: each line ends with its own hash and carries the hash of the one before.

A line is canonical JSON (keys sorted, no spaces, UTF-8). `hash` is the last key, whatever the alphabet says: it is the
SHA-256 of the line without it, so that anybody can check it on the very bytes of the file. With a key it is
HMAC-SHA256.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
from dataclasses import dataclass
from typing import Any, Final

import orjson

__all__ = ["FORMAT", "GENESIS", "MAX_LINE", "Damaged", "Head", "now", "parse", "seal"]

FORMAT: Final = "kubescript-audit/1"
GENESIS: Final = "0" * 64
"""The hash before the first record."""
MAX_LINE: Final = 32 * 1024
"""Bytes; every field is bounded far below."""

_HASH_SUFFIX: Final = len(',"hash":""}') + 64


class Damaged(Exception):
    """A line is no record, or not the one that was written."""


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain."""

    seq: int = 0
    """The number of the next record."""
    hash: str = GENESIS


def now() -> str:
    """RFC 3339, UTC, milliseconds."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seal(fields: dict[str, Any], head: Head, key: bytes | None) -> tuple[bytes, Head]:
    """The line for these fields, and the chain's new head."""
    body = orjson.dumps({**fields, "prev": head.hash, "seq": head.seq}, option=orjson.OPT_SORT_KEYS)
    digest = _digest(body, key)
    return body[:-1] + f',"hash":"{digest}"}}\n'.encode(), Head(head.seq + 1, digest)


def parse(line: bytes, key: bytes | None, *, keyed: bool = False) -> dict[str, Any]:
    """The record in a line without its newline. Raises Damaged.

    The hash of a `keyed` chain is not checked without its key.
    """
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise Damaged("no JSON") from None
    if (
        not isinstance(record, dict)
        or not isinstance(record.get("seq"), int)
        or not isinstance(record.get("prev"), str)
    ):
        raise Damaged("no record")
    if line[-_HASH_SUFFIX:] != f',"hash":"{record.get("hash")}"}}'.encode():
        raise Damaged("the hash is not at its end")
    unknown = keyed and key is None
    if not unknown and not hmac.compare_digest(_digest(line[:-_HASH_SUFFIX] + b"}", key), str(record["hash"])):
        raise Damaged("the hash does not match the content")
    return record


def _digest(body: bytes, key: bytes | None) -> str:
    if key is None:
        return hashlib.sha256(body).hexdigest()
    return hmac.digest(key, body, "sha256").hex()
