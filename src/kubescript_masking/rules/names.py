"""Which names promise a credential: of JSON keys, variables, flags and headers, in any spelling.

A name is judged by its words. A credential's word makes it one (`dbPassword`, `SLACK_TOKEN`), unless a later word says
that it is about one (`passwordFile`, `tokenTTL`, `secretName`).
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
    """The words of a table, each with the kind that it stands for."""
    return {word: kind for kind, words in _WORDS[table].items() for word in words.split(sign)}


_SECRETS: Final = _by_kind("secret")
_KEYS, _ABOUT, _WEAK, _PUBLIC, _KEYLESS = map(_set, ("keys", "about", "weak", "public", "keyless"))
HIDDEN: Final[dict[str, str]] = _WORDS["hidden"]
"""Words to look for in base64."""
_ONLY_ABOUT, _TOKENLESS, CHANCE = map(_set, ("only_about", "tokenless", "chance"))
_BY_END: Final = _by_kind("ends", ", ")
"""How names end that promise a credential of a kind whatever stands before."""
_UNDRAWN: Final = CHANCE.union(_PUBLIC, _ONLY_ABOUT)
"""Words of names whose values chance makes, and which are no secrets."""
_TOLD: Final = _ABOUT.union(_UNDRAWN)
_OPEN: Final = frozenset({"public", "pub"})
_GETTERS: Final = frozenset({("get",), ("fetch",), ("lookup",)})
"""How names of functions begin whose argument is a name: `getPassword("db")`."""
_KEYED: Final = frozenset({"encryption", "cookie"})
"""Words that make a key of what else would be public: `cookie_hash_key`."""
_PAIRS: Final = frozenset(
    {"auth", "login", "logins", "user", "users", "username", "account", "accounts", "credentials", "creds"}
)
_COLLECTIONS: Final = frozenset({"secrets", "tokens", "passwords"})
_KEYS_ABROAD: Final = _LISTS["abroad"]
"""How compounds end that say `key` in other languages."""
VENDORS: Final = _LISTS["vendors"]
IDENTIFIERS: Final = _LISTS["identifiers"]
"""How fields end whose values are drawn by lot, or made from a secret, and are none."""
_VENDORS, _NO_KEYS, _FORMS, _NOT_ENDING = map(_set, ("vendors", "vendor_about", "forms", "ending"))
_ENDINGS: Final = _by_kind("endings")
_ENDS: Final = tuple(_ENDINGS)
_HOSTS: Final = tuple(f".{end}" for end in _LISTS["hosts"])
"""How the name of a host, a group of the API or a file ends."""
_LONGEST: Final = 256
"""Characters of a name that are judged, its last: a name that a program writes is shorter."""
_HUMP: Final = linear.build(rb"([A-Z][a-z\xdf-\xff])")
_WORD: Final = linear.build(rb"[A-Z]?[a-z\xdf-\xff]+|[A-Z]+|[0-9]+")


def kind(name: str) -> str:
    """`password`, `token`, … when what has this name is a credential; empty when it is not."""
    return _kind(name[-_LONGEST:])


def weak(name: str) -> bool:
    """Whether a long random value of this name is a secret."""
    return _weak(name[-_LONGEST:])


@functools.lru_cache(maxsize=4096)
def _kind(name: str) -> str:
    if name.endswith(_HOSTS) and "account.key" not in name:  # `rbac.authorization.k8s.io`: a group of the API, a host
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
    """Whether it has a credential's word, and another that says it is about one, which is nothing that chance makes."""
    if name.endswith(_HOSTS):
        return False
    words = split(name)
    return not _SECRETS.keys().isdisjoint(words) and _UNDRAWN.isdisjoint(words)


def key(name: str) -> bool:
    """Whether this names a key, of whatever."""
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
    """Whether a vendor's name is in it, whose random values are keys."""
    return not _VENDORS.isdisjoint(split(name))


def is_open_to_chance(name: str) -> bool:
    """Whether nothing in a name says that what is drawn by lot is an id, a checksum or public."""
    return _TOLD.isdisjoint(split(name))


def pair(name: str) -> bool:
    """Whether the value may be a user and a password in one."""
    words = split(name)
    return not _PAIRS.isdisjoint(words[-1:]) and _ONLY_ABOUT.isdisjoint(words)


def collection(name: str) -> bool:
    """Whether this is what a list of them is called: its value may say what became of it."""
    return not _COLLECTIONS.isdisjoint(split(name)[-1:])


def _by_its_end(words: tuple[str, ...]) -> str:
    """What the last words alone decide."""
    if words[-1:] == ("auth",) and len(words) > 1:
        return _BY_END.get(" ".join(words[-2:]), "basic-auth")
    for size in (3, 2, 1):
        end = " ".join(words[-size:])
        if end in _BY_END:
            return _BY_END[end]
    return ""


def _ending(word: str) -> str:
    """Of words that are written in one: `storepass`, `adminpassword`, `csrftoken`."""
    if word in _NOT_ENDING or not word.endswith(_ENDS):
        return ""
    return next((kind for ending, kind in _ENDINGS.items() if word.endswith(ending)), "")


@functools.lru_cache(maxsize=4096)
def split(name: str) -> tuple[str, ...]:
    """`dbPassword`, `DB_PASSWORD`: its words; a capital with a small letter behind it begins one."""
    bare = name.removeprefix("-D")  # as Java's properties begin
    plain = bare[-_LONGEST:].encode("latin-1", "replace")
    apart = _HUMP.sub(rb" \1", plain)
    words = (word[0] for word in _WORD.finditer(apart))
    return tuple(word.decode("latin-1").lower() for word in words)
