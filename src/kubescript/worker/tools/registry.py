"""Owns `k8s.tools`: the classic tools by name. `worker.main` hands it to the client as an extension."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from kubescript.wire import messages
from kubescript.worker.sdk import client, errors, names
from kubescript.worker.tools import errors as tool_errors
from kubescript.worker.tools import get
from kubescript.worker.tools.helm import listing, release
from kubescript.worker.tools.helm import script as helm_script

__all__ = ["EXTENSIONS", "TOOLS", "Toolbox"]

Function = Callable[..., Any]

TOOLS: Final[dict[str, Function]] = {
    "kubectl_get": get.kubectl_get,
    "helm_list": listing.helm_list,
    "helm_status": release.helm_status,
    "helm_get_values": release.helm_get_values,
    "helm_history": release.helm_history,
}
"""Tools by the names that MCP clients call."""


class Toolbox:
    """`k8s.tools`."""

    __slots__ = ("_k8s",)

    def __init__(self, k8s: client.K8s) -> None:
        self._k8s = k8s

    def __getattr__(self, name: str) -> Function:
        if name not in TOOLS:
            raise AttributeError(f"k8s.tools has no {name!r}; {names.suggestion(name, TOOLS)}")
        return functools.partial(_call, TOOLS[name], self._k8s)

    def __dir__(self) -> list[str]:
        return list(TOOLS)

    def __repr__(self) -> str:
        return f"k8s.tools: {', '.join(TOOLS)}; help(k8s.tools.<name>)"


def _call(tool: Function, k8s: client.K8s, /, *args: object, language: str = "en", **options: object) -> object:
    """Calls a tool, whose messages are in this language."""
    messages.choose(language)
    try:
        return tool(k8s, *args, **options)
    except errors.ApiException as error:
        raise tool_errors.of_api(error) from None


EXTENSIONS: Final[dict[str, Callable[[client.K8s], Any]]] = {"tools": Toolbox, "helm": helm_script.Helm}
"""What `k8s` has beside the API clients, by name; each is made from the `k8s` that is asked for it."""
