"""The question of pods_5000 as the official Python client answers it. A process of its own: `python -m benchmarks.official
KUBECONFIG`.

Prints seconds and answer as JSON. Imports, credentials and the connection are ready before the clock starts.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from kubernetes import client

from benchmarks import clusters


def main() -> None:
    """Ask once."""
    api = client.CoreV1Api(client.ApiClient(clusters.configuration(Path(sys.argv[1]))))
    api.list_pod_for_all_namespaces(limit=1)
    started = time.perf_counter()
    pods: Any = api.list_pod_for_all_namespaces()  # in the client's types every field may be None
    total = sum(status.restart_count for pod in pods.items for status in pod.status.container_statuses or ())
    print(json.dumps({"seconds": time.perf_counter() - started, "answer": total}))


if __name__ == "__main__":
    main()
