"""helm_list, `k8s.helm.releases()`, and the script's part of helm_repo_list: the host reads the operator's file, and
passes names and URLs on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from kubescript.guest import yaml_text
from kubescript.guest.helm import storage, text
from kubescript.guest.kubectl.rows.cells import line
from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import exceptions
from kubescript.guest.tool_errors import ToolError
from kubescript.wire import messages

__all__ = ["helm_list", "helm_repo_list", "releases"]

_MAX: Final = 256
_STATUSES: Final = {
    "deployed": {"deployed"},
    "failed": {"failed"},
    "uninstalled": {"uninstalled"},
    "superseded": {"superseded"},
    "pending": {"pending-install", "pending-upgrade", "pending-rollback"},
}
_DEFAULT: Final = _STATUSES["deployed"] | _STATUSES["failed"]
"""Helm's default when no status is given."""
_TITLES: Final = ("NAME", "NAMESPACE", "REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION")


def helm_list(
    k8s: client.K8s,
    namespace: str | None = None,
    *,
    all_namespaces: bool = True,
    status: str | None = None,
    filter: str = "",  # noqa: A002 - the argument's name in the contract
    short: bool = False,
    date: bool = True,
    reverse: bool = False,
    max: int = _MAX,  # noqa: A002 - the argument's name in the contract
) -> str:
    """Lists releases like `helm list`: the last revision of each."""
    namespace = namespace or (None if all_namespaces else storage.NAMESPACE)
    matching = _select(k8s, namespace, status, filter)
    shown = _sort_revisions(matching, by_date=date, reverse=reverse)[:max]
    if not shown:
        return f"no releases{f' in namespace {namespace}' if namespace else ''}{_hint(status)}"
    if short:
        body = "\n".join(line(each.name) for each in shown)
    else:
        rows = _sort_rows(_rows(k8s, shown), reverse=reverse) if date else _rows(k8s, shown)
        body = text.write_table(_TITLES, rows)
    left = len(matching) - len(shown)
    return f"{body}\n({left} more: raise max, or narrow with namespace, status or filter)" if left else body


def releases(k8s: client.K8s, namespace: str | None = None, status: str | None = "all") -> list[dict[str, str]]:
    """Lists the last revision of each release of a namespace or of all, with the fields of `helm list -o json`."""
    return _rows(k8s, _sort_revisions(_select(k8s, namespace, status, ""), by_date=False, reverse=False))


def _select(k8s: client.K8s, namespace: str | None, status: str | None, pattern: str) -> list[storage.Revision]:
    is_named = _matcher(pattern)
    if status not in (None, "all", *_STATUSES):
        raise ToolError("invalid_choice", name="status", known=", ".join(("all", *_STATUSES)), value=status)
    wanted = _STATUSES.get(status or "", _DEFAULT)
    everything = storage.revisions(k8s, namespace)
    # A release's last revision is never superseded, so Helm shows all revisions for this status.
    listed = everything if status == "superseded" else storage.latest(everything)
    return [each for each in listed if (status == "all" or each.status in wanted) and is_named(each.name)]


def _matcher(pattern: str) -> Callable[[str], object]:
    # An expression that never ends costs only the caller's own script time, as any endless loop does.
    try:
        return re.compile(pattern).search
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolError("invalid_filter", details=error) from None


def _sort_revisions(found: Iterable[storage.Revision], *, by_date: bool, reverse: bool) -> list[storage.Revision]:
    if by_date:
        return sorted(found, key=lambda each: (each.created, each.name, each.namespace), reverse=reverse)
    return sorted(found, key=lambda each: (each.name, each.namespace, each.number), reverse=reverse)


def _rows(k8s: client.K8s, shown: list[storage.Revision]) -> list[dict[str, str]]:
    """Returns the revisions' rows. One that cannot be read has the facts in its labels, and the reason."""
    rows: list[dict[str, str]] = []
    for revision, answer in zip(shown, storage.read(k8s, shown), strict=True):
        if not isinstance(answer, exceptions.ApiException):
            rows.append(_row(revision, answer))
        elif answer.status != 404:  # a revision deleted since it was listed is left out
            rows.append(_row(revision, storage.unread(revision, answer)))
    return rows


def _row(revision: storage.Revision, release: storage.Release) -> dict[str, str]:
    chart, app_version = text.chart_of(release)
    info: dict[str, Any] = release["info"]
    return {
        "name": revision.name,
        "namespace": revision.namespace,
        "revision": str(release["version"]),
        "updated": text.seconds(info.get("last_deployed", "")) or "-",
        "status": info.get("status", ""),
        "chart": chart,
        "app_version": app_version,
    }


def _sort_rows(rows: list[dict[str, str]], *, reverse: bool) -> list[dict[str, str]]:
    return sorted(rows, key=lambda row: row["updated"], reverse=reverse)


def _hint(status: str | None) -> str:
    return "" if status == "all" else f" that are {status or 'deployed or failed'}; status='all' lists all"


def helm_repo_list(_k8s: client.K8s, repositories: list[dict[str, str]], *, output: str = "table") -> Any:
    """Lists chart repositories like `helm repo list`."""
    if output == "json":
        return repositories
    if output == "yaml":
        return yaml_text.write(repositories)
    if not repositories:
        return messages.text("no_repositories")
    return text.write_table(("NAME", "URL"), repositories)
