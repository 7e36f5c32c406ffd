"""TLS of the http transport, with files that may change: certificates are renewed every few weeks."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

import anyio

from kubescript import config, errors
from kubescript.config import named_files

__all__ = ["Certificates"]

log = logging.getLogger(__name__)

_LOOK_S: Final = 5.0
"""Seconds between checks of the files."""


class Certificates:
    """The server's certificate and the CAs of its callers."""

    def __init__(self, settings: config.Tls) -> None:
        """Raises ConfigError for unusable files."""
        self._settings = settings
        self._version = self._read_version()
        self._authorities: bytes | None = self._read_authorities()
        self.context = self._make_context()
        """The context of new connections; replaced when the files change."""
        self.generation = 0
        """How often the CAs of callers have changed. Certificates are valid only on connections of the current
        generation."""

    async def watch(self, on_authorities: Callable[[], None]) -> None:
        """Reads the files again whenever they change; calls `on_authorities` when the CAs of callers have changed."""
        while True:
            await anyio.sleep(_LOOK_S)
            version = self._read_version()
            if version == self._version:
                continue
            self._version = version
            authorities = self._find_authorities()
            try:
                # A new context, because CAs cannot be removed from the old one.
                self.context = self._make_context()
                log.info("the TLS files were read again", extra={"event": "tls.reloaded"})
            except errors.ConfigError as error:
                log.warning("%s; the one of before is served", error.message, extra={"event": "tls.failed"})
                if authorities != self._authorities:
                    # Attack: a client uses a CA that was removed while a new pair of certificate and key is incomplete.
                    self.context.verify_mode = ssl.CERT_NONE
            if authorities != self._authorities:
                self._authorities = authorities
                self.generation += 1
                on_authorities()

    def _make_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        self._load(context)
        if self._settings.client_ca_file is not None:
            context.verify_mode = ssl.CERT_OPTIONAL  # a caller without one may have a token
            self._load_authorities(context, self._settings.client_ca_file)
        return context

    def _load(self, context: ssl.SSLContext) -> None:
        certificate = self._settings.cert_file
        key = self._settings.key_file
        assert certificate is not None
        assert key is not None
        # First, since the error of `ssl` does not say which of the two it could not read.
        named_files.read(certificate, "tls.cert_file")
        named_files.read(key, "tls.key_file")
        try:
            context.load_cert_chain(certificate, key)
        except (OSError, ValueError):
            raise errors.ConfigError(
                f"tls: the certificate {certificate} and the key {key} cannot be used together",
                remedy="both must be PEM, the key without a password and that of the first certificate",
            ) from None

    def _read_authorities(self) -> bytes:
        """Returns the content of the file of callers' CAs. Raises ConfigError."""
        file = self._settings.client_ca_file
        if file is None:
            return b""
        return named_files.read(file, "tls.client_ca_file")

    def _find_authorities(self) -> bytes | None:
        """Returns that content, or None if the file cannot be read, and so vouches for no caller."""
        try:
            return self._read_authorities()
        except errors.ConfigError:
            return None

    def _load_authorities(self, context: ssl.SSLContext, file: Path) -> None:
        try:
            context.load_verify_locations(file)
        except (OSError, ValueError):
            raise errors.ConfigError(f"tls.client_ca_file: {file} has no certificate in PEM") from None

    def _read_version(self) -> tuple[int, ...]:
        """Returns a value that changes when a file changes."""
        found: list[int] = []
        own = self._settings
        for file in (own.cert_file, own.key_file, own.client_ca_file):
            try:
                state = file.stat() if file is not None else None
            except OSError:
                state = None
            if state is None:
                found.append(0)
            else:
                found += [state.st_ino, state.st_mtime_ns, state.st_size]
        return tuple(found)
