"""What `kubescript doctor` says about the certificates of the http transport: whether they serve, for which names, and
until when."""

from __future__ import annotations

import datetime
import ipaddress
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.x509 import oid

from kubescript import config
from kubescript.cli import findings
from kubescript.config import named_files
from kubescript.transports import tls

__all__ = ["examine"]

_SOON: Final = datetime.timedelta(days=14)
"""certbot and cert-manager renew certificates of 90 days a month before their end; this leaves them two weeks."""

_OPENSSL_LABEL: Final = b"-----BEGIN TRUSTED CERTIFICATE-----"
"""Begins a certificate as `openssl x509 -trustout` writes it."""

_PARSING_ERRORS: Final = (
    ValueError,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)


def examine(settings: config.Settings) -> Iterator[findings.Finding]:
    """Yields the findings about the certificate, its key, and the CAs of callers. Raises ConfigError for files with
    which the server does not start."""
    own = settings.tls
    assert own.cert_file is not None
    tls.Certificates(own)
    host = urllib.parse.urlsplit(settings.http.url or "").hostname
    yield from _unless_unreadable(own.cert_file, _examine_served(own.cert_file, host))
    if own.client_ca_file is not None:
        yield from _unless_unreadable(own.client_ca_file, _examine_authorities(own.client_ca_file))


def _unless_unreadable(path: Path, found: Iterator[findings.Finding]) -> Iterator[findings.Finding]:
    """Yields the findings about a file, up to a part of it that OpenSSL takes and this parser does not."""
    try:
        yield from found
    except _PARSING_ERRORS:
        yield findings.Finding(
            "WARNING", "tls", f"the server loads {path}, but not all of its names and dates can be read here"
        )


def _examine_served(path: Path, host: str | None) -> Iterator[findings.Finding]:
    """Yields the findings about the server's certificate, which is the first in the file, and about its chain."""
    chain = _read(path, "tls.cert_file")
    for each in chain:
        yield from _check_dates(each, path)
    served = chain[0]
    names = _list_names(served)
    shown = ", ".join(names) or "no name"
    yield findings.Finding("ok", "tls", f"{path} fits its key, and is for {shown}")
    if host and not _is_for(host, names):
        yield findings.Finding("FAILED", "tls", f"{path} is not for {host}, the host of http.url, so clients refuse it")
    if not _is_for_servers(served):
        yield findings.Finding(
            "FAILED",
            "tls",
            f"{path} is not for servers (its extended key usage lacks serverAuth), so clients refuse it",
        )


def _examine_authorities(path: Path) -> Iterator[findings.Finding]:
    for authority in _read(path, "tls.client_ca_file"):
        yield from _check_dates(authority, path)


def _read(path: Path, setting: str) -> list[x509.Certificate]:
    """Returns the certificates in a file. Raises ValueError if there is one that the parser does not know."""
    content = named_files.read(path, setting)
    if _OPENSSL_LABEL in content:  # the parser passes over it, and the next certificate would look like the first
        raise ValueError
    return x509.load_pem_x509_certificates(content)


def _check_dates(certificate: x509.Certificate, path: Path) -> Iterator[findings.Finding]:
    now = datetime.datetime.now(datetime.UTC)
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if ends <= now:
        yield findings.Finding("FAILED", "tls", f"{path} has a certificate that expired on {ends:%Y-%m-%d}")
    elif begins > now:
        yield findings.Finding(
            "FAILED", "tls", f"{path} has a certificate that is valid from {begins:%Y-%m-%d %H:%M} UTC on"
        )
    elif ends - now < _SOON:
        yield findings.Finding("WARNING", "tls", f"{path} has a certificate that expires on {ends:%Y-%m-%d}: renew it")


def _list_names(certificate: x509.Certificate) -> tuple[str, ...]:
    """Returns the DNS names and addresses for which a certificate is."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    names = found.get_values_for_type(x509.DNSName)
    addresses = found.get_values_for_type(x509.IPAddress)
    return (*names, *map(str, addresses))


def _is_for_servers(certificate: x509.Certificate) -> bool:
    """Says whether a client takes the certificate for that of a server: it names no usage, or this one."""
    try:
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return oid.ExtendedKeyUsageOID.SERVER_AUTH in usage


def _is_for(host: str, names: Sequence[str]) -> bool:
    """Says whether a client that looks for a host accepts one of the names (RFC 9525): `*` stands for the first
    label, before two others or more."""
    try:
        address = str(ipaddress.ip_address(host))
    except ValueError:
        _, _, parent = host.partition(".")
        accepted = {host.lower()}
        if "." in parent:
            accepted.add(f"*.{parent}".lower())
        return any(name.lower() in accepted for name in names)
    return address in names
