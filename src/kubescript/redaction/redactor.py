"""The redactor of one server: it masks bodies for scripts and every outgoing text, and compares what a write changes.

Masking itself is the package kubescript_masking; this module describes the calls to clusters to it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from kubescript import config, errors, programs
from kubescript.kube import kinds
from kubescript.redaction import hostile_changes
from kubescript.request import request
from kubescript.wire import inspection
from kubescript_masking.errors import BodyBrokenError
from kubescript_masking.host import engine
from kubescript_masking.host.conversation import Found, Report
from kubescript_masking.wire import masking
from kubescript_sandbox.host import cancellation, spawner

__all__ = ["Engine", "describe", "has_placeholder", "is_first_use"]

_LOG_LINE_S: Final = 5.0
"""Seconds that masking a log line may take: other lines wait behind it."""
_ESCAPED: Final = b"\\u00abredacted:"
_IN_BASE64: Final = masking.alignments(masking.OPENING)
_WHY: Final = {
    "shape": "the API server's answer is not what was asked for, so it was withheld",
    "release": "this is no release as Helm keeps it, or one of more than 16 MiB, so it was withheld",
    "object": "the API server's answer is no JSON object, so nobody can be shown what this write changes",
    "values": "the object has more than 3 MiB, 100,000 values, 100 levels, or 1,000 labels or images, so what a write "
    "changes in it cannot be shown; return the kubectl command instead",
    "rows": "this write changes more than 20,000 fields, or 8 MiB of them, which nobody can read; change fewer fields "
    "at a time",
    "managers": "this apply takes fields from more than 100 managers, which nobody can read; leave out force=True, or "
    "some of the fields",
}
"""Reasons why the masking process did not read an object."""
_PROXY: Final = "look for a proxy between kubescript and the API server that changes compressed answers"
_NO_API_SERVER: Final = "check that `server` in the kubeconfig is an API server, not a login page or a proxy"
_NO_SOURCE: Final = (
    "check that the source's address is that of a Prometheus or Loki API, not of a login page or a proxy"
)
_BROKEN: Final[dict[str, tuple[str, str]]] = {
    "gzip-bad": ("the answer is damaged: it is marked as gzip, but cannot be decompressed", _PROXY),
    "gzip-cut": ("the answer ends before its compressed data do; what arrived is incomplete", _PROXY),
    "gzip-more": ("the answer continues after the end of its compressed data", _PROXY),
    "json": ("the answer ends in the middle of its JSON, or is none", _NO_API_SERVER),
    "list": (
        "the answer is no list: it needs a kind that ends with List, and one array of items",
        _NO_API_SERVER,
    ),
    "kind": ("the answer is no object: it has no kind, or is the Status of a failure", _NO_API_SERVER),
    "depth": (
        "an object in the answer is nested more than 1,000 levels deep",
        "list by namespace, or read the other objects by name",
    ),
    "event": ("the watch has sent a line that is no event, or only the beginning of one", _NO_API_SERVER),
    "streams": ("the answer has log lines that are none: each needs a time and a text", _NO_SOURCE),
    "count": ("the answer to the count of a query is no number", _NO_SOURCE),
}
"""Faults of a body, and what to do about each."""


class Engine(engine.Engine):
    """The masking of clusters' answers. Safe for use from many threads; its key exists only as long as the engine
    does."""

    def __init__(
        self,
        settings: config.Redaction,
        key: bytes | None = None,
        *,
        expressions: tuple[inspection.Expression, ...] = (),
        scripts: int = 8,
        strict: bool = False,
        source: spawner.Spawner | None = None,
    ) -> None:
        """`expressions` are the operator's rules about changes; `scripts` is how many may run at the same time;
        `source` is the maskers' spawner if already started. Raises ConfigError for a wrong setting. Otherwise starts
        nothing; `prepare`, or the first use, does."""
        told = _settings(settings, key if key is not None else secrets.token_bytes(32), expressions)
        if expressions or settings != config.Redaction(enabled=settings.enabled):
            _check_settings(told)
        source = source if source is not None else spawner.Spawner(programs.MASKER)
        super().__init__(told, source, enabled=settings.enabled, scripts=scripts, strict=strict, why=_WHY)
        self._user: inspection.UserInfo | None = None

    def of(self, owner: str, user: inspection.UserInfo) -> Engine:
        """Returns this engine for one of several callers, with its own masks and maskers."""
        own = self.of_owner(owner)
        own._user = user
        return own

    def body(self, call: request.Request, chunks: Iterator[bytes], report: Report) -> engine.Masked:
        """Returns a body as the script may see it, and its trailer; the broker's hook."""
        return self._mask(call, chunks, report, echo=False)

    def echo(self, call: request.Request, chunks: Iterator[bytes], report: Report) -> engine.Masked:
        """Returns a body that may repeat what the script sent: an error, or the answer to a write or a question."""
        return self._mask(call, chunks, report, echo=True)

    def changes(
        self, call: request.Request, before: bytes, after: bytes, found: Found, scale: bytes = b""
    ) -> inspection.Changes:
        """Returns what a write changes, given the object before and after its dry run; either is empty if it does not
        exist. Of a scaling of a custom resource, `scale` is the Scale before it. Displayed values are masked as the
        operator has set. Raises RedactionError, ClusterError."""
        compared = _comparison(call, before, after, self._user, masked=self._masks(call))
        compared = msgspec.structs.replace(compared, scale=len(scale))
        order = msgspec.json.encode(inspection.Order(comparison=compared))
        about = masking.Body(secrets=_is_secret(call), program=msgspec.Raw(order))
        documents = iter((before, after, scale, call.body or b""))

        def read(answer: bytes) -> inspection.Changes:
            return hostile_changes.read(answer, has_before=bool(before), has_after=bool(after))

        return self.ask(
            about,
            documents,
            read,
            most=inspection.MAX_CHANGES,
            found=found,
            check=call.check_waiting,
            script=call.script,
        )

    def log_line(self, line: str) -> str:
        """Returns a log line, masked. Raises LimitExceeded, RedactionError; the line is then not logged."""
        patience = cancellation.Patience(_LOG_LINE_S)
        return self.text(line, lambda _: None, patience)

    def _masks(self, call: request.Request) -> bool:
        """Says whether values are masked; always so where only a part of an object may pass."""
        return self.enabled or bool(call.metadata_rule)

    def _mask(self, call: request.Request, chunks: Iterator[bytes], report: Report, *, echo: bool) -> engine.Masked:
        # A masker reads the body even when masking is off: it checks that the body is complete, and leaves out all but
        # metadata where only that may pass.
        about = describe(call, echo=echo)
        about = replace(about, masked=self._masks(call))
        try:
            return (yield from self.mask_body(about, chunks, report, call.check_waiting, call.script))
        except BodyBrokenError as broken:
            message, remedy = _BROKEN[broken.reason]
            raise errors.ClusterError(message, code="cluster.broken", remedy=remedy) from None


def has_placeholder(body: bytes) -> bool:
    """Says whether a script's write contains a placeholder, plain, escaped or in base64, in place of the value."""
    if masking.OPENING in body or _ESCAPED in body.lower():
        return True
    # The data of a Secret is in base64.
    return any(piece in body for piece in _IN_BASE64)


def describe(call: request.Request, *, echo: bool) -> masking.Body:
    """Returns a masker's description of the body that answers this call."""
    return masking.Body(
        form=call.form,
        live=call.is_live,
        secrets=_is_secret(call),
        named=call.named,
        gzip=call.gzip,
        echo=echo,
        program=_order(call),
    )


def _comparison(
    call: request.Request, before: bytes, after: bytes, user: inspection.UserInfo | None, *, masked: bool
) -> inspection.Comparison:
    """Returns a masker's description of the comparison of an object before and after this call."""
    return inspection.Comparison(
        before=len(before),
        after=len(after),
        verb="delete" if call.subresource == "eviction" else call.verb,
        group=call.group,
        version=call.version,
        resource=call.resource,
        subresource=call.subresource,
        namespace=call.namespace,
        name=call.name,
        apply=call.content_type.startswith("application/apply-patch"),
        manager=dict(call.query).get("fieldManager", ""),
        masked=masked,
        user=user,
    )


def _order(call: request.Request) -> msgspec.Raw:
    """Returns the question to the masking process about the body that answers this call."""
    if not (call.metadata_rule or call.release or call.namespaces):
        return masking.NOTHING
    metadata = None
    if call.metadata_rule:
        api_version = kinds.api_version(call.group, call.version)
        metadata = inspection.Metadata(call.kind, api_version, call.serves_keys)
    order = inspection.Order(metadata=metadata, namespaces=call.namespaces, release=call.release)
    return msgspec.Raw(msgspec.json.encode(order))


def _is_secret(call: request.Request) -> bool:
    return call.is_resource and call.resource == "secrets" and not call.group


def _settings(
    settings: config.Redaction, key: bytes, expressions: tuple[inspection.Expression, ...]
) -> masking.Settings:
    inspector = inspection.Settings(expressions)
    return masking.Settings(
        key=key,
        disable=settings.disable,
        rules=msgspec.convert(settings.rules, tuple[masking.Rule, ...], from_attributes=True),
        allow=settings.allow,
        allow_names=settings.allow_names,
        directory=_cache_directory(),
        program=msgspec.Raw(msgspec.json.encode(inspector)),
    )


def _cache_directory() -> str:
    """Returns the directory for compiled rules: the user's cache under the XDG base directories; empty if there is
    none."""
    cache = Path(os.environ.get("HOME", ""), ".cache")
    chosen = os.environ.get("XDG_CACHE_HOME")
    if chosen:
        cache = Path(chosen)
    # The XDG specification has programs ignore relative paths.
    if not cache.is_absolute():
        return ""
    return str(cache / "kubescript" / "scanner")


def is_first_use() -> bool:
    """Says whether this machine has no saved compiled rules, so that the first masker takes seconds to start."""
    folder = _cache_directory()
    return not folder or not any(Path(folder).glob("*.hsdb"))


def _check_settings(settings: masking.Settings) -> None:
    """Raises ConfigError for settings that are wrong."""
    try:
        mistake = engine.find_mistake(programs.MASKER, settings)
    except errors.RedactionError as error:
        raise errors.ConfigError(error.message) from None
    if mistake:
        raise errors.ConfigError(mistake)
