"""Audit files as tests make and read them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from kubescript.audit import log
from tests.kit import commands

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "namespace": "shop"},
    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    "status": {"phase": "Running"},
}
COUNT = "len(k8s.coreV1().list_namespaced_pod('shop'))"
DENIED = "k8s.coreV1().create_namespaced_service_account_token('db', 'shop', {'spec': {'audiences': ['a']}})"
"""A call that the policy denies by default."""
KEY = b"0123456789abcdef0123456789abcdef"


def snapshot(folder: Path) -> Path:
    """A saved cluster of one pod."""
    file = folder / "pods.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD]}))
    return file


run = commands.run


def records(file: Path, kind: str = "") -> list[dict[str, Any]]:
    """The records of one file, of one type when asked."""
    every = [json.loads(line, object_pairs_hook=_unique) for line in file.read_text("utf-8").splitlines()]
    return [one for one in every if not kind or one["type"] == kind]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    assert len(fields) == len(pairs), f"a field occurs twice: {[key for key, _ in pairs]}"
    return fields


def verified(file: Path, *flags: str) -> str:
    """What `audit verify` says of a file that is whole."""
    done = run("audit", "verify", str(file), *flags)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fill(file: Path, count: int = 6, key: bytes | None = None) -> list[bytes]:
    """A chain of `count` records after the first; gives its lines."""
    audit_log = log.AuditLog(file, key=key)
    for number in range(count):
        audit_log.append({"type": "call", "number": number}, sync=False)
    audit_log.close()
    return file.read_bytes().splitlines(keepends=True)


def writer_of(file: Path) -> int:
    """The process that has `file` open."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            if any(one.resolve() == file for one in (folder / "fd").iterdir()):
                return int(folder.name)
        except OSError:
            continue
    raise AssertionError("nobody has the file open")
