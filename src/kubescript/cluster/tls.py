"""The TLS context of a kubeconfig's cluster. `credentials` calls it with the official client's configuration."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubescript import errors

__all__ = ["authority", "make_context", "make_web_context"]


def make_context(configuration: Any) -> ssl.SSLContext:
    """Returns the TLS context of the kubeconfig: with its CA, or the system's CAs if it names none."""
    # Only the kubeconfig counts: REQUESTS_CA_BUNDLE is never used.
    if configuration.verify_ssl and not configuration.ssl_ca_cert and not configuration.cert_file:
        return _context_of_system(_version_of_system())
    context = _new_context()
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif configuration.ssl_ca_cert:
        with _blame("certificate-authority(-data)"):
            context.load_verify_locations(configuration.ssl_ca_cert)
    else:
        context.load_default_certs()
    if configuration.cert_file:
        with _blame("client-certificate(-data) and client-key(-data)"):
            context.load_cert_chain(configuration.cert_file, configuration.key_file, _refuse_pass_phrase)
    return context


def make_web_context(ca_file: Path | None, cert_file: Path | None, key_file: Path | None) -> ssl.SSLContext:
    """Returns the TLS context of a source: with its CA, or the system's CAs. Raises ClusterError."""
    context = _new_context()
    if ca_file is not None:
        with _blame("`ca_file`", "the source", ca_file):
            context.load_verify_locations(ca_file)
    else:
        context.load_default_certs()
    if cert_file is not None:
        with _blame("`cert_file` and `key_file`", "the source", cert_file, key_file):
            context.load_cert_chain(cert_file, key_file, _refuse_pass_phrase)
    return context


def _new_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


@functools.lru_cache(maxsize=1)
def _context_of_system(_version: int) -> ssl.SSLContext:
    """Returns a TLS context with the system's CAs and no credentials, shared by all callers."""
    # 150 CAs take 0.8 MiB, and more time to load than everything else that a caller needs.
    context = _new_context()
    context.load_default_certs()
    return context


def _version_of_system() -> int:
    """Returns a number that changes with the system's CAs."""
    file = ssl.get_default_verify_paths().cafile
    return Path(file).stat().st_mtime_ns if file is not None else 0


def authority(configuration: Any, context: ssl.SSLContext) -> str:
    """Returns the value of `ApiServer.authority`."""
    if not configuration.verify_ssl or not configuration.ssl_ca_cert:
        return ""
    certificates = sorted(context.get_ca_certs(binary_form=True))
    return hashlib.sha256(b"".join(certificates)).hexdigest()


def _refuse_pass_phrase() -> str:
    # Attack: a found cluster has an encrypted key. By default, OpenSSL asks at the operator's terminal, or takes a line
    # of the standard input, which is an MCP client's message.
    raise ValueError


@contextlib.contextmanager
def _blame(what: str, whose: str = "the kubeconfig", *files: Path | None) -> Iterator[None]:
    """Raises ClusterError, which names the entry at fault and, to the operator, its files, without quoting their
    content."""
    try:
        yield
    except (OSError, ValueError):
        which = " and ".join(map(str, files)) or "it"
        raise errors.ClusterError(
            f"{what} of {whose} cannot be used",
            code="cluster.config",
            remedy=f"{which} must be readable PEM without a pass phrase, and the key must match the certificate",
        ) from None
