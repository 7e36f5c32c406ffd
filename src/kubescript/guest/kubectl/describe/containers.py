"""The containers of a pod or a template: image, command, state, resources, environment, probes and mounts."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from kubescript.guest.kubectl.describe import text_writer, texts
from kubescript.guest.sdk.values import quantity

__all__ = ["containers", "resources"]


def containers(
    out: text_writer.Writer,
    title: str,
    found: list[texts.Object] | None,
    statuses: list[texts.Object] | None = None,
    pod: texts.Object | None = None,
    space: str = "",
) -> None:
    """Writes containers with their statuses. A template's containers have no pod, and `space` before their names."""
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
        _write_sources(out, container.get("envFrom"))
        _write_variables(out, container, pod)
        _mounts(out, container)


def resources(out: text_writer.Writer, found: texts.Object | None, level: int) -> None:
    """Writes limits and requests."""
    for title in ("Limits", "Requests"):
        amounts = (found or {}).get(title.lower())
        if amounts:
            out.title(title, level)
            for name, amount in sorted(amounts.items()):
                out.field(name, amount, level + 1)


def _identity(out: text_writer.Writer, container: texts.Object, status: texts.Object | None) -> None:
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
        out.optional_field("LocalhostProfile", profile.get("localhostProfile"), 3)


def _ports(out: text_writer.Writer, title: str, ports: list[texts.Object] | None, key: str) -> None:
    written = []
    for port in ports or ():
        name = f" ({port['name']})" if port.get("name") else ""
        written.append(f"{port.get(key, 0)}/{port.get('protocol', '')}{name}")
    out.field(f"{title}s" if len(written) > 1 else title, texts.join(written, between=", "), 2)


def _lines(out: text_writer.Writer, title: str, found: list[str] | None) -> None:
    if not found:
        return
    out.title(title, 2)
    for word in found:
        for line in word.split("\n"):
            out.row(line, level=3)


def _status(out: text_writer.Writer, status: texts.Object) -> None:
    _state(out, "State", status.get("state") or {})
    last = status.get("lastState") or {}
    if last.get("terminated"):
        _state(out, "Last State", last)
    out.field("Ready", str(bool(status.get("ready"))), 2)
    out.field("Restart Count", status.get("restartCount", 0), 2)


def _state(out: text_writer.Writer, title: str, state: texts.Object) -> None:
    if (running := state.get("running")) is not None:
        out.field(title, "Running", 2)
        out.field("Started", texts.time(running.get("startedAt")), 3)
    elif (ended := state.get("terminated")) is not None:
        _write_termination(out, title, ended)
    else:
        waiting = state.get("waiting") or {}
        out.field(title, "Waiting", 2)
        out.optional_field("Reason", waiting.get("reason"), 3)
        # kubectl shows the message only in the events, which expire after an hour.
        out.optional_field("Message", waiting.get("message"), 3)


def _write_termination(out: text_writer.Writer, title: str, ended: texts.Object) -> None:
    out.field(title, "Terminated", 2)
    out.optional_field("Reason", ended.get("reason"), 3)
    out.optional_field("Message", ended.get("message"), 3)
    out.field("Exit Code", ended.get("exitCode", 0), 3)
    if ended.get("signal"):
        out.field("Signal", ended["signal"], 3)
    out.field("Started", texts.time(ended.get("startedAt")), 3)
    out.field("Finished", texts.time(ended.get("finishedAt")), 3)


def _probes(out: text_writer.Writer, container: texts.Object) -> None:
    for title in ("Liveness", "Readiness", "Startup"):
        probe = container.get(f"{title.lower()}Probe")
        if probe is not None:
            out.field(title, f"{_asks(probe)} {_times(probe)}", 2)


def _times(probe: texts.Object) -> str:
    delay, timeout, period = (probe.get(f"{key}Seconds", 0) for key in ("initialDelay", "timeout", "period"))
    success, failure = probe.get("successThreshold", 0), probe.get("failureThreshold", 0)
    return f"delay={delay}s timeout={timeout}s period={period}s #success={success} #failure={failure}"


def _asks(probe: texts.Object) -> str:
    if (command := probe.get("exec")) is not None:
        return f"exec {texts.words(command.get('command'))}"
    if (get := probe.get("httpGet")) is not None:
        path = texts.text(get.get("path"))
        slash = "" if not path or path.startswith("/") else "/"
        return f"http-get {texts.text(get.get('scheme')).lower()}://{_address(get)}{slash}{path}"
    if (socket := probe.get("tcpSocket")) is not None:
        return f"tcp-socket {texts.text(socket.get('host'))}:{texts.text(socket.get('port'))}"
    if (grpc := probe.get("grpc")) is not None:
        return f"grpc <pod>:{grpc.get('port', 0)} {texts.text(grpc.get('service'))}"
    return "unknown"


def _address(get: texts.Object) -> str:
    host = texts.text(get.get("host"))
    return f"[{host}]:{get.get('port')}" if ":" in host else f"{host}:{get.get('port')}"


def _mounts(out: text_writer.Writer, container: texts.Object) -> None:
    mounts: list[dict[str, Any]] = container.get("volumeMounts") or []
    if mounts:
        out.title("Mounts", 2)
    else:
        out.field("Mounts", "<none>", 2)
    for mount in sorted(mounts, key=lambda each: texts.text(each.get("mountPath"))):
        flags = "ro" if mount.get("readOnly") else "rw"
        if path := mount.get("subPath"):
            flags += f",path={json.dumps(path, ensure_ascii=False)}"
        out.row(f"{mount.get('mountPath', '')} from {mount.get('name', '')} ({flags})", level=3)
    devices: list[dict[str, Any]] = container.get("volumeDevices") or []
    if devices:
        out.title("Devices", 2)
    for device in sorted(devices, key=lambda each: texts.text(each.get("devicePath"))):
        out.row(f"{device.get('devicePath', '')} from {device.get('name', '')}", level=3)


_OF_MAPS: Final = {"metadata.labels": "labels", "metadata.annotations": "annotations"}
_OF_METADATA: Final = {"metadata.name": "name", "metadata.namespace": "namespace", "metadata.uid": "uid"}


def _write_sources(out: text_writer.Writer, found: list[texts.Object] | None) -> None:
    """Writes the ConfigMaps and Secrets whose keys all become variables."""
    if not found:
        return
    out.title("Environment Variables from", 2)
    for source in found:
        key = "configMapRef" if source.get("configMapRef") else "secretRef"
        reference = source.get(key) or {}
        kind = {"configMapRef": "ConfigMap", "secretRef": "Secret"}[key]
        prefix = f" with prefix '{source['prefix']}'" if source.get("prefix") else ""
        out.row(texts.text(reference.get("name")), f"{kind}{prefix}", f"Optional: {_optional(reference)}", level=3)


def _write_variables(out: text_writer.Writer, container: texts.Object, pod: texts.Object | None) -> None:
    """Writes the variables. References to a field of the pod get its value if there is a pod."""
    found = container.get("env")
    if not found:
        out.field("Environment", "<none>", 2)
        return
    out.title("Environment", 2)
    for variable in found:
        source = variable.get("valueFrom")
        if source is None:
            first, *rest = texts.text(variable.get("value")).split("\n")
            out.field(variable.get("name", ""), first, 3)
            for line in rest:
                out.row("", line, level=3)
        else:
            _referring(out, variable.get("name", ""), source, container, pod)


def _referring(
    out: text_writer.Writer, name: str, source: texts.Object, container: texts.Object, pod: texts.Object | None
) -> None:
    if field := source.get("fieldRef"):
        path = texts.text(field.get("fieldPath"))
        out.field(name, f"{_field(pod, path)} ({field.get('apiVersion', '')}:{path})", 3)
    elif resource := source.get("resourceFieldRef"):
        out.field(name, f"{_amount(resource, container)} ({resource.get('resource', '')})", 3)
    elif secret := source.get("secretKeyRef"):
        _write_key_source(out, name, secret, "in secret")
    elif config := source.get("configMapKeyRef"):
        _write_key_source(out, name, config, "of config map")


def _write_key_source(out: text_writer.Writer, name: str, reference: texts.Object, kind: str) -> None:
    key, holder = texts.text(reference.get("key")), texts.text(reference.get("name"))
    out.row(f"{name}:", f"<set to the key '{key}' {kind} '{holder}'>", f"Optional: {_optional(reference)}", level=3)


def _optional(reference: texts.Object) -> str:
    return "true" if reference.get("optional") else "false"


def _field(pod: texts.Object | None, path: str) -> str:
    """Returns a field of the pod's metadata; "" for any other field, as kubectl does."""
    metadata = (pod or {}).get("metadata") or {}
    if path in _OF_METADATA:
        return texts.text(metadata.get(_OF_METADATA[path]))
    if path in _OF_MAPS:
        pairs = sorted((metadata.get(_OF_MAPS[path]) or {}).items())
        return "\n".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in pairs)
    of_map, _, key = path.removesuffix("']").partition("['")
    return texts.text((metadata.get(_OF_MAPS.get(of_map, "")) or {}).get(key))


def _amount(reference: texts.Object, container: texts.Object) -> str:
    """Returns a container's own request or limit in units of the divisor, rounded up."""
    of, _, resource = texts.text(reference.get("resource")).partition(".")
    found = ((container.get("resources") or {}).get(of) or {}).get(resource)
    amount, divisor = quantity.quantity(found), quantity.quantity(reference.get("divisor"))
    units = math.ceil(amount / (divisor or 1))
    if units == 0 and of == "limits" and resource in {"cpu", "memory"}:
        return "node allocatable"
    return str(units)
