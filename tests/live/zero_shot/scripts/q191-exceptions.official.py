import re
from collections import Counter
from kubernetes import client, config
from kubernetes.client.rest import ApiException

config.load_kube_config()
v1 = client.CoreV1Api()

EXC_RE = re.compile(r"^((?:[a-z_][\w]*\.)+[A-Z][\w$]*):")
FRAME_RE = re.compile(r"^\s+at (?:[\w.@]+/)?shop\.[\w.$<>]+\(([\w$]+\.java:\d+)\)")

classes = Counter()
places = Counter()

pods = v1.list_namespaced_pod(namespace="payments", label_selector="app=api")
for pod in pods.items:
    try:
        log = v1.read_namespaced_pod_log(
            name=pod.metadata.name, namespace="payments", container="api"
        )
    except ApiException as e:
        print("Could not read log of %s: %s" % (pod.metadata.name, e.reason))
        continue

    waiting_for_frame = False
    for line in log.splitlines():
        m = EXC_RE.match(line)
        if m:
            classes[m.group(1)] += 1
            waiting_for_frame = True
            continue
        if waiting_for_frame:
            f = FRAME_RE.match(line)
            if f:
                places[f.group(1)] += 1
                waiting_for_frame = False

{
    "classes": dict(classes),
    "place": places.most_common(1)[0][0] if places else None,
}
