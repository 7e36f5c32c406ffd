"""Which values of a credential's name are a literal credential, and not a reference, a path, a switch or a number."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Final

from kubescript.masker import names, placeholders

__all__ = [
    "entropy",
    "is_drawn",
    "is_label",
    "is_mixed",
    "is_random",
    "is_secret",
    "is_secret_in_prose",
    "is_status",
    "is_weak_secret",
]

_NOTHING: Final = re.compile(
    rb"(?i:~|true|false|yes|no|on|off|none|null|nil|n/?a|undefined|enabled?|disabled?|optional|required|default|auto|"
    rb"invalid|incorrect|expired|missing|wrong|rejected|denied|failed|mismatch|changed|updated|created|rotated|revoked|"
    rb"found|absent|accepted|ok|valid|verified|refreshed|"
    rb"unset|empty|unknown|hidden|masked|redacted|omitted|string|str|text|object|always|never|todo|tbd|fixme|placeholder|"
    rb"ja|nein|oui|non|s\xc3\xad|sim|n\xc3\xa3o|"
    rb"replace[-_ ]?(?:me|this|with)[a-z_ -]*|"
    rb"(?:your|insert|put|enter)[-_][a-z_-]*[-_](?:here|key|token|password|secret)|"
    rb"\(?known(?: after apply\))?|[*\xe2\x80\xa2]{3,}[/)\]]|"
    rb"\[?<?\(?(?:redacted|hidden|masked|secret|password|token|none|nil|omitted|sensitive|filtered|unset|empty)\)?>?\]?)"
)
_REFERENCE: Final = re.compile(
    rb"\$\(.*|`.*|\$\{[^}]*\}|\$[A-Za-z_]\w*(?:\[.*|(?:->|\?->|::)\w.*)?|"
    rb"\$\d{1,3}|%[-+#]?\d*[sdvqxT]|\$\{\w+:?\?[^}]*|%%.*%%|%\w+\([^()]*\)%|%\{.*|<%.*|"
    rb"(?:(?:files|sss|compat|systemd|ldap|nis|db|winbind)(?:[ \t]+|\Z))+|"
    rb"\$[A-Za-z][A-Za-z.:_-]*|%[A-Za-z_]\w*%|%\([^)]*\)s|\{\{.*|\{[A-Za-z_.]*\}|<[^<>]*>|"
    rb"[|>][+-]?\d?|[*xX.\-_#=\xe2\x80\xa2\xa6]+|(?:vault|ref\+\w+|op|secret|env|file|gcp|azure|awssm|ssm|sm|k8s|gcpsm|keyring|kms)"
    rb"(?:[:/]|kv)[^\s]*|arn:aws[\w-]*:[^\s]+|projects/[\w-]+/secrets/[^\s]+|"
    rb"(?:secretKeyRef|valueFrom|configMapKeyRef)\b.*|process\.env\.\w+|os\.(?:environ|getenv).*|\$\{\{.*",
    re.DOTALL,
)
_PUBLISHED: Final = re.compile(
    rb"(?:ssh-(?:ed25519|rsa|dss)|ecdsa-sha2-nistp\d+) AAAA[^\r\n]*|system:[a-z][\w.-]*(?::[\w.-]+)*|"
    rb"(?:[\w.-]*+:[x*!]?:\d++:\d++:[^\n:]*+:[^\n:]*+:[^\n:]*+\n?)++|hmac-sha\d+:[0-9a-f]+|ENC\[[^\]]*\]|\{cipher\}[0-9a-f]+|"
    rb"[a-z0-9.-]*/[A-Z][A-Za-z]+:[\w.-]+/[\w.-]+|Ag[A-Za-z0-9+/]{300,}={0,2}"
)
"""Public keys, identities, keyed hashes, what sops, Spring and Sealed Secrets have encrypted, what Argo CD tracks."""
_PATTERN: Final = re.compile(rb"(?:\\[SsWwDd]|\.[*+]|\[\^|\^[\[(.\\]|\(\?)\S*")
"""A regular expression."""
_KEY_OF: Final = re.compile(
    rb"(?=.{3,200}\Z)[a-z0-9][a-z0-9.-]*[=/][a-z.-]*(?:password|passwd|token|key|secret|credential)s?[a-z.-]*"
)
"""`object=key`, as references to a Secret are written."""
_PATH: Final = re.compile(
    rb"(?:[A-Za-z]:\\|\.{0,2}/|~/|(?:\$\{[^{}]*\}|\$[A-Z_]+|%\w+%)[/\\])(?:[\w.@:\-]+[/\\])*[\w.@:\-]*(?: \w+=\w+)*"
)
_FILE: Final = re.compile(rb"[\w./-]+\.(?:ya?ml|json|pem|crt|cer|key|txt|conf|cfg|toml|ini|env|jks|p12|pfx|sock)")
_SHORT: Final = re.compile(rb".{1,3}|[a-z]{1,5}")
"""No token, no key: `A`, `root`."""
_DURATION: Final = re.compile(rb"(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h|d|w))+")
_NUMBER: Final = re.compile(rb"[+-]?\d+(?:\.\d+)?(?:[kKMG]i?)?")
_URL: Final = re.compile(rb"(?:jdbc:)?[a-z][a-z0-9+.-]*://[^\s]*")
_DNS: Final = re.compile(rb"[a-z]+[0-9]{0,3}(?:[-./_][a-z0-9]+)*")
_CODE: Final = re.compile(
    rb"[a-z]\w*(?:\.\w+)*\[:?[\"']?[A-Za-z_][\w-]*[\"']?\]|[A-Za-z_]\w*(?:(?:\??\.|::|->)\w+)+[(\[].*|"
    rb"(?:getenv|env|var|lookup|file|secret)[(\[].*|"
    rb"(?:[a-z]+(?:_[a-z0-9]+)+|[a-z]{2,}(?:[A-Z][a-z]+)+)\(.*|[a-z]{3,}+(?:\d[a-z]*+)?\((?:\$.*|[a-z]\w*\(.*|.*\);?)|"
    rb"_[a-z]{1,15}|Secret(?:Str|Bytes|String)(?:[ ]?=.*)?|"
    rb"(?:str|string|bytes|SecretStr|Optional\[[\w.]+\])(?:[ ]?\|[ ]?\w+)?[ ]=[ ][A-Za-z_.]+.*|"
    rb"[a-z]+(?:_[a-z0-9]+)+(?:\.[A-Za-z_]\w*)+(?:\[.*)?|"
    rb"(?:settings|config|cfg|self|this|req|request|ctx|params|ngx|args|options|opts|env|conf|props|var|local|module|data|"
    rb"each|input|event|state)(?:\??\.[A-Za-z_]\w*)+;?",
    re.DOTALL,
)
"""What a program calls to get the value."""
_DEFAULT: Final = re.compile(rb"\$\{\w+:?[-=]([^${}]+)\}")
"""A shell's variable with a literal in its place."""
_TEMPLATED: Final = re.compile(
    rb"[a-z][a-z0-9+.-]*://[^\s:/@]*:(?:\{\{[^{}]*\}\}|\$\{[^{}]*\}|\$\([^()]*\)|\$\w+|%\w+%|<[^<>]*>|\*+)@[^\s@]*"
)
"""An address with a blank to fill in for its password."""
_NEVER: Final = (_NOTHING, _REFERENCE, _PUBLISHED, _PATTERN, _KEY_OF, _PATH, _FILE, _CODE)
_NAMED: Final = frozenset({"secret", "credential", "token", "key"})
"""Kinds whose fields often hold the name of a Secret or of a key in one."""
_WORDS: Final = re.compile(rb"(?:(?:[A-Za-z\x80-\xff']+|\d{1,3})[?.!,:]?(?: |\Z)[?!:]?){1,14}")
_LABELS: Final = frozenset(
    "key keys passe jeton clave chave chiave clé schlüssel contraseña acceso acesso accès d'accès".encode().split()
)
_VERSION: Final = re.compile(rb"v?\d+(?:\.\d+){1,3}(?:[-+][\w.]+)?")
_PIN: Final = re.compile(rb"\d{4,12}")
_COUNTED: Final = re.compile(rb"[a-z]+(?:_[a-z]+)*=\d{1,9}")
_LOADED: Final = re.compile(rb"[\w.-]{1,80}:/[\w./-]+")
"""`name:path`, as systemd loads credentials."""
_DSN_NAME: Final = re.compile(rb"(?i)pass|pwd|key|token|secret|signature|credential|auth")
_NO_NAME: Final = re.compile(rb"[^\w ]")
_COOKIE: Final = re.compile(
    rb"(?i)(?:\A|;\s*)(?!(?:path|domain|expires|max-age|samesite)=)[^=;\s]+=\"?(?:[^\s;\"]{12,}|(?=[^\s;]*\d)(?=[^\s;]*[a-z])[^\s;]{8,})"
)
"""One that is long or mixed enough to tell who somebody is; `lang=en` is not."""
_USER_PASSWORD: Final = re.compile(rb"[^\s:/]{1,100}:(?!\d{1,5}\Z)[^\s]{4,300}")
_USER_SLASH: Final = re.compile(
    rb"[a-z][a-z0-9]{0,30}/(?=\S*[0-9])(?=\S*[A-Za-z])[^\s/]{6,300}|(?=\w*[a-z])(?=\w*[A-Z])(?=\w*[0-9])\w{8,15}"
)
"""`neo4j/…`, and a password alone."""
_OBJECT: Final = re.compile(rb"(?=[^-/]*[-/])[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?(?:/[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)?")
"""`namespace/name`, as controllers log what they work on."""
_FILE_NAME: Final = re.compile(
    rb"/[^/]*\.(?:parquet|csv|json|gz|zst|log|sql|tar|zip|db|ya?ml|txt|html?|js|css|png|avro|orc)\Z"
)
_UUID: Final = re.compile(rb"(?:[a-z]{2,8}-)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_PREFIXED_UUID: Final = re.compile(rb"(?:sdk|mob|api)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_USER_DRAWN: Final = re.compile(
    rb"[a-z]{3,20}/(?=\S*\d)(?=\S*[A-Z])(?=\S*[^\w./-])[^\s/]{8,100}|"
    rb"(?!system:)[A-Za-z][\w.@+-]{0,80}:(?=[^\s:/]*[0-9])(?=[^\s:/]*[A-Za-z])[^\s:/]{6,200}"
)
_PARTS: Final = re.compile(rb"[,;\s]+|:[ ]|(?<=^base64):")
_DRAWN: Final = re.compile(rb"[A-Za-z0-9!@#$%^&*+=?_~-]{8,}")
_CLASSES: Final = bytes(
    ord("a")
    if chr(code).islower()
    else ord("A")
    if chr(code).isupper()
    else ord("0")
    if chr(code).isdigit()
    else ord("_")
    for code in range(256)
)
_HEX: Final = re.compile(rb"[0-9a-f]+|[0-9A-F]+")


def is_secret(value: bytes, kind: str) -> bool:
    """Whether the value of a credential's name is to be masked."""
    stripped = value.strip()
    if default := _DEFAULT.fullmatch(stripped):
        return is_secret(default[1], kind)
    bare = stripped.rstrip(b",;")
    if not bare or placeholders.is_masked(stripped) or any(shape.fullmatch(bare) for shape in _NEVER) or is_label(bare):
        return False
    if b"://" in bare and _TEMPLATED.fullmatch(bare):
        return False
    if kind == "pin":
        return _PIN.fullmatch(stripped) is not None
    return kind == "password" or not _is_harmless(stripped, kind)


def is_label(value: bytes) -> bool:
    """What stands on a form beside a password's field, in whatever language: nothing but words, one a credential's."""
    if not re.search(rb"[!-~]", value):
        return True
    if len(value) > 80 or not _WORDS.fullmatch(value):
        return False
    words = re.findall(rb"[^ ?.!,:]+", value)
    said = any(names.kind(word.decode("utf-8", "replace").lower()) or word.lower() in _LABELS for word in words)
    return said and (len(words) > 1 or value[:1].isupper())


def _is_harmless(value: bytes, kind: str) -> bool:
    """What may be a password, and is hardly a token or a key: a number, an address, an object's name."""
    if kind in _JUDGED:
        return _JUDGED[kind](value)
    if (_NUMBER.fullmatch(value) and len(value) < 12) or _DURATION.fullmatch(value) or _SHORT.fullmatch(value):
        return True
    if kind == "authorization":
        if _MODE.fullmatch(value):
            return True
        return _PATTERN.fullmatch(value.partition(b" ")[2]) is not None
    if kind == "dsn":
        return not _has_secret(value)
    return _is_object(value, kind)


def _has_secret(dsn: bytes) -> bool:
    """Whether a connection string has a user, or a setting with a credential's name."""
    settings = (_NO_NAME.split(part)[-1] for part in dsn.split(b"=")[:-1])
    return b"@" in dsn or any(_DSN_NAME.search(setting) for setting in settings)


def _is_no_cookie(value: bytes) -> bool:
    return not _COOKIE.search(value) and (b"=" in value or len(value) < 12 or b" " in value)


def _is_no_login(value: bytes) -> bool:
    return not (_USER_PASSWORD.fullmatch(value) or _USER_SLASH.fullmatch(value) or is_random(value))


_JUDGED: Final[dict[str, Callable[[bytes], bool]]] = {"cookie": _is_no_cookie, "basic-auth": _is_no_login}
_MODE: Final = re.compile(rb"[A-Z]{2,12}|[A-Z][a-z]+(?:[,/][A-Z]\w*)*")
"""Of an authorization: which one it is."""


def _is_object(value: bytes, kind: str) -> bool:
    """An address, a version, a count, or what has a name of its own."""
    if _VERSION.fullmatch(value) or _COUNTED.fullmatch(value) or _URL.fullmatch(value):
        return True
    return (kind == "credential" and _LOADED.fullmatch(value) is not None) or (kind in _NAMED and _is_name(value, kind))


def is_secret_in_prose(value: bytes, kind: str) -> bool:
    """The same for `password: value` within a sentence, where the next word may be just that: `token: expired`."""
    if not is_secret(value, kind):
        return False
    if _URL.fullmatch(value) and b"@" not in value:
        return False
    return len(value) >= 5 and not re.fullmatch(rb"[A-Z]?[a-z]+[.,;:!?]?|[A-Z]+", value)


def is_status(value: bytes) -> bool:
    """Whether this is a word, or a code of words: `policy.denied_resource`."""
    return re.fullmatch(rb"[A-Za-z]+(?:[._-][A-Za-z]+)*", value) is not None


def is_random(value: bytes) -> bool:
    """Whether a value looks drawn by lot: long, mixed, and of high entropy."""
    if len(value) < 16 or not re.fullmatch(rb"[A-Za-z0-9+/=_.~-]+", value):
        return False
    if not re.search(rb"[0-9]", value) or not re.search(rb"[A-Za-z]", value):
        return False
    if b"/" in value and _FILE_NAME.search(value):
        return False
    if _OBJECT.fullmatch(value) and any(part.isalpha() and len(part) > 2 for part in re.split(rb"[-./]", value)):
        return False
    return entropy(value) >= (3.0 if _HEX.fullmatch(value) else 3.7)


def is_weak_secret(value: bytes, name: str) -> bool:
    """Whether the value of a name that alone would not tell is drawn by lot; of a list, one of its parts."""
    if _UUID.fullmatch(value) or _PREFIXED_UUID.fullmatch(value):
        return names.key(name)
    if _USER_DRAWN.fullmatch(value) and names.pair(name):
        return True
    if names.is_vendor(name) and is_random(value.rpartition(b":")[2]):
        return True
    return any(is_random(part) or is_drawn(part) for part in _PARTS.split(value) if len(part) >= 8)


def is_mixed(value: bytes) -> bool:
    """Letters and digits, as no word of a sentence has and no version."""
    return re.search(rb"[0-9]", value) is not None and re.search(rb"[A-Za-z]{3}|[A-Za-z]\d+[A-Za-z]", value) is not None


def is_drawn(value: bytes) -> bool:
    """Whether small letters, capitals and digits stand mixed as in no word, name or version."""
    if len(value) > 200 or not _DRAWN.fullmatch(value):
        return False
    classes = value.translate(_CLASSES)
    changes = sum(one != two for one, two in itertools.pairwise(classes))
    return {ord("a"), ord("A"), ord("0")} <= set(classes) and changes >= 0.4 * len(value)


def entropy(value: bytes) -> float:
    """Bits per byte (Shannon)."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values()) if size else 0.0


def _is_name(value: bytes, kind: str) -> bool:
    """An object's name: lower-case words with dashes, none of them a mixture of letters and digits.

    A field called `secret` may well name a Secret; one called `token` does only when its value says so.
    """
    if not _DNS.fullmatch(value) or re.search(rb"[a-z][0-9]+[a-z]|[0-9][a-z]", value):
        return False
    if re.fullmatch(rb"[a-z]{4,}[0-9]{2,}", value):  # a word with a number behind it, as people make passwords
        return False
    if kind in {"secret", "credential"}:
        return True
    return re.search(rb"secret|token|key|cred|password|auth|cert|tls|config", value) is not None
