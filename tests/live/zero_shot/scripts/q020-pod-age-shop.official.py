# question: q020-pod-age-shop · style: official · author: a statistics-minded engineer
import statistics
from datetime import datetime, timezone
from kubernetes import client, config

config.load_kube_config()
v1 = client.CoreV1Api()

now = datetime.now(timezone.utc)
ages = [(now - pod.metadata.creation_timestamp).total_seconds() for pod in v1.list_namespaced_pod("shop").items]
day = 24 * 60 * 60
{
    "oldest": int(max(ages) // day),
    "newest": int(min(ages) // day),
    "median": int(statistics.median(ages) // day),
}
