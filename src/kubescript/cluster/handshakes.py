"""The meaning of a failed handshake with an API server, and its remedy. Called by `http`."""

from __future__ import annotations

import re
from typing import Final

from kubescript import errors

__all__ = ["explain", "explain_plain_text"]

_REMEDIES: Final = (
    ("expired", "renew the API server's certificate, or set this machine's clock"),
    ("not yet valid", "set this machine's clock, or the API server's"),
    (
        "(Hostname|IP address) mismatch|is not valid for",
        "use a name of the certificate in `server`, or set tls-server-name in the kubeconfig",
    ),
    (
        "self.signed|unable to get|CA cert|authority|unknown ca",
        "set certificate-authority(-data) in the kubeconfig to the CA of this API server",
    ),
    ("(?i)alert.*cert|certificate.required|bad certificate", "check client-certificate(-data) in the kubeconfig"),
)
"""OpenSSL's message about a certificate → remedy. The first match counts."""
_ANY_REMEDY: Final = "check certificate-authority(-data), tls-server-name and the client certificate in the kubeconfig"
_NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"})
"""OpenSSL's reasons when the first bytes are not TLS."""


def explain(error: Exception, peer: str) -> errors.ClusterError:
    """Returns the error of a failed handshake, with OpenSSL's reason."""
    reason = _find_text(error, "reason")
    if reason in _NO_TLS:
        return _no_tls(peer)
    why = (_find_text(error, "verify_message") or reason or "handshake failed")[:200]
    return errors.ClusterError(f"no TLS connection to {peer}: {why}", code="cluster.tls", remedy=_remedy(why))


def explain_plain_text(peer: str) -> errors.ClusterError:
    """Returns the error for a server that answers an unencrypted request with 400 and no length, as Go's TLS servers
    do."""
    return errors.ClusterError(
        f"{peer} refuses a request without TLS (400): it most likely speaks https",
        code="cluster.tls",
        remedy="write https:// instead of http:// in `server` of the kubeconfig",
    )


def _no_tls(peer: str) -> errors.ClusterError:
    return errors.ClusterError(
        f"{peer} does not speak TLS: it may be a plain http port, such as that of `kubectl proxy`",
        code="cluster.tls",
        remedy="check the port in `server` of the kubeconfig; write http:// instead of https:// if http is meant",
    )


def _find_text(error: Exception, name: str) -> str:
    """Returns the string attribute with this name in OpenSSL's error."""
    # urllib3 wraps OpenSSL's error several times.
    cause: object = error
    while isinstance(cause, Exception):
        text = getattr(cause, name, None)
        if isinstance(text, str):
            return text
        cause = cause.args[0] if cause.args else None
    return ""


def _remedy(why: str) -> str:
    for pattern, remedy in _REMEDIES:
        if re.search(pattern, why):
            return remedy
    return _ANY_REMEDY
