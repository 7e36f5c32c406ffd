"""Short flags that take a password, of the programs that have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubescript.redaction import values
from kubescript.redaction.spans import Span

__all__ = ["command"]

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
