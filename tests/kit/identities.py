"""Users of a control plane with credentials of every kind, and scripts that ask the API server who it took us for."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.kit import clients
from tests.kit.controlplane.server import ControlPlane

__all__ = ["EACH", "WHO", "asking", "document", "kubeconfig"]

WHO: Final = "k8s.authenticationV1().create_self_subject_review({}).status.user_info.username"
EACH: Final = """
def who(name):
    try:
        return k8s.context(name).authenticationV1().create_self_subject_review({}).status.user_info.username
    except ApiException as error:
        return error.code or error.status
{name: who(name) for name in k8s.contexts()}
"""


def kubeconfig(plane: ControlPlane, path: Path, users: Mapping[str, Mapping[str, Any]]) -> Path:
    """A context for each user, all of this control plane, with its CA in the file."""
    authority = base64.b64encode((plane.folder / "ca.crt").read_bytes()).decode()
    cluster = {"server": plane.url, "certificate-authority-data": authority}
    path.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": next(iter(users)),
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": name}} for name in users],
    }))  # fmt: skip
    return path


@contextlib.contextmanager
def asking(kubeconfig: Path, *flags: str) -> Iterator[Callable[[str], str]]:
    """A server of all contexts of this file; gives the answers to scripts."""
    names = ",".join(each["name"] for each in yaml.safe_load(kubeconfig.read_text())["contexts"])
    given = ("--kubeconfig", str(kubeconfig), "--contexts", names, *flags)
    with clients.asking(*given, transport="memory") as ask:
        yield lambda script: clients.text(ask(script))


def document(text: str) -> Any:
    """The result in an answer."""
    return json.loads(text.splitlines()[0])
