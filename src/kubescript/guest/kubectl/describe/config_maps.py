"""ConfigMaps, Secrets and ServiceAccounts."""

from __future__ import annotations

import re
from typing import Final

from kubescript.guest.kubectl.describe import subject, text_writer, texts
from kubescript.wire import messages

__all__ = ["config_map", "metadata", "secret", "service_account"]

MAX_VALUE: Final = 2_000
"""How many characters of a ConfigMap's value are shown."""
_MASKED_SIZE: Final = re.compile(r":(\d{1,9})B»\Z")


def metadata(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes name, namespace, labels and annotations."""
    own = about.object.get("metadata") or {}
    out.field("Name", own.get("name"))
    out.optional_field("Namespace", own.get("namespace"))
    out.labels("Labels", own.get("labels"))
    out.annotations("Annotations", own.get("annotations"))


def config_map(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a ConfigMap, with long values cut."""
    metadata(about, out)
    out.verbatim("\nData\n====")
    for key, value in sorted((about.object.get("data") or {}).items()):
        out.verbatim(f"{key}:\n----\n{value[:MAX_VALUE]}")
        if len(value) > MAX_VALUE:
            out.verbatim(messages.text("describe_cut", shown=MAX_VALUE, count=len(value)))
        out.verbatim("")
    out.verbatim("\nBinaryData\n====")
    for key, value in sorted((about.object.get("binaryData") or {}).items()):
        out.verbatim(f"{key}: {_size(value)} bytes")
    out.verbatim("")


def secret(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a Secret's keys and the lengths of its values, if the operator allows Secrets."""
    metadata(about, out)
    out.verbatim("")
    out.field("Type", about.object.get("type"))
    out.verbatim("\nData\n====")
    for key, value in sorted((about.object.get("data") or {}).items()):
        out.field(key, f"{_size(value)} bytes")


def _size(encoded: str) -> int:
    """Returns how many bytes a base64 text encodes; for a masked one, the figure in the mask."""
    masked = _MASKED_SIZE.search(encoded)
    return int(masked[1]) if masked else len(encoded.rstrip("=")) * 3 // 4


def service_account(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a ServiceAccount."""
    metadata(about, out)
    pull = [texts.text(each.get("name")) for each in about.object.get("imagePullSecrets") or ()]
    out.several("Image pull secrets", pull)
