"""Decides which names promise a credential: names of JSON keys, variables, flags and headers, in any spelling.

A name is judged by its words. A credential word makes it one (`dbPassword`, `SLACK_TOKEN`), unless a later word turns
it into a name for something related (`passwordFile`, `tokenTTL`, `secretName`).
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Final

from kubescript_masking.text import linear

__all__ = [
    "CHANCE",
    "HIDDEN",
    "IDENTIFIERS",
    "LONGEST",
    "VENDORS",
    "collection",
    "is_open_to_chance",
    "is_vendor",
    "key",
    "kind",
    "pair",
    "split",
    "weak",
]

_WORDS: Final = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
_LISTS: Final = {which: tuple(words.split()) for which, words in _WORDS["names"].items()}


def _set(which: str) -> frozenset[str]:
    """Returns a list of words as a set."""
    words = _LISTS[which]
    return frozenset(words)


def _by_kind(table: str, sign: str | None = None) -> dict[str, str]:
    """Returns the words of a table, each with its kind."""
    kinds: dict[str, str] = {}
    for kind, words in _WORDS[table].items():
        kinds |= dict.fromkeys(words.split(sign), kind)
    return kinds


_SECRETS: Final = _by_kind("secret")
_KEYS, _ABOUT, _WEAK, _PUBLIC, _KEYLESS = map(_set, ("keys", "about", "weak", "public", "keyless"))
HIDDEN: Final[dict[str, str]] = _WORDS["hidden"]
"""Words to look for in base64."""
_ONLY_ABOUT, _TOKENLESS, CHANCE = map(_set, ("only_about", "tokenless", "chance"))
_BY_END: Final = _by_kind("ends", ", ")
"""Endings that promise a credential of a kind, regardless of the words before them."""
_UNDRAWN: Final = CHANCE.union(_PUBLIC, _ONLY_ABOUT)
"""Words of names whose values are random but not secret."""
_TOLD: Final = _ABOUT.union(_UNDRAWN)
_OPEN, _GETTERS, _KEYED, _PAIRS, _COLLECTIONS = map(_set, ("open", "getters", "keyed", "pairs", "collections"))
_KEYS_ABROAD: Final = _LISTS["abroad"]
"""Endings of compounds that mean `key` in other languages."""
VENDORS: Final = _LISTS["vendors"]
IDENTIFIERS: Final = _LISTS["identifiers"]
"""Endings of fields whose values are random or made from a secret, but not secret."""
_VENDORS, _NO_KEYS, _FORMS, _NOT_ENDING = map(_set, ("vendors", "vendor_about", "forms", "ending"))
_ENDINGS: Final = _by_kind("endings")
_ENDS: Final = tuple(_ENDINGS)
_HOSTS: Final = tuple(f".{end}" for end in _LISTS["hosts"])
"""Endings of the names of hosts, API groups and files."""
# Real names are shorter than this.
LONGEST: Final = 256
"""How many trailing characters of a name are judged."""
_HUMP: Final = linear.build(rb"([A-Z][a-z\xdf-\xff])")
_WORD: Final = linear.build(rb"[A-Z]?[a-z\xdf-\xff]+|[A-Z]+|[0-9]+")


def kind(name: str) -> str:
    """Returns the kind of credential that a name promises (`password`, `token`, …); empty when it promises none."""
    return _kind(name[-LONGEST:])


def weak(name: str) -> bool:
    """Says whether a long random value under this name is a secret."""
    return _weak(name[-LONGEST:])


@functools.lru_cache(maxsize=4096)
def _kind(name: str) -> str:
    is_host = name.endswith(_HOSTS) and "account.key" not in name  # also an API group: `rbac.authorization.k8s.io`
    words = split(name)
    is_call = not _GETTERS.isdisjoint(words[:1]) and " " not in name
    if is_host or is_call:
        return ""
    whole = _by_its_end(words)
    if whole:
        return whole
    found, place = _find_credential(words)
    if not found or not _ONLY_ABOUT.isdisjoint(words):
        return ""
    before, behind = words[:place], words[place + 1 :]
    if found == "token" and not _TOKENLESS.isdisjoint(before[-1:]):
        return ""
    is_about = words[-2:] != ("secret", "id") and not _ABOUT.isdisjoint(behind)
    is_open = found != "password" and not _OPEN.isdisjoint(before)
    return "" if is_about or is_open else found


def _find_credential(words: tuple[str, ...]) -> tuple[str, int]:
    """Returns the kind of the last word that is a credential's, and its place; an empty kind when there is none."""
    found, place = "", -1
    for at, word in enumerate(words):
        known = _SECRETS.get(word, "") or _by_ending(word)
        if word == "key" and at and words[at - 1] in _KEYS:
            known = "key"
        is_behind = place == at - 1
        if word == "key" and is_behind and found in {"password", "token", "credential"}:
            found = ""  # the name of a key in a Secret
        elif known:
            found, place = known, at
    return found, place


@functools.lru_cache(maxsize=4096)
def _weak(name: str) -> bool:
    words = split(name)
    while words and (words[-1] in _FORMS or words[-1].isdigit()):
        words = words[:-1]
    is_fingerprint = words[-2:-1] == ("gpg",)
    if not words or is_fingerprint:
        return False
    last = words[-1]
    if last.endswith(("salt", "pepper")) or words[-2:] == ("session", "id"):
        return True
    ends_like_key = last.endswith("key") and last not in _KEYLESS
    is_key = last in _WEAK or ends_like_key
    is_keyed = is_key and not _KEYED.isdisjoint(words)
    if not is_keyed and not _PUBLIC.isdisjoint(words):
        return False
    if is_key or _is_abroad(words):
        return True
    is_about = last in _ABOUT or last in _NO_KEYS
    return not is_about and not _VENDORS.isdisjoint(words)


@functools.lru_cache(maxsize=4096)
def is_about(name: str) -> bool:
    """Says whether the name contains a credential word and no word from `_UNDRAWN`."""
    if name.endswith(_HOSTS):
        return False
    words = split(name)
    has_credential = not _SECRETS.keys().isdisjoint(words)
    return has_credential and _UNDRAWN.isdisjoint(words)


def key(name: str) -> bool:
    """Says whether the name is a key's, of any kind."""
    words = split(name)
    if not words:
        return False
    ends_like_key = words[-1].endswith(("key", "keys", "sdk", "pat"))
    return ends_like_key or _is_abroad(words)


def _is_abroad(words: tuple[str, ...]) -> bool:
    """Says whether one of the first words is `key` in another language, or a compound that ends with it."""
    for word in words[:4]:
        if word in _KEYS_ABROAD:
            return True
        is_long = len(word) > 8
        if is_long and word.endswith(_KEYS_ABROAD):
            return True
    return False


def is_vendor(name: str) -> bool:
    """Says whether the name contains a vendor's name; random values under it are keys."""
    return not _VENDORS.isdisjoint(split(name))


def is_open_to_chance(name: str) -> bool:
    """Says whether no word of the name marks a random value as an id, a checksum or public."""
    return _TOLD.isdisjoint(split(name))


@functools.lru_cache(maxsize=4096)
def pair(name: str) -> bool:
    """Says whether the value may be a user and a password together."""
    words = split(name)
    if not _ONLY_ABOUT.isdisjoint(words):
        return False
    last = words[-1:]
    return not _PAIRS.isdisjoint(last)


def collection(name: str) -> bool:
    """Says whether the name is a plural such as `tokens`, whose value may be just a status."""
    last = split(name)[-1:]
    return not _COLLECTIONS.isdisjoint(last)


def _by_its_end(words: tuple[str, ...]) -> str:
    """Returns the kind that the last words decide alone; empty when they decide nothing."""
    is_auth = len(words) > 1 and words[-1] == "auth"
    if is_auth:
        last_two = " ".join(words[-2:])
        return _BY_END.get(last_two, "basic-auth")
    for size in (3, 2, 1):
        end = " ".join(words[-size:])
        if end in _BY_END:
            return _BY_END[end]
    return ""


def _by_ending(word: str) -> str:
    """Returns the kind of a compound such as `storepass`, `adminpassword` or `csrftoken`; empty for other words."""
    if word in _NOT_ENDING or not word.endswith(_ENDS):
        return ""
    for ending, kind in _ENDINGS.items():
        if word.endswith(ending):
            return kind
    return ""


@functools.lru_cache(maxsize=4096)
def split(name: str) -> tuple[str, ...]:
    """Returns the words of a name (`dbPassword`, `DB_PASSWORD`); a capital before a small letter begins a word."""
    bare = name.removeprefix("-D")  # Java's properties on a command line
    plain = bare[-LONGEST:].encode("latin-1", "replace")
    apart = _HUMP.sub(rb" \1", plain)
    words = []
    for word in _WORD.finditer(apart):
        text = word[0].decode("latin-1")
        words.append(text.lower())
    return tuple(words)
