"""The redactor of one server: bodies on their way to a script, and every text on its way out.

What masks runs in processes of its own (`pool`), which hold no credential and can be killed; here are the key, the
settings and the deadline.
"""

from __future__ import annotations

import copy
import functools
import http
import logging
import os
import secrets
import subprocess
import time
import weakref
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from kubescript import config, errors, programs
from kubescript.kube import kinds
from kubescript.redaction import changes, pool
from kubescript.redaction.conversation import Check, Found, Report, SourceBrokenError
from kubescript.request import request
from kubescript.wire import masking
from kubescript_sandbox.host import cancellation, spawner
from kubescript_sandbox.wire import protocol

__all__ = ["WITHHELD", "Engine", "carried", "described"]

log = logging.getLogger(__name__)

Masked = Generator[bytes, None, masking.Trailer | None]
WITHHELD: Final = "(withheld: it could not be masked in time)"
"""What stands in the place of a text that could not be masked."""
_HARMLESS: Final = frozenset(
    {"", "application/json", "application/json;stream=watch", "text/plain", "text/plain; charset=utf-8"}
    | {status.phrase for status in http.HTTPStatus}
)
"""Texts with which nearly every answer of an API server begins; they hold nothing, and need not go to a masker."""
_TEXT_S: Final = 10.0
_CHECK_S: Final = 60.0
_ESCAPED: Final = b"\\u00abredacted:"
_IN_BASE64: Final = masking.alignments(masking.OPENING)


class Engine:
    """Masks secrets. Used from many threads at once; its key lives and dies with it."""

    def __init__(
        self,
        settings: config.Redaction,
        key: bytes | None = None,
        *,
        expressions: tuple[masking.Expression, ...] = (),
        scripts: int = 8,
        strict: bool = False,
        source: spawner.Spawner | None = None,
    ) -> None:
        """`expressions` are the operator's rules about changes; `scripts` run at the same time at most; `source` is the
        maskers' spawner when it has been started already. Raises ConfigError for a wrong setting. Starts nothing
        otherwise: `prepare`, or the first use, does."""
        self.enabled: Final = settings.enabled
        """Whether anything is masked at all."""
        told = _settings(settings, key if key is not None else secrets.token_bytes(32), expressions)
        if expressions or settings != config.Redaction(enabled=settings.enabled):
            _check_settings(told)
        source = source if source is not None else spawner.Spawner(programs.MASKER)
        self._pool = pool.Pool(told, source, scripts=scripts, strict=strict)
        self._ready = False
        self._owner = ""
        self._user: masking.UserInfo | None = None
        # An engine that nobody closes, as in a test, must not leave its processes behind.
        weakref.finalize(self, self._pool.close)

    def of(self, owner: str, user: masking.UserInfo) -> Engine:
        """Returns this engine for one of several callers: with masks and maskers that no other one has."""
        own = copy.copy(self)
        own._owner, own._user = owner, user
        return own

    def prepare(self) -> tuple[protocol.Layer, ...]:
        """Wait until a masker is ready, instead of at the first answer; returns the layers of its lockdown. Raises
        RedactionError."""
        layers = self._pool.prepare()
        self._ready = True
        return layers

    def start(self) -> None:
        """Start the maskers and do not wait for them. Raises RedactionError."""
        self._pool.start()

    def close(self) -> None:
        """End the processes. Nothing can be masked any more."""
        self._pool.close()

    def body(self, call: request.Request, chunks: Iterator[bytes], report: Report) -> Masked:
        """A body as the script may see it, and its trailer; the broker's hook."""
        return self._masked(call, chunks, report, echo=False)

    def echo(self, call: request.Request, chunks: Iterator[bytes], report: Report) -> Masked:
        """A body that may repeat what the script has sent: an error, the answer to a write or a question."""
        return self._masked(call, chunks, report, echo=True)

    def _masks(self, call: request.Request) -> bool:
        """Whether values are masked: where only metadata may pass, whatever the operator has decided."""
        return self.enabled or bool(call.metadata_rule)

    def changes(self, call: request.Request, before: bytes, after: bytes, found: Found) -> masking.Changes:
        """Says what a write changes, by the object before it and as its dry run left it; each is empty where there is
        none. What is shown of values is masked as the operator has decided. Raises RedactionError, ClusterError."""
        compared = _comparison(call, before, after, self._user, masked=self._masks(call))
        about = masking.Body(secrets=_is_secret(call), comparison=compared, owner=self._owner)
        documents = iter((before, after, call.body or b""))
        check = functools.partial(_check, call)
        with self._pool.lent(check, call.script, self._owner) as masker:
            answer = b"".join(masker.body(about, documents, _Found(found), check))
            return changes.read(answer, has_before=bool(before), has_after=bool(after))

    def text(self, text: str, found: Found, check: Check | None = None) -> str:
        """Any text that leaves the server: a result, prints, an error, a log line. Raises what `check` raises, which is
        asked again and again; without it, LimitExceeded after ten seconds. Raises RedactionError."""
        if not self.enabled or text in _HARMLESS:
            return text
        if not self._ready:
            self.prepare()  # before anybody's patience begins
        check = check or cancellation.Patience(_TEXT_S)
        with self._pool.lent(check, owner=self._owner) as masker:
            return masker.text(text, found, check)

    def text_or_withheld(self, text: str, found: Found, check: Check | None = None) -> str:
        """As `text`, for the audit record and for spans: what cannot be masked, or not in ten seconds, is withheld."""
        try:
            return self.text(text, found, check)
        except (errors.LimitExceeded, errors.RedactionError):
            return WITHHELD
        except Exception:  # a record must be written whatever text is in it
            log.exception("a text could not be masked", extra={"event": "redaction.bug"})
            return WITHHELD

    def _masked(self, call: request.Request, chunks: Iterator[bytes], report: Report, *, echo: bool) -> Masked:
        # A masker reads the body whatever the operator has decided about masks: it says whether the body is whole, and
        # leaves out all but metadata where only that may pass.
        about = replace(described(call, echo=echo), owner=self._owner, masked=self._masks(call))
        check = functools.partial(_check, call)
        try:
            with self._pool.lent(check, call.script, self._owner) as masker:
                return (yield from masker.body(about, chunks, report, check))
        except SourceBrokenError as broken:
            raise broken.cause from None


class _Found:
    """Reports what is found, and nothing else."""

    def __init__(self, found: Found) -> None:
        self.found = found

    def read(self, size: int) -> None:
        """Counts nothing: the documents are the host's own copies."""

    def event_error(self, status: int) -> None:
        """There are no events."""


def carried(body: bytes) -> bool:
    """Whether what a script wants to write holds a placeholder, as such, escaped or in base64: it is not the value."""
    return masking.OPENING in body or _ESCAPED in body.lower() or any(piece in body for piece in _IN_BASE64)


def described(call: request.Request, *, echo: bool) -> masking.Body:
    """What a masker has to know of the body that answers this call."""
    return masking.Body(
        form=call.form,
        live=call.is_live,
        secrets=_is_secret(call),
        gzip=call.gzip,
        echo=echo,
        metadata=_metadata(call) if call.metadata_rule else None,
        release=call.release,
    )


def _comparison(
    call: request.Request, before: bytes, after: bytes, user: masking.UserInfo | None, *, masked: bool
) -> masking.Comparison:
    """What a masker has to know to compare an object before and after this call."""
    return masking.Comparison(
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
        masked=masked,
        user=user,
    )


def _is_secret(call: request.Request) -> bool:
    return call.is_resource and call.resource == "secrets" and not call.group


def _metadata(call: request.Request) -> masking.Metadata:
    return masking.Metadata(call.kind, kinds.api_version(call.group, call.version))


def _check(call: request.Request) -> None:
    """Raises ClusterError when nobody waits for the answer any more."""
    if call.cancelled():
        raise errors.ClusterError("the call was cancelled while its answer was masked", code="cluster.cancelled")
    if time.monotonic() > call.deadline:
        raise errors.ClusterError(
            "the answer could not be masked within the script's time; ask for less of it", code="cluster.timeout"
        )


def _settings(settings: config.Redaction, key: bytes, expressions: tuple[masking.Expression, ...]) -> bytes:
    told = masking.Settings(
        key=key,
        disable=settings.disable,
        rules=msgspec.convert(settings.rules, tuple[masking.Rule, ...], from_attributes=True),
        allow=settings.allow,
        allow_names=settings.allow_names,
        directory=_cache_directory(),
        expressions=expressions,
    )
    return msgspec.json.encode(told)


def _cache_directory() -> str:
    """Where compiled rules are saved: the user's own cache, as the XDG base directories name it; empty without one."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path(os.environ.get("HOME", ""), ".cache"))
    return str(home / "kubescript" / "scanner") if home.is_absolute() else ""


def is_first_use() -> bool:
    """Whether no compiled rules are saved on this machine, so that the first masker takes seconds to start."""
    folder = _cache_directory()
    return not folder or not any(Path(folder).glob("*.hsdb"))


def _check_settings(told: bytes) -> None:
    """Asks the masker's own code, in a process of its own, what is wrong with the settings. Raises ConfigError."""
    try:
        done = subprocess.run(  # noqa: S603 - the command is ours
            [*programs.MASKER, "check"], input=told, capture_output=True, env={}, cwd="/", timeout=_CHECK_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise errors.ConfigError(f"the rules could not be checked: {type(error).__name__}") from None
    if done.stdout:
        raise errors.ConfigError(done.stdout.decode("utf-8", "replace"))
