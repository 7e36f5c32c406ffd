"""Secrets in plain text: log lines, messages, command lines, configuration files, YAML.

Each reader gets the text and the place where a probe's match ends, and gives the spans to mask. A reader looks at a
bounded neighbourhood only: a pod's log may be ten megabytes in one line, written to be slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from kubescript.redaction import announced, columns, encoded, formats, idioms, masks, names, values
from kubescript.redaction.spans import Span

__all__ = ["READERS", "is_basic", "pem"]

_BACK: Final = 200
"""Bytes looked at before a value, for its name."""
_AHEAD: Final = 8_192
"""Bytes of a value that are looked at."""
_PEM_BYTES: Final = 65_536
_NAME: Final = re.compile(
    rb"((?:[A-Za-z]{1,20} )?[A-Za-z0-9_.\-]{1,120})(\\{0,7}[\"'`])?\]?([ \t]{0,20})"
    rb"(:=|=>|=|::?|\\{1,8}u003[adAD]|\||\xe2\x94\x82|\xe2\x86\x92|->)([ \t\r\n]{0,24})\Z"
)
_LINE_START: Final = re.compile(rb"(?:^|[\n\r]|\\n)[ \t]{0,200}(?:- )?[\"']?\Z")
_BARE: Final = re.compile(rb"(?:[^\s\"'`&;,<>\\]|\\(?![\"'nrt])|[&;,](?![\w.\-%]*[=:]|\s|\Z|[\"'}\]]))+")
_FORM: Final = re.compile(rb"(?:[^\s\"'`&;,<>\\]|\\(?![\"'nrt])|[&;,](?![\w.\-%]*=|\s|\Z|[\"'}\]]))+")
"""The same behind `=`: a colon behind an ampersand is part of the value."""
_FIELD: Final = re.compile(rb"[\w.\-\"']{1,100}:(?:\s|\Z)")
_LEAD: Final = re.compile(
    rb"&?[A-Za-z_][\w.<>?\[\]]{0,30}[ \t]{0,4}=[ \t]{1,4}(?=[\"'`])|"
    rb"(?:!!?[\w/.-]{0,40}|&[\w-]{1,40})[ \t]{1,4}(?=\S)|-[ \t]{1,4}(?=\S)|"
    rb"(?:[A-Z][a-z]+ value|(?:the )?(?:given|provided|current|new|old) value|got|was)[:=]?[ \t]{1,4}(?=\\*[\"'`])|"
    rb"(?:new )?(?:(?!Get|Read|Load|Env|Lookup|Fetch|From)[A-Z]\w{0,30}|string|str|bytes|\[\]byte|"
    rb"(?:non)?sensitive|base64encode|some|just)"
    rb"(?:\(\d{0,9}\)?[ ]?|\([A-Z]\w{0,20}\()(?=\\*[\"'`])|[burfRL@$]{1,2}(?=[\"'])|"
    rb"(?:[A-Za-z_]{1,20}\.)?(?:from_?[hH]ex|b64decode|from_?base64|fromBase64)\((?=[\"'])|"
    rb"os\.(?:environ\.get|getenv)\([\"'][A-Z0-9_]{1,60}[\"'],[ ]?(?=[\"'])|<<(?=[\"'])|"
    rb"\{?[ \t\r\n]{0,40}\\*[\"']?(?:value|plain|plaintext|literal|cleartext|inline|raw|default|val)"
    rb"\\*[\"']?[ \t]{0,4}[:=][ \t]{1,4}(?=\S)"
)
"""What may stand between a name and its value: `Invalid value: "…"`, `Some("…")`, `string(12) "…"`, `{plain: …`."""
_PUBLIC_KEY: Final = re.compile(rb"(?i)-----BEGIN [A-Z0-9 -]{0,40}PUBLIC KEY")
_KEY_END: Final = re.compile(rb"(?i)-----END [A-Z0-9 -]{0,40}KEY(?: [A-Z0-9 ]{1,20})?-----|Private-MAC: [0-9a-f]+")
_PUTTY: Final = re.compile(
    rb"(?:[^\r\n]{0,200}\r?\n){1,400}?Private-Lines: \d{1,4}\r?\n"
    rb"((?:[A-Za-z0-9+/=]{1,100}\r?\n){0,399}[A-Za-z0-9+/=]{1,100}|\xc2\xab[^\r\n]{1,120})\r?\nPrivate-MAC"
)
"""Of a PuTTY file, what is private."""
_PUTTY_MASKED: Final = re.compile(rb"(?:[^\r\n]{0,200}\r?\n){1,400}?Private-Lines: \d{1,4}\r?\n\xc2\xabredacted:")
_URN: Final = re.compile(rb"(?:arn|urn):[^\s\"']{0,150}\Z")
_RULED: Final = frozenset({b"|", b"\xe2\x94\x82", b"->", b"\xe2\x86\x92"})
_FUNCTION_WORD: Final = re.compile(
    rb"(?i:or|and|to|for|is|was|are|not|must|cannot|can|should|may|with|without|flags?|options?|in|on|from|if|as|at|has|have|"
    rb"will|instead|when|the|a|an|via|by)"
)
_SHELL_COMMAND: Final = re.compile(rb"`[a-z][\w./-]* [^`\r\n]*`")
_BLOCK: Final = re.compile(rb"[|>][+-]?\d?[ \t]*\r?\n")
_SCHEME: Final = re.compile(rb"(?i:bearer|basic|token|digest|apikey|negotiate|ssws)[ \t]+")
_URL_PASSWORD: Final = re.compile(rb"://([^\s:/?#\"'<>@]{0,200}):([^\s\"'<>]{1,65536})\Z")
_URL_TOKEN: Final = re.compile(rb"://([A-Za-z0-9_.~%+=-]{16,65536})\Z")
_URL_REST: Final = re.compile(rb"[^\s/?#\"'<>@:]{1,300}@(?=[\w.-])")
"""Of a password with an at sign, what follows that."""
_DSN: Final = re.compile(rb":([^ \t\r\n:@/\"']{1,4096})@(?:tcp|udp|unix)\(\Z")
_ORACLE: Final = re.compile(rb"jdbc:oracle:[a-z]{1,8}:[^/\s\"]{1,60}/([^@\s\"]{1,4096})@\Z")
_QUERY: Final = re.compile(rb"([A-Za-z0-9%+/_.=-]{12,2048})")
_JWT: Final = re.compile(rb"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*")
_TOKEN68: Final = re.compile(rb"[A-Za-z0-9._~+/-]{8,4096}=*")
_HASH: Final = re.compile(
    rb"\$(?:2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}|(?:apr1|1|5|6)\$(?:rounds=\d+\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{22,90}"
    rb"|y\$[./A-Za-z0-9]+\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{43}|(?:argon2(?:id?|d)|scrypt|pbkdf2[a-z0-9-]*)\$[^\s\"'<>]{20,300})"
)
_SAID: Final = re.compile(
    rb"(?i)(password|passwd|passphrase|pwd|token|secret|api key|"
    rb"identified (?:with \w{1,40} )?by|(?<=_password )by)[ \t]{1,2}"
    rb"(is|was|to|set to|changed to|with|of)?[ \t]{0,2}([\"'`]?)([^\s]{4,200})"
)
_YAML_NAME: Final = re.compile(
    rb"(?:name|key|path)[\"']?:[ \t]*[\"']?([/A-Za-z0-9_.-]{1,100})[\"']?[ \t]*\r?\n[ \t]*(?:value|contents?):[ \t]\Z"
)
_PRINTED: Final = re.compile(
    rb"(?i:name|key|path|param(?:eter)?|variable|setting|option)\\*[\"'`]?\s{0,4}(?:=>|[:=])\s{0,4}\\*[\"'`]?([/A-Za-z0-9_.\-]{1,100})\\*[\"'`]?"
    rb"[,;]?\s{0,40}:?\\*[\"'`]?(?i:value|contents?)\\*[\"'`]?\s{0,4}(?:=>|[:=])\s{0,4}\Z"
)
_BESIDE: Final = re.compile(rb"([A-Za-z0-9_.\-]{1,100})\\{0,7}[\"'`]?(?:[ \t]{1,20}|[ \t]{0,4},[ \t]{0,4})(?:<<)?\Z")
_FLAG: Final = re.compile(
    rb"((?<![A-Za-z0-9_.-])--?[A-Za-z0-9_-]{1,80}|\brequirepass|\bmasterauth|\bauth-pass)"
    rb"(?:(?<=auth-pass) [A-Za-z0-9_.-]{1,60})?[ \t]{1,4}\Z"
)
_REST_OF_ARGUMENT: Final = re.compile(rb"[^\s\"']*")
_COMMANDS: Final[tuple[tuple[re.Pattern[bytes], re.Pattern[bytes]], ...]] = tuple(
    (re.compile(command), re.compile(flag))
    for command, flag in (
        (rb"(?:mysql\w*|mariadb\w*)\b", rb"(?:^|\s)-p([^\s\"']{1,100}|\"[^\"]{1,100}\"|'[^']{1,100}')"),
        (rb"sshpass\b", rb"\s-p[ \t]*([^\s]{1,100})"),
        (rb"redis-cli\b|htpasswd\b", rb"\s-a[ \t]+([^\s-][^\s]{0,100})"),
        (
            rb"(?:mongo\w*|docker|podman|helm|skopeo|crane|rabbitmqadmin|cqlsh|sqlcmd|oc|az|useradd)\b",
            rb"\s-(?:p|P)[ \t=]*([^\s-][^\s]{0,100})",
        ),
        (rb"(?:curl|wget)\b", rb"\s(?:-u|--user|--proxy-user)[ \t=]*[\"']?[^\s:\"']{1,100}:([^\s\"']{1,200})"),
        (rb"--from-literal\b", rb"(?<![ ]--dry-run)[= ][\"']?\w[\w.-]{0,99}=([^\s\"']{1,300})"),
        (rb"rabbitmqctl\b", rb"(?:add_user|change_password)\s+[^\s]{1,100}\s+([^\s]{1,200})"),
        (rb"sqlplus\b", rb"\s[\w-]{1,60}/([^\s@/]{1,100})@"),
        (rb"(?:ldap\w+)\b", rb"\s-w[ \t]*([^\s-][^\s]{0,100})"),
    )
)  # fmt: skip


def pair(text: bytes, end: int) -> Iterator[Span]:
    """`name=value`, `"name": "value"`, `name: value`, however quoted."""
    at = end - 1
    head = text[max(0, at - _BACK) : at]
    match = _NAME.search(head)
    name = match[1].decode("ascii", "replace") if match is not None else ""
    kind = names.kind(name)
    if match is None or not kind or _is_no_pair(text, at, head, match):
        return
    if _in_expansion(head, match):
        at += text[at : at + 1] in b"-="
    if (lead := _LEAD.match(text, at, at + _BACK)) is not None:
        at = lead.end()
    if b"\n" in match[5] and _FIELD.match(text, at):  # what is below the name has a name of its own
        return
    starts_line = _LINE_START.search(head[: match.start()]) is not None
    whole_line = starts_line and match[4] == b":" and lead is None
    stops = _FORM if match[4] == b"=" else _BARE
    in_prose = _in_prose(text, at, match, starts_line=starts_line)
    for span in _value(text, at, kind, in_prose=in_prose, whole_line=whole_line, head=head, stops=stops):
        if not (names.collection(name) and values.is_status(text[span.start : span.end])):
            yield span


def _in_prose(text: bytes, at: int, match: re.Match[bytes], *, starts_line: bool) -> bool:
    """Whether the colon behind a name may be a sentence's, or a scope's: `password:reset`."""
    if match[4] != b":":
        return match[4] in _RULED
    if match[2]:  # volume "db-password" : references …
        return bool(match[3]) and text[at : at + 1] not in b"\"'`\\"
    return not starts_line or b" " in match[1] or not match[5]


def _is_no_pair(text: bytes, at: int, head: bytes, match: re.Match[bytes]) -> bool:
    """Whether what looks like a name and a value is something else."""
    if match[1] == b"PASS" and match[4] == b":":  # what a test run says
        return True
    if _URN.search(head, 0, match.start(1)) or (match[4] in _RULED and not _in_row(text, at, head)):
        return True
    first = text[at : at + 1]
    if first == b"`" and _SHELL_COMMAND.match(text, at):
        return True
    if _in_expansion(head, match) and (first in b"?+" or match[1].lower().endswith(b"s")):
        return True
    return not match[2] and bool(match[5]) and first in b"\"'" and head[: match.start(1)].endswith(first)  # a prompt


def _in_expansion(head: bytes, match: re.Match[bytes]) -> bool:
    """`${NAME:-…}`, `${secrets:…}`."""
    return match[4] == b":" and head[: match.start(1)].endswith(b"${")


def _in_row(text: bytes, at: int, head: bytes) -> bool:
    """Whether a rule between a name and a value is a table's, and no pipe; an arrow is one by itself."""
    line = head[head.rfind(b"\n") + 1 :].lstrip()
    return line.startswith((b"|", b"\xe2\x94\x82")) or line.rstrip().endswith((b" ->", b"\xe2\x86\x92"))


def _value(
    text: bytes,
    at: int,
    kind: str,
    *,
    in_prose: bool,
    whole_line: bool,
    head: bytes,
    stops: re.Pattern[bytes] | None = None,
) -> Iterator[Span]:
    start, stop = _extent(text, at, whole_line=whole_line, head=head, stops=stops or _BARE)
    if kind == "authorization" and (scheme := _SCHEME.match(text, start, stop)):
        start = scheme.end()
        stop = _end_of_word(text, start, stop)
    elif _has_words(text, at, start, stop) and (kind not in {"password", "cookie"} or not _is_yaml(text, at)):
        stop, in_prose = _end_of_word(text, start, stop), True
    judge = values.is_secret_in_prose if in_prose else values.is_secret
    if judge(text[start:stop], kind):
        yield Span(start, stop, kind)


def _has_words(text: bytes, at: int, start: int, stop: int) -> bool:
    return b" " in text[start:stop] and text[at : at + 1] not in b"\"'`\\|>"


def _extent(text: bytes, at: int, *, whole_line: bool, head: bytes, stops: re.Pattern[bytes]) -> tuple[int, int]:
    """Where the value that begins at `at` begins and ends, without its quotes."""
    limit = min(len(text), at + _AHEAD)
    quote = re.compile(rb"\"\"\"(?=[^\"])|'''(?=[^'])|\\*[\"'`]").match(text, at, limit)
    if quote is not None:
        return quote.end(), _closing(text, quote, limit)
    if block := _BLOCK.match(text, at, limit):
        return _block(text, block.end(), head)
    if whole_line:
        line = re.compile(rb"[^\r\n]*?(?=[ \t]+#|[ \t]*(?:\r?\n|\\n|\Z))").match(text, at, limit)
        if line is not None and line.end() > at:
            return at, at + len(line[0].rstrip(b","))
    bare = stops.match(text, at, limit)
    stop = bare.end() if bare is not None else at
    return at, _unclosed(text, at, stop)


def _unclosed(text: bytes, at: int, stop: int) -> int:
    """Without the brackets and the punctuation that belong to what is around a bare value."""
    pairs = {b")": b"(", b"}": b"{", b"]": b"["}
    while stop > at and (last := text[stop - 1 : stop]) in b")}].,;":
        if last in pairs and text.count(pairs[last], at, stop) >= text.count(last, at, stop):
            break
        stop -= 1
    return stop


def _closing(text: bytes, quote: re.Match[bytes], limit: int) -> int:
    """The end of a quoted value; of one that is never closed, the end of its line."""
    mark, place = quote[0], quote.end()
    while (found := text.find(mark, place, limit)) >= 0:
        before = text[max(quote.end(), found - 16) : found]
        escapes = len(before) - len(before.rstrip(b"\\"))
        doubled = mark == b"'" and text[found + 1 : found + 2] == b"'"  # YAML's and SQL's way to write one
        if not doubled and (escapes == 0 or (len(mark) == 1 and escapes % 2 == 0)):
            return found
        place = found + 1 + doubled
    line = text.find(b"\n", quote.end(), limit)
    return line if line >= 0 else limit


def _block(text: bytes, start: int, head: bytes) -> tuple[int, int]:
    """A YAML block scalar: the lines that are indented deeper than its key."""
    line = head[head.rfind(b"\n") + 1 :]
    indent = len(line) - len(line.lstrip(b" "))
    stop = start
    while stop < min(len(text), start + _PEM_BYTES):
        end = text.find(b"\n", stop)
        end = len(text) if end < 0 else end + 1
        each = text[stop:end]
        if each.strip() and len(each) - len(each.lstrip(b" ")) <= indent:
            break
        stop = end
    first = start + len(text[start:stop]) - len(text[start:stop].lstrip())
    return first, max(first, start + len(text[start:stop].rstrip()))


def _is_yaml(text: bytes, at: int) -> bool:
    """Whether a line in this text is a field rather than a sentence: others around it are, too."""
    line = text[text.rfind(b"\n", max(0, at - _BACK), at) + 1 : at]
    if line[:1] in b" \t" and line:
        return True
    around = text[max(0, at - 400) : at + 400]
    return len(re.findall(rb"(?m)^[ \t-]*[\w.\-\"']+:(?:[ \t]|$)", around)) > 1


def _end_of_word(text: bytes, start: int, stop: int) -> int:
    word = re.compile(rb"[^\s\"'`,;<>\\]+").match(text, start, stop)
    return word.end() if word is not None else stop


def variable_yaml(text: bytes, end: int) -> Iterator[Span]:
    """`name: DB_PASSWORD` and, on the next line, `value: …`."""
    head = text[max(0, end - _BACK) : end]
    match = _YAML_NAME.search(head)
    kind = names.kind(match[1].decode()) if match is not None else ""
    if kind:
        for span in _value(text, end, kind, in_prose=False, whole_line=True, head=head):
            yield Span(span.start, span.end, f"env-{kind}")


def variable_text(text: bytes, end: int) -> Iterator[Span]:
    """`{Name: "DB_PASSWORD", Value: "…"}` as Go, Python and Ruby print it."""
    at = end - 1
    match = _PRINTED.search(text[max(0, at - 2 * _BACK) : at])
    kind = names.kind(match[1].decode()) if match is not None else ""
    if kind:
        start, stop = _extent(text, at, whole_line=False, head=b"", stops=_BARE)
        if values.is_secret(text[start:stop], kind):
            yield Span(start, stop, f"env-{kind}")


def quoted(text: bytes, end: int) -> Iterator[Span]:
    """A name and a value in quotes, whatever is between them: `X-Api-Key "…"`, `:password "…"`, `{pass, <<"…">>}`."""
    opening = re.compile(rb"\\*[\"'`]\Z").search(text, max(0, end - 16), end - 1)
    at = opening.start() if opening is not None else end - 1
    match = _BESIDE.search(text[max(0, at - _BACK) : at])
    kind = names.kind(match[1].decode()) if match is not None else ""
    if match is None or not kind:
        return
    start, stop = _extent(text, at, whole_line=False, head=b"", stops=_BARE)
    value = text[start:stop]
    joined = kind in {"password", "basic-auth"} or re.search(rb"[a-z][A-Z]|[-_.]", match[1])
    says = (joined and kind != "secret") or (values.is_random(value) and re.search(rb"[A-Z]", value))
    if says and values.is_secret_in_prose(value, kind) and _is_odd(value) and b" " not in value:
        yield Span(start, stop, kind)


def flag(text: bytes, end: int) -> Iterator[Span]:
    """`--password value`."""
    at = end - 1
    match = _FLAG.search(text[max(0, at - _BACK) : at])
    kind = names.kind(match[1].decode()) if match is not None else ""
    if kind:
        start, stop = _extent(text, at, whole_line=False, head=b"", stops=_BARE)
        dashed = match is not None and match[1].startswith(b"-")
        help_text = re.search(rb"(?:  |\t)\Z", text[max(0, at - 2) : at]) is not None
        judge = values.is_secret_in_prose if help_text or not dashed else values.is_secret
        if judge(text[start:stop], kind) and not _FUNCTION_WORD.fullmatch(text[start:stop]):
            yield Span(start, stop, f"flag-{kind}")


def spaced(text: bytes, end: int) -> Iterator[Span]:
    """A name, blanks and a value: a flag's, or a line's."""
    yield from flag(text, end)
    yield from formats.spaced(text, end)


def command(text: bytes, end: int) -> Iterator[Span]:
    """Short flags that take a password, of the programs that have them."""
    start = max(0, end - 260)
    region = text[start : end + 240]
    for program, option in _COMMANDS:
        for called in program.finditer(region):
            line = region.find(b"\n", called.end())
            for found in option.finditer(region, called.end(), line if line >= 0 else len(region)):
                if values.is_secret(found[1].strip(b"\"'"), "password"):
                    yield Span(start + found.start(1), _end_of_argument(text, start, found), "flag-password")


def _end_of_argument(text: bytes, start: int, found: re.Match[bytes]) -> int:
    """Where an argument ends of which only the beginning was read."""
    end = start + found.end(1)
    return end if found[1][:1] in b"\"'" else _REST_OF_ARGUMENT.match(text, end).end()  # type: ignore[union-attr]


def weak(text: bytes, end: int) -> Iterator[Span]:
    """A random value of a name that alone would not tell."""
    start = end - 12
    match = re.compile(
        rb"([A-Za-z0-9_.\-]{1,100})(?:\\{0,7}[\"'`])?[ \t]{0,3}[:=]>?[ \t]{0,3}(?:\\{0,7}[\"'`])?\Z"
    ).search(text[max(0, start - _BACK) : start])
    if match is None:
        return
    name = match[1].decode()
    value = re.compile(rb"[A-Za-z0-9+/_=.~-]{12,4096}").match(text, start)
    if value is None or names.kind(name):
        return
    if names.weak(name) and values.is_random(value[0]):
        yield Span(value.start(), value.end(), "key")
    elif name.lower() in {"auth", "_auth"} and is_basic(value[0]):
        yield Span(value.start(), value.end(), "basic-auth")


def url(text: bytes, end: int) -> Iterator[Span]:
    """The password in `scheme://user:password@host`; a lone token there, too."""
    begin = max(0, text.rfind(b"://", max(0, end - _PEM_BYTES), end - 1))
    while (rest := _URL_REST.match(text, end)) is not None:
        end = rest.end()
    head = text[begin : end - 1]
    after = text[end : end + 1]
    match = _URL_PASSWORD.match(head)
    if match is not None and not re.match(rb"\d{2,5}(?:/|\Z)", match[2]) and after not in {b"", b" ", b"/", b'"'}:
        if values.is_secret(match[2], "password"):
            yield Span(begin + match.start(2), begin + match.end(2), "url-password")
        return
    token = _URL_TOKEN.match(head)
    if token is not None and values.is_random(token[1]):
        yield Span(begin + token.start(1), begin + token.end(1), "url-token")


def dsn(text: bytes, end: int) -> Iterator[Span]:
    """`user:password@tcp(host:3306)/db`."""
    yield from _first(_DSN, text, end, "url-password")


def oracle(text: bytes, end: int) -> Iterator[Span]:
    """`jdbc:oracle:thin:user/password@host`."""
    yield from _first(_ORACLE, text, end, "url-password")


def _first(pattern: re.Pattern[bytes], text: bytes, end: int, kind: str) -> Iterator[Span]:
    begin = max(0, end - _AHEAD // 2)
    match = pattern.search(text[begin:end])
    if match is not None and values.is_secret(match[1], "password"):
        yield Span(begin + match.start(1), begin + match.end(1), kind)


def query(text: bytes, end: int) -> Iterator[Span]:
    """A signature in a URL's query: what a pre-signed URL's power is in."""
    start = end - 12
    match = _QUERY.match(text, start)
    if match is not None and re.search(rb"(?i)sig|security-token", text[max(0, start - 24) : start]):
        yield Span(start, match.end(), "url-signature")
    elif match is not None and values.is_random(match[1]):
        yield Span(start, match.end(), "url-token")


def jwt(text: bytes, end: int) -> Iterator[Span]:
    """Three parts in base64url, the first of which begins with `{"`."""
    match = _JWT.match(text, end - 13)
    if match is not None:
        yield Span(match.start(), match.end(), "jwt")


def pem(text: bytes, end: int) -> Iterator[Span]:
    """A private key from its first line to its last, or as far as it goes."""
    limit = min(len(text), end + _PEM_BYTES)
    if (lines := _PUTTY.match(text, end, limit)) is not None:
        if not masks.is_masked(lines[1]):
            yield Span(lines.start(1), lines.end(1), "private-key")
        return
    if _PUTTY_MASKED.match(text, end, limit):
        return
    start = max(text.rfind(b"-----BEGIN", max(0, end - 80), end), text.rfind(b"PuTTY", max(0, end - 30), end))
    if start < 0 or _PUBLIC_KEY.match(text, start):
        return
    close = _KEY_END.search(text, end, limit)
    if close is not None:
        yield Span(start, close.end(), "private-key")
        return
    body = re.compile(rb"(?:[A-Za-z0-9+/=:,\-\s]|\\[nr\\])*").match(text, end, limit)
    yield Span(start, body.end() if body is not None else end, "private-key")


def scheme(text: bytes, end: int) -> Iterator[Span]:
    """`Bearer …`, `Basic …`: what follows, when it looks like one."""
    start = end - 8
    match = _TOKEN68.match(text, start)
    if match is None:
        return
    word = text[max(0, start - 14) : start].strip().lower()
    if word.endswith(b"basic"):
        if is_basic(match[0]):
            yield Span(start, match.end(), "basic-auth")
    elif re.search(rb"[0-9]", match[0]) and len(match[0]) >= 12 and not re.fullmatch(rb"[\d.:/-]+", match[0]):
        if word.endswith(b"token") and not values.is_random(match[0]):
            return
        yield Span(start, match.end(), "bearer-token")


def is_basic(value: bytes) -> bool:
    """Whether this is `user:password` in base64."""
    data = encoded.unbase64(value)
    return data is not None and b":" in data and encoded.is_text(data)


def said(text: bytes, end: int) -> Iterator[Span]:
    """`password is hunter2`, `IDENTIFIED BY 'hunter2'`."""
    begin = max(0, end - 50)
    for match in _SAID.finditer(text, begin, min(len(text), end + 200)):
        kind = names.kind(match[1].decode()) or "password"
        quoted = bool(match[3])
        value = match[4].split(match[3])[0] if quoted else match[4].rstrip(b".,;:!?)")
        random = values.is_random(value) and re.search(rb"[A-Z]", value) is not None
        spoken = random or bool(match[2]) or (quoted and match[1].lower() in {b"identified by", b"password", b"by"})
        if match.end(3) < end + 4 and spoken and values.is_secret_in_prose(value, kind) and _is_odd(value):
            yield Span(match.start(4), match.start(4) + len(value), kind)


def _is_odd(value: bytes) -> bool:
    return re.search(rb"[0-9!@#$%^&*+=]", value) is not None


def password_hash(text: bytes, end: int) -> Iterator[Span]:
    """crypt(3), bcrypt, argon2: they can be tried out offline."""
    start = text.rfind(b"$", max(0, end - 24), end - 2)
    while start >= 0:
        match = _HASH.match(text, start, min(len(text), start + 400))
        if match is not None:
            yield Span(start, match.end(), "password-hash")
            return
        start = text.rfind(b"$", max(0, end - 24), start)


READERS: Final[dict[str, Callable[[bytes, int], Iterator[Span]]]] = {
    "pair": pair,
    "variable-yaml": variable_yaml,
    "flag": flag,
    "command": command,
    "weak": weak,
    "url": url,
    "dsn": dsn,
    "oracle": oracle,
    "query": query,
    "jwt": jwt,
    "scheme": scheme,
    "said": said,
    "hash": password_hash,
    "announced": announced.announced,
    "columns": columns.columns,
    "variable": variable_text,
    "insert": columns.insert,
    "quoted": quoted,
    "variable-text": variable_text,
    **formats.READERS,
    "spaced": spaced,
    **idioms.READERS,
}
"""By the probe that calls for them."""
