"""Decides which values under a credential's name are credentials, and not references, paths, switches or numbers."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kubescript_masking.rules import names, randomness
from kubescript_masking.text import linear, placeholders

__all__ = [
    "HARMLESS",
    "Judge",
    "is_blank",
    "is_label",
    "is_name",
    "is_secret",
    "is_secret_in_prose",
    "is_setting",
    "is_status",
    "is_weak_secret",
    "kind",
]

Judge = Callable[[bytes, str], bool]
"""Says whether a value of a kind is a credential."""

_WORDS: Final = Path(__file__).with_name("words.toml").read_text("utf-8").replace("\\\n", "")
_FILE: Final = tomllib.loads(_WORDS)
HARMLESS: Final[list[dict[str, str]]] = _FILE["harmless"]
"""Shapes of values that are never credentials, under any name."""
_LABELS: Final = frozenset(_FILE["names"]["labels"].encode().split())
# Values of these kinds are chosen by people, or have their own judge: even a number may be one.
_CHOSEN: Final = frozenset({"password", "url-password", "pin", "cookie", "basic-auth"})
_NAMED: Final = frozenset({"secret", "credential", "token", "key"})
"""Kinds whose fields often hold the name of a Secret or of a key in one."""
_DSN_SECRET: Final = linear.build(rb"@|(?i:pass|pwd|key|token|secret|signature|credential|auth)[\w ]*=")
_SENTENCE: Final = linear.build(rb"(?:(?:[A-Za-z\x80-\xff']+|\d{1,3})[?.!,:]?(?: |\z)[?!:]?){1,14}")
_SENTENCE_BYTES: Final = 80
_WITHOUT_MARKS: Final = bytes.maketrans(b"?.!,:", b"     ")
_PERSON: Final = linear.build(rb"[\w.+-]+@[a-z][\w-]*(?:\.[\w-]+)+")
_SETTINGS: Final = _NAMED | {"password"}
"""Kinds for which a setting (`role=billing`) is not a secret."""
_SETTING: Final = linear.build(rb"[a-z_]{2,20}=[^=]")
_NO_COOKIE: Final = frozenset({b"path", b"domain", b"expires", b"max-age", b"samesite"})
_UUID: Final = linear.build(rb"(?:[a-z]{2,8}-)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_OF_OBJECTS: Final = randomness.LOWER + randomness.DIGITS + b"-./_"
_OF_USERS: Final = randomness.LETTERS + randomness.DIGITS + b"_.@+-"
_OF_PATHS: Final = randomness.LETTERS + randomness.DIGITS + b"_./-"
_VISIBLE: Final = bytes(range(33, 127))
_SPACED: Final = bytes.maketrans(b",;", b"  ")
_TO_DASHES: Final = bytes.maketrans(b"._", b"--")
_NAME_OF_SECRET: Final = linear.build(randomness.NAME_STEM + rb"(?:[-/][a-z0-9]{5,10}){0,2}")
_SAYS_SO: Final = linear.build(rb"secret|token|key|cred|password|auth|cert|tls|config")


def kind(name: str, value: bytes, judge: Judge | None = None) -> str:
    """Returns the kind of a name's value; empty when it is not secret. `judge` is `is_secret` or a stricter one."""
    name = name[-names.LONGEST :]
    found = names.kind(name)
    if found:
        if names.collection(name) and is_status(value):
            return ""
        is_credential = judge or is_secret
        return found if is_credential(value, found) else ""
    if names.weak(name) or names.pair(name):
        return "key" if is_weak_secret(value, name) else ""
    if not names.is_about(name):
        return ""
    is_drawn = randomness.is_drawn(value) or (randomness.is_hex(value) and randomness.is_random(value))
    return "key" if is_drawn else ""


def is_name(name: str) -> bool:
    """Says whether a value under this name may be a secret."""
    if names.weak(name):
        return True
    return names.kind(name) != ""


def is_secret(value: bytes, kind: str) -> bool:
    """Says whether a value under a credential's name is to be masked."""
    bare = value.strip().rstrip(b",;")
    if not bare or placeholders.is_masked(bare):
        return False
    if _harmless(kind).fullmatch(bare) or is_label(bare):
        return False
    if kind in _NAMED:
        return not (_is_name(bare, kind) or _are_names(bare, kind))
    judge = _JUDGED.get(kind)
    return judge is None or judge(bare)


@functools.cache
def _harmless(kind: str) -> linear.Pattern:
    """Returns all harmless shapes of a kind as one pattern."""
    # For RE2, an alternation of a hundred patterns costs no more than a single one.
    of = {"any", kind}
    if kind not in _CHOSEN:
        of.add("machine")
    rows = [row for row in HARMLESS if not of.isdisjoint(row["of"].split())]
    return _build_choice(rows)


def _build_choice(rows: list[dict[str, str]]) -> linear.Pattern:
    """Returns the shapes of these rows as one pattern."""
    regexes = [row["regex"].encode() for row in rows]
    choice = b"|".join(regexes)
    return linear.build(choice)


def _is_pin(value: bytes) -> bool:
    """Says whether a value is a number of 4 to 12 digits."""
    is_short = 4 <= len(value) <= 12
    return is_short and value.isdigit()


def _is_dsn(value: bytes) -> bool:
    """Says whether a connection string contains a user, or a setting with a credential's name."""
    return _DSN_SECRET.search(value) is not None


def is_label(value: bytes) -> bool:
    """Says whether a value is a form's label for a password field, in any language: only words, one of them a
    credential's."""
    if not value[:1].isupper() and b" " not in value:
        return not randomness.has(value, _VISIBLE)
    if len(value) > _SENTENCE_BYTES or not _SENTENCE.fullmatch(value):
        return False
    words = value.translate(_WITHOUT_MARKS).lower().split()
    if not _LABELS.isdisjoint(words):
        return True
    texts = [word.decode("utf-8", "replace").lower() for word in words]
    return any(map(names.kind, texts))


def _is_cookie(value: bytes) -> bool:
    """Says whether a cookie is long enough to identify a session, which `lang=en` is not."""
    if b"=" not in value:
        is_erlangs = randomness.has_digit(value) or value.isupper()
        return is_erlangs and len(value) >= 12 and b" " not in value
    return any(_names_session(part) for part in value.split(b";"))


def _names_session(part: bytes) -> bool:
    """Says whether a part of a cookie is long enough, and not a setting such as `Path=/`."""
    name, _, said = part.strip().partition(b"=")
    is_setting = b" " in name or name.lower() in _NO_COOKIE
    if is_setting or len(said) < 12:
        return False
    return randomness.has(said, randomness.LETTERS)


def _is_login(value: bytes) -> bool:
    """Says whether a value is `user:password`, `neo4j/password`, or a password alone."""
    if len(value) < 8 or not _is_word(value):
        return False
    # A colon at the end has no password behind it: `cluster.auth: prom.query: no token`.
    has_user = b":" in value[:-1]
    return has_user or randomness.is_mixed(value)


_JUDGED: Final[dict[str, Callable[[bytes], bool]]] = {
    "pin": _is_pin,
    "cookie": _is_cookie,
    "basic-auth": _is_login,
    "dsn": _is_dsn,
}


def is_secret_in_prose(value: bytes, kind: str) -> bool:
    """Says whether `password: value` in a sentence contains a secret; the value may be just the next word: `token:
    expired`."""
    if len(value) < 5:
        return False
    bare = value[:-1] if value[-1:] in b".,;:!?" else value
    is_word = bare.isalpha() and bare[1:].islower()
    is_link = b"://" in value and b"@" not in value
    if is_word or is_link or _PERSON.fullmatch(value) is not None:
        return False
    # `rotating the password: role=billing`
    if kind in _SETTINGS and is_setting(value):
        return False
    return is_secret(value, kind)


def is_setting(value: bytes) -> bool:
    """Says whether a value is a setting: `role=billing`."""
    return _SETTING.match(value) is not None


def is_blank(value: bytes) -> bool:
    """Says whether a value is a blank to fill in: a variable, a template, a reference."""
    return _blank().fullmatch(value) is not None


@functools.cache
def _blank() -> linear.Pattern:
    """Returns the shapes of blanks to fill in as one pattern."""
    ids = {"blank to fill in", "variable", "reference to a store", "address with a blank for its password"}
    rows = [row for row in HARMLESS if row["id"] in ids]
    return _build_choice(rows)


def is_status(value: bytes) -> bool:
    """Says whether a value is a word, or a code made of words: `policy.denied_resource`."""
    words = value.translate(_TO_DASHES).split(b"-")
    return all(map(bytes.isalpha, words))


def is_weak_secret(value: bytes, name: str) -> bool:
    """Says whether a value under an ambiguous name is a secret because it, or a part of it, is random."""
    if _UUID.fullmatch(value):
        return names.key(name)
    if _harmless("password").fullmatch(value):
        return False
    if names.pair(name) and any(_is_user_drawn(each) for each in value.split(b",")):
        return True
    behind_user = value.rpartition(b":")[2]
    if names.is_vendor(name) and randomness.is_random(behind_user):
        return True
    parts = value.translate(_SPACED).split()
    return any(_is_part_drawn(part) for part in parts)


def _is_part_drawn(value: bytes) -> bool:
    """Says whether a part of a value is random by itself."""
    if len(value) < 8:
        return False
    return randomness.is_random(value) or randomness.is_drawn(value.replace(b"/", b"+"))


def _is_user_drawn(value: bytes) -> bool:
    """Says whether a value is a user and a password: `user/pa55W-rd`, `root / pa55W-rd`, `user:pa55word`."""
    user, slash, password = value.replace(b" / ", b"/").partition(b"/")
    is_user = user.isalpha() and user.islower()
    if slash and is_user and len(password) >= 8 and _is_word(password):
        return _is_password_and_no_path(password)
    user, colon, password = value.partition(b":")
    is_user = user[:1].isalpha() and not user.translate(None, _OF_USERS)
    if not colon or not is_user or len(password) < 6 or not _is_word(password):
        return False
    is_address = b":" in password or b"/" in password
    return not is_address and randomness.is_mixed(password)


def _is_password_and_no_path(value: bytes) -> bool:
    """Says whether a value after a slash is a password: it has a digit, a capital and a special character."""
    has_sign = bool(value.translate(None, _OF_PATHS))
    is_path = b"/" in value
    if is_path or not has_sign:
        return False
    has_capital = randomness.has(value, randomness.UPPER)
    return has_capital and randomness.has_digit(value)


def _is_name(value: bytes, kind: str) -> bool:
    """Says whether a value is an object's name.

    A field called `secret` may well name a Secret; one called `token` does so only when its value suggests it.
    """
    if value.translate(None, _OF_OBJECTS):
        return False
    word = value.rstrip(randomness.DIGITS)
    is_typed = value.isalnum() and value[-2:].isdigit() and len(word) >= 4  # as people make passwords
    if is_typed:
        return False
    if kind in {"secret", "credential"}:
        return _NAME_OF_SECRET.fullmatch(value) is not None
    return randomness.is_object_name(value) and _SAYS_SO.search(value) is not None


def _are_names(value: bytes, kind: str) -> bool:
    """Says whether a value is a list of such names; words alone may be a passphrase."""
    parts = value.translate(_SPACED).split()
    if len(parts) < 2:
        return False
    has_signs = all(b"-" in part or b"/" in part for part in parts)
    return has_signs and all(_is_name(part, kind) for part in parts)


def _is_word(value: bytes) -> bool:
    """Says whether a value has no blanks inside."""
    words = value.split()
    return len(words) == 1
