"""The contexts of kubeconfig files, with their cluster and namespace. No credential is read here. Called by `identity`,
`credentials`, `app` and `kubescript doctor`.

The official client's own error texts quote the entry at fault, including tokens, so they are never passed on. Possible
mistakes in a kubeconfig are checked here, with our own error texts, before that client reads it.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from kubescript import errors, installation

__all__ = ["MAX_BYTES", "Context", "choose", "contexts", "entries", "make", "parse", "section", "source"]

_GKE_PLUGIN: Final = "gke-gcloud-auth-plugin"
"""The program that gcloud writes into kubeconfigs."""
MAX_BYTES: Final = 16 * 1024 * 1024
"""The maximum size of one file in bytes."""
_MAX_DEPTH: Final = 100
_MAX_FOUND: Final = 2_000
"""How many keys, values and brackets a found kubeconfig may have; one with one context has 60."""
_IN_CONTAINER: Final = (
    'run the container as the user who may read it: docker with `--user "$(id -u):$(id -g)"`, podman without root with '
    "`--userns keep-id:uid=65532,gid=65532`"
)
"""A mounted file has the owner and the mode that it has outside."""


class Plugin(NamedTuple):
    """GKE's credential program, as called in the user's entry."""

    command: str
    arguments: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """One entry of `contexts:`."""

    name: str
    cluster: str
    user: str
    namespace: str
    current: bool
    defined: bool = True
    """Whether the context's cluster is in the kubeconfig."""
    plugin: bool = False
    """Whether credentials come from a program (exec or auth-provider), which may be slow or ask questions."""
    renews: bool = False
    """Whether an auth-provider renews its tokens and writes them back to the file."""
    gke_plugin: Plugin | None = None
    """How the context's user logs in to GKE; None for other kinds of credentials."""


def source(path: Path | None = None) -> str | None:
    """Returns the files to read, separated as in $KUBECONFIG; None if there are none.

    They are the given file, or else $KUBECONFIG, or else ~/.kube/config.
    """
    if path is not None:
        return str(path)
    if variable := os.environ.get("KUBECONFIG"):
        return os.pathsep.join(_with_home(part) for part in variable.split(os.pathsep))
    default = Path(_with_home("~/.kube/config"))
    return str(default) if default.is_absolute() and default.is_file() else None


def _with_home(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111  a user without a home has no such file


def contexts(path: Path | bytes | None = None) -> list[Context]:
    """Returns every context of a file, or of a content in JSON, in its order. Raises ClusterError (cluster.config) if
    no kubeconfig can be read."""
    if isinstance(path, bytes):
        return _merge([json.loads(path)])
    files = source(path)
    if files is None:
        raise _config_error(
            "there is no kubeconfig",
            "pass --kubeconfig, set KUBECONFIG (MCP clients do not read your shell's), or serve a saved cluster with "
            "--snapshot; if the file comes later, pass --kubeconfig-later",
        )
    paths = [Path(part) for part in _existing(files)]
    return _merge([_read(file) for file in paths])


def choose(path: Path | bytes | None, name: str | None) -> Context:
    """Returns the named context, or the current one. Raises ClusterError, which names the nearest context, or the
    cluster that the context lacks."""
    offered = contexts(path)
    for context in offered:
        if context.name == name or (name is None and context.current):
            return _whole(context)
    if not offered:
        raise _config_error("the kubeconfig has no contexts", "add one with `kubectl config set-context`")
    names = [context.name for context in offered]
    first_names = ", ".join(names[:20])
    if name is None:
        raise _config_error("the kubeconfig has no current context", f"pass --context, one of: {first_names}")
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are: {first_names}"
    raise _config_error(
        f"the kubeconfig has no context {name!r}; {hint}", "`kubectl config get-contexts` lists its contexts"
    )


def _whole(context: Context) -> Context:
    """Returns the context. Raises ClusterError if its cluster is not in the kubeconfig."""
    if context.defined:
        return context
    raise _config_error(
        f"context {context.name!r} names the cluster {context.cluster!r}, which is not in the kubeconfig",
        "add it with `kubectl config set-cluster`, or name another context",
    )


def _existing(files: str) -> list[str]:
    """Returns the existing files of a $KUBECONFIG; the others are skipped, as kubectl does."""
    parts = [part for part in files.split(os.pathsep) if part]
    existing = [part for part in parts if Path(part).is_file()]
    if not existing:
        raise _config_error(
            f"no such kubeconfig file: {', '.join(parts)}",
            "check --kubeconfig and KUBECONFIG; if the file comes later, pass --kubeconfig-later",
        )
    return existing


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _config_error(f"the kubeconfig {path} is larger than {MAX_BYTES >> 20} MiB", "is it the right file?")
        content = path.read_bytes()
    except OSError as error:
        remedy = _IN_CONTAINER if installation.image() else "check its owner and mode"
        raise _config_error(f"cannot read the kubeconfig {path}: {error.strerror}", remedy) from None
    return parse(content, f"the kubeconfig {path}")


def parse(content: bytes, what: str, *, is_found: bool = False) -> dict[str, Any]:
    """Returns a kubeconfig's contents. One that `is_found` in a cluster is not the operator's: it may have no aliases,
    and not many values, each of which is text here. Raises ClusterError, which calls it `what` and quotes nothing of
    it."""
    import yaml  # 20 ms that a snapshot server saves

    try:
        _check_shape(content, is_found=is_found)
        data = yaml.load(content, Loader=_loader(is_found=is_found))  # noqa: S506 - a safe one, in C
    # Attack: for the token `!!bool x`, PyYAML raises a KeyError whose text is the token; other tags have other errors.
    except Exception as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        # `from None`, and without the error's text: it quotes the line, which may be a token.
        raise _config_error(f"{what} is not valid YAML{where}", "check it with `kubectl config view`") from None
    if not isinstance(data, dict):
        raise _config_error(f"{what} is empty or not a mapping", "check it with `kubectl config view`")
    return data


def make(
    name: str, cluster: object, user: object = None, *, cluster_name: str = "cluster", namespace: str = "default"
) -> dict[str, Any]:
    """Returns a kubeconfig with one context, the current one, of these sections; None: without a user."""
    users = [] if user is None else [{"name": "user", "user": user}]
    context = {"cluster": cluster_name, "user": "" if user is None else "user", "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster_name, "cluster": cluster}],
        "users": users,
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }


def _loader(*, is_found: bool = False) -> Any:
    import yaml

    # Attack: 64 KiB of `1:1:1...` are a number to base 60, which takes half a second in each of a thousand Secrets.
    if is_found:
        return getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _check_shape(content: bytes, *, is_found: bool) -> None:
    """Raises ValueError for deep nesting; in a found kubeconfig, also for aliases and for many values."""
    # libyaml's composer is recursive, and 100,000 brackets crash the process.
    import yaml

    depth = 0
    for count, event in enumerate(yaml.parse(content, Loader=_loader())):
        # Attack: each of 30 mappings merges the one before twice, and the last one has 2^30 keys.
        if is_found and isinstance(event, yaml.AliasEvent):
            raise ValueError("an alias")
        # Attack: 64 KiB of brackets take half a second, in each of a thousand Secrets.
        if is_found and count > _MAX_FOUND:
            raise ValueError("too many values")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deep")


def _merge(files: list[dict[str, Any]]) -> list[Context]:
    """Returns the contexts of all files; as with kubectl, the first file to define a name wins."""
    current = ""
    users: dict[str, dict[str, Any]] = {}
    clusters: set[str] = set()
    # The first file comes last, and so overrides the others.
    for data in reversed(files):
        current = str(data.get("current-context") or current)
        for entry in entries(data, "users"):
            name = str(entry.get("name"))
            users[name] = section(entry, "user")
        for entry in entries(data, "clusters"):
            name = str(entry.get("name"))
            clusters.add(name)
    merged: dict[str, Context] = {}
    for data in files:
        for entry in entries(data, "contexts"):
            context = _context(entry, current, users, clusters)
            merged.setdefault(context.name, context)
    return list(merged.values())


def _context(
    entry: dict[str, Any], current: str, users: Mapping[str, dict[str, Any]], clusters: Container[str]
) -> Context:
    """Returns one entry of `contexts:`, with its user's kind of credentials."""
    name = str(entry.get("name"))
    own = section(entry, "context")
    user = str(own.get("user") or "")
    sources = users.get(user, {})
    cluster = str(own.get("cluster") or "")
    return Context(
        name=name,
        cluster=cluster,
        user=user,
        namespace=str(own.get("namespace") or "default"),
        current=bool(current) and name == current,
        defined=cluster in clusters,
        plugin="exec" in sources or "auth-provider" in sources,
        renews="auth-provider" in sources,
        gke_plugin=_gke_plugin(sources, cluster),
    )


def _gke_plugin(user: Mapping[str, Any], cluster: str) -> Plugin | None:
    """Returns the program by which this user logs in to GKE; None when the user is not GKE's."""
    if not any(user.values()):
        # Only a cluster with a name from gcloud. Otherwise a token for all of Google Cloud would be sent to any API
        # server whose user has no credentials.
        return Plugin(_GKE_PLUGIN) if cluster.startswith("gke_") else None
    called = user.get("exec")
    if not isinstance(called, dict):
        return None
    command = str(called.get("command") or "")
    if Path(command).stem != _GKE_PLUGIN:
        return None
    arguments = called.get("args")
    if not isinstance(arguments, list):
        arguments = []
    variables = [(str(each.get("name")), str(each.get("value") or "")) for each in entries(called, "env")]
    return Plugin(command, tuple(map(str, arguments)), tuple(variables))


def entries(data: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Returns a list from the file. Raises ClusterError when it is not a list of mappings."""
    entries = data.get(key) or []
    is_list = isinstance(entries, list)
    if not is_list or not all(isinstance(entry, dict) for entry in entries):
        raise _config_error(
            f"`{key}` in the kubeconfig is not a list of entries", "check it with `kubectl config view`"
        )
    return list(entries)


def section(entry: dict[str, Any], key: str) -> dict[str, Any]:
    """Returns a mapping inside an entry; empty if missing."""
    found = entry.get(key)
    if isinstance(found, dict):
        return found
    return {}


def _config_error(message: str, remedy: str) -> errors.ClusterError:
    return errors.ClusterError(
        message,
        code="cluster.config",
        remedy=remedy,
    )
