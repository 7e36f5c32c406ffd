"""Issues the certificates of one control plane, by a certificate authority that exists for one run and trusts no other.

`server.py` creates an `Authority`, has it issue the serving certificate, and later one client certificate per user.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

LIFE = datetime.timedelta(days=30)
# The clock may be set back a little while a test runs.
BACKDATE = datetime.timedelta(minutes=5)


@dataclass(frozen=True)
class Identity:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> None:
        """Writes `name.crt` and `name.key`, readable only by the owner."""
        write_private(folder / f"{name}.crt", self.certificate)
        write_private(folder / f"{name}.key", self.key)


class Authority:
    """Signs certificates with a key that exists only in this process, or in the process that `key` comes from."""

    def __init__(self, key: ec.EllipticCurvePrivateKey | None = None) -> None:
        self._key = key or ec.generate_private_key(ec.SECP256R1())
        self._name = _name("kubescript test authority")
        public = self._key.public_key()
        builder = _builder(self._name, self._name, public)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        # Python 3.13 and later verify strictly: an authority's certificate must allow signing.
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        self.certificate = _pem(builder.sign(self._key, hashes.SHA256()))

    def private_key(self) -> bytes:
        """Returns the key as PEM, for an authority in another process that signs on behalf of this one."""
        return private_pem(self._key)

    def serving(self, names: list[str], addresses: list[str]) -> Identity:
        """Returns the certificate that the API server presents to its clients."""
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        for address in addresses:
            parsed = ipaddress.ip_address(address)
            alternatives.append(x509.IPAddress(parsed))
        subject = _name(names[0])
        return self._issue(subject, ExtendedKeyUsageOID.SERVER_AUTH, x509.SubjectAlternativeName(alternatives))

    def client(self, user: str, groups: tuple[str, ...] = ()) -> Identity:
        """Returns the certificate that a user presents to the API server, which reads user and groups from the
        subject."""
        subject = _name(user, groups)
        return self._issue(subject, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _issue(self, subject: x509.Name, purpose: ObjectIdentifier, *extensions: x509.ExtensionType) -> Identity:
        """Returns a new certificate with its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, self._name, key.public_key())
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        for extension in (x509.ExtendedKeyUsage([purpose]), issuer_key, *extensions):
            builder = builder.add_extension(extension, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Identity(_pem(certificate), private_pem(key))


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Returns the key as PEM without a password, the only form that the API server reads."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def write_private(path: Path, content: bytes) -> None:
    """Writes a file that is never readable by others, not even briefly."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _name(user: str, groups: tuple[str, ...] = ()) -> x509.Name:
    """Returns the subject by which the API server knows a user."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, user))
    return x509.Name(attributes)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    """Returns what all certificates have in common."""
    builder = x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key)
    builder = builder.serial_number(x509.random_serial_number())
    now = datetime.datetime.now(datetime.UTC)
    builder = builder.not_valid_before(now - BACKDATE)
    return builder.not_valid_after(now + LIFE)


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    """Returns a certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)
