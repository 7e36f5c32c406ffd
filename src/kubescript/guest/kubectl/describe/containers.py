"""The containers of a pod or of a template: image, command, state, resources, probes and mounts."""

from __future__ import annotations

import json
from typing import Any

from kubescript.guest.kubectl.describe import environment, values, writer

__all__ = ["containers", "resources"]


def containers(
    out: writer.Writer,
    title: str,
    found: list[values.Object] | None,
    statuses: list[values.Object] | None = None,
    pod: values.Object | None = None,
    space: str = "",
) -> None:
    """Writes containers with their statuses. Those of a template have no pod, and `space` before their names."""
    by_name = {status.get("name"): status for status in statuses or ()}
    out.row(f"{space}{title}:{'' if found else ' <none>'}")
    for container in found or ():
        status = by_name.get(container.get("name"))
        out.title(f"{' ' if space else ''}{container.get('name', '')}", 1)
        _identity(out, container, status)
        _lines(out, "Command", container.get("command"))
        _lines(out, "Args", container.get("args"))
        if status is not None:
            _status(out, status)
        resources(out, container.get("resources"), 2)
        _probes(out, container)
        environment.sources(out, container.get("envFrom"))
        environment.variables(out, container, pod)
        _mounts(out, container)


def resources(out: writer.Writer, found: values.Object | None, level: int) -> None:
    """Writes limits and requests."""
    for title in ("Limits", "Requests"):
        amounts = (found or {}).get(title.lower())
        if amounts:
            out.title(title, level)
            for name, amount in sorted(amounts.items()):
                out.field(name, amount, level + 1)


def _identity(out: writer.Writer, container: values.Object, status: values.Object | None) -> None:
    if status is not None:
        out.field("Container ID", status.get("containerID"), 2)
    out.field("Image", container.get("image"), 2)
    if status is not None:
        out.field("Image ID", status.get("imageID"), 2)
    _ports(out, "Port", container.get("ports"), "containerPort")
    _ports(out, "Host Port", container.get("ports"), "hostPort")
    profile = (container.get("securityContext") or {}).get("seccompProfile")
    if profile:
        out.field("SeccompProfile", profile.get("type"), 2)
        out.given("LocalhostProfile", profile.get("localhostProfile"), 3)


def _ports(out: writer.Writer, title: str, ports: list[values.Object] | None, key: str) -> None:
    written = []
    for port in ports or ():
        name = f" ({port['name']})" if port.get("name") else ""
        written.append(f"{port.get(key, 0)}/{port.get('protocol', '')}{name}")
    out.field(f"{title}s" if len(written) > 1 else title, values.joined(written, between=", "), 2)


def _lines(out: writer.Writer, title: str, found: list[str] | None) -> None:
    if not found:
        return
    out.title(title, 2)
    for word in found:
        for line in word.split("\n"):
            out.row(line, level=3)


def _status(out: writer.Writer, status: values.Object) -> None:
    _state(out, "State", status.get("state") or {})
    last = status.get("lastState") or {}
    if last.get("terminated"):
        _state(out, "Last State", last)
    out.field("Ready", str(bool(status.get("ready"))), 2)
    out.field("Restart Count", status.get("restartCount", 0), 2)


def _state(out: writer.Writer, title: str, state: values.Object) -> None:
    if (running := state.get("running")) is not None:
        out.field(title, "Running", 2)
        out.field("Started", values.time(running.get("startedAt")), 3)
    elif (ended := state.get("terminated")) is not None:
        _terminated(out, title, ended)
    else:
        waiting = state.get("waiting") or {}
        out.field(title, "Waiting", 2)
        out.given("Reason", waiting.get("reason"), 3)
        # kubectl leaves the message to the events, which are gone after an hour.
        out.given("Message", waiting.get("message"), 3)


def _terminated(out: writer.Writer, title: str, ended: values.Object) -> None:
    out.field(title, "Terminated", 2)
    out.given("Reason", ended.get("reason"), 3)
    out.given("Message", ended.get("message"), 3)
    out.field("Exit Code", ended.get("exitCode", 0), 3)
    if ended.get("signal"):
        out.field("Signal", ended["signal"], 3)
    out.field("Started", values.time(ended.get("startedAt")), 3)
    out.field("Finished", values.time(ended.get("finishedAt")), 3)


def _probes(out: writer.Writer, container: values.Object) -> None:
    for title in ("Liveness", "Readiness", "Startup"):
        probe = container.get(f"{title.lower()}Probe")
        if probe is not None:
            out.field(title, f"{_asks(probe)} {_times(probe)}", 2)


def _times(probe: values.Object) -> str:
    delay, timeout, period = (probe.get(f"{key}Seconds", 0) for key in ("initialDelay", "timeout", "period"))
    success, failure = probe.get("successThreshold", 0), probe.get("failureThreshold", 0)
    return f"delay={delay}s timeout={timeout}s period={period}s #success={success} #failure={failure}"


def _asks(probe: values.Object) -> str:
    if (command := probe.get("exec")) is not None:
        return f"exec {values.words(command.get('command'))}"
    if (get := probe.get("httpGet")) is not None:
        path = values.text(get.get("path"))
        slash = "" if not path or path.startswith("/") else "/"
        return f"http-get {values.text(get.get('scheme')).lower()}://{_address(get)}{slash}{path}"
    if (socket := probe.get("tcpSocket")) is not None:
        return f"tcp-socket {values.text(socket.get('host'))}:{values.text(socket.get('port'))}"
    if (grpc := probe.get("grpc")) is not None:
        return f"grpc <pod>:{grpc.get('port', 0)} {values.text(grpc.get('service'))}"
    return "unknown"


def _address(get: values.Object) -> str:
    host = values.text(get.get("host"))
    return f"[{host}]:{get.get('port')}" if ":" in host else f"{host}:{get.get('port')}"


def _mounts(out: writer.Writer, container: values.Object) -> None:
    mounts: list[dict[str, Any]] = container.get("volumeMounts") or []
    if mounts:
        out.title("Mounts", 2)
    else:
        out.field("Mounts", "<none>", 2)
    for mount in sorted(mounts, key=lambda each: values.text(each.get("mountPath"))):
        flags = "ro" if mount.get("readOnly") else "rw"
        if path := mount.get("subPath"):
            flags += f",path={json.dumps(path, ensure_ascii=False)}"
        out.row(f"{mount.get('mountPath', '')} from {mount.get('name', '')} ({flags})", level=3)
    devices: list[dict[str, Any]] = container.get("volumeDevices") or []
    if devices:
        out.title("Devices", 2)
    for device in sorted(devices, key=lambda each: values.text(each.get("devicePath"))):
        out.row(f"{device.get('devicePath', '')} from {device.get('name', '')}", level=3)
