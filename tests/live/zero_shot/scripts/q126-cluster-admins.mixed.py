# question: q126-cluster-admins · style: mixed · author: a security engineer
def subjects():
    for crb in k8s.rbacV1().list_cluster_role_binding():
        if crb.role_ref.kind == "ClusterRole" and crb.role_ref.name == "cluster-admin":
            yield from crb.subjects or []


def label(s):
    match s.kind:
        case "ServiceAccount":
            return f"ServiceAccount:{s.namespace}/{s.name}"
        case kind:
            return f"{kind}:{s.name}"


def main():
    return sorted({label(s) for s in subjects()})


if __name__ == "__main__":
    out = main()
out
