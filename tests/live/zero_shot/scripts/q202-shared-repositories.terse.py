def norm(i):
    i = i.split("@")[0]
    h, s, t = i.rpartition("/")
    i = h + s + t.split(":")[0]
    f = i.split("/")[0]
    if "/" not in i or not ("." in f or ":" in f or f == "localhost"): i = "docker.io/" + i
    if i.startswith("docker.io/") and i.count("/") == 1: i = i.replace("docker.io/", "docker.io/library/", 1)
    return i

u = defaultdict(set)
[u[norm(c.image)].add(p.metadata.namespace) for p in k8s.coreV1().list_pod_for_all_namespaces() for c in [*p.spec.containers, *(p.spec.init_containers or [])]]
{r: sorted(n) for r, n in sorted(u.items()) if len(n) > 1}
