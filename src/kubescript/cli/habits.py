"""Flags of kubernetes-mcp-server, for people who change a command line that they have. What is harmless is accepted;
what would promise something that is not done is refused, and the error says what is done instead."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from kubescript import config

__all__ = ["LogLevel", "check", "drop_hidden", "options", "translated"]

_NO_LOGIN: Final = "kubescript has no OAuth: its http transport serves loopback addresses only"
_NO_TLS: Final = "kubescript serves http on loopback addresses only: put a proxy that terminates TLS in front of it"
_NO_SSE: Final = "kubescript does not serve SSE: use --port, for streamable HTTP at /mcp"
_NO_KIALI: Final = "kubescript has no tools for Kiali: scripts can read a mesh's custom resources"
_REFUSED: Final = {
    "sse-port": _NO_SSE,
    "sse-base-url": _NO_SSE,
    "require-oauth": _NO_LOGIN,
    "oauth-audience": _NO_LOGIN,
    "authorization-url": _NO_LOGIN,
    "validate-token": _NO_LOGIN,
    "skip-jwt-verification": _NO_LOGIN,
    "server-url": _NO_LOGIN,
    "certificate-authority": "kubescript has no OAuth; a cluster's CA belongs in the kubeconfig",
    "tls-cert": _NO_TLS,
    "tls-key": _NO_TLS,
    "require-tls": _NO_TLS,
    "stateless": "kubescript keeps a session for each http client; leave --stateless out",
    "kiali-url": _NO_KIALI,
    "kiali-insecure": _NO_KIALI,
}
_SWITCHES: Final = frozenset({"require-oauth", "validate-token", "skip-jwt-verification", "require-tls", "stateless"})
"""Those that take no value."""
_OURS: Final = ("disable_destructive", "disable_multi_cluster", "cluster_provider", "list_output")
_PROVIDERS: Final = ("kubeconfig", "in-cluster", "disabled")


class _RefusedFlag(click.ClickException):
    exit_code = 2


class LogLevel(click.Choice[str]):
    """A level by its name, or by klog's number: from 4 on it is for debugging."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the level's name."""
        if isinstance(value, str) and len(value) == 1 and value.isdecimal():
            return "debug" if int(value) >= 4 else "info"
        return super().convert(value, param, ctx)


def options() -> list[Callable[[Any], Any]]:
    """The flags, which no help shows."""
    refused = [
        click.option(
            f"--{name}", is_flag=name in _SWITCHES or name == "kiali-insecure", default=None, hidden=True,
            expose_value=False, callback=_refuse,
        )
        for name in _REFUSED
    ]  # fmt: skip
    return [
        *refused,
        click.option("--bind-address", hidden=True),
        click.option("--http-port", type=int, hidden=True),
        click.option("--disable-destructive", is_flag=True, default=None, hidden=True),
        click.option("--disable-multi-cluster", is_flag=True, default=None, hidden=True),
        click.option("--cluster-provider", type=click.Choice(_PROVIDERS), hidden=True),
        click.option("--list-output", type=click.Choice(["yaml", "table"]), hidden=True),
    ]


def _refuse(_context: click.Context, option: click.Parameter, value: object) -> None:
    name = option.opts[0].removeprefix("--")
    if value is not None:
        raise _RefusedFlag(f"--{name}: {_REFUSED[name]}")


def drop_hidden(error: click.NoSuchOption) -> None:
    """Takes the flags that no help shows out of the suggestions for one that is unknown."""
    if error.ctx is None or not error.possibilities:
        return
    hidden = {flag for option in error.ctx.command.params if getattr(option, "hidden", False) for flag in option.opts}
    error.possibilities[:] = [flag for flag in error.possibilities if flag not in hidden]


def translated(given: dict[str, object]) -> dict[str, object]:
    """Returns the flags with those of kubernetes-mcp-server under our own names, or left out where `check` sees to
    them."""
    ours = {name: value for name, value in given.items() if name not in _OURS}
    for theirs, name in (("bind_address", "host"), ("http_port", "port")):
        if theirs in ours:
            ours.setdefault(name, ours[theirs])
            del ours[theirs]
    return ours


def check(given: dict[str, object], settings: config.Settings) -> None:
    """Refuses what the settings do not keep. Raises ConfigError."""
    from kubescript import errors
    from kubescript.cluster import kubeconfig

    if given.get("disable_destructive") and settings.writable:
        raise errors.ConfigError(
            "--disable-destructive: kubescript permits all writes or none",
            remedy="leave out --no-read-only, or list what scripts must not touch in [[denied_resources]]",
        )
    if given.get("disable_multi_cluster") and len(settings.contexts) > 1:
        raise errors.ConfigError(
            "--disable-multi-cluster contradicts --contexts", remedy="use --context for one cluster"
        )
    in_pod = os.environ.get("KUBERNETES_SERVICE_HOST") and kubeconfig.source(settings.kubeconfig) is None
    if given.get("cluster_provider") == "in-cluster" and not in_pod:
        raise errors.ConfigError(
            "--cluster-provider in-cluster: this is not a pod, or there is a kubeconfig, which takes precedence",
            remedy="leave the flag out: in a pod without a kubeconfig the service account is used",
        )
