# question: q037-image-skew · style: official · author: a release manager
from collections import defaultdict
from typing import Dict, List, Optional, Tuple

from kubernetes import client, config


def split_image(image: str) -> Optional[Tuple[str, str]]:
    """Split at the last ':' after the last '/'."""
    if "@" in image:
        return None
    slash = image.rfind("/")
    colon = image.rfind(":")
    if colon <= slash:
        return None
    return image[:colon], image[colon + 1:]


def main() -> Dict[str, List[str]]:
    config.load_kube_config()
    v1 = client.CoreV1Api()
    tags = defaultdict(set)
    for pod in v1.list_pod_for_all_namespaces().items:
        for container in pod.spec.containers:
            parts = split_image(container.image)
            if parts:
                name, tag = parts
                tags[name].add(tag)
    return {name: sorted(t) for name, t in tags.items() if len(t) > 1}


if __name__ == "__main__":
    main()
