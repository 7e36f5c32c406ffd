"""One found cluster: its name and labels, and a kubeconfig with nothing but this cluster.

An operator's own kubeconfig may run credential plugins and name files. A kubeconfig that was found in a cluster is
written by whoever may write a Secret there; it is rebuilt from an allow-list of fields.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from kubescript import errors
from kubescript.cluster import kubeconfig
from kubescript.fleet import objects
from kubescript.kube import object_names
from kubescript.output import sanitizing

__all__ = ["UNREADABLE", "Member", "check", "list_all", "rename"]

log = logging.getLogger(__name__)

UNREADABLE: Final = "its kubeconfig cannot be read"
"""What is said of a kubeconfig that is broken in an unforeseen way."""
_MAX_KEY: Final = 9_000
"""Characters of a found client key; one of 8,192 bits, the most that API servers take, has 8,520."""
_MAX_NAME: Final = 253
_MAX_LABEL: Final = 317
"""Characters of a label's key: a prefix of 253, a slash, and a name of 63."""
_CLUSTER_FIELDS: Final = ("server", "certificate-authority-data", "tls-server-name")
_USER_FIELDS: Final = ("token", "client-certificate-data", "client-key-data")
# Attack: behind a `?` or `#`, the path of a request is not that of an API server, but any of a service inside.
_SERVER: Final = re.compile(r"https://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]+)*/?")
# Attack: a line break in a token begins another header.
_TOKEN: Final = re.compile(r"[!-~]*\n?")  # the end of YAML's block is not sent
_IGNORED: Final = frozenset({"extensions"})
_EMPTY: Final = frozenset({"", "null", "~", "false"})
"""Values, as YAML writes them, of a field that is not used."""
_FILES: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_EXTENSION: Final = "kubescript"
"""The name of the extension in which an operator's kubeconfig has a context's labels."""


@dataclass(frozen=True, slots=True)
class Member:
    """One found cluster."""

    name: str
    """The context's name for scripts, unique in the fleet."""
    labels: Mapping[str, str]
    kubeconfig: bytes = field(repr=False)
    """JSON with one cluster, one user and one context, which is the current one."""
    revision: str
    """A digest of the kubeconfig: connections are made anew when it changes."""


def check(name: str, labels: Mapping[str, str], content: bytes) -> Member:
    """Returns the member of a kubeconfig that was found in a cluster; of several contexts, the current one counts.

    Raises ClusterError, which quotes none of its values, if it does more than name an HTTPS address, CAs and
    credentials: no plugin, file or proxy.
    """
    # Attack: whoever may write a Secret in the hub has this server run a program, read a file, or use a proxy.
    if not object_names.is_subdomain(name):
        raise _refuse(name, "its name is not that of an object: lower-case letters, digits, - and .")
    if len(content) > objects.MAX_BYTES:
        raise _refuse(name, f"its kubeconfig is larger than {objects.MAX_BYTES >> 10} KiB")
    data = kubeconfig.parse(content, f"the kubeconfig of {name}", is_found=True)
    context = _current(data, name)
    cluster, user = _find_sections(data, context.get("cluster"), context.get("user"), name)
    kept = _keep(cluster, _CLUSTER_FIELDS, name)
    credentials = _keep(user, _USER_FIELDS, name)
    namespace = _namespace(context)
    if _SERVER.fullmatch(kept.get("server", "")) is None:
        raise _refuse(name, "its server is not a plain address: https://HOST, with a port and a path if need be")
    if _TOKEN.fullmatch(credentials.get("token", "")) is None:
        raise _refuse(name, "its token has characters that no token has")
    # Attack: a handshake with a key of 40,000 bits takes 27 s of a processor, and cannot be aborted.
    if len(credentials.get("client-key-data", "")) > _MAX_KEY:
        raise _refuse(name, f"its client key has more than {_MAX_KEY:,} characters")
    if not object_names.is_label(namespace):
        raise _refuse(name, "its context's namespace is not the name of one")
    # Attack: a cluster named gke_x without a user gets a Google token of this machine.
    return _member(name, labels, kept, credentials, namespace, "found")


def list_all(content: bytes, folder: Path, what: str) -> tuple[list[Member], int]:
    """Returns a member for each context of an operator's kubeconfig file in `folder`, and how many contexts cannot be
    used, which are logged. Raises ClusterError, which calls the file `what`."""
    data = kubeconfig.parse(content, what)
    members = []
    left_out = 0
    for entry in kubeconfig.entries(data, "contexts"):
        try:
            members.append(_of_context(data, entry, folder))
        except errors.ClusterError as error:
            left_out += 1
            log.warning("%s: %s", what, error.message, extra={"event": "fleet.unusable"})
    return members, left_out


def rename(found: Member, name: str) -> Member:
    """Returns the member under another name."""
    data = msgspec.json.decode(found.kubeconfig)
    data["contexts"][0]["name"] = data["current-context"] = name
    return _encode(name, found.labels, data)


def _of_context(data: dict[str, Any], entry: dict[str, Any], folder: Path) -> Member:
    """Returns the member of one context in an operator's kubeconfig."""
    name = str(entry.get("name"))
    if not name.strip() or not name.isprintable() or len(name) > _MAX_NAME:
        raise _refuse(name, "this cannot be a context's name")
    context = kubeconfig.section(entry, "context")
    cluster_name = str(context.get("cluster"))
    cluster, user = _find_sections(data, cluster_name, context.get("user"), name)
    return _member(
        name,
        _labels_of(context),
        _with_absolute(cluster, folder),
        _with_absolute(user, folder),
        _namespace(context),
        cluster_name,
    )


def _member(
    name: str,
    labels: Mapping[str, str],
    cluster: Mapping[str, Any],
    user: Mapping[str, Any],
    namespace: str,
    cluster_name: str,
) -> Member:
    """Returns the member of these sections."""
    written = kubeconfig.make(name, cluster, user, cluster_name=cluster_name, namespace=namespace)
    return _encode(name, labels, written)


def _encode(name: str, labels: Mapping[str, str], data: Mapping[str, Any]) -> Member:
    """Returns the member of a kubeconfig's contents."""
    try:
        content = msgspec.json.encode(data, order="deterministic")
    except Exception:  # of any kind: YAML has keys that are no text, and lists within themselves
        raise _refuse(name, "its kubeconfig has what JSON has not") from None
    return Member(name, _check_labels(name, labels), content, hashlib.sha256(content).hexdigest())


def _check_labels(name: str, labels: Mapping[str, str]) -> Mapping[str, str]:
    """Returns a copy of the labels that cannot be changed. Raises ClusterError."""
    fits = len(labels) <= objects.MAX_LABELS and all(
        isinstance(key, str) and isinstance(value, str) and len(key) <= _MAX_LABEL and len(value) <= _MAX_NAME
        for key, value in labels.items()
    )
    if not fits:
        raise _refuse(name, f"its labels are not at most {objects.MAX_LABELS} short strings")
    return MappingProxyType(dict(labels))


def _current(data: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns the current context, or the only one."""
    contexts = kubeconfig.entries(data, "contexts")
    current = data.get("current-context")
    for entry in contexts:
        if len(contexts) == 1 or entry.get("name") == current:
            return kubeconfig.section(entry, "context")
    raise _refuse(name, "its kubeconfig has no current context")


def _find_sections(
    data: dict[str, Any], cluster: object, user: object, name: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the cluster and the user of these names; an empty user if none is named."""
    found = _find_section(data, "cluster", cluster, name)
    return found, _find_section(data, "user", user, name) if user else {}


def _find_section(data: dict[str, Any], key: str, wanted: object, name: str) -> dict[str, Any]:
    """Returns the cluster or user of this name."""
    for entry in kubeconfig.entries(data, f"{key}s"):
        if entry.get("name") == wanted:
            return kubeconfig.section(entry, key)
    raise _refuse(name, f"the {key} that its context names is not in the kubeconfig")


def _keep(section: Mapping[str, Any], allowed: tuple[str, ...], name: str) -> dict[str, str]:
    """Returns the allowed fields. Raises ClusterError, which names the first other one, without its value."""
    kept = {}
    for key, value in section.items():
        if key in _IGNORED or (isinstance(value, str) and value in _EMPTY):
            continue
        if key not in allowed:
            raise _refuse(name, f"a found kubeconfig may not have {str(key)[:40]!r}, only {', '.join(allowed)}")
        if not isinstance(value, str):
            raise _refuse(name, f"the {key} of its kubeconfig is not text")
        kept[key] = value
    return kept


def _with_absolute(section: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Returns the section with paths that hold anywhere; those of a kubeconfig are relative to its folder."""
    made = {key: value for key, value in section.items() if key not in _IGNORED}
    for key in _FILES:
        if isinstance(made.get(key), str) and made[key]:
            made[key] = str(folder / made[key])
    plugin = made.get("exec")
    # As for kubectl: a command with a slash is a path, any other is looked for on PATH.
    if isinstance(plugin, dict) and "/" in str(plugin.get("command")):
        made["exec"] = {**plugin, "command": str(folder / str(plugin["command"]))}
    return made


def _labels_of(context: Mapping[str, Any]) -> Mapping[str, str]:
    """Returns the labels of a context's extension; kubectl keeps extensions when it writes a kubeconfig."""
    for entry in kubeconfig.entries(dict(context), "extensions"):
        if entry.get("name") == _EXTENSION:
            labels = kubeconfig.section(kubeconfig.section(entry, "extension"), "labels")
            return {str(key): str(value) for key, value in labels.items()}
    return {}


def _namespace(context: Mapping[str, Any]) -> str:
    """Returns the context's namespace."""
    namespace = context.get("namespace")
    return namespace if isinstance(namespace, str) and namespace else "default"


def _refuse(name: str, why: str) -> errors.ClusterError:
    shown = sanitizing.printable(name[:_MAX_NAME])
    return errors.ClusterError(f"cluster {shown} cannot be used: {why}", code="cluster.config")
