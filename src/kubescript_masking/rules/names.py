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
    "PATTERN",
    "RARE",
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

PATTERN: Final = (
    r"(?:passw|passphrase|passcode|pass\b|pwd|kennwort|wachtwoord|contrase|psk|secret|token|credential|creds\b|bearer|"
    r"basic[-_.]?auth|user[-_]?pass|"
    r"(?:api|access|private|encryption|encrypt|signing|master|account|shared|storage|client|license|licence|auth|"
    r"service|write|deploy|app|application|hmac|jwt|session|sas|fernet|csrf|sodium|nonce|sec|"
    r"root|recovery|unseal|server|host|tls|ssh|integration|"
    r"routing|ingest|subscription|admin|user|aes|rsa|crypt|cipher|cookie)[-_. ]?key|"
    r"authorization|authtok|masterauth|code[-_]?verifier|jitconfig|pw\b|user[-_.]?info|[a-z0-9][-_.]auth\b|dsn\b|connection[-_.]?string|cookie)"
)
"""What hyperscan looks for before a separator; generous, `kind` decides."""

RARE: Final = (
    r"(?:senha|mot[_.-]?de[_.-]?passe|mdp(?:\b|_)|clave(?:\b|_)|parola?(?:\b|_)|sifre|haslo|heslo|jelszo|losenord|passord|salasana|"
    r"adgangskode|lozinka|mat_khau|mnemonic|(?:seed|recovery|backup)[-_. ]?(?:phrase|codes?)|kodeord|losung|"
    r"pasuwa|zugangscode|geheim|segreto|secreto|"
    r"segredo|hemlig|hemmelig|salaisuus|tajn[ey]|gizli|sandi(?:\b|_)|jeton|gettone|schl(?:ue|u|\xc3\xbc)ssel|"
    r"cle_|_cle\b|clef|llave|chave|chiave|\bpin\b|[a-z-]_?pin\b|pin_?code|_pat\b|"
    r"(?:\b|_)otp\b|[-_.]shared\b)"
)
"""The same, of names that are looked for in fewer places: of other languages, of what is written on paper."""

_WORDS: Final = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
_SECRETS: Final = {word: kind for kind, words in _WORDS["secret"].items() for word in words.split()}
_KEYS, _ABOUT, _WEAK, _PUBLIC, _KEYLESS = (
    frozenset(_WORDS["names"][which].split()) for which in ("keys", "about", "weak", "public", "keyless")
)
HIDDEN: Final[dict[str, str]] = _WORDS["hidden"]
"""Words to look for in base64."""
_ONLY_ABOUT, _TOKENLESS, CHANCE = (
    frozenset(_WORDS["names"][which].split()) for which in ("only_about", "tokenless", "chance")
)
_BY_END: Final[dict[str, str]] = {end: kind for kind, ends in _WORDS["ends"].items() for end in ends.split(", ")}
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
_KEYS_ABROAD: Final = tuple(_WORDS["names"]["abroad"].split())
"""How compounds end that say `key` in other languages."""
VENDORS: Final = tuple(_WORDS["names"]["vendors"].split())
_VENDORS: Final = frozenset(VENDORS)
_NO_KEYS, _FORMS = (frozenset(_WORDS["names"][which].split()) for which in ("vendor_about", "forms"))
_ENDINGS: Final = {ending: kind for kind, endings in _WORDS["endings"].items() for ending in endings.split()}
_ENDS: Final = tuple(_ENDINGS)
_NOT_ENDING: Final = frozenset(_WORDS["names"]["ending"].split())
_HOSTS: Final = tuple(f".{end}" for end in _WORDS["names"]["hosts"].split())
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
    before = words[max(0, place - 1) : place]
    if not _ONLY_ABOUT.isdisjoint(words) or (found == "token" and not _TOKENLESS.isdisjoint(before)):
        return ""
    is_about = not _ABOUT.isdisjoint(words[place + 1 :]) and tuple(words[-2:]) != ("secret", "id")
    is_open = found != "password" and not _OPEN.isdisjoint(words[:place])
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
    is_vendor = not _VENDORS.isdisjoint(words) and last not in _ABOUT and last not in _NO_KEYS
    is_key = last in _WEAK or (last.endswith("key") and last not in _KEYLESS)
    is_open = not _PUBLIC.isdisjoint(words) and not (is_key and not _KEYED.isdisjoint(words))
    return (is_key or is_vendor or _is_abroad(words)) and not is_open


def is_about(name: str) -> bool:
    """Whether it has a credential's word, and another that says it is about one, which is nothing that chance makes."""
    words = () if name.endswith(_HOSTS) else split(name)
    return any(word in _SECRETS for word in words) and _UNDRAWN.isdisjoint(words)


def key(name: str) -> bool:
    """Whether this names a key, of whatever."""
    words = split(name)
    return any(word.endswith(("key", "keys", "sdk", "pat")) for word in words[-1:]) or _is_abroad(words)


def _is_abroad(words: tuple[str, ...]) -> bool:
    return any(word in _KEYS_ABROAD or (len(word) > 8 and word.endswith(_KEYS_ABROAD)) for word in words[:4])


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
    plain = name.removeprefix("-D")[-_LONGEST:].encode("latin-1", "replace")  # -D: Java's properties
    return tuple(word[0].decode("latin-1").lower() for word in _WORD.finditer(_HUMP.sub(rb" \1", plain)))
