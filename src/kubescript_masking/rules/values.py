"""Decides which values under a credential's name are credentials, and not references, paths, switches or numbers."""

from __future__ import annotations

import functools
import itertools
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from kubescript_masking.rules import names
from kubescript_masking.text import linear, spans

__all__ = [
    "HARMLESS",
    "Judge",
    "entropy",
    "has_digit",
    "is_blank",
    "is_drawn",
    "is_label",
    "is_mixed",
    "is_name",
    "is_random",
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
HARMLESS: Final[list[dict[str, str]]] = tomllib.loads(_WORDS)["harmless"]
"""Shapes of values that are never credentials, under any name."""
_CHOSEN: Final = frozenset({"password", "url-password", "pin", "cookie", "basic-auth"})
"""Kinds whose values people choose, or that have their own judge: a number may be one."""
_NAMED: Final = frozenset({"secret", "credential", "token", "key"})
"""Kinds whose fields often hold the name of a Secret or of a key in one."""
_DSN_SECRET: Final = linear.build(rb"@|(?i:pass|pwd|key|token|secret|signature|credential|auth)[\w ]*=")
_SENTENCE: Final = linear.build(rb"(?:(?:[A-Za-z\x80-\xff']+|\d{1,3})[?.!,:]?(?: |\z)[?!:]?){1,14}")
_LABELS: Final = frozenset(
    "key keys passe jeton clave chave chiave clé schlüssel contraseña acceso acesso accès d'accès".encode().split()
)
_PERSON: Final = linear.build(rb"[\w.+-]+@[a-z][\w-]*(?:\.[\w-]+)+")
_SETTINGS: Final = _NAMED | {"password"}
"""Kinds for which a setting (`role=billing`) is not a secret."""
_SETTING: Final = linear.build(rb"[a-z_]{2,20}=[^=]")
_NO_COOKIE: Final = frozenset({b"path", b"domain", b"expires", b"max-age", b"samesite"})
_UUID: Final = linear.build(rb"(?:[a-z]{2,8}-)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_SAMPLE: Final = 1_024
"""Bytes by which a value's randomness is judged."""
_UPPER: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER: Final = b"abcdefghijklmnopqrstuvwxyz"
_DIGITS: Final = b"0123456789"
_LETTERS: Final = _UPPER + _LOWER
_OF_RANDOM: Final = _LETTERS + _DIGITS + b"+/=_.~-"
_OF_NAMES: Final = _LOWER + _DIGITS + b"-./"
_OF_USERS: Final = _LETTERS + _DIGITS + b"_.@+-"
_VISIBLE: Final = bytes(range(33, 127))
_CLASSES: Final = bytes(
    97 if code in _LOWER else 65 if code in _UPPER else 48 if code in _DIGITS else 95 for code in range(256)
)
_SPACED: Final = bytes.maketrans(b",;", b"  ")


def kind(name: str, value: bytes, judge: Judge | None = None) -> str:
    """Returns the kind of a name's value; empty when it is not secret. `judge` is `is_secret` or a stricter one."""
    found = names.kind(name)
    if found and names.collection(name) and is_status(value):
        return ""
    if found:
        return found if (judge or is_secret)(value, found) else ""
    if names.weak(name) or names.pair(name):
        return "key" if is_weak_secret(value, name) else ""
    is_drawn_alone = is_drawn(value) or (_is_hex(value) and is_random(value))
    return "key" if is_drawn_alone and names.is_about(name) else ""


def is_name(name: str) -> bool:
    """Says whether a value under this name may be a secret."""
    return bool(names.kind(name)) or names.weak(name)


def is_secret(value: bytes, kind: str) -> bool:
    """Says whether a value under a credential's name is to be masked."""
    bare = value.strip().rstrip(b",;")
    if not bare or spans.is_masked(bare) or _harmless(kind).fullmatch(bare) or is_label(bare):
        return False
    if kind in _NAMED:
        return not (_is_name(bare, kind) or _are_names(bare, kind))
    return kind not in _JUDGED or _JUDGED[kind](bare)


@functools.cache
def _harmless(kind: str) -> linear.Pattern:
    """Returns all harmless shapes of a kind as one pattern: to RE2, a choice of a hundred costs no more than one."""
    of = {"any", kind} if kind in _CHOSEN else {"any", "machine", kind}
    return _build_choice(row for row in HARMLESS if not of.isdisjoint(row["of"].split()))


def _build_choice(rows: Iterable[dict[str, str]]) -> linear.Pattern:
    regexes = (row["regex"].encode() for row in rows)
    return linear.build(b"|".join(regexes))


def _is_pin(value: bytes) -> bool:
    return 4 <= len(value) <= 12 and value.isdigit()


def _is_dsn(value: bytes) -> bool:
    """Says whether a connection string contains a user, or a setting with a credential's name."""
    return _DSN_SECRET.search(value) is not None


def is_label(value: bytes) -> bool:
    """Says whether a value is a form's label for a password field, in any language: only words, one of them a
    credential's."""
    if not value[:1].isupper() and b" " not in value:
        return not _has(value, _VISIBLE)
    if len(value) > 80 or not _SENTENCE.fullmatch(value):
        return False
    words = value.translate(bytes.maketrans(b"?.!,:", b"     ")).lower().split()
    if not _LABELS.isdisjoint(words):
        return True
    return any(names.kind(word.decode("utf-8", "replace").lower()) for word in words)


def _is_cookie(value: bytes) -> bool:
    """Says whether a cookie is long enough to identify a session; `lang=en` is not."""
    if b"=" not in value:
        is_erlangs = _has(value, _DIGITS) or value.isupper()
        return is_erlangs and len(value) >= 12 and b" " not in value
    for part in value.split(b";"):
        name, _, said = part.strip().partition(b"=")
        is_setting = b" " in name or name.lower() in _NO_COOKIE
        if len(said) >= 12 and not is_setting and _has(said, _LETTERS):
            return True
    return False


def _is_login(value: bytes) -> bool:
    """Says whether a value is `user:password`, `neo4j/password`, or a password alone."""
    return len(value) >= 8 and _is_word(value) and (b":" in value or is_mixed(value))


_JUDGED: Final[dict[str, Callable[[bytes], bool]]] = {
    "pin": _is_pin,
    "cookie": _is_cookie,
    "basic-auth": _is_login,
    "dsn": _is_dsn,
}


def is_secret_in_prose(value: bytes, kind: str) -> bool:
    """Says whether `password: value` in a sentence holds a secret; the value may be just the next word: `token:
    expired`."""
    bare = value[:-1] if value[-1:] in b".,;:!?" else value
    is_word = bare.isalpha() and bare[1:].islower()
    is_address = _PERSON.fullmatch(value) is not None or (b"://" in value and b"@" not in value)
    # `rotating the password: role=billing`
    is_told = kind in _SETTINGS and is_setting(value)
    if len(value) < 5 or is_word or is_address or is_told:
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
    ids = {"blank to fill in", "variable", "reference to a store", "address with a blank for its password"}
    return _build_choice(row for row in HARMLESS if row["id"] in ids)


def is_status(value: bytes) -> bool:
    """Says whether a value is a word, or a code made of words: `policy.denied_resource`."""
    words = value.translate(bytes.maketrans(b"._", b"--")).split(b"-")
    return all(map(bytes.isalpha, words))


def is_random(value: bytes) -> bool:
    """Says whether a value looks random: long, mixed, and of high entropy."""
    if len(value) < 16 or not is_mixed(value) or value.translate(None, _OF_RANDOM):
        return False
    if (b"-" in value or b"/" in value) and not value.translate(None, _OF_NAMES):
        # `namespace/name`, as controllers log their objects
        parts = value.translate(bytes.maketrans(b"./", b"--")).split(b"-")
        has_words = any(len(part) > 2 and part.isalpha() for part in parts)
        if has_words or _NAME.fullmatch(value):
            return False
    least = 3.0 if _is_hex(value) else 3.7  # hexadecimal digits have 4 bits at most
    return entropy(value[:_SAMPLE]) >= least


def _is_hex(value: bytes) -> bool:
    odd = value.translate(None, _DIGITS)
    return not odd.translate(None, b"abcdef") or not odd.translate(None, b"ABCDEF")


def is_weak_secret(value: bytes, name: str) -> bool:
    """Says whether a value under an ambiguous name is a secret because it, or a part of it, is random."""
    if _UUID.fullmatch(value):
        return names.key(name)
    if _harmless("password").fullmatch(value):
        return False
    if names.pair(name) and any(_is_user_drawn(each) for each in value.split(b",")):
        return True
    if names.is_vendor(name) and is_random(value.rpartition(b":")[2]):
        return True
    return any(_is_part_drawn(part) for part in value.translate(_SPACED).split())


def _is_part_drawn(value: bytes) -> bool:
    return len(value) >= 8 and (is_random(value) or is_drawn(value.replace(b"/", b"+")))


def _is_user_drawn(value: bytes) -> bool:
    """Says whether a value is a user and a password: `user/pa55W-rd`, `root / pa55W-rd`, `user:pa55word`."""
    user, slash, password = value.replace(b" / ", b"/").partition(b"/")
    is_user = user.isalpha() and user.islower()
    if slash and is_user and len(password) >= 8 and _is_word(password):
        is_odd = bool(password.translate(None, _LETTERS + _DIGITS + b"_./-"))
        is_path = b"/" in password
        return is_odd and not is_path and _has(password, _DIGITS) and _has(password, _UPPER)
    user, colon, password = value.partition(b":")
    is_user = user[:1].isalpha() and not user.translate(None, _OF_USERS)
    if not colon or not is_user or len(password) < 6 or not _is_word(password):
        return False
    is_address = b":" in password or b"/" in password
    return not is_address and is_mixed(password)


def has_digit(value: bytes) -> bool:
    """Says whether a value contains a digit."""
    return _has(value, _DIGITS)


def is_drawn(value: bytes, changes: float = 0.4) -> bool:
    """Says whether small letters, capitals and digits are mixed as in no word, name or version. `changes`: the least
    number of changes between these classes, per byte."""
    if not 8 <= len(value) <= 200 or value.translate(None, _LETTERS + _DIGITS + b"!@#$%^&*+=?_~-"):
        return False
    classes = value.translate(_CLASSES)
    if not (b"a" in classes and b"A" in classes and b"0" in classes):
        return False
    changed = sum(one != two for one, two in itertools.pairwise(classes))
    return changed >= changes * len(value)


def entropy(value: bytes) -> float:
    """Returns a value's Shannon entropy in bits per byte."""
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * math.log2(share) for share in shares)


def _is_name(value: bytes, kind: str) -> bool:
    """Says whether a value is an object's name: lower-case words with dashes, the last perhaps generated.

    A field called `secret` may well name a Secret; one called `token` does so only when its value suggests it.
    """
    if value.translate(None, _LOWER + _DIGITS + b"-./_"):
        return False
    if value.isalnum() and value[-2:].isdigit() and len(value.rstrip(_DIGITS)) >= 4:
        return False  # a word and a number, as people make passwords
    if kind in {"secret", "credential"}:
        return _NAME_OF_SECRET.fullmatch(value) is not None
    return _NAME.fullmatch(value) is not None and _SAYS_SO.search(value) is not None


def _are_names(value: bytes, kind: str) -> bool:
    """Says whether a value is a list of such names; words alone may be a passphrase."""
    parts = value.translate(_SPACED).split()
    has_signs = all(b"-" in part or b"/" in part for part in parts)
    return len(parts) > 1 and has_signs and all(_is_name(part, kind) for part in parts)


_STEM: Final = rb"[a-z]+[0-9]{0,3}(?:[-./_](?:[a-z]+[0-9]*|[0-9]+|[a-z0-9]{1,4}))*"
_GENERATED: Final = rb"[bcdfghjklmnpqrstvwxz2456789]"
"""Letters that Kubernetes and kustomize append: no vowels, so that no words appear, and no look-alikes."""
_NAME: Final = linear.build(_STEM + rb"(?:-" + _GENERATED + rb"{8,10})?(?:-" + _GENERATED + rb"{5})?")
_NAME_OF_SECRET: Final = linear.build(_STEM + rb"(?:[-/][a-z0-9]{5,10}){0,2}")
_SAYS_SO: Final = linear.build(rb"secret|token|key|cred|password|auth|cert|tls|config")


def is_mixed(value: bytes) -> bool:
    """Says whether a value has letters and digits, as hardly any word of a sentence does."""
    return _has(value, _DIGITS) and _has(value, _LETTERS)


def _is_word(value: bytes) -> bool:
    """Says whether a value has no blanks inside."""
    return len(value.split()) == 1


def _has(value: bytes, letters: bytes) -> bool:
    return len(value.translate(None, letters)) < len(value)
