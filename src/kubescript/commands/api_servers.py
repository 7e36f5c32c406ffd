"""The API servers that requests name with OCP_URL, each called with that request's own token (OCP_TOKEN)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from kubescript import accesses, contexts, errors, types
from kubescript.broker import operation
from kubescript.cluster import acting
from kubescript.commands import request_credentials
from kubescript.wire import exchanges
from kubescript_sandbox.wire import protocol

__all__ = ["ApiServers"]


class ApiServers:
    """A handler of calls, like `contexts.Contexts`, for servers where requests bring their own credentials. The
    operator's credentials are never used."""

    def __init__(self, accesses: Mapping[str, accesses.ClusterAccess]) -> None:
        """`accesses` contains the servers by URL."""
        self._accesses = accesses
        self._servers: dict[str, contexts.Contexts] = {}
        for url, access in accesses.items():
            only = {url: access}
            self._servers[url] = contexts.Contexts(only)

    @property
    def names(self) -> tuple[str, ...]:
        """The server of the current request. Raises AuthError."""
        url, _ = self._read_credentials()
        return (url,)

    @property
    def namespace(self) -> str:
        """The server's default namespace."""
        return "default"

    @property
    def sources(self) -> dict[str, str]:
        """None: command lines ask no sources."""
        return {}

    @property
    def is_named_by_data(self) -> bool:
        """False: the operator has listed the servers."""
        return False

    def handle(
        self, call: exchanges.Call, operation: operation.Operation, timeout_s: float
    ) -> tuple[exchanges.Reply, types.Response | None]:
        """Answers one call with the current request's token."""
        try:
            url, token = self._read_credentials()
        except (errors.AuthError, errors.RequestError) as error:
            fault = protocol.ScriptFault(error.code, error.message)
            return exchanges.Reply(0, fault=fault), None
        server = self._servers[url]
        with acting.using(acting.Token(token)):
            return server.handle(call, operation, timeout_s)

    def close(self) -> None:
        """Closes the connections to all servers."""
        with contextlib.ExitStack() as closing:
            for access in self._accesses.values():
                closing.callback(access.close)

    def _read_credentials(self) -> tuple[str, str]:
        """Returns the current request's URL and token. Raises AuthError and RequestError."""
        request = request_credentials.current()
        token = request.ocp_token
        url = request_credentials.check_url(token, request.ocp_url, self._servers, "OCP", "API servers")
        return url, token
