"""A pod of the chart as a process of this machine: its container's arguments, variables and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.kit import chart, clients

__all__ = ["Pod"]


class Pod:
    """The container of a Deployment, whose volumes are below a folder of this machine."""

    def __init__(self, objects: chart.Objects, folder: Path, secrets: dict[str, dict[str, bytes]]) -> None:
        self._folder = folder
        self.metrics_port = clients.free_port()
        spec = objects["Deployment"]["spec"]["template"]["spec"]
        (self._container,) = spec["containers"]
        self._secrets = secrets
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        for mount in self._container["volumeMounts"]:
            target = Path(self.place(mount["mountPath"]))
            target.mkdir(parents=True)
            for name, content in self._read(volumes[mount["name"]], objects).items():
                (target / name).write_bytes(content)

    def place(self, path: str) -> str:
        """A path of the container, on this machine."""
        return f"{self._folder}{path}"

    @property
    def arguments(self) -> list[str]:
        """The server's."""
        return [each.replace("=/", f"={self._folder}/") for each in self._container["args"]]

    @property
    def environment(self) -> dict[str, str]:
        """The server's variables."""
        found: dict[str, str] = {}
        for variable in self._container["env"]:
            source = variable.get("valueFrom", {})
            if "fieldRef" in source:
                found[variable["name"]] = "kubescript-0"
            elif "secretKeyRef" in source:
                reference = source["secretKeyRef"]
                found[variable["name"]] = self._secrets[reference["name"]][reference["key"]].decode()
            else:
                found[variable["name"]] = self.place(variable["value"].replace("$(POD_NAME)", found["POD_NAME"]))
        return found

    def _read(self, volume: dict[str, Any], objects: chart.Objects) -> dict[str, bytes]:
        """The files of a volume; this machine has other paths, and perhaps something on that port."""
        if "secret" in volume:
            return self._secrets[volume["secret"]["secretName"]]
        if "configMap" not in volume:
            return {}
        texts: dict[str, str] = objects["ConfigMap"]["data"]
        return {
            name: text.replace(" /etc/", f" {self._folder}/etc/").replace("9090", str(self.metrics_port)).encode()
            for name, text in texts.items()
        }
