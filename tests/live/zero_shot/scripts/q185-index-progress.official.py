import re
from kubernetes import client, config
from kubernetes.client.rest import ApiException

try:
    config.load_incluster_config()
except config.ConfigException:
    config.load_kube_config()

v1 = client.CoreV1Api()
pattern = re.compile(r"(\d+(?:\.\d+)?\s*%)")
progress = {}

for pod in v1.list_namespaced_pod("shop", label_selector="app=search").items:
    name = pod.metadata.name
    try:
        log = v1.read_namespaced_pod_log(name=name, namespace="shop", container="search")
    except ApiException as e:
        print(f"Skipping {name}: {e.status} {e.reason}")
        continue
    for line in reversed(log.split("\n")):
        if "index not loaded" in line:
            m = pattern.search(line[line.index("index not loaded"):]) or pattern.search(line)
            if m:
                progress[name] = m.group(1)
                break

progress
