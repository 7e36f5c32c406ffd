"""kubectl_logs: the last lines of a container's log, or the reason why there are none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from kubescript.guest import tool_errors
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import object_text
from kubescript.guest.sdk.values import exceptions
from kubescript.guest.tool_errors import ToolError
from kubescript.wire import messages

__all__ = ["LINE_END", "fitting", "kubectl_logs"]

_MOST_LINES: Final = 499
_MOST_BYTES: Final = 60_000
"""By default, an answer has at most 500 lines and 64 KiB, and is cut at its end. A log is cut at its beginning instead,
because its newest lines matter most."""
# Attack: a pod prints a thousand carriage returns in a line, as any progress bar does. The host turns these into line
# ends, and an answer is cut at its end, where the newest lines are.
LINE_END: Final = re.compile("\r\n|\n|\r|\x85|\u2028|\u2029")
_SINCE: Final = re.compile(r"(?=\d)(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?", re.ASCII)
_UNITS: Final = (86_400, 3_600, 60, 1)
_LONGEST_S: Final = 10**9
"""The largest `since` in seconds, some thirty years: kubelets overflow at three hundred."""
_LISTS: Final = {"containers": "", "initContainers": " (init)", "ephemeralContainers": " (ephemeral)"}
_STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


class _Wanted(NamedTuple):
    """The requested log."""

    pod: str
    namespace: str
    container: str | None
    since: str | None
    previous: bool

    def __str__(self) -> str:
        parts = [f"container {self.container}"] if self.container else []
        if self.previous:
            parts.append("previous")
        if self.since:
            parts.append(f"since {self.since}")
        where = f"{self.namespace}/{self.pod}"
        return f"{where} ({', '.join(parts)})" if parts else where


def kubectl_logs(
    k8s: client.K8s,
    pod: str,
    namespace: str = "default",
    container: str | None = None,
    *,
    lines: int = 100,
    since: str | None = None,
    follow: bool = False,
    previous: bool = False,
) -> str:
    """Returns the last lines of a container's log, after a line that names it and says whether there are more."""
    if follow:
        raise ToolError("follow_disabled")
    wanted = _Wanted(pod, namespace, container, since, previous)
    # One more line than requested shows whether there are more.
    options: dict[str, Any] = {"tail_lines": lines + 1, "container": container}
    if seconds := _seconds(since):
        options["since_seconds"] = seconds
    if previous:
        options["previous"] = True
    try:
        text = k8s.coreV1().read_namespaced_pod_log(pod, namespace, **options)
    except exceptions.ApiException as error:
        raise _explain(k8s, wanted, error) from None
    if not text:
        return _nothing(k8s, wanted)
    return _write(wanted, LINE_END.split(text.removesuffix("\n")), lines)


def _seconds(since: str | None) -> int:
    if since is None:
        return 0
    parts = _SINCE.fullmatch(since)
    if parts is None:
        raise ToolError("invalid_since", since=since[:60])
    seconds = sum(int(number or 0) * unit for number, unit in zip(parts.groups(), _UNITS, strict=True))
    return min(seconds, _LONGEST_S)


def _write(wanted: _Wanted, found: list[str], lines: int) -> str:
    """Returns the last `lines` of the log that fit in an answer."""
    asked = found[-lines:]
    shown = fitting(asked)
    if len(shown) < len(asked):
        head = messages.text("log_cut", log=wanted, shown=len(shown))
    elif len(asked) < len(found):
        head = messages.text("log_last", log=wanted, shown=len(shown), most=_MOST_LINES)
    else:
        head = messages.text("log_whole", log=wanted, shown=len(shown))
    return "\n".join([head, *shown])


def fitting(lines: list[str]) -> list[str]:
    """Returns the last lines that fit in an answer, or the beginning of the last line if that is too long."""
    room = _MOST_BYTES
    count = 0
    for line in reversed(lines[-_MOST_LINES:]):
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0:
            break
        count += 1
    if count:
        return lines[-count:]
    return [lines[-1].encode("utf-8", "replace")[:_MOST_BYTES].decode("utf-8", "ignore")]


def _nothing(k8s: client.K8s, wanted: _Wanted) -> str:
    """Returns the answer for an empty log, which the API server also sends for a pod that is on no node yet."""
    state = ""
    if not wanted.since:
        try:
            status = k8s.coreV1().read_namespaced_pod(wanted.pod, wanted.namespace)["status"].to_dict()
        except exceptions.ApiException:
            status = {}
        state = object_text.state({"status": status})
    if state:
        return messages.text("log_empty_of_pod", log=wanted, state=state)
    return messages.text("log_empty", log=wanted)


# --- why there is no log ----------------------------------------------------------------------------------------------


def _explain(k8s: client.K8s, wanted: _Wanted, error: exceptions.ApiException) -> Exception:
    """Returns the error for a log that could not be read."""
    if error.code == "cluster.not_captured":
        pods_are_there = "pods were captured" in error.message
        return ToolError("log_not_captured", log=wanted) if pods_are_there else tool_errors.of_api(error)
    if error.code:
        return error
    if error.status == 404:
        return tool_errors.of_api(error)
    if (error.status or 0) >= 500:
        return ToolError("log_unreachable", pod=wanted.pod, details=error.message)
    if error.status != 400:
        return error
    return _diagnose(k8s, wanted) or error


def _diagnose(k8s: client.K8s, wanted: _Wanted) -> ToolError | None:
    """Returns which precondition the pod does not meet, as the API server's 400 has fewer details than the pod."""
    try:
        pod = k8s.coreV1().read_namespaced_pod(wanted.pod, wanted.namespace)
    except exceptions.ApiException:
        return None
    return _unmet(wanted, dict(_containers(pod["spec"])), pod["status"].to_dict())


def _unmet(wanted: _Wanted, names: Mapping[str, str], pod_status: Mapping[str, Any]) -> ToolError | None:
    if wanted.container is None and len(names) > 1:
        return ToolError("container_required", pod=wanted.pod, containers=", ".join(names.values()))
    container = wanted.container or next(iter(names))
    if container not in names:
        return ToolError("no_container", pod=wanted.pod, container=container, containers=", ".join(names.values()))
    status = _status(pod_status, container)
    waiting = status.get("state", {}).get("waiting")
    if wanted.previous and "terminated" not in status.get("lastState", {}):
        return ToolError("no_previous_log", container=container, restarts=status.get("restartCount", 0))
    if waiting is not None:
        hint = _find_blocking_container(pod_status)
        return ToolError("container_waiting", container=container, reason=_reason(waiting), hint=hint)
    if not status:
        return ToolError("container_not_started", container=container, reason=_reason(pod_status))
    return None


def _containers(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields each container's name, and its display name; ordinary containers come first."""
    for kind, mark in _LISTS.items():
        for each in spec.get(kind) or ():
            yield each["name"], f"{each['name']}{mark}"


def _status(pod_status: Mapping[str, Any], container: str) -> Mapping[str, Any]:
    for kind in _STATUSES:
        for each in pod_status.get(kind) or ():
            if each["name"] == container:
                return each  # type: ignore[no-any-return]
    return {}


def _reason(state: Mapping[str, Any]) -> str:
    words = (state.get("reason") or state.get("phase"), state.get("message"))
    return ": ".join(word for word in words if word) or "?"


def _find_blocking_container(pod_status: Mapping[str, Any]) -> str:
    """Returns the init container that the pod's containers wait for, as an argument; empty if there is none."""
    for each in pod_status.get("initContainerStatuses") or ():
        ended = each.get("state", {}).get("terminated") or {}
        if ended.get("exitCode") != 0 and not each.get("started"):
            return f"; container={each['name']}"
    return ""
