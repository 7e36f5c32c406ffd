"""The globals of scripts: `k8s`, `ctx`, `namespace` and related ones. The workers' fork server loads it."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable, Iterator, Sequence
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
from kubescript_sandbox.language import compiler
from kubescript_sandbox.library import builtins
from kubescript_sandbox.wire import protocol

__all__ = ["GUEST"]

_EXTRA_GLOBALS: Final = {"Counter": collections.Counter, "defaultdict": collections.defaultdict}
"""Names that scripts often use without importing them."""

# A worker's first write to each page costs a copy, so the copies are made before a script arrives.
_SCRIPT: Final = """
rows = []
for pod in k8s.coreV1().list_namespaced_pod("warmup"):
    rows.append((pod.metadata.name, sum(c.restart_count for c in pod.status.container_statuses)))
[{"name": name, "restarts": f"{n}"} for name, n in sorted(rows)]
"""
"""A warm-up script that touches a few hundred pages."""

_POD: Final = (
    b'{"metadata":{"name":"web","namespace":"warmup","labels":{"app":"web"}},"spec":{"nodeName":"n"},'
    b'"status":{"phase":"Running","containerStatuses":[{"name":"web","restartCount":1}]}}'
)
_LIST: Final = (
    b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[' + _POD + b"," + _POD + b"]}"
)
_REPLY: Final = exchanges.Reply(200, "OK", "application/json")


class _Guest:
    """kubescript's guest code."""

    reply = exchanges.Reply
    rehearsal = Rehearsal(
        _SCRIPT,
        exchanges.Parameters("warmup", "warmup", ("warmup",)),
        exchanges.Call("GET", ("api", "v1", "pods")),
        _REPLY,
        _LIST,
    )

    def warm(self) -> None:
        """Loads the parts of the API that scripts may use."""
        operations.warm()
        builtin_kinds.of_model("V1Pod")

    def open(self, link: channel.Channel) -> _Session:
        """Creates the global names of a script, connected to the worker's socket, and runs a small script on a canned
        answer."""
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
        _run_warmup(link)
        own_session = session.Session(link)
        self._k8s = client.K8s(own_session, extensions=toolbox.EXTENSIONS)
        self._globals = _script_globals(link, self._k8s)

    def begin(self, start: protocol.Start) -> dict[str, object]:
        """Returns the global names, including those that describe where the script runs."""
        where = msgspec.json.decode(start.parameters, type=exchanges.Parameters)
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
        return self._globals | sources | {"ctx": ctx, "namespace": where.namespace} | where.variables

    def complete(self) -> None:
        """Completes the writes with async_req whose results the script did not wait for."""
        futures.complete(self._k8s._session.relay)

    def report(self) -> exchanges.Report:
        """Returns what the script was given that is not all there is."""
        limited = self._k8s._session.limited
        return exchanges.Report(masks.has_given_masks(), limited is not None and limited.has_joined)


def _run_warmup(link: channel.Channel) -> None:
    """Compiles the rehearsal's script, runs it on a canned answer, and encodes its result."""
    program = compiler.compile_script(_SCRIPT)
    k8s = client.K8s(session.Session(_CannedTransport()))
    value = compiler.run(program, _script_globals(link, k8s))
    serialize.encode(value)


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


class _CannedExchange:
    """A canned answer to any call."""

    reply = _REPLY

    def chunks(self) -> Iterator[bytes]:
        """Yields the whole body."""
        yield _LIST

    def stop(self) -> None:
        """Does nothing, because the answer is complete."""


class _CannedTransport:
    """A transport without a host."""

    left = channel.Left(1, 1, 1)

    def call(self, call: exchanges.Call) -> _CannedExchange:
        """Encodes the call as if to send it, and returns the canned answer."""
        serialize.encode(call.query)
        return _CannedExchange()

    def batch(self, calls: Sequence[exchanges.Call]) -> list[_CannedExchange]:
        """Returns a canned answer to each call."""
        return [self.call(call) for call in calls]


sayings.use(advice.ADVICE)
GUEST: Final = _Guest()
