"""helm_status, helm_get_values and helm_history."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubescript.guest import yaml_text
from kubescript.guest.helm import coalescing, resources, storage, text
from kubescript.guest.kubectl.rows.cells import line
from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import exceptions

__all__ = ["helm_get_values", "helm_history", "helm_status", "history", "status", "values"]

_MAX: Final = 256
_TITLES: Final = ("REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION", "DESCRIPTION")
_TEST: Final = "test"


def helm_status(
    k8s: client.K8s,
    release_name: str,
    namespace: str | None = None,
    *,
    revision: int = storage.LATEST,
    show_resources: bool = False,
    show_hooks: bool = False,
) -> str:
    """Tell the state of a release as `helm status` does."""
    release = status(k8s, release_name, namespace, revision=revision)
    parts = [_head(release)]
    if show_resources:
        parts.append(f"RESOURCES:\n{resources.tables(k8s, release)}")
    if show_hooks:
        parts.append(_hooks(release))
    if notes := release["info"].get("notes", "").strip():
        parts.append(f"NOTES:\n{notes}")
    return "\n".join(parts)


def helm_get_values(
    k8s: client.K8s,
    release_name: str,
    namespace: str | None = None,
    *,
    revision: int = storage.LATEST,
    output: str = "yaml",
    all_values: bool = False,
) -> str:
    """Tell the values of a release as `helm get values` does."""
    found = values(k8s, release_name, namespace, revision=revision, all_values=all_values)
    if output == "table":
        return f"{'COMPUTED' if all_values else 'USER-SUPPLIED'} VALUES:\n{_yaml(found)}"
    return _encoded(found, output)


def helm_history(
    k8s: client.K8s,
    release_name: str,
    namespace: str | None = None,
    *,
    max: int = _MAX,  # noqa: A002 - the argument's name in the contract
    output: str = "table",
) -> str:
    """Tell the revisions of a release as `helm history` does."""
    rows = history(k8s, release_name, namespace, most=max)
    return text.listed(_TITLES, rows) if output == "table" else _encoded(rows, output)


def status(
    k8s: client.K8s, name: str, namespace: str | None = None, *, revision: int = storage.LATEST
) -> storage.Release:
    """One revision of a release: name, namespace, version, info, chart, config, hooks, resources."""
    return storage.found(k8s, name, namespace or storage.NAMESPACE, revision)


def values(
    k8s: client.K8s,
    name: str,
    namespace: str | None = None,
    *,
    revision: int = storage.LATEST,
    all_values: bool = False,
) -> dict[str, Any] | None:
    """The values that a release was given; with `all_values` those of its chart too."""
    release = status(k8s, name, namespace, revision=revision)
    given: dict[str, Any] | None = release.get("config")
    return coalescing.coalesced(release.get("chart") or {}, given or {}) if all_values else given


def history(k8s: client.K8s, name: str, namespace: str | None = None, most: int = _MAX) -> list[dict[str, Any]]:
    """The last revisions of a release, with the fields of `helm history -o json`."""
    known = sorted(storage.of_release(k8s, name, namespace or storage.NAMESPACE), key=lambda each: each.number)[-most:]
    rows = []
    for revision, answer in zip(known, storage.read(k8s, known), strict=True):
        release = storage.unread(revision, answer) if isinstance(answer, exceptions.ApiException) else answer
        rows.append(_revision(release))
    return rows


def _revision(release: storage.Release) -> dict[str, Any]:
    chart, app_version = text.chart_of(release)
    info = release["info"]
    return {
        "revision": release["version"],
        "updated": text.seconds(info.get("last_deployed", "")),
        "status": info.get("status", ""),
        "chart": chart,
        "app_version": app_version,
        "description": info.get("description", ""),
    }


def _head(release: storage.Release) -> str:
    info = release["info"]
    chart, app_version = text.chart_of(release)
    fields = {
        "NAME": release["name"],
        "LAST DEPLOYED": text.seconds(info.get("last_deployed", "")),
        "NAMESPACE": release["namespace"],
        "STATUS": info.get("status", ""),
        "REVISION": release["version"],
        "CHART": chart,
        "APP VERSION": app_version,
        "DESCRIPTION": info.get("description", ""),
        "DELETED": text.seconds(info.get("deleted", "")),
    }
    lines = [f"{title}: {line(value)}" for title, value in fields.items() if value]
    return "\n".join([*lines, *_tests(release)])


def _tests(release: storage.Release) -> list[str]:
    """Returns a line for each test of the release that was run."""
    lines = []
    for hook in release.get("hooks") or ():
        run = hook.get("last_run") or {}
        if _TEST in (hook.get("events") or ()) and run.get("started_at"):
            times = f"{text.seconds(run['started_at'])} to {text.seconds(run.get('completed_at', '')) or '-'}"
            lines.append(line(f"TEST SUITE: {hook.get('name', '')}, {run.get('phase', '')}, {times}"))
    return lines


def _hooks(release: storage.Release) -> str:
    hooks = release.get("hooks") or []
    if not hooks:
        return "HOOKS: none"
    rows: list[tuple[str, ...]] = [("KIND", "NAME", "EVENTS", "WEIGHT", "LAST RUN")]
    for hook in hooks:
        run = hook.get("last_run") or {}
        ran = f"{run.get('phase', '')} {text.seconds(run.get('started_at', ''))}".strip()
        events = ",".join(hook.get("events") or ())
        rows.append((hook.get("kind", ""), hook.get("name", ""), events, str(hook.get("weight", 0)), ran or "never"))
    return f"HOOKS:\n{text.aligned(rows)}"


def _encoded(value: Any, output: str) -> str:
    return msgspec.json.encode(value).decode() if output == "json" else _yaml(value)


def _yaml(value: Any) -> str:
    """Returns a value as YAML, keys in order, as Helm prints values."""
    return yaml_text.written(_in_order(value))


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(item) for item in value] if isinstance(value, list) else value
