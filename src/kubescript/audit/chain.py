"""The chaining of records: each line ends with its own hash and contains the hash of the line before.

The log seals each record here; `verify` and the readers parse lines here. A line is canonical JSON (keys sorted, no
spaces, UTF-8). Only `hash` is out of order, as the last key: it is the SHA-256 of the line without it, so it can be
checked on the exact bytes of the file. With a key it is HMAC-SHA256.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

import orjson

__all__ = [
    "FIRST_BYTES", "FORMAT", "GENESIS", "MAX_LINE", "Damaged", "Head", "identity", "is_torn", "new_id", "now", "parse",
    "seal",
]  # fmt: skip

FORMAT: Final = "kubescript-audit/1"
GENESIS: Final = "0" * 64
"""The hash before the first record."""
MAX_LINE: Final = 32 * 1024
"""The maximum size of a line in bytes; every field is limited to far less."""
FIRST_BYTES: Final = 2 * MAX_LINE
"""How many bytes at the beginning of a file have its first record, even if a torn line stands before it."""
_ID_BYTES: Final = 16
"""How many random bytes a chain's id has."""

_HASH_SUFFIX: Final = len(',"hash":""}') + 64
"""How many bytes at the end of a line its hash does not cover."""


class Damaged(Exception):
    """A line is not a record, or has been altered."""


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain."""

    seq: int = 0
    """The number of the next record."""
    hash: str = GENESIS


def now() -> str:
    """Returns the current time in a record's format: RFC 3339, UTC, milliseconds."""
    moment = datetime.datetime.now(datetime.UTC)
    text = moment.isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def new_id() -> str:
    """Returns an id for a new chain, which no other chain has."""
    return secrets.token_hex(_ID_BYTES)


def identity(beginning: bytes, key: bytes | None) -> str:
    """Returns the id of the chain of a file that begins with these bytes; an empty string if the file has no first
    record."""
    for line in beginning.split(b"\n"):
        try:
            record = parse(line, key)
        except Damaged:
            continue
        if record.get("type") == "file":
            # Chains of older versions have no id. The hash of their first record is as good as one.
            return str(record.get("chain") or record["hash"])
    return ""


def seal(fields: dict[str, Any], head: Head, key: bytes | None) -> tuple[bytes, Head]:
    """Returns the line for these fields, and the new end of the chain."""
    numbered = {**fields, "prev": head.hash, "seq": head.seq}
    body = orjson.dumps(numbered, option=orjson.OPT_SORT_KEYS)
    digest = _digest(body, key)
    # The hash covers the line's own bytes, with the closing brace in place of the hash.
    suffix = f',"hash":"{digest}"}}\n'
    line = body[:-1] + suffix.encode()
    new_head = Head(head.seq + 1, digest)
    return line, new_head


def parse(line: bytes, key: bytes | None, *, keyed: bool = False) -> dict[str, Any]:
    """Returns the record in a line without its newline. Raises Damaged.

    Without the key, the hash of a `keyed` chain is not checked.
    """
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise Damaged("no JSON") from None
    if not _is_record(record):
        raise Damaged("no record")
    # The exact bytes of the file are checked, so nothing depends on how a parser reads them.
    suffix = f',"hash":"{record.get("hash")}"}}'
    if line[-_HASH_SUFFIX:] != suffix.encode():
        raise Damaged("the hash is not at its end")
    if keyed and key is None:
        return record
    digest = _digest(line[:-_HASH_SUFFIX] + b"}", key)
    if not hmac.compare_digest(digest, str(record["hash"])):
        raise Damaged("the hash does not match the content")
    return record


def is_torn(line: bytes) -> bool:
    """Says whether a line that is no record may be what a crash has left of one: no beginning of a record is JSON."""
    # Attack: a made-up record without its newline is excused as torn, and those who read records as JSON show it. So
    # their parser judges.
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return len(line) < MAX_LINE
    return False


def _is_record(value: Any) -> TypeGuard[dict[str, Any]]:
    """Says whether a value has the fields of every record; the rest of a stranger's record may be anything."""
    if not isinstance(value, dict):
        return False
    has_seq = isinstance(value.get("seq"), int)
    return has_seq and isinstance(value.get("prev"), str)


def _digest(body: bytes, key: bytes | None) -> str:
    """Returns the hash of a line without its own hash, keyed if there is a key."""
    if key is None:
        return hashlib.sha256(body).hexdigest()
    return hmac.digest(key, body, "sha256").hex()
