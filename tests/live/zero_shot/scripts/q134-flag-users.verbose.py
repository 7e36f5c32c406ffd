# question: q134-flag-users · style: verbose · author: a careful enterprise engineer
from typing import Any, List

CONFIG_MAP = "feature-flags"


def uses_as_volume(pod_spec: Any, name: str) -> bool:
    """True if one of the volumes is the ConfigMap."""
    for volume in pod_spec.volumes or []:
        if volume.config_map is not None and volume.config_map.name == name:
            return True
        projected = volume.projected
        if projected is not None:
            for source in projected.sources or []:
                if source.config_map is not None and source.config_map.name == name:
                    return True
    return False


def uses_as_env(pod_spec: Any, name: str) -> bool:
    """True if one of the containers has the ConfigMap in envFrom."""
    for container in pod_spec.containers:
        for source in container.env_from or []:
            ref = source.config_map_ref
            if ref is not None and ref.name == name:
                return True
    return False


def main() -> List[str]:
    """Deployments that use the ConfigMap."""
    names: List[str] = []
    for deployment in k8s.appsV1().list_namespaced_deployment("shop").items:
        spec = deployment.spec.template.spec
        if uses_as_volume(spec, CONFIG_MAP) or uses_as_env(spec, CONFIG_MAP):
            names.append(deployment.metadata.name)
    return sorted(names)


main()
