# question: q109-default-storage-class · style: official · author: a tutorial reader
from kubernetes import client, config

def main():
    config.load_kube_config()
    storage = client.StorageV1Api()
    for sc in storage.list_storage_class().items:
        annotations = sc.metadata.annotations or {}
        if annotations.get("storageclass.kubernetes.io/is-default-class") == "true":
            return sc.metadata.name
    return None

main()
