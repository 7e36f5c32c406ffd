# question: q110-pvc-resize · style: mixed · author: a storage administrator
def shrunk():
    for c in k8s.coreV1().list_persistent_volume_claim_for_all_namespaces():
        match c.status.phase:
            case "Bound":
                have, want = c.status.capacity["storage"], c.spec.resources.requests["storage"]
                if quantity(have) < quantity(want):
                    yield f"{c.metadata.namespace}/{c.metadata.name}", [have, want]


def main():
    return dict(shrunk())


if __name__ == "__main__":
    result = main()
result
