"""Reads of a node's kubelet: the log of a service (NodeLogQuery) and the statistics, by two fixed paths.

    GET /api/v1/nodes/NODE/proxy/logs/?query=kubelet&tailLines=200
    GET /api/v1/nodes/NODE/proxy/stats/summary

A script names the node, the service and the number of lines. The host builds the paths, so scripts need no nodes/proxy,
by which a kubelet also runs commands. `policy` decides on them by `Request.kubelet`.
"""

from __future__ import annotations

import re
from typing import Final

from kubescript import errors
from kubescript.request import request
from kubescript.wire import exchanges

__all__ = ["MAX_LINES", "is_for_node", "parse"]

MAX_LINES: Final = 10_000
"""The most lines of a log: 2 MB of usual lines. Kubelets take up to 100,000."""
_ARGUMENTS: Final = {"logs": {"query", "tail"}, "summary": set[str]()}
# Attack: `node-0:9999` is another port of the node, and `https:node-0:` another scheme.
_NODE: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
# Attack: a kubelet takes a name with `/` or `\` for a file below /var/log, and `-` at its beginning could be an option
# of journalctl.
_SERVICE: Final = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.@:]{0,127}")
_LINES: Final = re.compile(r"[1-9][0-9]{0,4}")


def is_for_node(asked: exchanges.Call) -> bool:
    """Says whether a call is for a node's kubelet."""
    return asked.path[: len(exchanges.NODES)] == exchanges.NODES


def parse(asked: exchanges.Call) -> request.Request:
    """Returns the request for a kubelet. Raises RequestError for all but the two reads."""
    rest = asked.path[len(exchanges.NODES) :]
    if asked.method != "GET" or len(rest) != 2 or rest[1] not in _ARGUMENTS:
        raise errors.RequestError("call k8s.node_logs(node) or k8s.node_summary(node)", code="request.path")
    node, what = rest
    if not _NODE.fullmatch(node):
        raise errors.RequestError(f"{node[:80]!r} is not the name of a node", code="request.path")
    given = dict(asked.query)
    if len(given) != len(asked.query) or given.keys() != _ARGUMENTS[what]:
        raise errors.RequestError(
            f"a node's {what} takes the arguments {sorted(_ARGUMENTS[what])}", code="request.query"
        )
    if what == "logs":
        return _read(node, "logs", "logs/", (("query", _service(given["query"])), ("tailLines", _lines(given["tail"]))))
    return _read(node, "summary", "stats/summary", ())


def _read(node: str, what: request.Kubelet, path: str, query: tuple[tuple[str, str], ...]) -> request.Request:
    return request.Request(
        method="GET",
        path=f"/api/v1/nodes/{node}/proxy/{path}",
        query=query,
        verb="get",
        is_resource=True,
        version="v1",
        resource="nodes",
        subresource="proxy",
        name=node,
        accept="text/plain, application/json" if what == "logs" else "application/json",
        kubelet=what,
    )


def _service(name: str) -> str:
    if not _SERVICE.fullmatch(name):
        raise errors.RequestError(
            f"query={name[:80]!r} is not the name of a service such as kubelet or containerd; files cannot be read",
            code="request.query",
        )
    return name


def _lines(text: str) -> str:
    if not _LINES.fullmatch(text) or int(text) > MAX_LINES:
        raise errors.RequestError(f"tail is a number of lines from 1 to {MAX_LINES}", code="request.query")
    return text
