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

from kubescript import config
from kubescript.cli import findings
from kubescript.config import named_files
from kubescript.transports import tls

__all__ = ["examine"]

_SOON: Final = datetime.timedelta(days=14)
"""certbot and cert-manager renew certificates of 90 days a month before their end; this leaves them two weeks."""


def examine(settings: config.Settings) -> Iterator[findings.Finding]:
    """Yields the findings about the certificate, its key, and the CAs of callers. Raises ConfigError for files with
    which the server does not start."""
    own = settings.tls
    assert own.cert_file is not None
    tls.Certificates(own)
    served, *_ = _read(own.cert_file, "tls.cert_file")
    names = _list_names(served)
    shown = ", ".join(names) or "no name"
    yield findings.Finding("ok", "tls", f"{own.cert_file} fits its key, and is for {shown}")
    yield from _check_dates(served, own.cert_file)
    host = urllib.parse.urlsplit(settings.http.url or "").hostname
    if host and not _is_for(host, names):
        yield findings.Finding(
            "FAILED", "tls", f"{own.cert_file} is not for {host}, the host of http.url, so clients refuse it"
        )
    if own.client_ca_file is not None:
        for authority in _read(own.client_ca_file, "tls.client_ca_file"):
            yield from _check_dates(authority, own.client_ca_file)


def _read(path: Path, setting: str) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(named_files.read(path, setting))


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


def _is_for(host: str, names: Sequence[str]) -> bool:
    """Says whether a client that looks for a host accepts one of the names (RFC 9525): `*` stands for the first
    label."""
    try:
        address = str(ipaddress.ip_address(host))
    except ValueError:
        _, _, parent = host.partition(".")
        accepted = {host.lower(), f"*.{parent}".lower()}
        return any(name.lower() in accepted for name in names)
    return address in names
