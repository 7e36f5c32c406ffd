"""What `kubescript doctor` says about the sources of a cluster: whether each answers, in which version, and what to fix
if it does not."""

from __future__ import annotations

import contextlib
import re
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from kubescript import config, errors
from kubescript.broker import answer
from kubescript.cli import findings
from kubescript.cluster import base, bodies, live
from kubescript.request import request
from kubescript.snapshot import snapshot
from kubescript.snapshot.sources import saved_source
from kubescript.sources import opening, operations, remedies
from kubescript_masking.wire import lists
from kubescript_sandbox.host import cancellation

__all__ = ["examine"]

_ANSWER_S: Final = 10.0
"""Seconds that one source may take."""
_MAX_BYTES: Final = 1024 * 1024
# Attack: a source's version contains line ends, or a command that a person copies.
_VERSION: Final = re.compile(r"v?[0-9][0-9A-Za-z.+_-]{0,60}")
_ABOUT_ALL: Final = {
    "prometheus": ("/api/v1/query", (("query", "vector(1)"),)),
    "alertmanager": ("/api/v2/alerts", (("filter", 'alertname=""'),)),
    "loki": ("/loki/api/v1/labels", ()),
    "tempo": ("/api/search", (("limit", "1"),)),
}
"""Kind → a small question that only it answers. It is about all namespaces, so that a proxy that shows one at a time
refuses it."""
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class _Version(msgspec.Struct):
    version: str = ""


class _Document(msgspec.Struct, rename="camel"):
    """The version at its place in the answers of all kinds."""

    version: str = ""
    """Loki's and Tempo's."""
    data: _Version = msgspec.field(default_factory=_Version)
    """Prometheus'."""
    version_info: _Version = msgspec.field(default_factory=_Version)
    """Alertmanager's."""


def examine(settings: config.Settings, content: bytes | None, *, offline: bool) -> Iterator[findings.Finding]:
    """Yields the findings about each source of one cluster; `content` is a found cluster's kubeconfig. With `offline`,
    no source is asked. Raises nothing: failures are findings."""
    if settings.snapshot is not None:
        yield from _list_saved(settings.snapshot)
        return
    if not settings.sources:
        return
    cluster = live.Live(content or settings.kubeconfig, settings.context)
    try:
        for name, own in settings.sources.items():
            yield _examine(settings, name, own, cluster, offline=offline)
            if own.tenancy == "source" and own.service is None and not _sends_anything(own):
                text = 'tenancy = "source", but no token and no tenant is sent: every limited caller sees all of it'
                yield findings.Finding("WARNING", _topic(name), text)
            if _sends_in_the_clear(own):
                text = f"sends credentials over http to {own.url}: everyone on the way can read them; use https"
                yield findings.Finding("WARNING", _topic(name), text)
    finally:
        cluster.close()


def _examine(
    settings: config.Settings, name: str, own: config.Source, cluster: live.Live, *, offline: bool
) -> findings.Finding:
    about = f"{own.kind} at {own.url or f'the Service {own.service}'}"
    if _is_asked_as_caller(settings, own):
        said = "not asked: it is asked as the caller of each script, and only http has callers"
        return findings.Finding("ok", _topic(name), f"{about}; {said}")
    if offline:
        return findings.Finding("ok", _topic(name), f"{about}; not asked: only its settings were read")
    try:
        mark, said = _ask(name, own, cluster)
    except errors.ClusterError as error:
        is_slow = error.code == "cluster.timeout"
        mark, said = "FAILED", f"no answer in {_ANSWER_S:g} s" if is_slow else error.explained
    return findings.Finding(mark, _topic(name), f"{about}: {said}")


def _list_saved(folder: Path) -> Iterator[findings.Finding]:
    """Yields a finding about the sources of a snapshot, if there are any."""
    try:
        with contextlib.closing(snapshot.Snapshot(folder)) as cluster:
            saved = saved_source.open_sources(cluster.saved)
    except errors.KubescriptError as error:
        yield findings.Finding("FAILED", "saved sources", error.explained)
        return
    if saved:
        named = ", ".join(f"{name} ({each.about.kind})" for name, each in saved.items())
        yield findings.Finding("ok", "saved sources", named)


def _is_asked_as_caller(settings: config.Settings, own: config.Source) -> bool:
    """Says whether only a caller can ask a source, with its own token or rights."""
    if own.service is None:
        return own.auth == "caller"
    return own.auth != "server" and settings.acts_as != "server"


def _ask(name: str, own: config.Source, cluster: live.Live) -> tuple[findings.Mark, str]:
    """Asks one source for its version, or one that keeps namespaces apart for something of all. Raises
    ClusterError."""
    connected = opening.connect(name, own, cluster, cluster, None)
    with contextlib.closing(connected) as server:
        question = _Question(name, own, server, time.monotonic() + _ANSWER_S)
        if own.tenancy == "namespace":
            status, _ = question.ask(*_ABOUT_ALL[own.kind])
            if status == 200:
                return "FAILED", 'it answers without a namespace, so it shows all: set tenancy = "none"'
            return _explain(name, own, status)
        status, body = question.ask(operations.KINDS[own.kind].version)
        if status == 404 and question.ask(*_ABOUT_ALL[own.kind])[0] == 200:
            return "ok", "it answers, and tells no version, as old ones do"
    if status == 200:
        found = _find_version(body)
        return ("ok", f"version {found}") if found else ("WARNING", "it answers, but tells no version")
    return _explain(name, own, status)


@dataclass(frozen=True, slots=True)
class _Question:
    """The questions to one source."""

    name: str
    own: config.Source
    server: base.Server
    deadline: float

    def ask(self, path: str, query: tuple[tuple[str, str], ...] = ()) -> tuple[int, bytes]:
        """Returns the status and the body of an answer. Raises ClusterError."""
        asked = request.Request("GET", path, query, verb="get", is_resource=False)
        response = self.server.perform(asked, self.deadline - time.monotonic(), cancellation.Cancellation())
        too_large = errors.ClusterError("its answer is implausibly large", code="cluster.too_large")
        with contextlib.closing(response):
            body = bodies.read_whole(response.chunks, _MAX_BYTES, too_large)
        peer = answer.Peer("it", remedies.for_stranger(self.name, self.own))
        fault = answer.find_fault(asked, response, peer)
        if fault is not None:
            raise fault
        return response.status, body


def _explain(name: str, own: config.Source, status: int) -> tuple[findings.Mark, str]:
    """Returns what an answer without a version means."""
    remedy = remedies.for_status(name, own, status)
    if own.tenancy == "namespace" and not (remedy and own.service):
        # Such a proxy answers questions about a namespace alone, and refuses all others.
        return "ok", f"it answers ({status}), and is asked about one namespace at a time"
    if remedy:
        return "FAILED", f"it refuses us ({status}): {remedy}"
    setting = "`url` and its prefix" if own.service is None else "`service`: namespace, name and port of a Service"
    if status in {404, 503}:
        return "FAILED", f"no {own.kind} answers there ({status}): check `kind`, and {setting}"
    return "FAILED", f"it answers {status}"


def _find_version(body: bytes) -> str:
    """Returns the version in an answer; empty if there is none."""
    try:
        read = msgspec.json.decode(body, type=_Document)
    except lists.UNREADABLE:
        return ""
    found = read.version or read.data.version or read.version_info.version
    return found if _VERSION.fullmatch(found) else ""


def _sends_in_the_clear(own: config.Source) -> bool:
    """Says whether credentials leave this machine over http."""
    if own.url is None or own.url.startswith("https://"):
        return False
    return _has_credentials(own) and urllib.parse.urlsplit(own.url).hostname not in _LOOPBACK


def _sends_anything(own: config.Source) -> bool:
    """Says whether a source gets anything by which it can tell callers or tenants apart."""
    return _has_credentials(own) or own.tenant is not None or own.cert_file is not None


def _has_credentials(own: config.Source) -> bool:
    return own.auth != "none" or own.token_file is not None or own.basic_auth_file is not None


def _topic(name: str) -> str:
    return f"source {name}"
