"""A real HAProxy in front of servers of this machine: with the configuration of the example that docs/deploy.md names, or
as a guard that lets through what an operator of a source demands.

It is Debian's package, unpacked into the tests' cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.kit import debian, listening, paths

__all__ = ["Balancer", "Guard", "unpacked"]

EXAMPLE: Final = paths.ROOT / "examples" / "kubernetes" / "haproxy.cfg"
_GUARD: Final = """\
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s

frontend source
    bind 127.0.0.1:{port}
    http-request return status 404 unless {{ path_beg {prefix}/ }}
{rules}    http-request replace-path {prefix}(/.*) \\1
    default_backend source

backend source
    server source {address}
"""


def unpacked() -> Path:
    """The root of the package. Raises debian.Missing."""
    return debian.unpacked("haproxy", "haproxy")


class _HAProxy(listening.Listening):
    """One HAProxy."""

    def __init__(self, folder: Path, port: int, text: str) -> None:
        file = folder / "haproxy.cfg"
        file.write_text(text)
        root = unpacked()
        command = ["env", f"LD_LIBRARY_PATH={debian.libraries(root)}", str(root / "usr/sbin/haproxy")]
        super().__init__([*command, "-db", "-f", str(file)], folder / "haproxy.log", port)


class Balancer(_HAProxy):
    """One before three servers."""

    def __init__(self, folder: Path, port: int, servers: Sequence[int]) -> None:
        """`servers` are the ports of three servers."""
        text = EXAMPLE.read_text("utf-8").replace("bind :8080", f"bind 127.0.0.1:{port}")
        for number, server in enumerate(servers, 11):
            text = text.replace(f"192.0.2.{number}:8080", f"127.0.0.1:{server}")
        assert "192.0.2." not in text, "the example has other servers"
        super().__init__(folder, port, text)


class Guard(_HAProxy):
    """One before a source: requests need these headers, else it answers 401, and this prefix, else 404."""

    def __init__(self, folder: Path, port: int, address: str, headers: Mapping[str, str], prefix: str) -> None:
        """`address` is the source's HOST:PORT."""
        rules = "".join(
            f'    http-request return status 401 unless {{ req.hdr({name}) -m str "{value}" }}\n'
            for name, value in headers.items()
        )
        text = _GUARD.format(port=port, address=address, prefix=prefix, rules=rules)
        super().__init__(folder, port, text)
