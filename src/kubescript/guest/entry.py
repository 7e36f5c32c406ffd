"""The globals of scripts: `k8s`, `ctx`, `namespace` and related ones. The workers' fork server loads it."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable
from typing import Final

import msgspec

from kubescript.guest import advice, tool_errors, toolbox
from kubescript.guest.sdk import client
from kubescript.guest.sdk.calls import futures, namespace_lists, session
from kubescript.guest.sdk.compat import modules
from kubescript.guest.sdk.objects import helpers, helptext, serialize
from kubescript.guest.sdk.sources import kinds
from kubescript.guest.sdk.values import builtin_kinds, context, exceptions, masks, operations
from kubescript.wire import exchanges
from kubescript_sandbox.guest import channel
from kubescript_sandbox.guest.contract import Rehearsal
from kubescript_sandbox.language import advice as sayings
from kubescript_sandbox.library import builtins
from kubescript_sandbox.wire import protocol

__all__ = ["GUEST"]

_EXTRA_GLOBALS: Final = {"Counter": collections.Counter, "defaultdict": collections.defaultdict}
"""Names that scripts often use without importing them."""

_SCRIPT: Final = """
rows = []
for pod in k8s.coreV1().list_namespaced_pod("warmup"):
    rows.append((pod.metadata.name, sum(c.restart_count for c in pod.status.container_statuses)))
[{"name": name, "restarts": f"{n}"} for name, n in sorted(rows)]
"""
"""A warm-up script that uses what most scripts use."""

_POD: Final = (
    b'{"metadata":{"name":"web","namespace":"warmup","labels":{"app":"web"}},"spec":{"nodeName":"n"},'
    b'"status":{"phase":"Running","containerStatuses":[{"name":"web","restartCount":1}]}}'
)
_LIST: Final = (
    b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[' + _POD + b"," + _POD + b"]}"
)


class _Guest:
    """kubescript's guest code."""

    reply = exchanges.Reply
    rehearsal = Rehearsal(
        _SCRIPT,
        exchanges.Parameters("warmup", "warmup", ("warmup",)),
        exchanges.Reply(200, "OK", "application/json"),
        _LIST,
    )

    def warm(self) -> None:
        """Loads the parts of the API that scripts may use."""
        operations.warm()
        builtin_kinds.of_model("V1Pod")

    def open(self, link: channel.Channel) -> _Session:
        """Creates the global names of a script."""
        return _Session(link)

    def encode(self, value: object) -> bytes:
        """Returns a value as JSON text."""
        return serialize.encode(value)

    def explain(self, error: BaseException) -> protocol.Failure | None:
        """Returns the failure for a classic tool's error; None for any other error."""
        if not isinstance(error, tool_errors.ToolError):
            return None
        # The error is clear without a line of the script, so none is quoted.
        return protocol.Failure(error.code, str(error), error.type)


class _Session:
    """The state of one script."""

    def __init__(self, link: channel.Channel) -> None:
        self._link = link
        own_session = session.Session(link)
        self._k8s = client.K8s(own_session, extensions=toolbox.EXTENSIONS)
        self._globals = _script_globals(link, self._k8s)

    def begin(self, start: protocol.Start) -> dict[str, object]:
        """Returns the global names, including those that describe where the script runs."""
        where = msgspec.json.decode(start.parameters, type=exchanges.Parameters)
        masks.reset()
        link = self._link
        own_session = self._k8s._session
        own_session.deadline = time.monotonic() + start.timeout_ms / 1000
        own_session.report = link.progress
        own_session.tell = link.print
        own_session.sources = where.sources
        if where.namespaces:
            own_session.limited = namespace_lists.NamespaceLists(own_session.relay, where.namespaces)
        self._k8s._announce(where.contexts)
        ctx = context.Context(where.context, where.namespace, start.timeout_ms, link.progress, link.left)
        sources = {each: self._k8s.source(name) for each, name in kinds.first_of_each(where.sources).items()}
        # In place: a copy would touch each value, and copy 50 pages of the fork server's memory.
        self._globals |= {**sources, "ctx": ctx, "namespace": where.namespace, **where.variables}
        return self._globals

    def complete(self) -> None:
        """Completes the writes with async_req whose results the script did not wait for."""
        futures.complete(self._k8s._session.relay)

    def report(self) -> exchanges.Report:
        """Returns what the script was given that is not all there is."""
        limited = self._k8s._session.limited
        return exchanges.Report(masks.has_given_masks(), limited is not None and limited.has_joined)


def _script_globals(link: channel.Channel, k8s: client.K8s) -> dict[str, object]:
    importable = {}
    for name, members in modules.exports(k8s).items():
        importable[name] = modules.VirtualModule(name, members)
    extra = {
        "k8s": k8s,
        "_asked_": masks.count,
        "_tested_": masks.forget_test,
        **helpers.GLOBALS,
        "help": _make_help(link, k8s),
        **_EXTRA_GLOBALS,
    }
    return builtins.build_globals(print_=link.print, extra=extra, importable=importable)


def _make_help(link: channel.Channel, k8s: client.K8s) -> Callable[..., None]:
    def help(subject: object = k8s) -> None:  # noqa: A001  the name that error messages show
        """Prints a few lines about an object, a method, or a kind named as in k8s.explain."""
        if type(subject) is str and subject not in operations.models():
            text = _describe(k8s, subject)
        else:
            text = helptext.help_text(subject)
        link.print(text)

    return help


def _describe(k8s: client.K8s, name: str) -> str:
    """Describes an API method, a kind or a field with this name, or else lists the API methods whose names contain
    it."""
    for api in operations.apis():
        if name in operations.operations(api):
            operation = operations.operation(api, name)
            return helptext.method(operation)
    try:
        return k8s.explain(name)
    except exceptions.NotFoundException:
        # A name with a dot is a field's path, which no method's name contains.
        methods = "" if "." in name else k8s.search(name)
        if not methods.startswith("k8s."):
            raise
        return methods


sayings.use(advice.ADVICE)
GUEST: Final = _Guest()
