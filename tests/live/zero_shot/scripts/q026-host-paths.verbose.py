# question: q026-host-paths · style: verbose · author: a careful enterprise engineer
from typing import Any, Dict, List


def host_paths(daemon_set: Any) -> List[str]:
    """Sorted host paths of the pod template's volumes."""
    paths = set()
    volumes = getattr(daemon_set.spec.template.spec, "volumes", None)
    if not isinstance(volumes, (list, tuple)):
        return []
    for volume in volumes:
        host_path = getattr(volume, "host_path", None)
        if host_path is not None and hasattr(host_path, "path"):
            paths.add(host_path.path)
    return sorted(paths)


def main() -> Dict[str, List[str]]:
    """Host paths by DaemonSet."""
    result: Dict[str, List[str]] = {}
    for ds in k8s.appsV1().list_daemon_set_for_all_namespaces().items:
        paths = host_paths(ds)
        if paths:
            result[f"{ds.metadata.namespace}/{ds.metadata.name}"] = paths
    return result


main()
