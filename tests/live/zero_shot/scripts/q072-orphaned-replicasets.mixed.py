# question: q072-orphaned-replicasets · style: mixed · author: a platform engineer
apps = k8s.appsV1()
deps, rsets = k8s.parallel([
    lambda: apps.list_deployment_for_all_namespaces(),
    lambda: apps.list_replica_set_for_all_namespaces(),
])
uids = {d.metadata.uid for d in deps}


def orphaned(rs):
    match [r for r in rs.metadata.owner_references if r.controller]:
        case []:
            return True
        case [ref, *_]:
            return ref.kind == "Deployment" and ref.uid not in uids


def main():
    return sorted(f"{rs.metadata.namespace}/{rs.metadata.name}" for rs in rsets if orphaned(rs))


if __name__ == "__main__":
    answer = main()
answer
