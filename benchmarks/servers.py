"""How each measured server is started."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import stdio
from benchmarks.peers import programs

__all__ = ["PROGRAM", "empty", "kubescript", "no_cluster", "peer"]

PROGRAM = Path(sys.executable).with_name("kubescript")
"""This installation's."""

_NOWHERE = """\
{apiVersion: v1, kind: Config, current-context: none,
 clusters: [{name: none, cluster: {server: "https://127.0.0.1:1"}}],
 users: [{name: none, user: {token: none}}],
 contexts: [{name: none, context: {cluster: none, user: none}}]}
"""


def kubescript(kubeconfig: Path, *flags: str, program: Path = PROGRAM) -> stdio.Server:
    """The subject, as a client configuration starts it."""
    command = [str(program), "--toolsets", "code", "--kubeconfig", str(kubeconfig)]
    return stdio.Server([*command, *flags])


def empty() -> stdio.Server:
    """A bare server of the same SDK in the same interpreter."""
    program = Path(__file__).with_name("empty_server.py")
    return stdio.Server([sys.executable, str(program)])


def peer(kubeconfig: Path) -> stdio.Server:
    """npm kubernetes-mcp-server with its defaults. Raises Unavailable."""
    return stdio.Server([*programs.kubernetes_mcp_server(), "--kubeconfig", str(kubeconfig)])


@contextlib.contextmanager
def no_cluster() -> Iterator[Path]:
    """A kubeconfig for what never calls a cluster; nothing listens at its address."""
    with tempfile.NamedTemporaryFile("w", suffix=".kubeconfig") as file:
        file.write(_NOWHERE)
        file.flush()
        yield Path(file.name)
