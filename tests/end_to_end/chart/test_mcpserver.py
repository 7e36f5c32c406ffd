"""The manifest for the MCP lifecycle operator of kubernetes-sigs asks for the pod of the plain manifest. No registry has the
operator's definition, so its fields were compared with its sources by hand."""

from __future__ import annotations

import yaml

from tests.kit import chart, paths

_FOLDER = paths.ROOT / "examples" / "kubernetes"


def test_the_operator_is_asked_for_the_same_pod() -> None:
    """Image, arguments, probes, walls, and what is mounted where."""
    spec = yaml.safe_load((_FOLDER / "mcpserver.yaml").read_text())["spec"]
    pod = chart.by_kind((_FOLDER / "kubescript.yaml").read_text())["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    given, runtime = spec["config"], spec["runtime"]
    assert spec["source"]["containerImage"]["ref"] == container["image"]
    assert (given["arguments"], given["port"]) == (container["args"], container["ports"][0]["containerPort"])
    security = runtime["security"]
    assert security["serviceAccountName"] == pod["serviceAccountName"]
    assert security["podSecurityContext"] == pod["securityContext"]
    assert security["securityContext"] == container["securityContext"]
    assert runtime["resources"] == container["resources"]
    for name, probe in runtime["health"].items():
        assert probe | {"httpGet": probe["httpGet"] | {"port": "http"}} == container[name]
    volumes = {volume.pop("name"): volume for volume in pod["volumes"]}
    mounted = [(mount["mountPath"], volumes[mount["name"]]) for mount in container["volumeMounts"]]
    kinds = {"ConfigMap": "configMap", "Secret": "secret", "EmptyDir": "emptyDir"}
    sources = [(each["path"], each["source"]) for each in given["storage"]]
    assert [(path, {kinds[source["type"]]: source[kinds[source["type"]]]}) for path, source in sources] == mounted
