import re, json
from kubernetes import client

v1 = client.CoreV1Api()

lines = 0
recipients = 0
for pod in v1.list_namespaced_pod("shop", label_selector="app=email-worker").items:
    for container in pod.spec.containers:
        # kubectl logs -n shop <pod> -c <container>
        try:
            resp = v1.read_namespaced_pod_log(
                pod.metadata.name, "shop", container=container.name, follow=False, pretty="false"
            )
        except client.ApiException:
            continue
        for line in resp.splitlines():
            if "sent order confirmation" not in line:
                continue
            lines += 1
            m = re.search(r'"?recipients"?\s*[=:]\s*"?(\d+)', line) or re.search(r"(\d+) recipients?", line)
            if m:
                recipients += int(m.group(1))
            else:
                m = re.search(r'"?recipients"?\s*[=:]\s*(\[[^\]]*\])', line)
                if m:
                    recipients += len([x for x in m.group(1).strip("[]").split(",") if x.strip()])

{"lines": lines, "recipients": recipients}
