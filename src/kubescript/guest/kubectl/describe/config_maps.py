"""ConfigMaps, Secrets and ServiceAccounts."""

from __future__ import annotations

import re
from typing import Any, Final

from kubescript.guest.kubectl.describe import texts
from kubescript.guest.kubectl.describe.subject import Subject
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.sdk.values import masks
from kubescript.wire import messages

__all__ = ["config_map", "metadata", "secret", "service_account"]

# A value with more characters is cut, with a note that kubectl_get_yaml has all of it.
MAX_VALUE: Final = 2_000
# A mask ends with the size of the value that it stands for, such as `:12B»`.
_MASKED_SIZE: Final = re.compile(r":(\d{1,9})B»\Z")


def metadata(about: Subject, out: Writer) -> None:
    """Writes name, namespace, labels and annotations."""
    own = about.metadata
    out.field("Name", own.get("name"))
    # A cluster-wide object has no namespace.
    out.optional_field("Namespace", own.get("namespace"))
    out.labels_and_annotations(own)


def config_map(about: Subject, out: Writer) -> None:
    """Writes a ConfigMap, with long values cut."""
    metadata(about, out)
    out.verbatim("\nData\n====")
    for key, value in _items(about, "data"):
        out.verbatim(f"{key}:\n----\n{value[:MAX_VALUE]}")
        if len(value) > MAX_VALUE:
            note = messages.text("describe_cut", shown=MAX_VALUE, count=len(value))
            out.verbatim(note)
        out.verbatim("")
    out.verbatim("\nBinaryData\n====")
    for key, value in _items(about, "binaryData"):
        out.verbatim(f"{key}: {_size(value)} bytes")
    out.verbatim("")


def secret(about: Subject, out: Writer) -> None:
    """Writes a Secret's keys and the lengths of its values, as far as the operator allows."""
    metadata(about, out)
    out.verbatim("")
    out.field("Type", about.object.get("type"))
    out.verbatim("\nData\n====")
    for key, value in _items(about, "data"):
        # A mask that tells no size stands for a value of which only the key is served.
        has_size = masks.MASK not in value or _MASKED_SIZE.search(value)
        out.field(key, f"{_size(value)} bytes" if has_size else value)


def _items(about: Subject, field: str) -> list[tuple[str, Any]]:
    """Returns the keys and values of a map, sorted."""
    found = about.object.get(field) or {}
    return sorted(found.items())


def _size(encoded: str) -> int:
    """Returns how many bytes a base64 string encodes; for a masked value, the figure in the mask."""
    masked = _MASKED_SIZE.search(encoded)
    if masked:
        return int(masked[1])
    # Base64 encodes three bytes as four characters.
    return len(encoded.rstrip("=")) * 3 // 4


def service_account(about: Subject, out: Writer) -> None:
    """Writes a ServiceAccount."""
    metadata(about, out)
    references = about.object.get("imagePullSecrets") or ()
    names = [texts.text(each.get("name")) for each in references]
    out.several("Image pull secrets", names)
