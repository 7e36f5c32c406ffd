"""helm_list, `k8s.helm.releases()`, and the script's part of helm_repo_list: the host reads the operator's file, and
passes names and URLs on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
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
_STATES: Final = frozenset({"unknown", "uninstalling"}.union(*_STATUSES.values()))
"""The states of Helm."""
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
    """Lists the last revision of each release, like `helm list`."""
    if not namespace and not all_namespaces:
        namespace = storage.NAMESPACE
    matching, others = _select(k8s, namespace, status, filter)
    shown = _sort_revisions(matching, by_date=date, reverse=reverse)[:max]
    # Who asks for one status has chosen to see no other.
    hidden = "" if status and shown else _count_states(others)
    if not shown:
        where = f" in namespace {namespace}" if namespace else ""
        return f"no releases{where}{_limit(status)}{hidden}"
    if short:
        body = "\n".join(line(each.name) for each in shown)
    else:
        rows = _rows(k8s, shown)
        # Before the revisions were read, only their creation times were known, to the second.
        if date:
            rows.sort(key=lambda row: row["updated"], reverse=reverse)
        body = text.write_table(_TITLES, rows)
    left = len(matching) - len(shown)
    if left:
        body = f"{body}\n({left} more: raise max, or narrow with namespace, status or filter)"
    return f"{body}{hidden}"


def releases(k8s: client.K8s, namespace: str | None = None, status: str | None = "all") -> list[dict[str, str]]:
    """Lists the last revision of each release of a namespace or of all, with the fields of `helm list -o json`."""
    matching, _ = _select(k8s, namespace, status, "")
    ordered = _sort_revisions(matching, by_date=False, reverse=False)
    return _rows(k8s, ordered)


def _select(
    k8s: client.K8s, namespace: str | None, status: str | None, pattern: str
) -> tuple[list[storage.Revision], list[storage.Revision]]:
    """Returns the revisions with this status whose release's name matches the pattern, and the last revisions of the
    other matching releases."""
    is_named = _matcher(pattern)
    known = ("all", *_STATUSES)
    if status is not None and status not in known:
        raise ToolError("invalid_choice", name="status", known=", ".join(known), value=status)
    wanted = _STATUSES.get(status or "", _DEFAULT)
    everything = storage.revisions(k8s, namespace)
    named = [each for each in everything if is_named(each.name)]
    # A release's last revision is never superseded, so Helm shows all revisions for this status.
    if status == "superseded":
        return [each for each in named if each.status in wanted], []
    last = storage.latest(named)
    if status == "all":
        return last, []
    listed = [each for each in last if each.status in wanted]
    others = [each for each in last if each.status not in wanted]
    return listed, others


def _matcher(pattern: str) -> Callable[[str], object]:
    # An expression that never ends costs only the caller's own script time, as any endless loop does.
    try:
        return re.compile(pattern).search
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolError("invalid_filter", details=error) from None


def _sort_revisions(found: Iterable[storage.Revision], *, by_date: bool, reverse: bool) -> list[storage.Revision]:
    def key(each: storage.Revision) -> tuple[object, ...]:
        if by_date:
            return each.created, each.name, each.namespace
        return each.name, each.namespace, each.number

    return sorted(found, key=key, reverse=reverse)


def _rows(k8s: client.K8s, shown: list[storage.Revision]) -> list[dict[str, str]]:
    """Returns the revisions' rows. The row of a revision that cannot be read has the facts in its labels, and the
    reason."""
    rows: list[dict[str, str]] = []
    answers = storage.read(k8s, shown)
    for revision, answer in zip(shown, answers, strict=True):
        if not isinstance(answer, exceptions.ApiException):
            rows.append(_row(revision, answer))
        # A revision that has been deleted since it was listed is left out.
        elif answer.status != 404:
            known_facts = storage.unread(revision, answer)
            rows.append(_row(revision, known_facts))
    return rows


def _row(revision: storage.Revision, release: storage.Release) -> dict[str, str]:
    """Returns a revision with the fields of `helm list -o json`."""
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


def _limit(status: str | None) -> str:
    """Returns which statuses an empty list is about."""
    if status == "all":
        return ""
    shown = status or "deployed or failed"
    return f" that are {shown}"


def _count_states(others: Collection[storage.Revision]) -> str:
    """Returns a line that counts the releases that a list leaves out, by their states; empty without any."""
    if not others:
        return ""
    # A label can have any text; a state that Helm does not have is counted as other.
    states = Counter(each.status if each.status in _STATES else "other" for each in others)
    counts = ", ".join(f"{state} {count}" for state, count in sorted(states.items()))
    noun = "release" if len(others) == 1 else "releases"
    return f"\n({len(others)} {noun} in other states: {counts}; status='all' lists all)"


def helm_repo_list(_k8s: client.K8s, repositories: list[dict[str, str]], *, output: str = "table") -> Any:
    """Lists chart repositories like `helm repo list`."""
    # The host has read the operator's file, and passes only names and URLs on.
    if output == "json":
        return repositories
    if output == "yaml":
        return yaml_text.write(repositories)
    if not repositories:
        return messages.text("no_repositories")
    return text.write_table(("NAME", "URL"), repositories)
