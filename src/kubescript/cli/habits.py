"""Flags of kubernetes-mcp-server, for people who change a command line that they have. What means the same is accepted;
what would promise something that is not done is refused, and the error says what is done instead."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from kubescript.cli import paths

if TYPE_CHECKING:
    from kubescript import config

__all__ = ["HTTP_ONLY", "IN_TABLES", "LogLevel", "check", "completed", "drop_hidden", "options", "translated"]

_NO_KIALI: Final = "kubescript has no tools for Kiali: scripts can read a mesh's custom resources"
_REFUSED: Final = {
    "sse-port": "legacy SSE is at /sse of the http transport, beside /mcp: use --port",
    "sse-base-url": "clients of /sse are told a path and no host: leave it out, or give --server-url for OAuth",
    "skip-jwt-verification": "kubescript takes no token unread: with --validate-token it asks the cluster about each",
    "profile": "profiles have become toolsets: use --toolsets",
    "kiali-url": _NO_KIALI,
    "kiali-insecure": _NO_KIALI,
}
_SWITCHES: Final = frozenset({"skip-jwt-verification", "kiali-insecure"})
"""Those that take no value."""
IN_TABLES: Final = {
    "tls_cert": ("tls", "cert_file"),
    "tls_key": ("tls", "key_file"),
    "server_url": ("http", "url"),
    "oauth_audience": ("auth", "audience"),
    "authorization_url": ("auth", "issuer"),
    "certificate_authority": ("auth", "ca_file"),
    "validate_token": ("auth", "token_review"),
}
"""Flags that give a setting of a table."""
HTTP_ONLY: Final = frozenset({*IN_TABLES, "bind_address", "http_port", "require_oauth", "require_tls"})
"""Flags that mean nothing to a client that starts its server."""
_CHECKED: Final = (
    "disable_destructive", "disable_multi_cluster", "cluster_provider", "list_output", "require_oauth", "require_tls",
)  # fmt: skip
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
            f"--{name}", is_flag=name in _SWITCHES, default=None, hidden=True, expose_value=False, callback=_refuse
        )
        for name in _REFUSED
    ]
    switches = [
        click.option(f"--{name}", is_flag=True, default=None, hidden=True)
        for name in (
            "disable-destructive", "disable-multi-cluster", "require-oauth", "require-tls", "validate-token",
        )
    ]  # fmt: skip
    return [
        *refused,
        *switches,
        click.option("--bind-address", hidden=True),
        click.option("--http-port", type=int, hidden=True),
        click.option("--cluster-provider", type=click.Choice(_PROVIDERS), hidden=True),
        click.option("--list-output", type=click.Choice(["yaml", "table"]), hidden=True),
        click.option("--tls-cert", type=paths.UserPath(), hidden=True),
        click.option("--tls-key", type=paths.UserPath(), hidden=True),
        click.option("--server-url", hidden=True),
        click.option("--oauth-audience", hidden=True),
        click.option("--authorization-url", hidden=True),
        click.option("--certificate-authority", type=paths.UserPath(), hidden=True),
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
    ours = {name: value for name, value in given.items() if name not in _CHECKED}
    for theirs, name in (("bind_address", "host"), ("http_port", "port")):
        if theirs in ours:
            ours.setdefault(name, ours[theirs])
            del ours[theirs]
    if "oauth_audience" in ours:
        ours["oauth_audience"] = (ours["oauth_audience"],)
    return ours


def completed(given: dict[str, object], settings: config.Settings) -> config.Settings:
    """Returns the settings with what `--require-oauth` also means: the caller's token is passed on to the cluster."""
    # Under the server's own account, whoever logs in would have all its rights.
    if given.get("require_oauth") and settings.transport == "http" and "acts_as" not in settings.model_fields_set:
        return settings.model_copy(update={"acts_as": "caller"})
    return settings


def check(given: dict[str, object], settings: config.Settings) -> None:
    """Refuses what the settings do not keep. Raises ConfigError."""
    _check_cluster(given, settings)
    if settings.transport != "http":
        return  # as there: nobody logs in to a server that the client has started
    if given.get("require_oauth"):
        _check_login(settings)
    if given.get("validate_token") and settings.auth.issuer:
        _refuse_second_way()
    if given.get("require_tls"):
        _check_tls(settings)


def _check_cluster(given: dict[str, object], settings: config.Settings) -> None:
    """Refuses what is not kept of the clusters and of the writes there."""
    from kubescript import errors
    from kubescript.cluster import kubeconfig

    if given.get("disable_destructive") and not _only_creates(settings):
        raise errors.ConfigError(
            "--disable-destructive: the settings permit more writes than creations",
            remedy='leave out --no-read-only, or give [write_policy] verbs = {"*" = ["create"]} in the file',
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


def _only_creates(settings: config.Settings) -> bool:
    """Says whether nothing that is there can be changed in any cluster: no write, or the creation of objects alone."""
    clusters = [settings.of_context(name) for name in settings.contexts] or [settings]
    return all(cluster.mode == "off" or _permits_only_creates(cluster.write_policy) for cluster in clusters)


def _permits_only_creates(chosen: config.WritePolicy) -> bool:
    """Says whether a policy lists what may be done, and that is nothing but to create."""
    permitted = set().union(*chosen.verbs.values())
    return bool(chosen.verbs) and permitted <= {"create"}


def _check_login(settings: config.Settings) -> None:
    """Refuses a server that asks nobody for a token."""
    from kubescript import errors

    auth = settings.auth
    if not (auth.issuer or auth.introspection or auth.token_review):
        raise errors.ConfigError(
            "--require-oauth: nothing says whose tokens are taken",
            remedy="add --authorization-url URL, or --validate-token to ask the cluster about tokens",
        )


def _refuse_second_way() -> NoReturn:
    """Refuses to ask the cluster about tokens beside an issuer."""
    from kubescript import errors

    # There, a token must be good for both. Here each way to log in is enough, so a token for anything else in the
    # cluster would let its bearer in.
    raise errors.ConfigError(
        "--validate-token: the cluster would be a second way in, beside the tokens that --authorization-url signs",
        remedy="leave one of the two out",
    )


def _check_tls(settings: config.Settings) -> None:
    """Refuses a server without a certificate, and addresses that are asked without TLS."""
    from kubescript import errors

    if settings.tls.cert_file is None:
        raise errors.ConfigError("--require-tls: there is no certificate", remedy="add --tls-cert and --tls-key")
    asked = {
        "http.url": settings.http.url,
        "auth.issuer": settings.auth.issuer,
        "auth.introspection.url": settings.auth.introspection.url if settings.auth.introspection else None,
        "telemetry.otlp_endpoint": settings.telemetry.otlp_endpoint,
    }
    for name, url in asked.items():
        if url and not url.lower().startswith("https://"):
            raise errors.ConfigError(f"--require-tls: `{name}` is no https address")
