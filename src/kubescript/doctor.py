"""Which layers of the sandbox hold on this machine, why one does not, and what to change."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from typing import Final

import orjson

from kubescript import config
from kubescript.sandbox import executor, protocol, spawner

__all__ = ["Report", "examine"]

_PURPOSE: Final = {
    "environment": "no variable of the host is in the worker",
    "oom_score": "the kernel ends a worker before the host when memory runs out",
    "network": "the worker has a network namespace without interfaces",
    "descriptors": "the worker holds one socket to the host and nothing else",
    "rlimits": "memory, processor, files and processes are bounded by the kernel",
    "identity": "the worker is not root",
    "capabilities": "the worker has no capability",
    "not_dumpable": "no other process may look into the worker",
    "parent_death": "the worker dies with the server",
    "no_new_privs": "no set-uid program raises the worker's privileges",
    "landlock": "the kernel lets the worker open no file and no TCP port",
    "scope": "the worker can signal neither the fork server nor another worker",
    "seccomp": "the kernel kills the worker at any system call off the list",
}

_REMEDY: Final = {
    "network": "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
    "user.max_user_namespaces>0, kernel.apparmor_restrict_unprivileged_userns=0), or run as root with CAP_SYS_ADMIN",
    "landlock": "use Linux 5.13 or newer with `landlock` among the boot parameter lsm=",
    "seccomp": "install libseccomp (Debian: libseccomp2; Alpine: libseccomp) and allow prctl(PR_SET_SECCOMP)",
    "scope": "use Linux 6.12 or newer; seccomp forbids every signal meanwhile",
    "oom_score": "mount /proc writable for the process itself",
}


@dataclass(frozen=True, slots=True)
class Report:
    """What was found."""

    layers: tuple[protocol.Layer, ...]

    @property
    def healthy(self) -> bool:
        """Whether every layer that `sandbox.strict` insists on holds."""
        return not self.missing

    @property
    def missing(self) -> tuple[str, ...]:
        """Required layers that do not hold."""
        return executor.missing(self.layers)

    def as_json(self) -> str:
        """One JSON object."""
        rows = [
            {
                "layer": layer.name,
                "active": layer.active,
                "detail": layer.detail,
                "purpose": _PURPOSE.get(layer.name, ""),
                "remedy": "" if layer.active else _REMEDY.get(layer.name, ""),
                "required": layer.name in executor.REQUIRED_LAYERS,
            }
            for layer in self.layers
        ]
        report = {"healthy": self.healthy, "missing": self.missing, "platform": _platform(), "layers": rows}
        return orjson.dumps(report, option=orjson.OPT_INDENT_2).decode()

    def as_text(self) -> str:
        """A line a layer, and what to change where one is missing."""
        lines = [_platform()]
        for layer in self.layers:
            mark = "ok     " if layer.active else "MISSING"
            lines.append(
                f"{mark} {layer.name:<13} {_PURPOSE.get(layer.name, '')}{f' ({layer.detail})' if layer.detail else ''}"
            )
            if not layer.active and layer.name in _REMEDY:
                lines.append(f"        {'':<13} → {_REMEDY[layer.name]}")
        lines.append("every layer holds" if self.healthy else "missing: " + ", ".join(self.missing))
        return "\n".join(lines)


def examine(settings: config.Settings, source: spawner.Spawner) -> Report:
    """Fork a worker and read what it reports of its own lockdown. Needs no cluster."""
    runner = executor.Executor(
        source, memory_bytes=settings.limits.memory_mib * config.MIB, cpu_seconds=60, spares=0, strict=False
    )
    return Report(runner.probe())


def _platform() -> str:
    return f"{platform.system()} {platform.release()} {platform.machine()}, Python {sys.version.split()[0]}"
