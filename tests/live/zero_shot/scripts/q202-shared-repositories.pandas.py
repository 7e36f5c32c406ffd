def normalise(image):
    image = image.split("@", 1)[0]
    head, slash, tail = image.rpartition("/")
    image = head + slash + tail.split(":", 1)[0]
    first = image.split("/", 1)[0]
    if "/" not in image or ("." not in first and ":" not in first and first != "localhost"):
        image = "docker.io/" + image
    if image.startswith("docker.io/") and image.count("/") == 1:
        image = image.replace("docker.io/", "docker.io/library/", 1)
    return image

groups = defaultdict(set)
for p in k8s.coreV1().list_pod_for_all_namespaces(watch=False).items:
    for c in [*p.spec.containers, *(p.spec.init_containers or [])]:
        groups[normalise(c.image)].add(p.metadata.namespace)

{repo: sorted(nss) for repo, nss in sorted(groups.items(), key=lambda kv: (-len(kv[1]), kv[0])) if len(nss) >= 2}
