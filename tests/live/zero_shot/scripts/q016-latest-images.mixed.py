# question: q016-latest-images · style: mixed · author: a terse SRE
found = defaultdict(set)
for p in k8s.coreV1().list_pod_for_all_namespaces():
    for c in [*p.spec.containers, *(p.spec.init_containers or [])]:
        img = c.image
        if "@" in img:
            continue
        match img.rsplit("/", 1)[-1].partition(":"):
            case (_, "", _):
                found[p.metadata.namespace].add(img)
            case (_, ":", "latest"):
                found[p.metadata.namespace].add(img)
{ns: sorted(imgs) for ns, imgs in sorted(found.items())}
