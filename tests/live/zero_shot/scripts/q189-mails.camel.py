import re
import json

coreV1 = k8s.coreV1()
lineCount = 0
recipientCount = 0

def recipientsOf(line):
    try:
        entry = json.loads(line)
        if isinstance(entry, dict):
            value = entry.get("recipients", entry.get("to"))
            if isinstance(value, list):
                return len(value)
            if isinstance(value, int):
                return value
    except ValueError:
        pass
    match = re.search(r'recipients?"?\s*[=:]\s*"?(\d+)', line) or re.search(r'(\d+)\s+recipients?', line)
    if match:
        return int(match.group(1))
    return len(re.findall(r'[\w.+-]+@[\w-]+\.[\w.-]+', line))

for pod in coreV1.listNamespacedPod(namespace="shop", labelSelector="app=email-worker").items:
    for container in pod.spec.containers:
        try:
            log = coreV1.readNamespacedPodLog(name=pod.metadata.name, namespace="shop", container=container.name)
        except Exception:
            continue
        for line in log.split("\n"):
            if "sent order confirmation" in line:
                lineCount += 1
                recipientCount += recipientsOf(line)

{"lines": lineCount, "recipients": recipientCount}
