"""Three recording API servers, two of which state an audience, for a server whose callers act by their own tokens."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import anyio

from security_tests.identity_provider import AUDIENCE, Provider
from security_tests.recorder import Recorder
from tests.kit import callers, clients, http_server

__all__ = ["CAROL", "EACH", "NAMES", "ask", "opened", "sent", "serving"]

CAROL: Final = "token-of-carol-0123456789"
"""A token of the server's own, which names no audience."""
NAMES: Final = ("east", "west", "unstated")
EACH: Final = """
def names(context):
    try:
        return [pod.metadata.name for pod in k8s.context(context).CoreV1Api().list_namespaced_pod("home").items]
    except ApiException as error:
        return f"{error.code}: {error.message}"
{name: names(name) for name in k8s.contexts()}
"""
_SETTINGS: Final = f"""
acts_as = "caller"
[auth]
issuer = "{{issuer}}"
audience = ["{AUDIENCE}"]
tokens = {{{{ carol = "sha256:{hashlib.sha256(CAROL.encode()).hexdigest()}" }}}}
{{tables}}
[contexts.east]
audience = "of-east"
[contexts.west]
audience = "of-west"
[contexts.unstated]
"""


@contextlib.contextmanager
def opened() -> Iterator[dict[str, Recorder]]:
    """The clusters by name."""
    with Recorder() as east, Recorder() as west, Recorder() as unstated:
        yield dict(zip(NAMES, (east, west, unstated), strict=True))


@contextlib.contextmanager
def serving(folder: Path, provider: Provider, clusters: Mapping[str, Recorder], tables: str) -> Iterator[int]:
    """A server of these clusters with further tables; gives its port."""
    servers = {name: {"server": f"http://127.0.0.1:{each.port}"} for name, each in clusters.items()}
    settings = folder / "settings.toml"
    settings.write_text(_SETTINGS.format(issuer=provider.url, tables=tables))
    flags = ("--toolsets", "code", "--kubeconfig", str(callers.write_kubeconfig(folder / "config", servers)))
    with http_server.serving((*flags, "--config", str(settings))) as port:
        yield port


def ask(port: int, token: str, script: str = EACH, **arguments: object) -> Any:
    """The result of a caller's script."""

    async def evaluate() -> str:
        async with callers.connected(port, token) as client:
            return clients.text(await clients.evaluate(client, script, **arguments))

    return json.loads(anyio.run(evaluate).splitlines()[0])


def sent(clusters: Mapping[str, Recorder]) -> dict[str, set[str]]:
    """The headers with tokens that each cluster has got since the last time."""
    seen = {name: each.take() for name, each in clusters.items()}
    return {name: {token for one in each for token in one.header("Authorization")} for name, each in seen.items()}
