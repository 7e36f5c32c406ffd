"""The containers of a pod or a template: image, command, state, resources, environment, probes and mounts."""

from __future__ import annotations

import json
import math
from typing import Final

from kubescript.guest.kubectl.describe import texts
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object
from kubescript.guest.sdk.values import quantity

__all__ = ["containers", "resources"]

_PROBES: Final = {"Liveness": "livenessProbe", "Readiness": "readinessProbe", "Startup": "startupProbe"}
_LABEL_MAPS: Final = {"metadata.labels": "labels", "metadata.annotations": "annotations"}
_METADATA_FIELDS: Final = {"metadata.name": "name", "metadata.namespace": "namespace", "metadata.uid": "uid"}


def containers(
    out: Writer,
    title: str,
    found: list[Object] | None,
    statuses: list[Object] | None = None,
    pod: Object | None = None,
    space: str = "",
) -> None:
    """Writes containers with their statuses. A template's containers have no pod, and their names are preceded by
    `space`."""
    status_by_name = {status.get("name"): status for status in statuses or ()}
    nothing = "" if found else " <none>"
    out.row(f"{space}{title}:{nothing}")
    # As in kubectl, a template's containers are indented by one more space.
    indent = " " if space else ""
    for container in found or ():
        status = status_by_name.get(container.get("name"))
        out.title(f"{indent}{container.get('name', '')}", 1)
        _write_container(out, container, status, pod)


def _write_container(out: Writer, container: Object, status: Object | None, pod: Object | None) -> None:
    """Writes a container below its name."""
    _write_image(out, container, status)
    _write_ports(out, "Port", container, "containerPort")
    _write_ports(out, "Host Port", container, "hostPort")
    _write_seccomp_profile(out, container)
    _write_words(out, "Command", container.get("command"))
    _write_words(out, "Args", container.get("args"))
    if status is not None:
        _write_status(out, status)
    resources(out, container.get("resources"), 2)
    _write_probes(out, container)
    _write_sources(out, container.get("envFrom"))
    _write_variables(out, container, pod)
    _write_mounts(out, container)
    _write_devices(out, container)


def resources(out: Writer, found: Object | None, level: int) -> None:
    """Writes limits and requests."""
    if not found:
        return
    for title in ("Limits", "Requests"):
        amounts = found.get(title.lower())
        if not amounts:
            continue
        out.title(title, level)
        for name, amount in sorted(amounts.items()):
            out.field(name, amount, level + 1)


def _write_image(out: Writer, container: Object, status: Object | None) -> None:
    """Writes the image and, for a container that has been created, also its IDs."""
    if status is None:
        out.field("Image", container.get("image"), 2)
        return
    out.field("Container ID", status.get("containerID"), 2)
    out.field("Image", container.get("image"), 2)
    out.field("Image ID", status.get("imageID"), 2)


def _write_ports(out: Writer, title: str, container: Object, key: str) -> None:
    """Writes the ports of a container, or its ports on the host."""
    ports = container.get("ports") or ()
    written = [_port(port, key) for port in ports]
    if len(written) > 1:
        title += "s"
    text = texts.join(written, between=", ")
    out.field(title, text, 2)


def _port(port: Object, key: str) -> str:
    """Returns a port such as `8080/TCP (http)`. A host port that is not set is 0, as in kubectl."""
    number = port.get(key, 0)
    text = f"{number}/{port.get('protocol', '')}"
    name = port.get("name")
    if not name:
        return text
    return f"{text} ({name})"


def _write_seccomp_profile(out: Writer, container: Object) -> None:
    """Writes which system calls the container may make."""
    security = container.get("securityContext") or {}
    profile = security.get("seccompProfile")
    if not profile:
        return
    out.field("SeccompProfile", profile.get("type"), 2)
    out.optional_field("LocalhostProfile", profile.get("localhostProfile"), 3)


def _write_words(out: Writer, title: str, found: list[str] | None) -> None:
    """Writes the words of a command line, each on a line of its own."""
    if not found:
        return
    out.title(title, 2)
    for word in found:
        # A shell script in one word keeps its lines, as in kubectl.
        for line in word.split("\n"):
            out.row(line, level=3)


# --- states -----------------------------------------------------------------------------------------------------------


def _write_status(out: Writer, status: Object) -> None:
    """Writes the present state of a container, and how its last run ended."""
    _write_state(out, "State", status.get("state") or {})
    last = status.get("lastState") or {}
    # A container that was never restarted has an empty last state.
    if last.get("terminated"):
        _write_state(out, "Last State", last)
    ready = bool(status.get("ready"))
    out.field("Ready", str(ready), 2)
    out.field("Restart Count", status.get("restartCount", 0), 2)


def _write_state(out: Writer, title: str, state: Object) -> None:
    """Writes whether a container is running, is waiting or has ended."""
    running = state.get("running")
    ended = state.get("terminated")
    if running is not None:
        out.field(title, "Running", 2)
        _write_time(out, "Started", running.get("startedAt"))
    elif ended is not None:
        _write_termination(out, title, ended)
    else:
        waiting = state.get("waiting") or {}
        out.field(title, "Waiting", 2)
        out.optional_field("Reason", waiting.get("reason"), 3)
        # kubectl shows the message only in the events, which expire after an hour.
        out.optional_field("Message", waiting.get("message"), 3)


def _write_termination(out: Writer, title: str, ended: Object) -> None:
    """Writes how a container has ended."""
    out.field(title, "Terminated", 2)
    out.optional_field("Reason", ended.get("reason"), 3)
    out.optional_field("Message", ended.get("message"), 3)
    out.field("Exit Code", ended.get("exitCode", 0), 3)
    # Only a process that was ended by a signal has this field; 0 stands for no signal.
    if ended.get("signal"):
        out.field("Signal", ended["signal"], 3)
    _write_time(out, "Started", ended.get("startedAt"))
    _write_time(out, "Finished", ended.get("finishedAt"))


def _write_time(out: Writer, title: str, stamp: str | None) -> None:
    """Writes when a state began or ended."""
    moment = texts.time(stamp)
    out.field(title, moment, 3)


# --- probes -----------------------------------------------------------------------------------------------------------


def _write_probes(out: Writer, container: Object) -> None:
    """Writes how the kubelet finds out whether the container is working."""
    for title, key in _PROBES.items():
        probe = container.get(key)
        if probe is None:
            continue
        action = _probe_action(probe)
        times = _probe_times(probe)
        out.field(title, f"{action} {times}", 2)


def _probe_times(probe: Object) -> str:
    """Returns the intervals and thresholds of a probe, in kubectl's order."""
    delay = probe.get("initialDelaySeconds", 0)
    timeout = probe.get("timeoutSeconds", 0)
    period = probe.get("periodSeconds", 0)
    success = probe.get("successThreshold", 0)
    failure = probe.get("failureThreshold", 0)
    return f"delay={delay}s timeout={timeout}s period={period}s #success={success} #failure={failure}"


def _probe_action(probe: Object) -> str:
    """Returns what a probe does, such as `http-get http://:8080/healthz`."""
    command = probe.get("exec")
    if command is not None:
        return f"exec {texts.words(command.get('command'))}"
    request = probe.get("httpGet")
    if request is not None:
        return f"http-get {_probe_url(request)}"
    socket = probe.get("tcpSocket")
    if socket is not None:
        host = texts.text(socket.get("host"))
        return f"tcp-socket {host}:{texts.text(socket.get('port'))}"
    grpc = probe.get("grpc")
    if grpc is not None:
        service = texts.text(grpc.get("service"))
        return f"grpc <pod>:{grpc.get('port', 0)} {service}"
    return "unknown"


def _probe_url(request: Object) -> str:
    """Returns the URL of a probe, such as `http://:8080/healthz`."""
    path = texts.text(request.get("path"))
    if path and not path.startswith("/"):
        path = f"/{path}"
    scheme = texts.text(request.get("scheme")).lower()
    host = texts.text(request.get("host"))
    # An IPv6 address has colons too, so it is put in brackets.
    if ":" in host:
        host = f"[{host}]"
    return f"{scheme}://{host}:{request.get('port')}{path}"


# --- mounts -----------------------------------------------------------------------------------------------------------


def _write_mounts(out: Writer, container: Object) -> None:
    """Writes where the container finds its volumes."""
    mounts: list[Object] = container.get("volumeMounts") or []
    if not mounts:
        out.field("Mounts", "<none>", 2)
        return
    out.title("Mounts", 2)
    for mount in sorted(mounts, key=lambda each: texts.text(each.get("mountPath"))):
        flags = _mount_flags(mount)
        out.row(f"{mount.get('mountPath', '')} from {mount.get('name', '')} ({flags})", level=3)


def _mount_flags(mount: Object) -> str:
    """Returns the mode of a mount, such as `ro,path="conf"`."""
    flags = "ro" if mount.get("readOnly") else "rw"
    path = mount.get("subPath")
    if not path:
        return flags
    quoted = json.dumps(path, ensure_ascii=False)
    return f"{flags},path={quoted}"


def _write_devices(out: Writer, container: Object) -> None:
    """Writes where the container finds volumes that are block devices."""
    devices: list[Object] = container.get("volumeDevices") or []
    if not devices:
        return
    out.title("Devices", 2)
    for device in sorted(devices, key=lambda each: texts.text(each.get("devicePath"))):
        out.row(f"{device.get('devicePath', '')} from {device.get('name', '')}", level=3)


# --- environment ------------------------------------------------------------------------------------------------------


def _write_sources(out: Writer, found: list[Object] | None) -> None:
    """Writes the ConfigMaps and Secrets whose keys all become variables."""
    if not found:
        return
    out.title("Environment Variables from", 2)
    for source in found:
        kind = "ConfigMap"
        reference = source.get("configMapRef")
        if not reference:
            kind = "Secret"
            reference = source.get("secretRef") or {}
        if source.get("prefix"):
            kind += f" with prefix '{source['prefix']}'"
        name = texts.text(reference.get("name"))
        out.row(name, kind, _optional(reference), level=3)


def _write_variables(out: Writer, container: Object, pod: Object | None) -> None:
    """Writes the variables. References to a field of the pod get its value if there is a pod."""
    found = container.get("env")
    if not found:
        out.field("Environment", "<none>", 2)
        return
    out.title("Environment", 2)
    for variable in found:
        source = variable.get("valueFrom")
        if source is None:
            _write_value(out, variable)
        else:
            name = variable.get("name", "")
            _write_reference(out, name, source, container, pod)


def _write_value(out: Writer, variable: Object) -> None:
    """Writes a variable with its own value, which may have several lines."""
    value = texts.text(variable.get("value"))
    first, *rest = value.split("\n")
    out.field(variable.get("name", ""), first, 3)
    for line in rest:
        out.row("", line, level=3)


def _write_reference(out: Writer, name: str, source: Object, container: Object, pod: Object | None) -> None:
    """Writes a variable that gets its value from elsewhere."""
    if field := source.get("fieldRef"):
        path = texts.text(field.get("fieldPath"))
        value = _pod_field(pod, path)
        out.field(name, f"{value} ({field.get('apiVersion', '')}:{path})", 3)
    elif resource := source.get("resourceFieldRef"):
        amount = _amount(resource, container)
        out.field(name, f"{amount} ({resource.get('resource', '')})", 3)
    elif secret := source.get("secretKeyRef"):
        _write_key_source(out, name, secret, "in secret")
    elif config := source.get("configMapKeyRef"):
        _write_key_source(out, name, config, "of config map")


def _write_key_source(out: Writer, name: str, reference: Object, kind: str) -> None:
    """Writes a variable that gets its value from a Secret or ConfigMap. The value is not read."""
    key, holder = texts.values(reference, "key", "name")
    value = f"<set to the key '{key}' {kind} '{holder}'>"
    out.row(f"{name}:", value, _optional(reference), level=3)


def _optional(reference: Object) -> str:
    """Returns whether the container can start without the object that the reference names."""
    if reference.get("optional"):
        return "Optional: true"
    return "Optional: false"


def _pod_field(pod: Object | None, path: str) -> str:
    """Returns a field of the pod's metadata; "" for any other field, as kubectl does."""
    metadata = (pod or {}).get("metadata") or {}
    if path in _METADATA_FIELDS:
        key = _METADATA_FIELDS[path]
        return texts.text(metadata.get(key))
    if path in _LABEL_MAPS:
        labels = metadata.get(_LABEL_MAPS[path]) or {}
        lines = [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in sorted(labels.items())]
        return "\n".join(lines)
    # One label or annotation, such as `metadata.labels['app']`. kubectl does not look it up.
    map_path, _, key = path.removesuffix("']").partition("['")
    labels = metadata.get(_LABEL_MAPS.get(map_path, "")) or {}
    return texts.text(labels.get(key))


def _amount(reference: Object, container: Object) -> str:
    """Returns a container's own request or limit in units of the divisor, rounded up."""
    # The resource is such as limits.cpu.
    kind, _, resource = texts.text(reference.get("resource")).partition(".")
    all_resources = container.get("resources") or {}
    amounts = all_resources.get(kind) or {}
    amount = quantity.quantity(amounts.get(resource))
    divisor = quantity.quantity(reference.get("divisor"))
    units = math.ceil(amount / (divisor or 1))
    # A container without a limit gets what its node has for pods.
    if units == 0 and kind == "limits" and resource in {"cpu", "memory"}:
        return "node allocatable"
    return str(units)
