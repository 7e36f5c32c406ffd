import re
from collections import Counter
from kubernetes.client.rest import ApiException

# Configuration ------------------------------------------------------
NAMESPACE = "payments"
LABEL_SELECTOR = "app=api"
CONTAINER = "api"

# A fully qualified class name at the start of a line, followed by a colon,
# e.g. "java.lang.IllegalStateException: message"
EXCEPTION_RE = re.compile(r"^((?:[a-zA-Z_$][\w$]*\.)+[A-Z][\w$]*):")

# A stack frame in package shop, e.g. "    at shop.Orders.place(Orders.java:42)"
FRAME_RE = re.compile(r"^\s*at\s+(?:[\w.$-]+/)?shop\.[\w.$<>]+\((\w+\.java:\d+)\)")

core = k8s.coreV1()

# Results --------------------------------------------------------------
class_counts = Counter()
place_counts = Counter()
skipped = {}

# 1. The pods
try:
    pods = core.list_namespaced_pod(namespace=NAMESPACE, label_selector=LABEL_SELECTOR).items
except ApiException as e:
    pods = []
    skipped["<list>"] = f"{e.status} {e.reason}"

# 2. Their logs
for pod in pods:
    pod_name = pod.metadata.name
    try:
        log_text = core.read_namespaced_pod_log(
            name=pod_name,
            namespace=NAMESPACE,
            container=CONTAINER,
        )
    except ApiException as e:
        skipped[pod_name] = f"{e.status} {e.reason}"
        continue
    except Exception as e:
        skipped[pod_name] = str(e)
        continue

    if not log_text:
        continue

    # True while we are within a stack trace whose place has not yet been found
    waiting_for_frame = False

    for line in log_text.splitlines():
        try:
            exception_match = EXCEPTION_RE.match(line)
            if exception_match:
                class_counts[exception_match.group(1)] += 1
                waiting_for_frame = True
                continue

            if waiting_for_frame:
                frame_match = FRAME_RE.match(line)
                if frame_match:
                    # topmost frame of our own package: where it occurred
                    place_counts[frame_match.group(1)] += 1
                    waiting_for_frame = False
                elif not line.strip().startswith(("at ", "...", "Caused by:")):
                    # the stack trace is over
                    waiting_for_frame = False
        except Exception:
            continue

# 3. The answer
try:
    place = place_counts.most_common(1)[0][0]
except IndexError:
    place = None

answer = {}
answer["classes"] = dict(class_counts)
answer["place"] = place
answer
