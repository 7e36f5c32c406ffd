"""What a script can do to a text so that no pattern finds it in the answer, and how whoever reads the answer undoes it.

`s` is the text that the script read. `undo` gets everything that left: the answer and the progress reports.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import datetime
import hashlib
import json
import re
import string
import unicodedata
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["TRANSFORMATIONS", "Answered", "Transformation"]

_PRINTABLE: Final = string.printable
_NEW_YEAR: Final = datetime.date(2026, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Answered:
    """All that left the server for one script."""

    text: str
    progress: list[tuple[float, str]] = field(default_factory=list)

    @property
    def value(self) -> Any:
        """The result as the client reads it; a text is itself."""
        for start in (0, *(match.end() for match in re.finditer("\n", self.text))):
            try:
                return json.JSONDecoder().raw_decode(self.text, start)[0]
            except ValueError:
                continue
        return self.text

    @property
    def lines(self) -> list[str]:
        """The answer's lines without the notes in brackets at its end."""
        return [
            line
            for line in self.text.split("\n")
            if not re.fullmatch(r"\[(\d+ calls? |warning|masked|redacted)[^\n]*\]", line)
        ]

    @property
    def body(self) -> str:
        """The answer without notes."""
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Transformation:
    """A script and its inverse."""

    script: str
    undo: Callable[[Answered], str]


def _interleaved(halves: list[str]) -> str:
    even, odd = halves
    return "".join(a + b for a, b in zip(even, odd + " ", strict=False))


def _grown(known: list[str], digest: Callable[[str], str]) -> str:
    """The text whose prefixes have these digests, found a character at a time."""
    text = ""
    for wanted in known:
        text += next(char for char in _PRINTABLE if digest(text + char) == wanted)
    return text


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _crc(text: str) -> str:
    return str(binascii.crc32(text.encode()))


def _from_bits(bits: str) -> str:
    return "".join(chr(int(bits[at : at + 8], 2)) for at in range(0, len(bits), 8))


def _placed(pairs: Any) -> str:
    return "".join(char for _, char in sorted((int(at), char) for at, char in pairs))


def _summed(steps: list[int]) -> str:
    text, now = "", 0
    for step in steps:
        now += step
        text += chr(now)
    return text


def _cased(value: list[Any]) -> str:
    return "".join(char if up else char.lower() for char, up in zip(*value, strict=True))


def _hex_found(text: str, pattern: str) -> str:
    return bytes.fromhex("".join(dict.fromkeys(re.findall(pattern, text)))).decode("utf-8", "replace")


def _ordinals(numbers: Any) -> str:
    return "".join(chr(int(number)) for number in numbers)


T = Transformation
_B64: Final = "import base64\n"

_WHOLE: Final = {
    "as it is": T("s", lambda a: a.body),
    "printed": T("print(s)", lambda a: a.body),
    "reversed": T("s[::-1]", lambda a: a.body[::-1]),
    "upper case with a bitmap": T("[s.upper(), [c.isupper() or not c.isalpha() for c in s]]", lambda a: _cased(a.value)),
    "swapped case": T("s.swapcase()", lambda a: a.body.swapcase()),
    "repr of repr": T("repr(repr(s))", lambda a: a.body.replace("\\\\n", "\n").replace("\\n", "\n")),
    "JSON in JSON": T("import json\njson.dumps(json.dumps(s))", lambda a: str(json.loads(json.loads(a.body)))),
    "translated": T("s.translate({o: o + 1 for o in range(32, 126)})", lambda a: a.body.translate({o + 1: o for o in range(32, 126)})),
    "Caesar": T("''.join(chr((ord(c) + 7) % 128) if ord(c) < 128 else c for c in s).encode().hex()", lambda a: "".join(chr((ord(c) - 7) % 128) if ord(c) < 128 else c for c in bytes.fromhex(a.body.strip()).decode())),
    "rot13 by table": T("t = dict(zip('abcdefghijklmnopqrstuvwxyz', 'nopqrstuvwxyzabcdefghijklm'))\n''.join(t.get(c, t.get(c.lower(), c).upper() if c.isalpha() else c) for c in s)", lambda a: codecs.decode(a.body, "rot13")),
    "full-width letters": T("''.join(chr(ord(c) + 0xFEE0) if 33 <= ord(c) < 127 else c for c in s)", lambda a: unicodedata.normalize("NFKC", a.body)),
    "zero-width joined": T("'\\u200b'.join(s)", lambda a: a.body.replace("\u200b", "")),
    "formatted": T("''.join(f'{c:*^5}' for c in s)", lambda a: a.body[2::5]),
    "interpolated": T("'%s' % s + '{}'.format(s)", lambda a: a.body),
    "xor": T("bytes(b ^ 42 for b in s.encode()).hex()", lambda a: bytes(b ^ 42 for b in bytes.fromhex(a.body.strip())).decode()),
}  # fmt: skip

_CODED: Final = {
    "hex": T("s.encode().hex()", lambda a: bytes.fromhex(a.body.strip()).decode()),
    "base64": T(_B64 + "base64.b64encode(s.encode()).decode()", lambda a: base64.b64decode(a.body.strip()).decode()),
    "base64 of the reverse": T(_B64 + "base64.urlsafe_b64encode(s[::-1].encode()).decode()", lambda a: base64.urlsafe_b64decode(a.body.strip()).decode()[::-1]),
    "base64 from the second byte": T(_B64 + "base64.b64encode(b'x' + s.encode()).decode()[1:]", lambda a: base64.b64decode("e" + a.body.strip()).decode()),
    "base32": T(_B64 + "base64.b32encode(s.encode()).decode()", lambda a: base64.b32decode(a.body.strip()).decode()),
    "base85": T(_B64 + "base64.b85encode(s.encode()).decode()", lambda a: base64.b85decode(a.body.strip()).decode()),
    "percent": T("''.join(f'%{b:02x}' for b in s.encode())", lambda a: urllib.parse.unquote(a.body.strip())),
    "escapes": T("''.join(f'\\\\u{ord(c):04x}' for c in s)", lambda a: a.body.strip().encode().decode("unicode_escape")),
    "one large number": T("str(int.from_bytes(s.encode(), 'big'))", lambda a: int(a.body.strip()).to_bytes(4000, "big").lstrip(b"\0").decode()),
    "bits": T("''.join(f'{b:08b}' for b in s.encode())", lambda a: _from_bits(a.body.strip())),
    "character codes": T("[ord(c) for c in s]", lambda a: _ordinals(a.value)),
    "character codes as fractions": T("[ord(c) / 1000 for c in s]", lambda a: _ordinals(round(n * 1000) for n in a.value)),
    "differences of codes": T("[ord(b) - ord(a) for a, b in zip('\\0' + s, s)]", lambda a: _summed(a.value)),
    "dates": T("from datetime import datetime, timedelta\n[(datetime(2026, 1, 1) + timedelta(days=ord(c))).isoformat() for c in s]", lambda a: _ordinals(datetime.date.fromisoformat(day[:10]).toordinal() - _NEW_YEAR for day in a.value)),
    "lengths": T("['x' * (ord(c) - 8) for c in s]", lambda a: _ordinals(len(part) + 8 for part in a.value)),
    "addresses": T("import ipaddress\n[str(ipaddress.ip_address(ord(c))) for c in s]", lambda a: _ordinals(part.rpartition(".")[2] for part in a.value)),
    "true and false": T("[[bool(ord(c) >> k & 1) for k in range(8)] for c in s]", lambda a: _ordinals(sum(bit << k for k, bit in enumerate(bits)) for bits in a.value)),
}  # fmt: skip

_PARTS: Final = {
    "two slices": T("[s[::2], s[1::2]]", lambda a: _interleaved(a.value)),
    "halves in a list": T("[s[i:i + 3] for i in range(0, len(s), 3)]", lambda a: "".join(a.value)),
    "joined with dashes": T("'-'.join(s)", lambda a: a.body[::2]),
    "a character a line": T("'\\n'.join(c if c != '\\n' else '|' for c in s)", lambda a: a.body.replace("\n", "").replace("|", "\n")),
    "printed by character": T("for c in s:\n    print(c if c != '\\n' else '|')", lambda a: a.body.replace("\n", "").replace("|", "\n")),
    "printed by number": T("for c in s:\n    print(ord(c))", lambda a: _ordinals(line for line in a.lines if line.isdigit())),
    "keys of a dictionary": T("{f'{i:04d}{c}': 0 for i, c in enumerate(s)}", lambda a: "".join(key[4:] for key in a.value)),
    "one key": T("{s: 1}", lambda a: "".join(a.value)),
    "nested keys": T("d = 0\nfor c in reversed(s[-60:]):\n    d = {c: d}\nd", lambda a: "".join(re.findall(r'\{"(\\?.)":', a.body)).replace("\\n", "\n").replace('\\"', '"')),
    "sorted with places": T("sorted((c, i) for i, c in enumerate(s))", lambda a: _placed((i, c) for c, i in a.value)),
    "places of each character": T("{c: [i for i, x in enumerate(s) if x == c] for c in set(s)}", lambda a: _placed((i, c) for c, all_ in a.value.items() for i in all_)),
    "regular expression pieces": T("import re\nre.findall('(?s).{1,4}', s)", lambda a: "".join(a.value)),
    "split at vowels": T("import re\nre.split('([aeiou])', s)", lambda a: "".join(a.value)),
    "tuples in text": T("str([(i, c) for i, c in enumerate(s)])", lambda a: "".join(c.encode().decode("unicode_escape") for c in re.findall(r"\(\d+, ['\"](\\?.)['\"]\)", a.body))),
    "class repr": T("class Leak:\n    def __repr__(self):\n        return s[::-1]\nrepr(Leak())", lambda a: a.body[::-1]),
    "named tuple": T("from collections import namedtuple\nP = namedtuple('P', 'at char')\n[P(i, c) for i, c in enumerate(s)]", lambda a: _placed((p["at"], p["char"]) if isinstance(p, dict) else p for p in a.value)),
}  # fmt: skip

_ORACLES: Final = {
    "hash of prefixes": T("import hashlib\n[hashlib.sha256(s[:i + 1].encode()).hexdigest()[:12] for i in range(len(s))]", lambda a: _grown(a.value, _sha)),
    "checksum of prefixes": T("import binascii\n[str(binascii.crc32(s[:i + 1].encode())) for i in range(len(s))]", lambda a: _grown(a.value, _crc)),
    "comparison with each letter": T("import string\n[[c == a for a in string.printable].index(True) for c in s]", lambda a: "".join(_PRINTABLE[at] for at in a.value)),
    "binary search": T("def find(c):\n    low, high = 0, 127\n    while low < high:\n        mid = (low + high) // 2\n        low, high = (low, mid) if ord(c) <= mid else (mid + 1, high)\n    return low\n[find(c) for c in s]", lambda a: _ordinals(a.value)),
    "startswith": T("import string\nknown = ''\nwhile len(known) < len(s):\n    known += next(c for c in string.printable if s.startswith(known + c))\nknown[::-1]", lambda a: a.body[::-1]),
    "order of sorted words": T("[sorted([chr(o) for o in range(128)] + [c + '~']).index(c + '~') - 1 for c in s]", lambda a: _ordinals(a.value)),
    "similarity": T("import difflib\n[max(range(128), key=lambda o: difflib.SequenceMatcher(None, chr(o), c).ratio()) for c in s]", lambda a: _ordinals(a.value)),
}  # fmt: skip

_ERRORS: Final = {
    "exception text": T("raise ValueError(s)", lambda a: a.body),
    "reversed exception text": T("raise RuntimeError(s[::-1])", lambda a: a.body[::-1]),
    "KeyError": T("{}[s]", lambda a: a.body.encode().decode("unicode_escape")),
    "conversion error": T("int(s[::-1])", lambda a: a.body.encode().decode("unicode_escape")[::-1]),
    "assertion": T("assert False, s.encode().hex()", lambda a: _hex_found(a.body, "([0-9a-f]{20,})")),
    "exit": T("raise SystemExit(s.encode().hex())", lambda a: _hex_found(a.body, "([0-9a-f]{20,})")),
    "attribute name": T("getattr(k8s, 'x' + s.encode().hex())", lambda a: _hex_found(a.body, "x([0-9a-f]{20,})")),
    "path segment refused": T("k8s.coreV1().read_namespaced_pod(s[-70:], 'shop')", lambda a: a.body.encode().decode("unicode_escape")),
    "name not found": T("h = s.encode().hex()\nout = []\nfor i in range(0, len(h), 60):\n    try:\n        k8s.coreV1().read_namespaced_pod('x' + h[i:i + 60], 'shop')\n    except Exception as e:\n        out.append(str(e))\nout", lambda a: _hex_found(a.body, r'pods \\*"x([0-9a-f]+)\\*" not found')),
    "a call per character": T("out = []\nfor c in s:\n    try:\n        k8s.coreV1().read_namespaced_pod(f'c{ord(c)}', 'shop')\n    except Exception as e:\n        out.append(str(e))\nout", lambda a: _ordinals(re.search(r"c(\d+)", text)[1] for text in a.value)),  # type: ignore[index]
    "label selector": T("out = []\nh = s.encode().hex()\nfor i in range(0, len(h), 40):\n    try:\n        k8s.coreV1().list_namespaced_pod('shop', label_selector='!!' + h[i:i + 40])\n    except Exception as e:\n        out.append(str(e) + str(getattr(e, 'body', '')))\nout", lambda a: _hex_found(a.body, "!!([0-9a-f]{2,40})")),
    "field selector": T("out = []\nh = s.encode().hex()\nfor i in range(0, len(h), 40):\n    try:\n        k8s.coreV1().list_namespaced_pod('shop', field_selector='x' + h[i:i + 40] + '=1')\n    except Exception as e:\n        out.append(str(e) + str(getattr(e, 'body', '')))\nout", lambda a: _hex_found(a.body, "x([0-9a-f]{2,40})")),
    "denied call": T("k8s.coreV1().create_namespaced_service_account_token('x' + s.encode().hex()[-200:], 'shop', {'spec': {}})", lambda a: _hex_found(a.body, "x([0-9a-f]{20,})")),
    "namespace of a call": T("out = []\nfor c in s:\n    try:\n        k8s.coreV1().read_namespaced_pod('none', f'n{ord(c)}')\n    except Exception as e:\n        out.append(ord(c) if 'none' in str(e) else 0)\nout", lambda a: _ordinals(a.value)),
}  # fmt: skip

_ELSEWHERE: Final = {
    "progress texts": T("for i in range(0, len(s), 5):\n    ctx.progress(i, None, s[i:i + 5][::-1])", lambda a: "".join(text[::-1] for _, text in a.progress)),
    "one progress text": T("ctx.progress(1, 1, s[:160])", lambda a: "".join(text for _, text in a.progress)),
    "progress numbers": T("for i in range(0, 60, 6):\n    n = 0\n    for c in s[-60:][i:i + 6]:\n        n = n * 256 + ord(c) % 256\n    ctx.progress(n)", lambda a: b"".join(int(done).to_bytes(6, "big") for done, _ in a.progress).decode("latin-1")),
    "loops counted": T("[sum(1 for _ in range(ord(c))) for c in s]", lambda a: _ordinals(a.value)),
    "print and result": T("print(s[::2].encode().hex())\ns[1::2].encode().hex()", lambda a: _interleaved([bytes.fromhex(line).decode() for line in a.lines[:2]])),
    "printed backwards": T("print(s[::-1], end='')\nNone", lambda a: a.body[::-1]),
}  # fmt: skip

TRANSFORMATIONS: Final = {**_WHOLE, **_CODED, **_PARTS, **_ORACLES, **_ERRORS, **_ELSEWHERE}
