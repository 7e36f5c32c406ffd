"""`kubescript client NAME`: prints the configuration that an MCP client needs to start this server, or writes it to the
client's file."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubescript import errors
from kubescript.cli import program

if TYPE_CHECKING:
    from kubescript import config

__all__ = [
    "CLIENTS",
    "Client",
    "Server",
    "claude_line",
    "others_line",
    "server",
    "snippet",
    "wants_token",
    "warnings",
    "without_passwords",
]

_PASSWORD: Final = re.compile(r"://[^/\s]*@")
"""User and password in a URL, such as that of a telemetry receiver."""


@dataclass(frozen=True, slots=True)
class Server:
    """How a client reaches the server: a program that the client starts, or the URL of a running server."""

    command: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    url: str = ""
    wants_token: bool = False
    """Whether each caller adds a token, which no identity provider gives to clients."""

    def entry(self, *, typed: bool) -> dict[str, Any]:
        """Returns the server's entry in a configuration file; `typed` adds the name of the transport."""
        entry: dict[str, Any] = {}
        if typed:
            entry["type"] = "http" if self.url else "stdio"
        if self.url:
            entry["url"] = self.url
            return entry
        program, *arguments = self.command
        entry["command"] = program
        entry["args"] = arguments
        if self.environment:
            entry["env"] = dict(self.environment)
        return entry


@dataclass(frozen=True, slots=True)
class Client:
    """A program that uses MCP servers, and the location of its configuration."""

    title: str
    file: Callable[[], Path]
    """The configuration of the user, for all projects."""
    key: str = "mcpServers"
    typed: bool = False
    over_http: bool = True


def _home() -> Path:
    return Path(os.path.expanduser("~"))  # noqa: PTH111  it raises nothing for a home that is not known


def _application_folder() -> Path:
    """Returns the folder in which desktop programs keep their settings."""
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support"
    configured = os.environ.get("XDG_CONFIG_HOME")
    return Path(configured) if configured else _home() / ".config"


def _claude_code() -> Path:
    configured = os.environ.get("CLAUDE_CONFIG_DIR")
    folder = Path(configured) if configured else _home()
    return folder / ".claude.json"


CLIENTS: Final = {
    "claude-code": Client("Claude Code", _claude_code, typed=True),
    "claude-desktop": Client(
        "Claude Desktop", lambda: _application_folder() / "Claude" / "claude_desktop_config.json", over_http=False
    ),
    "cursor": Client("Cursor", lambda: _home() / ".cursor" / "mcp.json"),
    "vscode": Client(
        "VS Code", lambda: _application_folder() / "Code" / "User" / "mcp.json", key="servers", typed=True
    ),
}
"""Clients by the names that the command takes."""


def server(settings: config.Settings, flags: list[str], client: Client | None = None) -> Server:
    """Returns how a client reaches the server with these settings, which result from the flags. Raises ConfigError."""
    # A server without toolsets has no tools, and a client would show nothing.
    toolsets = [] if settings.toolsets else ["--toolsets", "code"]
    command = (*program.command(), *flags, *toolsets)
    if settings.transport != "http":
        environment = _environment(settings, flags)
        return Server(command, environment)
    if client is not None and not client.over_http:
        raise errors.ConfigError(
            f"the configuration file of {client.title} does not support http servers",
            remedy="leave out --port and --host",
        )
    command += ("--host", settings.host, "--port", str(settings.port))
    url = _url(settings)
    return Server(command, url=url, wants_token=wants_token(settings))


def wants_token(settings: config.Settings) -> bool:
    """Says whether callers over http add a token by hand. With an issuer, clients are told where to log in, and get
    their tokens there."""
    auth = settings.auth
    has_tokens = bool(auth.tokens or auth.tokens_file or auth.token_review or auth.introspection)
    return has_tokens and auth.issuer is None


def _url(settings: config.Settings) -> str:
    """Returns the server's URL over http: that of /mcp, unless all toolsets have their own endpoints."""
    from kubescript import config
    from kubescript.transports import endpoints

    url = settings.http.url
    if not url:
        # An IPv6 address stands in brackets in a URL.
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        scheme = "http" if settings.tls.cert_file is None else "https"
        url = f"{scheme}://{host}:{settings.port}/mcp"
    routes = [route for route in config.ROUTES if settings.list_toolsets(route)]
    if settings.list_toolsets() or not routes:
        return url
    return endpoints.resource(url, f"/{routes[0]}/")


def claude_line(name: str, served: Server) -> str:
    """Returns the command that adds the server to Claude Code, for all of the user's projects."""
    words = ["claude", "mcp", "add"]
    if served.url:
        words += ["--transport", "http", "--scope", "user", name, served.url]
        if served.wants_token:
            words += ["--header", "Authorization: Bearer TOKEN"]
        return shlex.join(words)
    environment = served.environment or {}
    for variable, value in environment.items():
        words += ["--env", f"{variable}={value}"]
    # --env takes every word up to the next flag, so --scope comes after it.
    words += ["--scope", "user", name, "--", *served.command]
    return shlex.join(words)


def others_line(settings: config.Settings, flags: list[str]) -> str:
    """Returns the command that writes the server with these settings, which result from the flags, into the file of
    another client than Claude Code."""
    over_http = settings.transport == "http"
    names = [name for name, each in CLIENTS.items() if name != "claude-code" and (each.over_http or not over_http)]
    words = ["--write", *flags]
    if over_http:
        words += ["--host", settings.host, "--port", str(settings.port)]
    return f"kubescript client {'|'.join(names)} {shlex.join(words)}"


def without_passwords(line: str) -> str:
    """Returns the line in a form that may be shown to others."""
    # The report of `doctor` goes into bug reports and tickets.
    return _PASSWORD.sub("://PASSWORD@", line)


def snippet(name: str, client: Client, served: Server) -> str:
    """Returns the text for the configuration file."""
    entry = served.entry(typed=client.typed)
    document = {client.key: {name: entry}}
    return json.dumps(document, indent=2, ensure_ascii=False)


def warnings(settings: config.Settings, served: Server) -> list[str]:
    """Returns reasons why the client would not reach the server: it is not running, or would not start."""
    if served.url:
        command = shlex.join(served.command)
        found = [f"clients do not start a server over http; keep one running: {command}"]
        if served.wants_token:
            found.append('each caller adds a token: --header "Authorization: Bearer TOKEN" (docs/deploy.md)')
        return found
    if "--kubeconfig-later" in served.command:
        return []
    return [error.explained for error in _kubeconfig_errors(settings)]


def _kubeconfig_errors(settings: config.Settings) -> list[errors.ClusterError]:
    """Returns why the server would fail to start, for each cluster that does not exist."""
    from kubescript.cluster import identity, kubeconfig

    found = []
    for each in _live_clusters(settings):
        try:
            if not identity.in_cluster(each.kubeconfig, each.context):
                kubeconfig.choose(each.kubeconfig, each.context)
        except errors.ClusterError as error:
            found.append(error)
    return found


def _environment(settings: config.Settings, flags: list[str]) -> dict[str, str]:
    """Returns the variables of this shell that the server needs and a client would not pass on."""
    from kubescript.cluster import kubeconfig

    needed = {name: value for name, value in os.environ.items() if _is_setting(name)}
    if settings.snapshot is not None:
        return needed
    if "--kubeconfig" not in flags and os.environ.get("KUBECONFIG"):
        # The client starts the server in a folder of its own.
        source = kubeconfig.source() or ""
        files = [Path(file) for file in source.split(os.pathsep) if file]
        absolute = [str(file.absolute()) for file in files]
        needed["KUBECONFIG"] = os.pathsep.join(absolute)
    if _has_plugin(settings):
        needed["PATH"] = os.environ.get("PATH", "")
    return needed


def _is_setting(variable: str) -> bool:
    return variable.startswith("KUBESCRIPT_") and not variable.startswith("KUBESCRIPT_TEST")


def _has_plugin(settings: config.Settings) -> bool:
    """Says whether the credentials come from a program, which is looked up in the PATH."""
    from kubescript.cluster import kubeconfig

    if settings.fleet.source == "kubeconfig-dir":  # any file that comes may name one
        return True
    for each in _live_clusters(settings):
        try:
            if kubeconfig.choose(each.kubeconfig, each.context).plugin:
                return True
        except errors.ClusterError:  # `warnings` reports the error
            continue
    return False


def _live_clusters(settings: config.Settings) -> list[config.Settings]:
    """Returns the settings of each cluster that is not a snapshot."""
    clusters = [settings.of_context(name) for name in settings.context_names]
    if not clusters and not settings.fleet.is_on:
        clusters = [settings]
    return [each for each in clusters if each.snapshot is None]
