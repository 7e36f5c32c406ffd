# question: q038-debug-logging · style: official · author: an application developer
from typing import List

from kubernetes import client, config


def has_debug(containers) -> bool:
    return any(
        env.name == "LOG_LEVEL" and env.value == "debug"
        for c in containers
        for env in (c.env or [])
    )


def main() -> List[str]:
    config.load_kube_config()
    apps = client.AppsV1Api()
    result = []
    for dep in apps.list_deployment_for_all_namespaces().items:
        if has_debug(dep.spec.template.spec.containers):
            result.append(f"{dep.metadata.namespace}/{dep.metadata.name}")
    return sorted(result)


main()
