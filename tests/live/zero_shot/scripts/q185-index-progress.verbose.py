import re
from kubernetes.client.rest import ApiException

# ---------------------------------------------------------------
# For each search pod: the newest "index not loaded" line and the
# percentage that it reports.
# ---------------------------------------------------------------
NAMESPACE = "shop"
SELECTOR = "app=search"
MARKER = "index not loaded"
PERCENT = re.compile(r"(\d+(?:\.\d+)?\s?%)")

api = k8s.coreV1()

progress = {}

try:
    pod_list = api.list_namespaced_pod(namespace=NAMESPACE, label_selector=SELECTOR)
except ApiException as exc:
    raise RuntimeError(f"Could not list pods: {exc.status} {exc.reason}") from exc

for pod in pod_list.items:
    pod_name = pod.metadata.name

    # A pod can have several containers; look at all of them
    container_names = []
    try:
        for container in pod.spec.containers:
            container_names.append(container.name)
    except (AttributeError, TypeError):
        container_names = []

    newest_ts = None
    newest_line = None

    for container_name in container_names:
        try:
            raw = api.read_namespaced_pod_log(
                name=pod_name,
                namespace=NAMESPACE,
                container=container_name,
                timestamps=True,
            )
        except ApiException:
            # log cannot be read - skip
            continue
        except Exception:
            continue

        # Some versions of the client return bytes
        if isinstance(raw, bytes):
            raw = raw.decode("utf-8", errors="replace")

        for line in reversed((raw or "").splitlines()):
            if MARKER not in line:
                continue
            ts, _, message = line.partition(" ")
            if newest_ts is None or ts > newest_ts:
                newest_ts = ts
                newest_line = message
            break

    if newest_line is None:
        continue

    try:
        match = PERCENT.search(newest_line)
        if match:
            progress[pod_name] = match.group(1)
    except Exception:
        pass

progress
