"""Bodies made to hurt whoever searches them: floods of half a secret, bombs, depth, broken encodings."""

from __future__ import annotations

import base64
import functools
import gzip
import json
from collections.abc import Iterator
from typing import Final

from security_tests.redaction.datafiles import forms
from security_tests.redaction.sheet import Document

__all__ = ["FLOODS", "benign", "bomb", "deep", "flood", "in_configmap", "log"]

FLOODS: Final[dict[str, str]] = forms("floods")


def flood(name: str, size: int) -> str:
    """That text again and again."""
    text = FLOODS[name]
    return (text * (size // len(text) + 1))[:size]


def benign(size: int) -> str:
    """A log as applications write it, as a measure."""
    line = 'time=2026-03-04T05:06:07Z level=info msg="request served" path=/api/v1/orders/{} status=200 took=12ms\n'
    lines: Iterator[str] = (line.format(number) for number in range(size // 90))
    return "".join(lines)


def log(text: str | bytes) -> Document:
    """As the log of a container."""
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return Document(
        "hostile log",
        ("api", "v1", "namespaces", "shop", "pods", "web-0", "log"),
        body,
        (),
        (),
        accept="text",
        form="text",
    )


def in_configmap(text: str) -> Document:
    """As the value of a ConfigMap."""
    body = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "x", "namespace": "shop"},
        "data": {"text": text},
    }
    return Document(
        "hostile configmap", ("api", "v1", "namespaces", "shop", "configmaps", "x"), json.dumps(body).encode(), (), ()
    )


@functools.cache
def bomb(size: int, layers: int = 1) -> str:
    """So many zeros, compressed, in base64; the same again around it."""
    data = bytes(size) if layers == 1 else bomb(size, layers - 1).encode()
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()


def deep(levels: int, inside: str, open_: str = "[", close: str = "]") -> str:
    """JSON of that depth around a text."""
    return open_ * levels + json.dumps(inside) + close * levels
