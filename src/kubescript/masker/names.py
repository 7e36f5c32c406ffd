"""Which names promise a credential: of JSON keys, variables, flags and headers, in any spelling.

A name is judged by its words. A credential's word makes it one (`dbPassword`, `SLACK_TOKEN`), unless a later word says
that it is about one (`passwordFile`, `tokenTTL`, `secretName`).
"""

from __future__ import annotations

import functools
import itertools
import tomllib
from pathlib import Path
from typing import Final

__all__ = ["HIDDEN", "PATTERN", "RARE", "VENDORS", "collection", "is_vendor", "key", "kind", "pair", "weak"]

PATTERN: Final = (
    r"(?:passw|passphrase|passcode|pass\b|pwd|kennwort|wachtwoord|contrase|psk|secret|token|credential|creds\b|bearer|"
    r"basic[-_.]?auth|user[-_]?pass|"
    r"(?:api|access|private|encryption|encrypt|signing|master|account|shared|storage|client|license|licence|auth|"
    r"service|write|deploy|app|application|hmac|jwt|session|sas|fernet|csrf|sodium|nonce|sec|"
    r"root|recovery|unseal|server|host|tls|ssh|integration|"
    r"routing|ingest|subscription|admin|user|aes|rsa|crypt|cipher|cookie)[-_. ]?key|"
    r"authorization|authtok|jitconfig|pw\b|user[-_.]?info|[a-z0-9][-_.]auth\b|dsn\b|connection[-_.]?string|cookie)"
)
"""What hyperscan looks for before a separator; generous, `kind` decides."""

RARE: Final = (
    r"(?:senha|mot_?de_?passe|mdp(?:\b|_)|clave(?:\b|_)|parola?(?:\b|_)|sifre|haslo|heslo|jelszo|losenord|passord|salasana|"
    r"adgangskode|lozinka|mat_khau|mnemonic|(?:seed|recovery|backup)[-_. ]?(?:phrase|codes?)|kodeord|losung|"
    r"pasuwa|geheim|segreto|secreto|"
    r"segredo|hemlig|hemmelig|salaisuus|tajn[ey]|gizli|sandi(?:\b|_)|jeton|gettone|schl(?:ue|u|\xc3\xbc)ssel|"
    r"cle_|_cle\b|clef|llave|chave|chiave|[a-z-]_?pin\b|_pat\b|"
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
_ONLY_ABOUT, _TOKENLESS = (frozenset(_WORDS["names"][which].split()) for which in ("only_about", "tokenless"))
_USER: Final = frozenset({("user", "pass"), ("user", "info")})
_USERS: Final = ("basic", "auth", "users")
_LAST: Final = {"cookie": "cookie", "pin": "pin", "otp": "pin"}
_SEEDS: Final = frozenset({("otp", "seed"), ("totp", "seed")})
"""What one-time passwords are made of."""
_PHRASES: Final = frozenset(
    (first, second) for first in ("seed", "recovery", "backup") for second in ("phrase", "code", "codes")
)
"""What is written down on paper, to get back in."""
_FOREIGN: Final = frozenset({("mot", "de", "passe"), ("mat", "khau")})
_LENGTHS: Final = frozenset(_WORDS["names"]["lengths"].split())
_COMMAND_AUTH: Final = frozenset({("rediscli", "auth"), ("redis", "auth"), ("cli", "auth")})
_OPEN: Final = frozenset({"public", "pub"})
_PAIRS: Final = frozenset({("auth",), ("login",), ("user",), ("username",), ("account",), ("credentials",), ("creds",)})
_COLLECTIONS: Final = frozenset({("secrets",), ("tokens",), ("passwords",)})
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
_CLASSES: Final = bytes(
    65 if 65 <= code <= 90 else 97 if 97 <= code <= 122 or code >= 0xDF else 48 if 48 <= code <= 57 else 32
    for code in range(256)
)
_NO_LETTERS: Final = bytes(code for code in range(256) if _CLASSES[code] == 32)
_CAPITAL: Final = (65, 97)
"""A small letter behind a capital, as classes."""


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
    words = _words(name)
    found, place = "", -1
    for at, word in enumerate(words):
        known = _SECRETS.get(word, "") or _ending(word)
        if word == "key" and at and words[at - 1] in _KEYS:
            known = "key"
        if word == "key" and found in {"password", "token", "credential"} and place == at - 1:
            found = ""  # the name of a key in a Secret
        elif known and not (known == "key" and found):
            found, place = known, at
        elif known:
            place = at
    if (whole := _by_its_end(words, found)) is not None:
        return whole
    before = words[max(0, place - 1) : place]
    if not _ONLY_ABOUT.isdisjoint(words) or (found == "token" and not _TOKENLESS.isdisjoint(before)):
        return ""
    is_about = not _ABOUT.isdisjoint(words[place + 1 :]) and tuple(words[-2:]) != ("secret", "id")
    if is_about or not _LENGTHS.isdisjoint(words[:place]):
        return ""
    is_open = not _OPEN.isdisjoint(words[:place]) or not _PUBLIC.isdisjoint(before)
    return found if found == "password" or not is_open else ""


@functools.lru_cache(maxsize=4096)
def _weak(name: str) -> bool:
    words = _words(name)
    while words and (words[-1] in _FORMS or words[-1].isdigit()):
        words = words[:-1]
    if words[-2:] == ("session", "id"):
        return True
    if words[-2:-1] == ("gpg",):  # a fingerprint
        return False
    if words and words[-1].endswith("salt"):
        return True
    if words and words[-1].endswith("key") and words[-1] not in _KEYLESS:
        return _PUBLIC.isdisjoint(words) or "encryption" in words
    if _is_abroad(words) or (not _VENDORS.isdisjoint(words) and words[-1] not in _ABOUT and words[-1] not in _NO_KEYS):
        return _PUBLIC.isdisjoint(words)
    return bool(words) and words[-1] in _WEAK and (_PUBLIC.isdisjoint(words) or "encryption" in words)


def key(name: str) -> bool:
    """Whether this names a key, of whatever."""
    words = _words(name)
    return any(word.endswith(("key", "keys", "sdk", "pat")) for word in words[-1:]) or _is_abroad(words)


def _is_abroad(words: tuple[str, ...]) -> bool:
    return any(word in _KEYS_ABROAD or (len(word) > 8 and word.endswith(_KEYS_ABROAD)) for word in words[:4])


def is_vendor(name: str) -> bool:
    """Whether a vendor's name is in it, whose random values are keys."""
    return not _VENDORS.isdisjoint(_words(name))


def pair(name: str) -> bool:
    """Whether the value may be a user and a password in one."""
    words = _words(name)
    return words[-1:] in _PAIRS and _ONLY_ABOUT.isdisjoint(words)


def collection(name: str) -> bool:
    """Whether this is what a list of them is called: its value may say what became of it."""
    return _words(name)[-1:] in _COLLECTIONS


def _by_its_end(words: tuple[str, ...], found: str) -> str | None:
    """What the last words alone decide."""
    if words and words[-1] in _LAST:
        return _LAST[words[-1]]
    if words[-2:] in _SEEDS:
        return "secret"
    if words[-2:] in _PHRASES or words[-2:] in _COMMAND_AUTH or (_ABOUT.isdisjoint(words) and _says_password(words)):
        return "password"
    if (
        (words[-2:-1] and words[-1] == "auth")
        or words[-1:] == ("basicauth",)
        or words[-2:] in _USER
        or words[-3:] == _USERS
    ):
        return "basic-auth"
    if found:
        return None
    return "dsn" if words[-2:] == ("connection", "string") else ""


def _says_password(words: tuple[str, ...]) -> bool:
    return any(words[at : at + len(each)] == each for each in _FOREIGN for at in range(3))


def _ending(word: str) -> str:
    """Of words that are written in one: `storepass`, `adminpassword`, `csrftoken`."""
    if word in _NOT_ENDING or not word.endswith(_ENDS):
        return ""
    return next((kind for ending, kind in _ENDINGS.items() if word.endswith(ending)), "")


@functools.lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    """`dbPassword`, `DB_PASSWORD`: its words; a capital with a small letter behind it begins one."""
    plain = name.removeprefix("-D")[-_LONGEST:].encode("latin-1", "replace")  # -D: Java's properties
    cuts, before = [0], 0
    for at, code in enumerate(plain.translate(_CLASSES)):
        if code != before:
            cuts.append(at - 1 if (before, code) == _CAPITAL else at)
            before = code
    cuts.append(len(plain))
    words = (plain[start:end].translate(None, _NO_LETTERS) for start, end in itertools.pairwise(cuts))
    return tuple(word.decode("latin-1").lower() for word in words if word)
