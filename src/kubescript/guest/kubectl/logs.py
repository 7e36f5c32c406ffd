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

__all__ = ["LINE_END", "fit_lines", "kubectl_logs"]

# By default, an answer has at most 500 lines and 64 KiB, and is cut at its end. A log is cut at its beginning instead,
# because its newest lines matter most.
_MOST_LINES: Final = 499
_MOST_BYTES: Final = 60_000
# Attack: a pod prints a thousand carriage returns in a line, as any progress bar does. The host turns these into line
# ends, and an answer is cut at its end, where the newest lines are.
LINE_END: Final = re.compile("\r\n|\n|\r|\x85|\u2028|\u2029")
_SINCE: Final = re.compile(r"(?=\d)(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?", re.ASCII)
_UNITS: Final = (86_400, 3_600, 60, 1)
# The largest `since` in seconds, some thirty years: kubelets overflow at three hundred years.
_LONGEST_S: Final = 10**9
_LISTS: Final = {"containers": "", "initContainers": " (init)", "ephemeralContainers": " (ephemeral)"}
_STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")

Object = Mapping[str, Any]


class _Wanted(NamedTuple):
    """The requested log."""

    pod: str
    namespace: str
    container: str | None
    since: str | None
    previous: bool

    def __str__(self) -> str:
        """Returns a string such as `shop/web-0 (container app, previous)`."""
        parts = []
        if self.container:
            parts.append(f"container {self.container}")
        if self.previous:
            parts.append("previous")
        if self.since:
            parts.append(f"since {self.since}")
        where = f"{self.namespace}/{self.pod}"
        if not parts:
            return where
        return f"{where} ({', '.join(parts)})"


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
    # The contract of these tools has this argument, but does not allow it to be true.
    if follow:
        raise ToolError("follow_disabled")
    wanted = _Wanted(pod, namespace, container, since, previous)
    # One more line than requested shows whether there are more.
    options: dict[str, Any] = {"tail_lines": lines + 1, "container": container}
    seconds = _parse_since(since)
    if seconds:
        options["since_seconds"] = seconds
    if previous:
        options["previous"] = True
    try:
        text = k8s.coreV1().read_namespaced_pod_log(pod, namespace, **options)
    except exceptions.ApiException as error:
        raise _explain(k8s, wanted, error) from None
    if not text:
        return _describe_empty(k8s, wanted)
    found = LINE_END.split(text.removesuffix("\n"))
    return _write_log(wanted, found, lines)


def _parse_since(since: str | None) -> int:
    """Returns the seconds of a time such as `1h30m`; 0 if there is none. Raises ToolError for any other string."""
    if since is None:
        return 0
    parts = _SINCE.fullmatch(since)
    if parts is None:
        raise ToolError("invalid_since", since=since[:60])
    numbers = [int(number or 0) for number in parts.groups()]
    seconds = sum(number * unit for number, unit in zip(numbers, _UNITS, strict=True))
    return min(seconds, _LONGEST_S)


def _write_log(wanted: _Wanted, found: list[str], lines: int) -> str:
    """Returns the last `lines` of the log that fit in an answer."""
    requested = found[-lines:]
    shown = fit_lines(requested)
    if len(shown) < len(requested):
        head = messages.text("log_cut", log=wanted, shown=len(shown))
    elif len(requested) < len(found):
        head = messages.text("log_last", log=wanted, shown=len(shown), most=_MOST_LINES)
    else:
        head = messages.text("log_whole", log=wanted, shown=len(shown))
    return "\n".join([head, *shown])


def fit_lines(lines: list[str]) -> list[str]:
    """Returns the last lines that fit in an answer, or the beginning of the last line if that is too long."""
    room = _MOST_BYTES
    count = 0
    for line in reversed(lines[-_MOST_LINES:]):
        # A lone surrogate is half a character, and has no UTF-8 encoding.
        encoded = line.encode("utf-8", "replace")
        room -= len(encoded) + 1
        if room < 0:
            break
        count += 1
    if count:
        return lines[-count:]
    beginning = lines[-1].encode("utf-8", "replace")[:_MOST_BYTES]
    # The cut may be within a character.
    return [beginning.decode("utf-8", "ignore")]


def _describe_empty(k8s: client.K8s, wanted: _Wanted) -> str:
    """Returns the answer for an empty log, which the API server also sends for a pod that is on no node yet."""
    # If no line was written since a certain time, this is no sign of a fault.
    state = ""
    if not wanted.since:
        state = _read_state(k8s, wanted)
    if not state:
        return messages.text("log_empty", log=wanted)
    return messages.text("log_empty_of_pod", log=wanted, state=state)


def _read_state(k8s: client.K8s, wanted: _Wanted) -> str:
    """Returns the state of the pod in a word; an empty string if the pod cannot be read."""
    try:
        pod = k8s.coreV1().read_namespaced_pod(wanted.pod, wanted.namespace)
        status = pod["status"].to_dict()
    except exceptions.ApiException:
        status = {}
    return object_text.state({"status": status})


# --- why there is no log ----------------------------------------------------------------------------------------------


def _explain(k8s: client.K8s, wanted: _Wanted, error: exceptions.ApiException) -> Exception:
    """Returns the error for a log that could not be read."""
    if error.code == "cluster.not_captured":
        return _explain_missing(wanted, error)
    # A denial by the policy has a code too, and its message is clear enough.
    if error.code:
        return error
    if error.status == 404:
        return tool_errors.of_api(error)
    status = error.status or 0
    # The API server could not reach the node's kubelet.
    if status >= 500:
        return ToolError("log_unreachable", pod=wanted.pod, details=error.message)
    if status != 400:
        return error
    return _diagnose(k8s, wanted) or error


def _explain_missing(wanted: _Wanted, error: exceptions.ApiException) -> ToolError:
    """Returns the error for a log that a snapshot does not have."""
    # A snapshot may have the pods without their logs.
    if "pods were captured" in error.message:
        return ToolError("log_not_captured", log=wanted)
    return tool_errors.of_api(error)


def _diagnose(k8s: client.K8s, wanted: _Wanted) -> ToolError | None:
    """Returns which precondition the pod does not meet. The pod says so in more detail than the API server's 400."""
    try:
        pod = k8s.coreV1().read_namespaced_pod(wanted.pod, wanted.namespace)
    except exceptions.ApiException:
        # A caller who may not read the pod gets the API server's words.
        return None
    names = dict(_containers(pod["spec"]))
    status = pod["status"].to_dict()
    return _find_unmet(wanted, names, status)


def _find_unmet(wanted: _Wanted, names: Mapping[str, str], pod_status: Object) -> ToolError | None:
    """Returns the precondition that the pod does not meet. `names` are the containers' names and display names."""
    all_names = ", ".join(names.values())
    if wanted.container is None and len(names) > 1:
        return ToolError("container_required", pod=wanted.pod, containers=all_names)
    container = wanted.container or next(iter(names))
    if container not in names:
        return ToolError("no_container", pod=wanted.pod, container=container, containers=all_names)
    status = _find_status(pod_status, container)
    waiting = status.get("state", {}).get("waiting")
    if wanted.previous and "terminated" not in status.get("lastState", {}):
        restarts = status.get("restartCount", 0)
        return ToolError("no_previous_log", container=container, restarts=restarts)
    if waiting is not None:
        reason = _reason(waiting)
        hint = _hint_at_blocker(pod_status)
        return ToolError("container_waiting", container=container, reason=reason, hint=hint)
    if not status:
        reason = _reason(pod_status)
        return ToolError("container_not_started", container=container, reason=reason)
    return None


def _containers(spec: Object) -> Iterator[tuple[str, str]]:
    """Yields each container's name, and its display name; ordinary containers come first."""
    for kind, mark in _LISTS.items():
        for each in spec.get(kind) or ():
            name = each["name"]
            yield name, f"{name}{mark}"


def _find_status(pod_status: Object, container: str) -> Object:
    """Returns a container's status; an empty object if it has none yet."""
    for kind in _STATUSES:
        for each in pod_status.get(kind) or ():
            if each["name"] == container:
                return each  # type: ignore[no-any-return]
    return {}


def _reason(state: Object) -> str:
    """Returns why a pod or a container is waiting, such as `ErrImagePull: not found`."""
    reason = state.get("reason") or state.get("phase")
    words = filter(None, (reason, state.get("message")))
    return ": ".join(words) or "?"


def _hint_at_blocker(pod_status: Object) -> str:
    """Returns the init container that the pod's containers wait for, as an argument; an empty string if there is
    none."""
    for each in pod_status.get("initContainerStatuses") or ():
        state = each.get("state", {})
        ended = state.get("terminated") or {}
        # A sidecar that has started keeps no container waiting, although it does not end.
        if ended.get("exitCode") != 0 and not each.get("started"):
            return f"; container={each['name']}"
    return ""
