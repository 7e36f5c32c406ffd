"""What protocols, tools and files have for a password beside which no name stands: SMTP's AUTH, Redis' users."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from kubescript.masker import names, values
from kubescript.masker.spans import Span

__all__ = ["PROBES", "READERS"]

_BACK: Final = 600
_AHEAD: Final = 8_192
_LISTED: Final = re.compile(
    rb"([A-Za-z0-9_.\-]{1,100})\\{0,7}[\"'`]?\s{0,4}(?:=>|[:=])\s{0,4}\[\s{0,40}(\\{0,7}[\"'])\Z"
)
_COMPARED: Final = re.compile(rb"([A-Za-z0-9_.\-]{1,100})[\"'\])]{0,3}[ \t]{0,4}[!=]={1,2}[ \t]{0,4}[\"']\Z")
_MIXED: Final = re.compile(rb"(?=[^\s\"']*[0-9])(?=[^\s\"']*[A-Za-z])[^\s:\"'\\]{8,}")
_LOGIN_MODULE: Final = 2_000
_OF_USER: Final = (
    rb"(?i:user(?:name)?|--auth|--login|--creds|--credentials)[\"']?(?:[ \t]*[=:]|[ \t])[ \t]*[\"']?(?!system:)[A-Za-z][\w.-]{0,60}:"
    rb"((?=[^\s\"'/]*[0-9])(?=[^\s\"'/]*[A-Za-z])[^\s:\"'/,;)}\]]{8,300})(?![:/])"
)
_USERINFO: Final = re.compile(
    rb"(?<![\w/.@-])(?!sips?:|mailto:|acct:|xmpp:)[A-Za-z][\w.-]{0,60}:"
    rb"((?=[^\s:@/]*\d)(?=[^\s:@/]*[A-Za-z])[^\s:@/\"']{6,100})@[\w.-]{1,200}:\d{4,5}"
)
_IDIOMS: Final = tuple(
    re.compile(each, re.MULTILINE)
    for each in (
        rb"(?:[->]|C:)[ ]?PASS[ ]([^\s]{4,200})",
        rb"\"(?i:auth)\"[ ](?:\"[^\"\s]{1,100}\"[ ](?!\"(?i:setname)\"))?\"([^\"\s]{4,300})\"",
        rb"^[ \t]*user[ ]\S{1,100}[ ](?:[^\n>]{0,200}[ ])?>(\S{4,300})",
        rb"^[ \t]*\\*\"\w{1,60}\\*\"[ ]\\*\"((?=[^\"\s]*[0-9])[^\"\s\\]{8,300})\\*\"[ \t]*$",
        (
            rb"(?:echo|printf)[ ](?:-n[ ]|-e[ ]|'?%s(?:\\n)?'?[ ])?([\"']?)([^\s\"'|$]{4,300})\1[ ]{0,4}\|[ ]{0,4}(?:sudo[ ])?(?:[^|\n]{1,300}"
            rb"(?:--password-stdin|--stdin|-S\b)|(?:kinit|smbpasswd|elasticsearch-keystore|cryptsetup|gpg)\b)"
        ),
        rb"(?:echo|printf)[ ](?:-n[ ])?[\"']?((?=\S*\d)(?=\S*[A-Z])[A-Za-z0-9+/]{10,4000}={0,2})[\"']?[ ]{0,4}\|[ ]{0,4}base64[ ](?:-d|-D|--decode)",
        rb"^(?:CONFIG[ ]SET[ ]requirepass|AUTH(?![ ](?:LOGIN|PLAIN)))[ ](?:[\w.-]{1,60}[ ])?((?=\S*\d)(?=\S*[A-Za-z])\S{4,300})[ \t]*$",
        rb"SETUSER[ ]\S{1,100}[ ](?:[^\n>]{0,200}[ ])?>(\S{4,300})",
        rb"LOGIN[ ]\"?[\w.@-]{1,100}\"?[ ]\"?((?=\S*\d)(?=\S*[A-Za-z])[^\s\"]{6,300})\"?[ \t]*$",
        rb":[ ](?:PSK|EAP|XAUTH|RSA[ ]\S{1,60})[ ]\"([^\"\n]{4,300})\"",
        rb"^[\w.@*-]{1,60}[ \t]+[\w.*-]{1,60}[ \t]+((?=\S*\d)(?=\S*[A-Za-z])\S{6,200})[ \t]+(?:\*|\d+(?:\.\d+){3})[ \t]*$",
        rb"^[ \t]*[\w.-]{1,60}:\{(?:PLAIN|PLAIN-MD5|CLEAR|CLEARTEXT)\}([^:\s]{4,200})",
        rb"^(?:\[[\w.-]{1,200}\]|[\w-]{1,60}(?:\.[\w-]{1,60}){1,8}|\*)(?::\d{2,5}[ \t]+|:|[ \t]+)[\w.@+-]{1,100}:(\S{6,200})[ \t]*$",
        rb"(?:^|[:;])[ \t]*(?:ro|rw)community6?[ ]((?!public\b|private\b)\S{4,100})",
        rb"^[ \t]*createUser[ ]\S{1,60}[ ](?:MD5|SHA\S{0,4})[ ](?:\\*\"([^\"\n\\]{4,100})|([^\s\"\\]{4,100}))",
        rb"^[ \t]*createUser[ ]\S{1,60}[ ](?:MD5|SHA\S{0,4})[ ](?:\"[^\"\n]{4,100}\"|\S{4,100})[ ](?:AES|DES)\S{0,4}[ ](?:\"([^\"\n]{4,100})|([^\s\"]{4,100}))",
        rb"<auth-user-pass>\s{1,4}\S{1,100}\s{1,4}(\S{4,300})",
        rb"^[ \t]*rootpw[ ]+(?:--plaintext[ ]+)?((?!--|\$|\{)\S{4,100})[ \t]*$",
        rb"^[ \t]*d-i[ ]\S{0,60}password\S{0,20}[ \t]+(?:password|string)[ \t]+((?!true|false)\S{4,100})",
        rb"^[ \t]*send(?:[ ]--)?[ ]\"((?=[^\"\n]*\d)(?=[^\"\n]*[A-Za-z])[^\"\s\\]{6,100})(?:\\r|\\n)\"",
        rb"334[ ]UGFzc3dvcmQ6[ \t]*\r?\n[^\n]{0,60}?(?:^|[\s>:-])([A-Za-z0-9+/]{8,400}={0,2})[ \t]*\r?$",
        rb"[?&]u=[^&\s]{1,60}&p=([^&\s\"']{4,200})",
        rb"s:\d{1,3}:\"[\w.-]*pass(?:word|wd)?\";s:\d{1,4}:\"([^\"\n]{4,300})\"",
        rb"cs(\d)Label=[\w.-]*(?:password|token|secret)[\w.-]*[ ]cs\1=(\S{4,300})",
        _OF_USER,
        rb"(?i:password|passwd|passwort|kennwort|senha|token|secret)(?::\*\*|\*\*:)[ ]`?([^\s`]{5,200})",
        rb"(?i:password|passwd|passwort)[ ]\.{3,80}[ ](\S{5,200})",
        rb"chpasswd[ ]*<<<[ ]*[\"']?[\w.-]{1,60}:([^\s\"']{4,200})",
        rb"(?i:networkcredential)\([^,()\n]{1,80},[ ]?\"([^\"\n]{4,200})\"",
        rb"\b(?:p|pw|pass|passwd)[ ]={2,3}[ ]?[\"'](?=[^\"'\n]*\d)([^\"'\n]{6,200})[\"']",
        rb"(?i:key)\w{0,30}[ ]?=[ ]?[\w.:()]{0,60}(?i:decode)\w{0,20}\([\"']([A-Za-z0-9+/]{20,300}={0,2})[\"']",
        rb"(?i)\w{0,40}(?:password|passwd|pwd|secret|token)\w{0,20}[ ]as[ ]string[ ]=[ ]\"([^\"\n]{4,300})\"",
        rb"/user:\S{1,80}[ ](?!/)([^\s/]{4,100})",
        rb"(?i)[ ]/(?:rp|pw|pwd|password|pass)[ :](?!/)(\S{4,100})",
        rb"[ \t]([A-Za-z0-9+/]{43}=)[ \t]+[A-Za-z0-9+/]{43}=[ \t]+\d{1,5}[ \t]+(?:off|0x)",
        rb"(?i)\bvalue:?[ ]\\*[\"']([^\"'\n]{4,300})[\"'][ ](?:for|of|in)[ ][\w.\[\]-]{0,80}(?:password|passwd|passwort|secret|token|apikey|pwd)\b",
        rb"(?i)(?:pass|pwd|secret|token)\w{0,20}[ ](?:has|with|is)[ ](?:the[ ]|a[ ])?(?:literal[ ]|plain[ ]|invalid[ ])?value[ ]\\*[\"']([^\"'\n\\]{4,300})",
        rb"\{(?:default_pass|password|passwd|pass|cookie|secret)[ ]?,[ ]?(?:<<)?[\"']?((?=[^{}]*[A-Z0-9])[^\s\"'{},<>]{5,300})[\"']?(?:>>)?\}",
        rb"\{(?:password|passwd|secret|token)[ ]((?=[^{}]*\d)[^\s{}]{6,200})\}",
        rb"(?i)(?:pw|password|passwd|secret|token)\\*\"?[ ]{0,20}[=:][ ]{0,4}\\*\"[^\"\n]{1,300}\"[ ]->[ ]\\*\"([^\"\n]{4,300})\"",
        rb"BUNDLE_[A-Z0-9_]{1,100}[\"']?[:=][ ]?[\"']?[\w.-]{1,60}:([^\s\"']{4,200})",
        rb"(?i:<apikeys>)\s{0,80}<add[ ]key=\"[^\"]{1,200}\"[ ]value=\"([^\"]{8,300})",
        rb"(?i)\b(?:pin|otp|one[- ]time (?:code|password)|(?:verification|security|login) code)\b[^\n:=\d]{0,40}(?:[ ]is[ ]|:[ ]?)(\d{4,10})\b",
        rb"clear-text=[\"']([^\"'\n]{4,300})",
        rb"(?i:pwd|password)=\{(?=[^{}\n]*\d)([^{}\n]{4,300})\}",
    )
)


def listed(text: bytes, end: int) -> Iterator[Span]:
    """`'password': ['…']`: a list of one."""
    match = _LISTED.search(text[max(0, end - 200) : end])
    kind = names.kind(match[1].decode()) if match is not None else ""
    if match is None or not kind or match[1].lower().endswith(b"s"):
        return
    stop = text.find(match[2], end, end + _AHEAD)
    stop = end + _AHEAD if stop < 0 < len(text) - end - _AHEAD else stop
    if stop > end and values.is_secret(text[end:stop], kind):
        yield Span(end, stop, kind)


def compared(text: bytes, end: int) -> Iterator[Span]:
    """`if ($http_x_api_key != "…")`."""
    match = _COMPARED.search(text[max(0, end - 200) : end])
    value = re.compile(rb"[^\s\"']{8,8192}").match(text, end)
    name = match[1].decode() if match is not None else ""
    kind = names.kind(name) or ("key" if name and names.weak(name) else "")
    typed = kind == "password" and value is not None and _MIXED.fullmatch(value[0])
    if kind and value is not None and (typed or values.is_random(value[0])):
        yield Span(value.start(), value.end(), kind)


def login_module(text: bytes, end: int) -> Iterator[Span]:
    """`user_admin="…"`, of Java's login modules."""
    value = _MIXED.match(text, end)
    if value is not None and b"LoginModule" in text[max(0, end - _LOGIN_MODULE) : end]:
        yield Span(value.start(), value.end(), "password")


def userinfo(text: bytes, end: int) -> Iterator[Span]:
    """`user:hunter2@host:5432`, without a scheme."""
    for match in _USERINFO.finditer(text, max(0, end - _BACK), min(len(text), end + 1)):
        if match.end() >= end - 2 and values.is_secret(match[1], "password"):
            yield Span(*match.span(1), "url-password")


def idiom(text: bytes, end: int) -> Iterator[Span]:
    """Everything else, each by the words around it."""
    begin = text.rfind(b"\n", max(0, end - _BACK), max(0, end - 1)) + 1
    begin = max(begin, end - _BACK, 0)
    for pattern in _IDIOMS:
        for match in pattern.finditer(text, begin, min(len(text), end + _BACK)):
            group = match.lastindex or 0
            if match.start() <= end and values.is_secret(match[group], "password"):
                yield Span(match.start(group), match.end(group), "password")


READERS: Final[dict[str, Callable[[bytes, int], Iterator[Span]]]] = {
    "listed": listed,
    "compared": compared,
    "login-module": login_module,
    "idiom": idiom,
    "userinfo": userinfo,
}
"""By the probe that calls for them."""

_QUOTE: Final = r"""(?:\\*["'`])"""
_NAME: Final = rf"(?i:{names.PATTERN})[A-Za-z0-9_.-]*"
_SPACE: Final = r"(?:[ \t\r\n]|\\+[nrt])*"
PROBES: Final = (
    ("listed", rf"{_NAME}{_QUOTE}?{_SPACE}(?:=>|[:=]){_SPACE}\[{_SPACE}\\*[\"']"),
    ("compared", rf"{_NAME}[\"'\])]*[ \t]*[!=]==?[ \t]*\\*[\"']"),
    ("compared", r"(?i)key[ \t]*[!=]==?[ \t]*\\*[\"']"),
    ("login-module", r"user_[A-Za-z0-9_.-]+=\\*\""),
    ("idiom", r"(?:[->]|C:) ?PASS [^ \t\r\n]"),
    ("idiom", r"AUTH LOGIN[ \\\r\n]"),
    ("idiom", r"\\*\"(?i:auth)\\*\" \\*\"[^\" ]"),
    ("idiom", r"user [^ \t\r\n]+ (?:[^\r\n>]* )?(?:>|\\+u003e)[^ ]"),
    ("idiom", r"(?:^|\n|\\n)\\*\"[A-Za-z0-9_]+\\*\" \\*\"[A-Za-z0-9]"),
    ("idiom", r"--password-stdin|SETUSER |auth-user-pass(?:>|\\+u003e)|334 UGFzc3dvcmQ6|cs[1-6]Label="),
    # in several patterns: of one for all, this hyperscan misses matches (see probes.py)
    ("idiom", r"\| *(?:sudo )?(?:kinit|smbpasswd|cryptsetup|gpg)"),
    ("idiom", r"\| *base64 (?:-d|-D|--decode)"),
    ("idiom", r"\| *elasticsearch-keystore"),
    ("idiom", r"\|[^|\r\n]* (?:-S|--stdin)"),
    ("idiom", r"(?:^|\n|\\n)(?:AUTH|CONFIG SET requirepass) [^ \t\r\n]"),
    ("idiom", r"LOGIN \\*\"?[A-Za-z0-9_.@-]+\\*\"? \\*\"?[^ \t\r\n]"),
    ("idiom", r"(?i)(?:password|passwd|passwort|kennwort|senha|token|secret)(?::\*\*|\*\*:| \.\.\.)"),
    ("idiom", r"chpasswd *<<<|(?i)networkcredential\(|<apikeys>| as string = \\*\""),
    ("idiom", r"[^A-Za-z](?:p|pw|pass|passwd) ===? ?\\*[\"']"),
    ("idiom", r"(?i)key[a-z0-9_]* ?= ?[a-z0-9_.:()]*decode[a-z0-9_]*\(\\*[\"']"),
    ("idiom", r"/user:[^ \t\r\n]+ [^ /\t\r\n]"),
    ("idiom", r"(?i) /(?:rp|pw|pwd|password|pass)[ :][^ /\t\r\n]"),
    ("idiom", r"=[ \t]+[0-9]+[ \t]+off"),
    ("idiom", r"(?i)value:? \\*[\"'][^\"'\r\n]+[\"'] (?:for|of|in) [a-z0-9_.\[\]-]*(?:pass|secret|token|apikey|pwd)"),
    (
        "idiom",
        r"(?i)(?:pass|pwd|secret|token)[a-z0-9_]* (?:has|with|is) (?:the |a )?(?:literal |plain |invalid )?value \\*[\"']",
    ),
    ("idiom", r"\{(?:default_pass|password|passwd|pass|cookie|secret|token)(?: ?,| [^ {}])"),
    ("idiom", r"\\*\" -> \\*\"[^\"]"),
    ("idiom", r"BUNDLE_[A-Z0-9_]+[\"']?[:=]"),
    (
        "idiom",
        r"(?i)(?:pin|otp|one[- ]time (?:code|password)|(?:verification|security|login) code)[^\r\n:=0-9]*(?: is |: ?)[0-9]{4}",
    ),
    ("idiom", r"clear-text=[\"'][^\"']"),
    ("idiom", r"(?i:pwd|password)=\{[^{}\r\n]"),
    ("idiom", r": (?:PSK|EAP|XAUTH|RSA [^ \r\n]+) \\*\""),
    ("idiom", r"[^ \t\r\n*][ \t]+\*[ \t]*(?:\n|\\n|\")"),
    ("idiom", r":\{(?:PLAIN|CLEAR)"),
    ("idiom", r"(?:\]:[0-9]+[ \t]+|(?:^|\n|\\n|\")\*:)[A-Za-z0-9_.@+-]+:[^ \t\r\n:]"),
    ("idiom", r"(?:ro|rw)community6? |createUser |rootpw |d-i passwd/"),
    ("idiom", r"send (?:-- )?\\*\"[^\"\r\n ]{6}"),
    ("idiom", r"[?&]u=[^&\s\\]+(?:&|\\+u0026)p=[^&\s]{4}"),
    ("userinfo", r"@[A-Za-z][A-Za-z.-]*[0-9]{0,2}(?:\.[A-Za-z0-9.-]+)?:[0-9]{4,5}[/?; \t\r\n\"'\\]"),
    ("idiom", r"s:[0-9]+:\\*\"[A-Za-z0-9_.-]*pass[a-z]*\\*\";s:"),
    (
        "idiom",
        r"(?i)(?:user(?:name)?|--auth|--login|--creds|--credentials)\\*[\"']?(?:[ \t]*[=:]|[ \t])[ \t]*\\*[\"']?[A-Za-z][A-Za-z0-9_.-]*:[^ \t\r\n:/\"']{8}",
    ),
)
"""Where to look: an id, and hyperscan's pattern, which ends at one place per candidate."""
