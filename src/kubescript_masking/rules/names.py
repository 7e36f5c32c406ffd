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
    return frozenset(_LISTS[which])


def _by_kind(table: str, sign: str | None = None) -> dict[str, str]:
    """Returns the words of a table, each with its kind."""
    return {word: kind for kind, words in _WORDS[table].items() for word in words.split(sign)}


_SECRETS: Final = _by_kind("secret")
_KEYS, _ABOUT, _WEAK, _PUBLIC, _KEYLESS = map(_set, ("keys", "about", "weak", "public", "keyless"))
HIDDEN: Final[dict[str, str]] = _WORDS["hidden"]
"""Words to look for in base64."""
_ONLY_ABOUT, _TOKENLESS, CHANCE = map(_set, ("only_about", "tokenless", "chance"))
_BY_END: Final = _by_kind("ends", ", ")
"""Endings that promise a credential of a kind, regardless of the words before."""
_UNDRAWN: Final = CHANCE.union(_PUBLIC, _ONLY_ABOUT)
"""Words of names whose values are random but not secret."""
_TOLD: Final = _ABOUT.union(_UNDRAWN)
_OPEN: Final = frozenset({"public", "pub"})
_GETTERS: Final = frozenset({("get",), ("fetch",), ("lookup",)})
"""Beginnings of functions that take a name: `getPassword("db")`."""
_KEYED: Final = frozenset({"encryption", "cookie"})
"""Words that make an otherwise public value a key: `cookie_hash_key`."""
_PAIRS: Final = frozenset(
    {"auth", "login", "logins", "user", "users", "username", "account", "accounts", "credentials", "creds"}
)
_COLLECTIONS: Final = frozenset({"secrets", "tokens", "passwords"})
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
_LONGEST: Final = 256
"""How many trailing characters of a name are judged; real names are shorter."""
_HUMP: Final = linear.build(rb"([A-Z][a-z\xdf-\xff])")
_WORD: Final = linear.build(rb"[A-Z]?[a-z\xdf-\xff]+|[A-Z]+|[0-9]+")


def kind(name: str) -> str:
    """Returns the kind of credential that a name promises (`password`, `token`, …); empty when it promises none."""
    return _kind(name[-_LONGEST:])


def weak(name: str) -> bool:
    """Says whether a long random value under this name is a secret."""
    return _weak(name[-_LONGEST:])


@functools.lru_cache(maxsize=4096)
def _kind(name: str) -> str:
    if name.endswith(_HOSTS) and "account.key" not in name:  # `rbac.authorization.k8s.io`: an API group or a host
        return ""
    words = split(name)
    if words[:1] in _GETTERS and " " not in name:
        return ""
    found, place = "", -1
    for at, word in enumerate(words):
        known = _SECRETS.get(word, "") or _ending(word)
        if word == "key" and at and words[at - 1] in _KEYS:
            known = "key"
        if word == "key" and found in {"password", "token", "credential"} and place == at - 1:
            found = ""  # the name of a key in a Secret
        elif known:
            found, place = known, at
    if whole := _by_its_end(words):
        return whole
    if not _ONLY_ABOUT.isdisjoint(words):
        return ""
    before, behind = words[:place], words[place + 1 :]
    if found == "token" and not _TOKENLESS.isdisjoint(before[-1:]):
        return ""
    is_about = words[-2:] != ("secret", "id") and not _ABOUT.isdisjoint(behind)
    is_open = found != "password" and not _OPEN.isdisjoint(before)
    return "" if is_about or is_open else found


@functools.lru_cache(maxsize=4096)
def _weak(name: str) -> bool:
    words = split(name)
    while words and (words[-1] in _FORMS or words[-1].isdigit()):
        words = words[:-1]
    if not words or words[-2:-1] == ("gpg",):  # a fingerprint
        return False
    last = words[-1]
    if last.endswith(("salt", "pepper")) or words[-2:] == ("session", "id"):
        return True
    is_key = last in _WEAK or (last.endswith("key") and last not in _KEYLESS)
    is_keyed = is_key and not _KEYED.isdisjoint(words)
    if not is_keyed and not _PUBLIC.isdisjoint(words):
        return False
    is_vendor = last not in _ABOUT and last not in _NO_KEYS and not _VENDORS.isdisjoint(words)
    return is_key or is_vendor or _is_abroad(words)


def is_about(name: str) -> bool:
    """Says whether the name contains a credential word and no word from `_UNDRAWN`."""
    if name.endswith(_HOSTS):
        return False
    words = split(name)
    return not _SECRETS.keys().isdisjoint(words) and _UNDRAWN.isdisjoint(words)


def key(name: str) -> bool:
    """Says whether the name is a key's, of any kind."""
    words = split(name)
    last = words[-1] if words else ""
    return last.endswith(("key", "keys", "sdk", "pat")) or _is_abroad(words)


def _is_abroad(words: tuple[str, ...]) -> bool:
    for word in words[:4]:
        is_compound = len(word) > 8 and word.endswith(_KEYS_ABROAD)
        if is_compound or word in _KEYS_ABROAD:
            return True
    return False


def is_vendor(name: str) -> bool:
    """Says whether the name contains a vendor's name; random values under it are keys."""
    return not _VENDORS.isdisjoint(split(name))


def is_open_to_chance(name: str) -> bool:
    """Says whether no word of the name marks a random value as an id, a checksum or public."""
    return _TOLD.isdisjoint(split(name))


def pair(name: str) -> bool:
    """Says whether the value may be a user and a password together."""
    words = split(name)
    return not _PAIRS.isdisjoint(words[-1:]) and _ONLY_ABOUT.isdisjoint(words)


def collection(name: str) -> bool:
    """Says whether the name is a plural such as `tokens`, whose value may be just a status."""
    return not _COLLECTIONS.isdisjoint(split(name)[-1:])


def _by_its_end(words: tuple[str, ...]) -> str:
    """Returns the kind that the last words decide alone; empty when they decide nothing."""
    if words[-1:] == ("auth",) and len(words) > 1:
        return _BY_END.get(" ".join(words[-2:]), "basic-auth")
    for size in (3, 2, 1):
        end = " ".join(words[-size:])
        if end in _BY_END:
            return _BY_END[end]
    return ""


def _ending(word: str) -> str:
    """Returns the kind of a compound such as `storepass`, `adminpassword` or `csrftoken`; empty for other words."""
    if word in _NOT_ENDING or not word.endswith(_ENDS):
        return ""
    return next((kind for ending, kind in _ENDINGS.items() if word.endswith(ending)), "")


@functools.lru_cache(maxsize=4096)
def split(name: str) -> tuple[str, ...]:
    """Returns the words of a name (`dbPassword`, `DB_PASSWORD`); a capital before a small letter begins a word."""
    bare = name.removeprefix("-D")  # Java's properties on a command line
    plain = bare[-_LONGEST:].encode("latin-1", "replace")
    apart = _HUMP.sub(rb" \1", plain)
    words = (word[0] for word in _WORD.finditer(apart))
    return tuple(word.decode("latin-1").lower() for word in words)
