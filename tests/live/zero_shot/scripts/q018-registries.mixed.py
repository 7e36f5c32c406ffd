# question: q018-registries · style: mixed · author: a platform engineer writing a small script
def registry(image):
    first, sep, _ = image.partition("/")
    match (sep, first):
        case ("", _):
            return "docker.io"
        case (_, host) if "." in host or ":" in host:
            return host
        case _:
            return "docker.io"


def images():
    for pod in k8s.coreV1().list_pod_for_all_namespaces():
        for c in pod.spec.containers:
            yield c.image


def main():
    return dict(Counter(map(registry, images())).most_common())


if __name__ == "__main__":
    result = main()
result
